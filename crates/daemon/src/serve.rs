//! Who connects is listened to: a thread for each connection, another for what it asks, so that a long answer keeps nobody
//! waiting. A connection that closes calls off what it asked.
//!
//! Does not know the operations; what it answers itself is about itself (`hello`, `ping`, `daemon`, `drain`).

use crate::line::Line;
use crate::rpc::{self, LONGEST, Meta, PROTOCOL, Request};
use crate::{Error, log::Log, socket};
use api::{Code, Progress};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One call, for whoever answers.
pub struct Call<'a> {
    pub method: &'a str,
    pub params: Map<String, Value>,
    pub meta: &'a Meta,
    pub progress: Arc<Progress>,
    /// Takes records that come before the answer; false: no more is wanted.
    pub lines: &'a mut dyn FnMut(&[u8]) -> bool,
}

pub enum Told {
    Answer(Value),
    /// There is no such method.
    Unknown,
}

pub trait Answers: Send + Sync + 'static {
    fn answer(&self, call: Call<'_>) -> Result<Told, api::Error>;
    /// Something runs that should not be cut off for the sake of an upgrade or a long quiet.
    fn is_busy(&self) -> bool;
    /// What `daemon` tells besides the figures of the house.
    fn figures(&self) -> Value;
}

/// How many may be connected, and how much one of them may ask at once.
const CONNECTIONS: u64 = 256;
const AT_ONCE: u64 = 16;
/// Whoever has begun a line ends it, or is cut off.
const LINE: Duration = Duration::from_secs(5);
/// How often it is told how far a call is.
const PROGRESS: Duration = Duration::from_millis(200);
/// Records are sent in portions of this size, so that a large answer is not a message for each.
const PORTION: usize = 32 << 10;

/// What rings the house: somebody wants it to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ring {
    Drain,
    Signal,
}

/// Counted since the start.
#[derive(Debug, Default)]
pub struct Figures {
    pub connections: AtomicU64,
    pub calls: AtomicU64,
    pub failed: AtomicU64,
    pub foreign: AtomicU64,
    pub watched: AtomicU64,
    pub polled: AtomicU64,
    pub overflows: AtomicU64,
    pub caught_up: AtomicU64,
    pub rebound: AtomicU64,
    /// For each method how many calls took up to 2^n microseconds.
    took: Mutex<BTreeMap<String, [u64; 32]>>,
}

impl Figures {
    fn took(&self, method: &str, time: Duration) {
        let slot = (64 - (time.as_micros() as u64).leading_zeros()).min(31) as usize;
        let mut all = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        // Names come from outside only when they are known, so there are no more than operations.
        all.entry(method.to_string()).or_insert([0; 32])[slot] += 1;
    }

    fn told(&self) -> Value {
        let all = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |slots: &[u64; 32]| {
            let ms = |share: f64| f64::from(quantile(slots, share)) / 1000.0;
            json!({"calls": slots.iter().sum::<u64>(), "p50_ms": ms(0.5), "p95_ms": ms(0.95)})
        };
        let methods: Map<String, Value> =
            all.iter().map(|(name, slots)| (name.clone(), one(slots))).collect();
        let get = |figure: &AtomicU64| figure.load(Relaxed);
        json!({
            "connections": get(&self.connections), "calls": get(&self.calls), "failed": get(&self.failed),
            "foreign": get(&self.foreign), "watched": get(&self.watched), "polled": get(&self.polled),
            "overflows": get(&self.overflows), "caught_up": get(&self.caught_up),
            "rebound": get(&self.rebound), "methods": methods,
        })
    }
}

/// The bound, in microseconds, that this share of the calls stayed below.
fn quantile(slots: &[u64; 32], share: f64) -> u32 {
    let wanted = (slots.iter().sum::<u64>() as f64 * share).ceil() as u64;
    let mut seen = 0;
    let slot = slots.iter().position(|count| {
        seen += count;
        seen >= wanted
    });
    1 << slot.unwrap_or(31).min(31)
}

/// What every connection shares.
pub(crate) struct House {
    pub(crate) answers: Arc<dyn Answers>,
    pub(crate) version: String,
    pub(crate) socket: PathBuf,
    pub(crate) log: Log,
    pub(crate) figures: Arc<Figures>,
    pub(crate) started: Instant,
    pub(crate) bell: Sender<Ring>,
    /// When anybody asked anything last.
    pub(crate) asked: Mutex<Instant>,
    pub(crate) closing: AtomicBool,
    pub(crate) running: Mutex<BTreeMap<u64, Arc<Progress>>>,
    /// Calls that run beside the first of their connection.
    pub(crate) beside: Arc<AtomicU64>,
}

impl House {
    pub(crate) fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Progress>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_asked(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn about(&self) -> Value {
        let mut told = json!({
            "version": self.version, "protocol": PROTOCOL, "pid": std::process::id(),
            "uptime_seconds": self.started.elapsed().as_secs(), "socket": self.socket,
            "in_flight": self.running().len(),
        });
        for more in [self.figures.told(), self.answers.figures()] {
            if let (Value::Object(told), Value::Object(more)) = (&mut told, more) {
                told.extend(more);
            }
        }
        told
    }
}

/// Listens until the listener is shut down or the process ends.
pub(crate) fn listen(house: &Arc<House>, listener: &Arc<UnixListener>) -> Result<(), Error> {
    let (house, listener) = (Arc::clone(house), Arc::clone(listener));
    let listening = move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => admit(&house, stream),
                // It was shut down: another one stands in its place.
                Err(error) if error.kind() == ErrorKind::InvalidInput => return,
                // Too many files are open: a moment later there may be fewer.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    };
    std::thread::Builder::new().name("listen".into()).spawn(listening).map_err(Error::Thread)?;
    Ok(())
}

fn admit(house: &Arc<House>, stream: UnixStream) {
    if !socket::is_own(&stream) {
        house.figures.foreign.fetch_add(1, Relaxed);
        house.log.say("refused", &json!({"why": "another user"}));
        return;
    }
    if house.figures.connections.fetch_add(1, Relaxed) >= CONNECTIONS {
        house.figures.connections.fetch_sub(1, Relaxed);
        let busy = api::Error::new(Code::WriterBusy, "the daemon has too many connections");
        let _ = (&stream).write_all(rpc::failure(&Value::Null, &busy).as_bytes());
        return;
    }
    let host = Arc::clone(house);
    let spawned = std::thread::Builder::new().name("connection".into()).spawn(move || {
        converse(&host, &stream);
        host.figures.connections.fetch_sub(1, Relaxed);
    });
    if spawned.is_err() {
        house.figures.connections.fetch_sub(1, Relaxed);
    }
}

fn converse(house: &Arc<House>, stream: &UnixStream) {
    let Ok(writing) = stream.try_clone() else { return };
    let _ = stream.set_read_timeout(Some(LINE));
    let line = Line::new(writing, &house.beside);
    let mut reader = BufReader::new(stream);
    let mut frame = Vec::new();
    while next_frame(&mut reader, &mut frame) {
        house.note_asked();
        match Request::read(&frame) {
            Ok(request) => heed(house, &line, request),
            Err(refused) => drop(line.send(&rpc::line(&refused))),
        }
        frame.clear();
    }
    if frame.len() > LONGEST {
        line.send(&rpc::line(&rpc::refusal(&Value::Null, -32600, "a request is at most 4 MB long")));
    }
    line.calls().values().for_each(|progress| progress.stop());
}

/// Reads one line. False: the connection ended, or what came is no line and never will be.
fn next_frame(reader: &mut BufReader<&UnixStream>, frame: &mut Vec<u8>) -> bool {
    let mut begun = None::<Instant>;
    loop {
        let left = (LONGEST + 1).saturating_sub(frame.len()) as u64;
        match reader.by_ref().take(left).read_until(b'\n', frame) {
            Ok(_) if frame.last() == Some(&b'\n') => return true,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if frame.is_empty() {
                    continue;
                }
                if begun.get_or_insert_with(Instant::now).elapsed() >= LINE {
                    return false;
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

fn heed(house: &Arc<House>, line: &Line, request: Request) {
    let id = request.id.clone().unwrap_or(Value::Null);
    let own = match request.method.as_str() {
        "ping" => json!({}),
        "hello" => json!({
            "version": house.version, "protocol": PROTOCOL, "pid": std::process::id(), "zone": record::told_zone(),
        }),
        "daemon" => house.about(),
        "drain" => {
            // Said first: whoever rings may find the house gone before it is answered.
            line.send(&rpc::result(&id, &json!({"draining": true})));
            let _ = house.bell.send(Ring::Drain);
            return;
        }
        _ => return start(house, line, request),
    };
    line.send(&rpc::result(&id, &own));
}

fn start(house: &Arc<House>, line: &Line, request: Request) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let id = request.id.clone().unwrap_or(Value::Null);
    let refused = match () {
        () if house.closing.load(Relaxed) => Some((Code::ShuttingDown, "the daemon is about to end")),
        () if line.calls().len() as u64 >= AT_ONCE => {
            Some((Code::WriterBusy, "sixteen calls are running on this connection"))
        }
        () => None,
    };
    if let Some((code, why)) = refused {
        line.send(&rpc::failure(&id, &api::Error::new(code, why)));
        return;
    }
    let (number, progress) = (NUMBER.fetch_add(1, Relaxed), Arc::new(Progress::default()));
    house.running().insert(number, Arc::clone(&progress));
    line.calls().insert(number, Arc::clone(&progress));
    let (host, conn) = (Arc::clone(house), line.clone());
    let work = move || {
        // Called off before its turn came, or nobody there to hear of it: nobody wants it any more.
        let said = (!progress.stopped() && conn.is_heard())
            .then(|| answered(&host, &conn, &request, &id, &progress));
        // Who has the answer may ask again at once: by then it does not count any more.
        conn.calls().remove(&number);
        if let Some(said) = said.filter(|_| request.id.is_some()) {
            conn.send(&said);
        }
        // Last of all: whoever closes the house waits for it.
        host.running().remove(&number);
    };
    if !line.give(Box::new(work)) {
        house.running().remove(&number);
        line.calls().remove(&number);
    }
}

fn answered(house: &House, line: &Line, request: &Request, id: &Value, progress: &Arc<Progress>) -> String {
    let began = Instant::now();
    let done = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        if request.meta.progress {
            scope.spawn(|| tell_progress(line, id, progress, &done));
        }
        let told = catch_unwind(AssertUnwindSafe(|| ask(house, line, request, id, progress)));
        done.store(true, Relaxed);
        told
    });
    let told =
        told.unwrap_or_else(|_| Err(api::Error::new(Code::InternalError, "the daemon failed at this")));
    house.figures.calls.fetch_add(1, Relaxed);
    match told {
        Ok(Told::Unknown) => rpc::unknown(id, &request.method),
        Ok(Told::Answer(answer)) => {
            house.figures.took(&request.method, began.elapsed());
            rpc::result(id, &answer)
        }
        Err(error) => {
            house.figures.failed.fetch_add(1, Relaxed);
            // Neither parameters nor messages: they may hold what was said.
            house.log.say("failed", &json!({"method": request.method, "code": error.code.word()}));
            rpc::failure(id, &error)
        }
    }
}

fn ask(
    house: &House,
    line: &Line,
    request: &Request,
    id: &Value,
    progress: &Arc<Progress>,
) -> Result<Told, api::Error> {
    let mut portion = String::new();
    let send = |text: &mut String| {
        let lost = [&progress.lost, &progress.lost_files].map(|figure| figure.load(Relaxed));
        let told = json!({"id": id, "text": text, "lost": lost[0], "lost_files": lost[1]});
        let sent = text.is_empty() || line.send(&rpc::notice("lines", &told));
        text.clear();
        sent && !progress.stopped()
    };
    let mut lines = |record: &[u8]| {
        portion.push_str(&String::from_utf8_lossy(record));
        portion.len() < PORTION || send(&mut portion)
    };
    let call = Call {
        method: &request.method,
        params: request.params.clone(),
        meta: &request.meta,
        progress: Arc::clone(progress),
        lines: &mut lines,
    };
    let told = house.answers.answer(call);
    send(&mut portion);
    told
}

fn tell_progress(line: &Line, id: &Value, progress: &Progress, done: &AtomicBool) {
    let (mut last, mut at) = ((0, 0), Instant::now());
    while !done.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let now = (progress.files.load(Relaxed), progress.of.load(Relaxed));
        if at.elapsed() >= PROGRESS && now != last {
            (last, at) = (now, Instant::now());
            line.send(&rpc::notice("progress", &json!({"id": id, "files": now.0, "of": now.1})));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_calls_stayed_below_what_is_told() {
        let mut slots = [0; 32];
        assert_eq!(quantile(&slots, 0.5), 1);
        (slots[3], slots[10]) = (94, 6);
        assert_eq!((quantile(&slots, 0.5), quantile(&slots, 0.95)), (8, 1024));
    }
}
