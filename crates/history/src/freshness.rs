//! Determines what has changed since a transcript was read: nothing, appended lines, or everything. One stat decides; a
//! changed file needs a few kilobytes of its content as well.
//!
//! Does not read the new part.

use catalogue::{KnownFile, Reader, StoredFile, Watermark};
use os::files::FileExt;
use rustc_hash::{FxHashMap, FxHashSet};
use sources::{FileStamp, SOURCES, Transcript, archive, line_reader};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A transcript compared with the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    New,
    /// Unchanged; the catalogue's file number.
    Same(u32),
    /// Data was appended behind the watermark.
    Grown(u32, Watermark),
    /// Deleted by its agent; the archive has a copy.
    Archived(u32),
    /// Rewritten, or the change cannot be classified.
    Changed(u32),
}

impl State {
    /// The catalogue's file number.
    pub(crate) fn file(self) -> Option<u32> {
        match self {
            State::New => None,
            State::Same(file) | State::Grown(file, _) | State::Archived(file) | State::Changed(file) => {
                Some(file)
            }
        }
    }
}

/// The stable number that identifies a transcript and its archived copy.
pub fn name_of(transcript: &Transcript) -> u64 {
    if is_archived_copy(transcript) {
        return archive::transcript_name(transcript) as u64;
    }
    let path = transcript.path.as_os_str().as_encoded_bytes();
    let (folder, file) = path.split_at(memchr::memrchr(b'/', path).map_or(0, |at| at + 1));
    let part = transcript.part.as_ref().map_or(b"\0".as_slice(), String::as_bytes);
    let below = FOLDER.with_borrow_mut(|last| last.hash_of(transcript.source, folder));
    [file, b"\0", part].into_iter().fold(below, hash_low)
}

/// Start value for the lower half of the archive's 128-bit names, which does not depend on the upper half. Every request
/// computes the name of every transcript: half the width is a third of the cost, and transcripts of one folder share the
/// hash of the folder's path.
const LOW: u64 = 0x62b8_2175_6295_c58d;

fn hash_low(start: u64, piece: &[u8]) -> u64 {
    piece.iter().fold(start, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x13b))
}

thread_local! {
    static FOLDER: RefCell<Folder> = const { RefCell::new(Folder { source: usize::MAX, path: Vec::new(), name: 0 }) };
}

/// Caches the hash of the last transcript's folder.
struct Folder {
    source: usize,
    path: Vec<u8>,
    name: u64,
}

impl Folder {
    fn hash_of(&mut self, source: usize, path: &[u8]) -> u64 {
        if self.source != source || self.path != path {
            self.name = [SOURCES[source].name().as_bytes(), b"\0", path].into_iter().fold(LOW, hash_low);
            (self.source, self.path) = (source, path.to_vec());
        }
        self.name
    }
}

/// The files in the catalogue, by name.
pub struct KnownFiles(Arc<FxHashMap<u64, KnownFile>>);

impl KnownFiles {
    pub fn load(reader: &Reader) -> Result<KnownFiles, catalogue::Error> {
        Ok(KnownFiles(reader.known_files()?))
    }

    /// Catalogue files that are not among these transcripts: deleted by their agents. Empty if none is missing.
    pub(crate) fn find_absent(&self, met: &[Transcript]) -> Vec<KnownFile> {
        let present =
            |transcript: &&Transcript| self.0.get(&name_of(transcript)).is_some_and(|known| !known.gone);
        let living = self.0.values().filter(|known| !known.gone).count();
        if living == self.0.len() && met.iter().filter(present).count() == living {
            return Vec::new();
        }
        self.find_gone(met.iter())
    }

    /// The file number if the catalogue has the transcript in its current state.
    pub fn current_id(&self, transcript: &Transcript) -> Option<u32> {
        let known = self.0.get(&name_of(transcript))?;
        is_same(known, transcript).then_some(known.id)
    }

    /// The catalogue's entry for a transcript, current or not.
    pub fn get(&self, transcript: &Transcript) -> Option<KnownFile> {
        self.0.get(&name_of(transcript)).copied()
    }

    pub fn state_of(&self, reader: &Reader, transcript: &Transcript) -> Result<State, catalogue::Error> {
        let Some(known) = self.0.get(&name_of(transcript)) else { return Ok(State::New) };
        if is_same(known, transcript) {
            return Ok(State::Same(known.id));
        }
        if is_archived_copy(transcript) && !known.gone {
            return Ok(State::Archived(known.id));
        }
        let mark = reader.watermark(known.id)?;
        let longer = known.inode == transcript.file_stamp.inode
            && transcript.size > known.size
            && !known.gone
            && !is_archived_copy(transcript);
        let grown = longer && mark.consumed > 0 && sample_watermark(transcript, mark.consumed) == Some(mark);
        Ok(if grown { State::Grown(known.id, mark) } else { State::Changed(known.id) })
    }

    /// Catalogue files that are not among these transcripts, by file number.
    pub fn find_gone<'m>(&'m self, met: impl Iterator<Item = &'m Transcript>) -> Vec<KnownFile> {
        let met: FxHashSet<u64> = met.map(name_of).collect();
        let mut gone: Vec<KnownFile> =
            self.0.values().filter(|known| !met.contains(&known.name)).copied().collect();
        gone.sort_by_key(|known| known.id);
        gone
    }
}

fn is_same(known: &KnownFile, transcript: &Transcript) -> bool {
    let known_stamp =
        FileStamp { inode: known.inode, changed: known.changed, inode_changed: known.inode_changed };
    known.gone == is_archived_copy(transcript)
        && (known.size, known_stamp) == (transcript.size, transcript.file_stamp)
}

/// Whether this is the archived copy of a transcript that its agent has deleted.
pub fn is_archived_copy(transcript: &Transcript) -> bool {
    transcript.path.as_os_str().as_encoded_bytes().ends_with(b".loci")
        && archive::is_archived(&transcript.path)
}

/// Meta key: start time of the last complete update.
pub const CAUGHT_UP: &str = "caught_up";

/// Whether an update has completed since the catalogue was last empty.
pub fn was_completed(reader: &Reader) -> bool {
    reader.meta_value(CAUGHT_UP).is_ok_and(|at| at.is_some())
}

/// How many of the newest transcripts [`is_quiet`] checks instead of the whole history.
const NEWEST_CHECKED: u32 = 128;
/// File timestamps come from a coarse clock that is a few milliseconds late; in nanoseconds.
const CLOCK_SLACK: i64 = 20_000_000;

/// Meta key: hash of the modification times of the folders in [`list_folders`] after the last complete update. Times are
/// compared for equality and not with the clock, which may have been set back since.
pub(crate) const FOLDERS: &str = "folders";

/// Whether nothing seems to have been written since the last update: neither to the newest transcripts or their folders,
/// nor to the folder of any project.
pub(crate) fn is_quiet(reader: &Reader) -> bool {
    let Ok(Some(known)) = reader.meta_value(FOLDERS) else { return false };
    let Ok(newest) = reader.newest_files(NEWEST_CHECKED) else { return false };
    let Ok(folders) = list_folders(reader, &newest) else { return false };
    newest.iter().all(is_as_stored) && hash_times(&folders) == known
}

/// The value for [`FOLDERS`]. None if a folder changed after `begun`, in milliseconds: the update may have missed it.
pub(crate) fn hash_settled_folders(reader: &Reader, begun: i64) -> Result<Option<i64>, catalogue::Error> {
    let folders = list_folders(reader, &reader.newest_files(NEWEST_CHECKED)?)?;
    let is_settled = |folder: &PathBuf| change_time(folder) < begun * 1_000_000 - CLOCK_SLACK;
    Ok(folders.iter().all(is_settled).then(|| hash_times(&folders)))
}

fn list_folders(reader: &Reader, newest: &[StoredFile]) -> Result<BTreeSet<PathBuf>, catalogue::Error> {
    let above = |stored: &StoredFile| -> Vec<PathBuf> {
        stored.path.ancestors().skip(1).take(4).map(Path::to_path_buf).collect()
    };
    Ok(reader.family_folders()?.into_iter().chain(newest.iter().flat_map(above)).collect())
}

fn change_time(folder: &PathBuf) -> i64 {
    std::fs::metadata(folder).map_or(0, |meta| FileStamp::from_metadata(&meta).changed)
}

fn hash_times(folders: &BTreeSet<PathBuf>) -> i64 {
    let hash = |hash, folder: &PathBuf| {
        hash_low(hash_low(hash, folder.as_os_str().as_encoded_bytes()), &change_time(folder).to_le_bytes())
    };
    folders.iter().fold(LOW, hash) as i64
}

/// The state of the file when it was last read.
pub(crate) fn stamp_of(stored: &StoredFile) -> FileStamp {
    FileStamp { inode: stored.inode, changed: stored.changed, inode_changed: stored.inode_changed }
}

/// For a session in a database, the catalogue stores the session's own size and the age of the whole database.
fn is_as_stored(stored: &StoredFile) -> bool {
    let known = stamp_of(stored);
    if stored.part.is_some() {
        return FileStamp::from_database(&stored.path) == known;
    }
    std::fs::metadata(&stored.path)
        .is_ok_and(|meta| (meta.len(), FileStamp::from_metadata(&meta)) == (stored.size, known))
}

/// Bytes sampled at the beginning of a file and before the watermark to detect a rewrite.
const SAMPLE: u64 = 4096;

/// Samples the first `consumed` bytes of a transcript at both ends. None for one that is not a plain file of lines.
pub fn sample_watermark(transcript: &Transcript, consumed: u64) -> Option<Watermark> {
    if transcript.part.is_some() {
        return None;
    }
    let file = line_reader::open_regular(&transcript.path).ok()?;
    let sample = |from: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, from).ok()?;
        Some(record::event_key(b'h', &[&bytes]))
    };
    let length = consumed.min(SAMPLE);
    Some(Watermark { consumed, head: sample(0, length)?, tail: sample(consumed - length, length)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_lower_half_of_archive_names() {
        for (path, part) in [("/h/.claude/projects/p/a.jsonl", None), ("/h/é.db", Some("x")), ("", Some(""))]
        {
            let (path, part) = (PathBuf::from(path), part.map(str::to_string));
            let (hint, group) = ("".into(), Path::new("").into());
            let transcript =
                Transcript { source: 0, path, part, size: 0, file_stamp: FileStamp::default(), hint, group };
            assert_eq!(name_of(&transcript), archive::transcript_name(&transcript) as u64);
        }
    }
}
