//! Brings everything derived up to date: what is new in the transcripts is masked, kept in the archive, entered in the
//! catalogue and made searchable. It can be stopped at any moment and goes on from there.
//!
//! A batch becomes known to the catalogue in one piece; the text index says up to which change it has come, and what
//! it lacks is told to it again. Does not answer questions.

mod moved;
mod open;
mod stages;
mod text;

use crate::gather::{count_alone, read_through};
use crate::home::{Home, Lock};
use crate::look::{self, Memory, State};
use crate::tombstones::Tombstones;
use crate::{Service, kept, model, remembered, shelf};
use api::{Code, Error};
use catalogue::{Applied, Fresh, Mark, Stored, Survey, Touch, Writer};
pub(crate) use open::{index_error, store_error};
use record::{Problem, ProblemKind, Row};
use rustc_hash::FxHashSet;
use sources::archive::Store;
use sources::{Facts, Names, SOURCES, Transcript, Want};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use text::{Told, title_event};
pub(crate) use text::{is_name, is_told, name_event, titled};

/// What catching up came to.
#[derive(Debug, Default)]
pub(crate) struct Caught {
    pub(crate) files: u64,
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) gone: u64,
    pub(crate) told: u64,
    pub(crate) bytes: u64,
    pub(crate) problems: Vec<Problem>,
    /// Something was damaged and has been made again.
    pub(crate) notes: Vec<String>,
}

const BOTH: Want = Want { calls: true, messages: true, fields: false };
/// What is entered in the catalogue in one piece: a kill costs no more than reading this much again.
const BATCH: u64 = 16 << 20;
/// The text index is made durable when this much time has passed. Each time costs the disk a moment and closes segments
/// that are merged again later; a kill costs no more than reading as much again.
const DURABLE: Duration = Duration::from_secs(30);
/// Memory for words that are not on the disk yet. With 64 MB, indexing took 324 MB in all in the first 4 GB of a long history.
const HEAP: usize = 48 << 20;

/// When everything that there was had been read.
pub(crate) const CAUGHT_UP: &str = "caught_up";

/// How often others may empty what is derived between bringing it up to date and opening it.
pub(crate) const TRIES: usize = 3;

/// Reads everything that is new. Holds the lock that makes it the only writer.
pub(crate) fn catch_up(service: &Service, rebuild: bool) -> Result<Caught, Error> {
    let home = service.home().ok_or_else(homeless)?;
    let lock = Lock::take(&home)?;
    catch_up_locked(service, &home, &lock, rebuild)
}

/// The same for somebody who waits for an answer: if another writes already, what it has written so far will do once
/// it is of one piece. While a first index is made, or one is made again, it holds a part of the history at best.
pub(crate) fn catch_up_soon(service: &Service) -> Result<(), Error> {
    let home = service.home().ok_or_else(homeless)?;
    match Lock::take_unless(&home, || is_of_one_piece(service, &home))? {
        Some(lock) => catch_up_locked(service, &home, &lock, false).map(|_| ()),
        None => Ok(()),
    }
}

/// Whether the whole history was in it once, and the index has what the catalogue has.
fn is_of_one_piece(service: &Service, home: &Home) -> bool {
    let Some(reader) = shelf::open(service) else { return false };
    let Ok(Some(index)) = search::Index::open(&home.index()) else { return false };
    was_whole(&reader) && reader.sequence().is_ok_and(|sequence| sequence == index.sequence())
}

/// Whether the whole history was in the catalogue since it was empty last.
pub(crate) fn was_whole(reader: &catalogue::Reader) -> bool {
    reader.meta(CAUGHT_UP).is_ok_and(|at| at.is_some())
}

/// Whether nobody was stopped while forgetting something: what is still there would be shown.
pub(crate) fn is_forgotten(service: &Service, reader: &catalogue::Reader) -> bool {
    let tombstones = Tombstones::read(service.home().as_ref());
    tombstones.unfinished(reader).is_ok_and(|unfinished| unfinished.is_empty())
}

/// Takes sessions out of archive, catalogue and index, so that none of their words is left on the disk, and says how
/// many copies held them. Whatever else their transcripts hold is read again; tombstones must stand already.
pub(crate) fn forget(
    service: &Service,
    home: &Home,
    _lock: &Lock,
    doomed: &dyn Fn(&str, &str) -> bool,
) -> Result<u64, Error> {
    let mut caught = Caught::default();
    let mut ingest = Ingest::open(service, home, false, &mut caught)?;
    remembered::forget(home, doomed)?;
    model::forget(home, doomed)?;
    // The catalogue last: as long as it has something of them, whoever comes next begins here again.
    let copies = ingest.forget_copies(doomed)?;
    let files = ingest.catalogue.reader().files_holding(doomed).map_err(store_error)?;
    ingest.catalogue.begin().map_err(store_error)?;
    ingest.catalogue.soil().map_err(store_error)?;
    let mut heirs = BTreeSet::new();
    for file in &files {
        ingest.index.drop_file(*file);
        heirs.append(&mut ingest.catalogue.reset(*file).map_err(store_error)?);
    }
    heirs.retain(|heir| !files.contains(heir));
    ingest.tell_again(heirs, &mut caught)?;
    ingest.catalogue.commit().map_err(store_error)?;
    ingest.run(&mut caught)?;
    Ok(copies)
}

pub(crate) fn homeless() -> Error {
    Error::new(Code::ReadError, "there is nowhere to keep an index: HOME is not set")
        .hint("set HOME, or XDG_DATA_HOME and XDG_CACHE_HOME")
}

pub(crate) fn catch_up_locked(
    service: &Service,
    home: &Home,
    lock: &Lock,
    rebuild: bool,
) -> Result<Caught, Error> {
    let mut caught = Caught::default();
    let forgotten = finish_forgetting(service, home, lock);
    let Err(error) = forgotten.and_then(|()| brought_up(service, home, rebuild, &mut caught)) else {
        return Ok(caught);
    };
    // Damage may show only where it is met, in the middle of the work.
    let Some(damage) = open::damage(home) else { return Err(error) };
    let mut caught = Caught { notes: vec![open::damaged(&damage)], ..Caught::default() };
    open::set_aside(home, &home.catalogue())?;
    brought_up(service, home, false, &mut caught)?;
    Ok(caught)
}

fn finish_forgetting(service: &Service, home: &Home, lock: &Lock) -> Result<(), Error> {
    let tombstones = Tombstones::read(Some(home));
    let Some(reader) = shelf::open(service).filter(|_| !tombstones.is_empty()) else { return Ok(()) };
    let unfinished = tombstones.unfinished(&reader).map_err(store_error)?;
    drop(reader);
    if unfinished.is_empty() {
        return Ok(());
    }
    forget(service, home, lock, &|source, id| unfinished.holds(source, id)).map(|_| ())
}

fn brought_up(service: &Service, home: &Home, rebuild: bool, caught: &mut Caught) -> Result<(), Error> {
    let mut ingest = Ingest::open(service, home, rebuild, caught)?;
    ingest.run(caught)
}

pub(crate) struct Ingest<'s> {
    service: &'s Service,
    catalogue: Writer,
    index: search::Writer,
    store: Store,
    tombstones: Tombstones,
    names: Names,
    /// Everything that is kept could be looked at, so that the catalogue will know all of it.
    knows_archive: bool,
}

/// One transcript's turn.
enum Job {
    Read {
        transcript: Transcript,
        original: PathBuf,
        state: State,
    },
    /// The catalogue has it, the text index may not.
    Retell {
        stored: Stored,
        transcript: Transcript,
    },
}

/// What a thread that reads tells the one that writes.
enum Heard {
    Surveyed(text::Shared, SyncSender<Applied>),
    Again(u32, SyncSender<Known>),
    Told(Vec<Told>),
    Touched(u32, Vec<(u32, String)>),
    Trouble(Problem),
    Failed(Error),
    Done,
}

/// What the index is to have of a transcript: events, all rows, and the conversation of each session.
type Known = (Vec<Fresh>, Vec<Row>, Vec<u32>);

struct Surveyed {
    transcript: Transcript,
    original: PathBuf,
    state: State,
    mark: Mark,
    facts: Facts,
    rows: Vec<Row>,
}

impl<'s> Ingest<'s> {
    fn open(
        service: &'s Service,
        home: &Home,
        rebuild: bool,
        caught: &mut Caught,
    ) -> Result<Ingest<'s>, Error> {
        let mut catalogue = open::catalogue(home, caught)?;
        let rules = i64::from(mask::RULES_VERSION);
        let is_masked = catalogue.reader().meta("rules").map_err(store_error)? == Some(rules);
        if !is_masked && !rebuild && catalogue.sequence() > 0 {
            caught.notes.push("the rules for secrets are new: everything is read again".to_string());
        }
        if rebuild || (!is_masked && catalogue.sequence() > 0) {
            catalogue = open::emptied(home, catalogue, caught)?;
        }
        if rebuild || !is_masked {
            catalogue.set("rules", rules).map_err(store_error)?;
        }
        let index = open::index(service, home, catalogue.sequence(), caught)?;
        let store = Store::new(home.archive());
        store.sweep();
        let tombstones = Tombstones::read(Some(home));
        let names = Names::default();
        Ok(Ingest { service, catalogue, index, store, tombstones, names, knows_archive: false })
    }

    pub(crate) fn run(&mut self, caught: &mut Caught) -> Result<(), Error> {
        let begun = self.service.clock.now();
        let (jobs, moved) = self.jobs(caught)?;
        let progress = &self.service.progress;
        progress.of.store(jobs.len() as u64, Relaxed);
        let mut since = Instant::now();
        for batch in batches(jobs) {
            self.catalogue.begin().map_err(store_error)?;
            if let Err(error) = self.batch(&batch, caught) {
                self.catalogue.roll_back();
                return Err(error);
            }
            let sequence = self.catalogue.commit().map_err(store_error)?;
            if since.elapsed() > DURABLE {
                self.index.commit(sequence).map_err(|e| index_error(&e))?;
                since = Instant::now();
            }
        }
        self.supersede(&moved, caught)?;
        self.catalogue.set(CAUGHT_UP, begun.0).map_err(store_error)?;
        self.close()
    }

    /// A copy whose transcript stands at another place now, all of it, is needed no more.
    fn supersede(&mut self, moved: &[moved::Moved], caught: &mut Caught) -> Result<(), Error> {
        let told = moved.iter().filter(|it| it.is_told(&self.store));
        let needless: Vec<&Transcript> = told.map(|it| &it.copy).collect();
        let gone: Vec<catalogue::Known> = {
            let memory = Memory::of(self.catalogue.reader()).map_err(store_error)?;
            needless.iter().filter_map(|copy| memory.known(copy)).collect()
        };
        for copy in needless {
            let removed = self.store.remove(&copy.path);
            removed.map_err(|error| Error::new(Code::ReadError, error.to_string()))?;
        }
        self.lose(&gone, caught)
    }

    /// Makes everything last: first what is kept, then what was derived from it.
    fn close(&mut self) -> Result<(), Error> {
        self.settle()?;
        if let Some(home) = self.service.home().filter(|_| self.knows_archive) {
            self.catalogue.set(kept::REMEMBERED, kept::print(&home.archive())).map_err(store_error)?;
        }
        if self.index.sequence() != self.catalogue.sequence() {
            self.index.commit(self.catalogue.sequence()).map_err(|e| index_error(&e))?;
        }
        if self.catalogue.is_unclean().map_err(store_error)? {
            self.index.purge().map_err(|error| index_error(&error))?;
            return self.catalogue.vacuum().map_err(store_error);
        }
        self.catalogue.settle();
        Ok(())
    }

    /// Out of the archive: a copy that holds nothing else goes as a whole.
    fn forget_copies(&self, doomed: &dyn Fn(&str, &str) -> bool) -> Result<u64, Error> {
        let mut files = 0;
        for copy in self.store.list().kept {
            let is = |session: &record::Session| doomed(&copy.source, &session.session_id);
            if copy.sessions.iter().any(is) {
                let removed = self.store.forget(&copy.path, &is);
                removed.map_err(|error| Error::new(Code::ReadError, error.to_string()))?;
                files += 1;
            }
        }
        Ok(files)
    }

    fn settle(&mut self) -> Result<(), Error> {
        let sequence = self.catalogue.sequence();
        if self.settled()? == sequence {
            return Ok(());
        }
        self.store.settle().map_err(|error| Error::new(Code::ReadError, error.to_string()))?;
        self.catalogue.set("settled", sequence as i64).map_err(store_error)
    }

    /// Up to which change the archive was seen to be on the disk.
    fn settled(&self) -> Result<u64, Error> {
        Ok(self.catalogue.reader().meta("settled").map_err(store_error)?.unwrap_or(0) as u64)
    }

    /// Transcripts whose copies a power cut may have taken: those that were kept and not seen to be on the disk.
    fn unsettled(&self) -> Result<FxHashSet<u32>, Error> {
        let since = self.catalogue.since(self.settled()?).map_err(store_error)?;
        Ok(since.into_iter().map(|stored| stored.id).collect())
    }

    fn is_whole(&self, transcript: &Transcript) -> bool {
        look::is_kept(transcript) || matches!(self.store.kept(transcript), Ok(Some(_)))
    }

    /// What there is to do, the oldest first: of two that tell the same, the original is heard before its copy.
    fn jobs(&mut self, caught: &mut Caught) -> Result<(Vec<Job>, Vec<moved::Moved>), Error> {
        let reader = self.catalogue.reader();
        let mut found = kept::find(self.service, Some(reader), &[]);
        caught.files = found.transcripts.len() as u64;
        self.knows_archive = found.problems.is_empty();
        caught.problems.append(&mut found.problems);
        let memory = Memory::of(reader).map_err(store_error)?;
        let mut late: rustc_hash::FxHashMap<u32, Stored> = rustc_hash::FxHashMap::default();
        for stored in self.catalogue.since(self.index.sequence()).map_err(store_error)? {
            late.insert(stored.id, stored);
        }
        let unsettled = self.unsettled()?;
        let gone = memory.gone(found.transcripts.iter());
        let copies: Vec<Transcript> =
            found.transcripts.iter().filter(|transcript| look::is_kept(transcript)).cloned().collect();
        found.transcripts.sort_by(|a, b| (a.age.changed, &a.path).cmp(&(b.age.changed, &b.path)));
        let mut jobs = Vec::new();
        for transcript in found.transcripts {
            let mut state = memory.state(reader, &transcript).map_err(store_error)?;
            if let State::Same(id) = state
                && unsettled.contains(&id)
                && !self.is_whole(&transcript)
            {
                state = State::Changed(id);
            }
            if let State::Same(id) = state {
                if let Some(stored) = late.remove(&id) {
                    jobs.push(Job::Retell { stored, transcript });
                }
                continue;
            }
            if let State::Grown(id, _) | State::Kept(id) = state
                && late.remove(&id).is_some()
            {
                state = State::Changed(id); // the index may lack more of it than what is new
            }
            let original = self.original(&transcript);
            jobs.push(Job::Read { transcript, original, state });
        }
        let moved = moved::among(&jobs, copies);
        self.lose(&gone, caught)?;
        Ok((jobs, moved))
    }

    fn original(&self, transcript: &Transcript) -> PathBuf {
        if !look::is_kept(transcript) {
            return transcript.path.clone();
        }
        let kept = self.store.kept_named(sources::archive::name(transcript));
        kept.map_or_else(|_| transcript.path.clone(), |kept| kept.original)
    }

    /// Transcripts that are gone without a copy: nothing can be shown of them any more.
    fn lose(&mut self, gone: &[catalogue::Known], caught: &mut Caught) -> Result<(), Error> {
        if gone.is_empty() {
            return Ok(());
        }
        self.catalogue.begin().map_err(store_error)?;
        let lost = self.lose_all(gone, caught);
        if lost.is_err() {
            self.catalogue.roll_back();
        }
        lost
    }

    fn lose_all(&mut self, gone: &[catalogue::Known], caught: &mut Caught) -> Result<(), Error> {
        let mut heirs = BTreeSet::new();
        for known in gone {
            self.index.drop_file(known.id);
            heirs.append(&mut self.catalogue.drop_file(known.id).map_err(store_error)?);
            caught.gone += 1;
        }
        heirs.retain(|heir| gone.iter().all(|known| known.id != *heir));
        self.tell_again(heirs, caught)?;
        // First out of the index: once the catalogue has forgotten a file nobody knows what to take out.
        self.index.commit(self.index.sequence()).map_err(|e| index_error(&e))?;
        self.catalogue.commit().map_err(store_error)?;
        Ok(())
    }

    /// What others told before and these repeat is told by these from now on.
    fn tell_again(&mut self, heirs: BTreeSet<u32>, caught: &mut Caught) -> Result<(), Error> {
        let mut jobs = Vec::new();
        for heir in heirs {
            let stored = self.catalogue.reader().file(heir).map_err(store_error)?;
            let readable = stored.and_then(|stored| {
                let transcript = kept::as_readable(self.service, &stored)?;
                Some(Job::Retell { stored, transcript })
            });
            jobs.extend(readable);
        }
        if jobs.is_empty() { Ok(()) } else { self.batch(&jobs, caught) }
    }

    // ---- one batch

    /// Threads read, this one writes.
    fn batch(&mut self, jobs: &[Job], caught: &mut Caught) -> Result<(), Error> {
        let threads = self.service.threads.min(jobs.len()).max(1);
        let (send, heard) = sync_channel::<Heard>(2 * threads);
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (service, store, names, tombstones) =
            (self.service, self.store.clone(), &self.names, self.tombstones.clone());
        let reader = text::Teller { service, store, names, tombstones };
        // The table of names is read by the threads; this one needs what it does not hold.
        let (catalogue, index) = (&mut self.catalogue, &mut self.index);
        let (heirs, taken) = (BTreeSet::new(), FxHashSet::default());
        let mut writing = Writing { service, catalogue, index, names, caught, heirs, taken };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (send, next, stop, reader) = (send.clone(), &next, &stop, &reader);
                scope.spawn(move || {
                    while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
                        if stop.load(Relaxed) || reader.work(job, &send).is_none() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            let written = writing.listen(&heard);
            stop.store(true, Relaxed);
            // A thread that waits to be heard learns here that nobody listens any more.
            drop(heard);
            written
        })?;
        let heirs = std::mem::take(&mut writing.heirs);
        self.tell_again(heirs, caught)
    }
}

/// The side that writes.
struct Writing<'w> {
    service: &'w Service,
    catalogue: &'w mut Writer,
    index: &'w mut search::Writer,
    names: &'w Names,
    caught: &'w mut Caught,
    /// Files that tell from now on what others told before.
    heirs: BTreeSet<u32>,
    /// Events that others tell from now on, though their texts may still be on their way here.
    taken: FxHashSet<u64>,
}

impl Writing<'_> {
    fn listen(&mut self, heard: &Receiver<Heard>) -> Result<(), Error> {
        while let Ok(heard) = heard.recv() {
            match heard {
                Heard::Surveyed(surveyed, reply) => {
                    let applied = self.apply(&surveyed)?;
                    let _ = reply.send(applied);
                }
                Heard::Again(file, reply) => {
                    let again = self.again(file)?;
                    let _ = reply.send(again);
                }
                Heard::Told(told) => self.tell(&told)?,
                Heard::Touched(file, touched) => {
                    let touches = touched
                        .iter()
                        .map(|(ordinal, path)| Touch { ordinal: *ordinal, path: path.as_str() });
                    self.catalogue.touch(file, touches).map_err(store_error)?;
                }
                Heard::Trouble(problem) => self.caught.problems.push(problem),
                Heard::Failed(error) => return Err(error),
                Heard::Done => {
                    self.service.progress.files.fetch_add(1, Relaxed);
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, surveyed: &Surveyed) -> Result<Applied, Error> {
        let (transcript, facts) = (&surveyed.transcript, &surveyed.facts);
        let names = self.names.list();
        let mut sessions = facts.sessions.clone();
        count_alone(&mut sessions, &surveyed.rows, &names);
        let applied = self.catalogue.apply(&Survey {
            name: look::name_of(transcript),
            source: SOURCES[transcript.source].name(),
            path: &surveyed.original,
            part: transcript.part.as_deref(),
            hint: &transcript.hint,
            family: &transcript.group,
            size: transcript.size,
            inode: transcript.age.inode,
            changed: transcript.age.changed,
            mark: surveyed.mark,
            gone: look::is_kept(transcript),
            rewritten: matches!(surveyed.state, State::Changed(_)),
            sessions: &sessions,
            birth: facts.birth,
            abandoned: &facts.abandoned,
            bad: facts.coverage.iter().map(|(_, coverage)| coverage.bad).sum(),
            problems: &facts.problems,
            rows: &surveyed.rows,
            names: &names,
            tells: &text::is_told,
        });
        let applied = applied.map_err(store_error)?;
        self.note(surveyed, &applied, &sessions)?;
        Ok(applied)
    }

    fn note(
        &mut self,
        surveyed: &Surveyed,
        applied: &Applied,
        sessions: &[record::Session],
    ) -> Result<(), Error> {
        match surveyed.state {
            State::New => self.caught.added += 1,
            State::Kept(_) => self.caught.gone += 1,
            _ => self.caught.changed += 1,
        }
        self.caught.bytes += surveyed.facts.coverage.iter().map(|(_, coverage)| coverage.bytes).sum::<u64>();
        if applied.rewritten {
            self.index.drop_file(applied.file);
        }
        applied.taken.iter().for_each(|event| self.index.drop_event(*event));
        self.taken.extend(&applied.taken);
        self.heirs.extend(&applied.heirs);
        for (ordinal, number) in &applied.titled {
            let session = &sessions[*ordinal as usize];
            if let (None, Some((title, _))) = (&session.agent_id, &session.title) {
                let chat = applied.chats[*ordinal as usize];
                self.title(applied.file, chat, *number, session.ended_at.0, title)?;
            }
        }
        Ok(())
    }

    fn title(&mut self, file: u32, chat: u32, number: u32, at: i64, text: &str) -> Result<(), Error> {
        let event = title_event(number);
        self.index.drop_event(event);
        let doc = search::Doc { file, chat, event, part: search::Part::Title, at: at.max(0), text };
        self.index.add(&doc).map_err(|e| index_error(&e))
    }

    /// What is known of a transcript, for the index to be told again.
    fn again(&mut self, file: u32) -> Result<Known, Error> {
        self.index.drop_file(file);
        let fresh = self.catalogue.told(file).map_err(store_error)?;
        let mut rows = Vec::new();
        let push = |row| {
            rows.push(row);
            Ok(())
        };
        self.catalogue.reader().rows(&[file], catalogue::Pick::All, push).map_err(store_error)?;
        let titles = self.catalogue.titles(file).map_err(store_error)?;
        for (chat, number, title) in &titles {
            if let Some(title) = title {
                self.title(file, *chat, *number, 0, title)?;
            }
        }
        Ok((fresh, rows, titles.iter().map(|(chat, ..)| *chat).collect()))
    }

    fn tell(&mut self, told: &[Told]) -> Result<(), Error> {
        for one in told.iter().filter(|one| !self.taken.contains(&one.event)) {
            if one.replaces {
                self.index.drop_event(one.event);
            }
            self.index.add(&one.doc()).map_err(|e| index_error(&e))?;
            self.caught.told += 1;
        }
        Ok(())
    }
}

/// Jobs in portions: large enough to keep all threads busy, small enough to lose.
fn batches(jobs: Vec<Job>) -> Vec<Vec<Job>> {
    let size = |job: &Job| match job {
        Job::Read { transcript, .. } | Job::Retell { transcript, .. } => transcript.size,
    };
    let mut batches: Vec<Vec<Job>> = Vec::new();
    let mut held = u64::MAX;
    for job in jobs {
        held = held.saturating_add(size(&job));
        match batches.last_mut() {
            Some(batch) if held <= BATCH && batch.len() < 512 => batch.push(job),
            _ => {
                held = size(&job);
                batches.push(vec![job]);
            }
        }
    }
    batches
}

fn trouble(transcript: &Transcript, error: &sources::Error) -> Problem {
    let (file, note) = (transcript.path.clone(), format!("could not be archived: {error}"));
    Problem { kind: ProblemKind::Unreadable, file, offset: 0, note }
}

/// How far a plain transcript of lines was read, and what stands there.
fn mark(transcript: &Transcript, facts: &Facts) -> Mark {
    let read = facts.coverage.iter().map(|(_, coverage)| coverage.bytes).sum();
    let end = text::last_line_end(transcript, read);
    end.and_then(|end| look::stood(transcript, end)).unwrap_or_default()
}

impl text::Teller<'_> {
    fn survey(&self, transcript: &Transcript, original: PathBuf, state: State) -> Surveyed {
        let mut rows = Vec::new();
        let emit = &mut |more: &mut Vec<Row>| rows.append(more);
        let mut facts = read_through(self.service, 0, transcript, self.names, BOTH, emit);
        self.tombstones.sweep(&mut facts, &mut rows);
        let mark = if look::is_kept(transcript) { Mark::default() } else { mark(transcript, &facts) };
        Surveyed { transcript: transcript.clone(), original, state, mark, facts, rows }
    }

    /// Does one job. None: nobody listens any more.
    fn work(&self, job: &Job, send: &SyncSender<Heard>) -> Option<()> {
        match job {
            Job::Read { transcript, original, state } => {
                let surveyed = self.survey(transcript, original.clone(), *state);
                let surveyed = text::Shared::new(surveyed);
                let (reply, applied) = sync_channel(1);
                send.send(Heard::Surveyed(surveyed.clone(), reply)).ok()?;
                let applied = applied.recv().ok()?;
                self.read(&surveyed, &applied, send)?;
            }
            Job::Retell { stored, transcript } => {
                let (reply, again) = sync_channel(1);
                send.send(Heard::Again(stored.id, reply)).ok()?;
                let (fresh, rows, chats) = again.recv().ok()?;
                let applied = Applied { file: stored.id, fresh, chats, ..Applied::default() };
                self.retell(transcript, &rows, &applied, send)?;
            }
        }
        send.send(Heard::Done).ok()
    }
}
