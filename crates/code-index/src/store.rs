//! The index of a codebase: stores the facts of its files, detects changes on disk, reparses only changed files, and gives the
//! same results as a full rebuild at the cost of the change.
//!
//! Does not know where it is stored, and does not read the clock. Without a file it works in memory, and reads everything each
//! time.

mod delta;
mod depth;
mod exact_usages;
mod export;
mod find;
mod folders;
mod freshness;
mod grow;
mod locate;
mod map;
mod notes;
mod packages;
mod packs;
mod partial;
mod pasted;
mod queries;
mod relations;
mod renames;
mod rows;
mod since;
mod table;
mod usage_site;
mod versions;

pub use export::{ExportCost, ExportError, ExportOptions};
pub use find::SymbolFilter;
pub use folders::{FileFilter, is_below, is_test_path};
pub use grow::{IndexedFile, PartialCodebase};
pub use locate::{Located, NameResolution, SourcePiece};
pub use map::TreeMap;
pub use packages::Package;
pub use packs::{BUILT, pack_built_at, packed_types};
pub use queries::{Extent, SiteFilter};
pub use relations::{RELATIONS, Relation};
pub use rows::NoteHead;
pub use since::{ChangesSince, DeepChange, RunGit, SinceError};
pub use usage_site::{UsageSite, UsageSites, count_by_file, keep_best_sites};

use code::HASH_VERSION;
use code::Outliner;
use code::TypeSnapshot;
use code::TypeSummary;
use code::{ATTRIBUTE_SUFFIX, Codebase, SourceFile, place_in_project};
use code::{Cancelled, ReadResult, RefreshOptions, read_files};
use code::{Change, ChangeClass, classify_change};
use code::{Edge, Resolver};
use code::{apply_changes, revert_changes};
use db::Connection;
use db::derived::Layout;
use delta::Delta;
use freshness::{FolderSnapshot, TreeChanges, compare_folders, snapshot_folders};
use graph::Graph;
use partial::join_partial;
use project::{LayoutError, Project, discover_with_progress};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syntax::{Digest, TypeId};
use table::{FileRow, SCHEMA, SCHEMA_VERSION, Table};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Layout(LayoutError),
    #[error("the code index is damaged: {0}")]
    Damaged(db::Error),
    #[error(
        "it was created by a newer Loci (layout {0}, this version supports {SCHEMA_VERSION}); update Loci to use it"
    )]
    Newer(i64),
    #[error("no space left to write the code index")]
    Full,
    #[error("cannot read the code index: {0}")]
    Database(db::Error),
    #[error("cancelled")]
    Cancelled,
}

impl From<LayoutError> for StoreError {
    fn from(error: LayoutError) -> StoreError {
        match error {
            LayoutError::Cancelled => StoreError::Cancelled,
            error @ LayoutError::NoSuchFolder(_) => StoreError::Layout(error),
        }
    }
}

impl From<Cancelled> for StoreError {
    fn from(_: Cancelled) -> StoreError {
        StoreError::Cancelled
    }
}

impl From<db::Error> for StoreError {
    fn from(error: db::Error) -> StoreError {
        if db::derived::is_corruption(&error) {
            StoreError::Damaged(error)
        } else if db::derived::is_disk_full(&error) {
            StoreError::Full
        } else {
            StoreError::Database(error)
        }
    }
}

/// The cost of a refresh, and the differences it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Number of parsed files.
    pub parsed: u64,
    /// Bytes of source that were read.
    pub source_bytes: u64,
    /// Bytes read from and written to the index.
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Number of types that were hashed.
    pub hashed: u64,
    /// Whether the whole codebase was joined again.
    pub joined_whole: bool,
    pub changes: Vec<ChangedType>,
    /// Types that did not change themselves, but use one whose structure did.
    pub affected: Vec<(TypeId, String)>,
    pub aliases: Vec<RenamedType>,
    /// Removed types with more than one rename candidate.
    pub conflicts: Vec<RenameConflict>,
    /// Types with different names and the same ID: as unlikely as a meteorite strike, but reported.
    pub collisions: Vec<String>,
}

/// A changed, added or removed type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedType {
    pub id: TypeId,
    pub name: String,
    /// `None` if the type was added or removed.
    pub change: Option<Change>,
    pub removed: bool,
}

/// A renamed type, or a renamed member of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamedType {
    /// For a member, a hash of its type and its former name; `new` is its type.
    pub old: TypeId,
    pub old_name: String,
    pub new: TypeId,
    pub new_name: String,
    pub reason: String,
    /// In milliseconds.
    pub at: i64,
}

/// A removed type with its rename candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameConflict {
    pub name: String,
    pub candidates: Vec<String>,
}

pub struct Store {
    db: Connection,
    root: PathBuf,
    /// The path of the index, while it is open for reading only.
    read_only_path: Option<PathBuf>,
    /// The folder with the SCIP indexes that Loci had written for the tree.
    scip_folder: Option<PathBuf>,
}

/// If at least a quarter of the files changed, the whole codebase is joined again; otherwise only those and the files they
/// affect.
const WHOLE_JOIN_DIVISOR: usize = 4;
/// A base may itself have bases: at most three rounds were needed in the trees we tried.
const MAX_ROUNDS: usize = 8;

const PROJECTS: &str = "projects";
const PROBLEMS: &str = "problems";
const UNREAD: &str = "unread";
const EXTENT: &str = "extent";
const ROOT: &str = "root";

impl Store {
    /// Opens an index for writing, creating it if necessary. An index of an older version is rebuilt.
    pub fn open(path: &Path, root: &Path) -> Result<Store, StoreError> {
        let (mut db, layout) = db::derived::open_writer(path, SCHEMA_VERSION)?;
        match layout {
            Layout::Current => {}
            Layout::Older => db::derived::recreate_tables(&mut db, SCHEMA_VERSION, SCHEMA)?,
            Layout::Newer(found) => return Err(StoreError::Newer(found)),
        }
        Ok(Store { db, root: root.to_path_buf(), read_only_path: None, scip_folder: Some(scip_folder(path)) })
    }

    /// Opens an existing index of this version for reading; it is reopened when something has to be written. `None` for an older
    /// one.
    pub fn open_existing(path: &Path, root: &Path) -> Result<Option<Store>, StoreError> {
        if !path.is_file() {
            return Ok(None);
        }
        let (db, layout) = db::derived::open_reader(path, SCHEMA_VERSION)?;
        let (root, read_only_path) = (root.to_path_buf(), Some(path.to_path_buf()));
        match layout {
            Layout::Current => {
                Ok(Some(Store { db, root, read_only_path, scip_folder: Some(scip_folder(path)) }))
            }
            Layout::Older => Ok(None),
            Layout::Newer(found) => Err(StoreError::Newer(found)),
        }
    }

    /// The root of the tree that an index belongs to; `None` for an index of an older version.
    pub fn tree_of(path: &Path) -> Result<Option<PathBuf>, StoreError> {
        let Some(store) = Store::open_existing(path, Path::new(""))? else { return Ok(None) };
        let root: Option<Vec<u8>> = Table::new(&store.db).get_meta(ROOT)?;
        Ok(root.map(os::files::path_from_bytes))
    }

    /// Deletes an index. SCIP indexes remain: they are expensive, and checked against the tree when they are used.
    pub fn delete_files(path: &Path) {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(db::sibling_path(path, ending));
        }
    }

    /// Reopens the index for writing. Most requests never write, and opening for writing takes as long as answering one.
    fn begin_writing(&mut self) -> Result<(), StoreError> {
        if let Some(path) = self.read_only_path.take() {
            self.db = db::derived::open_writer(&path, SCHEMA_VERSION)?.0;
        }
        Ok(())
    }

    /// An index in memory only.
    pub fn in_memory(root: &Path) -> Result<Store, StoreError> {
        let db = db::derived::open_memory(SCHEMA_VERSION, SCHEMA)?;
        Ok(Store { db, root: root.to_path_buf(), read_only_path: None, scip_folder: None })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folders that contain indexed files: watching them reveals every relevant change.
    pub fn watched_folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let known = Table::new(&self.db).folder_snapshots()?;
        Ok(known.into_iter().map(|(path, _)| self.root.join(path)).collect())
    }

    /// Compares the tree with the index.
    pub fn check_freshness(&self, moment: RefreshOptions<'_>) -> Result<TreeStatus, StoreError> {
        let mut table = Table::new(&self.db);
        let known = table.folder_snapshots()?;
        let now = moment.now.saturating_mul(1_000_000);
        let seen = compare_folders(&self.root, known.into_iter(), now);
        let first = table.get_meta::<Vec<Project>>(PROJECTS)?.is_none();
        let current = !first && !seen.tree_changed && seen.files.is_empty() && seen.folders.is_empty();
        Ok(TreeStatus { changes: seen, is_new: first, is_current: current, read_bytes: table.read_bytes })
    }

    /// Compares the tree with the index, and brings the index up to date.
    pub fn refresh(&mut self, moment: RefreshOptions<'_>) -> Result<Refreshed, StoreError> {
        let TreeStatus { changes: seen, is_new: first, is_current: current, read_bytes: read } =
            self.check_freshness(moment)?;
        if current {
            return Ok(Refreshed { read_bytes: read, ..Refreshed::default() });
        }
        let now = moment.now.saturating_mul(1_000_000);
        self.begin_writing()?;
        let writing = self.db.transaction()?;
        let mut table = Table::new(&writing);
        table.read_bytes = read;
        let mut work = RefreshJob {
            table,
            root: &self.root,
            options: moment,
            done: Refreshed::default(),
            is_first: first,
            moved_files: BTreeMap::new(),
        };
        if first {
            work.table.set_meta(ROOT, &self.root.as_os_str().as_encoded_bytes())?;
        }
        if first || seen.tree_changed || work.has_unknown_file(&seen.files)? {
            work.refresh_tree(now)?;
        } else {
            work.refresh_files(&seen.files)?;
            for (path, folder) in &seen.folders {
                work.table.set_folder(path, folder)?;
            }
        }
        let mut done = work.done;
        (done.read_bytes, done.written_bytes) = (work.table.read_bytes, work.table.written_bytes);
        let extent = queries::compute_extent(&mut work.table)?;
        work.table.set_meta(EXTENT, &extent)?;
        writing.commit()?;
        Ok(done)
    }
}

/// The source of a new index that is read between two commits. A commit costs as much as reading a hundredth of it.
const PART_BYTES: u64 = 4 << 20;

/// Why nothing of a file is known that was read.
const OVER_BUDGET: &str = "not parsed: it takes more work than a file of its size may";

/// The folder of the SCIP indexes that belong to a stored index.
pub fn scip_folder(path: &Path) -> PathBuf {
    path.with_extension("scip")
}

/// The result of comparing the tree with the index.
pub struct TreeStatus {
    changes: TreeChanges,
    is_new: bool,
    /// Bytes read from the index for the comparison.
    pub read_bytes: u64,
    /// The index matches the tree.
    pub is_current: bool,
}

/// A changed, added or removed file.
struct FileEdit {
    old: Option<FileRow>,
    /// `None` if the file was removed or cannot be read.
    new: Option<SourceFile>,
    digest: u64,
    context: u64,
}

/// One refresh in progress.
struct RefreshJob<'a> {
    table: Table<'a>,
    root: &'a Path,
    options: RefreshOptions<'a>,
    done: Refreshed,
    /// Whether the index has not been joined yet.
    is_first: bool,
    /// Moved files: old path to new path.
    moved_files: BTreeMap<String, String>,
}

impl RefreshJob<'_> {
    /// The set of files or the manifests changed: walks the tree again and checks the metadata of every file.
    fn refresh_tree(&mut self, now: i64) -> Result<(), StoreError> {
        let tell = self.options.progress;
        let layout = discover_with_progress(self.root, &|seen| tell(0, seen))?;
        let folders = snapshot_folders(self.root, &layout, now);
        let before: Option<Vec<Project>> = self.table.get_meta(PROJECTS)?;
        let rows = self.table.files()?;
        let old: BTreeMap<String, FolderSnapshot> = self.table.folder_snapshots()?.into_iter().collect();
        let suspects = layout.files.iter().filter(|(path, project)| {
            let row = rows.get(path);
            let fits = row.is_some_and(|row| row.context == parse_context(&layout.projects, *project, path));
            !fits || is_suspect(&old, &folders, path)
        });
        let suspects: Vec<(String, u32)> = suspects.cloned().collect();
        let edits = self.read_edits(&layout.projects, &suspects, &rows)?;
        let here: BTreeSet<&String> = layout.files.iter().map(|(path, _)| path).collect();
        let mut unread: BTreeMap<String, String> = self.table.get_meta(UNREAD)?.unwrap_or_default();
        unread.retain(|path, _| here.contains(path));
        self.table.set_meta(UNREAD, &unread)?;
        let gone: Vec<(&String, &FileRow)> = rows.iter().filter(|(path, _)| !here.contains(path)).collect();
        self.moved_files = detect_moves(&gone, &edits);
        let gone = gone.into_iter().map(|(_, row)| FileEdit {
            old: Some(row.clone()),
            new: None,
            digest: 0,
            context: 0,
        });
        let edits: Vec<FileEdit> = edits.into_iter().chain(gone).collect();
        for (path, project) in &layout.files {
            if let Some(row) = rows.get(path).filter(|row| row.project != *project) {
                self.table.set_project(row.id, *project)?;
            }
        }
        let same = before.as_ref().is_some_and(|before| *before == layout.projects);
        let whole = !same || edits.len() * WHOLE_JOIN_DIVISOR >= layout.files.len().max(1);
        self.apply_edits(&layout.projects, edits, whole)?;
        self.table.set_meta(PROJECTS, &layout.projects)?;
        self.table.set_meta(PROBLEMS, &layout.problems)?;
        Ok(self.table.set_folders(&folders)?)
    }

    /// Whether any of these files is not in the index because it could not be read before.
    fn has_unknown_file(&self, paths: &[String]) -> Result<bool, StoreError> {
        for path in paths {
            if self.table.find_file(path)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Only the content of some files may have changed.
    fn refresh_files(&mut self, paths: &[String]) -> Result<(), StoreError> {
        let projects: Vec<Project> = self.table.get_meta(PROJECTS)?.unwrap_or_default();
        let mut rows = BTreeMap::new();
        for path in paths {
            rows.extend(self.table.find_file(path)?.map(|row| (path.clone(), row)));
        }
        let suspects: Vec<(String, u32)> =
            rows.iter().map(|(path, row)| (path.clone(), row.project)).collect();
        let edits = self.read_edits(&projects, &suspects, &rows)?;
        self.apply_edits(&projects, edits, false)
    }

    /// Reads files, and skips those with unchanged content. The files of a new index are stored as they come, so that one that is
    /// cancelled or killed goes on where it was: until the first join, its projects are not set, and nobody reads it.
    fn read_edits(
        &mut self,
        projects: &[Project],
        suspects: &[(String, u32)],
        rows: &BTreeMap<String, FileRow>,
    ) -> Result<Vec<FileEdit>, StoreError> {
        let known = |path: &str, project: u32| {
            rows.get(path)
                .filter(|row| row.context == parse_context(projects, project, path))
                .map(|row| row.digest)
        };
        let mut unread: BTreeMap<String, String> = self.table.get_meta(UNREAD)?.unwrap_or_default();
        let before = unread.clone();
        let mut edits = Vec::new();
        let mut uncommitted = 0;
        let (root, options) = (self.root, self.options);
        let take = |result: ReadResult| -> Result<(), StoreError> {
            self.done.source_bytes += result.bytes;
            uncommitted += result.bytes;
            unread.remove(&result.path);
            let (old, digest) = (rows.get(&result.path).cloned(), result.digest);
            let path = result.path.clone();
            let context = parse_context(projects, result.project, &result.path);
            match result.file {
                Ok(None) => {
                    // the content is the same, and so is what was said of it
                    unread.extend(before.get(&result.path).map(|reason| (result.path, reason.clone())));
                }
                Ok(Some(file)) => {
                    self.done.parsed += 1;
                    if file.facts.is_over_budget() {
                        unread.insert(result.path, OVER_BUDGET.to_owned());
                    }
                    if self.is_first && old.is_none() {
                        let mut file = file;
                        place_in_project(projects, &mut file);
                        self.table.add_file(&file, digest, context)?;
                    } else {
                        edits.push((path, FileEdit { old, new: Some(file), digest, context }));
                    }
                }
                Err(reason) => {
                    unread.insert(result.path, reason);
                    edits.push((path, FileEdit { old, new: None, digest, context }));
                }
            }
            if self.is_first && uncommitted >= PART_BYTES {
                uncommitted = 0;
                self.table.set_meta(UNREAD, &unread)?;
                self.table.commit_part()?;
            }
            Ok(())
        };
        let result = read_files(root, projects, suspects, &known, options, take);
        if unread != before {
            self.table.set_meta(UNREAD, &unread)?;
        }
        if self.is_first && matches!(result, Err(StoreError::Cancelled)) {
            self.table.commit_part()?;
        }
        result?;
        // threads finish in any order
        edits.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(edits.into_iter().map(|(_, edit)| edit).collect())
    }

    /// Applies edits to the index and updates everything that depends on them.
    fn apply_edits(
        &mut self,
        projects: &[Project],
        edits: Vec<FileEdit>,
        whole: bool,
    ) -> Result<(), StoreError> {
        if edits.is_empty() && !whole {
            return Ok(());
        }
        let mut delta = Delta::default();
        let mut touched: BTreeSet<i64> = BTreeSet::new();
        let mut old_types: BTreeSet<TypeId> = BTreeSet::new();
        let (mut old_spaces, mut batch) = (BTreeSet::new(), BTreeSet::new());
        for edit in edits {
            let old = match &edit.old {
                Some(row) => self.table.load_facts(row.id)?,
                None => syntax::FileFacts::default(),
            };
            old_spaces.extend(delta::declared_namespaces(&old));
            if let Some(row) = &edit.old {
                batch.insert(row.id);
                self.table.forget_words(row.id, &old)?;
                old_types.extend(self.table.types_in(row.id)?);
                self.table.forget_parts(row.id)?;
            }
            match (edit.new, edit.old) {
                (Some(mut file), _) => {
                    place_in_project(projects, &mut file);
                    delta.add_file(&old, &file.facts);
                    let id = self.table.add_file(&file, edit.digest, edit.context)?;
                    touched.insert(id);
                    batch.insert(id);
                }
                (None, Some(row)) => {
                    delta.add_file(&old, &syntax::FileFacts::default());
                    self.table.remove_file(row.id)?;
                }
                (None, None) => {}
            }
        }
        if whole || delta.project {
            return self.join_whole(projects);
        }
        for space in std::mem::take(&mut delta.spaces) {
            let files = self.table.files_below(&space)?;
            let before = old_spaces.contains(&space) || files.iter().any(|file| !batch.contains(file));
            if before == files.is_empty() {
                delta.names.extend(space.last().cloned());
            }
        }
        self.add_affected_files(&delta, &mut touched)?;
        if touched.len() as u64 * WHOLE_JOIN_DIVISOR as u64
            >= self.table.query_count("select count(*) from files")? + WHOLE_JOIN_DIVISOR as u64
        {
            return self.join_whole(projects);
        }
        self.join_part(projects, &touched, old_types)
    }

    /// Adds the files in which a name may resolve differently now.
    fn add_affected_files(&mut self, delta: &Delta, touched: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        if delta.is_empty() {
            return Ok(());
        }
        for name in &self.affected_names(delta)? {
            touched.extend(self.table.files_mentioning(name)?);
            // an outline qualifies a name that two types share
            touched.extend(self.table.files_with_declaration(name)?);
        }
        for (of, member) in &delta.members {
            if self.table.is_declared(member)? {
                touched.extend(self.table.files_mentioning(member)?);
            }
            // `Encoding.Default` where a variable is called Encoding: whether the member is static decides what the first word
            // refers to
            let both: BTreeSet<i64> = self.table.files_mentioning(member)?.into_iter().collect();
            touched.extend(self.table.files_mentioning(of)?.into_iter().filter(|file| both.contains(file)));
        }
        for name in &delta.bases {
            self.add_derived(name, touched)?;
        }
        Ok(())
    }

    /// The names that may resolve differently, including those re-exported as a whole, and their aliases.
    fn affected_names(&mut self, delta: &Delta) -> Result<BTreeSet<String>, StoreError> {
        let mut names = delta.names.clone();
        for (alias, last) in &delta.aliases {
            // a name that no source file declares resolves the same everywhere
            if self.table.is_declared(alias)? || self.table.is_declared(last)? {
                names.insert(alias.clone());
            }
        }
        let (mut open, mut seen): (Vec<Vec<String>>, BTreeSet<Vec<String>>) =
            (delta.whole_modules.iter().cloned().collect(), BTreeSet::new());
        while let Some(module) = open.pop() {
            if !seen.insert(module.clone()) {
                continue;
            }
            for file in self.table.files_in(&module)? {
                let facts = self.table.load_facts(file)?;
                names.extend(partial::declared_names(&facts));
                for (alias, path) in delta::re_exports(&facts) {
                    match alias {
                        Some(alias) => drop(names.insert(alias)),
                        None => open.push(path),
                    }
                }
            }
        }
        let mut new = names.clone();
        while !new.is_empty() {
            let mut files = BTreeSet::new();
            for name in &new {
                files.extend(self.table.files_renaming(name)?);
            }
            let mut found = BTreeSet::new();
            for file in files {
                found.extend(delta::aliases_of(&self.table.load_facts(file)?, &new));
            }
            new = found.difference(&names).cloned().collect();
            names.extend(new.iter().cloned());
        }
        Ok(names)
    }

    /// The files that declare, derive from or mention the types with this name, transitively: a type nested in a base can be
    /// named through all of them.
    fn add_derived(&mut self, name: &str, touched: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        let simple = name.rsplit(['.', '+']).next().unwrap_or(name).split('`').next().unwrap_or_default();
        let mut open = self.table.types_named(simple)?;
        let mut seen: BTreeSet<TypeId> = open.iter().copied().collect();
        self.add_mentioning(simple, touched)?;
        while let Some(of) = open.pop() {
            for user in self.table.users_of(of, true)? {
                if seen.insert(user) {
                    touched.extend(self.table.files_of(user)?);
                    let named = self.table.names_of(&[user])?.pop();
                    named.map_or(Ok(()), |named| self.add_mentioning(named.simple_name(), touched))?;
                    open.push(user);
                }
            }
        }
        Ok(())
    }

    fn add_mentioning(&self, simple: &str, touched: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        touched.extend(self.table.files_mentioning(simple)?);
        if let Some(short) = simple.strip_suffix(ATTRIBUTE_SUFFIX) {
            touched.extend(self.table.files_mentioning(short)?);
        }
        Ok(())
    }

    /// Joins the whole codebase again, from the stored facts.
    fn join_whole(&mut self, projects: &[Project]) -> Result<(), StoreError> {
        self.done.joined_whole = true;
        let mut files = Vec::new();
        for row in self.table.files()?.into_values() {
            files.push(self.table.load_source(row.id)?);
        }
        let old = self.table.types()?.into_iter().map(|(id, _)| id).collect();
        let code = Codebase::new(projects.to_vec(), files);
        let resolver = Resolver::new(&code);
        let edges = edges_by_user(&code, resolver.all_edges());
        let outliner = Outliner::new(&code, &resolver);
        let cards =
            (0..code.types.len() as u32).map(|of| TypeSummary::build(&code, &resolver, &outliner, of));
        self.store_results(cards, old, &edges)
    }

    /// Joins the types of some files again, with all declarations their names resolve to. If a base resolves to another type now,
    /// more files are affected, and the join is repeated with them.
    fn join_part(
        &mut self,
        projects: &[Project],
        touched: &BTreeSet<i64>,
        mut old: BTreeSet<TypeId>,
    ) -> Result<(), StoreError> {
        let mut touched = touched.clone();
        for _ in 0..MAX_ROUNDS {
            for file in &touched {
                old.extend(self.table.types_in(*file)?);
            }
            let (cards, edges) = self.join_files(projects, &touched, &old)?;
            let mut wider = touched.clone();
            for card in &cards {
                let mine = edges.get(&card.id).into_iter().flatten();
                let now: BTreeSet<TypeId> = mine.filter(|(_, edge)| edge.base).map(|(to, _)| *to).collect();
                let before: BTreeSet<TypeId> = self.table.bases_of(card.id)?.into_iter().collect();
                if now != before {
                    self.add_derived(&card.name, &mut wider)?;
                }
            }
            if wider == touched {
                return self.store_results(cards.into_iter(), old, &edges);
            }
            touched = wider;
        }
        self.join_whole(projects)
    }

    /// Summaries and edges of the types that are, or were, declared in some files.
    fn join_files(
        &mut self,
        projects: &[Project],
        touched: &BTreeSet<i64>,
        old: &BTreeSet<TypeId>,
    ) -> Result<(Vec<TypeSummary>, EdgesByUser), StoreError> {
        let mut files = touched.clone();
        for id in old {
            files.extend(self.table.files_of(*id)?);
        }
        let mut start = Vec::new();
        for file in files {
            start.push(self.table.load_source(file)?);
        }
        let paths: BTreeSet<String> = start.iter().map(|file| file.path.clone()).collect();
        let (_, found) = join_partial(&mut self.table, projects, start, |code, resolver| {
            let within = |of: &u32| {
                let parts = &code.types[*of as usize].parts;
                parts.iter().any(|(file, _)| paths.contains(&code.files[*file as usize].path))
            };
            let wanted: BTreeSet<u32> = (0..code.types.len() as u32).filter(within).collect();
            let outliner = Outliner::new(code, resolver);
            let cards: Vec<TypeSummary> =
                wanted.iter().map(|of| TypeSummary::build(code, resolver, &outliner, *of)).collect();
            (cards, edges_by_user(code, resolver.edges_from(&|of| wanted.contains(&of))))
        })?;
        Ok(found)
    }

    /// Compares the new summaries and edges with the stored ones.
    fn store_results(
        &mut self,
        cards: impl Iterator<Item = TypeSummary>,
        mut old: BTreeSet<TypeId>,
        edges: &EdgesByUser,
    ) -> Result<(), StoreError> {
        let (mut added, mut changed, mut bodies) = (Vec::new(), BTreeMap::new(), Vec::new());
        for card in cards {
            self.done.hashed += 1;
            old.remove(&card.id);
            let before = self.table.load_summary(card.id)?;
            let had = before.is_some();
            self.table.set_edges(card.id, edges.get(&card.id).map_or(&[], Vec::as_slice), had)?;
            if before.as_ref() == Some(&card) {
                self.table.add_parts(&card)?;
                continue;
            }
            if let Some(before) = &before {
                self.table.forget_names(before)?;
                self.table.mark_pending(before)?;
                if (&before.name, &before.project) != (&card.name, &card.project) {
                    let collision = format!("{}: {} and {}", card.id, before.name, card.name);
                    self.done.collisions.push(collision);
                }
                if let Some(change) = classify_change(&before.hashes, &card.hashes) {
                    changed.insert(card.id, change.class);
                    self.report_change(&card, Some(change), false);
                }
                self.carry_over_aliases(renames::renamed_members(before, &card, self.options.now))?;
            }
            let is_deep = |class: &ChangeClass| *class <= ChangeClass::PublicBehavior;
            bodies.extend(before.filter(|it| changed.get(&it.id).is_some_and(is_deep)));
            self.table.store_summary(&card)?;
            if !had {
                added.push(card);
            }
        }
        let mut gone = Vec::new();
        for id in old {
            gone.extend(self.table.load_summary(id)?);
        }
        let first = added.len() as u64 == self.done.hashed && gone.is_empty();
        self.carry_over_renames(&gone, &added)?;
        self.excuse_renames(&bodies, &mut changed)?;
        self.record_changes_of_renamed(&gone, &mut changed)?;
        for card in &gone {
            self.report_change(card, None, true);
            self.table.remove_summary(card)?;
        }
        if !first {
            for card in &added {
                self.report_change(card, None, false);
            }
        }
        self.update_note_states(&changed)
    }

    fn report_change(&mut self, card: &TypeSummary, change: Option<Change>, gone: bool) {
        self.done.changes.push(ChangedType { id: card.id, name: card.name.clone(), change, removed: gone });
    }

    /// Carries the state of renamed types over.
    fn carry_over_renames(&mut self, gone: &[TypeSummary], come: &[TypeSummary]) -> Result<(), StoreError> {
        if gone.is_empty() || come.is_empty() {
            return Ok(());
        }
        let (olds, news): (Vec<TypeSnapshot<'_>>, Vec<TypeSnapshot<'_>>) =
            (gone.iter().map(to_snapshot).collect(), come.iter().map(to_snapshot).collect());
        let (found, doubts) = code::detect_renames(&olds, &news, &|file| self.moved_files.get(file).cloned());
        let name = |cards: &[TypeSummary], id: TypeId| {
            cards.iter().find(|card| card.id == id).map_or_else(String::new, |card| card.name.clone())
        };
        for alias in found {
            let (old_name, new_name) = (name(gone, alias.old), name(come, alias.new));
            let at = self.options.now;
            let renamed =
                RenamedType { old: alias.old, old_name, new: alias.new, new_name, reason: alias.reason, at };
            self.table.move_state(alias.old, alias.new)?;
            self.carry_over_aliases(vec![renamed])?;
        }
        for doubt in doubts {
            let candidates = doubt.candidates.iter().map(|id| name(come, *id)).collect();
            self.done.conflicts.push(RenameConflict { name: name(gone, doubt.old), candidates });
        }
        Ok(())
    }

    fn carry_over_aliases(&mut self, renamed: Vec<RenamedType>) -> Result<(), StoreError> {
        for renamed in renamed {
            self.table.set_alias(renamed.old, &renamed.old_name, &renamed)?;
            self.done.aliases.push(renamed);
        }
        Ok(())
    }

    /// Updates the note states of changed types, their dependents and their cycles.
    fn update_note_states(&mut self, changed: &BTreeMap<TypeId, ChangeClass>) -> Result<(), StoreError> {
        let mut users = BTreeMap::new();
        for (id, _) in changed.iter().filter(|(_, class)| **class == ChangeClass::Structure) {
            users.insert(*id, self.table.users_of(*id, false)?);
        }
        let cycles = self.affected_cycles(changed)?;
        let concerned = changed.keys().chain(users.values().flatten()).chain(cycles.iter().flatten());
        let mut states = BTreeMap::new();
        for id in concerned {
            states.insert(*id, self.table.load_state(*id)?.unwrap_or_default());
        }
        apply_changes(&mut states, changed, &users, &cycles, self.options.now);
        let mut grounds = BTreeMap::new();
        for (id, _) in states.iter().filter(|(_, state)| state.ground != 0) {
            grounds.insert(*id, self.table.note_ground(*id)?);
        }
        revert_changes(&mut states, &cycles, &grounds);
        for (id, state) in &states {
            self.table.set_state(*id, state)?;
            if self.table.note_digest(*id)?.is_some() {
                self.table.mark_row_pending(*id)?;
            }
        }
        let reached: BTreeSet<TypeId> = users.values().flatten().copied().collect();
        let reached: Vec<TypeId> = reached.into_iter().filter(|id| !changed.contains_key(id)).collect();
        let named = self.table.names_of(&reached)?;
        self.done.affected.extend(named.into_iter().map(|named| (named.id, named.name)));
        self.done.affected.sort_by(|one, other| one.1.cmp(&other.1));
        Ok(())
    }

    /// The dependency cycles of deeply changed types. The types of a cycle share a note; without any notes, cycles do not matter.
    fn affected_cycles(
        &mut self,
        changed: &BTreeMap<TypeId, ChangeClass>,
    ) -> Result<Vec<Vec<TypeId>>, StoreError> {
        let deep = |class: &ChangeClass| *class <= ChangeClass::PublicBehavior;
        if !changed.values().any(deep) || self.table.types_with_notes()?.is_empty() {
            return Ok(Vec::new());
        }
        let mut ids: Vec<TypeId> = self.table.types()?.into_iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        let groups = Graph::new(ids.len(), self.table.all_edges(&ids)?.iter().map(Edge::ends)).groups();
        let groups = groups.into_iter().filter(|group| group.len() > 1);
        let cycles = groups.map(|group| group.iter().map(|of| ids[*of as usize]).collect::<Vec<TypeId>>());
        Ok(cycles.filter(|cycle| cycle.iter().any(|id| changed.contains_key(id))).collect())
    }
}

fn to_snapshot(card: &TypeSummary) -> TypeSnapshot<'_> {
    TypeSnapshot {
        id: card.id,
        name: &card.name,
        kind: card.kind,
        hashes: &card.hashes,
        bodies: &card.bodies,
        files: &card.files,
    }
}

/// Files that were removed and added elsewhere with the same content. If several have the same content, the move is ambiguous and
/// left out.
fn detect_moves(gone: &[(&String, &FileRow)], edits: &[FileEdit]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (path, row) in gone {
        let mut added = edits.iter().filter(|edit| edit.old.is_none() && edit.digest == row.digest);
        let same = gone.iter().filter(|(_, other)| other.digest == row.digest).count();
        if let (Some(FileEdit { new: Some(file), .. }), None, 1) = (added.next(), added.next(), same) {
            found.insert((*path).clone(), file.path.clone());
        }
    }
    found
}

/// Whether the metadata of a file changed, or is too recent to be trusted.
fn is_suspect(
    old: &BTreeMap<String, FolderSnapshot>,
    new: &BTreeMap<String, FolderSnapshot>,
    path: &str,
) -> bool {
    let (folder, name) = freshness::split_path(path);
    let entry = |folders: &BTreeMap<String, FolderSnapshot>| folders.get(folder)?.entries.get(name).copied();
    let (before, after) = (entry(old), entry(new));
    before.is_none_or(|before| before.unsure) || before.map(|it| it.stamp) != after.map(|it| it.stamp)
}

/// A digest of the project settings that affect how a file is parsed.
fn parse_context(projects: &[Project], project: u32, path: &str) -> u64 {
    let Some(project) = projects.get(project as usize) else { return 0 };
    let symbols: Vec<&str> = project.symbols.iter().collect();
    let settings = format!(
        "{HASH_VERSION}\n{}\n{}\n{}\n{:?}\n{}\n{path}",
        project.name,
        project.path,
        symbols.join(","),
        project.aliases,
        project.source_root
    );
    Digest::of_bytes(settings.as_bytes()).0
}

/// Edges by the type they start from.
type EdgesByUser = BTreeMap<TypeId, Vec<(TypeId, Edge)>>;

fn edges_by_user(code: &Codebase, edges: Vec<Edge>) -> EdgesByUser {
    let mut found = EdgesByUser::new();
    for edge in edges {
        let id = |of: u32| code.types[of as usize].id;
        found.entry(id(edge.from)).or_default().push((id(edge.to), edge));
    }
    found
}
