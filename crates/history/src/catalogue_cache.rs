//! Serves unchanged transcripts of a request from the catalogue, so that only changed ones are surveyed. The result is the
//! same, byte for byte, with an empty cache.
//!
//! Does not know the request: it replaces the survey.

use crate::History;
use crate::error::read_error;
use crate::freshness::KnownFiles;
use crate::home::Home;
use api::Error;
use catalogue::{EventFilter, Reader};
use record::Row;
use rustc_hash::FxHashMap;
use sources::{Names, SOURCES, SurveyOutcome, Transcript};

/// Empty without a catalogue; then every transcript is surveyed.
#[derive(Default)]
pub(crate) struct CatalogueCache {
    from: Option<CachedFiles>,
}

struct CachedFiles {
    reader: Reader,
    /// The position in the request's list of each file that the catalogue has in its current state, by file number.
    places: Vec<u32>,
    /// By position: what the catalogue has of each transcript, until it is taken.
    files: Vec<CachedFile>,
    facts: Vec<SurveyOutcome>,
    bad: u64,
    names: FxHashMap<u32, u32>,
}

/// No transcript of the request has this file number.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CachedFile {
    /// It has to be surveyed.
    Unknown,
    /// Other files contain copies of its events, or it contains copies of theirs.
    Shared,
    Unshared,
}

/// Opens a read snapshot of the catalogue, unaffected by concurrent writes. A damaged catalogue counts as
/// missing; `loci doctor` reports it. A writer eventually waits for its readers, so drop the reader before writing.
pub fn open_catalogue(history: &History<'_>) -> Option<Reader> {
    open_catalogue_at(history, &history.home()?)
}

/// The same for stores that were looked up before.
pub(crate) fn open_catalogue_at(history: &History<'_>, home: &Home) -> Option<Reader> {
    // Requests for unmasked text survey the transcripts: the catalogue's titles are masked.
    if !history.masked {
        return None;
    }
    let names: Vec<&'static str> = SOURCES.iter().map(|source| source.name()).collect();
    let reader = Reader::open(&home.catalogue(), &names).ok().flatten()?;
    // The snapshot is taken by the first read.
    reader.begin_snapshot().and_then(|()| reader.sequence()).is_ok().then_some(reader)
}

impl CatalogueCache {
    /// If reading the catalogue fails, the cache is empty and every transcript is surveyed.
    pub(crate) fn new(reader: Option<Reader>, transcripts: &[Transcript], names: &Names) -> CatalogueCache {
        CatalogueCache { from: reader.and_then(|reader| CachedFiles::load(reader, transcripts, names).ok()) }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.from.is_some()
    }

    pub(crate) fn is_cached(&self, index: usize) -> bool {
        self.from.as_ref().is_some_and(|from| from.files[index] != CachedFile::Unknown)
    }

    /// Marks the cached files that share events with transcripts surveyed just now.
    pub(crate) fn mark_shared(&mut self, keys: impl Iterator<Item = u64>) -> Result<(), Error> {
        let Some(from) = &mut self.from else { return Ok(()) };
        for file in from.reader.files_with_keys(keys).map_err(read_error)? {
            if let Some(place) = from.place_of(file) {
                from.files[place] = CachedFile::Shared;
            }
        }
        Ok(())
    }

    /// The facts of each transcript of the request, empty if it has to be surveyed; and the number of bad lines.
    pub(crate) fn take_facts(&mut self, many: usize) -> (Vec<SurveyOutcome>, u64) {
        let Some(from) = &mut self.from else {
            return ((0..many).map(|_| SurveyOutcome::default()).collect(), 0);
        };
        let mut facts = std::mem::take(&mut from.facts);
        for (facts, _) in facts.iter_mut().zip(&from.files).filter(|(_, file)| **file == CachedFile::Shared) {
            facts.sessions.iter_mut().for_each(|session| session.models.clear());
        }
        (facts, from.bad)
    }

    /// Which transcripts need no counting: their counts are stored and they share no events.
    pub(crate) fn counted_files(&self, many: usize) -> Vec<bool> {
        let is_counted = |from: &CachedFiles, index: usize| from.files[index] == CachedFile::Unshared;
        (0..many).map(|index| self.from.as_ref().is_some_and(|from| is_counted(from, index))).collect()
    }

    /// Rows of transcripts that share events with others and have to be joined.
    pub(crate) fn shared_rows(
        &self,
        pick: EventFilter,
        each: &mut dyn FnMut(Row) -> Result<(), catalogue::Error>,
    ) -> Result<(), Error> {
        self.from.as_ref().map_or(Ok(()), |from| from.each_row(true, pick, &|_| true, each))
    }

    pub(crate) fn into_unshared(self) -> Option<UnsharedRows> {
        self.from.map(UnsharedRows)
    }
}

/// Rows of cached transcripts that share no events with others.
pub(crate) struct UnsharedRows(CachedFiles);

impl UnsharedRows {
    /// The rows of the transcripts that `is_meant` selects by their place in the list of the request.
    pub(crate) fn each_row(
        &self,
        pick: EventFilter,
        is_meant: &dyn Fn(usize) -> bool,
        mut each: impl FnMut(Row) -> Result<(), catalogue::Error>,
    ) -> Result<(), Error> {
        self.0.each_row(false, pick, is_meant, &mut each)
    }

    /// The calls that concern some files.
    pub(crate) fn each_call_on(
        &self,
        meant: &FilesMeant<'_>,
        mut each: impl FnMut(Row) -> Result<(), catalogue::Error>,
    ) -> Result<(), Error> {
        let cached = &self.0;
        let is_unshared = |file: u32| {
            cached.place_of(file).is_some_and(|place| cached.files[place] == CachedFile::Unshared)
        };
        for row in cached.reader.calls_on_paths(meant.is_meant).map_err(read_error)? {
            if is_unshared(row.file) {
                each(cached.localized(row)).map_err(read_error)?;
            }
        }
        let names = cached.reader.all_names().map_err(read_error)?;
        let other = names.iter().filter(|(_, name)| (meant.may_concern)(name));
        let other: Vec<u32> = other.map(|(id, _)| *id as u32).collect();
        if other.is_empty() {
            return Ok(());
        }
        let files: Vec<u32> = (0..cached.places.len() as u32).filter(|file| is_unshared(*file)).collect();
        cached.reader.for_each_call_of(&files, &other, |row| each(cached.localized(row))).map_err(read_error)
    }
}

/// Files whose calls are wanted.
pub struct FilesMeant<'f> {
    pub is_meant: &'f dyn Fn(&str) -> bool,
    /// Whether calls of a tool are wanted whichever file they name: they may change several, or name none.
    pub may_concern: &'f dyn Fn(&str) -> bool,
}

impl CachedFiles {
    fn load(
        reader: Reader,
        transcripts: &[Transcript],
        names: &Names,
    ) -> Result<CachedFiles, catalogue::Error> {
        let mut cached = CachedFiles {
            places: find_places(&reader, transcripts)?,
            reader,
            files: vec![CachedFile::Unknown; transcripts.len()],
            facts: Vec::new(),
            bad: 0,
            names: FxHashMap::default(),
        };
        cached.load_facts(transcripts)?;
        let numbers = cached.reader.all_names()?.into_iter();
        cached.names = numbers.map(|(id, name)| (id as u32, names.intern(&name))).collect();
        Ok(cached)
    }

    fn place_of(&self, file: u32) -> Option<usize> {
        self.places.get(file as usize).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    /// Reads the properties of the transcripts straight into the list of the request: a second copy of a large history
    /// would be most of the memory.
    fn load_facts(&mut self, transcripts: &[Transcript]) -> Result<(), catalogue::Error> {
        let mut facts: Vec<SurveyOutcome> = Vec::new();
        facts.resize_with(transcripts.len(), SurveyOutcome::default);
        let (mut files, mut bad) = (std::mem::take(&mut self.files), 0);
        let is_wanted = |file| self.place_of(file).is_some();
        self.reader.for_each_file_state(is_wanted, |file, state| {
            let Some(place) = self.place_of(file) else { return };
            files[place] = if state.shared { CachedFile::Shared } else { CachedFile::Unshared };
            bad += state.bad;
            let slot = &mut facts[place];
            (slot.birth, slot.abandoned, slot.problems) = (state.birth, state.abandoned, state.problems);
        })?;
        self.reader.for_each_session(is_wanted, |file, mut session, _| {
            let Some(place) = self.place_of(file) else { return };
            if session.session_id == transcripts[place].hint {
                session.session_id = transcripts[place].hint.clone();
            }
            // Most transcripts have one session; a vector that grows by itself begins with four.
            facts[place].sessions.reserve_exact(1);
            facts[place].sessions.push(session);
        })?;
        (self.files, self.facts, self.bad) = (files, facts, bad);
        Ok(())
    }

    fn each_row(
        &self,
        shared: bool,
        pick: EventFilter,
        is_meant: &dyn Fn(usize) -> bool,
        each: &mut dyn FnMut(Row) -> Result<(), catalogue::Error>,
    ) -> Result<(), Error> {
        let wanted = if shared { CachedFile::Shared } else { CachedFile::Unshared };
        let is_wanted = |file: &u32| {
            self.place_of(*file).is_some_and(|place| self.files[place] == wanted && is_meant(place))
        };
        let files: Vec<u32> = (0..self.places.len() as u32).filter(is_wanted).collect();
        self.reader.for_each_row(&files, pick, |row| each(self.localized(row))).map_err(read_error)
    }

    /// A row with the numbers of the request.
    fn localized(&self, row: Row) -> Row {
        let file = self.places[row.file as usize];
        let end_file = if row.end == Row::NO_END { 0 } else { file };
        let name = self.names.get(&row.name).copied().unwrap_or(u32::MAX);
        Row { file, end_file, name, ..row }
    }
}

/// The position of every transcript that the catalogue has in its current state, by file number.
fn find_places(reader: &Reader, transcripts: &[Transcript]) -> Result<Vec<u32>, catalogue::Error> {
    let known = KnownFiles::load(reader)?;
    let mut places = Vec::new();
    for (place, transcript) in (0..).zip(transcripts) {
        let Some(id) = known.current_id(transcript) else { continue };
        if places.len() <= id as usize {
            places.resize(id as usize + 1, NOWHERE);
        }
        places[id as usize] = place;
    }
    reader.release_known_files();
    Ok(places)
}
