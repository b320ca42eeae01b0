//! The index of a codebase: stores the facts of its files, detects changes on disk, reparses only changed files, and gives the
//! same results as a full rebuild at the cost of the change.
//!
//! Does not know where it is stored, and does not read the clock. Without a file it works in memory, and reads everything each
//! time.

mod delta;
mod freshness;
mod notes;
mod partial;
mod queries;
mod table;
mod writer;

pub use queries::{Extent, Mentioned, Mentions};
pub use writer::{KeepError, Kept};

use crate::alias::{self, Known};
use crate::card::Card;
use crate::classify::{Change, ChangeClass, classify};
use crate::codebase::{ATTRIBUTE, Codebase, SourceFile, place_in_project};
use crate::graph::Graph;
use crate::hash::HASH_VERSION;
use crate::note_state::settle;
use crate::outline::Outliner;
use crate::read::{Moment, Stopped, read_files};
use crate::resolve::{Edge, Resolver};
use db::Connection;
use delta::Delta;
use freshness::{Folder, Seen, look, survey};
use partial::world;
use project::{LayoutError, Project, discover_while};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use syntax::{Digest, TypeId};
use table::{FileRow, LAYOUT, SCHEMA, Table};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Layout(LayoutError),
    #[error("the code index is damaged: {0}")]
    Damaged(db::Error),
    #[error("no room left to write the code index")]
    Full,
    #[error("cannot read the code index: {0}")]
    Database(db::Error),
    #[error("cancelled")]
    Stopped,
}

impl From<LayoutError> for StoreError {
    fn from(error: LayoutError) -> StoreError {
        match error {
            LayoutError::Stopped => StoreError::Stopped,
            error @ LayoutError::NoFolder(_) => StoreError::Layout(error),
        }
    }
}

impl From<Stopped> for StoreError {
    fn from(_: Stopped) -> StoreError {
        StoreError::Stopped
    }
}

impl From<db::Error> for StoreError {
    fn from(error: db::Error) -> StoreError {
        if db::derived::is_damage(&error) {
            StoreError::Damaged(error)
        } else if db::derived::is_full(&error) {
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
    pub whole: bool,
    pub changes: Vec<Changed>,
    /// Types that did not change themselves, but use one whose structure did.
    pub reached: Vec<(TypeId, String)>,
    pub aliases: Vec<Renamed>,
    /// Removed types with more than one rename candidate.
    pub doubtful: Vec<Doubt>,
    /// Types with different names and the same ID: as unlikely as a meteorite strike, but reported.
    pub collisions: Vec<String>,
}

/// A changed, added or removed type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub id: TypeId,
    pub name: String,
    /// `None` if the type was added or removed.
    pub change: Option<Change>,
    pub gone: bool,
}

/// A renamed type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renamed {
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
pub struct Doubt {
    pub name: String,
    pub candidates: Vec<String>,
}

pub struct Store {
    db: Connection,
    root: PathBuf,
    /// The path of the index, while it is open for reading only.
    only_read: Option<PathBuf>,
}

/// If at least a quarter of the files changed, the whole codebase is joined again; otherwise only those and the files they
/// affect.
const PART: usize = 4;
/// A base may itself have bases: at most three rounds were needed in the trees we tried.
const ROUNDS: usize = 8;

const PROJECTS: &str = "projects";
const PROBLEMS: &str = "problems";
const UNREAD: &str = "unread";
const EXTENT: &str = "extent";
const ROOT: &str = "root";

impl Store {
    /// Opens an index for writing, creating it if necessary. An index of another version is rebuilt.
    pub fn open(path: &Path, root: &Path) -> Result<Store, StoreError> {
        let opened = db::derived::open_writer(path, LAYOUT).and_then(|(mut db, layout)| {
            if layout != db::derived::Layout::Ours {
                db::derived::create(&mut db, LAYOUT, SCHEMA)?;
            }
            Ok(db)
        });
        Ok(Store { db: opened?, root: root.to_path_buf(), only_read: None })
    }

    /// Opens an existing index of this version for reading; it is reopened when something has to be written.
    pub fn existing(path: &Path, root: &Path) -> Result<Option<Store>, StoreError> {
        if !path.is_file() {
            return Ok(None);
        }
        let (db, layout) = db::derived::open_reader(path, LAYOUT)?;
        let ours = layout == db::derived::Layout::Ours;
        let only_read = Some(path.to_path_buf());
        Ok(ours.then(|| Store { db, root: root.to_path_buf(), only_read }))
    }

    /// The root of the tree that an index belongs to; `None` for an index of another version.
    pub fn tree_of(path: &Path) -> Result<Option<PathBuf>, StoreError> {
        let Some(store) = Store::existing(path, Path::new(""))? else { return Ok(None) };
        let root: Option<Vec<u8>> = Table::new(&store.db).meta(ROOT)?;
        Ok(root.map(|bytes| PathBuf::from(OsString::from_vec(bytes))))
    }

    /// Deletes an index.
    pub fn discard(path: &Path) {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(db::beside(path, ending));
        }
    }

    /// Reopens the index for writing. Most requests never write, and opening for writing takes as long as answering one.
    fn begin_writing(&mut self) -> Result<(), StoreError> {
        if let Some(path) = self.only_read.take() {
            self.db = db::derived::open_writer(&path, LAYOUT)?.0;
        }
        Ok(())
    }

    /// An index in memory only.
    pub fn in_memory(root: &Path) -> Result<Store, StoreError> {
        let db = db::derived::open_memory(LAYOUT, SCHEMA)?;
        Ok(Store { db, root: root.to_path_buf(), only_read: None })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folders that contain indexed files: watching them reveals every relevant change.
    pub fn folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let known = Table::new(&self.db).folders()?;
        Ok(known.into_iter().map(|(path, _)| self.root.join(path)).collect())
    }

    /// Compares the tree with the index.
    pub fn look(&self, moment: Moment<'_>) -> Result<Look, StoreError> {
        let mut table = Table::new(&self.db);
        let known = table.folders()?;
        let now = moment.now.saturating_mul(1_000_000);
        let seen = look(&self.root, known.into_iter(), now);
        let first = table.meta::<Vec<Project>>(PROJECTS)?.is_none();
        let current = !first && !seen.moved && seen.files.is_empty() && seen.folders.is_empty();
        Ok(Look { seen, first, current, read: table.read })
    }

    /// Compares the tree with the index, and brings the index up to date.
    pub fn refresh(&mut self, moment: Moment<'_>) -> Result<Refreshed, StoreError> {
        let Look { seen, first, current, read } = self.look(moment)?;
        if current {
            return Ok(Refreshed { read_bytes: read, ..Refreshed::default() });
        }
        let now = moment.now.saturating_mul(1_000_000);
        self.begin_writing()?;
        let writing = self.db.transaction()?;
        let mut table = Table::new(&writing);
        table.read = read;
        let mut work =
            Work { table, root: &self.root, moment, done: Refreshed::default(), moves: BTreeMap::new() };
        if first {
            work.table.set_meta(ROOT, &self.root.as_os_str().as_bytes())?;
        }
        if first || seen.moved || work.knows_not(&seen.files)? {
            work.moved(now)?;
        } else {
            work.edited(&seen.files)?;
            for (path, folder) in &seen.folders {
                work.table.set_folder(path, folder)?;
            }
        }
        let mut done = work.done;
        (done.read_bytes, done.written_bytes) = (work.table.read, work.table.written);
        let extent = queries::counted(&mut work.table)?;
        work.table.set_meta(EXTENT, &extent)?;
        writing.commit()?;
        Ok(done)
    }
}

/// The result of comparing the tree with the index.
pub struct Look {
    seen: Seen,
    first: bool,
    /// Bytes read from the index for the comparison.
    pub read: u64,
    /// The index matches the tree.
    pub current: bool,
}

/// A changed, added or removed file.
struct Edit {
    old: Option<FileRow>,
    /// `None` if the file was removed or cannot be read.
    new: Option<SourceFile>,
    digest: u64,
    context: u64,
}

/// One refresh in progress.
struct Work<'a> {
    table: Table<'a>,
    root: &'a Path,
    moment: Moment<'a>,
    done: Refreshed,
    /// Moved files: old path to new path.
    moves: BTreeMap<String, String>,
}

impl Work<'_> {
    /// The set of files or the manifests changed: walks the tree again and checks the metadata of every file.
    fn moved(&mut self, now: i64) -> Result<(), StoreError> {
        let tell = self.moment.tell;
        let layout = discover_while(self.root, &|seen| tell(0, seen))?;
        let folders = survey(self.root, &layout, now);
        let before: Option<Vec<Project>> = self.table.meta(PROJECTS)?;
        let rows = self.table.files()?;
        let old: BTreeMap<String, Folder> = self.table.folders()?.into_iter().collect();
        let suspects = layout.files.iter().filter(|(path, project)| {
            let row = rows.get(path);
            let fits = row.is_some_and(|row| row.context == context(&layout.projects, *project, path));
            !fits || is_other(&old, &folders, path)
        });
        let suspects: Vec<(String, u32)> = suspects.cloned().collect();
        let edits = self.edits(&layout.projects, &suspects, &rows)?;
        let here: BTreeSet<&String> = layout.files.iter().map(|(path, _)| path).collect();
        let mut unread: BTreeMap<String, String> = self.table.meta(UNREAD)?.unwrap_or_default();
        unread.retain(|path, _| here.contains(path));
        self.table.set_meta(UNREAD, &unread)?;
        let gone: Vec<(&String, &FileRow)> = rows.iter().filter(|(path, _)| !here.contains(path)).collect();
        self.moves = moves(&gone, &edits);
        let gone = gone.into_iter().map(|(_, row)| Edit {
            old: Some(row.clone()),
            new: None,
            digest: 0,
            context: 0,
        });
        let edits: Vec<Edit> = edits.into_iter().chain(gone).collect();
        for (path, project) in &layout.files {
            if let Some(row) = rows.get(path).filter(|row| row.project != *project) {
                self.table.set_project(row.id, *project)?;
            }
        }
        let same = before.as_ref().is_some_and(|before| *before == layout.projects);
        let whole = !same || edits.len() * PART >= layout.files.len().max(1);
        self.apply(&layout.projects, edits, whole)?;
        self.table.set_meta(PROJECTS, &layout.projects)?;
        self.table.set_meta(PROBLEMS, &layout.problems)?;
        Ok(self.table.set_folders(&folders)?)
    }

    /// Whether any of these files is not in the index because it could not be read before.
    fn knows_not(&self, paths: &[String]) -> Result<bool, StoreError> {
        for path in paths {
            if self.table.file(path)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Only the content of some files may have changed.
    fn edited(&mut self, paths: &[String]) -> Result<(), StoreError> {
        let projects: Vec<Project> = self.table.meta(PROJECTS)?.unwrap_or_default();
        let mut rows = BTreeMap::new();
        for path in paths {
            rows.extend(self.table.file(path)?.map(|row| (path.clone(), row)));
        }
        let suspects: Vec<(String, u32)> =
            rows.iter().map(|(path, row)| (path.clone(), row.project)).collect();
        let edits = self.edits(&projects, &suspects, &rows)?;
        self.apply(&projects, edits, false)
    }

    /// Reads files, and skips those with unchanged content.
    fn edits(
        &mut self,
        projects: &[Project],
        suspects: &[(String, u32)],
        rows: &BTreeMap<String, FileRow>,
    ) -> Result<Vec<Edit>, StoreError> {
        let known = |path: &str, project: u32| {
            rows.get(path).filter(|row| row.context == context(projects, project, path)).map(|row| row.digest)
        };
        let mut unread: BTreeMap<String, String> = self.table.meta(UNREAD)?.unwrap_or_default();
        let before = unread.clone();
        let mut edits = Vec::new();
        for result in read_files(self.root, projects, suspects, &known, self.moment)? {
            self.done.source_bytes += result.bytes;
            unread.remove(&result.path);
            let (old, digest) = (rows.get(&result.path).cloned(), result.digest);
            let context = context(projects, result.project, &result.path);
            match result.file {
                Ok(None) => {}
                Ok(Some(file)) => {
                    self.done.parsed += 1;
                    edits.push(Edit { old, new: Some(file), digest, context });
                }
                Err(reason) => {
                    unread.insert(result.path, reason);
                    edits.push(Edit { old, new: None, digest, context });
                }
            }
        }
        if unread != before {
            self.table.set_meta(UNREAD, &unread)?;
        }
        Ok(edits)
    }

    /// Applies edits to the index and updates everything that depends on them.
    fn apply(&mut self, projects: &[Project], edits: Vec<Edit>, whole: bool) -> Result<(), StoreError> {
        if edits.is_empty() && !whole {
            return Ok(());
        }
        let mut delta = Delta::default();
        let mut touched: BTreeSet<i64> = BTreeSet::new();
        let mut old_types: BTreeSet<TypeId> = BTreeSet::new();
        let (mut old_spaces, mut batch) = (BTreeSet::new(), BTreeSet::new());
        for edit in edits {
            let old = match &edit.old {
                Some(row) => self.table.facts(row.id)?,
                None => syntax::FileFacts::default(),
            };
            old_spaces.extend(delta::spaces(&old));
            if let Some(row) = &edit.old {
                batch.insert(row.id);
                self.table.forget_words(row.id, &old)?;
                old_types.extend(self.table.types_in(row.id)?);
                self.table.forget_parts(row.id)?;
            }
            match (edit.new, edit.old) {
                (Some(mut file), _) => {
                    place_in_project(projects, &mut file);
                    delta.add(&old, &file.facts);
                    let id = self.table.add_file(&file, edit.digest, edit.context)?;
                    touched.insert(id);
                    batch.insert(id);
                }
                (None, Some(row)) => {
                    delta.add(&old, &syntax::FileFacts::default());
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
        self.widen(&delta, &mut touched)?;
        if touched.len() as u64 * PART as u64 >= self.table.count("select count(*) from files")? + PART as u64
        {
            return self.join_whole(projects);
        }
        self.join_part(projects, &touched, old_types)
    }

    /// Adds the files in which a name may resolve differently now.
    fn widen(&mut self, delta: &Delta, touched: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        if delta.is_empty() {
            return Ok(());
        }
        for name in &self.all_names(delta)? {
            touched.extend(self.table.mentioning(name)?);
            // an outline qualifies a name that two types share
            touched.extend(self.table.declaring_files(name)?);
        }
        for (of, member) in &delta.members {
            if self.table.is_declared(member)? {
                touched.extend(self.table.mentioning(member)?);
            }
            // `Encoding.Default` where a variable is called Encoding: whether the member is static decides what the first word
            // refers to
            let both: BTreeSet<i64> = self.table.mentioning(member)?.into_iter().collect();
            touched.extend(self.table.mentioning(of)?.into_iter().filter(|file| both.contains(file)));
        }
        for name in &delta.bases {
            self.derived(name, touched)?;
        }
        Ok(())
    }

    /// The names that may resolve differently, including those re-exported as a whole, and their aliases.
    fn all_names(&mut self, delta: &Delta) -> Result<BTreeSet<String>, StoreError> {
        let mut names = delta.names.clone();
        for (alias, last) in &delta.aliases {
            // a name that no source file declares resolves the same everywhere
            if self.table.is_declared(alias)? || self.table.is_declared(last)? {
                names.insert(alias.clone());
            }
        }
        let (mut open, mut seen): (Vec<Vec<String>>, BTreeSet<Vec<String>>) =
            (delta.wholes.iter().cloned().collect(), BTreeSet::new());
        while let Some(module) = open.pop() {
            if !seen.insert(module.clone()) {
                continue;
            }
            for file in self.table.files_in(&module)? {
                let facts = self.table.facts(file)?;
                names.extend(partial::declared(&facts));
                for (alias, path) in delta::passed_on(&facts) {
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
                files.extend(self.table.renaming(name)?);
            }
            let mut found = BTreeSet::new();
            for file in files {
                found.extend(delta::renamed(&self.table.facts(file)?, &new));
            }
            new = found.difference(&names).cloned().collect();
            names.extend(new.iter().cloned());
        }
        Ok(names)
    }

    /// The files that declare, derive from or mention the types with this name, transitively: a type nested in a base can be
    /// named through all of them.
    fn derived(&mut self, name: &str, touched: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        let simple = name.rsplit(['.', '+']).next().unwrap_or(name).split('`').next().unwrap_or_default();
        let mut open = self.table.named(simple)?;
        let mut seen: BTreeSet<TypeId> = open.iter().copied().collect();
        self.named_so(simple, touched)?;
        while let Some(of) = open.pop() {
            for user in self.table.users(of, true)? {
                if seen.insert(user) {
                    touched.extend(self.table.files_of(user)?);
                    let named = self.table.names_of(&[user])?.pop();
                    named.map_or(Ok(()), |named| self.named_so(named.simple(), touched))?;
                    open.push(user);
                }
            }
        }
        Ok(())
    }

    fn named_so(&self, simple: &str, touched: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        touched.extend(self.table.mentioning(simple)?);
        if let Some(short) = simple.strip_suffix(ATTRIBUTE) {
            touched.extend(self.table.mentioning(short)?);
        }
        Ok(())
    }

    /// Joins the whole codebase again, from the stored facts.
    fn join_whole(&mut self, projects: &[Project]) -> Result<(), StoreError> {
        self.done.whole = true;
        let mut files = Vec::new();
        for row in self.table.files()?.into_values() {
            files.push(self.table.source(row.id)?);
        }
        let old = self.table.types()?.into_iter().map(|(id, _)| id).collect();
        let code = Codebase::new(projects.to_vec(), files);
        let resolver = Resolver::new(&code);
        let edges = by_user(&code, resolver.edges());
        let outliner = Outliner::new(&code, &resolver);
        let cards = (0..code.types.len() as u32).map(|of| Card::of(&code, &resolver, &outliner, of));
        self.settle(cards, old, &edges)
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
        for _ in 0..ROUNDS {
            for file in &touched {
                old.extend(self.table.types_in(*file)?);
            }
            let (cards, edges) = self.joined(projects, &touched, &old)?;
            let mut wider = touched.clone();
            for card in &cards {
                let mine = edges.get(&card.id).into_iter().flatten();
                let now: BTreeSet<TypeId> = mine.filter(|(_, edge)| edge.base).map(|(to, _)| *to).collect();
                let before: BTreeSet<TypeId> = self.table.bases(card.id)?.into_iter().collect();
                if now != before {
                    self.derived(&card.name, &mut wider)?;
                }
            }
            if wider == touched {
                return self.settle(cards.into_iter(), old, &edges);
            }
            touched = wider;
        }
        self.join_whole(projects)
    }

    /// Summaries and edges of the types that are, or were, declared in some files.
    fn joined(
        &mut self,
        projects: &[Project],
        touched: &BTreeSet<i64>,
        old: &BTreeSet<TypeId>,
    ) -> Result<(Vec<Card>, Uses), StoreError> {
        let mut files = touched.clone();
        for id in old {
            files.extend(self.table.files_of(*id)?);
        }
        let mut start = Vec::new();
        for file in files {
            start.push(self.table.source(file)?);
        }
        let paths: BTreeSet<String> = start.iter().map(|file| file.path.clone()).collect();
        let (_, found) = world(&mut self.table, projects, start, |code, resolver| {
            let within = |of: &u32| {
                let parts = &code.types[*of as usize].parts;
                parts.iter().any(|(file, _)| paths.contains(&code.files[*file as usize].path))
            };
            let wanted: BTreeSet<u32> = (0..code.types.len() as u32).filter(within).collect();
            let outliner = Outliner::new(code, resolver);
            let cards: Vec<Card> = wanted.iter().map(|of| Card::of(code, resolver, &outliner, *of)).collect();
            (cards, by_user(code, resolver.edges_from(&|of| wanted.contains(&of))))
        })?;
        Ok(found)
    }

    /// Compares the new summaries and edges with the stored ones.
    fn settle(
        &mut self,
        cards: impl Iterator<Item = Card>,
        mut old: BTreeSet<TypeId>,
        edges: &Uses,
    ) -> Result<(), StoreError> {
        let (mut added, mut changed) = (Vec::new(), BTreeMap::new());
        for card in cards {
            self.done.hashed += 1;
            old.remove(&card.id);
            let before = self.table.card(card.id)?;
            let had = before.is_some();
            self.table.set_edges(card.id, edges.get(&card.id).map_or(&[], Vec::as_slice), had)?;
            if before.as_ref() == Some(&card) {
                self.table.add_parts(&card)?;
                continue;
            }
            if let Some(before) = &before {
                self.table.forget_names(before)?;
                self.table.wait(before)?;
                if (&before.name, &before.project) != (&card.name, &card.project) {
                    let collision = format!("{}: {} and {}", card.id, before.name, card.name);
                    self.done.collisions.push(collision);
                }
                if let Some(change) = classify(&before.hashes, &card.hashes) {
                    changed.insert(card.id, change.class);
                    self.tell(&card, Some(change), false);
                }
            }
            self.table.set_card(&card)?;
            if !had {
                added.push(card);
            }
        }
        let mut gone = Vec::new();
        for id in old {
            gone.extend(self.table.card(id)?);
        }
        let first = added.len() as u64 == self.done.hashed && gone.is_empty();
        self.follow(&gone, &added)?;
        for card in &gone {
            self.tell(card, None, true);
            self.table.remove_card(card)?;
        }
        if !first {
            for card in &added {
                self.tell(card, None, false);
            }
        }
        self.age(&changed)
    }

    fn tell(&mut self, card: &Card, change: Option<Change>, gone: bool) {
        self.done.changes.push(Changed { id: card.id, name: card.name.clone(), change, gone });
    }

    /// Carries the state of renamed types over.
    fn follow(&mut self, gone: &[Card], come: &[Card]) -> Result<(), StoreError> {
        if gone.is_empty() || come.is_empty() {
            return Ok(());
        }
        let (olds, news): (Vec<Known<'_>>, Vec<Known<'_>>) =
            (gone.iter().map(known).collect(), come.iter().map(known).collect());
        let (found, doubts) = alias::aliases(&olds, &news, &|file| self.moves.get(file).cloned());
        let name = |cards: &[Card], id: TypeId| {
            cards.iter().find(|card| card.id == id).map_or_else(String::new, |card| card.name.clone())
        };
        for alias in found {
            let (old_name, new_name) = (name(gone, alias.old), name(come, alias.new));
            let at = self.moment.now;
            let renamed =
                Renamed { old: alias.old, old_name, new: alias.new, new_name, reason: alias.reason, at };
            self.table.set_alias(alias.old, &renamed.old_name, &renamed)?;
            self.table.move_state(alias.old, alias.new)?;
            self.done.aliases.push(renamed);
        }
        for doubt in doubts {
            let candidates = doubt.candidates.iter().map(|id| name(come, *id)).collect();
            self.done.doubtful.push(Doubt { name: name(gone, doubt.old), candidates });
        }
        Ok(())
    }

    /// Updates the note states of changed types, their dependents and their cycles.
    fn age(&mut self, changed: &BTreeMap<TypeId, ChangeClass>) -> Result<(), StoreError> {
        let mut users = BTreeMap::new();
        for (id, _) in changed.iter().filter(|(_, class)| **class == ChangeClass::Structure) {
            users.insert(*id, self.table.users(*id, false)?);
        }
        let cycles = self.circles(changed)?;
        let concerned = changed.keys().chain(users.values().flatten()).chain(cycles.iter().flatten());
        let mut states = BTreeMap::new();
        for id in concerned {
            states.insert(*id, self.table.state(*id)?.unwrap_or_default());
        }
        settle(&mut states, changed, &users, &cycles, self.moment.now);
        for (id, state) in &states {
            self.table.set_state(*id, state)?;
        }
        let reached: BTreeSet<TypeId> = users.values().flatten().copied().collect();
        let reached: Vec<TypeId> = reached.into_iter().filter(|id| !changed.contains_key(id)).collect();
        let named = self.table.names_of(&reached)?;
        self.done.reached.extend(named.into_iter().map(|named| (named.id, named.name)));
        self.done.reached.sort_by(|one, other| one.1.cmp(&other.1));
        Ok(())
    }

    /// The dependency cycles of deeply changed types. The types of a cycle share a note; without any notes, cycles do not matter.
    fn circles(&mut self, changed: &BTreeMap<TypeId, ChangeClass>) -> Result<Vec<Vec<TypeId>>, StoreError> {
        let deep = |class: &ChangeClass| *class <= ChangeClass::PublicBehavior;
        if !changed.values().any(deep) || self.table.noted()?.is_empty() {
            return Ok(Vec::new());
        }
        let mut ids: Vec<TypeId> = self.table.types()?.into_iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        let groups = Graph::new(ids.len(), &self.table.edges(&ids)?).groups();
        let groups = groups.into_iter().filter(|group| group.len() > 1);
        let cycles = groups.map(|group| group.iter().map(|of| ids[*of as usize]).collect::<Vec<TypeId>>());
        Ok(cycles.filter(|cycle| cycle.iter().any(|id| changed.contains_key(id))).collect())
    }
}

fn known(card: &Card) -> Known<'_> {
    Known {
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
fn moves(gone: &[(&String, &FileRow)], edits: &[Edit]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (path, row) in gone {
        let mut added = edits.iter().filter(|edit| edit.old.is_none() && edit.digest == row.digest);
        let same = gone.iter().filter(|(_, other)| other.digest == row.digest).count();
        if let (Some(Edit { new: Some(file), .. }), None, 1) = (added.next(), added.next(), same) {
            found.insert((*path).clone(), file.path.clone());
        }
    }
    found
}

/// Whether the metadata of a file changed, or is too recent to be trusted.
fn is_other(old: &BTreeMap<String, Folder>, new: &BTreeMap<String, Folder>, path: &str) -> bool {
    let (folder, name) = freshness::parted(path);
    let entry = |folders: &BTreeMap<String, Folder>| folders.get(folder)?.entries.get(name).copied();
    let (before, after) = (entry(old), entry(new));
    before.is_none_or(|before| before.unsure) || before.map(|it| it.stamp) != after.map(|it| it.stamp)
}

/// A digest of the project settings that affect how a file is parsed.
fn context(projects: &[Project], project: u32, path: &str) -> u64 {
    let Some(project) = projects.get(project as usize) else { return 0 };
    let symbols: Vec<&str> = project.symbols.iter().collect();
    let settings = format!(
        "{HASH_VERSION}\n{}\n{}\n{}\n{:?}\n{path}",
        project.name,
        project.path,
        symbols.join(","),
        project.aliases
    );
    Digest::of(settings.as_bytes()).0
}

/// Edges by the type they start from.
type Uses = BTreeMap<TypeId, Vec<(TypeId, Edge)>>;

fn by_user(code: &Codebase, edges: Vec<Edge>) -> Uses {
    let mut found = Uses::new();
    for edge in edges {
        let id = |of: u32| code.types[of as usize].id;
        found.entry(id(edge.from)).or_default().push((id(edge.to), edge));
    }
    found
}
