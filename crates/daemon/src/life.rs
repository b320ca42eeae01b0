//! The daemon's lifecycle: it takes the leader lock, binds its socket, runs background jobs between requests, and exits
//! on request, when its program was replaced, or when it has been idle for long.
//!
//! Does not know what the background jobs do: [`Keeper`] and [`Porter`] implement them.

use crate::door::Door;
use crate::events::{Due, Events, Kind};
use crate::herald::{ALIVE, ENDING, Herald, READY};
use crate::log::Log;
use crate::nudge::Nudge;
use crate::serve::{Answers, Figures, House, Ring};
use crate::watch::Watching;
use crate::{Error, Place, Seat};
use record::Clock;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Background jobs that derive data from changed files, on a thread of their own.
pub trait Keeper: Send + 'static {
    /// The folders to watch, and what each belongs to.
    fn folders(&mut self) -> Vec<(PathBuf, Kind)>;
    fn history_moved(&mut self) -> Result<Value, api::Error>;
    fn code_moved(&mut self, root: &Path) -> Result<Value, api::Error>;
    /// Called when the history has been unchanged for `quiet`. Returns what was done, if anything.
    fn rest(&mut self, quiet: Duration) -> Result<Option<Value>, api::Error>;
}

/// Delivers queued messages, on a thread of its own.
pub trait Porter: Send + 'static {
    /// Called at an interval, and when a message was queued.
    fn errands(&mut self) -> Result<Option<Value>, api::Error>;
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub version: String,
    pub clock: Clock,
    /// Exit after this time without requests or changes.
    pub idle_exit: Duration,
    /// The running program, to notice when its file is replaced.
    pub exe: PathBuf,
    /// How often folders are polled that the kernel does not watch.
    pub poll: Duration,
    /// The value of `NOTIFY_SOCKET`, if systemd started the daemon.
    pub tell: Option<OsString>,
}

/// Why the daemon exited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Another daemon is already running.
    Taken,
    Idle,
    Drained,
    Signalled,
    Replaced,
    /// The lock file is gone, and with it the guarantee that no other daemon serves.
    Homeless,
}

impl Ended {
    /// The reason as logged and as listed by `daemon status`.
    fn word(self) -> &'static str {
        match self {
            Ended::Taken => "taken",
            Ended::Idle => "idle",
            Ended::Drained => "drained",
            Ended::Signalled => "signalled",
            Ended::Replaced => "replaced",
            Ended::Homeless => "homeless",
        }
    }
}

/// How often the socket and the program file are checked.
const TICK: Duration = Duration::from_secs(1);
/// At shutdown, running calls may finish within the first time; then they are cancelled and get at most the second.
const GRACE: Duration = Duration::from_secs(2);
const LAST: Duration = Duration::from_millis(500);
/// After catching up with the history, the daemon pauses this many times as long as that took.
const SHARE: u32 = 20;
const AT_LEAST: Duration = Duration::from_secs(2);
/// How often idle work is checked for while the history is quiet.
const REST: Duration = Duration::from_secs(30);
const ERRANDS: Duration = Duration::from_secs(5);
/// How often to scan for folders that appeared where no folder was watched.
const AGAIN: Duration = Duration::from_mins(5);

pub fn run(
    place: &Place,
    answers: Arc<dyn Answers>,
    (jobs, dispatcher): (Box<dyn Keeper>, Box<dyn Porter>),
    wake: &Poke,
    settings: &Settings,
) -> Result<Ended, Error> {
    let notifier = Herald::to(settings.tell.as_deref());
    let Some(lock) = Seat::take(place, &settings.version)? else {
        // A daemon is running, so this counts as success. Exiting before being ready would count as a failure.
        notifier.say(READY);
        return Ok(Ended::Taken);
    };
    let mut listener = Door::bind(place)?;
    let (stop_sender, stop_requests) = mpsc::channel();
    let server = Arc::new(house(place, answers, stop_sender.clone(), settings));
    server.log.say("started", &json!({"version": settings.version, "socket": place.socket}));
    listener.open(&server)?;
    heed_signals(stop_sender)?;
    let (events, waker) = (Arc::new(Events::new()), Arc::new(Nudge::default()));
    let _ = wake.0.set((Arc::clone(&events), Arc::clone(&waker)));
    // Messages may have been queued while no daemon was running.
    waker.give();
    carry(&server, &waker, dispatcher)?;
    let working = keep(&server, &events, jobs, settings)?;
    let idle = || server.running().is_empty() && !working.load(Relaxed) && !server.answers.is_busy();
    let program = Program::of(&settings.exe);
    notifier.say(READY);
    let ended = loop {
        notifier.say(ALIVE);
        match stop_requests.recv_timeout(TICK) {
            Ok(Ring::Drain) => break Ended::Drained,
            Ok(Ring::Signal) | Err(RecvTimeoutError::Disconnected) => break Ended::Signalled,
            Err(RecvTimeoutError::Timeout) => {}
        }
        listener.look_after(&server, place);
        match () {
            () if !lock.is_seen(place) => break Ended::Homeless,
            () if !idle() => {}
            () if program.is_replaced(&settings.exe) => break Ended::Replaced,
            () if is_idle(&server, &events, settings.idle_exit) => break Ended::Idle,
            () => {}
        }
    };
    notifier.say(ENDING);
    waker.end();
    events.stop();
    server.closing.store(true, Relaxed);
    listener.close(place);
    finish(&server, &stop_requests);
    server.log.say("ended", &json!({"why": ended.word()}));
    lock.leave();
    Ok(ended)
}

fn house(place: &Place, answers: Arc<dyn Answers>, bell: mpsc::Sender<Ring>, settings: &Settings) -> House {
    House {
        answers,
        version: settings.version.clone(),
        socket: place.socket.clone(),
        log: Log::new(&place.log, settings.clock),
        figures: Arc::new(Figures::default()),
        started: Instant::now(),
        bell,
        asked: Mutex::new(Instant::now()),
        closing: AtomicBool::new(false),
        running: Mutex::default(),
        beside: Arc::default(),
    }
}

/// Lets call handlers wake the background threads.
#[derive(Clone, Debug, Default)]
pub struct Poke(Arc<OnceLock<(Arc<Events>, Arc<Nudge>)>>);

impl Poke {
    pub fn poke(&self) {
        if let Some((_, waker)) = self.0.get() {
            waker.give();
        }
    }

    /// The set of folders to watch may have changed.
    pub fn rearranged(&self) {
        if let Some((events, _)) = self.0.get() {
            events.rearranged();
        }
    }
}

/// Starts the thread that delivers messages. It does nothing else, so that deliveries are never delayed.
fn carry(server: &Arc<House>, waker: &Arc<Nudge>, mut dispatcher: Box<dyn Porter>) -> Result<(), Error> {
    let (host, waker) = (Arc::clone(server), Arc::clone(waker));
    let work = move || {
        while waker.wait(ERRANDS) {
            tell(&host, "errands", unharmed(|| dispatcher.errands()));
        }
    };
    std::thread::Builder::new().name("dispatch".into()).spawn(work).map_err(Error::Thread)?;
    Ok(())
}

/// Runs a job and turns a panic into an error: a defect in one job must not end the others.
fn unharmed(work: impl FnOnce() -> Result<Option<Value>, api::Error>) -> Result<Option<Value>, api::Error> {
    let failed = |_| Err(api::Error::new(api::Code::InternalError, "the background job crashed"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(failed)
}

fn heed_signals(bell: mpsc::Sender<Ring>) -> Result<(), Error> {
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(Error::Thread)?;
    let forward = move || {
        for _ in signals.forever() {
            let _ = bell.send(Ring::Signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(forward).map_err(Error::Thread)?;
    Ok(())
}

fn is_idle(server: &House, events: &Events, exit: Duration) -> bool {
    let since_request = server.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
    since_request >= exit && events.quiet() >= exit
}

/// Identity of the program's file at startup. After an upgrade, the old daemon would otherwise keep answering for hours.
struct Program(Option<(u64, u64, i64)>);

impl Program {
    fn of(exe: &Path) -> Program {
        Program(std::fs::metadata(exe).ok().map(|meta| (meta.dev(), meta.ino(), meta.mtime())))
    }

    fn is_replaced(&self, exe: &Path) -> bool {
        self.0.is_some() && Program::of(exe).0 != self.0
    }
}

/// Waits for running calls, then cancels the remaining ones and waits a shorter time.
fn finish(server: &House, stop_requests: &mpsc::Receiver<Ring>) {
    // A second signal ends the wait.
    wait_for(server, GRACE, stop_requests);
    server.running().values().for_each(|watch| watch.stop());
    wait_for(server, LAST, stop_requests);
}

fn wait_for(server: &House, longest: Duration, stop_requests: &mpsc::Receiver<Ring>) {
    let until = Instant::now() + longest;
    while !server.running().is_empty() && Instant::now() < until {
        if stop_requests.recv_timeout(Duration::from_millis(20)) == Ok(Ring::Signal) {
            return;
        }
    }
}

/// Starts the thread that runs background jobs. The returned flag is true while a job runs.
fn keep(
    server: &Arc<House>,
    events: &Arc<Events>,
    mut jobs: Box<dyn Keeper>,
    settings: &Settings,
) -> Result<Arc<AtomicBool>, Error> {
    let working = Arc::new(AtomicBool::new(false));
    let (busy, host, events) = (Arc::clone(&working), Arc::clone(server), Arc::clone(events));
    let poll = settings.poll;
    let work = move || {
        let mut watching = Watching::new(&events, &host.figures);
        let mut times = Times::new();
        loop {
            let due = events.next(ERRANDS, times.history);
            busy.store(true, Relaxed);
            if due == Due::Stop {
                return;
            }
            step(&host, &events, &mut *jobs, &mut watching, &mut times, due);
            now_and_then(&host, &events, &mut *jobs, &mut watching, &mut times, poll);
            busy.store(false, Relaxed);
        }
    };
    std::thread::Builder::new().name("background".into()).spawn(work).map_err(Error::Thread)?;
    Ok(working)
}

/// When each kind of job last ran, or may run next.
struct Times {
    history: Instant,
    /// `None` before the first run.
    rest: Option<Instant>,
    folders: Instant,
    polled: Instant,
}

impl Times {
    fn new() -> Times {
        let now = Instant::now();
        Times { history: now, rest: None, folders: now, polled: now }
    }
}

fn step(
    server: &House,
    events: &Events,
    jobs: &mut dyn Keeper,
    watching: &mut Watching,
    times: &mut Times,
    due: Due,
) {
    match due {
        Due::Folders => {
            let recent = events.young().into_iter().map(|path| (path, Kind::History));
            watching.set(recent.chain(jobs.folders()).collect());
            times.folders = Instant::now();
        }
        Due::History => {
            let began = Instant::now();
            let done = unharmed(|| jobs.history_moved().map(Some));
            server.figures.caught_up.fetch_add(1, Relaxed);
            tell(server, "history", done);
            times.history = Instant::now() + (began.elapsed() * SHARE).max(AT_LEAST);
        }
        Due::Code(root) => {
            tell(server, "code", unharmed(|| jobs.code_moved(&root).map(Some)));
            if events.regrown(&root) {
                events.rearranged();
            }
        }
        Due::Nothing | Due::Stop => {}
    }
}

fn now_and_then(
    server: &House,
    events: &Events,
    jobs: &mut dyn Keeper,
    watching: &mut Watching,
    times: &mut Times,
    poll: Duration,
) {
    if times.folders.elapsed() >= AGAIN {
        events.rearranged();
    }
    if times.polled.elapsed() >= poll {
        times.polled = Instant::now();
        watching.poll();
    }
    if times.rest.is_none_or(|at| at.elapsed() >= REST) {
        times.rest = Some(Instant::now());
        tell(server, "rest", unharmed(|| jobs.rest(events.quiet())));
    }
}

fn tell(server: &House, what: &str, done: Result<Option<Value>, api::Error>) {
    match done {
        Ok(Some(Value::Object(done))) if done.is_empty() => {}
        Ok(Some(done)) => server.log.say(what, &done),
        Ok(None) => {}
        Err(error) => server.log.say(what, &json!({"failed": error.code.word()})),
    }
}
