//! What has changed since a transcript was read last: nothing, a few lines more, or everything. One look at the file
//! decides, and for one that has changed a few kilobytes of it.
//!
//! Does not read what is new.

use catalogue::{Known, Mark, Reader};
use rustc_hash::FxHashMap;
use sources::{Transcript, archive, place};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

/// How a transcript stands to what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
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
pub(crate) fn name_of(transcript: &Transcript) -> u64 {
    archive::name(transcript) as u64
}

/// What is known, by name.
pub(crate) struct Memory(FxHashMap<u64, Known>);

impl Memory {
    pub(crate) fn of(reader: &Reader) -> Result<Memory, catalogue::Error> {
        Ok(Memory(reader.known()?.into_iter().map(|known| (known.name, known)).collect()))
    }

    /// Whether the transcript is known as it is now.
    pub(crate) fn has(&self, transcript: &Transcript) -> Option<u32> {
        let known = self.0.get(&name_of(transcript))?;
        is_same(known, transcript).then_some(known.id)
    }

    pub(crate) fn state(&self, reader: &Reader, transcript: &Transcript) -> Result<State, catalogue::Error> {
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
    pub(crate) fn gone<'m>(&'m self, met: impl Iterator<Item = &'m Transcript>) -> Vec<Known> {
        let met: rustc_hash::FxHashSet<u64> = met.map(name_of).collect();
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
pub(crate) fn is_kept(transcript: &Transcript) -> bool {
    transcript.path.as_os_str().as_bytes().ends_with(b".loci") && archive::is_archived(&transcript.path)
}

/// How much of a file's beginning, and of what stands before the end of what was read, tells it from another.
const SAMPLE: u64 = 4096;

/// What stands in a transcript around its first `consumed` bytes. None for one that is no plain file of lines.
pub(crate) fn stood(transcript: &Transcript, consumed: u64) -> Option<Mark> {
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
