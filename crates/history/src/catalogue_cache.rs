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
    /// The file number of each transcript of the request that the catalogue has in its current state.
    ids: Vec<Option<u32>>,
    /// Positions in the request's list, by file number.
    places: FxHashMap<u32, u32>,
    facts: FxHashMap<u32, catalogue::FileState>,
    names: FxHashMap<u32, u32>,
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
        self.from.as_ref().is_some_and(|from| from.ids[index].is_some())
    }

    /// Marks the cached files that share events with transcripts surveyed just now.
    pub(crate) fn mark_shared(&mut self, keys: impl Iterator<Item = u64>) -> Result<(), Error> {
        let Some(from) = &mut self.from else { return Ok(()) };
        for file in from.reader.files_with_keys(keys).map_err(read_error)? {
            if let Some(facts) = from.facts.get_mut(&file) {
                facts.shared = true;
            }
        }
        Ok(())
    }

    /// The facts of each transcript of the request, empty if it has to be surveyed; and the number of bad lines.
    pub(crate) fn take_facts(&mut self, many: usize) -> (Vec<SurveyOutcome>, u64) {
        let mut facts: Vec<SurveyOutcome> = (0..many).map(|_| SurveyOutcome::default()).collect();
        let Some(from) = &mut self.from else { return (facts, 0) };
        let mut bad = 0;
        for (id, place) in &from.places {
            let Some(known) = from.facts.get_mut(id) else { continue };
            bad += known.bad;
            let slot = &mut facts[*place as usize];
            slot.sessions = std::mem::take(&mut known.sessions);
            (slot.birth, slot.abandoned) = (known.birth, std::mem::take(&mut known.abandoned));
            slot.problems = std::mem::take(&mut known.problems);
            if known.shared {
                slot.sessions.iter_mut().for_each(|session| session.models.clear());
            }
        }
        (facts, bad)
    }

    /// Which transcripts need no counting: their counts are stored and they share no events.
    pub(crate) fn counted_files(&self, many: usize) -> Vec<bool> {
        let known = |from: &CachedFiles, index: usize| {
            from.ids[index].and_then(|id| from.facts.get(&id)).is_some_and(|facts| !facts.shared)
        };
        (0..many).map(|index| self.from.as_ref().is_some_and(|from| known(from, index))).collect()
    }

    /// Rows of transcripts that share events with others and have to be joined.
    pub(crate) fn shared_rows(
        &self,
        pick: EventFilter,
        each: &mut dyn FnMut(Row) -> Result<(), catalogue::Error>,
    ) -> Result<(), Error> {
        self.from.as_ref().map_or(Ok(()), |from| from.each_row(true, pick, each))
    }

    pub(crate) fn into_unshared(self) -> Option<UnsharedRows> {
        self.from.map(UnsharedRows)
    }
}

/// Rows of cached transcripts that share no events with others.
pub(crate) struct UnsharedRows(CachedFiles);

impl UnsharedRows {
    pub(crate) fn each_row(
        &self,
        pick: EventFilter,
        mut each: impl FnMut(Row) -> Result<(), catalogue::Error>,
    ) -> Result<(), Error> {
        self.0.each_row(false, pick, &mut each)
    }
}

impl CachedFiles {
    fn load(
        reader: Reader,
        transcripts: &[Transcript],
        names: &Names,
    ) -> Result<CachedFiles, catalogue::Error> {
        let memory = KnownFiles::load(&reader)?;
        let ids: Vec<Option<u32>> = transcripts.iter().map(|t| memory.current_id(t)).collect();
        let places: FxHashMap<u32, u32> =
            ids.iter().enumerate().filter_map(|(at, id)| Some(((*id)?, at as u32))).collect();
        let facts = reader.file_states(|id| places.contains_key(&id))?;
        let numbers = reader.all_names()?.into_iter();
        let names = numbers.map(|(id, name)| (id as u32, names.intern(&name))).collect();
        Ok(CachedFiles { reader, ids, places, facts, names })
    }

    fn each_row(
        &self,
        shared: bool,
        pick: EventFilter,
        each: &mut dyn FnMut(Row) -> Result<(), catalogue::Error>,
    ) -> Result<(), Error> {
        let mut files: Vec<u32> =
            self.facts.iter().filter(|(_, facts)| facts.shared == shared).map(|(id, _)| *id).collect();
        files.sort_unstable();
        let localized = |row: Row| {
            let file = self.places[&row.file];
            let end_file = if row.end == Row::NO_END { 0 } else { file };
            let name = self.names.get(&row.name).copied().unwrap_or(u32::MAX);
            Row { file, end_file, name, ..row }
        };
        self.reader.for_each_row(&files, pick, |row| each(localized(row))).map_err(read_error)
    }
}
