//! `cargo xtask bench sync --black-hole`: what local commands cost while the storage of `loci sync` accepts connections and never answers.
//!
//! Two homes with the same history, one of them synchronised, each with and without a daemon that tries a round every second. A command
//! is run in both homes by turns, so that a busy machine slows both.

use super::fixtures;
use super::goal::judge;
use super::workspace::{Binaries, Workspace, describe_machine};
use crate::Outcome;
use crate::args::Args;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const MAX_RATIO: f64 = 1.05;
const COMMANDS: &[(&str, &[&str])] = &[
    ("sessions", &["sessions", "--limit", "20"]),
    ("search", &["search", "the pager of the parser", "--limit", "5"]),
    ("hook", &["hook", "session-start"]),
];

pub(super) fn run(args: &Args) -> Outcome {
    let given = args.path_value("loci").map(|path| fs::canonicalize(path).map_err(to_message));
    let loci = given.unwrap_or_else(|| Binaries::find(None, None, false).map(|found| found.loci))?;
    let work = Workspace::new(args.path_value("keep").as_deref())?;
    let many = args.number_value("many", 2_000)? as usize;
    let rounds = args.number_value("rounds", 40)?.max(5) as usize;
    let hole = BlackHole::open()?;
    let alone = Device::new(&loci, work.corpus_folder("hole-alone"), many, None)?;
    let joined = Device::new(&loci, work.corpus_folder("hole-joined"), many, Some(&hole))?;
    joined.start_sync(&work.corpus_folder("hole-bucket"))?;
    println!("{}\n{many} sessions, {rounds} rounds", describe_machine());
    let mut is_within = measure_all("no daemon", &alone, &joined, rounds)?;
    let daemons = [alone.start_daemon()?, joined.start_daemon()?];
    let with_daemons = measure_all("daemon", &alone, &joined, rounds);
    for mut daemon in daemons {
        let _ = daemon.kill();
        let _ = daemon.wait();
    }
    is_within &= with_daemons?;
    let connections = hole.connections.load(Ordering::Relaxed);
    println!("       the storage was asked {connections} times and never answered");
    if connections == 0 {
        return Err("the daemon did not try the storage".to_owned());
    }
    Ok(is_within || !args.has_switch("strict"))
}

/// Accepts connections, reads nothing and answers nothing.
struct BlackHole {
    port: u16,
    connections: Arc<AtomicU64>,
}

impl BlackHole {
    fn open() -> Result<BlackHole, String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(to_message)?;
        let port = listener.local_addr().map_err(to_message)?.port();
        let connections = Arc::new(AtomicU64::new(0));
        let count = connections.clone();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::Relaxed);
                open.push(stream);
            }
        });
        Ok(BlackHole { port, connections })
    }
}

fn to_message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A home, with the storage that it would use.
struct Device {
    loci: PathBuf,
    home: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Device {
    fn new(loci: &Path, home: PathBuf, many: usize, hole: Option<&BlackHole>) -> Result<Device, String> {
        fixtures::write_many_sessions(&home, many).map_err(to_message)?;
        let variables = hole.map_or_else(Vec::new, |hole| {
            vec![
                ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", hole.port)),
                ("AWS_ALLOW_HTTP", "true".to_owned()),
                ("AWS_ACCESS_KEY_ID", "none".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "none".to_owned()),
                ("AWS_REGION", "none".to_owned()),
            ]
        });
        let device = Device { loci: loci.to_path_buf(), home, variables };
        device.run(&["index"], false)?;
        // A round creates the memory; both must have one to read.
        device.run(&["memory", "add", "Deploy only from main"], false)?;
        Ok(device)
    }

    fn command(&self, args: &[&str], with_daemon: bool) -> Command {
        let mut command = Command::new(&self.loci);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.home).args(args);
        command.env("LOCI_DAEMON", if with_daemon { "on" } else { "off" }).env("LOCI_SYNC_SECONDS", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).current_dir(&self.home);
        command
    }

    /// The time from the start of a process to its end, and its output.
    fn run(&self, args: &[&str], with_daemon: bool) -> Result<(Duration, Vec<u8>), String> {
        let mut command = self.command(args, with_daemon);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().map_err(to_message)?;
        let input = json!({"session_id": "none", "cwd": self.home, "source": "startup"});
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input may have exited.
            let _ = stdin.write_all(input.to_string().as_bytes());
        }
        let output = child.wait_with_output().map_err(to_message)?;
        Ok((started.elapsed(), output.stdout))
    }

    /// Starts to synchronise with a folder, in which another device has sessions, then loses the storage.
    fn start_sync(&self, bucket: &Path) -> Result<(), String> {
        for folder in [bucket.to_path_buf(), self.home.join(".local/share/loci/sync")] {
            let _ = fs::remove_dir_all(folder);
        }
        fs::create_dir_all(bucket).map_err(to_message)?;
        let url = bucket.to_string_lossy();
        self.run(&["sync", "init", "--show-phrase", &url, "--label", "bench"], false)?;
        let (_, round) = self.run(&["sync", "now"], false)?;
        let round: Value = serde_json::from_slice(&round).map_err(to_message)?;
        if round["sent"].as_u64().unwrap_or(0) == 0 {
            return Err(format!("nothing was sent: {round}"));
        }
        let path = self.home.join(".local/share/loci/sync/settings.json");
        let text = fs::read_to_string(&path).map_err(to_message)?;
        let mut settings: Value = serde_json::from_str(&text).map_err(to_message)?;
        settings["url"] = json!("s3://hole/loci");
        fs::write(&path, settings.to_string()).map_err(to_message)
    }

    fn start_daemon(&self) -> Result<Child, String> {
        let mut command = self.command(&["daemon", "run"], true);
        let daemon = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(to_message)?;
        let until = Instant::now() + Duration::from_mins(2);
        while Instant::now() < until {
            let (_, status) = self.run(&["daemon", "status", "--json"], true)?;
            let status: Value = serde_json::from_slice(&status).unwrap_or_default();
            if status["watched"].as_u64().unwrap_or(0) > 0 {
                // The first round has begun, and hangs.
                std::thread::sleep(Duration::from_secs(3));
                return Ok(daemon);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("the daemon did not start".to_owned())
    }
}

fn measure_all(how: &str, alone: &Device, joined: &Device, rounds: usize) -> Result<bool, String> {
    let with_daemon = how == "daemon";
    let mut is_within = true;
    for (name, args) in COMMANDS {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // Neither is always the second.
            let mut pair = [(alone, &mut without), (joined, &mut with)];
            pair.rotate_left(round % 2);
            for (device, times) in pair {
                let (took, printed) = device.run(args, with_daemon)?;
                if printed.is_empty() && *name != "hook" {
                    return Err(format!("{name} printed nothing"));
                }
                times.push(took);
            }
        }
        let (before, after) = (median(&mut without), median(&mut with));
        println!("       {name}, {how}: {:.1} ms without sync, {:.1} ms with", ms(before), ms(after));
        let what = format!("{name}, {how}: time without storage to that without sync");
        is_within &= judge(&what, ms(after) / ms(before), MAX_RATIO, "");
    }
    Ok(is_within)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
