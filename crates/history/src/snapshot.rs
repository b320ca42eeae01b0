//! Opens catalogue and text index as one consistent snapshot, after updating them if needed.
//!
//! Does not search.

use crate::error::{no_home, store_error};
use crate::freshness::{self, KnownFiles, State, was_completed};
use crate::ingest::Waited;
use crate::tombstones::Tombstones;
use crate::unindexed::{Unindexed, UnindexedReader};
use crate::{History, catalogue_cache, ingest, scan, transcripts};
use api::{Code, Error};
use catalogue::Reader;
use record::{Row, Session};
use rustc_hash::FxHashSet;
use search::Index;
use sources::walk::TranscriptList;
use sources::{Names, SurveyOptions, Transcript};

/// Largest unindexed tail that a request reads itself; beyond it, the index is updated first.
const MAX_TAIL: u64 = 8 << 20;
/// The same while another process holds the writer lock.
const MAX_TAIL_WHILE_BUSY: u64 = 32 << 20;
/// Largest history that is searched without an index if none can be built.
const MAX_WITHOUT_INDEX: u64 = 256 << 20;

/// Everything a search reads, as of one moment.
pub struct Snapshot {
    pub reader: Option<Reader>,
    /// The text index, if it belongs to this catalogue.
    pub index: Option<Index>,
    pub found: TranscriptList,
    states: Vec<State>,
    /// Unindexed bytes, and whether the request can read them itself.
    unknown: u64,
    fast: bool,
    /// The index lacks events of the catalogue, or contains events that should be forgotten.
    pub behind: bool,
    /// Another process is still reading the rest of the history, which is too large to read with the request.
    pub is_partial: bool,
}

impl Snapshot {
    /// Updates the index first, unless the unindexed tail is small enough to read with the request.
    pub fn open(history: &History<'_>) -> Result<Snapshot, Error> {
        let mut snapshot = Snapshot::load(history)?;
        for tried in 0..ingest::TRIES {
            if snapshot.is_enough() || (tried > 0 && snapshot.is_whole()) {
                break;
            }
            let unknown = snapshot.unknown;
            drop(snapshot);
            let caught_up = ingest::catch_up_or_wait(history);
            snapshot = Snapshot::load(history)?;
            match caught_up {
                Ok(Waited::Updated) => {}
                // Another process is writing and may go on for minutes; this request reads a bounded part itself.
                Ok(Waited::Consistent | Waited::TimedOut) => {
                    snapshot.is_partial = snapshot.unread_bytes() > MAX_TAIL_WHILE_BUSY;
                    break;
                }
                // Answering without the index would hide that it belongs to a newer Loci, and take longer every time.
                Err(error) if error.code == Code::NewerStore => return Err(error),
                Err(error) if unknown > MAX_WITHOUT_INDEX => return Err(index_missing(&error)),
                // A read-only or full disk does not prevent a search.
                Err(_) => break,
            }
        }
        Ok(snapshot)
    }

    fn load(history: &History<'_>) -> Result<Snapshot, Error> {
        let (reader, index) = open_both(history)?;
        let found = transcripts::find_transcripts(history, reader.as_ref(), &[]);
        let mut states = load_states(reader.as_ref().filter(|_| index.is_some()), &found.transcripts)?;
        if let (Some(reader), Some(index)) = (&reader, &index) {
            mark_not_indexed(reader, index, &mut states)?;
        }
        let (unknown, fast) = measure_unindexed(&found.transcripts, &states);
        let is_forgotten = |reader| ingest::is_forgetting_finished(history, reader);
        let behind = is_behind(reader.as_ref(), index.as_ref()) || !reader.as_ref().is_none_or(is_forgotten);
        Ok(Snapshot { reader, index, found, states, unknown, fast, behind, is_partial: false })
    }

    /// What [`read_unindexed`](Self::read_unindexed) would read: rewritten transcripts from their start.
    fn unread_bytes(&self) -> u64 {
        let bytes = |(transcript, state): (&Transcript, &State)| match state {
            State::Same(_) => 0,
            State::Grown(_, mark) => transcript.size.saturating_sub(mark.consumed),
            State::New | State::Archived(_) | State::Changed(_) => transcript.size,
        };
        self.found.transcripts.iter().zip(&self.states).map(bytes).sum()
    }

    pub(crate) fn is_enough(&self) -> bool {
        self.index.is_some() && self.fast && self.unknown <= MAX_TAIL && !self.behind
    }

    /// Whether the index has contained the whole history at least once.
    pub fn is_whole(&self) -> bool {
        self.index.is_some() && self.reader.as_ref().is_some_and(was_completed)
    }

    /// Reads the unindexed tail.
    pub fn read_unindexed(&self, history: &History<'_>) -> Result<Unindexed, Error> {
        if self.is_partial {
            return Ok(Unindexed::default());
        }
        let reader = self.reader.as_ref().filter(|_| self.index.is_some());
        let mut unindexed = UnindexedReader::new(*history, reader)?;
        for (transcript, state) in self.found.transcripts.iter().zip(&self.states) {
            if !matches!(state, State::Same(_)) {
                unindexed.read_transcript(transcript, *state).map_err(store_error)?;
            }
        }
        Ok(unindexed.finish())
    }
}

/// Opens the catalogue, and the text index if it belongs to that catalogue: one that is ahead was built from a catalogue
/// that has been recreated since, and its numbers mean other files.
pub fn open_both(history: &History<'_>) -> Result<(Option<Reader>, Option<Index>), Error> {
    // One lookup for both: a rebuild may switch to other stores in between.
    let Some(home) = history.home() else { return Ok((None, None)) };
    let index = Index::open(&home.index()).ok().flatten();
    let Some(reader) = catalogue_cache::open_catalogue_at(history, &home) else { return Ok((None, None)) };
    let sequence = reader.sequence().map_err(store_error)?;
    Ok((Some(reader), index.filter(|index| index.last_sequence() <= sequence)))
}

fn load_states(reader: Option<&Reader>, transcripts: &[Transcript]) -> Result<Vec<State>, Error> {
    let Some(reader) = reader else { return Ok(vec![State::New; transcripts.len()]) };
    let memory = KnownFiles::load(reader).map_err(store_error)?;
    let state = |transcript| memory.state_of(reader, transcript);
    transcripts.iter().map(state).collect::<Result<_, _>>().map_err(store_error)
}

/// The catalogue is committed before the index. A transcript between the two commits is read like a rewritten one:
/// its watermark covers lines that the index lacks.
fn mark_not_indexed(reader: &Reader, index: &Index, states: &mut [State]) -> Result<(), Error> {
    let sequence = index.last_sequence();
    if reader.sequence().map_err(store_error)? == sequence {
        return Ok(());
    }
    let lacking: FxHashSet<u32> =
        reader.files_not_indexed(sequence).map_err(store_error)?.into_iter().collect();
    for state in states {
        if let State::Same(file) | State::Grown(file, _) = *state
            && lacking.contains(&file)
        {
            *state = State::Changed(file);
        }
    }
    Ok(())
}

/// Counts unindexed bytes. False if the request cannot read them itself: rewritten and deleted transcripts need an update.
fn measure_unindexed(transcripts: &[Transcript], states: &[State]) -> (u64, bool) {
    let (mut unknown, mut fast) = (0, true);
    for (transcript, state) in transcripts.iter().zip(states) {
        match state {
            State::Same(_) => {}
            State::New => unknown += transcript.size,
            State::Grown(_, mark) => unknown += transcript.size.saturating_sub(mark.consumed),
            State::Archived(_) | State::Changed(_) => fast = false,
        }
    }
    (unknown, fast)
}

/// Whether the index lacks events of the catalogue because its writer was killed between the two commits.
fn is_behind(reader: Option<&Reader>, index: Option<&Index>) -> bool {
    let (Some(reader), Some(index)) = (reader, index) else { return true };
    reader.sequence().is_ok_and(|sequence| sequence != index.last_sequence())
}

fn index_missing(error: &Error) -> Error {
    let missing =
        Error::new(Code::IndexMissing, format!("no search index exists and none can be built: {error}"));
    error.hints.iter().fold(missing, |missing, hint| missing.hint(hint.clone()))
}

/// The catalogue, and whether it contains everything that was on disk when it was opened.
pub struct CurrentCatalogue {
    pub reader: Reader,
    pub is_current: bool,
}

/// Opens the catalogue, after an update if a few stat calls show that something was written since the last one.
pub fn open_current(history: &History<'_>) -> Result<CurrentCatalogue, Error> {
    let will_do =
        |reader: &Reader| freshness::is_quiet(reader) && ingest::is_forgetting_finished(history, reader);
    if let Some(reader) = catalogue_cache::open_catalogue(history).filter(will_do) {
        return Ok(CurrentCatalogue { reader, is_current: true });
    }
    for _ in 0..ingest::TRIES {
        let caught_up = ingest::catch_up_or_wait(history);
        let is_current = matches!(caught_up, Ok(Waited::Updated));
        match (catalogue_cache::open_catalogue(history), caught_up) {
            (Some(reader), Ok(_)) if was_completed(&reader) => {
                return Ok(CurrentCatalogue { reader, is_current });
            }
            // A first build is going on, or the catalogue cannot be written: what it contains now.
            (Some(reader), Ok(Waited::TimedOut) | Err(_)) => {
                return Ok(CurrentCatalogue { reader, is_current });
            }
            (_, Ok(_)) => {}
            (None, Err(error)) => return Err(error),
        }
    }
    let reader = catalogue_cache::open_catalogue(history).ok_or_else(no_home)?;
    Ok(CurrentCatalogue { reader, is_current: false })
}

/// Surveys the transcripts that the catalogue does not know, for requests that cannot wait until another process has
/// added them. Returns their sessions, without subagents, and whether that was all of them.
pub fn survey_new_sessions(history: &History<'_>, reader: &Reader) -> Result<(Vec<Session>, bool), Error> {
    let found = transcripts::find_transcripts(history, Some(reader), &[]);
    let states = load_states(Some(reader), &found.transcripts)?;
    let tombstones = Tombstones::read(history.home().as_ref())?;
    let (mut sessions, mut bytes) = (Vec::new(), 0);
    for (transcript, _) in found.transcripts.iter().zip(&states).filter(|(_, state)| **state == State::New) {
        bytes += transcript.size;
        if bytes > MAX_TAIL_WHILE_BUSY {
            return Ok((sessions, false));
        }
        let (names, mut rows) = (Names::default(), Vec::new());
        let emit = &mut |more: &mut Vec<Row>| rows.append(more);
        let (_, mut facts) = scan::read_through(history, 0, transcript, &names, SurveyOptions::ALL, emit);
        tombstones.remove_forgotten(&mut facts, &mut rows);
        scan::count_alone(&mut facts.sessions, &rows, &names.to_vec());
        sessions.extend(facts.sessions.into_iter().filter(|s| s.agent_id.is_none() && !scan::is_empty(s)));
    }
    Ok((sessions, true))
}
