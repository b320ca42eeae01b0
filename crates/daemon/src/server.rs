//! Serves connections: one thread per connection and another per call, so that a long call does not block other requests.
//! Closing a connection cancels its calls.
//!
//! Does not know the operations; it answers only `hello`, `ping`, `daemon` and `drain` itself.

use crate::connection::Connection;
use crate::rpc::{self, MAX_REQUEST_BYTES, Meta, PROTOCOL_VERSION, Request};
use crate::{Error, log::Log};
use api::code_error::is_code_method;
use api::{Code, Progress};
use os::socket::{Listener, Stream};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One call, as passed to the handler.
pub struct Call<'a> {
    pub method: &'a str,
    pub params: Map<String, Value>,
    pub meta: &'a Meta,
    pub progress: Arc<Progress>,
    /// Receives records sent before the response; returns false to stop.
    pub on_record: &'a mut dyn FnMut(&[u8]) -> bool,
}

pub enum CallOutcome {
    Response(Value),
    /// The method does not exist.
    UnknownMethod,
}

pub trait CallHandler: Send + Sync + 'static {
    fn handle_call(&self, call: Call<'_>) -> Result<CallOutcome, api::Error>;
    /// Whether work is running that an upgrade or an idle exit should not interrupt.
    fn is_busy(&self) -> bool;
    /// Fields that the `daemon` method returns in addition to [`Counters`].
    fn process_figures(&self) -> Value;
}

/// Limits on connections, and on concurrent calls per connection.
const MAX_CONNECTIONS: u64 = 256;
const MAX_CALLS_PER_CONNECTION: u64 = 16;
/// Beyond the limit, the connection that was idle for longest ends, if it was for this time.
const IDLE_UNDER_PRESSURE: Duration = Duration::from_secs(1);
/// A client that has begun a line must finish it within this time.
const LINE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// Records are sent in chunks of this size, so that a large response does not need a message per record.
const CHUNK_BYTES: usize = 32 << 10;

/// Why the main loop should stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopRequest {
    Drain,
    Signal,
}

/// Counters since the daemon started.
#[derive(Debug, Default)]
pub struct Counters {
    pub connections: AtomicU64,
    pub calls: AtomicU64,
    pub failed: AtomicU64,
    pub foreign: AtomicU64,
    pub watched: AtomicU64,
    pub polled: AtomicU64,
    pub overflows: AtomicU64,
    pub caught_up: AtomicU64,
    pub rebound: AtomicU64,
    /// Per method, a histogram of latencies in microseconds, with slots as in [`slot_of`].
    latencies: Mutex<BTreeMap<String, [u64; SLOTS]>>,
}

impl Counters {
    fn record_latency(&self, method: &str, time: Duration) {
        let slot = slot_of(time.as_micros() as u64);
        let mut all = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        // Only known methods are counted, so there are at most as many entries as operations.
        all.entry(method.to_string()).or_insert([0; SLOTS])[slot] += 1;
    }

    fn to_json(&self) -> Value {
        let all = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |slots: &[u64; SLOTS]| {
            let ms = |share: f64| quantile_bound(slots, share) as f64 / 1000.0;
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

/// Four slots per doubling: a bound is at most a quarter above the true value, so that an alert at 100 ms does not come at 70.
const SLOTS: usize = 128;

/// The slot of a time in microseconds.
fn slot_of(micros: u64) -> usize {
    let Some(octave) = micros.max(1).ilog2().checked_sub(2) else { return micros as usize };
    let quarter = (micros >> octave) as usize & 3;
    ((octave as usize + 1) * 4 + quarter).min(SLOTS - 1)
}

/// The first time in microseconds that is beyond a slot.
fn end_of_slot(slot: usize) -> u64 {
    match slot {
        0..4 => slot as u64 + 1,
        _ => (slot as u64 % 4 + 5) << (slot / 4 - 1),
    }
}

/// The upper bound, in microseconds, of this share of the calls.
fn quantile_bound(slots: &[u64; SLOTS], share: f64) -> u64 {
    let wanted = (slots.iter().sum::<u64>() as f64 * share).ceil() as u64;
    let mut seen = 0;
    let slot = slots.iter().position(|count| {
        seen += count;
        seen >= wanted
    });
    end_of_slot(slot.unwrap_or(0))
}

/// State shared by all connections.
pub(crate) struct Server {
    pub(crate) handler: Arc<dyn CallHandler>,
    pub(crate) version: String,
    pub(crate) socket: PathBuf,
    pub(crate) log: Log,
    pub(crate) counters: Arc<Counters>,
    pub(crate) started: Instant,
    pub(crate) stop_sender: Sender<StopRequest>,
    /// Time of the latest request.
    pub(crate) last_request: Mutex<Instant>,
    pub(crate) closing: AtomicBool,
    pub(crate) running: Mutex<BTreeMap<u64, Arc<Progress>>>,
    /// Number of calls beyond the first of each connection.
    pub(crate) extra_calls: Arc<AtomicU64>,
    /// The connections by number, with the time of their latest request.
    pub(crate) open: Mutex<BTreeMap<u64, (Connection, Instant)>>,
}

impl Server {
    pub(crate) fn running_calls(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Progress>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_request(&self) {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn open_connections(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, (Connection, Instant)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection that was idle for longest, so that another client is served. Returns whether there was one.
    fn end_idle_connection(&self) -> bool {
        let mut open = self.open_connections();
        let idle = open.iter().filter(|(_, (connection, since))| {
            since.elapsed() >= IDLE_UNDER_PRESSURE && connection.running_calls().is_empty()
        });
        let Some(number) = idle.min_by_key(|(_, (_, since))| *since).map(|(number, _)| *number) else {
            return false;
        };
        if let Some((connection, _)) = open.remove(&number) {
            connection.close();
        }
        true
    }

    fn status_json(&self) -> Value {
        let mut status = json!({
            "version": self.version, "protocol": PROTOCOL_VERSION, "pid": std::process::id(),
            "uptime_seconds": self.started.elapsed().as_secs(), "socket": self.socket,
            "in_flight": self.running_calls().len(),
        });
        for more in [self.counters.to_json(), self.handler.process_figures()] {
            if let (Value::Object(status), Value::Object(more)) = (&mut status, more) {
                status.extend(more);
            }
        }
        status
    }
}

/// Accepts connections until the listener is shut down or the process ends.
pub(crate) fn spawn_accept_loop(server: &Arc<Server>, listener: &Arc<Listener>) -> Result<(), Error> {
    let (server, listener) = (Arc::clone(server), Arc::clone(listener));
    let listening = move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => admit_connection(&server, stream),
                // It was shut down: another listener has replaced it.
                Err(error) if error.kind() == ErrorKind::InvalidInput => return,
                // Too many open files: retry after a pause.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    };
    std::thread::Builder::new().name("listen".into()).spawn(listening).map_err(Error::Thread)?;
    Ok(())
}

fn admit_connection(server: &Arc<Server>, stream: Stream) {
    if !os::socket::is_own(&stream) {
        server.counters.foreign.fetch_add(1, Relaxed);
        server.log.write_entry("refused", &json!({"why": "another user"}));
        return;
    }
    if server.counters.connections.fetch_add(1, Relaxed) >= MAX_CONNECTIONS && !server.end_idle_connection() {
        server.counters.connections.fetch_sub(1, Relaxed);
        let busy = api::Error::new(Code::WriterBusy, "the daemon has too many connections");
        let _ = (&stream).write_all(rpc::format_failure(&Value::Null, &busy, false).as_bytes());
        return;
    }
    let host = Arc::clone(server);
    let spawned = std::thread::Builder::new().name("connection".into()).spawn(move || {
        serve_connection(&host, &stream);
        host.counters.connections.fetch_sub(1, Relaxed);
    });
    if spawned.is_err() {
        server.counters.connections.fetch_sub(1, Relaxed);
    }
}

fn serve_connection(server: &Arc<Server>, stream: &Stream) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Ok(writing) = stream.try_clone() else { return };
    let _ = stream.set_read_timeout(Some(LINE_TIMEOUT));
    let connection = Connection::new(writing, &server.extra_calls);
    let number = NUMBER.fetch_add(1, Relaxed);
    server.open_connections().insert(number, (connection.clone(), Instant::now()));
    let mut reader = BufReader::new(stream);
    let mut frame = Vec::new();
    while read_frame(&mut reader, &mut frame) {
        server.record_request();
        if let Some((_, since)) = server.open_connections().get_mut(&number) {
            *since = Instant::now();
        }
        match Request::parse(&frame) {
            Ok(request) => handle_request(server, &connection, request),
            Err(response) => drop(connection.send(&rpc::to_line(&response))),
        }
        frame.clear();
    }
    server.open_connections().remove(&number);
    if frame.len() > MAX_REQUEST_BYTES {
        connection.send(&rpc::to_line(&rpc::error_response(
            &Value::Null,
            -32600,
            "request exceeds the limit of 4 MB",
        )));
    }
    connection.running_calls().values().for_each(|progress| progress.cancel());
}

/// Reads one line. Returns false if the connection ended or the line is too long or too slow.
fn read_frame(reader: &mut BufReader<&Stream>, frame: &mut Vec<u8>) -> bool {
    let mut begun = None::<Instant>;
    loop {
        let left = (MAX_REQUEST_BYTES + 1).saturating_sub(frame.len()) as u64;
        match reader.by_ref().take(left).read_until(b'\n', frame) {
            Ok(_) if frame.last() == Some(&b'\n') => return true,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if frame.is_empty() {
                    continue;
                }
                if begun.get_or_insert_with(Instant::now).elapsed() >= LINE_TIMEOUT {
                    return false;
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

fn handle_request(server: &Arc<Server>, connection: &Connection, request: Request) {
    let id = request.id.clone().unwrap_or(Value::Null);
    let own = match request.method.as_str() {
        "ping" => json!({}),
        "hello" => json!({
            "version": server.version, "protocol": PROTOCOL_VERSION, "pid": std::process::id(), "zone": record::tz_override(),
        }),
        "daemon" => server.status_json(),
        "drain" => {
            // Respond first: the process may exit before the response is sent otherwise.
            connection.send(&rpc::format_result(&id, &json!({"draining": true})));
            let _ = server.stop_sender.send(StopRequest::Drain);
            return;
        }
        _ => return start_call(server, connection, request),
    };
    connection.send(&rpc::format_result(&id, &own));
}

fn start_call(server: &Arc<Server>, connection: &Connection, request: Request) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let id = request.id.clone().unwrap_or(Value::Null);
    let refused = match () {
        () if server.closing.load(Relaxed) => Some((Code::ShuttingDown, "the daemon is shutting down")),
        () if connection.running_calls().len() as u64 >= MAX_CALLS_PER_CONNECTION => {
            Some((Code::WriterBusy, "this connection already has 16 calls running"))
        }
        () => None,
    };
    if let Some((code, why)) = refused {
        let refused = api::Error::new(code, why);
        connection.send(&rpc::format_failure(&id, &refused, is_code_method(&request.method)));
        return;
    }
    let (number, progress) = (NUMBER.fetch_add(1, Relaxed), Arc::new(Progress::default()));
    server.running_calls().insert(number, Arc::clone(&progress));
    connection.running_calls().insert(number, Arc::clone(&progress));
    let (host, conn) = (Arc::clone(server), connection.clone());
    let work = move || {
        // A call that was cancelled while queued, or whose client has disconnected, is not run.
        let response = (!progress.is_cancelled() && conn.is_open())
            .then(|| run_call(&host, &conn, &request, &id, &progress));
        // The client may send its next call as soon as it has the response: by then this one must not count.
        conn.running_calls().remove(&number);
        if let Some(response) = response.filter(|_| request.id.is_some()) {
            conn.send(&response);
        }
        // Last: shutdown waits for this entry to disappear.
        host.running_calls().remove(&number);
    };
    if !connection.submit_call(Box::new(work)) {
        server.running_calls().remove(&number);
        connection.running_calls().remove(&number);
    }
}

fn run_call(
    server: &Server,
    connection: &Connection,
    request: &Request,
    id: &Value,
    progress: &Arc<Progress>,
) -> String {
    let began = Instant::now();
    let done = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        if request.meta.progress {
            scope.spawn(|| report_progress(connection, id, progress, &done));
        }
        let outcome =
            catch_unwind(AssertUnwindSafe(|| dispatch_call(server, connection, request, id, progress)));
        done.store(true, Relaxed);
        outcome
    });
    let crashed =
        |_| Err(api::Error::new(Code::InternalError, "the daemon crashed while handling this request"));
    let outcome = outcome.unwrap_or_else(crashed);
    server.counters.calls.fetch_add(1, Relaxed);
    match outcome {
        Ok(CallOutcome::UnknownMethod) => rpc::format_unknown_method(id, &request.method),
        Ok(CallOutcome::Response(answer)) => {
            server.counters.record_latency(&request.method, began.elapsed());
            rpc::format_result(id, &answer)
        }
        Err(error) => {
            server.counters.failed.fetch_add(1, Relaxed);
            // Log neither parameters nor messages: they may contain text from sessions.
            let mut entry = json!({"method": request.method, "code": error.code.word()});
            let is_about_code = is_code_method(&request.method);
            let error = if is_about_code { error.with_progress(progress).with_trace() } else { error };
            if let Some(id) = &error.details.trace_id {
                entry["trace"] = json!(id);
            }
            server.log.write_entry("failed", &entry);
            rpc::format_failure(id, &error, is_about_code)
        }
    }
}

fn dispatch_call(
    server: &Server,
    connection: &Connection,
    request: &Request,
    id: &Value,
    progress: &Arc<Progress>,
) -> Result<CallOutcome, api::Error> {
    let mut portion = String::new();
    let send = |text: &mut String| {
        let lost = [&progress.lost, &progress.lost_files].map(|figure| figure.load(Relaxed));
        let params = json!({"id": id, "text": text, "lost": lost[0], "lost_files": lost[1]});
        let sent = text.is_empty() || connection.send(&rpc::format_notification("lines", &params));
        text.clear();
        sent && !progress.is_cancelled()
    };
    let mut lines = |record: &[u8]| {
        portion.push_str(&String::from_utf8_lossy(record));
        portion.len() < CHUNK_BYTES || send(&mut portion)
    };
    let call = Call {
        method: &request.method,
        params: request.params.clone(),
        meta: &request.meta,
        progress: Arc::clone(progress),
        on_record: &mut lines,
    };
    let outcome = server.handler.handle_call(call);
    send(&mut portion);
    outcome
}

fn report_progress(connection: &Connection, id: &Value, progress: &Progress, done: &AtomicBool) {
    let (mut last, mut at) = ((0, 0), Instant::now());
    while !done.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let now = (progress.files.load(Relaxed), progress.of.load(Relaxed));
        if at.elapsed() >= PROGRESS_INTERVAL && now != last {
            (last, at) = (now, Instant::now());
            connection
                .send(&rpc::format_notification("progress", &json!({"id": id, "files": now.0, "of": now.1})));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_upper_bound_of_its_slot() {
        let mut slots = [0; SLOTS];
        assert_eq!(quantile_bound(&slots, 0.5), 1);
        (slots[slot_of(7)], slots[slot_of(1000)]) = (94, 6);
        assert_eq!((quantile_bound(&slots, 0.5), quantile_bound(&slots, 0.95)), (8, 1024));
    }

    #[test]
    fn the_bound_of_a_time_is_at_most_a_quarter_above_it() {
        for micros in (0..2000).chain([65_000, 97_000, 100_000, 5_000_000, 3_600_000_000]) {
            let (slot, bound) = (slot_of(micros), end_of_slot(slot_of(micros)));
            assert!(micros < bound && bound <= micros.max(3) * 5 / 4 + 1, "{micros}: {slot}, {bound}");
        }
        assert_eq!(end_of_slot(slot_of(u64::MAX)), end_of_slot(SLOTS - 1));
    }
}
