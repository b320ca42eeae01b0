//! Replaces, creates and removes several files so that after a crash at any point the tree can be brought to the state before or
//! the state after: the journal is written first, files are staged on the same file system, then renamed in order.
//!
//! Does not know what the files contain.

use crate::error::EditError;
use crate::staging::beside;
use os::files::{DirBuilderExt, OpenOptionsExt};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{Error as IoError, ErrorKind, Write};
use std::path::{Path, PathBuf};
use syntax::Digest;

/// A step of a transaction, for faults under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    WriteBackup,
    WriteJournal,
    Stage,
    Rename,
    Remove,
    CleanUp,
}

/// Decides whether a step fails; the default never does.
pub trait Fault {
    /// Called before each step. `Some(error)` of kind `Interrupted` stops as if the process had been killed; any other fails
    /// the step.
    fn before(&self, step: Step) -> Option<IoError>;
}

/// No faults.
pub(crate) struct NoFault;

impl Fault for NoFault {
    fn before(&self, _: Step) -> Option<IoError> {
        None
    }
}

/// One file of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalFile {
    pub path: String,
    /// The digest before and after; `None` if there is no such file then.
    pub before: Option<u64>,
    pub after: Option<u64>,
    /// The file with the content before, in the folder of the entry.
    pub backup: Option<String>,
    /// The staged file, while a transaction is running; relative to the tree, or absolute.
    pub staged: String,
    /// The permissions of the file.
    pub mode: u32,
}

/// Which way a transaction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Apply,
    Undo,
}

impl JournalFile {
    pub(crate) fn origin(&self, direction: Direction) -> Option<u64> {
        if direction == Direction::Apply { self.before } else { self.after }
    }

    fn goal(&self, direction: Direction) -> Option<u64> {
        if direction == Direction::Apply { self.after } else { self.before }
    }
}

/// Access to the files of a tree.
pub(crate) struct Disk<'a> {
    pub(crate) root: &'a Path,
    pub(crate) fault: &'a dyn Fault,
}

impl Disk<'_> {
    pub(crate) fn step(&self, step: Step) -> Result<(), IoError> {
        self.fault.before(step).map_or(Ok(()), Err)
    }

    /// The content of a file of the tree; `None` if it does not exist.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, EditError> {
        match project::read_source(self.root, path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EditError::io(path, error)),
        }
    }

    pub(crate) fn digest(&self, path: &str) -> Result<Option<u64>, EditError> {
        Ok(self.read(path)?.map(|bytes| Digest::of_bytes(&bytes).0))
    }

    /// Refuses a file that must not be replaced; returns its permissions.
    pub(crate) fn check_target(&self, path: &str) -> Result<u32, EditError> {
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if path.starts_with('/') || !path.split('/').all(is_plain) {
            return Err(EditError::Outside(path.to_owned()));
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.check_folder(folder).map_err(|_| EditError::Linked(folder.to_owned()))?;
        let meta = match self.root.join(path).symlink_metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(NEW_FILE_MODE),
            Err(error) => return Err(EditError::io(path, error)),
        };
        if !meta.is_file() || os::files::is_linked_elsewhere(&meta) {
            return Err(EditError::Linked(path.to_owned()));
        }
        let mode = os::files::mode(&meta);
        if mode & OWNER_WRITES == 0 {
            return Err(EditError::ReadOnly(path.to_owned()));
        }
        Ok(mode)
    }

    /// Follows a folder from the root without following links.
    fn check_folder(&self, folder: &str) -> Result<(), IoError> {
        let mut path = self.root.to_path_buf();
        for part in folder.split('/').filter(|part| !part.is_empty()) {
            path.push(part);
            os::files::check_real_folder(&path)?;
        }
        Ok(())
    }

    /// Writes and syncs a new file.
    pub(crate) fn stage(&self, staged: &str, bytes: &[u8], mode: u32) -> Result<(), IoError> {
        self.step(Step::Stage)?;
        write_synced(&self.root.join(staged), bytes, mode)
    }

    /// Completes a transaction in a direction: every file reaches its goal, or already has it.
    pub(crate) fn complete(
        &self,
        files: &[JournalFile],
        direction: Direction,
        id: &str,
    ) -> Result<(), IoError> {
        let (removed, written): (Vec<_>, Vec<_>) = files.iter().partition(|it| it.goal(direction).is_none());
        for file in written {
            if self.root.join(&file.staged).exists() {
                self.step(Step::Rename)?;
                self.replace_by_staged(file, id)?;
            }
        }
        for file in removed {
            self.step(Step::Remove)?;
            remove_file(&self.root.join(&file.path))?;
        }
        for file in files {
            sync_folder(self.root.join(&file.path).parent());
        }
        Ok(())
    }

    /// Renames a staged file over its target. If another file system is mounted there, a copy beside the target is renamed.
    fn replace_by_staged(&self, file: &JournalFile, id: &str) -> Result<(), IoError> {
        let (staged, target) = (self.root.join(&file.staged), self.root.join(&file.path));
        match std::fs::rename(&staged, &target) {
            Err(error) if error.kind() == ErrorKind::CrossesDevices => {
                let copy = self.root.join(beside(&file.path, id));
                write_synced(&copy, &std::fs::read(&staged)?, file.mode)?;
                std::fs::rename(copy, target)?;
                remove_file(&staged)
            }
            renamed => renamed,
        }
    }

    /// The files that neither have their goal nor can still reach it.
    pub(crate) fn find_blocked(&self, files: &[JournalFile], direction: Direction) -> Vec<String> {
        let can_reach = |file: &JournalFile| {
            let now = self.digest(&file.path).ok().flatten();
            let goal = file.goal(direction);
            let staged = || std::fs::read(self.root.join(&file.staged)).ok();
            let is_staged = || staged().is_some_and(|bytes| Some(Digest::of_bytes(&bytes).0) == goal);
            now == goal || now == file.origin(direction) && (goal.is_none() || is_staged())
        };
        files.iter().filter(|file| !can_reach(file)).map(|file| file.path.clone()).collect()
    }

    /// How many files have reached their goal.
    pub(crate) fn count_at_goal(&self, files: &[JournalFile], direction: Direction) -> usize {
        let is_there = |file: &&JournalFile| self.digest(&file.path).ok() == Some(file.goal(direction));
        files.iter().filter(is_there).count()
    }

    pub(crate) fn count_staged(&self, files: &[JournalFile]) -> usize {
        files.iter().filter(|file| self.root.join(&file.staged).exists()).count()
    }

    /// Brings every file that has its goal back to where it was, with the content of each by its number.
    pub(crate) fn roll_back(
        &self,
        files: &[JournalFile],
        direction: Direction,
        content: &dyn Fn(usize) -> Option<Vec<u8>>,
    ) -> RolledBack {
        let mut left = RolledBack::default();
        for (number, file) in files.iter().enumerate() {
            let now = self.digest(&file.path).ok().flatten();
            if now == file.goal(direction) && now != file.origin(direction) {
                if let Err(error) = self.restore(file, direction, content(number)) {
                    left.failed.push(file.path.clone());
                    left.error = Some(error);
                }
            } else if now != file.origin(direction) {
                left.foreign.push(file.path.clone());
            }
        }
        if left.failed.is_empty() {
            self.remove_staged(files);
        }
        left
    }

    fn restore(
        &self,
        file: &JournalFile,
        direction: Direction,
        content: Option<Vec<u8>>,
    ) -> Result<(), IoError> {
        match (file.origin(direction), content) {
            (None, _) => remove_file(&self.root.join(&file.path)),
            (Some(_), Some(bytes)) => {
                let staged = self.root.join(&file.staged);
                if let Some(folder) = staged.parent() {
                    // the folder is removed once nothing is staged in it
                    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                }
                write_synced(&staged, &bytes, file.mode)?;
                self.replace_by_staged(file, "rollback")
            }
            (Some(_), None) => Err(IoError::other("its former content is lost")),
        }
    }

    /// Removes what is staged, and the folder made for it once it is empty.
    pub(crate) fn remove_staged(&self, files: &[JournalFile]) {
        for file in files {
            let staged = self.root.join(&file.staged);
            // best effort: a file that stays is counted by `count_staged`
            let _ = remove_file(&staged);
            if Path::new(&file.staged).is_absolute()
                && let Some(folder) = staged.parent()
            {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
}

/// What a rollback could not bring back.
#[derive(Debug, Default)]
pub(crate) struct RolledBack {
    /// Someone else has changed them.
    pub(crate) foreign: Vec<String>,
    pub(crate) failed: Vec<String>,
    pub(crate) error: Option<IoError>,
}

const NEW_FILE_MODE: u32 = 0o644;
const OWNER_WRITES: u32 = 0o200;

pub(crate) fn write_synced(path: &Path, bytes: &[u8], mode: u32) -> Result<(), IoError> {
    // a link that someone planted there is replaced, not followed
    remove_file(path)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    os::files::set_open_mode(&file, mode)?;
    file.sync_all()
}

/// Replaces a file by renaming a synced one over it.
pub(crate) fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> Result<(), IoError> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let staged: PathBuf = path.with_file_name(format!(".{name}.loci-new"));
    write_synced(&staged, bytes, mode)?;
    std::fs::rename(&staged, path)?;
    sync_folder(path.parent());
    Ok(())
}

fn remove_file(path: &Path) -> Result<(), IoError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Best effort: some file systems cannot sync a folder.
fn sync_folder(folder: Option<&Path>) {
    let _ = folder.map(os::files::sync_folder);
}
