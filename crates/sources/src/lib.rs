//! Reads the histories that coding agents leave on disk. One agent, one file, one row in `SOURCES`; nothing
//! here writes to, locks or renames anything of theirs. What is to outlive them is kept in `archive`.
//!
//! A source is read twice: a *survey* of the whole transcript keeps a small row per message and call, and a
//! *fetch* reads one of them again, in full, from its place. Knows nothing of queries, indexes or terminals.

pub mod archive;
pub mod chatwise;
pub mod claude;
pub mod codex;
pub mod conversation;
#[cfg(fuzzing)]
mod fuzz;
pub mod gemini;
pub mod json;
pub mod lines;
pub mod opencode;
pub mod place;
pub(crate) mod records;
pub mod salvage;
pub mod survey;
pub mod walk;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use fuzz::survey as fuzz_survey;
pub use survey::{Facts, Names, Survey, Want};

use record::{Call, Message, Row};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Every agent Loci can read, in the order in which they are listed.
pub const SOURCES: &[&dyn Source] =
    &[&claude::Claude, &codex::Codex, &gemini::Gemini, &opencode::OpenCode, &chatwise::ChatWise];

/// One transcript: a file, or one conversation inside a database.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Its place in `SOURCES`.
    pub source: usize,
    pub path: PathBuf,
    /// Which conversation, where a file holds many.
    pub part: Option<String>,
    pub size: u64,
    pub age: Age,
    /// The session id as far as the name tells it.
    pub hint: String,
    /// Transcripts that can hold copies of each other share a group.
    pub group: PathBuf,
}

/// What a look at a transcript's file tells of whether it has changed since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Age {
    pub inode: u64,
    /// Nanoseconds since 1970; of a database the later of its file and its log.
    pub changed: i64,
}

impl Age {
    pub fn of(meta: &std::fs::Metadata) -> Age {
        use std::os::unix::fs::MetadataExt;
        Age { inode: meta.ino(), changed: meta.mtime() * 1_000_000_000 + meta.mtime_nsec() }
    }

    /// A database has grown if its log has.
    pub fn of_database(path: &Path) -> Age {
        let of = |path: &Path| std::fs::metadata(path).map(|meta| Age::of(&meta)).unwrap_or_default();
        let (file, log) = (of(path), of(&db::beside(path, "-wal")));
        Age { inode: file.inode, changed: file.changed.max(log.changed) }
    }
}

/// The environment as far as sources may know it. Filled in one place, by the service.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub home: PathBuf,
    pub vars: BTreeMap<&'static str, OsString>,
}

impl Places {
    /// The directories of a variable (`a:b` or `a,b`), or the default below home.
    pub fn roots(&self, var: &str, default: &str) -> Vec<PathBuf> {
        let set = self.vars.get(var).filter(|v| !v.is_empty());
        let Some(set) = set else { return self.at_home(default) };
        let text = set.to_string_lossy();
        text.split([':', ',']).filter(|p| !p.is_empty()).map(PathBuf::from).collect()
    }

    /// Below home; nowhere where there is no home, and never below the working directory.
    pub fn at_home(&self, default: &str) -> Vec<PathBuf> {
        if self.home.is_absolute() { vec![self.home.join(default)] } else { Vec::new() }
    }

    /// An XDG base directory.
    pub fn xdg(&self, var: &str, default: &str) -> PathBuf {
        let set = self.vars.get(var).filter(|v| Path::new(v).is_absolute());
        set.map_or_else(|| self.home.join(default), PathBuf::from)
    }
}

/// What could not be read of one record.
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
    #[error("{path} was written by a newer Loci (format {version}, this one reads {})", archive::VERSION)]
    Newer { path: PathBuf, version: u32 },
}

pub trait Source: Sync {
    /// The word for it in `--source` and in every record.
    fn name(&self) -> &'static str;
    /// Variables that move its store, each with what it means.
    fn variables(&self) -> &'static [(&'static str, &'static str)];
    /// Where it would be on this machine, whether or not anything is there.
    fn roots(&self, places: &Places) -> Vec<PathBuf>;
    /// The transcripts below one root. Order does not matter; what cannot be listed is reported.
    fn list(&self, root: &Path, found: &mut walk::Found);
    /// Whether a transcript can belong to a project at `path`, judged by its name alone.
    fn may_belong(&self, _transcript: &Transcript, _project: &Path) -> bool {
        true
    }
    /// Walks the whole transcript.
    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error>;
    /// Walks what stands behind an offset, where whole lines begin. False: this source cannot begin in the middle.
    /// Turns are counted from there; what was said, by whom and when is as ever.
    fn survey_on(
        &self,
        _transcript: &Transcript,
        _from: u64,
        _survey: &mut Survey<'_>,
    ) -> Result<bool, Error> {
        Ok(false)
    }
    /// Reads one call in full. `result` is the transcript that holds its result, often the same.
    fn call(&self, transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error>;
    /// Reads one message in full.
    fn message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error>;
}

/// Where an agent's history would be. Without a home that is nowhere, unless a variable names a place: never below
/// the working directory by accident.
pub fn roots(source: &dyn Source, places: &Places) -> Vec<PathBuf> {
    let mut roots = source.roots(places);
    roots.retain(|root| places.home.is_absolute() || root.is_absolute());
    roots
}

/// Whether it is a copy. By its ending first: this is asked for every record that is read.
fn is_copy(transcript: &Transcript) -> bool {
    let path = transcript.path.as_os_str().as_encoded_bytes();
    path.ends_with(b".loci") && archive::is_archived(&transcript.path)
}

/// Walks a whole transcript, or the copy that was kept of it.
pub fn survey(transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
    if is_copy(transcript) {
        return archive::survey(transcript, survey);
    }
    SOURCES[transcript.source].survey(transcript, survey)
}

/// Reads one call in full, each half from its transcript or from the copy that was kept of it.
pub fn call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let source = SOURCES[transcript.source];
    if is_copy(transcript) {
        return archive::call(transcript, result, row);
    }
    if row.end == Row::NOWHERE || !is_copy(result) {
        return source.call(transcript, result, row);
    }
    let mut call = source.call(transcript, transcript, &Row { end: Row::NOWHERE, ..*row })?;
    archive::outcome(result, row, &mut call)?;
    Ok(call)
}

/// Reads one message in full.
pub fn message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    if is_copy(transcript) {
        return archive::message(transcript, row);
    }
    SOURCES[transcript.source].message(transcript, row)
}

/// Finds every transcript of the sources named (all when none is), sorted by path.
pub fn find(places: &Places, only: &[String]) -> walk::Found {
    let mut found = walk::Found::default();
    for (index, source) in SOURCES.iter().enumerate() {
        if !only.is_empty() && !only.iter().any(|name| name == source.name()) {
            continue;
        }
        found.source = index;
        for root in roots(*source, places) {
            source.list(&root, &mut found);
        }
    }
    // Compared as bytes: part by part, ten thousand paths cost more than looking at their files.
    found.transcripts.sort_by(|a, b| (a.path.as_os_str(), &a.part).cmp(&(b.path.as_os_str(), &b.part)));
    found.transcripts.dedup_by(|a, b| a.path.as_os_str() == b.path.as_os_str() && a.part == b.part);
    found
}
