//! A proxy between Loci and a storage server that breaks what passes: throttling, errors, stalls, lost acknowledgements, cut, short
//! and changed contents, old lists and wrong clocks. Counts every request.
//!
//! Knows just enough of HTTP/1.1 for one request per connection. Does not know what the objects contain.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFault {
    /// 503 `SlowDown`, as S3 throttles.
    SlowDown,
    /// 429, as others do.
    TooManyRequests,
    /// 500; the server was not asked.
    ServerError,
    /// The answer comes after a pause that is longer than the timeout of the test.
    Stall,
    /// The server has acted, and the connection ends before the answer.
    LostAnswer,
    /// The connection ends in the middle of the content.
    CutOff,
    /// The content ends early, and the header says so as well.
    Shortened,
    /// One bit of the content differs.
    Flipped,
    /// A list as it was at an earlier request.
    StaleList,
    /// The server's clock is decades ahead.
    DateAhead,
    /// The server refuses the request because of the client's clock, as S3 does beyond 15 minutes.
    ClockRefused,
}

impl WireFault {
    pub const ALL: [WireFault; 11] = [
        WireFault::SlowDown,
        WireFault::TooManyRequests,
        WireFault::ServerError,
        WireFault::Stall,
        WireFault::LostAnswer,
        WireFault::CutOff,
        WireFault::Shortened,
        WireFault::Flipped,
        WireFault::StaleList,
        WireFault::DateAhead,
        WireFault::ClockRefused,
    ];

    /// The answer in place of the server's, if it is not asked.
    fn refusal(self) -> Option<Vec<u8>> {
        let (status, code) = match self {
            WireFault::SlowDown => ("503 Slow Down", "SlowDown"),
            WireFault::TooManyRequests => ("429 Too Many Requests", "TooManyRequests"),
            WireFault::ServerError => ("500 Internal Server Error", "InternalError"),
            WireFault::ClockRefused => ("403 Forbidden", "RequestTimeTooSkewed"),
            _ => return None,
        };
        let body =
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>injected</Message></Error>");
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {}", body.len());
        Some(format!("{head}\r\nConnection: close\r\n\r\n{body}").into_bytes())
    }
}

/// Longer than the timeout that tests set.
const STALL: Duration = Duration::from_secs(3);

/// A request that the proxy has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRequest {
    pub method: String,
    pub target: String,
    pub fault: Option<WireFault>,
}

#[derive(Default)]
struct Plan {
    faults: Vec<WireFault>,
    percent: u64,
    random: u64,
    /// Bytes a second; 0 for no limit.
    speed: u64,
    seen: Vec<SeenRequest>,
    /// The answers to each list so far.
    lists: BTreeMap<String, Vec<Vec<u8>>>,
}

/// Ends with the test.
pub struct FaultyProxy {
    port: u16,
    plan: Arc<Mutex<Plan>>,
    is_over: Arc<AtomicBool>,
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl FaultyProxy {
    /// Starts a proxy to a server on loopback. Without faults, it passes everything on.
    pub fn start(server: u16) -> FaultyProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (plan, is_over) = (Arc::new(Mutex::new(Plan::default())), Arc::new(AtomicBool::new(false)));
        let (shared, ended) = (Arc::clone(&plan), Arc::clone(&is_over));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let plan = Arc::clone(&shared);
                // A client that hangs up is none of the proxy's business.
                std::thread::spawn(move || drop(pass_on(stream, server, &plan)));
            }
        });
        FaultyProxy { port, plan, is_over }
    }

    /// The same variables, with the proxy in place of the server.
    pub fn variables(&self, server: &[(String, String)]) -> Vec<(String, String)> {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let own = |(name, value): &(String, String)| match name.as_str() {
            "AWS_ENDPOINT" => (name.clone(), endpoint.clone()),
            _ => (name.clone(), value.clone()),
        };
        server.iter().map(own).collect()
    }

    /// From now on, this share of the requests goes wrong in one of these ways.
    pub fn inject(&self, faults: &[WireFault], percent: u64, seed: u64) {
        let mut plan = self.plan.lock().unwrap();
        (plan.faults, plan.percent, plan.random) = (faults.to_vec(), percent, seed * 2 + 1);
    }

    pub fn stop_faults(&self) {
        self.inject(&[], 0, 1);
    }

    /// From now on, contents pass at this many bytes a second, in both directions. 0: as fast as they come.
    pub fn limit_speed(&self, bytes_per_second: u64) {
        self.plan.lock().unwrap().speed = bytes_per_second;
    }

    /// The requests since the last call.
    pub fn take_seen(&self) -> Vec<SeenRequest> {
        std::mem::take(&mut self.plan.lock().unwrap().seen)
    }
}

impl Plan {
    /// xorshift64*, so that a failing seed can be run again.
    fn draw(&mut self, limit: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit.max(1)
    }

    fn decide(&mut self, request: &Request) -> Option<WireFault> {
        let is_hit = !self.faults.is_empty() && self.draw(100) < self.percent;
        let which = self.draw(self.faults.len() as u64) as usize;
        let fault = self.faults.get(which).copied().filter(|_| is_hit);
        let (method, target) = (request.method.clone(), request.target.clone());
        self.seen.push(SeenRequest { method, target, fault });
        fault
    }
}

struct Request {
    method: String,
    target: String,
    bytes: Vec<u8>,
}

impl Request {
    fn is_list(&self) -> bool {
        self.method == "GET" && self.target.contains("list-type")
    }
}

fn find_body(message: &[u8]) -> Option<usize> {
    message.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4)
}

fn header(head: &str, name: &str) -> Option<String> {
    let line = head.lines().find(|line| {
        line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            && line[name.len()..].starts_with(':')
    })?;
    Some(line[name.len() + 1..].trim().to_owned())
}

/// Reads one message with its content, of which the header says the length.
fn read_message(stream: &mut TcpStream, speed: u64) -> std::io::Result<Vec<u8>> {
    let (mut message, mut chunk) = (Vec::new(), [0; 64 << 10]);
    loop {
        if let Some(body) = find_body(&message) {
            let head = String::from_utf8_lossy(&message[..body]).into_owned();
            let length = header(&head, "content-length").and_then(|length| length.parse().ok());
            if message.len() >= body + length.unwrap_or(0) {
                return Ok(message);
            }
        }
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Ok(message);
        }
        message.extend_from_slice(&chunk[..read]);
        pause_after(read, speed);
    }
}

/// Waits as long as the bytes take on a slow line.
fn pause_after(bytes: usize, speed: u64) {
    if speed > 0 {
        std::thread::sleep(Duration::from_secs_f64(bytes as f64 / speed as f64));
    }
}

fn read_request(stream: &mut TcpStream, speed: u64) -> std::io::Result<Option<Request>> {
    let bytes = read_message(stream, speed)?;
    let line = String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned();
    let mut words = line.split(' ').map(str::to_owned);
    let request = words.next().zip(words.next());
    Ok(request.map(|(method, target)| Request { method, target, bytes }))
}

fn ask_server(request: &Request, server: u16) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", server))?;
    let line = request.bytes.windows(2).position(|end| end == b"\r\n").map_or(0, |at| at + 2);
    stream.write_all(&request.bytes[..line])?;
    stream.write_all(b"Connection: close\r\n")?;
    stream.write_all(&request.bytes[line..])?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

fn pass_on(mut client: TcpStream, server: u16, plan: &Mutex<Plan>) -> std::io::Result<()> {
    let speed = plan.lock().unwrap().speed;
    let Some(request) = read_request(&mut client, speed)? else { return Ok(()) };
    let fault = plan.lock().unwrap().decide(&request);
    if let Some(refusal) = fault.and_then(WireFault::refusal) {
        return client.write_all(&refusal);
    }
    let answer = ask_server(&request, server)?;
    let answer = if request.is_list() { remember_list(plan, &request, fault, answer) } else { answer };
    let (mut head, mut body) = split_answer(&answer);
    let at = plan.lock().unwrap().draw(body.len() as u64) as usize;
    match fault {
        Some(WireFault::LostAnswer) => return Ok(()),
        Some(WireFault::Stall) => std::thread::sleep(STALL),
        Some(WireFault::Flipped) if request.method == "GET" => {
            body.get_mut(at).into_iter().for_each(|byte| *byte ^= 0x10);
        }
        Some(WireFault::CutOff) if request.method == "GET" => body.truncate(at),
        Some(WireFault::Shortened) if request.method == "GET" => {
            body.truncate(at);
            head = replace_header(&head, "content-length", &body.len().to_string());
        }
        Some(WireFault::DateAhead) => head = replace_header(&head, "date", "Sat, 28 Nov 2099 00:00:00 GMT"),
        _ => {}
    }
    client.write_all(replace_header(&head, "connection", "close").as_bytes())?;
    client.write_all(b"\r\n")?;
    for chunk in body.chunks(64 << 10) {
        client.write_all(chunk)?;
        pause_after(chunk.len(), speed);
    }
    Ok(())
}

fn remember_list(
    plan: &Mutex<Plan>,
    request: &Request,
    fault: Option<WireFault>,
    answer: Vec<u8>,
) -> Vec<u8> {
    let mut plan = plan.lock().unwrap();
    let before = plan.lists.entry(request.target.clone()).or_default();
    let is_stale = fault == Some(WireFault::StaleList);
    let old = before.len().checked_sub(4).or(before.len().checked_sub(1)).filter(|_| is_stale);
    let shown = old.and_then(|at| before.get(at).cloned());
    before.push(answer.clone());
    shown.unwrap_or(answer)
}

/// The header lines, each with its end, and the content.
fn split_answer(answer: &[u8]) -> (String, Vec<u8>) {
    let body = find_body(answer).unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..body]).trim_end().to_owned() + "\r\n";
    (head, answer[body..].to_vec())
}

fn replace_header(head: &str, name: &str, value: &str) -> String {
    let is_other = |line: &&str| {
        !line.get(..name.len() + 1).is_some_and(|start| start.eq_ignore_ascii_case(&format!("{name}:")))
    };
    let lines: String = head.lines().filter(is_other).map(|line| format!("{line}\r\n")).collect();
    format!("{lines}{name}: {value}\r\n")
}
