//! The daemon's lifecycle: it takes the leader lock, binds its socket, runs background jobs between requests, and exits
//! on request, when its program was replaced, or when it has been idle for long.
//!
//! Does not know what the background jobs do: [`BackgroundJobs`] and [`Dispatcher`] implement them.

use crate::events::{Due, Events, FolderKind};
use crate::listener::SocketListener;
use crate::log::Log;
use crate::probe::Probe;
use crate::sd_notify::{ALIVE, READY, STOPPING, SystemdNotifier};
use crate::server::{CallHandler, Counters, Server, StopRequest};
use crate::waker::Waker;
use crate::watcher::FolderWatcher;
use crate::{Error, LeaderLock, RuntimePaths};
use os::processes::EndRequests;
use record::Clock;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Background jobs that derive data from changed files, on a thread of their own.
pub trait BackgroundJobs: Send + 'static {
    /// The folders to watch, and what each belongs to.
    fn watched_folders(&mut self) -> Vec<(PathBuf, FolderKind)>;
    fn on_history_changed(&mut self) -> Result<Value, api::Error>;
    /// Whether an edit is being written to a source tree: its events wait until all files have their new content.
    fn is_code_being_edited(&mut self, root: &Path) -> bool;
    fn on_code_changed(&mut self, root: &Path) -> Result<Value, api::Error>;
    /// Called when the history has been unchanged for `quiet`. Returns what was done, if anything.
    fn on_idle(&mut self, quiet: Duration) -> Result<Option<Value>, api::Error>;
}

/// Delivers queued messages, on a thread of its own.
pub trait Dispatcher: Send + 'static {
    /// Called at an interval, and when a message was queued.
    fn dispatch_pending(&mut self) -> Result<Option<Value>, api::Error>;
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
    pub notify_socket: Option<OsString>,
}

/// Why the daemon exited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitReason {
    /// Another daemon is already running.
    AlreadyRunning,
    Idle,
    Drained,
    Signalled,
    Replaced,
    /// The lock file is gone, and with it the guarantee that no other daemon serves.
    LockLost,
}

impl ExitReason {
    /// The reason as logged and as listed by `daemon status`.
    fn word(self) -> &'static str {
        match self {
            ExitReason::AlreadyRunning => "taken",
            ExitReason::Idle => "idle",
            ExitReason::Drained => "drained",
            ExitReason::Signalled => "signalled",
            ExitReason::Replaced => "replaced",
            ExitReason::LockLost => "homeless",
        }
    }
}

/// How often the socket and the program file are checked.
const TICK: Duration = Duration::from_secs(1);
/// At shutdown, running calls may finish within the first time; then they are cancelled and get at most the second.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);
/// After catching up with the history, the daemon pauses this many times as long as that took.
const HISTORY_PAUSE_FACTOR: u32 = 20;
const MIN_HISTORY_PAUSE: Duration = Duration::from_secs(2);
/// How often idle work is checked for while the history is quiet.
const IDLE_INTERVAL: Duration = Duration::from_secs(30);
const DISPATCH_INTERVAL: Duration = Duration::from_secs(5);
/// How often to scan for folders that appeared where no folder was watched.
const FOLDER_SCAN_INTERVAL: Duration = Duration::from_mins(5);

pub fn run_daemon(
    place: &RuntimePaths,
    answers: Arc<dyn CallHandler>,
    (jobs, dispatcher): (Box<dyn BackgroundJobs>, Box<dyn Dispatcher>),
    wake: &WakeHandle,
    settings: &Settings,
) -> Result<ExitReason, Error> {
    let notifier = SystemdNotifier::new(settings.notify_socket.as_deref());
    let Some(lock) = LeaderLock::acquire(place, &settings.version)? else {
        // A daemon is running, so this counts as success. Exiting before being ready would count as a failure.
        notifier.notify(READY);
        return Ok(ExitReason::AlreadyRunning);
    };
    let mut listener = SocketListener::bind(place)?;
    let (stop_sender, stop_requests) = mpsc::channel();
    let server = Arc::new(new_server(place, answers, stop_sender.clone(), settings));
    server.log.write_entry(
        "started",
        &json!({"version": settings.version, "socket": place.socket.to_string_lossy()}),
    );
    listener.start_accepting(&server)?;
    spawn_signal_handler(stop_sender)?;
    let (events, waker) = (Arc::new(Events::new()), Arc::new(Waker::default()));
    let probe = Arc::new(Probe::new(place.socket.with_extension("probe")));
    let (of_events, of_waker) = (Arc::clone(&events), Arc::clone(&waker));
    let _ = wake.0.set(Background { events: of_events, waker: of_waker, probe: Arc::clone(&probe) });
    // Messages may have been queued while no daemon was running.
    waker.wake();
    spawn_dispatcher(&server, &waker, dispatcher)?;
    let working = spawn_background_jobs(&server, &events, &probe, jobs, settings)?;
    let idle = || server.running_calls().is_empty() && !working.load(Relaxed) && !server.handler.is_busy();
    let program = ProgramIdentity::of_file(&settings.exe);
    notifier.notify(READY);
    let ended = loop {
        notifier.notify(ALIVE);
        match stop_requests.recv_timeout(TICK) {
            Ok(StopRequest::Drain) => break ExitReason::Drained,
            Ok(StopRequest::Signal) | Err(RecvTimeoutError::Disconnected) => break ExitReason::Signalled,
            Err(RecvTimeoutError::Timeout) => {}
        }
        listener.rebind_if_lost(&server, place);
        match () {
            () if !lock.is_current(place) => break ExitReason::LockLost,
            () if !idle() => {}
            () if program.is_replaced(&settings.exe) => break ExitReason::Replaced,
            () if is_idle_for(&server, &events, settings.idle_exit) => break ExitReason::Idle,
            () => {}
        }
    };
    notifier.notify(STOPPING);
    waker.stop();
    events.stop();
    server.closing.store(true, Relaxed);
    listener.remove_socket(place);
    probe.remove_folder();
    drain_calls(&server, &stop_requests);
    server.log.write_entry("ended", &json!({"why": ended.word()}));
    lock.release();
    Ok(ended)
}

fn new_server(
    place: &RuntimePaths,
    answers: Arc<dyn CallHandler>,
    bell: mpsc::Sender<StopRequest>,
    settings: &Settings,
) -> Server {
    Server {
        handler: answers,
        version: settings.version.clone(),
        socket: place.socket.clone(),
        log: Log::new(&place.log, settings.clock),
        counters: Arc::new(Counters::default()),
        started: Instant::now(),
        stop_sender: bell,
        last_request: Mutex::new(Instant::now()),
        closing: AtomicBool::new(false),
        running: Mutex::default(),
        extra_calls: Arc::default(),
        open: Mutex::default(),
    }
}

/// Lets call handlers wake the background threads.
#[derive(Clone, Debug, Default)]
pub struct WakeHandle(Arc<OnceLock<Background>>);

/// What the background threads wait for.
#[derive(Debug)]
struct Background {
    events: Arc<Events>,
    waker: Arc<Waker>,
    probe: Arc<Probe>,
}

impl WakeHandle {
    pub fn wake_dispatcher(&self) {
        if let Some(background) = self.0.get() {
            background.waker.wake();
        }
    }

    /// The set of folders to watch may have changed.
    pub fn request_folder_scan(&self) {
        if let Some(background) = self.0.get() {
            background.events.request_folder_scan();
        }
    }

    /// How often the history has changed, every change before this call included; `None` if that is not known.
    pub fn count_history_changes(&self) -> Option<u64> {
        let background = self.0.get()?;
        background.probe.wait().then(|| background.events.settled_changes())?
    }
}

/// Starts the thread that delivers messages. It does nothing else, so that deliveries are never delayed.
fn spawn_dispatcher(
    server: &Arc<Server>,
    waker: &Arc<Waker>,
    mut dispatcher: Box<dyn Dispatcher>,
) -> Result<(), Error> {
    let (host, waker) = (Arc::clone(server), Arc::clone(waker));
    let work = move || {
        while waker.wait(DISPATCH_INTERVAL) {
            log_job_result(&host, "errands", catch_panic(|| dispatcher.dispatch_pending()));
        }
    };
    std::thread::Builder::new().name("dispatch".into()).spawn(work).map_err(Error::Thread)?;
    Ok(())
}

/// Runs a job and turns a panic into an error: a defect in one job must not end the others.
fn catch_panic(
    work: impl FnOnce() -> Result<Option<Value>, api::Error>,
) -> Result<Option<Value>, api::Error> {
    let failed = |_| Err(api::Error::new(api::Code::InternalError, "the background job crashed"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(failed)
}

fn spawn_signal_handler(bell: mpsc::Sender<StopRequest>) -> Result<(), Error> {
    let requests = EndRequests::listen(false).map_err(Error::Thread)?;
    let forward = move || {
        requests.for_each(|| {
            let _ = bell.send(StopRequest::Signal);
        });
    };
    std::thread::Builder::new().name("signals".into()).spawn(forward).map_err(Error::Thread)?;
    Ok(())
}

fn is_idle_for(server: &Server, events: &Events, exit: Duration) -> bool {
    let since_request = server.last_request.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
    since_request >= exit && events.quiet_time() >= exit
}

/// Identity of the program's file at startup. After an upgrade, the old daemon would otherwise keep answering for hours.
struct ProgramIdentity(Option<(os::FileIdentity, i64)>);

impl ProgramIdentity {
    fn of_file(exe: &Path) -> ProgramIdentity {
        let of = |meta: &std::fs::Metadata| {
            Some((os::files::identity(exe, meta).ok()?, os::files::stamp(meta).modified))
        };
        ProgramIdentity(std::fs::metadata(exe).ok().as_ref().and_then(of))
    }

    fn is_replaced(&self, exe: &Path) -> bool {
        self.0.is_some() && ProgramIdentity::of_file(exe).0 != self.0
    }
}

/// Waits for running calls, then cancels the remaining ones and waits a shorter time.
fn drain_calls(server: &Server, stop_requests: &mpsc::Receiver<StopRequest>) {
    // A second signal ends the wait.
    wait_for_calls(server, DRAIN_TIMEOUT, stop_requests);
    server.running_calls().values().for_each(|watch| watch.cancel());
    wait_for_calls(server, CANCEL_TIMEOUT, stop_requests);
}

fn wait_for_calls(server: &Server, longest: Duration, stop_requests: &mpsc::Receiver<StopRequest>) {
    let until = Instant::now() + longest;
    while !server.running_calls().is_empty() && Instant::now() < until {
        if stop_requests.recv_timeout(Duration::from_millis(20)) == Ok(StopRequest::Signal) {
            return;
        }
    }
}

/// Starts the thread that runs background jobs. The returned flag is true while a job runs.
fn spawn_background_jobs(
    server: &Arc<Server>,
    events: &Arc<Events>,
    probe: &Arc<Probe>,
    mut jobs: Box<dyn BackgroundJobs>,
    settings: &Settings,
) -> Result<Arc<AtomicBool>, Error> {
    let working = Arc::new(AtomicBool::new(false));
    let (busy, host, events, probe) =
        (Arc::clone(&working), Arc::clone(server), Arc::clone(events), Arc::clone(probe));
    let poll = settings.poll;
    let work = move || {
        let mut watching = FolderWatcher::new(&events, &host.counters, &probe);
        let mut times = Schedule::new();
        loop {
            let due = events.wait_next(DISPATCH_INTERVAL, times.next_history);
            busy.store(true, Relaxed);
            if due == Due::Stop {
                return;
            }
            run_due_job(&host, &events, &mut *jobs, &mut watching, &mut times, due);
            run_periodic_jobs(&host, &events, &mut *jobs, &mut watching, &mut times, poll);
            busy.store(false, Relaxed);
        }
    };
    std::thread::Builder::new().name("background".into()).spawn(work).map_err(Error::Thread)?;
    Ok(working)
}

/// When each kind of job last ran, or may run next.
struct Schedule {
    next_history: Instant,
    /// `None` before the first run.
    last_idle_job: Option<Instant>,
    last_folder_scan: Instant,
    last_poll: Instant,
}

impl Schedule {
    fn new() -> Schedule {
        let now = Instant::now();
        Schedule { next_history: now, last_idle_job: None, last_folder_scan: now, last_poll: now }
    }
}

fn run_due_job(
    server: &Server,
    events: &Events,
    jobs: &mut dyn BackgroundJobs,
    watching: &mut FolderWatcher,
    times: &mut Schedule,
    due: Due,
) {
    match due {
        Due::Folders => {
            let recent = events.existing_new_folders().into_iter().map(|path| (path, FolderKind::History));
            let were_watched = watching.set_folders(recent.chain(jobs.watched_folders()).collect());
            times.last_folder_scan = Instant::now();
            events.finish_folder_scan(were_watched);
            if !were_watched && watching.are_all_watched() {
                // What appeared before a new folder was watched is in none of the lists.
                events.request_folder_scan();
            }
        }
        Due::History => {
            let began = Instant::now();
            let done = catch_panic(|| jobs.on_history_changed().map(Some));
            server.counters.caught_up.fetch_add(1, Relaxed);
            log_job_result(server, "history", done);
            times.next_history =
                Instant::now() + (began.elapsed() * HISTORY_PAUSE_FACTOR).max(MIN_HISTORY_PAUSE);
        }
        Due::Code(root) if jobs.is_code_being_edited(&root) => {
            events.record_change(&FolderKind::Code(root));
        }
        Due::Code(root) => {
            log_job_result(server, "code", catch_panic(|| jobs.on_code_changed(&root).map(Some)));
            if events.take_tree_changed(&root) {
                events.request_folder_scan();
            }
        }
        Due::Nothing | Due::Stop => {}
    }
}

fn run_periodic_jobs(
    server: &Server,
    events: &Events,
    jobs: &mut dyn BackgroundJobs,
    watching: &mut FolderWatcher,
    times: &mut Schedule,
    poll: Duration,
) {
    if times.last_folder_scan.elapsed() >= FOLDER_SCAN_INTERVAL {
        events.request_folder_scan();
    }
    if times.last_poll.elapsed() >= poll {
        times.last_poll = Instant::now();
        watching.poll_unwatched();
    }
    if times.last_idle_job.is_none_or(|at| at.elapsed() >= IDLE_INTERVAL) {
        times.last_idle_job = Some(Instant::now());
        log_job_result(server, "rest", catch_panic(|| jobs.on_idle(events.quiet_time())));
    }
}

fn log_job_result(server: &Server, what: &str, done: Result<Option<Value>, api::Error>) {
    match done {
        Ok(Some(Value::Object(done))) if done.is_empty() => {}
        Ok(Some(done)) => server.log.write_entry(what, &done),
        Ok(None) => {}
        Err(error) => server.log.write_entry(what, &json!({"failed": error.code.word()})),
    }
}
