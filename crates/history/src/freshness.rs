//! Determines what has changed since a transcript was read: nothing, appended lines, or everything. One stat decides; a
//! changed file needs a few kilobytes of its content as well.
//!
//! Does not read the new part.

use catalogue::{Known, Mark, Reader, Stored};
use rustc_hash::{FxHashMap, FxHashSet};
use sources::{Age, SOURCES, Transcript, archive, place};
use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A transcript compared with the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    New,
    /// Unchanged; the catalogue's file number.
    Same(u32),
    /// Data was appended behind the watermark.
    Grown(u32, Mark),
    /// Deleted by its agent; the archive has a copy.
    Kept(u32),
    /// Rewritten, or the change cannot be classified.
    Changed(u32),
}

/// The stable number that identifies a transcript and its archived copy.
pub fn name_of(transcript: &Transcript) -> u64 {
    if is_kept(transcript) {
        return archive::name(transcript) as u64;
    }
    let path = transcript.path.as_os_str().as_bytes();
    let (folder, file) = path.split_at(memchr::memrchr(b'/', path).map_or(0, |at| at + 1));
    let part = transcript.part.as_ref().map_or(b"\0".as_slice(), String::as_bytes);
    let below = FOLDER.with_borrow_mut(|last| last.named(transcript.source, folder));
    [file, b"\0", part].into_iter().fold(below, low)
}

/// Start value for the lower half of the archive's 128-bit names, which does not depend on the upper half. Every request
/// computes the name of every transcript: half the width is a third of the cost, and transcripts of one folder share the
/// hash of the folder's path.
const LOW: u64 = 0x62b8_2175_6295_c58d;

fn low(start: u64, piece: &[u8]) -> u64 {
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
    fn named(&mut self, source: usize, path: &[u8]) -> u64 {
        if self.source != source || self.path != path {
            self.name = [SOURCES[source].name().as_bytes(), b"\0", path].into_iter().fold(LOW, low);
            (self.source, self.path) = (source, path.to_vec());
        }
        self.name
    }
}

/// The files in the catalogue, by name.
pub struct Memory(Arc<FxHashMap<u64, Known>>);

impl Memory {
    pub fn of(reader: &Reader) -> Result<Memory, catalogue::Error> {
        Ok(Memory(reader.known()?))
    }

    /// Catalogue files that are not among these transcripts: deleted by their agents. Empty if none is missing.
    pub(crate) fn absent(&self, met: &[Transcript]) -> Vec<Known> {
        let present =
            |transcript: &&Transcript| self.0.get(&name_of(transcript)).is_some_and(|known| !known.gone);
        let living = self.0.values().filter(|known| !known.gone).count();
        if living == self.0.len() && met.iter().filter(present).count() == living {
            return Vec::new();
        }
        self.gone(met.iter())
    }

    /// The file number if the catalogue has the transcript in its current state.
    pub fn has(&self, transcript: &Transcript) -> Option<u32> {
        let known = self.0.get(&name_of(transcript))?;
        is_same(known, transcript).then_some(known.id)
    }

    /// The catalogue's entry for a transcript, current or not.
    pub fn known(&self, transcript: &Transcript) -> Option<Known> {
        self.0.get(&name_of(transcript)).copied()
    }

    pub fn state(&self, reader: &Reader, transcript: &Transcript) -> Result<State, catalogue::Error> {
        let Some(known) = self.0.get(&name_of(transcript)) else { return Ok(State::New) };
        if is_same(known, transcript) {
            return Ok(State::Same(known.id));
        }
        if is_kept(transcript) && !known.gone {
            return Ok(State::Kept(known.id));
        }
        let mark = reader.mark(known.id)?;
        let longer = known.inode == transcript.age.inode
            && transcript.size > known.size
            && !known.gone
            && !is_kept(transcript);
        let grown = longer && mark.consumed > 0 && stood(transcript, mark.consumed) == Some(mark);
        Ok(if grown { State::Grown(known.id, mark) } else { State::Changed(known.id) })
    }

    /// Catalogue files that are not among these transcripts, by file number.
    pub fn gone<'m>(&'m self, met: impl Iterator<Item = &'m Transcript>) -> Vec<Known> {
        let met: FxHashSet<u64> = met.map(name_of).collect();
        let mut gone: Vec<Known> =
            self.0.values().filter(|known| !met.contains(&known.name)).copied().collect();
        gone.sort_by_key(|known| known.id);
        gone
    }
}

fn is_same(known: &Known, transcript: &Transcript) -> bool {
    let age = transcript.age;
    known.gone == is_kept(transcript)
        && (known.size, known.inode, known.changed) == (transcript.size, age.inode, age.changed)
}

/// Whether this is the archived copy of a transcript that its agent has deleted.
pub fn is_kept(transcript: &Transcript) -> bool {
    transcript.path.as_os_str().as_bytes().ends_with(b".loci") && archive::is_archived(&transcript.path)
}

/// Meta key: start time of the last complete update.
pub const CAUGHT_UP: &str = "caught_up";

/// Whether an update has completed since the catalogue was last empty.
pub fn was_whole(reader: &Reader) -> bool {
    reader.meta(CAUGHT_UP).is_ok_and(|at| at.is_some())
}

/// How many of the newest transcripts [`is_quiet`] checks instead of the whole history.
const NEWEST: u32 = 128;
/// File timestamps come from a coarse clock that is a few milliseconds late; in nanoseconds.
const LATE: i64 = 20_000_000;

/// Whether nothing seems to have been written since the last update: neither to the newest transcripts or their folders,
/// nor to the folder of any project.
pub(crate) fn is_quiet(reader: &Reader) -> bool {
    let Ok(Some(caught_up)) = reader.meta(CAUGHT_UP) else { return false };
    let Ok(newest) = reader.newest_files(NEWEST) else { return false };
    let Ok(families) = reader.families() else { return false };
    let mut folders: FxHashSet<PathBuf> = families.into_iter().collect();
    for stored in &newest {
        if !is_as_stored(stored) {
            return false;
        }
        folders.extend(stored.path.ancestors().skip(1).take(4).map(Path::to_path_buf));
    }
    let changed = |folder: &PathBuf| std::fs::metadata(folder).map_or(0, |meta| Age::of(&meta).changed);
    folders.iter().all(|folder| changed(folder) < caught_up * 1_000_000 - LATE)
}

/// For a session in a database, the catalogue stores the session's own size and the age of the whole database.
fn is_as_stored(stored: &Stored) -> bool {
    let known = Age { inode: stored.inode, changed: stored.changed };
    if stored.part.is_some() {
        return Age::of_database(&stored.path) == known;
    }
    std::fs::metadata(&stored.path).is_ok_and(|meta| (meta.len(), Age::of(&meta)) == (stored.size, known))
}

/// Bytes sampled at the beginning of a file and before the watermark to detect a rewrite.
const SAMPLE: u64 = 4096;

/// Samples the first `consumed` bytes of a transcript at both ends. None for one that is not a plain file of lines.
pub fn stood(transcript: &Transcript, consumed: u64) -> Option<Mark> {
    if transcript.part.is_some() {
        return None;
    }
    let file = place::open(&transcript.path).ok()?;
    let sample = |from: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, from).ok()?;
        Some(record::key(b'h', &[&bytes]))
    };
    let length = consumed.min(SAMPLE);
    Some(Mark { consumed, head: sample(0, length)?, tail: sample(consumed - length, length)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_lower_half_of_archive_names() {
        for (path, part) in [("/h/.claude/projects/p/a.jsonl", None), ("/h/é.db", Some("x")), ("", Some(""))]
        {
            let (path, part) = (PathBuf::from(path), part.map(str::to_string));
            let (hint, group) = (String::new(), PathBuf::new());
            let transcript = Transcript { source: 0, path, part, size: 0, age: Age::default(), hint, group };
            assert_eq!(name_of(&transcript), archive::name(&transcript) as u64);
        }
    }
}
