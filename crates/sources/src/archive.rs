//! The archive: a compressed copy of each transcript, in one format for all agents, so that sessions stay
//! readable after the agent has deleted its own files. A copy is surveyed and fetched like the original
//! transcript.
//!
//! A copy contains every row with its full record, followed by the sessions and the rest of the survey's result. One
//! whose records fit one frame (256 KB) is a row of a database, `packed.db`; a larger one is a file, so that listing it
//! decompresses no records. Both have the same path, whether or not a file is there. A reader sees the old copy or
//! the new one, never half of either. `Store::sync_to_disk` makes new files durable; one truncated by a power cut before
//! that is detected by its checksums. Rows are durable once they are committed.
//!
//! To write a copy, call `Store::begin_copy` (or `Store::continue_copy`, which continues the existing one), then add a
//! message or call for every row that the writer does not have yet, then finish it. An archived copy is read
//! through the same functions of the crate root as a transcript.
//!
//! Does not know secrets: texts arrive masked, in records, titles and paths alike. Does not decide what is
//! archived, nor for how long. The caller guarantees a single writer at a time; any number may read.

mod appended;
mod containment;
mod content;
mod copy;
mod entry;
mod forget;
mod frame_writer;
mod manifest;
mod migrate;
mod packed;
mod packed_form;
mod raw_copy;
mod reader;
mod salvage_packed;
mod table;
mod union;
mod unite;
mod writer;

pub use appended::CopyLines;
pub use containment::Overlap;
pub use forget::ForgetOutcome;
pub use manifest::LostCopy;
pub use packed::FILE_NAME as PACKED_FILE;
pub use reader::{fetch_call, fetch_message, fetch_result, survey_archive};
pub use table::VERSION;
pub use union::Mask;
pub use unite::United;
pub use writer::{ArchiveWriter, Written};

use crate::walk::{self, TranscriptList};
use crate::{Error, FileStamp, SOURCES, Transcript};
use copy::Archive;
use frame_writer::Target;
use manifest::{Listed, Manifest};
use packed::PackedCopies;
use record::{Problem, ProblemKind, Session, Stamp};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::Header;

/// The extension of an archived transcript.
const EXTENSION: &str = "loci";
/// The extension of a copy while it is written.
const TEMP_EXTENSION: &str = "tmp";

/// The directory of all archived transcripts.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    packed: Arc<PackedCopies>,
    manifest: Arc<Manifest>,
}

/// One archived transcript, as described by the table at its end.
#[derive(Clone, Debug)]
pub struct ArchivedTranscript {
    /// The path of the copy, see `Store::path_of`.
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
    /// When the copy was written.
    pub archived_at: Stamp,
    pub file_stamp: FileStamp,
    /// Whether rows of transcripts read today can be recognised as copies of these.
    pub keys_match: bool,
    /// The device that wrote the transcript. None: this one.
    pub origin: Option<String>,
    /// How many entries the transcript no longer has, in all and of each session.
    pub kept: u32,
    pub kept_by_session: Vec<u32>,
    /// The name of the transcript, whichever device it is of.
    pub transcript_name: u128,
}

impl ArchivedTranscript {
    /// The transcript to survey and fetch from. None if this version does not know the agent.
    pub fn to_transcript(&self) -> Option<Transcript> {
        let source = SOURCES.iter().position(|s| s.name() == self.source)?;
        let (path, part, size) = (self.path.clone(), self.part.clone(), self.packed);
        let (hint, group, age) = (self.hint.as_str().into(), self.group.as_path().into(), self.file_stamp);
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

/// The name of the copy of a transcript that came from another device: two devices can have different transcripts at one path.
pub fn name_of_origin(name: u128, origin: Option<&str>) -> u128 {
    origin.map_or(name, |origin| table::fnv1a_128(&[&name.to_le_bytes(), b"@", origin.as_bytes()]))
}

fn name_from_path(path: &Path) -> u128 {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    u128::from_str_radix(stem, 16).unwrap_or_default()
}

/// The database beside the folder of a copy.
fn packed_path(path: &Path) -> PathBuf {
    let archive = path.parent().and_then(Path::parent).unwrap_or(path);
    archive.join(packed::FILE_NAME)
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
        let (packed, manifest) = (Arc::new(PackedCopies::new(&dir)), Arc::new(Manifest::new(&dir)));
        Store { dir, packed, manifest }
    }

    pub fn folder(&self) -> &Path {
        &self.dir
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

    /// The names of all archived transcripts, sorted. Opens none of them. Without those in a damaged database, which
    /// `list_archived` reports.
    pub fn all_names(&self) -> Vec<u128> {
        self.list_names(self.packed.all_names().unwrap_or_default())
    }

    /// The same, for a caller to whom a missing name means that the copy was removed.
    pub fn read_all_names(&self) -> Result<Vec<u128>, Error> {
        if let Err(error) = fs::read_dir(&self.dir)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(io_error(&self.dir)(error));
        }
        Ok(self.list_names(self.packed.all_names()?))
    }

    /// The names of the rows and those of the files.
    fn list_names(&self, mut names: Vec<u128>) -> Vec<u128> {
        for folder in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
            names.extend(
                files
                    .map(|file| file.path())
                    .filter(|path| is_archived(path))
                    .map(|path| name_from_path(&path)),
            );
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Size and stamp of the copy with that name. None: there is none, or it cannot be read now.
    pub fn stat_copy(&self, name: u128) -> Option<(u64, FileStamp)> {
        if let Ok(meta) = fs::metadata(self.path_by_name(name)) {
            return Some((meta.len(), FileStamp::from_metadata(&meta)));
        }
        let version = packed::find_version(self.packed.path(), name).ok()??;
        Some((version.length, version.stamp()))
    }

    /// Whether there is a copy of the transcript, readable or not.
    pub fn has_copy(&self, transcript: &Transcript) -> bool {
        self.stat_copy(transcript_name(transcript)).is_some()
    }

    /// A number that changes when copies are added, replaced or removed, without opening any of them.
    pub fn fingerprint(&self) -> i64 {
        let folders = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let one = |folder: fs::DirEntry| {
            let changed = folder.metadata().map_or(0, |meta| FileStamp::from_metadata(&meta).changed);
            record::event_key(b'a', &[folder.file_name().as_encoded_bytes(), &changed.to_le_bytes()])
        };
        // An unreadable database has a number of its own, so that it is looked at again.
        let revision = self.packed.revision().unwrap_or(-1).to_le_bytes();
        let rows = record::event_key(b'a', &[packed::FILE_NAME.as_bytes(), &revision]);
        folders.map(one).fold(rows, u64::wrapping_add) as i64
    }

    /// The archived transcript with that name.
    pub fn find_by_name(&self, name: u128) -> Result<ArchivedTranscript, Error> {
        read_archived(&self.path_by_name(name))
    }

    /// Lists the archive, sorted by path. A damaged copy becomes a problem beside the others.
    pub fn list_archived(&self) -> ArchiveListing {
        let mut listed = ArchiveListing::default();
        self.for_each_archived(&mut |found| match found {
            Ok(kept) => listed.archived.push(kept),
            Err(problem) => listed.problems.push(problem),
        });
        listed.archived.sort_by(|a, b| a.path.cmp(&b.path));
        listed.problems.sort_by(|a, b| a.file.cmp(&b.file));
        listed
    }

    /// Passes on every copy and every problem, one at a time: a list of all may be large.
    pub fn for_each_archived(&self, each: &mut dyn FnMut(Result<ArchivedTranscript, Problem>)) {
        let mut found = TranscriptList::default();
        walk::walk_files(&self.dir, &mut found, &mut |path, _, _| {
            if is_archived(path) {
                each(
                    Archive::open_file(path).map(describe).map_err(|error| unreadable_problem(path, &error)),
                );
            }
        });
        found.problems.into_iter().for_each(|problem| each(Err(problem)));
        let rows = self.packed.for_each(&mut |copy| {
            let path = self.path_by_name(copy.name);
            // The file of a copy that was just moved counts.
            if !path.exists() {
                let read = Archive::from_row(&path, &copy).map(describe);
                each(read.map_err(|error| unreadable_problem(&path, &error)));
            }
        });
        if let Err(error) = rows {
            each(Err(unreadable_problem(self.packed.path(), &error)));
        }
    }

    /// The number of readable copies, and the problems with the others. Reads every byte of the small ones.
    pub fn check_copies(&self) -> (u64, Vec<Problem>) {
        let (mut copies, mut problems) = (0, Vec::new());
        self.for_each_archived(&mut |found| match found {
            Ok(_) => copies += 1,
            Err(problem) => problems.push(problem),
        });
        if let Some(damage) = self.packed.find_damage().filter(|_| problems.is_empty()) {
            let (file, kind) = (self.packed.path().to_path_buf(), ProblemKind::Unreadable);
            problems.push(Problem { kind, file, offset: 0, note: damage });
        }
        (copies, problems)
    }

    /// A number that changes when copies are added, replaced or removed, in the archive or in the list.
    pub fn state_number(&self) -> i64 {
        (self.fingerprint() as u64).wrapping_add(self.manifest.state()) as i64
    }

    /// The copies that are listed and are not there. Opens none of them, unless the database of small ones is older than the list:
    /// then they may also have fewer entries.
    pub fn lost_copies(&self) -> Result<Vec<LostCopy>, Error> {
        let (listing, names) = (self.manifest.read()?, self.read_all_names()?);
        if self.packed.revision()? < listing.revision {
            return self.lost_entries();
        }
        let lost = listing.copies.into_iter().filter(|(name, _)| names.binary_search(name).is_err());
        Ok(lost.map(|(name, copy)| to_lost(name, copy, 0)).collect())
    }

    /// The same, with the copies that have fewer entries than is listed. Opens all of them.
    pub fn lost_entries(&self) -> Result<Vec<LostCopy>, Error> {
        // One that cannot be read now is not lost.
        self.packed.revision()?;
        let (mut listed, mut lost) = (self.manifest.read()?.copies, Vec::new());
        self.for_each_archived(&mut |copy| {
            let Ok(copy) = copy else { return };
            let name = name_from_path(&copy.path);
            if let Some(known) = listed.remove(&name)
                && copy.entries < known.entries
            {
                lost.push(to_lost(name, known, copy.entries));
            }
        });
        lost.extend(listed.into_iter().map(|(name, copy)| to_lost(name, copy, 0)));
        lost.sort_by_key(|copy| copy.name);
        Ok(lost)
    }

    /// Enters copies into the list that a killed process has stored or someone has put back. Returns them.
    pub fn list_unlisted(&self) -> Result<Vec<ArchivedTranscript>, Error> {
        let (listed, mut added) = (self.manifest.read()?.copies, Vec::new());
        for name in self.all_names().into_iter().filter(|name| !listed.contains_key(name)) {
            // A damaged one is reported where it is read.
            let Ok(copy) = self.find_by_name(name) else { continue };
            self.list_as_found(&copy);
            added.push(copy);
        }
        self.flush_list()?;
        Ok(added)
    }

    fn list_as_found(&self, copy: &ArchivedTranscript) {
        let session = copy.sessions.first().map(|one| one.session_id.to_string()).unwrap_or_default();
        let (entries, kept, source) = (copy.entries, copy.kept, copy.source.clone());
        self.manifest.add(name_from_path(&copy.path), &Listed { entries, kept, check: 0, source, session });
    }

    /// What is left of copies that were lost, after what can still be read was archived again: those that are still lost, and those
    /// that have less. The latter are listed with what they have from now on.
    pub fn settle_lost(&self, lost: Vec<LostCopy>) -> Result<Vec<LostCopy>, Error> {
        let mut left = Vec::new();
        for copy in lost {
            match self.find_by_name(copy.name) {
                Ok(there) if there.entries >= copy.entries => {}
                Ok(there) => {
                    self.list_as_found(&there);
                    left.push(LostCopy { found: there.entries, ..copy });
                }
                Err(error) if copy::is_missing(&error) => left.push(LostCopy { found: 0, ..copy }),
                // Named where it is read, and lost once a repair has removed it.
                Err(_) => left.push(copy),
            }
        }
        self.flush_list()?;
        Ok(left)
    }

    /// Removes lost copies from the list: a person knows of them, or does not want to.
    pub fn unlist_lost(&self, is_known: &dyn Fn(&LostCopy) -> bool) -> Result<(), Error> {
        for copy in self.lost_copies()?.into_iter().filter(|copy| copy.found == 0 && is_known(copy)) {
            self.manifest.remove(copy.name);
        }
        self.flush_list()
    }

    fn flush_list(&self) -> Result<(), Error> {
        self.manifest.flush(|| self.packed.written_revision())
    }

    /// Whether a file that [`Store::check_copies`] names was written by a newer version.
    pub fn is_newer(&self, file: &Path) -> bool {
        let is_row_file = file == self.packed.path();
        let opened =
            if is_row_file { self.packed.revision().map(drop) } else { Archive::open(file).map(drop) };
        matches!(opened, Err(Error::Newer { .. }))
    }

    /// The archived copy of one transcript, if there is one.
    pub fn find_copy(&self, transcript: &Transcript) -> Result<Option<ArchivedTranscript>, Error> {
        match read_archived(&self.path_of(transcript)) {
            Err(error) if copy::is_missing(&error) => Ok(None),
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
    pub fn begin_copy<'m>(
        &self,
        transcript: &Transcript,
        from_entry: u32,
    ) -> Result<ArchiveWriter<'m>, Error> {
        let (target, header) = (self.target_for(transcript)?, header_for(transcript));
        if from_entry > 0 {
            return ArchiveWriter::continue_from(&Archive::open(&target.path)?, target, header, from_entry);
        }
        // A copy written by a newer version must not be replaced.
        open_existing(&target.path).map(|_| ArchiveWriter::new(target, header))
    }

    /// Continues the copy of a transcript that has grown with as much of it as can be used, which may be nothing:
    /// `ArchiveWriter::has_entry` shows which entries. Damaged entries are thus written again while the transcript can still be read.
    /// If it had lost entries before, these may be back: then the copy is compared with the whole transcript.
    pub fn continue_copy<'m>(
        &self,
        transcript: &Transcript,
        mask: Option<Mask<'m>>,
    ) -> Result<ArchiveWriter<'m>, Error> {
        let (target, header) = (self.target_for(transcript)?, header_for(transcript));
        match open_existing(&target.path)? {
            Some(archive) if archive.table.kept.is_empty() => {
                ArchiveWriter::salvage_from(&archive, target, header)
            }
            existing => unite_with_existing(existing, target, header, mask),
        }
    }

    /// Begins a copy of a transcript that is read from its beginning, with everything that the existing copy has: what the transcript
    /// no longer has is kept. `mask` applies the newest masking rules, so that what they mask does not count as another text.
    pub fn unite_copy<'m>(
        &self,
        transcript: &Transcript,
        mask: Option<Mask<'m>>,
    ) -> Result<ArchiveWriter<'m>, Error> {
        let (target, header) = (self.target_for(transcript)?, header_for(transcript));
        unite_with_existing(open_existing(&target.path)?, target, header, mask)
    }

    /// Removes one copy and returns the number of freed bytes. `sync_to_disk` erases them.
    pub fn remove_copy(&self, path: &Path) -> Result<u64, Error> {
        self.check_own_path(path)?;
        self.unlist(std::iter::once(path))?;
        self.remove_unlisted(path)
    }

    /// Before a copy is removed or made smaller on purpose: it must never count as lost.
    fn unlist<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> Result<(), Error> {
        paths.for_each(|path| self.manifest.remove(name_from_path(path)));
        self.flush_list()
    }

    fn remove_unlisted(&self, path: &Path) -> Result<u64, Error> {
        let row = self.packed.remove(name_from_path(path))?;
        let freed = match fs::metadata(path) {
            Ok(meta) => meta.len(),
            Err(error) => return row.ok_or_else(|| io_error(path)(error)),
        };
        fs::remove_file(path).map_err(io_error(path))?;
        frame_writer::sync_directory(path)?;
        Ok(freed + row.unwrap_or(0))
    }

    /// Removes several copies, and their bytes from the disk.
    pub fn remove_copies<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> Result<(), Error> {
        let paths: Vec<&Path> = paths.collect();
        if paths.is_empty() {
            return self.erase_removed();
        }
        paths.iter().try_for_each(|path| self.check_own_path(path))?;
        self.unlist(paths.iter().copied())?;
        self.packed.begin_batch();
        for path in paths {
            if let Err(error) = self.remove_unlisted(path) {
                self.packed.roll_back_batch();
                return Err(error);
            }
        }
        self.packed.commit_batch()?;
        self.erase_removed()
    }

    /// Whether the content of one copy is completely contained in another.
    pub fn is_contained(&self, one: &Path, other: &Path) -> Result<bool, Error> {
        self.check_own_path(one).and_then(|()| self.check_own_path(other))?;
        Ok(one != other && containment::is_contained(one, other)?)
    }

    /// Compares wholes and parts of a copy from another archive with the copy of that name. None: there is none.
    pub fn compare_pieces(&self, name: u128, pieces: &[&[u8]]) -> Result<Option<Overlap>, Error> {
        let here = match Archive::open(&self.path_by_name(name)) {
            Err(error) if copy::is_missing(&error) => return Ok(None),
            opened => opened?,
        };
        self.with_opened(name, pieces, |arrived| containment::compare(arrived, &here)).map(Some)
    }

    /// Removes the sessions that `drop` selects, with all their records: rewrites the copy without them, or
    /// removes it if no session is left. Unreadable entries are removed too, since it is unknown whose they
    /// are, and with them a damaged database that was set aside. `sync_to_disk` erases the bytes.
    pub fn forget_sessions(
        &self,
        path: &Path,
        drop: &dyn Fn(&Session) -> bool,
    ) -> Result<ForgetOutcome, Error> {
        self.check_own_path(path)?;
        let target = self.target_at(path.to_path_buf());
        self.unlist(std::iter::once(path))?;
        let mut forgotten = forget::forget_sessions(&target, drop)?;
        if forgotten == ForgetOutcome::default() {
            self.list_as_found(&read_archived(path)?);
            self.flush_list()?;
            return Ok(forgotten);
        }
        salvage_packed::remove_damaged(self.packed.path())?;
        if forgotten.copy_removed {
            forgotten.freed = self.remove_unlisted(path)?;
        } else if path.exists() {
            // The row of a copy that had just become a file when the process was killed.
            self.packed.remove(name_from_path(path))?;
        } else {
            self.packed.mark_unclean()?;
        }
        Ok(forgotten)
    }

    // ---- for the one writer

    /// Small copies finished from here on become visible together, at `commit_batch`.
    pub fn begin_batch(&self) {
        self.packed.begin_batch();
    }

    pub fn commit_batch(&self) -> Result<(), Error> {
        self.packed.commit_batch()?;
        self.flush_list()
    }

    pub fn roll_back_batch(&self) {
        self.packed.roll_back_batch();
        self.manifest.discard();
    }

    /// Waits until all copies are on the disk and removed ones are erased. Once for many copies: waiting for each of
    /// a thousand small ones takes longer than reading and compressing them.
    pub fn sync_to_disk(&self) -> Result<(), Error> {
        if !self.dir.exists() {
            return Ok(());
        }
        self.erase_removed()?;
        os::files::sync_file_system(&self.dir).map_err(io_error(&self.dir))
    }

    /// Erases the bytes of removed copies, if a run was interrupted before it did.
    pub fn erase_removed(&self) -> Result<(), Error> {
        self.manifest.erase_removed()?;
        self.packed.clean()
    }

    /// Reads every byte of the small copies, and replaces a damaged database with one of all intact copies. Returns
    /// what was done. The damaged one is kept beside it until a session is forgotten.
    pub fn repair(&self) -> Result<Option<String>, Error> {
        let Some(damage) = self.packed.find_damage() else { return Ok(None) };
        self.packed.close();
        let saved = salvage_packed::salvage_copies(self.packed.path())?;
        self.packed.mark_changed()?;
        let (path, aside) = (self.packed.path().display(), salvage_packed::damaged_path(self.packed.path()));
        Ok(Some(format!(
            "{path} was damaged ({damage}): {saved} copies were saved, the damaged file is now {}",
            aside.display()
        )))
    }

    /// Moves small copies that have files of their own into the database, once: earlier versions wrote a file for
    /// each. Returns how many were moved.
    pub fn pack_small_files(&self) -> Result<u64, Error> {
        migrate::pack_small_files(self)
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

    fn target_for(&self, transcript: &Transcript) -> Result<Target, Error> {
        if is_archived(&transcript.path) {
            let error = std::io::Error::other("already an archived copy");
            return Err(io_error(&transcript.path)(error));
        }
        Ok(self.target_at(self.path_of(transcript)))
    }

    fn target_at(&self, path: PathBuf) -> Target {
        Target { path, packed: self.packed.clone(), manifest: self.manifest.clone() }
    }

    fn check_own_path(&self, path: &Path) -> Result<(), Error> {
        if is_archived(path) && path.parent().and_then(Path::parent) == Some(&self.dir) {
            return Ok(());
        }
        Err(io_error(path)(std::io::Error::other("not an archived copy")))
    }
}

/// The copy that is there. None: there is none, or nothing of it can be used. Of one that a newer version has written, or that may be
/// readable later, nothing must be replaced: an error.
fn open_existing(path: &Path) -> Result<Option<Archive>, Error> {
    match Archive::open(path) {
        Err(error) if copy::is_missing(&error) || matches!(error, Error::Damaged { .. }) => Ok(None),
        opened => opened.map(Some),
    }
}

fn unite_with_existing(
    existing: Option<Archive>,
    target: Target,
    header: Header,
    mask: Option<Mask<'_>>,
) -> Result<ArchiveWriter<'_>, Error> {
    match existing {
        Some(archive) => ArchiveWriter::unite_with(archive, target, header, mask),
        None => Ok(ArchiveWriter::new(target, header)),
    }
}

fn to_lost(name: u128, copy: Listed, found: u32) -> LostCopy {
    LostCopy { name, source: copy.source, session_id: copy.session, entries: copy.entries, found }
}

fn header_for(transcript: &Transcript) -> Header {
    Header::new(SOURCES[transcript.source].name(), transcript)
}

fn read_archived(path: &Path) -> Result<ArchivedTranscript, Error> {
    Archive::open(path).map(describe)
}

fn describe(archive: Archive) -> ArchivedTranscript {
    let (raw, kept) = (archive.raw_length(), archive.table.kept.len() as u32);
    let (header, closing) = (archive.table.header, archive.table.closing);
    let source = SOURCES.iter().map(|s| s.name()).find(|name| *name == header.source).unwrap_or("");
    ArchivedTranscript {
        path: archive.path,
        keys_match: header.keys_match(),
        transcript_name: header.transcript_name(),
        origin: header.origin,
        kept,
        kept_by_session: closing.sessions.iter().map(|session| session.kept).collect(),
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
        archived_at: Stamp(archive.stamp.changed / 1_000_000),
        source: header.source,
        file_stamp: archive.stamp,
    }
}

fn unreadable_problem(path: &Path, error: &Error) -> Problem {
    Problem { kind: ProblemKind::Unreadable, file: path.to_path_buf(), offset: 0, note: error.to_string() }
}

/// Adds the path to an I/O error.
fn io_error(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Io { path: path.to_path_buf(), error }
}
