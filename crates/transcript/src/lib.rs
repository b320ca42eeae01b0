//! Reads what agents write: the types of a transcript, the [`Source`] trait, and the readers that sources share.
//!
//! A source is read twice: a *survey* of the whole transcript keeps a small row per message and call, and a
//! *fetch* reads one of them again, in full, from its position. [`event_log`] does both for a file with one record
//! per line, [`document`] for a JSON file or some rows of a [`database`] per conversation; [`records`] and [`json`] are for
//! formats whose volume is worth a parser of its own.
//!
//! Does not know any agent's format, or which agents there are.

pub mod conversation;
pub mod database;
pub mod document;
pub mod edit;
pub mod event_log;
pub mod json;
pub mod line_reader;
pub mod lines;
pub mod records;
pub mod salvage;
pub mod survey;
pub mod walk;

pub use survey::{Names, Survey, SurveyOptions, SurveyOutcome};

use record::{Call, Message, Row};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One transcript: a file, or one conversation inside a database.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Index into the table of sources.
    pub source: usize,
    pub path: PathBuf,
    /// The conversation inside the file, if one file contains many.
    pub part: Option<String>,
    pub size: u64,
    pub file_stamp: FileStamp,
    /// The session ID as far as the file name contains it.
    pub hint: Arc<str>,
    /// Transcripts that can contain copies of each other share a group.
    pub group: Arc<Path>,
}

/// File metadata that shows whether a transcript has changed since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    pub inode: u64,
    /// Nanoseconds since 1970; for a database the later time of its file and its log.
    pub changed: i64,
    /// The inode's change time, likewise. Unlike `changed` it cannot be set back: a rewrite in place that keeps size and
    /// modification time shows here.
    pub inode_changed: i64,
}

impl FileStamp {
    pub fn from_metadata(meta: &std::fs::Metadata) -> FileStamp {
        let stamp = os::files::stamp(meta);
        FileStamp { inode: stamp.inode, changed: stamp.modified, inode_changed: stamp.changed }
    }

    /// A database has changed if its log has.
    pub fn from_database(path: &Path) -> FileStamp {
        let of = |path: &Path| {
            std::fs::metadata(path).map(|meta| FileStamp::from_metadata(&meta)).unwrap_or_default()
        };
        let (file, log) = (of(path), of(&db::sibling_path(path, "-wal")));
        FileStamp {
            inode: file.inode,
            changed: file.changed.max(log.changed),
            inode_changed: file.inode_changed.max(log.inode_changed),
        }
    }
}

/// The part of the environment that sources may use. The service fills it in, in one place.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub home: PathBuf,
    pub vars: BTreeMap<&'static str, OsString>,
}

impl Environment {
    /// The directories named by a variable (`a:b` or `a,b`), or the default below the home directory.
    pub fn roots_from_var(&self, var: &str, default: &str) -> Vec<PathBuf> {
        let set = self.vars.get(var).filter(|v| !v.is_empty());
        let Some(set) = set else { return self.below_home(default) };
        let text = set.to_string_lossy();
        text.split([':', ',']).filter(|p| !p.is_empty()).map(PathBuf::from).collect()
    }

    /// Below the home directory. Empty without one: never below the working directory.
    pub fn below_home(&self, default: &str) -> Vec<PathBuf> {
        if self.home.is_absolute() { vec![self.home.join(default)] } else { Vec::new() }
    }

    /// An XDG base directory.
    pub fn xdg_dir(&self, var: &str, default: &str) -> PathBuf {
        let set = self.vars.get(var).filter(|v| Path::new(v).is_absolute());
        set.map_or_else(|| self.home.join(default), PathBuf::from)
    }
}

/// Why a transcript or one of its records could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: std::io::Error },
    #[error("{path} changed while it was being read: no {what} at {place}")]
    Moved { path: PathBuf, what: &'static str, place: u64 },
    #[error("{path}: {error}")]
    Database { path: PathBuf, error: db::Error },
    #[error("{path} is damaged: {what}")]
    Damaged { path: PathBuf, what: &'static str },
    #[error("{path} was written by a newer Loci (format {version}, this version reads {supported})")]
    Newer { path: PathBuf, version: u32, supported: u32 },
}

impl Error {
    /// Whether the same bytes may be readable later: no permission, too many open files, a failing disk, a busy database.
    /// False if the content itself is damaged or of a newer version.
    pub fn is_transient(&self) -> bool {
        match self {
            // Decoders create their errors without an error number of the system.
            Error::Io { error, .. } => error.raw_os_error().is_some(),
            Error::Moved { .. } => true,
            Error::Database { error, .. } => db::derived::is_transient(error),
            Error::Damaged { .. } | Error::Newer { .. } => false,
        }
    }

    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Error::Io { error, .. } => error.kind() == std::io::ErrorKind::StorageFull,
            Error::Database { error, .. } => db::derived::is_disk_full(error),
            _ => false,
        }
    }

    /// Whether a database is damaged.
    pub fn is_damaged_database(&self) -> bool {
        matches!(self, Error::Database { error, .. } if db::derived::is_corruption(error))
    }
}

/// What the table of sources says about an agent: its name, where its store is and how well its format is known.
pub struct Store {
    /// Its name in `--source` and in every record.
    pub name: &'static str,
    /// Environment variables that move its store, each with a description.
    pub variables: &'static [(&'static str, &'static str)],
    pub evidence: Evidence,
    /// Where its store would be on this machine, whether or not it exists.
    pub roots: fn(&Environment) -> Vec<PathBuf>,
    /// Lists the transcripts below one root.
    pub list: fn(&Path, &mut walk::TranscriptList),
}

/// What a reader was tested against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Stores that the agent itself wrote.
    RealClient,
    /// Public descriptions of the format and made-up stores: `loci sources` says so.
    PublicSchema,
    /// Loci's own description of the format.
    OwnFormat,
}

impl Evidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Evidence::RealClient => "real client",
            Evidence::PublicSchema => "unverified",
            Evidence::OwnFormat => "own format",
        }
    }
}

/// Implements the part of [`Source`] that the row in the table of sources answers, for a type with a [`Store`].
macro_rules! delegate_to_store {
    () => {
        fn name(&self) -> &'static str {
            self.store.name
        }

        fn env_variables(&self) -> &'static [(&'static str, &'static str)] {
            self.store.variables
        }

        fn evidence(&self) -> $crate::Evidence {
            self.store.evidence
        }

        fn default_roots(&self, places: &$crate::Environment) -> Vec<std::path::PathBuf> {
            (self.store.roots)(places)
        }

        fn list_transcripts(&self, root: &std::path::Path, found: &mut $crate::walk::TranscriptList) {
            (self.store.list)(root, found);
        }
    };
}
pub(crate) use delegate_to_store;

pub trait Source: Sync {
    /// Its name in `--source` and in every record.
    fn name(&self) -> &'static str;
    /// Environment variables that move its store, each with a description.
    fn env_variables(&self) -> &'static [(&'static str, &'static str)];
    /// What its reader was tested against.
    fn evidence(&self) -> Evidence {
        Evidence::RealClient
    }
    /// Where its store would be on this machine, whether or not it exists.
    fn default_roots(&self, places: &Environment) -> Vec<PathBuf>;
    /// Lists the transcripts below one root, in any order; reports what cannot be listed.
    fn list_transcripts(&self, root: &Path, found: &mut walk::TranscriptList);
    /// Whether a transcript can belong to a project at `path`, judged by its name alone.
    fn may_belong(&self, _transcript: &Transcript, _project: &Path) -> bool {
        true
    }
    /// Surveys the whole transcript.
    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error>;
    /// Surveys a transcript from an offset where a line begins. False: this source cannot start in the
    /// middle. Turns are counted from there; everything else is the same as in a full survey.
    fn survey_from(
        &self,
        _transcript: &Transcript,
        _from: u64,
        _survey: &mut Survey<'_>,
    ) -> Result<bool, Error> {
        Ok(false)
    }
    /// Reads one call in full. `result` is the transcript that contains its result, often the same.
    fn fetch_call(&self, transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error>;
    /// Reads one message in full.
    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error>;
}
