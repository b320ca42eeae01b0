//! `cargo xtask bench hook`: the latency of `loci hook` beyond that of starting any program.
//!
//! The long form, whose figures are in docs/performance.md:
//!
//!     cargo build --release
//!     cargo xtask bench hook --size 1G --rounds 200 --keep DIR
//!
//! Hooks and a program that does nothing alternate, so that a busy machine slows both.

use super::workspace::{self, Binaries, Corpus, Workspace};
use crate::Outcome;
use crate::args::Args;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Limit for the 95th percentile beyond the start of a process.
const MAX_OVERHEAD: Duration = Duration::from_millis(30);
/// The deadline of a hook.
const DEADLINE: Duration = Duration::from_millis(150);
/// Factor for the limits in smoke mode: on a busy machine only large deviations mean anything, and the build of the tests takes three
/// times as long.
const SMOKE_FACTOR: u32 = 15;

/// Latencies, from the start of a process to its end.
#[derive(Default)]
struct Latencies {
    name: &'static str,
    samples: Vec<Duration>,
    with_output: usize,
}

impl Latencies {
    fn named(name: &'static str) -> Latencies {
        Latencies { name, ..Latencies::default() }
    }

    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
    }
}

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["size", "seed", "rounds", "loci", "keep"], &["smoke", "strict"])?;
    let smoke = args.has_switch("smoke");
    let binaries = Binaries::find(args.path_value("loci").as_deref(), None, smoke)?;
    let work = Workspace::new(args.path_value("keep").as_deref())?;
    let size = args.size_value("size")?.unwrap_or(if smoke { 30_000_000 } else { 1_000_000_000 });
    let rounds = args.number_value("rounds", if smoke { 20 } else { 200 })?.max(1) as usize;
    let corpus = work.open_corpus(&binaries, "indexed", size, args.number_value("seed", 7)?, "")?;
    println!("{}\n{corpus}", workspace::describe_machine());
    run_with_input(&binaries.loci, &corpus.home, &["index", "-o", "json"], "")?;
    let sessions = list_sessions(&binaries.loci, &corpus)?;
    let all = measure_hooks(&binaries, &corpus, &sessions, rounds)?;
    Ok(judge_latencies(&all, smoke) || !(smoke || args.has_switch("strict")))
}

fn measure_hooks(
    binaries: &Binaries,
    corpus: &Corpus,
    sessions: &[Value],
    rounds: usize,
) -> Result<Vec<Latencies>, String> {
    let edited = EditedProject::new(binaries, corpus)?;
    let mut all = ["noop", "idle", "start", "prompt", "recall", "edit", "decided"].map(Latencies::named);
    let elsewhere =
        json!({"cwd": "/", "session_id": "none", "tool_input": {"file_path": "/missing"}}).to_string();
    for round in 0..rounds {
        let session = &sessions[round % sessions.len()];
        let input = |prompt: &str| {
            json!({"cwd": session["project"], "session_id": "none", "prompt": prompt}).to_string()
        };
        let recall = format!("as we discussed last time: {}", session["title"].as_str().unwrap_or_default());
        let calls: [(&Path, &[&str], String); 7] = [
            (&binaries.noop, &[], String::new()),
            // A hook that has nothing to look at.
            (&binaries.loci, &["hook", "before-edit"], elsewhere.clone()),
            (&binaries.loci, &["hook", "session-start"], input("")),
            (&binaries.loci, &["hook", "prompt"], input("fix the parser")),
            (&binaries.loci, &["hook", "prompt"], input(&recall)),
            (&binaries.loci, &["hook", "before-edit"], edited.input(round, "other_7")),
            (&binaries.loci, &["hook", "before-edit"], edited.input(round, "decided_7")),
        ];
        for (latencies, (program, args, stdin)) in all.iter_mut().zip(calls) {
            let (took, printed) = run_with_input(program, &corpus.home, args, &stdin)?;
            latencies.samples.push(took);
            latencies.with_output += usize::from(!printed.is_empty());
        }
    }
    Ok(all.into())
}

fn judge_latencies(all: &[Latencies], smoke: bool) -> bool {
    let ms = |latency: Duration| latency.as_secs_f64() * 1e3;
    let start = all[0].percentile(50);
    let (most, deadline) =
        if smoke { (MAX_OVERHEAD * SMOKE_FACTOR, DEADLINE * SMOKE_FACTOR) } else { (MAX_OVERHEAD, DEADLINE) };
    println!(
        "\n{:8} {:>8} {:>8} {:>8} {:>15} {:>7} {:>15}  printed",
        "", "p50 ms", "p95 ms", "p99 ms", "p95 beyond noop", "× noop", "p50 beyond idle"
    );
    let mut passed = true;
    for latencies in all {
        let beyond = latencies.percentile(95).saturating_sub(start);
        let fine = beyond <= most && latencies.percentile(99) <= deadline;
        passed &= fine;
        println!(
            "{:8} {:8.2} {:8.2} {:8.2} {:15.2} {:7.1} {:15.2}  {} of {}{}",
            latencies.name,
            ms(latencies.percentile(50)),
            ms(latencies.percentile(95)),
            ms(latencies.percentile(99)),
            ms(beyond),
            ms(latencies.percentile(50)) / ms(start),
            ms(latencies.percentile(50).saturating_sub(all[1].percentile(50))),
            latencies.with_output,
            latencies.samples.len(),
            if fine { "" } else { "  MISS" }
        );
    }
    passed
}

/// A repository with decisions about half of its functions, which were committed once more since without a change of code.
struct EditedProject {
    root: PathBuf,
}

/// Functions with and without a decision each: a file of 800 lines.
const FUNCTIONS: usize = 100;
/// Decisions that are stored. More of them are about other files.
const DECISIONS: usize = 40;

impl EditedProject {
    fn new(binaries: &Binaries, corpus: &Corpus) -> Result<EditedProject, String> {
        let root = corpus.home.join("edited");
        std::fs::create_dir_all(&root).map_err(|error| error.to_string())?;
        let root = std::fs::canonicalize(&root).map_err(|error| error.to_string())?;
        let project = EditedProject { root };
        let date = "2020-01-01T00:00:00Z";
        run_git(&project.root, date, &["init", "-q"])?;
        project.commit(date, "")?;
        for n in 0..DECISIONS {
            let text = format!("decided_{n} keeps the order of its rows");
            let root = project.root.to_string_lossy().into_owned();
            run_with_input(&binaries.loci, &corpus.home, &["memory", "add", &text, "--project", &root], "")?;
        }
        project.commit("2035-01-01T00:00:00Z", "    # as it was\n")?;
        Ok(project)
    }

    fn commit(&self, date: &str, comment: &str) -> Result<(), String> {
        let function =
            |name: &str, n: usize| format!("def {name}_{n}(rows):\n{comment}    return rows[{n}:]\n\n\n");
        let text: String = (0..FUNCTIONS).map(|n| function("decided", n) + &function("other", n)).collect();
        std::fs::write(self.root.join("rows.py"), text).map_err(|error| error.to_string())?;
        run_git(&self.root, date, &["add", "-A"])?;
        let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
        run_git(&self.root, date, &[&author[..], &["commit", "-q", "-m", "rows"]].concat())
    }

    /// The input before an edit of a function, in a session of its own.
    fn input(&self, round: usize, function: &str) -> String {
        let tool =
            json!({"file_path": self.root.join("rows.py"), "old_string": format!("def {function}(rows)")});
        json!({"cwd": self.root, "session_id": format!("edit-{round}"), "tool_name": "Edit", "tool_input": tool}).to_string()
    }
}

fn run_git(root: &Path, date: &str, args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("git");
    command.current_dir(root).args(args).env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    let output = command.output().map_err(|error| format!("git: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Sessions to recall, each with its title and project.
fn list_sessions(loci: &Path, corpus: &Corpus) -> Result<Vec<Value>, String> {
    let (_, listed) = run_with_input(loci, &corpus.home, &["sessions", "--limit", "40", "-o", "json"], "")?;
    let mut listed: Value = serde_json::from_slice(&listed).map_err(|error| error.to_string())?;
    match listed["sessions"].take() {
        Value::Array(all) if !all.is_empty() => Ok(all),
        _ => Err("the corpus has no sessions".to_owned()),
    }
}

/// Runs a command as an agent runs a hook; returns the elapsed time and the output.
fn run_with_input(
    program: &Path,
    home: &Path,
    args: &[&str],
    stdin: &str,
) -> Result<(Duration, Vec<u8>), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", program.display());
    let mut command = Command::new(program);
    // Git is found by its name.
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("HOME", home).env("LOCI_DAEMON", "off").args(args).current_dir(home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().map_err(fail)?;
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read its input may have exited.
        let _ = input.write_all(stdin.as_bytes());
    }
    let ended = child.wait_with_output().map_err(fail)?;
    Ok((started.elapsed(), ended.stdout))
}
