//! One run of an indexer: the program, its limits, and the check of what it wrote before that replaces an earlier index.
//!
//! Does not compare the index with the sources: whoever reads it does, file by file.

use crate::table::{IndexerTarget, OUTPUT};
use scip::{Index, ScipError};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};
use subprocess::{Finished, Job, RunError, Supervisor};

/// An indexer that prints more is stopped: the index itself goes to a file.
const STDOUT_LIMIT: usize = 64 << 20;
/// A larger index is not kept. The largest of the trees in `docs/performance.md` has 14 MB.
const INDEX_LIMIT: u64 = 2 << 30;
/// How much of an indexer's output an error quotes.
const QUOTED_LINES: usize = 5;

/// How an indexer is run.
pub struct IndexRun<'a> {
    pub supervisor: &'a Supervisor,
    /// The whole environment of the indexer; it needs `PATH` and `HOME`.
    pub env: BTreeMap<OsString, OsString>,
    pub deadline: Duration,
    pub cancel: Option<&'a AtomicBool>,
    pub root: &'a Path,
    /// The folder for the indexes of the tree, outside of it.
    pub output: &'a Path,
}

/// An index that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexed {
    pub files: u64,
    pub occurrences: u64,
}

/// Why there is no new index. An earlier one remains.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("{program} is not installed")]
    NotInstalled { program: &'static str, install: &'static str },
    #[error("{program}: {error}")]
    Run { program: &'static str, error: RunError },
    #[error("{program} failed (exit code {status}): {output}")]
    Failed { program: &'static str, status: i32, output: String },
    #[error("{program} wrote no index: {output}")]
    Nothing { program: &'static str, output: String },
    #[error("{program} wrote an index of {bytes} bytes, more than the {INDEX_LIMIT} that are read")]
    TooLarge { program: &'static str, bytes: u64 },
    #[error("{program}: {error}")]
    Unreadable { program: &'static str, error: ScipError },
    #[error("another process is running an indexer on this tree")]
    Busy,
    #[error("cannot write `{}`: {error}", .path.display())]
    Io { path: PathBuf, error: std::io::Error },
}

impl IndexerTarget {
    /// Runs the indexer. Its index replaces the earlier one if it can be read.
    pub fn run(&self, run: &IndexRun<'_>) -> Result<Indexed, IndexError> {
        let (name, install) = (self.indexer.name, self.indexer.install);
        let program = self.find_program(run.root, &run.env);
        let program = program.ok_or(IndexError::NotInstalled { program: name, install })?;
        let folder = run.output.join(&self.folder);
        fs::create_dir_all(&folder).map_err(|error| IndexError::Io { path: folder.clone(), error })?;
        let lock = lock_folder(run.output)?;
        let began = touch(&lock).map_err(|error| IndexError::Io { path: folder.clone(), error })?;
        let draft = Draft::new(&folder, name);
        let job = self.to_job(program, run, &draft);
        let finished = run.supervisor.run(job).map_err(|error| IndexError::Run { program: name, error })?;
        let indexed = self.check_index(&draft.index, &finished)?;
        let kept = folder.join(format!("{name}.scip"));
        draft.keep_as(&kept, began).map_err(|error| IndexError::Io { path: kept, error })?;
        Ok(indexed)
    }

    fn to_job<'a>(&self, program: PathBuf, run: &IndexRun<'a>, draft: &Draft) -> Job<'a> {
        let mut env = run.env.clone();
        env.insert("CARGO_TARGET_DIR".into(), draft.scratch.clone().into());
        let argument = |it: &&str| if *it == OUTPUT { draft.index.clone().into() } else { (*it).into() };
        Job {
            program,
            args: self.indexer.arguments.iter().map(argument).collect(),
            env,
            cwd: run.root.join(&self.folder),
            stdin: Vec::new(),
            deadline: run.deadline,
            stdout_limit: STDOUT_LIMIT,
            cancel: run.cancel,
        }
    }

    fn check_index(&self, path: &Path, finished: &Finished) -> Result<Indexed, IndexError> {
        let program = self.indexer.name;
        let output = quote_output(finished);
        if finished.status != 0 {
            return Err(IndexError::Failed { program, status: finished.status, output });
        }
        let bytes = fs::metadata(path).map_or(0, |it| it.len());
        if bytes == 0 {
            return Err(IndexError::Nothing { program, output });
        } else if bytes > INDEX_LIMIT {
            return Err(IndexError::TooLarge { program, bytes });
        }
        let index = Index::open(path).map_err(|error| IndexError::Unreadable { program, error })?;
        if index.documents.is_empty() {
            return Err(IndexError::Nothing { program, output });
        }
        let occurrences = index.documents.iter().map(|it| it.occurrences.len() as u64).sum();
        Ok(Indexed { files: index.documents.len() as u64, occurrences })
    }
}

/// The last lines that an indexer printed.
fn quote_output(finished: &Finished) -> String {
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let lines: Vec<&str> = stdout.lines().chain(finished.stderr.lines()).map(str::trim).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join(" / ")
}

/// The kernel releases the lock however this process ends.
fn lock_folder(folder: &Path) -> Result<File, IndexError> {
    let path = folder.join("lock");
    let opened = File::options().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|error| IndexError::Io { path: path.clone(), error })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(IndexError::Busy),
        Err(TryLockError::Error(error)) => Err(IndexError::Io { path, error }),
    }
}

/// The time now by the clock of the file system, with which the times of sources are compared.
fn touch(mut file: &File) -> std::io::Result<SystemTime> {
    file.write_all(b"\n")?;
    file.metadata()?.modified()
}

/// What an indexer writes before it is checked; deleted at the end.
struct Draft {
    index: PathBuf,
    scratch: PathBuf,
}

impl Draft {
    /// Deletes what a killed run left.
    fn new(folder: &Path, name: &str) -> Draft {
        let (index, scratch) = (folder.join(format!("{name}.new")), folder.join(format!("{name}.build")));
        let draft = Draft { index, scratch };
        draft.delete();
        draft
    }

    fn delete(&self) {
        let _ = fs::remove_file(&self.index);
        let _ = fs::remove_dir_all(&self.scratch);
    }

    /// The index is as old as the beginning of its run: a file that was edited during the run counts as newer.
    fn keep_as(&self, path: &Path, began: SystemTime) -> std::io::Result<()> {
        File::options().write(true).open(&self.index)?.set_modified(began)?;
        fs::rename(&self.index, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.delete();
    }
}
