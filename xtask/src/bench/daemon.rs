//! `cargo xtask bench daemon`: the cost of a call over the socket relative to an echo server, of records through the
//! daemon relative to reading them directly, how soon an appended line is found, and the cost of an idle daemon.
//!
//! The long form, whose figures are in docs/performance.md:
//!
//!     cargo build --release
//!     cargo xtask bench daemon --idle 600 --root DIR
//!
//! `--root` is a source tree that is watched as well. Calls to the echo server and the daemon alternate.

use super::fixtures;
use super::workspace::{self, Binaries, Workspace};
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
const MAX_PING_RATIO: f64 = 3.0;
/// Limit for records over the socket, relative to reading them directly.
const MAX_RECORDS_RATIO: f64 = 1.5;
/// Limit for finding an appended line, in 99 of 100 cases.
const FOUND_LIMIT: Duration = Duration::from_secs(1);
/// Limit for the share of one core while idle.
const MAX_IDLE_SHARE: f64 = 0.005;
/// Factor for the limits in smoke mode: on a busy machine only large deviations mean anything.
const SMOKE_FACTOR: f64 = 5.0;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["many", "rounds", "idle", "root", "loci", "keep"], &["smoke", "strict"])?;
    let smoke = args.has_switch("smoke");
    let binaries = Binaries::find(args.path_value("loci").as_deref(), None, smoke)?;
    let work = Workspace::new(args.path_value("keep").as_deref())?;
    let many = args.number_value("many", if smoke { 500 } else { 10_000 })? as usize;
    let rounds = args.number_value("rounds", if smoke { 10 } else { 200 })?.max(2) as usize;
    let idle = Duration::from_secs(args.number_value("idle", if smoke { 5 } else { 600 })?);
    let home = work.corpus_folder(&format!("daemon-{many}"));
    fixtures::write_many_sessions(&home, many).map_err(to_message)?;
    println!("{}\n{many} transcripts", workspace::describe_machine());
    let sandbox = DaemonSandbox { loci: binaries.loci.clone(), home };
    sandbox.run_loci(&["index"], &sandbox.home)?;
    if let Some(root) = args.path_value("root") {
        sandbox.run_loci(&["code", "status", "--json"], &root)?;
    }
    let mut daemon = sandbox.start_daemon()?;
    let judged = sandbox.measure_all(&daemon, rounds, idle, if smoke { SMOKE_FACTOR } else { 1.0 });
    let _ = sandbox.run_loci(&["daemon", "stop"], &sandbox.home);
    let _ = daemon.wait();
    Ok(judged? || !(smoke || args.has_switch("strict")))
}

fn to_message(error: impl Display) -> String {
    error.to_string()
}

pub(super) struct DaemonSandbox {
    pub(super) loci: PathBuf,
    pub(super) home: PathBuf,
}

impl DaemonSandbox {
    fn loci_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.loci);
        command.env_clear().env("HOME", &self.home).env("LOCI_DAEMON", "use").args(args);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(super) fn run_loci(&self, args: &[&str], cwd: &Path) -> Result<Value, String> {
        let output = self.loci_command(args).current_dir(cwd).output().map_err(to_message)?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    fn daemon_status(&self) -> Result<Value, String> {
        self.run_loci(&["daemon", "status", "--json"], &self.home)
    }

    pub(super) fn start_daemon(&self) -> Result<Child, String> {
        let daemon =
            self.loci_command(&["daemon", "run"]).stdout(Stdio::null()).spawn().map_err(to_message)?;
        let until = Instant::now() + Duration::from_mins(2);
        // Wait until it watches all folders.
        while Instant::now() < until {
            if self.daemon_status()?["watched"].as_u64().unwrap_or(0) > 0 {
                return Ok(daemon);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("the daemon did not start".to_owned())
    }

    fn measure_all(
        &self,
        daemon: &Child,
        rounds: usize,
        idle: Duration,
        factor: f64,
    ) -> Result<bool, String> {
        let status = self.daemon_status()?;
        println!("watched {} folders, polled {}\n", status["watched"], status["polled"]);
        let socket = PathBuf::from(status["socket"].as_str().unwrap_or_default());
        let trips = self.measure_round_trips(&socket, rounds * 20)?;
        let mut fine = print_row("round trip, bare echo", trips.0, None);
        let bound = trips.0.mul_f64(MAX_PING_RATIO * factor);
        fine &= print_row("round trip, ping", trips.1, Some(bound));
        println!("    ratio {:.2}, at most {MAX_PING_RATIO}", trips.1.as_secs_f64() / trips.0.as_secs_f64());
        let mut found = self.measure_appended(&socket, rounds)?;
        found.sort_unstable();
        print_row("appended line found, median", found[found.len() / 2], None);
        fine &= print_row(
            "appended line found, p99",
            found[found.len() * 99 / 100],
            Some(FOUND_LIMIT.mul_f64(factor)),
        );
        let (alone, through) = self.measure_records((rounds / 10).clamp(2, 10))?;
        print_row("all messages, read directly", alone, None);
        fine &= print_row(
            "all messages, through the daemon",
            through,
            Some(alone.mul_f64(MAX_RECORDS_RATIO * factor)),
        );
        println!("    ratio {:.2}, at most {MAX_RECORDS_RATIO}", through.as_secs_f64() / alone.as_secs_f64());
        fine &= idle_cost(daemon.id(), idle, factor)?;
        Ok(fine)
    }

    /// Medians of an echo and of an empty call.
    fn measure_round_trips(&self, socket: &Path, rounds: usize) -> Result<(Duration, Duration), String> {
        let echo = self.home.join("echo.sock");
        let _ = std::fs::remove_file(&echo);
        let listener = UnixListener::bind(&echo).map_err(to_message)?;
        std::thread::spawn(move || listener.accept().map(|(stream, _)| echo_lines(stream)));
        let (mut echo_client, mut daemon_client) =
            (SocketClient::connect(&echo)?, SocketClient::connect(socket)?);
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let (mut echoes, mut pings) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            echoes.push(echo_client.round_trip(ping)?.0);
            pings.push(daemon_client.round_trip(ping)?.0);
        }
        echoes.sort_unstable();
        pings.sort_unstable();
        Ok((echoes[rounds / 2], pings[rounds / 2]))
    }

    /// Medians of a command that prints every message, alternating without and with the daemon.
    fn measure_records(&self, rounds: usize) -> Result<(Duration, Duration), String> {
        let time = |how: &str| -> Result<Duration, String> {
            let mut command = self.loci_command(&["query", "messages", "--all-projects", "-o", "jsonl"]);
            let began = Instant::now();
            command.env("LOCI_DAEMON", how).stdout(Stdio::null()).status().map_err(to_message)?;
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
    fn measure_appended(&self, socket: &Path, rounds: usize) -> Result<Vec<Duration>, String> {
        let mut line = SocketClient::connect(socket)?;
        let path = first_transcript(&self.home.join(".claude/projects")).ok_or("no transcript found")?;
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).map_err(to_message)?;
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
            file.write_all(format!("{record}\n").as_bytes()).map_err(to_message)?;
            while !line.round_trip(&format!("{request}\n"))?.1.contains(&format!("the {word}")) {
                if written.elapsed() > Duration::from_mins(1) {
                    return Err(format!("line {n} was not found"));
                }
            }
            all.push(written.elapsed());
        }
        Ok(all)
    }
}

fn echo_lines(stream: UnixStream) {
    let Ok(mut to) = stream.try_clone() else { return };
    let (mut from, mut line) = (BufReader::new(stream), Vec::new());
    while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        if to.write_all(&line).is_err() {
            return;
        }
        line.clear();
    }
}

struct SocketClient {
    reader: BufReader<UnixStream>,
}

impl SocketClient {
    fn connect(socket: &Path) -> Result<SocketClient, String> {
        let stream = UnixStream::connect(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
        stream.set_read_timeout(Some(Duration::from_mins(1))).map_err(to_message)?;
        Ok(SocketClient { reader: BufReader::new(stream) })
    }

    fn round_trip(&mut self, request: &str) -> Result<(Duration, String), String> {
        let began = Instant::now();
        self.reader.get_mut().write_all(request.as_bytes()).map_err(to_message)?;
        let mut response = String::new();
        self.reader.read_line(&mut response).map_err(to_message)?;
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

fn print_row(name: &str, took: Duration, bound: Option<Duration>) -> bool {
    let fine = bound.is_none_or(|bound| took <= bound);
    println!("{name:30} {:10.3} ms{}", took.as_secs_f64() * 1e3, if fine { "" } else { "  MISS" });
    fine
}

/// After a pause for pending work: the share of a core used, and the memory.
fn idle_cost(pid: u32, idle: Duration, factor: f64) -> Result<bool, String> {
    std::thread::sleep(idle.min(Duration::from_secs(30)));
    let (before, began) = (cpu_ticks(pid)?, Instant::now());
    std::thread::sleep(idle);
    // The kernel reports 100 ticks per second, independent of its timer frequency.
    let share = (cpu_ticks(pid)? - before) as f64 / 100.0 / began.elapsed().as_secs_f64();
    let fine = share <= MAX_IDLE_SHARE * factor;
    println!(
        "idle for {} s: {:.3} % of a core, {} MB resident{}",
        idle.as_secs(),
        share * 100.0,
        resident_bytes(pid)? / 1_000_000,
        if fine { "" } else { "  MISS" }
    );
    Ok(fine)
}

fn cpu_ticks(pid: u32) -> Result<u64, String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).map_err(to_message)?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no stat")?.1.split_whitespace().collect();
    let field = |n: usize| fields.get(n).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Ok(field(11) + field(12))
}

fn resident_bytes(pid: u32) -> Result<u64, String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(to_message)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    Ok(line.split_whitespace().next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * 1024)
}
