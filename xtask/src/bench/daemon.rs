//! `cargo xtask bench daemon`: the cost of a call over the socket relative to an echo server, of records through the daemon
//! relative to reading them directly, how soon an appended line is found, and the cost of an idle daemon.
//!
//! The long form, whose figures are in docs/performance.md:
//!
//!     cargo build --release
//!     cargo xtask bench daemon --idle 600 --root DIR
//!
//! `--root` is a source tree that is watched as well. Calls to the echo server and the daemon alternate.

use super::place::{self, Binaries, Work};
use super::planted;
use crate::Outcome;
use crate::args::Args;
use serde_json::{Value, json};
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Limit for an empty round trip, relative to the echo server.
const ECHO: f64 = 3.0;
/// Limit for records over the socket, relative to reading them directly.
const RECORDS: f64 = 1.5;
/// Limit for finding an appended line, in 99 of 100 cases.
const FOUND: Duration = Duration::from_secs(1);
/// Limit for the share of one core while idle.
const IDLE: f64 = 0.005;
/// Factor for the limits in smoke mode: on a busy machine only large deviations mean anything.
const LOOSE: f64 = 5.0;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["many", "rounds", "idle", "root", "loci", "keep"], &["smoke", "strict"])?;
    let smoke = args.has("smoke");
    let binaries = Binaries::find(args.path("loci").as_deref(), None)?;
    let work = Work::new(args.path("keep").as_deref())?;
    let many = args.number("many", if smoke { 500 } else { 10_000 })? as usize;
    let rounds = args.number("rounds", if smoke { 10 } else { 200 })?.max(2) as usize;
    let idle = Duration::from_secs(args.number("idle", if smoke { 5 } else { 600 })?);
    let home = work.folder(&format!("daemon-{many}"));
    planted::many(&home, many).map_err(told)?;
    println!("{}\n{many} transcripts", place::machine());
    let sandbox = House { loci: binaries.loci.clone(), home };
    sandbox.loci(&["index"], &sandbox.home)?;
    if let Some(root) = args.path("root") {
        sandbox.loci(&["code", "status", "--json"], &root)?;
    }
    let mut daemon = sandbox.serve()?;
    let judged = sandbox.measured(&daemon, rounds, idle, if smoke { LOOSE } else { 1.0 });
    let _ = sandbox.loci(&["daemon", "stop"], &sandbox.home);
    let _ = daemon.wait();
    Ok(judged? || !(smoke || args.has("strict")))
}

fn told(error: impl Display) -> String {
    error.to_string()
}

struct House {
    loci: PathBuf,
    home: PathBuf,
}

impl House {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.loci);
        command.env_clear().env("HOME", &self.home).env("LOCI_DAEMON", "use").args(args);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn loci(&self, args: &[&str], cwd: &Path) -> Result<Value, String> {
        let output = self.command(args).current_dir(cwd).output().map_err(told)?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    fn status(&self) -> Result<Value, String> {
        self.loci(&["daemon", "status", "--json"], &self.home)
    }

    fn serve(&self) -> Result<Child, String> {
        let daemon = self.command(&["daemon", "run"]).stdout(Stdio::null()).spawn().map_err(told)?;
        let until = Instant::now() + Duration::from_mins(2);
        // Wait until it watches all folders.
        while Instant::now() < until {
            if self.status()?["watched"].as_u64().unwrap_or(0) > 0 {
                return Ok(daemon);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("the daemon did not start".to_owned())
    }

    fn measured(&self, daemon: &Child, rounds: usize, idle: Duration, loose: f64) -> Result<bool, String> {
        let status = self.status()?;
        println!("watched {} folders, polled {}\n", status["watched"], status["polled"]);
        let socket = PathBuf::from(status["socket"].as_str().unwrap_or_default());
        let trips = self.round_trips(&socket, rounds * 20)?;
        let mut fine = row("round trip, bare echo", trips.0, None);
        let bound = trips.0.mul_f64(ECHO * loose);
        fine &= row("round trip, ping", trips.1, Some(bound));
        println!("    ratio {:.2}, at most {ECHO}", trips.1.as_secs_f64() / trips.0.as_secs_f64());
        let mut found = self.appended(&socket, rounds)?;
        found.sort_unstable();
        row("appended line found, median", found[found.len() / 2], None);
        fine &= row("appended line found, p99", found[found.len() * 99 / 100], Some(FOUND.mul_f64(loose)));
        let (alone, through) = self.records((rounds / 10).clamp(2, 10))?;
        row("all messages, read directly", alone, None);
        fine &= row("all messages, through the daemon", through, Some(alone.mul_f64(RECORDS * loose)));
        println!("    ratio {:.2}, at most {RECORDS}", through.as_secs_f64() / alone.as_secs_f64());
        fine &= idle_cost(daemon.id(), idle, loose)?;
        Ok(fine)
    }

    /// Medians of an echo and of an empty call.
    fn round_trips(&self, socket: &Path, rounds: usize) -> Result<(Duration, Duration), String> {
        let echo = self.home.join("echo.sock");
        let _ = std::fs::remove_file(&echo);
        let listener = UnixListener::bind(&echo).map_err(told)?;
        std::thread::spawn(move || listener.accept().map(|(stream, _)| repeat(stream)));
        let (mut bare, mut ours) = (Line::to(&echo)?, Line::to(socket)?);
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let (mut bares, mut pings) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            bares.push(bare.trip(ping)?.0);
            pings.push(ours.trip(ping)?.0);
        }
        bares.sort_unstable();
        pings.sort_unstable();
        Ok((bares[rounds / 2], pings[rounds / 2]))
    }

    /// Medians of a command that prints every message, alternating without and with the daemon.
    fn records(&self, rounds: usize) -> Result<(Duration, Duration), String> {
        let time = |how: &str| -> Result<Duration, String> {
            let mut command = self.command(&["query", "messages", "--all-projects", "-o", "jsonl"]);
            let began = Instant::now();
            command.env("LOCI_DAEMON", how).stdout(Stdio::null()).status().map_err(told)?;
            Ok(began.elapsed())
        };
        let (mut alone, mut through) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            alone.push(time("off")?);
            through.push(time("use")?);
        }
        alone.sort_unstable();
        through.sort_unstable();
        Ok((alone[rounds / 2], through[rounds / 2]))
    }

    /// How long each line took from being written to being found over the socket.
    fn appended(&self, socket: &Path, rounds: usize) -> Result<Vec<Duration>, String> {
        let mut line = Line::to(socket)?;
        let path = first_transcript(&self.home.join(".claude/projects")).ok_or("no transcript found")?;
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).map_err(told)?;
        let mut all = Vec::new();
        for n in 0..rounds {
            let word = format!("quokka{n}x{}", std::process::id());
            let record = json!({
                "type": "user", "uuid": format!("q{n}"), "sessionId": path.file_stem().map(|s| s.to_string_lossy().into_owned()),
                "timestamp": "2026-03-04T10:00:00.000Z", "cwd": "/srv/demo", "message": {"role": "user", "content": format!("the {word} is here")},
            });
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "search_conversations", "params": {
                "intent_query": word, "_meta": {"cwd": self.home, "vars": {"HOME": self.home}}}});
            let written = Instant::now();
            file.write_all(format!("{record}\n").as_bytes()).map_err(told)?;
            while !line.trip(&format!("{request}\n"))?.1.contains(&format!("the {word}")) {
                if written.elapsed() > Duration::from_mins(1) {
                    return Err(format!("line {n} was not found"));
                }
            }
            all.push(written.elapsed());
        }
        Ok(all)
    }
}

fn repeat(stream: UnixStream) {
    let Ok(mut to) = stream.try_clone() else { return };
    let (mut from, mut line) = (BufReader::new(stream), Vec::new());
    while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        if to.write_all(&line).is_err() {
            return;
        }
        line.clear();
    }
}

struct Line {
    reader: BufReader<UnixStream>,
}

impl Line {
    fn to(socket: &Path) -> Result<Line, String> {
        let stream = UnixStream::connect(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
        stream.set_read_timeout(Some(Duration::from_mins(1))).map_err(told)?;
        Ok(Line { reader: BufReader::new(stream) })
    }

    fn trip(&mut self, request: &str) -> Result<(Duration, String), String> {
        let began = Instant::now();
        self.reader.get_mut().write_all(request.as_bytes()).map_err(told)?;
        let mut response = String::new();
        self.reader.read_line(&mut response).map_err(told)?;
        Ok((began.elapsed(), response))
    }
}

fn first_transcript(folder: &Path) -> Option<PathBuf> {
    let projects = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = projects
        .flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()))
        .collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files.into_iter().next()
}

fn row(name: &str, took: Duration, bound: Option<Duration>) -> bool {
    let fine = bound.is_none_or(|bound| took <= bound);
    println!("{name:30} {:10.3} ms{}", took.as_secs_f64() * 1e3, if fine { "" } else { "  MISS" });
    fine
}

/// After a pause for pending work: the share of a core used, and the memory.
fn idle_cost(pid: u32, idle: Duration, loose: f64) -> Result<bool, String> {
    std::thread::sleep(idle.min(Duration::from_secs(30)));
    let (before, began) = (ticks(pid)?, Instant::now());
    std::thread::sleep(idle);
    // The kernel reports 100 ticks per second, whatever its own timer frequency is.
    let share = (ticks(pid)? - before) as f64 / 100.0 / began.elapsed().as_secs_f64();
    let fine = share <= IDLE * loose;
    println!(
        "idle for {} s: {:.3} % of a core, {} MB resident{}",
        idle.as_secs(),
        share * 100.0,
        resident(pid)? / 1_000_000,
        if fine { "" } else { "  MISS" }
    );
    Ok(fine)
}

fn ticks(pid: u32) -> Result<u64, String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).map_err(told)?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no stat")?.1.split_whitespace().collect();
    let field = |n: usize| fields.get(n).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Ok(field(11) + field(12))
}

fn resident(pid: u32) -> Result<u64, String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(told)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    Ok(line.split_whitespace().next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * 1024)
}
