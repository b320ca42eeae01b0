//! The plans and applied edits of a tree: stores plans, applies them, undoes them, and finishes or rolls back what a crash left
//! behind when that is asked for. Nothing else writes the tree: reading the journal does not.
//!
//! Does not know how a plan was made.

mod interrupted;

use crate::edit::FileEdit;
use crate::error::EditError;
use crate::plan::Plan;
use crate::staging::Staging;
use crate::text::SourceText;
use crate::transaction::{
    Direction, Disk, Fault, JournalFile, NoFault, RolledBack, Step, replace_file, write_synced,
};
use os::files::{DirBuilderExt, OpenOptionsExt};
use serde::{Deserialize, Serialize};
use std::fs::{DirEntry, File, TryLockError};
use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use syntax::Digest;

/// Entries older than this are dropped.
const MAX_AGE_MILLIS: i64 = 30 * 24 * 3600 * 1000;
/// The oldest entries are dropped until the others fit.
const MAX_BYTES: u64 = 64 << 20;
/// How often, and after how long, a lock that is held for an instant is asked for again.
const PROBE_RETRIES: u32 = 20;
const PROBE_PAUSE: Duration = Duration::from_millis(5);
/// Only the user may read what was in the files.
const PRIVATE: u32 = 0o600;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalState {
    /// Files are being staged; the tree is as before.
    Staging,
    /// Staged files are being renamed.
    Applying,
    Applied,
    /// Former contents are being staged; the tree is as after.
    Unstaging,
    Undoing,
    Undone,
}

impl Direction {
    /// The states of an entry while a transaction renames files, and afterwards.
    fn running(self) -> JournalState {
        if self == Direction::Apply { JournalState::Applying } else { JournalState::Undoing }
    }

    fn done(self) -> JournalState {
        if self == Direction::Apply { JournalState::Applied } else { JournalState::Undone }
    }
}

impl JournalState {
    pub fn name(self) -> &'static str {
        match self {
            JournalState::Staging => "staging",
            JournalState::Applying => "applying",
            JournalState::Applied => "applied",
            JournalState::Unstaging => "unstaging",
            JournalState::Undoing => "undoing",
            JournalState::Undone => "undone",
        }
    }
}

/// An edit that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub id: String,
    pub title: String,
    /// In milliseconds since 1970.
    pub time: i64,
    pub state: JournalState,
    pub files: Vec<JournalFile>,
}

/// The result of applying or undoing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub id: String,
    pub title: String,
    pub files: Vec<String>,
    /// Files that were not rolled back because someone else has changed them since.
    pub kept: Vec<String>,
}

/// The edits of one tree.
pub struct Journal {
    root: PathBuf,
    folder: PathBuf,
    fault: Box<dyn Fault>,
}

/// The files of a transaction, and the new content of each.
type Prepared = (Vec<JournalFile>, Vec<Option<Vec<u8>>>);

/// Exclusive access, until dropped.
struct Lock(#[expect(dead_code, reason = "the kernel releases the lock when the file is closed")] File);

impl Journal {
    /// The journal of the tree at `root`, kept in `folder`.
    pub fn new(root: &Path, folder: &Path) -> Journal {
        Journal { root: root.to_path_buf(), folder: folder.to_path_buf(), fault: Box::new(NoFault) }
    }

    /// With faults, for tests.
    #[must_use]
    pub fn with_fault(self, fault: Box<dyn Fault>) -> Journal {
        Journal { fault, ..self }
    }

    fn disk(&self) -> Disk<'_> {
        Disk { root: &self.root, fault: &*self.fault }
    }

    fn lock(&self) -> Result<Lock, EditError> {
        let path = self.folder.join("lock");
        let failed = |error: IoError| EditError::io(path.to_string_lossy(), error);
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let file = File::options().create(true).truncate(false).write(true).mode(PRIVATE).open(&path);
        let file = file.map_err(failed)?;
        let mut locked = file.try_lock();
        // is_writing() and interrupted() hold a shared lock for an instant
        for _ in 0..PROBE_RETRIES {
            if matches!(locked, Err(TryLockError::WouldBlock)) {
                std::thread::sleep(PROBE_PAUSE);
                locked = file.try_lock();
            }
        }
        match locked {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(EditError::Busy),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Whether an edit is being applied or undone at this moment, by any process. What a crash left behind does not count.
    pub fn is_writing(&self) -> bool {
        let lock = File::open(self.folder.join("lock"));
        lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    // ---- plans

    /// Stores a plan; returns its ID.
    pub fn save_plan(&self, plan: &Plan) -> Result<String, EditError> {
        let id = plan.id();
        std::fs::create_dir_all(&self.folder).map_err(|error| EditError::io("plans", error))?;
        let bytes = serde_json::to_vec(plan).unwrap_or_default();
        replace_file(&self.plan_path(&id), &bytes, PRIVATE).map_err(|error| EditError::io("plans", error))?;
        self.prune_plans();
        Ok(id)
    }

    pub fn load_plan(&self, id: &str) -> Result<Plan, EditError> {
        let missing = || EditError::NoSuchEdit(id.to_owned());
        let is_id =
            id.len() == 9 && id.starts_with('e') && id[1..].bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes = std::fs::read(self.plan_path(id)).ok().filter(|_| is_id).ok_or_else(missing)?;
        serde_json::from_slice(&bytes).map_err(|_| missing())
    }

    fn plan_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.plan.json"))
    }

    fn entry_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    // ---- applying and undoing

    /// Applies a complete plan to all its files, or to none.
    pub fn apply(&self, plan: &Plan, now: i64) -> Result<Applied, EditError> {
        plan.require_complete()?;
        let _lock = self.lock()?;
        let id = plan.id();
        if let Some(finished) = self.resume(&id, Direction::Apply)? {
            return Ok(finished);
        }
        if self.entry(&id).is_ok_and(|entry| self.is_in_place(&entry)) {
            return Err(EditError::AlreadyApplied(id));
        }
        let (files, contents) = self.prepare(plan, &id)?;
        let mut entry =
            JournalEntry { id, title: plan.title.clone(), time: now, state: JournalState::Staging, files };
        self.run(&mut entry, &contents, Direction::Apply)?;
        self.prune(now);
        Ok(applied(&entry))
    }

    /// Undoes an applied edit, if its files are still as it left them. One that was interrupted is rolled back.
    pub fn undo(&self, id: &str) -> Result<Applied, EditError> {
        let _lock = self.lock()?;
        if let Some(rolled_back) = self.resume(id, Direction::Undo)? {
            return Ok(rolled_back);
        }
        let mut entry = self.entry(id)?;
        if entry.state != JournalState::Applied {
            return Err(EditError::NotApplied(id.to_owned()));
        }
        self.require_digests(entry.files.iter().map(|file| (file.path.as_str(), file.after)))?;
        let staging = Staging::of_tree(&self.root, id);
        let mut contents = Vec::new();
        for number in 0..entry.files.len() {
            contents.push(self.backup(&entry, number, Direction::Apply));
            let file = &mut entry.files[number];
            self.disk().check_target(&file.path)?;
            file.staged = staging.path(number, &file.path);
        }
        entry.state = JournalState::Unstaging;
        self.run(&mut entry, &contents, Direction::Undo)?;
        self.drop_undo_backups(&entry);
        Ok(applied(&entry))
    }

    /// Whether an edit is applied and its files are as it left them. Git may have brought them back since.
    fn is_in_place(&self, entry: &JournalEntry) -> bool {
        let files = entry.files.iter().map(|file| (file.path.as_str(), file.after));
        entry.state == JournalState::Applied && self.require_digests(files).is_ok()
    }

    /// The files of a plan as they will be, and their new contents.
    fn prepare(&self, plan: &Plan, id: &str) -> Result<Prepared, EditError> {
        let known = |file: &FileEdit| (!file.is_new).then_some(file.digest);
        let planned = plan.files.iter().map(|file| (file.path.as_str(), known(file)));
        let moved = plan.files.iter().filter_map(|file| file.moved_to.as_deref()).map(|path| (path, None));
        let read = plan.read.iter().map(|(path, digest)| (path.as_str(), Some(*digest)));
        self.require_digests(planned.chain(moved).chain(read))?;
        let staging = Staging::of_tree(&self.root, id);
        let (mut files, mut contents) = (Vec::new(), Vec::new());
        let mut add = |path: &str, before: Option<u64>, bytes: Option<Vec<u8>>, mode: u32| {
            let number = files.len();
            files.push(JournalFile {
                path: path.to_owned(),
                before,
                after: bytes.as_ref().map(|bytes| Digest::of_bytes(bytes).0),
                backup: before.map(|_| number.to_string()),
                staged: staging.path(number, path),
                mode,
            });
            contents.push(bytes);
        };
        for file in &plan.files {
            let mode = self.disk().check_target(&file.path)?;
            let bytes = self.disk().read(&file.path)?.unwrap_or_default();
            let source = SourceText::decode(&bytes).ok_or_else(|| EditError::Encoding(file.path.clone()))?;
            let new = file.apply_to(&source)?;
            match &file.moved_to {
                Some(to) => {
                    self.disk().check_target(to)?;
                    add(to, None, Some(new), mode);
                    add(&file.path, known(file), None, mode);
                }
                None => add(&file.path, known(file), Some(new), mode),
            }
        }
        Ok((files, contents))
    }

    fn require_digests<'p>(
        &self,
        files: impl Iterator<Item = (&'p str, Option<u64>)>,
    ) -> Result<(), EditError> {
        let mut changed = Vec::new();
        for (path, wanted) in files {
            // a file is planned, and read for other places
            if self.disk().digest(path).ok() != Some(wanted) && !changed.iter().any(|it| it == path) {
                changed.push(path.to_owned());
            }
        }
        if changed.is_empty() { Ok(()) } else { Err(EditError::Changed(changed)) }
    }

    /// Runs a prepared transaction; on failure the tree is as before, unless the process ends first.
    fn run(
        &self,
        entry: &mut JournalEntry,
        contents: &[Option<Vec<u8>>],
        direction: Direction,
    ) -> Result<(), EditError> {
        let done = self.stage_and_rename(entry, contents, direction);
        let Err(error) = done else { return Ok(()) };
        if error.kind() == ErrorKind::Interrupted {
            return Err(EditError::Killed);
        }
        let left = self.roll_back(entry, direction);
        let paths: Vec<String> = left.failed.into_iter().chain(left.foreign).collect();
        if !paths.is_empty() {
            return Err(EditError::NotRolledBack { paths, error });
        }
        self.end_rolled_back(entry, direction)?;
        let path = entry.files.first().map_or_else(String::new, |file| file.path.clone());
        Err(EditError::RolledBack { path, error })
    }

    fn stage_and_rename(
        &self,
        entry: &mut JournalEntry,
        contents: &[Option<Vec<u8>>],
        direction: Direction,
    ) -> Result<(), IoError> {
        self.write_backups(entry, direction)?;
        self.mark_running(&entry.id)?;
        self.write_entry(entry)?;
        for (file, bytes) in entry.files.iter().zip(contents) {
            if let Some(bytes) = bytes {
                self.disk().stage(&file.staged, bytes, file.mode)?;
            }
        }
        entry.state = direction.running();
        self.write_entry(entry)?;
        self.disk().complete(&entry.files, direction, &entry.id)?;
        self.disk().remove_staged(&entry.files);
        entry.state = direction.done();
        self.write_entry(entry)?;
        self.clear_running();
        Ok(())
    }

    /// Keeps the contents from which a transaction starts.
    fn write_backups(&self, entry: &JournalEntry, direction: Direction) -> Result<(), IoError> {
        let folder = self.folder.join(&entry.id);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        for number in 0..entry.files.len() {
            if let Some(name) = backup_name(entry, number, direction) {
                self.disk().step(Step::WriteBackup)?;
                let bytes = std::fs::read(self.root.join(&entry.files[number].path))?;
                write_synced(&folder.join(name), &bytes, PRIVATE)?;
            }
        }
        Ok(())
    }

    /// The content of a file before a transaction, if it was kept.
    fn backup(&self, entry: &JournalEntry, number: usize, direction: Direction) -> Option<Vec<u8>> {
        let name = backup_name(entry, number, direction)?;
        let bytes = std::fs::read(self.folder.join(&entry.id).join(name)).ok()?;
        (Some(Digest::of_bytes(&bytes).0) == entry.files[number].origin(direction)).then_some(bytes)
    }

    /// Drops what only an undo that fails would need.
    fn drop_undo_backups(&self, entry: &JournalEntry) {
        let names = (0..entry.files.len()).filter_map(|at| backup_name(entry, at, Direction::Undo));
        for name in names {
            let _ = std::fs::remove_file(self.folder.join(&entry.id).join(name));
        }
    }

    fn write_entry(&self, entry: &JournalEntry) -> Result<(), IoError> {
        self.disk().step(Step::WriteJournal)?;
        self.save_entry(entry)
    }

    fn save_entry(&self, entry: &JournalEntry) -> Result<(), IoError> {
        let bytes = serde_json::to_vec(entry).map_err(IoError::other)?;
        replace_file(&self.entry_path(&entry.id), &bytes, PRIVATE)
    }

    /// Brings the tree back to where a transaction started, but for files that someone else has changed.
    fn roll_back(&self, entry: &JournalEntry, direction: Direction) -> RolledBack {
        let disk = Disk { root: &self.root, fault: &NoFault };
        let content = |number: usize| self.backup(entry, number, direction);
        disk.roll_back(&entry.files, direction, &content)
    }

    /// A transaction that was rolled back is over.
    fn end_rolled_back(&self, entry: &mut JournalEntry, direction: Direction) -> Result<(), EditError> {
        match direction {
            Direction::Apply => self.drop_entry(&entry.id),
            Direction::Undo => {
                entry.state = JournalState::Applied;
                self.save_entry(entry).map_err(|error| EditError::io(&entry.id, error))?;
                self.drop_undo_backups(entry);
            }
        }
        self.clear_running();
        Ok(())
    }

    // ---- entries

    /// All edits, the latest first.
    pub fn entries(&self) -> Vec<JournalEntry> {
        let Ok(listing) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let names = listing.flatten().filter_map(|it| it.file_name().into_string().ok());
        let is_entry = |name: &String| {
            name.strip_suffix(".json").is_some_and(|id| id.starts_with('e') && !id.contains('.'))
        };
        let read = |name: String| serde_json::from_slice(&std::fs::read(self.folder.join(name)).ok()?).ok();
        let mut found: Vec<JournalEntry> = names.filter(is_entry).filter_map(read).collect();
        found.sort_by(|one, other| (other.time, &one.id).cmp(&(one.time, &other.id)));
        found
    }

    pub fn entry(&self, id: &str) -> Result<JournalEntry, EditError> {
        let found = self.entries().into_iter().find(|entry| entry.id == id);
        found.ok_or_else(|| EditError::NoSuchEdit(id.to_owned()))
    }

    fn drop_entry(&self, id: &str) {
        let _ = std::fs::remove_file(self.entry_path(id));
        let _ = std::fs::remove_dir_all(self.folder.join(id));
    }

    /// Drops plans that are much older than the newest, and the oldest beyond the size limit: an agent may plan in a loop.
    fn prune_plans(&self) {
        let listing = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let plans = listing.filter(|it| it.file_name().to_string_lossy().ends_with(".plan.json"));
        let to_plan = |it: DirEntry| {
            let meta = it.metadata().ok()?;
            Some((meta.modified().ok()?, meta.len(), it.path()))
        };
        let mut plans: Vec<_> = plans.filter_map(to_plan).collect();
        plans.sort_by(|one, other| other.cmp(one));
        let Some(newest) = plans.first().map(|plan| plan.0) else { return };
        let mut size = 0;
        for (at, (written, length, path)) in plans.iter().enumerate() {
            size += length;
            let age = newest.duration_since(*written).unwrap_or_default();
            if at > 0 && (size > MAX_BYTES || age.as_millis() > MAX_AGE_MILLIS as u128) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// Drops what is too old, and the oldest beyond the size limit.
    fn prune(&self, now: i64) {
        let mut size = 0;
        for entry in self.entries() {
            let backups = std::fs::read_dir(self.folder.join(&entry.id)).into_iter().flatten().flatten();
            size += backups.filter_map(|it| it.metadata().ok()).map(|meta| meta.len()).sum::<u64>();
            if now - entry.time > MAX_AGE_MILLIS || size > MAX_BYTES && entry.time < now {
                self.drop_entry(&entry.id);
            }
        }
    }
}

/// The name of the file with the content from which a transaction starts; `None` if there is no such content.
fn backup_name(entry: &JournalEntry, number: usize, direction: Direction) -> Option<String> {
    let file = &entry.files[number];
    match direction {
        Direction::Apply => file.backup.clone(),
        Direction::Undo => file.after.map(|_| format!("{number}.after")),
    }
}

fn applied(entry: &JournalEntry) -> Applied {
    let files = entry.files.iter().map(|file| file.path.clone()).collect();
    Applied { id: entry.id.clone(), title: entry.title.clone(), files, kept: Vec::new() }
}
