//! From a question to rows in order: finds the transcripts, surveys them on several threads, joins copies and
//! puts what is left in the order the question wants. Memory does not grow with the history.

use crate::scope::Scope;
use crate::{Outcome, Service, read_error};
use api::{Ask, Code, Error};
use catalogue::{Joined, Order, Sorted, Sorter, by_key, join};
use record::row::WARM_UP;
use record::{Kind, Problem, ProblemKind, Row, RowKind, Session, Stamp, Status};
use sources::{Facts, Names, SOURCES, Survey, Transcript, Want};
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What was read, apart from the rows.
pub(crate) struct Library {
    pub(crate) transcripts: Vec<Transcript>,
    pub(crate) facts: Vec<Facts>,
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) scope: Scope,
    pub(crate) outcome: Outcome,
    /// Sessions in the order of their start, by file and place in it.
    pub(crate) ranks: Vec<Vec<u32>>,
}

impl Library {
    pub(crate) fn session(&self, row: &Row) -> &Session {
        &self.facts[row.file as usize].sessions[row.session as usize]
    }

    pub(crate) fn name(&self, row: &Row) -> &Arc<str> {
        static NONE: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| Arc::from(""));
        self.names.get(row.name as usize).unwrap_or(&NONE)
    }

    /// The call of a joined row, as the questions over many calls see it.
    pub(crate) fn used(&self, row: &Row) -> query::Used {
        query::Used {
            session: self.session(row).session_id.clone(),
            run: row.key,
            turn: row.turn,
            at: row.at,
            tool: self.name(row).clone(),
            status: row.status(),
        }
    }

    pub(crate) fn abandoned(&self, row: &Row) -> bool {
        row.session == 0 && self.facts[row.file as usize].abandoned.binary_search(&row.turn).is_ok()
    }
}

/// The orders questions ask for. Each ends in the place of the row, so that there are no ties.
pub(crate) fn by_time(a: &Row, b: &Row) -> Ordering {
    (a.at, a.id, a.file, a.place, a.sequence).cmp(&(b.at, b.id, b.file, b.place, b.sequence))
}

pub(crate) fn by_time_down(a: &Row, b: &Row) -> Ordering {
    by_time(b, a)
}

/// After joining, a row's key is the rank of its session.
pub(crate) fn by_session(a: &Row, b: &Row) -> Ordering {
    (a.key, a.turn, a.sequence, a.file, a.place).cmp(&(b.key, b.turn, b.sequence, b.file, b.place))
}

pub(crate) fn by_session_down(a: &Row, b: &Row) -> Ordering {
    by_session(b, a)
}

/// Reads everything the question is about. `keep` sees each event once, copies gone, and says whether its row
/// is to be sorted in.
pub(crate) fn gather(
    service: &Service,
    ask: &Ask,
    want: Want,
    order: Order,
    mut keep: impl FnMut(&Library, &Joined) -> bool,
) -> Result<(Library, Sorted), Error> {
    let (mut library, rows) = survey(service, ask, want)?;
    rank(&mut library);
    let mut sorter = Sorter::new(order);
    let mut counts: Vec<Vec<Count>> =
        library.facts.iter().map(|f| vec![Count::default(); f.sessions.len()]).collect();
    let birth = |file: u32| library.facts[file as usize].birth.unwrap_or(Stamp(i64::MAX));
    join(rows, birth, |mut joined| {
        let row = &mut joined.row;
        counts[row.file as usize][row.session as usize].add(row);
        row.key = u64::from(library.ranks[row.file as usize][row.session as usize]);
        let wanted = library.scope.holds_session(library.session(row)) && library.scope.holds_row(row);
        if wanted && keep(&library, &joined) { sorter.push(joined.row) } else { Ok(()) }
    })
    .map_err(read_error)?;
    settle(&mut library, &counts);
    unknown_session(&library)?;
    Ok((library, sorter.sorted().map_err(read_error)?))
}

/// What is counted per session once copies are gone.
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
}

fn settle(library: &mut Library, counts: &[Vec<Count>]) {
    let synthetic = |name: &str| name.starts_with('<');
    for (facts, counts) in library.facts.iter_mut().zip(counts) {
        for (session, count) in facts.sessions.iter_mut().zip(counts) {
            (session.turns, session.tool_calls, session.errors) = (count.turns, count.calls, count.errors);
            let names = count.models.iter().map(|n| library.names[*n as usize].clone());
            session.models.extend(names.filter(|n| !synthetic(n)));
            session.models.sort();
            session.models.dedup();
        }
    }
}

/// Whether nothing of a session is its own: every row is a copy, or there never was one.
pub(crate) fn is_empty(session: &Session) -> bool {
    session.turns == 0 && session.tool_calls == 0 && session.models.is_empty()
}

fn rank(library: &mut Library) {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for (file, facts) in library.facts.iter().enumerate() {
        all.extend((0..facts.sessions.len()).map(|s| (file as u32, s as u32)));
    }
    let session = |at: &(u32, u32)| &library.facts[at.0 as usize].sessions[at.1 as usize];
    all.sort_by(|a, b| {
        let (x, y) = (session(a), session(b));
        (x.started_at, &x.session_id, &x.agent_id, a).cmp(&(y.started_at, &y.session_id, &y.agent_id, b))
    });
    let mut ranks: Vec<Vec<u32>> = library.facts.iter().map(|f| vec![0; f.sessions.len()]).collect();
    for (rank, (file, session)) in all.into_iter().enumerate() {
        ranks[file as usize][session as usize] = rank as u32;
    }
    library.ranks = ranks;
}

fn unknown_session(library: &Library) -> Result<(), Error> {
    let Some(prefix) = &library.scope.session else { return Ok(()) };
    let mut sessions = library.facts.iter().flat_map(|f| &f.sessions);
    if sessions.any(|s| s.is_called(prefix)) {
        return Ok(());
    }
    Err(Error::new(Code::SessionNotFound, format!("no session has an id that begins with `{prefix}`"))
        .hint("`loci query sessions --all-projects --fields session_id,started_at,title` lists them"))
}

// ---- the survey

/// Surveys every transcript in scope; rows come back with copies side by side.
fn survey(service: &Service, ask: &Ask, want: Want) -> Result<(Library, Sorted), Error> {
    let scope = Scope::new(service, ask)?;
    let mut found = sources::find(&service.places, &ask.source);
    scope.narrow(&mut found.transcripts);
    let (transcripts, names) = (found.transcripts, Names::default());
    let threads = service.threads.min(transcripts.len()).max(1);
    let mut hands: Vec<Hand> = Sorter::shared(by_key, threads).into_iter().map(Hand::new).collect();
    let facts = on_threads(service, &transcripts, &mut hands, |index, hand| {
        survey_one(index as u32, &transcripts[index], &names, want, hand)
    });
    if let Some(error) = hands.iter_mut().find_map(|hand| hand.failed.take()) {
        return Err(read_error(error));
    }
    let sorters = hands.into_iter().map(|hand| hand.sorter).collect();
    let mut outcome =
        Outcome { files: transcripts.len() as u64, project: scope.project.clone(), ..Outcome::default() };
    outcome.problems = found.problems;
    outcome.problems.extend(facts.iter().flat_map(|f| f.problems.iter().cloned()));
    outcome.sessions = facts.iter().map(|f| f.sessions.len() as u64).sum();
    outcome.bad_lines = facts.iter().flat_map(|f| &f.coverage).map(|(_, coverage)| coverage.bad).sum();
    outcome.looked = looked(service, ask);
    let names = names.list();
    let library = Library { transcripts, facts, names, scope, outcome, ranks: Vec::new() };
    Ok((library, Sorter::merged(by_key, sorters).map_err(read_error)?))
}

pub(crate) fn looked(service: &Service, ask: &Ask) -> Vec<(&'static str, std::path::PathBuf, bool)> {
    let asked = |name: &str| ask.source.is_empty() || ask.source.iter().any(|s| s == name);
    let sources = SOURCES.iter().filter(|s| asked(s.name()));
    let roots =
        sources.flat_map(|s| sources::roots(*s, &service.places).into_iter().map(|root| (s.name(), root)));
    roots.map(|(name, root)| (name, root.clone(), root.exists())).collect()
}

/// What one thread gathers.
struct Hand {
    sorter: Sorter,
    failed: Option<catalogue::Error>,
}

impl Hand {
    fn new(sorter: Sorter) -> Hand {
        Hand { sorter, failed: None }
    }

    /// After a failure nothing more is sorted: each further row would try the full disk again.
    fn take(&mut self, rows: &mut Vec<Row>) {
        for row in rows.drain(..) {
            if self.failed.is_some() {
                break;
            }
            self.failed = self.sorter.push(row).err();
        }
    }
}

fn survey_one(file: u32, transcript: &Transcript, names: &Names, want: Want, hand: &mut Hand) -> Facts {
    let mut emit = |rows: &mut Vec<Row>| hand.take(rows);
    let mut survey = Survey::new(file, &transcript.path, names, want, &mut emit);
    if let Err(error) = SOURCES[transcript.source].survey(transcript, &mut survey) {
        survey.problem(ProblemKind::Unreadable, 0, &error.to_string());
    }
    survey.finish()
}

/// Runs `work` for every transcript, a thread to each hand, the largest first so that no thread is left alone with
/// one at the end.
fn on_threads(
    service: &Service,
    transcripts: &[Transcript],
    hands: &mut [Hand],
    work: impl Fn(usize, &mut Hand) -> Facts + Sync,
) -> Vec<Facts> {
    let mut order: Vec<usize> = (0..transcripts.len()).collect();
    order.sort_by_key(|i| Reverse(transcripts[*i].size));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(order.len())));
    service.progress.of.store(order.len() as u64, Relaxed);
    let run = |hand: &mut Hand| {
        while let Some(index) = order.get(next.fetch_add(1, Relaxed)) {
            let facts = work(*index, hand);
            service.progress.files.fetch_add(1, Relaxed);
            if let Ok(mut done) = done.lock() {
                done.push((*index, facts));
            }
        }
    };
    std::thread::scope(|scope| {
        let run = &run;
        let Some((own, others)) = hands.split_first_mut() else { return };
        for hand in others {
            scope.spawn(move || run(hand));
        }
        run(own);
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, facts)| facts).collect()
}

/// The client's warm-up calls were paid for, but nobody said anything in them.
pub(crate) fn is_warm_up(row: &Row) -> bool {
    row.is(WARM_UP)
}

pub(crate) fn problem(transcript: &Transcript, error: &sources::Error) -> Problem {
    let kind = match error {
        sources::Error::Moved { .. } => ProblemKind::Moved,
        _ => ProblemKind::Unreadable,
    };
    Problem { kind, file: transcript.path.clone(), offset: 0, note: error.to_string() }
}
