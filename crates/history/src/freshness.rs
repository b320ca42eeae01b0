//! What has changed since a transcript was read last: nothing, a few lines more, or everything. One look at the file
//! decides, and for one that has changed a few kilobytes of it.
//!
//! Does not read what is new.

use catalogue::{Known, Mark, Reader, Stored};
use rustc_hash::{FxHashMap, FxHashSet};
use sources::{Age, SOURCES, Transcript, archive, place};
use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a transcript stands to what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    New,
    /// Known in full, under this number.
    Same(u32),
    /// As it was, with more behind it.
    Grown(u32, Mark),
    /// Its agent has deleted it; a copy was kept.
    Kept(u32),
    /// Another text stands there now, or it cannot be said.
    Changed(u32),
}

/// The number by which a transcript is known again, and its kept copy too.
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

/// The lower half of the archive's names, which does not depend on the upper. Every transcript is named in every
/// question: half the width is a third of the cost, and one folder's transcripts share the beginning of their names.
const LOW: u64 = 0x62b8_2175_6295_c58d;

fn low(start: u64, piece: &[u8]) -> u64 {
    piece.iter().fold(start, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x13b))
}

thread_local! {
    static FOLDER: RefCell<Folder> = const { RefCell::new(Folder { source: usize::MAX, path: Vec::new(), name: 0 }) };
}

/// The folder of the transcript that was named last.
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

/// What is known, by name.
pub struct Memory(Arc<FxHashMap<u64, Known>>);

impl Memory {
    pub fn of(reader: &Reader) -> Result<Memory, catalogue::Error> {
        Ok(Memory(reader.known()?))
    }

    /// Those known that are not among these: deleted by their agents, now or before. None where all are.
    pub(crate) fn absent(&self, met: &[Transcript]) -> Vec<Known> {
        let present =
            |transcript: &&Transcript| self.0.get(&name_of(transcript)).is_some_and(|known| !known.gone);
        let living = self.0.values().filter(|known| !known.gone).count();
        if living == self.0.len() && met.iter().filter(present).count() == living {
            return Vec::new();
        }
        self.gone(met.iter())
    }

    /// Whether the transcript is known as it is now.
    pub fn has(&self, transcript: &Transcript) -> Option<u32> {
        let known = self.0.get(&name_of(transcript))?;
        is_same(known, transcript).then_some(known.id)
    }

    /// What is known of it, however it is now.
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

    /// What is known and was not met: their agents have deleted them.
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

/// Whether it is the copy of a transcript that its agent has deleted.
pub fn is_kept(transcript: &Transcript) -> bool {
    transcript.path.as_os_str().as_bytes().ends_with(b".loci") && archive::is_archived(&transcript.path)
}

/// When everything that there was had been read.
pub const CAUGHT_UP: &str = "caught_up";

/// Whether the whole history was in the catalogue since it was empty last.
pub fn was_whole(reader: &Reader) -> bool {
    reader.meta(CAUGHT_UP).is_ok_and(|at| at.is_some())
}

/// How many of the newest transcripts are looked at where the whole history is not.
const NEWEST: u32 = 128;
/// Files are dated by a clock that is a few milliseconds late.
const LATE: i64 = 20_000_000;

/// Whether nothing seems to have been written since the catalogue was made: neither in the transcripts that were
/// written last nor beside them, nor in the folder of any project.
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

/// Of a conversation in a database the catalogue knows another size than its file's, and the age of the whole.
fn is_as_stored(stored: &Stored) -> bool {
    let known = Age { inode: stored.inode, changed: stored.changed };
    if stored.part.is_some() {
        return Age::of_database(&stored.path) == known;
    }
    std::fs::metadata(&stored.path).is_ok_and(|meta| (meta.len(), Age::of(&meta)) == (stored.size, known))
}

/// How much of a file's beginning, and of what stands before the end of what was read, tells it from another.
const SAMPLE: u64 = 4096;

/// What stands in a transcript around its first `consumed` bytes. None for one that is no plain file of lines.
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
    fn names_are_the_lower_half_of_the_archives() {
        for (path, part) in [("/h/.claude/projects/p/a.jsonl", None), ("/h/é.db", Some("x")), ("", Some(""))]
        {
            let (path, part) = (PathBuf::from(path), part.map(str::to_string));
            let (hint, group) = (String::new(), PathBuf::new());
            let transcript = Transcript { source: 0, path, part, size: 0, age: Age::default(), hint, group };
            assert_eq!(name_of(&transcript), archive::name(&transcript) as u64);
        }
    }
}
