//! The archive: a compressed copy of each transcript, in one format for all agents, so that sessions stay
//! readable after the agent has deleted its own files. A copy is surveyed and fetched like the original
//! transcript.
//!
//! One transcript is one file below the archive's directory. It contains every row with its full record,
//! followed by the sessions and the rest of the survey's result, so that listing the archive decompresses no
//! records. A reader sees the old copy or the new one, never half of either: a copy is written to a temporary
//! file and renamed. `Store::sync_to_disk` makes new copies durable; one truncated by a power cut before that is
//! detected by its checksums.
//!
//! To write a copy, call `Store::begin_copy` (or `Store::resume_copy`, which continues the existing one), then add a
//! message or call for every row that the writer does not have yet, then finish it. An archived copy is read
//! through the same functions of the crate root as a transcript.
//!
//! Does not know secrets: texts arrive masked, in records, titles and paths alike. Does not decide what is
//! archived, nor for how long. The caller guarantees a single writer at a time; any number may read.

mod containment;
mod entry;
mod forget;
mod frame_writer;
mod reader;
mod table;
mod writer;

pub use forget::ForgetOutcome;
pub use reader::{fetch_call, fetch_message, fetch_result, survey_archive};
pub use table::VERSION;
pub use writer::ArchiveWriter;

use crate::walk::{self, TranscriptList};
use crate::{Error, FileStamp, SOURCES, Transcript};
use record::{Problem, ProblemKind, Session, Stamp};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use table::{Archive, Header};

/// The extension of an archived transcript.
const EXTENSION: &str = "loci";
/// The extension of a copy while it is written.
const TEMP_EXTENSION: &str = "tmp";

/// The directory of all archived transcripts.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// One archived transcript, as described by the table at its end.
#[derive(Clone, Debug)]
pub struct ArchivedTranscript {
    /// The archive's own file.
    pub path: PathBuf,
    /// The agent's name, which this version may not know.
    pub source: String,
    /// Where the transcript was, and which conversation there.
    pub original: PathBuf,
    pub part: Option<String>,
    pub hint: String,
    pub group: PathBuf,
    /// The size of the transcript when it was archived.
    pub size: u64,
    /// Sizes in bytes, decompressed and on disk.
    pub raw: u64,
    pub packed: u64,
    pub entries: u32,
    pub sessions: Vec<Session>,
    pub birth: Option<Stamp>,
    /// The file's modification time: a copy is never touched after it is written.
    pub archived_at: Stamp,
    pub file_stamp: FileStamp,
    /// Whether rows of transcripts read today can be recognised as copies of these.
    pub keys_match: bool,
}

impl ArchivedTranscript {
    /// The transcript to survey and fetch from. None if this version does not know the agent.
    pub fn to_transcript(&self) -> Option<Transcript> {
        let source = SOURCES.iter().position(|s| s.name() == self.source)?;
        let (path, part, size) = (self.path.clone(), self.part.clone(), self.packed);
        let (hint, group, age) = (self.hint.clone(), self.group.clone(), self.file_stamp);
        Some(Transcript { source, path, part, size, file_stamp: age, hint, group })
    }
}

/// All archived transcripts, by path, and problems with the rest.
#[derive(Debug, Default)]
pub struct ArchiveListing {
    pub archived: Vec<ArchivedTranscript>,
    pub problems: Vec<Problem>,
}

/// The name of a transcript: the same for its archived copy, and in every version.
pub fn transcript_name(transcript: &Transcript) -> u128 {
    let path = transcript.path.as_os_str().as_encoded_bytes();
    if path.ends_with(b".loci") && is_archived(&transcript.path) {
        return name_from_path(&transcript.path);
    }
    let source = SOURCES[transcript.source].name().as_bytes();
    let part = transcript.part.as_ref().map(String::as_bytes);
    table::fnv1a_128(&[source, b"\0", path, b"\0", part.unwrap_or(b"\0")])
}

fn name_from_path(path: &Path) -> u128 {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    u128::from_str_radix(stem, 16).unwrap_or_default()
}

/// Whether a path is one that `Store::path_of` creates: no agent names its files so.
pub fn is_archived(path: &Path) -> bool {
    let name = |path: &Path| path.file_name().and_then(|n| n.to_str()).map(str::to_string);
    let stem = name(path).and_then(|n| n.strip_suffix(EXTENSION)?.strip_suffix('.').map(str::to_string));
    let (Some(stem), Some(folder)) = (stem, path.parent().and_then(name)) else { return false };
    let hex = stem.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    stem.len() == 32 && hex && stem[..2] == *folder
}

impl Store {
    pub fn new(dir: PathBuf) -> Store {
        Store { dir }
    }

    /// The path of the copy of a transcript, whether or not it exists: the same in every version.
    pub fn path_of(&self, transcript: &Transcript) -> PathBuf {
        self.path_by_name(transcript_name(transcript))
    }

    /// The path of the copy of the transcript with that name.
    pub fn path_by_name(&self, name: u128) -> PathBuf {
        let name = format!("{name:032x}");
        self.dir.join(&name[..2]).join(format!("{name}.{EXTENSION}"))
    }

    /// The names of all archived transcripts. Opens none of them.
    pub fn all_names(&self) -> Vec<u128> {
        let mut names = Vec::new();
        for folder in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
            names.extend(
                files
                    .map(|file| file.path())
                    .filter(|path| is_archived(path))
                    .map(|path| name_from_path(&path)),
            );
        }
        names
    }

    /// The archived transcript with that name.
    pub fn find_by_name(&self, name: u128) -> Result<ArchivedTranscript, Error> {
        read_archived(&self.path_by_name(name))
    }

    /// Lists the archive. Decompresses nothing but the tables; a damaged file becomes a problem beside the
    /// others.
    pub fn list_archived(&self) -> ArchiveListing {
        let (mut found, mut listed) = (TranscriptList::default(), ArchiveListing::default());
        walk::walk_files(&self.dir, &mut found, &mut |path, _, _| {
            if !is_archived(path) {
                return;
            }
            match read_archived(path) {
                Ok(kept) => listed.archived.push(kept),
                Err(error) => listed.problems.push(unreadable_problem(path, &error)),
            }
        });
        listed.problems.append(&mut found.problems);
        listed.archived.sort_by(|a, b| a.path.cmp(&b.path));
        listed.problems.sort_by(|a, b| a.file.cmp(&b.file));
        listed
    }

    /// The archived copy of one transcript, if there is one.
    pub fn find_copy(&self, transcript: &Transcript) -> Result<Option<ArchivedTranscript>, Error> {
        match read_archived(&self.path_of(transcript)) {
            Err(Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// All copies that can be read, each with the original path of its transcript.
    pub fn readable_transcripts(&self) -> Vec<(Transcript, PathBuf)> {
        let kept = self.list_archived().archived.into_iter();
        kept.filter_map(|k| Some((k.to_transcript()?, k.original))).collect()
    }

    /// Begins a new copy. Entries before `from_entry` are taken over from the existing copy, which must be
    /// intact; entries from there on are dropped, and entries added again are replaced. 0 writes everything
    /// anew.
    pub fn begin_copy(&self, transcript: &Transcript, from_entry: u32) -> Result<ArchiveWriter, Error> {
        let path = self.path_for_writing(transcript)?;
        if from_entry > 0 {
            return ArchiveWriter::continue_from(&Archive::open(&path)?, header_for(transcript), from_entry);
        }
        // A copy written by a newer version must not be replaced.
        match Archive::open(&path) {
            Err(error @ Error::Newer { .. }) => Err(error),
            _ => ArchiveWriter::new(path, header_for(transcript)),
        }
    }

    /// Begins a new copy with as much of the existing one as can be used, which may be nothing: `ArchiveWriter::has_entry`
    /// shows which entries. Damaged entries are thus written again while the transcript can still be read.
    pub fn resume_copy(&self, transcript: &Transcript) -> Result<ArchiveWriter, Error> {
        let path = self.path_for_writing(transcript)?;
        match Archive::open(&path) {
            Ok(archive) => ArchiveWriter::salvage_from(&archive, header_for(transcript)),
            Err(error @ Error::Newer { .. }) => Err(error),
            Err(_) => ArchiveWriter::new(path, header_for(transcript)),
        }
    }

    /// Removes one copy and returns the number of freed bytes.
    pub fn remove_copy(&self, path: &Path) -> Result<u64, Error> {
        self.check_own_file(path)?;
        let freed = fs::metadata(path).map_err(io_error(path))?.len();
        fs::remove_file(path).map_err(io_error(path))?;
        frame_writer::sync_directory(path)?;
        Ok(freed)
    }

    /// Whether the content of one copy is completely contained in another.
    pub fn is_contained(&self, one: &Path, other: &Path) -> Result<bool, Error> {
        self.check_own_file(one).and_then(|()| self.check_own_file(other))?;
        Ok(one != other && containment::is_contained(one, other)?)
    }

    /// Removes the sessions that `drop` selects, with all their records: rewrites the file without them, or
    /// removes it if no session is left. Unreadable entries are removed too, since it is unknown whose they
    /// are.
    pub fn forget_sessions(
        &self,
        path: &Path,
        drop: &dyn Fn(&Session) -> bool,
    ) -> Result<ForgetOutcome, Error> {
        self.check_own_file(path)?;
        let mut forgotten = forget::forget_sessions(path, drop)?;
        if forgotten.file_removed {
            forgotten.freed = self.remove_copy(path)?;
        }
        Ok(forgotten)
    }

    /// Waits until all copies are on the disk. Once for many copies: waiting for each of a thousand small
    /// ones takes longer than reading and compressing them.
    pub fn sync_to_disk(&self) -> Result<(), Error> {
        if !self.dir.exists() {
            return Ok(());
        }
        let folder = fs::File::open(&self.dir).map_err(io_error(&self.dir))?;
        rustix::fs::syncfs(&folder).map_err(|error| io_error(&self.dir)(error.into()))
    }

    /// Removes temporary files left by killed writers; only the one writer may call it, before it begins.
    /// Returns the number of freed bytes.
    pub fn remove_temporary_files(&self) -> u64 {
        let (mut found, mut freed) = (TranscriptList::default(), 0);
        walk::walk_files(&self.dir, &mut found, &mut |path, meta, _| {
            if path.extension().is_some_and(|e| e == TEMP_EXTENSION) && fs::remove_file(path).is_ok() {
                freed += meta.len();
            }
        });
        freed
    }

    fn path_for_writing(&self, transcript: &Transcript) -> Result<PathBuf, Error> {
        if is_archived(&transcript.path) {
            let error = std::io::Error::other("already an archived copy");
            return Err(io_error(&transcript.path)(error));
        }
        Ok(self.path_of(transcript))
    }

    fn check_own_file(&self, path: &Path) -> Result<(), Error> {
        if is_archived(path) && path.parent().and_then(Path::parent) == Some(&self.dir) {
            return Ok(());
        }
        Err(io_error(path)(std::io::Error::other("not an archive file")))
    }
}

fn header_for(transcript: &Transcript) -> Header {
    Header::new(SOURCES[transcript.source].name(), transcript)
}

fn read_archived(path: &Path) -> Result<ArchivedTranscript, Error> {
    let archive = Archive::open(path)?;
    let meta = archive.file.metadata().map_err(io_error(path))?;
    let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let raw = archive.raw_length();
    let (header, closing) = (archive.table.header, archive.table.closing);
    let source = SOURCES.iter().map(|s| s.name()).find(|name| *name == header.source).unwrap_or("");
    Ok(ArchivedTranscript {
        path: path.to_path_buf(),
        keys_match: header.keys_match(),
        original: header.path.into(),
        part: header.part,
        hint: header.hint,
        group: header.group.into(),
        size: header.size,
        raw,
        packed: archive.length,
        entries: archive.table.entries,
        sessions: closing.sessions.into_iter().map(|s| s.into_session(source)).collect(),
        birth: closing.birth.map(Stamp),
        archived_at: changed.map_or(Stamp::NONE, |since| Stamp(since.as_millis() as i64)),
        source: header.source,
        file_stamp: FileStamp::from_metadata(&meta),
    })
}

fn unreadable_problem(path: &Path, error: &Error) -> Problem {
    Problem { kind: ProblemKind::Unreadable, file: path.to_path_buf(), offset: 0, note: error.to_string() }
}

/// Adds the path to an I/O error.
fn io_error(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Io { path: path.to_path_buf(), error }
}
