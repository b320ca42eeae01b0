//! Collects the rows of a request: finds the transcripts, surveys them on several threads, joins copies and sorts the
//! remaining rows. Memory use does not grow with the history.
//!
//! Does not read the text of records.

use crate::catalogue_cache::{self, CatalogueCache, UnsharedRows};

pub use crate::catalogue_cache::FilesMeant;
use crate::error::read_error;
use crate::outcome::Outcome;
use crate::scope::Scope;
use crate::tombstones::Tombstones;
use crate::{History, resolve_session, transcripts};
use api::operation::shell_quote;
use api::{Code, Error, ViewRequest};
use catalogue::{CopyCounts, EventFilter, JoinedEvent, Order, Sorted, Sorter, compare_by_key, join_copies};
use record::row::WARM_UP;
use record::{Kind, Problem, ProblemKind, Row, RowKind, Session, Stamp, Status};
use rustc_hash::FxHashMap;
use sources::{Names, SOURCES, Survey, SurveyOptions, SurveyOutcome, Transcript};
use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The result of a scan, without the rows.
pub struct ScanResult {
    pub transcripts: Vec<Transcript>,
    pub facts: Vec<SurveyOutcome>,
    pub names: Vec<Arc<str>>,
    pub scope: Scope,
    pub outcome: Outcome,
    /// The rank of each session in order of start time, in the order of the files and of the sessions in them.
    pub ranks: Vec<u32>,
    /// Where the sessions of each file begin in `ranks`.
    first_ranks: Vec<u32>,
    /// Transcripts whose session counts come from the catalogue.
    settled: Vec<bool>,
}

impl ScanResult {
    pub fn session(&self, row: &Row) -> &Session {
        &self.facts[row.file as usize].sessions[row.session as usize]
    }

    /// A file as a call names it: some agents record paths as typed, relative to the session's working directory.
    pub fn absolute_path(&self, row: &Row, file: &str) -> String {
        let cwd = &self.session(row).cwd;
        if cwd.is_empty() || file.starts_with(['/', '~']) {
            return file.to_string();
        }
        format!("{}/{}", cwd.trim_end_matches('/'), file.trim_start_matches("./"))
    }

    pub fn name(&self, row: &Row) -> &Arc<str> {
        static NONE: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| Arc::from(""));
        self.names.get(row.name as usize).unwrap_or(&NONE)
    }

    /// None: there is no such session.
    fn rank_of(&self, row: &Row) -> Option<u32> {
        let first = *self.first_ranks.get(row.file as usize)?;
        let has_session = (row.session as usize) < self.facts.get(row.file as usize)?.sessions.len();
        has_session.then(|| self.ranks[(first + row.session) as usize])
    }

    pub fn is_abandoned(&self, row: &Row) -> bool {
        row.session == 0 && self.facts[row.file as usize].abandoned.binary_search(&row.turn).is_ok()
    }
}

/// The orders of results. Each ends in the row's position, so that there are no ties.
pub fn by_time(a: &Row, b: &Row) -> Ordering {
    (a.at, a.id, a.file, a.start, a.sequence).cmp(&(b.at, b.id, b.file, b.start, b.sequence))
}

pub fn by_time_down(a: &Row, b: &Row) -> Ordering {
    by_time(b, a)
}

/// After joining, a row's key is the rank of its session.
pub fn by_session(a: &Row, b: &Row) -> Ordering {
    (a.key, a.turn, a.sequence, a.file, a.start).cmp(&(b.key, b.turn, b.sequence, b.file, b.start))
}

pub fn by_session_down(a: &Row, b: &Row) -> Ordering {
    by_session(b, a)
}

/// The newest session and turn first, but the rows of a turn as they happened.
pub fn by_turn_down(a: &Row, b: &Row) -> Ordering {
    (b.key, b.turn, a.sequence, a.file, a.start).cmp(&(a.key, a.turn, b.sequence, b.file, b.start))
}

/// What a request reads, and which of the catalogue's unshared events it needs.
#[derive(Clone, Copy)]
pub struct Need {
    pub want: SurveyOptions,
    pub pick: EventFilter,
}

impl From<SurveyOptions> for Need {
    fn from(want: SurveyOptions) -> Need {
        let pick = match (want.messages, want.calls) {
            (true, false) => EventFilter::Messages,
            (false, true) => EventFilter::Calls,
            _ => EventFilter::All,
        };
        Need { want, pick }
    }
}

/// Reads all rows of a request. `keep` is called once per event, after copies are joined, and returns whether to include
/// its row. Fails if the session prefix is ambiguous.
pub fn scan_rows(
    history: &History<'_>,
    request: &ViewRequest,
    need: impl Into<Need>,
    order: Order,
    keep: impl FnMut(&ScanResult, &JoinedEvent) -> bool,
) -> Result<(ScanResult, Sorted), Error> {
    scan_part(history, request, need.into(), order, &Part::All, keep)
}

/// The same for a part of the history, at the cost of this part where the catalogue knows it.
pub fn scan_part(
    history: &History<'_>,
    request: &ViewRequest,
    need: Need,
    order: Order,
    part: &Part<'_>,
    keep: impl FnMut(&ScanResult, &JoinedEvent) -> bool,
) -> Result<(ScanResult, Sorted), Error> {
    let (library, rows) = scan_matching_part(history, request, need, order, part, keep)?;
    check_unique_session(&library)?;
    Ok((library, rows))
}

/// The same, but a session prefix may match several sessions.
pub fn scan_matching_rows(
    history: &History<'_>,
    request: &ViewRequest,
    need: impl Into<Need>,
    order: Order,
    keep: impl FnMut(&ScanResult, &JoinedEvent) -> bool,
) -> Result<(ScanResult, Sorted), Error> {
    scan_matching_part(history, request, need.into(), order, &Part::All, keep)
}

/// Which part of the history is wanted. More may be read; `keep` decides.
pub enum Part<'p> {
    All,
    /// Sessions with these IDs.
    Sessions(&'p BTreeSet<String>),
    /// Calls on these files.
    Files(FilesMeant<'p>),
}

fn scan_matching_part(
    history: &History<'_>,
    request: &ViewRequest,
    need: Need,
    order: Order,
    part: &Part<'_>,
    mut keep: impl FnMut(&ScanResult, &JoinedEvent) -> bool,
) -> Result<(ScanResult, Sorted), Error> {
    let Surveyed { mut library, rows, known } = survey_transcripts(history, request, need, part)?;
    rank_sessions(&mut library);
    let mut sorter = Sorter::new(order);
    // Sessions whose counts are known need none.
    let mut counts: FxHashMap<(u32, u32), Count> = FxHashMap::default();
    let birth = |file: u32| library.facts[file as usize].birth.unwrap_or(Stamp(i64::MAX));
    let mut each = |mut joined: JoinedEvent| {
        let row = &mut joined.row;
        let rank = library.rank_of(row).ok_or_else(dangling_row)?;
        if !library.settled[row.file as usize] {
            counts.entry((row.file, row.session)).or_default().add(row);
        }
        row.key = u64::from(rank);
        let wanted = library.scope.contains_session(library.session(row)) && library.scope.contains_row(row);
        if wanted && keep(&library, &joined) { sorter.push(joined.row) } else { Ok(()) }
    };
    join_copies(rows, birth, &mut each).map_err(read_error)?;
    if let Some(known) = known {
        let mut each = |row: Row| if row.row == RowKind::Result { Ok(()) } else { each(unshared_event(row)) };
        match part {
            Part::Files(meant) => known.each_call_on(meant, &mut each)?,
            // Most transcripts of a group share nothing with the sessions: a project with 2,000 has 180,000 rows.
            Part::Sessions(meant) => {
                let has_one = |facts: &SurveyOutcome| {
                    facts.sessions.iter().any(|session| meant.contains(&*session.session_id))
                };
                known.each_row(need.pick, &|place| has_one(&library.facts[place]), &mut each)?;
            }
            Part::All => known.each_row(need.pick, &|_| true, &mut each)?,
        }
    }
    fill_counts(&mut library, &counts);
    check_session_exists(history, &library)?;
    Ok((library, sorter.finish().map_err(read_error)?))
}

/// A flipped byte in the catalogue can make a row refer to a session that does not exist.
fn dangling_row() -> std::io::Error {
    let message = "the catalogue is damaged; `loci index --rebuild` rebuilds it";
    std::io::Error::new(std::io::ErrorKind::InvalidData, message)
}

/// An event that only one file contains.
fn unshared_event(row: Row) -> JoinedEvent {
    let streamed = if row.row == RowKind::Message { row.lines.saturating_sub(1) } else { 0 };
    JoinedEvent { row, copies: CopyCounts { streamed, replayed: 0 } }
}

/// Counts per session, without copies.
#[derive(Clone, Default)]
struct Count {
    turns: u32,
    calls: u32,
    errors: u32,
    models: BTreeSet<u32>,
}

impl Count {
    fn add(&mut self, row: &Row) {
        if is_warm_up(row) {
            return;
        }
        if row.row == RowKind::Call {
            self.calls += 1;
            self.errors += u32::from(row.status() == Status::Error);
            return;
        }
        self.turns += u32::from(matches!(row.kind(), Kind::Prompt | Kind::Task));
        if row.kind() == Kind::Reply && row.name != u32::MAX {
            self.models.insert(row.name);
        }
    }

    fn apply_to(&self, session: &mut Session, names: &[Arc<str>]) {
        (session.turns, session.tool_calls, session.errors) = (self.turns, self.calls, self.errors);
        let synthetic = |name: &Arc<str>| name.starts_with('<');
        let named = self.models.iter().filter_map(|n| names.get(*n as usize).cloned());
        session.models.extend(named.filter(|name| !synthetic(name)));
        session.models.sort();
        session.models.dedup();
    }
}

fn fill_counts(library: &mut ScanResult, counts: &FxHashMap<(u32, u32), Count>) {
    let none = Count::default();
    let files = (0..).zip(&mut library.facts).zip(&library.settled);
    for ((file, facts), _) in files.filter(|(_, settled)| !**settled) {
        for (ordinal, session) in (0..).zip(&mut facts.sessions) {
            counts.get(&(file, ordinal)).unwrap_or(&none).apply_to(session, &library.names);
        }
    }
}

/// Fills in the counts of one transcript's sessions, as if none of its rows were copies.
pub(crate) fn count_alone(sessions: &mut [Session], rows: &[Row], names: &[Arc<str>]) {
    let mut counts = vec![Count::default(); sessions.len()];
    for row in rows.iter().filter(|row| row.row != RowKind::Result) {
        counts[row.session as usize].add(row);
    }
    sessions.iter_mut().zip(&counts).for_each(|(session, count)| count.apply_to(session, names));
}

/// Whether a session has no rows of its own: all are copies, or there are none.
pub fn is_empty(session: &Session) -> bool {
    session.turns == 0 && session.tool_calls == 0 && session.models.is_empty()
}

fn rank_sessions(library: &mut ScanResult) {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for (file, facts) in library.facts.iter().enumerate() {
        all.extend((0..facts.sessions.len()).map(|s| (file as u32, s as u32)));
    }
    let session = |at: &(u32, u32)| &library.facts[at.0 as usize].sessions[at.1 as usize];
    all.sort_by(|a, b| {
        let (x, y) = (session(a), session(b));
        (x.started_at, &x.session_id, &x.agent_id, a).cmp(&(y.started_at, &y.session_id, &y.agent_id, b))
    });
    let mut next = 0;
    let first_of = |facts: &SurveyOutcome| {
        next += facts.sessions.len() as u32;
        next - facts.sessions.len() as u32
    };
    library.first_ranks = library.facts.iter().map(first_of).collect();
    let mut ranks = vec![0; all.len()];
    for (rank, (file, session)) in (0..).zip(all) {
        ranks[(library.first_ranks[file as usize] + session) as usize] = rank;
    }
    library.ranks = ranks;
}

fn check_session_exists(history: &History<'_>, library: &ScanResult) -> Result<(), Error> {
    let Some(prefix) = &library.scope.session else { return Ok(()) };
    let sessions = library.facts.iter().flat_map(|f| &f.sessions);
    let matching: Vec<&Session> = sessions.filter(|s| s.matches_prefix(prefix)).collect();
    let tombstones = Tombstones::read(history.home().as_ref())?;
    if matching.iter().any(|session| !tombstones.contains(session.source, &session.session_id)) {
        return Ok(());
    }
    let forgotten = matching.first().map(|session| &*session.session_id);
    if let Some(id) = forgotten.or_else(|| tombstones.find_prefix(prefix)) {
        return Err(Error::new(Code::SessionNotFound, format!("session `{id}` was forgotten"))
            .hint("its agent may still have the transcript; Loci does not read it again"));
    }
    let error = Error::new(Code::SessionNotFound, format!("no session matches the ID prefix `{prefix}`"));
    let is_word = prefix.chars().any(|c| !c.is_ascii_hexdigit() && c != '-');
    let error = if is_word { error.hint(format!("loci search {}", shell_quote(prefix))) } else { error };
    Err(error.hint("loci sessions"))
}

/// Rejects an ambiguous prefix. In Codex and `OpenCode`, sessions of the same minute share an ID prefix; presenting them as
/// one session would mislead.
fn check_unique_session(library: &ScanResult) -> Result<(), Error> {
    let Some(prefix) = &library.scope.session else { return Ok(()) };
    let sessions = library.facts.iter().flat_map(|facts| &facts.sessions);
    let called = resolve_session::match_prefix(
        sessions.filter(|session| library.scope.contains_session(session)),
        prefix,
    );
    if called.len() > 1 {
        Err(resolve_session::ambiguous_prefix(prefix, &called, "--session"))
    } else {
        Ok(())
    }
}

// ---- the survey

/// Surveyed rows, and the catalogue for those that need no survey.
struct Surveyed {
    library: ScanResult,
    /// Sorted by key, so that copies are adjacent.
    rows: Sorted,
    known: Option<UnsharedRows>,
}

/// Surveys every transcript in scope that the catalogue does not have in its current state.
fn survey_transcripts(
    history: &History<'_>,
    request: &ViewRequest,
    need: Need,
    part: &Part<'_>,
) -> Result<Surveyed, Error> {
    let scope = Scope::new(history, request)?;
    let reader = if need.want.fields { None } else { catalogue_cache::open_catalogue(history) };
    let mut found = transcripts::find_transcripts(history, reader.as_ref(), &request.source);
    scope.retain_matching(&mut found.transcripts);
    if let Part::Sessions(sessions) = part {
        retain_sessions(&mut found.transcripts, sessions);
    }
    let (transcripts, names) = (found.transcripts, Names::default());
    let mut cache = CatalogueCache::new(reader, &transcripts, &names);
    let threads = history.threads.min(transcripts.len()).max(1);
    let mut workers: Vec<Worker> = Sorter::one_per_thread(compare_by_key, threads)
        .into_iter()
        .map(|sorter| Worker::new(sorter, cache.is_open()))
        .collect();
    let unread: Vec<usize> = (0..transcripts.len()).filter(|i| !cache.is_cached(*i)).collect();
    let surveyed = survey_on_threads(history, &transcripts, unread, &mut workers, |index, worker| {
        survey_one(history, index as u32, &transcripts[index], &names, need.want, worker)
    });
    if let Some(error) = workers.iter_mut().find_map(|worker| worker.failed.take()) {
        return Err(read_error(error));
    }
    cache.mark_shared(workers.iter().flat_map(|worker| worker.keys.iter().copied()))?;
    let (mut facts, bad) = cache.take_facts(transcripts.len());
    let settled = cache.counted_files(transcripts.len());
    for (index, read) in surveyed {
        facts[index] = read;
    }
    if let Some(worker) = workers.first_mut() {
        cache.shared_rows(Need::from(need.want).pick, &mut |row| worker.sorter.push(row))?;
    }
    let sorters = workers.into_iter().map(|worker| worker.sorter).collect();
    let mut outcome = Outcome {
        files: transcripts.len() as u64,
        project: scope.folders.first().cloned(),
        ..Outcome::default()
    };
    outcome.problems = found.problems;
    outcome.problems.extend(facts.iter().flat_map(|f| f.problems.iter().cloned()));
    outcome.sessions = facts.iter().map(|f| f.sessions.len() as u64).sum();
    outcome.bad_lines = bad + facts.iter().flat_map(|f| &f.coverage).map(|(_, c)| c.bad).sum::<u64>();
    outcome.looked = searched_roots(history, request);
    let ending = outcome.summarize();
    history.progress.lost.store(ending.lost as u64, Relaxed);
    history.progress.lost_files.store(ending.lost_files as u64, Relaxed);
    let names = names.to_vec();
    let (ranks, first_ranks) = (Vec::new(), Vec::new());
    let library = ScanResult { transcripts, facts, names, scope, outcome, ranks, first_ranks, settled };
    let rows = Sorter::merge(compare_by_key, sorters).map_err(read_error)?;
    Ok(Surveyed { library, rows, known: cache.into_unshared() })
}

/// Keeps the transcripts of some sessions and of their subagents. All, if a session has none of its name: it may be inside any.
fn retain_sessions(transcripts: &mut Vec<Transcript>, sessions: &BTreeSet<String>) {
    let named: Vec<&Transcript> = transcripts.iter().filter(|it| sessions.contains(&*it.hint)).collect();
    let found: BTreeSet<&str> = named.iter().map(|it| &*it.hint).collect();
    // None at all are wanted if nothing was edited, and the session that a request names must still be known.
    if !sessions.is_empty() && found.len() == sessions.len() {
        let groups: BTreeSet<Arc<std::path::Path>> = named.iter().map(|it| it.group.clone()).collect();
        transcripts.retain(|it| groups.contains(&it.group));
    }
}

pub fn searched_roots(
    history: &History<'_>,
    request: &ViewRequest,
) -> Vec<(&'static str, std::path::PathBuf, bool)> {
    let selected = |name: &str| request.source.is_empty() || request.source.iter().any(|s| s == name);
    let sources = SOURCES.iter().filter(|s| selected(s.name()));
    let roots = sources
        .flat_map(|s| sources::source_roots(*s, history.places).into_iter().map(|root| (s.name(), root)));
    roots.map(|(name, root)| (name, root.clone(), root.exists())).collect()
}

/// Explains an empty result if there is no history at all: lists the paths that were searched.
pub fn no_history_note(history: &History<'_>) -> String {
    let looked = searched_roots(history, &ViewRequest::default());
    if looked.is_empty() {
        return "nothing to search: HOME is not set".to_string();
    }
    let mut agents: Vec<&str> = looked.iter().map(|(name, ..)| *name).collect();
    agents.dedup();
    format!("no agent history found for {}; `loci sources` lists the places", agents.join(", "))
}

/// The state of one survey thread.
struct Worker {
    sorter: Sorter,
    failed: Option<catalogue::Error>,
    /// Keys of the surveyed events, to find copies in the catalogue.
    keys: Vec<u64>,
    keeps_keys: bool,
}

impl Worker {
    fn new(sorter: Sorter, keeps_keys: bool) -> Worker {
        Worker { sorter, failed: None, keys: Vec::new(), keeps_keys }
    }

    /// Stops after the first failure: each further row would retry the full disk.
    fn push_rows(&mut self, rows: &mut Vec<Row>) {
        for row in rows.drain(..) {
            if self.failed.is_some() {
                break;
            }
            if self.keeps_keys {
                self.keys.push(row.key);
            }
            self.failed = self.sorter.push(row).err();
        }
    }
}

fn survey_one(
    history: &History<'_>,
    file: u32,
    transcript: &Transcript,
    names: &Names,
    want: SurveyOptions,
    worker: &mut Worker,
) -> SurveyOutcome {
    read_through(history, file, transcript, names, want, &mut |rows| worker.push_rows(rows)).1
}

/// Surveys one transcript. A read error is recorded as a problem in the outcome, and returned beside it.
pub(crate) fn read_through(
    history: &History<'_>,
    file: u32,
    transcript: &Transcript,
    names: &Names,
    want: SurveyOptions,
    emit: &mut dyn FnMut(&mut Vec<Row>),
) -> (Result<(), sources::Error>, SurveyOutcome) {
    let read = |survey: &mut Survey<'_>| {
        sources::survey_transcript(transcript, survey).inspect_err(|error| {
            survey.report_problem(ProblemKind::Unreadable, 0, &error.to_string());
        })
    };
    survey_masked(history, file, transcript, names, want, emit, read)
}

/// Surveys only the part after an offset. None: this source cannot start there.
pub(crate) fn read_from_offset(
    history: &History<'_>,
    from: u64,
    transcript: &Transcript,
    names: &Names,
    want: SurveyOptions,
    emit: &mut dyn FnMut(&mut Vec<Row>),
) -> Option<SurveyOutcome> {
    let read = |survey: &mut Survey<'_>| SOURCES[transcript.source].survey_from(transcript, from, survey);
    let (read, facts) = survey_masked(history, 0, transcript, names, want, emit, read);
    matches!(read, Ok(true)).then_some(facts)
}

/// Runs a survey with masked titles. They are masked before truncation, since the masker does not recognise half a secret,
/// and again afterwards, since some titles are taken from the transcript unchanged.
fn survey_masked<T>(
    history: &History<'_>,
    file: u32,
    transcript: &Transcript,
    names: &Names,
    want: SurveyOptions,
    emit: &mut dyn FnMut(&mut Vec<Row>),
    read: impl FnOnce(&mut Survey<'_>) -> T,
) -> (T, SurveyOutcome) {
    let mask = |text: &str| match history.masker()?.mask_text(text) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    };
    let mut survey = Survey::new(file, &transcript.path, names, want, emit);
    survey.mask_text = Some(&mask);
    let read = read(&mut survey);
    let mut facts = survey.finish();
    facts.sessions.iter_mut().for_each(|session| history.mask_session(session));
    for (version, coverage) in &mut facts.coverage {
        history.mask_shared(version);
        // Names from the transcript, too.
        for named in [&mut coverage.unknown_types, &mut coverage.unknown_fields] {
            let masked =
                std::mem::take(named).into_iter().map(|(name, count)| (history.mask_text(&name), count));
            *named = masked.collect();
        }
    }
    (read, facts)
}

/// Runs `work` for each index in `order`, one thread per worker. The largest transcripts come first, so that no thread is
/// still busy with one when the others have finished.
fn survey_on_threads(
    history: &History<'_>,
    transcripts: &[Transcript],
    mut order: Vec<usize>,
    workers: &mut [Worker],
    work: impl Fn(usize, &mut Worker) -> SurveyOutcome + Sync,
) -> Vec<(usize, SurveyOutcome)> {
    order.sort_by_key(|i| Reverse(transcripts[*i].size));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(order.len())));
    history.progress.of.store(order.len() as u64, Relaxed);
    let run = |worker: &mut Worker| {
        while let Some(index) = order.get(next.fetch_add(1, Relaxed)) {
            // The request was cancelled.
            if history.progress.is_cancelled() {
                return;
            }
            let facts = work(*index, worker);
            history.progress.files.fetch_add(1, Relaxed);
            if let Ok(mut done) = done.lock() {
                done.push((*index, facts));
            }
        }
    };
    std::thread::scope(|scope| {
        let run = &run;
        let Some((own, others)) = workers.split_first_mut() else { return };
        for worker in others {
            scope.spawn(move || run(worker));
        }
        run(own);
    });
    done.into_inner().unwrap_or_default()
}

/// Warm-up calls of the client cost tokens but contain no conversation.
pub fn is_warm_up(row: &Row) -> bool {
    row.has_flag(WARM_UP)
}

pub fn read_problem(transcript: &Transcript, error: &sources::Error) -> Problem {
    let kind = match error {
        sources::Error::Moved { .. } => ProblemKind::Moved,
        _ => ProblemKind::Unreadable,
    };
    Problem { kind, file: transcript.path.clone(), offset: 0, note: error.to_string() }
}
