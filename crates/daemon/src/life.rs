//! A daemon's life: it takes the seat, opens its door, does what is due while nobody asks, and goes when it is told to,
//! when its program was replaced, or when nobody has needed it for long.
//!
//! Does not know what there is to do: that is the keeper's.

use crate::door::Door;
use crate::events::{Due, Events};
use crate::herald::{ALIVE, ENDING, Herald, READY};
use crate::log::Log;
use crate::nudge::Nudge;
use crate::serve::{Answers, Figures, House, Ring};
use crate::watch::{Kind, Watching};
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

/// Does what is due, on a thread of its own.
pub trait Keeper: Send + 'static {
    /// The folders to watch, and what each belongs to.
    fn folders(&mut self) -> Vec<(PathBuf, Kind)>;
    fn history_moved(&mut self) -> Result<Value, api::Error>;
    fn code_moved(&mut self, root: &Path) -> Result<Value, api::Error>;
    /// The history has been quiet so long. What was done, if anything.
    fn rest(&mut self, quiet: Duration) -> Result<Option<Value>, api::Error>;
}

/// Hands out what was left, on a thread of its own.
pub trait Porter: Send + 'static {
    /// Now and then, and when somebody left work.
    fn errands(&mut self) -> Result<Option<Value>, api::Error>;
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub version: String,
    pub clock: Clock,
    /// Nobody asked anything and nothing moved: it goes.
    pub idle_exit: Duration,
    /// The program that runs, to notice when another stands in its place.
    pub exe: PathBuf,
    /// How often folders are looked at that the kernel does not watch.
    pub poll: Duration,
    /// Where systemd wants to be told how it stands.
    pub tell: Option<OsString>,
}

/// Why it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Another one serves already.
    Taken,
    Idle,
    Drained,
    Signalled,
    Replaced,
    /// Its home is gone, and with it the lock that keeps others from serving.
    Homeless,
}

/// How often the door and the program are looked after.
const TICK: Duration = Duration::from_secs(1);
/// Calls that run when the end comes have so long; then they are called off, and have as long as this again at most.
const GRACE: Duration = Duration::from_secs(2);
const LAST: Duration = Duration::from_millis(500);
/// Bringing what is derived up to date may take this share of the time.
const SHARE: u32 = 20;
const AT_LEAST: Duration = Duration::from_secs(2);
/// How often it is asked whether there is something to do while the history is quiet.
const REST: Duration = Duration::from_secs(30);
const ERRANDS: Duration = Duration::from_secs(5);
/// Folders that came while nobody watched where they came.
const AGAIN: Duration = Duration::from_mins(5);

pub fn run(
    place: &Place,
    answers: Arc<dyn Answers>,
    (keeper, porter): (Box<dyn Keeper>, Box<dyn Porter>),
    poke: &Poke,
    settings: &Settings,
) -> Result<Ended, Error> {
    let herald = Herald::to(settings.tell.as_deref());
    let Some(seat) = Seat::take(place, &settings.version)? else {
        // Another one serves, which is what was wanted: to end before being ready would count as a failure.
        herald.say(READY);
        return Ok(Ended::Taken);
    };
    let mut door = Door::bind(place)?;
    let (bell, rings) = mpsc::channel();
    let house = Arc::new(house(place, answers, bell.clone(), settings));
    house.log.say("started", &json!({"version": settings.version, "socket": place.socket}));
    door.open(&house)?;
    heed_signals(bell)?;
    let (events, left) = (Arc::new(Events::new()), Arc::new(Nudge::default()));
    let _ = poke.0.set((Arc::clone(&events), Arc::clone(&left)));
    // What was left while nobody served.
    left.give();
    carry(&house, &left, porter)?;
    let working = keep(&house, &events, keeper, settings)?;
    let idle = || house.running().is_empty() && !working.load(Relaxed) && !house.answers.is_busy();
    let program = Program::of(&settings.exe);
    herald.say(READY);
    let ended = loop {
        herald.say(ALIVE);
        match rings.recv_timeout(TICK) {
            Ok(Ring::Drain) => break Ended::Drained,
            Ok(Ring::Signal) | Err(RecvTimeoutError::Disconnected) => break Ended::Signalled,
            Err(RecvTimeoutError::Timeout) => {}
        }
        door.look_after(&house, place);
        match () {
            () if !seat.is_seen(place) => break Ended::Homeless,
            () if !idle() => {}
            () if program.is_replaced(&settings.exe) => break Ended::Replaced,
            () if is_idle(&house, &events, settings.idle_exit) => break Ended::Idle,
            () => {}
        }
    };
    herald.say(ENDING);
    left.end();
    events.stop();
    house.closing.store(true, Relaxed);
    door.close(place);
    finish(&house, &rings);
    house.log.say("ended", &json!({"why": format!("{ended:?}").to_lowercase()}));
    seat.leave();
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

/// Lets those who answer tell the keeper that there is work.
#[derive(Clone, Debug, Default)]
pub struct Poke(Arc<OnceLock<(Arc<Events>, Arc<Nudge>)>>);

impl Poke {
    pub fn poke(&self) {
        if let Some((_, left)) = self.0.get() {
            left.give();
        }
    }

    /// Trees may be wanted that were not before.
    pub fn rearranged(&self) {
        if let Some((events, _)) = self.0.get() {
            events.rearranged();
        }
    }
}

/// The thread that hands out what was left: nothing that takes long stands before it.
fn carry(house: &Arc<House>, left: &Arc<Nudge>, mut porter: Box<dyn Porter>) -> Result<(), Error> {
    let (host, left) = (Arc::clone(house), Arc::clone(left));
    let work = move || {
        while left.wait(ERRANDS) {
            tell(&host, "errands", unharmed(|| porter.errands()));
        }
    };
    std::thread::Builder::new().name("porter".into()).spawn(work).map_err(Error::Thread)?;
    Ok(())
}

/// A defect in one piece of work must not end all the others.
fn unharmed(work: impl FnOnce() -> Result<Option<Value>, api::Error>) -> Result<Option<Value>, api::Error> {
    let failed = |_| Err(api::Error::new(api::Code::InternalError, "it failed at this"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(failed)
}

fn heed_signals(bell: mpsc::Sender<Ring>) -> Result<(), Error> {
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(Error::Thread)?;
    let heed = move || {
        for _ in signals.forever() {
            let _ = bell.send(Ring::Signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(heed).map_err(Error::Thread)?;
    Ok(())
}

fn is_idle(house: &House, events: &Events, exit: Duration) -> bool {
    let asked = house.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
    asked >= exit && events.quiet() >= exit
}

/// The program's file when it started. A daemon of a program that was replaced would answer as the old one did, for hours.
struct Program(Option<(u64, u64, i64)>);

impl Program {
    fn of(exe: &Path) -> Program {
        Program(std::fs::metadata(exe).ok().map(|meta| (meta.dev(), meta.ino(), meta.mtime())))
    }

    fn is_replaced(&self, exe: &Path) -> bool {
        self.0.is_some() && Program::of(exe).0 != self.0
    }
}

/// What runs has a moment, and a shorter one when it was called off.
fn finish(house: &House, rings: &mpsc::Receiver<Ring>) {
    // Asked a second time, it does not wait.
    wait_for(house, GRACE, rings);
    house.running().values().for_each(|watch| watch.stop());
    wait_for(house, LAST, rings);
}

fn wait_for(house: &House, longest: Duration, rings: &mpsc::Receiver<Ring>) {
    let until = Instant::now() + longest;
    while !house.running().is_empty() && Instant::now() < until {
        if rings.recv_timeout(Duration::from_millis(20)) == Ok(Ring::Signal) {
            return;
        }
    }
}

/// The one thread that does what is due; true while it does.
fn keep(
    house: &Arc<House>,
    events: &Arc<Events>,
    mut keeper: Box<dyn Keeper>,
    settings: &Settings,
) -> Result<Arc<AtomicBool>, Error> {
    let working = Arc::new(AtomicBool::new(false));
    let (busy, host, events) = (Arc::clone(&working), Arc::clone(house), Arc::clone(events));
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
            step(&host, &events, &mut *keeper, &mut watching, &mut times, due);
            now_and_then(&host, &events, &mut *keeper, &mut watching, &mut times, poll);
            busy.store(false, Relaxed);
        }
    };
    std::thread::Builder::new().name("keeper".into()).spawn(work).map_err(Error::Thread)?;
    Ok(working)
}

/// When what was done last, or may be done next.
struct Times {
    history: Instant,
    /// None: not yet.
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
    house: &House,
    events: &Events,
    keeper: &mut dyn Keeper,
    watching: &mut Watching,
    times: &mut Times,
    due: Due,
) {
    match due {
        Due::Folders => {
            let young = events.young().into_iter().map(|path| (path, Kind::History));
            watching.set(young.chain(keeper.folders()).collect());
            times.folders = Instant::now();
        }
        Due::History => {
            let began = Instant::now();
            let done = unharmed(|| keeper.history_moved().map(Some));
            house.figures.caught_up.fetch_add(1, Relaxed);
            tell(house, "history", done);
            times.history = Instant::now() + (began.elapsed() * SHARE).max(AT_LEAST);
        }
        Due::Code(root) => {
            tell(house, "code", unharmed(|| keeper.code_moved(&root).map(Some)));
            if events.regrown(&root) {
                events.rearranged();
            }
        }
        Due::Nothing | Due::Stop => {}
    }
}

fn now_and_then(
    house: &House,
    events: &Events,
    keeper: &mut dyn Keeper,
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
        tell(house, "rest", unharmed(|| keeper.rest(events.quiet())));
    }
}

fn tell(house: &House, what: &str, done: Result<Option<Value>, api::Error>) {
    match done {
        Ok(Some(Value::Object(done))) if done.is_empty() => {}
        Ok(Some(done)) => house.log.say(what, &done),
        Ok(None) => {}
        Err(error) => house.log.say(what, &json!({"failed": error.code.word()})),
    }
}
