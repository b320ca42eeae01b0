//! The history as of one moment: catalogue and text index opened together, brought up to date first where that is needed.
//!
//! Does not search.

use crate::error::{homeless, store_error};
use crate::freshness::{self, Memory, State, was_whole};
use crate::unindexed::{Unindexed, UnindexedReader};
use crate::{History, catalogue_cache, ingest, transcripts};
use api::{Code, Error};
use catalogue::Reader;
use search::Index;
use sources::Transcript;
use sources::walk::Found;

/// More than this is not read on the spot: the index is brought up to date first.
const SMALL: u64 = 8 << 20;
/// Without any index this much is still searched on the spot, where none can be made.
const BEARABLE: u64 = 256 << 20;

/// What is there to be searched at one moment.
pub struct Snapshot {
    pub reader: Option<Reader>,
    /// Of this very catalogue, if there is one.
    pub index: Option<Index>,
    pub found: Found,
    states: Vec<State>,
    /// How many bytes the index does not know, and whether they can be read on the spot.
    unknown: u64,
    fast: bool,
    /// The index lacks what the catalogue has, or has what should be forgotten.
    pub behind: bool,
}

impl Snapshot {
    /// Brings the index up to date first, unless what it lacks can be read on the spot.
    pub fn open(history: &History<'_>) -> Result<Snapshot, Error> {
        let mut snapshot = Snapshot::of(history)?;
        for tried in 0..ingest::TRIES {
            if snapshot.is_enough() || (tried > 0 && snapshot.is_whole()) {
                break;
            }
            let unknown = snapshot.unknown;
            drop(snapshot);
            let caught_up = ingest::catch_up_soon(history);
            snapshot = Snapshot::of(history)?;
            match caught_up {
                Ok(()) => {}
                Err(error) if unknown > BEARABLE => return Err(missing(&error)),
                // What cannot be written can perhaps still be searched.
                Err(_) => break,
            }
        }
        Ok(snapshot)
    }

    fn of(history: &History<'_>) -> Result<Snapshot, Error> {
        let (reader, index) = open_both(history)?;
        let found = transcripts::find(history, reader.as_ref(), &[]);
        let states = states(reader.as_ref().filter(|_| index.is_some()), &found.transcripts)?;
        let (unknown, fast) = weigh(&found.transcripts, &states);
        let is_forgotten = |reader| ingest::is_forgotten(history, reader);
        let behind = is_behind(reader.as_ref(), index.as_ref()) || !reader.as_ref().is_none_or(is_forgotten);
        Ok(Snapshot { reader, index, found, states, unknown, fast, behind })
    }

    fn is_enough(&self) -> bool {
        self.index.is_some() && self.fast && self.unknown <= SMALL && !self.behind
    }

    /// Whether the whole history was in it once.
    pub fn is_whole(&self) -> bool {
        self.index.is_some() && self.reader.as_ref().is_some_and(was_whole)
    }

    /// Reads what the index does not contain.
    pub fn read_unindexed(&self, history: &History<'_>) -> Result<Unindexed, Error> {
        let reader = self.reader.as_ref().filter(|_| self.index.is_some());
        let mut unindexed = UnindexedReader::new(*history, reader).map_err(store_error)?;
        for (transcript, state) in self.found.transcripts.iter().zip(&self.states) {
            if !matches!(state, State::Same(_)) {
                unindexed.read(transcript, *state).map_err(store_error)?;
            }
        }
        Ok(unindexed.finish())
    }
}

/// The catalogue, and the text index if it is of that catalogue: one that was opened before the catalogue was emptied
/// speaks of other files under the same numbers.
pub fn open_both(history: &History<'_>) -> Result<(Option<Reader>, Option<Index>), Error> {
    let index = history.home().and_then(|home| Index::open(&home.index()).ok().flatten());
    let Some(reader) = catalogue_cache::open(history) else { return Ok((None, None)) };
    let wiped = reader.wiped().map_err(store_error)?;
    Ok((Some(reader), index.filter(|index| index.sequence() >= wiped)))
}

fn states(reader: Option<&Reader>, transcripts: &[Transcript]) -> Result<Vec<State>, Error> {
    let Some(reader) = reader else { return Ok(vec![State::New; transcripts.len()]) };
    let memory = Memory::of(reader).map_err(store_error)?;
    let state = |transcript| memory.state(reader, transcript);
    transcripts.iter().map(state).collect::<Result<_, _>>().map_err(store_error)
}

/// How many bytes are unknown, and whether they can be read on the spot: what was rewritten or has gone cannot.
fn weigh(transcripts: &[Transcript], states: &[State]) -> (u64, bool) {
    let (mut unknown, mut fast) = (0, true);
    for (transcript, state) in transcripts.iter().zip(states) {
        match state {
            State::Same(_) => {}
            State::New => unknown += transcript.size,
            State::Grown(_, mark) => unknown += transcript.size.saturating_sub(mark.consumed),
            State::Kept(_) | State::Changed(_) => fast = false,
        }
    }
    (unknown, fast)
}

/// Whether the index lacks what the catalogue has: its writer was stopped in between.
fn is_behind(reader: Option<&Reader>, index: Option<&Index>) -> bool {
    let (Some(reader), Some(index)) = (reader, index) else { return true };
    reader.sequence().is_ok_and(|sequence| sequence != index.sequence())
}

fn missing(error: &Error) -> Error {
    let told =
        Error::new(Code::IndexMissing, format!("there is no index to search, and none can be made: {error}"));
    error.hints.iter().fold(told, |told, hint| told.hint(hint.clone()))
}

/// The catalogue, brought up to date if a handful of looks says that something was written since.
pub fn current(history: &History<'_>) -> Result<Reader, Error> {
    let will_do = |reader: &Reader| freshness::is_quiet(reader) && ingest::is_forgotten(history, reader);
    if let Some(reader) = catalogue_cache::open(history).filter(will_do) {
        return Ok(reader);
    }
    for _ in 0..ingest::TRIES {
        let caught_up = ingest::catch_up_soon(history);
        match (catalogue_cache::open(history), caught_up) {
            (Some(reader), Ok(())) if was_whole(&reader) => return Ok(reader),
            (_, Ok(())) => {}
            // Where nothing can be written, what is known is shown.
            (Some(reader), Err(_)) => return Ok(reader),
            (None, Err(error)) => return Err(error),
        }
    }
    catalogue_cache::open(history).ok_or_else(homeless)
}
