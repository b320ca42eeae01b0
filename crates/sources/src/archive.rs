//! What was said stays readable after the agent has thrown it away: a packed copy of each transcript, in one form
//! for all agents, which is surveyed and fetched like the transcript it was made of.
//!
//! One transcript is one file below the archive's directory. It holds every row with its full record, and behind
//! them the sessions and what else a survey told, so that a list of what is kept unpacks nothing. A reader sees the
//! old copy or the new one, never half of either: a copy is written beside its place and renamed. `Store::settle` makes
//! what was written last; one that a power cut halved before that is known by its checksums.
//!
//! How it is used: `Store::begin` (or `resume`, which continues what is kept), then `Keeper::message` or `call` for
//! every row that `Keeper::has` does not know, then `finish`. `Kept::transcript` is read through `sources::survey`,
//! `message` and `call`.
//!
//! Does not know what a secret is: texts arrive masked, in records, titles and paths alike. Does not decide what is
//! kept, nor for how long. One writer at a time is the caller's to see to; any number may read.

mod entry;
mod forget;
mod keep;
mod read;
mod table;
mod within;

pub use forget::Forgotten;
pub use keep::Keeper;
pub use read::{call, message, outcome, survey};
pub use table::VERSION;

use crate::walk::{self, Found};
use crate::{Age, Error, SOURCES, Transcript};
use record::{Problem, ProblemKind, Session, Stamp};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use table::{Archive, Header};

/// How an archived transcript's name ends.
const ENDING: &str = "loci";
/// How a copy is called while it is written.
const UNFINISHED: &str = "tmp";

/// The directory of all kept transcripts.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// One kept transcript, as its closing table tells it.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The archive's own file.
    pub path: PathBuf,
    /// The word for the agent, which this version may not know.
    pub source: String,
    /// Where the transcript was, and which conversation there.
    pub original: PathBuf,
    pub part: Option<String>,
    pub hint: String,
    pub group: PathBuf,
    /// How large the transcript was when it was kept.
    pub size: u64,
    /// Bytes unpacked and on disk.
    pub raw: u64,
    pub packed: u64,
    pub entries: u32,
    pub sessions: Vec<Session>,
    pub birth: Option<Stamp>,
    /// The file's time of change: a copy is never touched after it is written.
    pub archived_at: Stamp,
    pub age: Age,
    /// Whether rows of transcripts read today can be known as copies of these.
    pub keys_hold: bool,
}

impl Kept {
    /// What `survey`, `call` and `message` read. None where this version does not know the agent.
    pub fn transcript(&self) -> Option<Transcript> {
        let source = SOURCES.iter().position(|s| s.name() == self.source)?;
        let (path, part, size) = (self.path.clone(), self.part.clone(), self.packed);
        let (hint, group, age) = (self.hint.clone(), self.group.clone(), self.age);
        Some(Transcript { source, path, part, size, age, hint, group })
    }
}

/// Everything that is kept, by path, and what could not be told of the rest.
#[derive(Debug, Default)]
pub struct Listed {
    pub kept: Vec<Kept>,
    pub problems: Vec<Problem>,
}

/// The name of a transcript: the same for its copy, and in every version.
pub fn name(transcript: &Transcript) -> u128 {
    let path = transcript.path.as_os_str().as_encoded_bytes();
    if path.ends_with(b".loci") && is_archived(&transcript.path) {
        return stem(&transcript.path);
    }
    let source = SOURCES[transcript.source].name().as_bytes();
    let part = transcript.part.as_ref().map(String::as_bytes);
    table::fnv128(&[source, b"\0", path, b"\0", part.unwrap_or(b"\0")])
}

fn stem(path: &Path) -> u128 {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    u128::from_str_radix(stem, 16).unwrap_or_default()
}

/// Whether a path is one that `Store::path_of` makes: no agent names its files so.
pub fn is_archived(path: &Path) -> bool {
    let name = |path: &Path| path.file_name().and_then(|n| n.to_str()).map(str::to_string);
    let stem = name(path).and_then(|n| n.strip_suffix(ENDING)?.strip_suffix('.').map(str::to_string));
    let (Some(stem), Some(folder)) = (stem, path.parent().and_then(name)) else { return false };
    let hex = stem.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    stem.len() == 32 && hex && stem[..2] == *folder
}

impl Store {
    pub fn new(dir: PathBuf) -> Store {
        Store { dir }
    }

    /// Where the copy of a transcript is, whether or not there is one: the same in every version.
    pub fn path_of(&self, transcript: &Transcript) -> PathBuf {
        self.path_named(name(transcript))
    }

    /// Where the copy of the transcript of that name is.
    pub fn path_named(&self, name: u128) -> PathBuf {
        let name = format!("{name:032x}");
        self.dir.join(&name[..2]).join(format!("{name}.{ENDING}"))
    }

    /// The names of all transcripts of which something is kept. Opens none of them.
    pub fn names(&self) -> Vec<u128> {
        let mut names = Vec::new();
        for folder in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
            names.extend(
                files.map(|file| file.path()).filter(|path| is_archived(path)).map(|path| stem(&path)),
            );
        }
        names
    }

    /// What is kept under a name.
    pub fn kept_named(&self, name: u128) -> Result<Kept, Error> {
        look(&self.path_named(name))
    }

    /// What is kept. Nothing is unpacked but the closing tables; a damaged file is a problem beside the others.
    pub fn list(&self) -> Listed {
        let (mut found, mut listed) = (Found::default(), Listed::default());
        walk::files(&self.dir, &mut found, &mut |path, _, _| {
            if !is_archived(path) {
                return;
            }
            match look(path) {
                Ok(kept) => listed.kept.push(kept),
                Err(error) => listed.problems.push(problem(path, &error)),
            }
        });
        listed.problems.append(&mut found.problems);
        listed.kept.sort_by(|a, b| a.path.cmp(&b.path));
        listed.problems.sort_by(|a, b| a.file.cmp(&b.file));
        listed
    }

    /// What is kept of one transcript; none where nothing is.
    pub fn kept(&self, transcript: &Transcript) -> Result<Option<Kept>, Error> {
        match look(&self.path_of(transcript)) {
            Err(Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            told => told.map(Some),
        }
    }

    /// Everything that can be read, each with the path its transcript had.
    pub fn transcripts(&self) -> Vec<(Transcript, PathBuf)> {
        let kept = self.list().kept.into_iter();
        kept.filter_map(|k| Some((k.transcript()?, k.original))).collect()
    }

    /// Begins a new copy. Entries before `from_entry` are taken over from the one that is there, which must be whole;
    /// entries from there on are dropped, and those given again replaced. 0 writes everything anew.
    pub fn begin(&self, transcript: &Transcript, from_entry: u32) -> Result<Keeper, Error> {
        let path = self.path_for(transcript)?;
        if from_entry > 0 {
            return Keeper::continuing(&Archive::open(&path)?, header(transcript), from_entry);
        }
        // A copy that a newer version wrote is not ours to replace.
        match Archive::open(&path) {
            Err(error @ Error::Newer { .. }) => Err(error),
            _ => Keeper::new(path, header(transcript)),
        }
    }

    /// Begins a new copy with as much of the one that is there as can be used, which may be nothing: `Keeper::has`
    /// tells. What was damaged is thereby written again while its transcript can still be read.
    pub fn resume(&self, transcript: &Transcript) -> Result<Keeper, Error> {
        let path = self.path_for(transcript)?;
        match Archive::open(&path) {
            Ok(archive) => Keeper::mending(&archive, header(transcript)),
            Err(error @ Error::Newer { .. }) => Err(error),
            Err(_) => Keeper::new(path, header(transcript)),
        }
    }

    /// Removes one copy and says how many bytes that freed.
    pub fn remove(&self, path: &Path) -> Result<u64, Error> {
        self.own(path)?;
        let freed = fs::metadata(path).map_err(failed(path))?.len();
        fs::remove_file(path).map_err(failed(path))?;
        keep::sync_directory(path)?;
        Ok(freed)
    }

    /// Whether one copy says nothing that another does not say as well.
    pub fn is_within(&self, one: &Path, other: &Path) -> Result<bool, Error> {
        self.own(one).and_then(|()| self.own(other))?;
        Ok(one != other && within::is_within(one, other)?)
    }

    /// Removes the sessions that `drop` names, with everything said in them: out of the one file, or the file with
    /// them where none is left. Entries that cannot be read go too, since nobody can tell whose they are.
    pub fn forget(&self, path: &Path, drop: &dyn Fn(&Session) -> bool) -> Result<Forgotten, Error> {
        self.own(path)?;
        let mut forgotten = forget::sessions(path, drop)?;
        if forgotten.file {
            forgotten.freed = self.remove(path)?;
        }
        Ok(forgotten)
    }

    /// Waits until everything that was kept is on the disk. Once for many copies: waiting for each of a thousand small
    /// ones takes longer than reading and packing them.
    pub fn settle(&self) -> Result<(), Error> {
        if !self.dir.exists() {
            return Ok(());
        }
        let folder = fs::File::open(&self.dir).map_err(failed(&self.dir))?;
        rustix::fs::syncfs(&folder).map_err(|error| failed(&self.dir)(error.into()))
    }

    /// Removes what killed writers left behind; for the one writer, before it begins. Says how many bytes that
    /// freed.
    pub fn sweep(&self) -> u64 {
        let (mut found, mut freed) = (Found::default(), 0);
        walk::files(&self.dir, &mut found, &mut |path, meta, _| {
            if path.extension().is_some_and(|e| e == UNFINISHED) && fs::remove_file(path).is_ok() {
                freed += meta.len();
            }
        });
        freed
    }

    fn path_for(&self, transcript: &Transcript) -> Result<PathBuf, Error> {
        if is_archived(&transcript.path) {
            let error = std::io::Error::other("is a kept copy itself");
            return Err(failed(&transcript.path)(error));
        }
        Ok(self.path_of(transcript))
    }

    fn own(&self, path: &Path) -> Result<(), Error> {
        if is_archived(path) && path.parent().and_then(Path::parent) == Some(&self.dir) {
            return Ok(());
        }
        Err(failed(path)(std::io::Error::other("is not a file of the archive")))
    }
}

fn header(transcript: &Transcript) -> Header {
    Header::new(SOURCES[transcript.source].name(), transcript)
}

fn look(path: &Path) -> Result<Kept, Error> {
    let archive = Archive::open(path)?;
    let meta = archive.file.metadata().map_err(failed(path))?;
    let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let raw = archive.raw_length();
    let (header, closing) = (archive.table.header, archive.table.closing);
    let source = SOURCES.iter().map(|s| s.name()).find(|name| *name == header.source).unwrap_or("");
    Ok(Kept {
        path: path.to_path_buf(),
        keys_hold: header.keys_hold(),
        original: header.path.into(),
        part: header.part,
        hint: header.hint,
        group: header.group.into(),
        size: header.size,
        raw,
        packed: archive.length,
        entries: archive.table.entries,
        sessions: closing.sessions.into_iter().map(|s| s.told(source)).collect(),
        birth: closing.birth.map(Stamp),
        archived_at: changed.map_or(Stamp::NONE, |since| Stamp(since.as_millis() as i64)),
        source: header.source,
        age: Age::of(&meta),
    })
}

fn problem(path: &Path, error: &Error) -> Problem {
    Problem { kind: ProblemKind::Unreadable, file: path.to_path_buf(), offset: 0, note: error.to_string() }
}

/// Says whose file it was that failed.
fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Io { path: path.to_path_buf(), error }
}
