//! Generates histories in the format of Claude Code: the same bytes for the same seed on every machine and with any
//! number of threads, and a manifest of their exact content.
//!
//! Does not know the queries that will be run.

mod counts;
mod ids;
mod rng;
mod session;
mod text;
mod tools;

use crate::Outcome;
use crate::args::Args;
use counts::CorpusCounts;
use rng::Rng;
use session::{Owner, Session};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use text::{Project, Text};

pub(crate) const HELP: &str = "--out DIR --size 1G [--seed 7] [--threads N]\n\
    write a synthetic history to DIR/.claude and its expected counts to DIR/manifest.json";

/// Incremented when the bytes for a seed change, so that a kept corpus is not reused.
pub(crate) const VERSION: u64 = 1;

const PROJECTS: usize = 40;
/// 2026-01-01, and sessions begin within the half year after it.
const EPOCH_MS: u64 = 1_767_225_600_000;
const HALF_YEAR_S: usize = 180 * 86_400;
/// One session in this many is forked: about one file in a hundred.
const FORK_INTERVAL: usize = 70;
/// Once per this many planned bytes, a session contains a line of 1.4 MB.
const HUGE_LINE_INTERVAL: u64 = 100_000_000;

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["out", "size", "seed", "threads"], &[])?;
    let out = args.path_value("out").ok_or("missing --out DIR")?;
    let size = args.size_value("size")?.ok_or("missing --size")?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = args.number_value("threads", cores as u64)?.max(1) as usize;
    let started = Instant::now();
    let counts = generate_corpus(&out, size, args.number_value("seed", 7)?, threads)
        .map_err(|error| format!("{}: {error}", out.display()))?;
    let megabytes = counts.bytes as f64 / 1e6;
    let rate = megabytes / started.elapsed().as_secs_f64();
    println!("{} files, {} lines, {megabytes:.0} MB ({rate:.0} MB/s)", counts.files, counts.lines);
    Ok(true)
}

fn generate_corpus(out: &Path, size: u64, seed: u64, threads: usize) -> io::Result<CorpusCounts> {
    // Never overwrite a real history.
    if out.join(".claude").exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "already contains .claude"));
    }
    let text = Text::new(seed);
    let projects: Vec<Project> = (0..PROJECTS).map(|which| Project::new(seed, which)).collect();
    let plans = plan_sessions(size, seed);
    let root = out.join(".claude/projects");
    let generator = Generator { text, projects, root, seed };
    let next = AtomicUsize::new(0);
    let parts: io::Result<Vec<CorpusCounts>> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| generator.run_worker(&plans, &next))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a writing thread panicked")).collect()
    });
    let mut counts = CorpusCounts::default();
    parts?.iter().for_each(|part| counts.add(part));
    fs::write(out.join("manifest.json"), format!("{:#}\n", counts.to_manifest(size, seed)))?;
    Ok(counts)
}

/// A session, its subagents and its fork: the unit of work of a thread.
struct Plan {
    index: u64,
    size: usize,
    agents: Vec<usize>,
    fork: Option<usize>,
    huge: bool,
}

impl Plan {
    fn total_bytes(&self) -> u64 {
        (self.size + self.agents.iter().sum::<usize>() + self.fork.unwrap_or(0)) as u64
    }
}

/// Determines all sizes before anything is written, so that threads change nothing. Files average 640 KB.
fn plan_sessions(size: u64, seed: u64) -> Vec<Plan> {
    let mut rng = Rng::new(seed, 3, 0);
    let mut plans: Vec<Plan> = Vec::new();
    let mut planned = 0;
    while planned < size {
        let left = (size - planned) as usize;
        let index = plans.len();
        let main = rng.log_normal(650_000.0, 0.7, 60_000_000).min(left);
        let agents = [250, 120, 60]
            .map(|share| rng.per_mille(share).then(|| rng.log_normal(130_000.0, 0.8, 2_000_000)));
        let fork = (index % FORK_INTERVAL == 2).then(|| main + main / 4);
        let agents = agents.into_iter().flatten().filter(|agent| agent + main < left).collect();
        let mut plan = Plan { index: index as u64, size: main, agents, fork, huge: false };
        let before = planned;
        planned += plan.total_bytes();
        // The first one comes early, so that small corpora have one.
        plan.huge = (before + HUGE_LINE_INTERVAL - HUGE_LINE_INTERVAL / 5) / HUGE_LINE_INTERVAL
            != (planned + HUGE_LINE_INTERVAL - HUGE_LINE_INTERVAL / 5) / HUGE_LINE_INTERVAL;
        plans.push(plan);
    }
    plans
}

struct Generator {
    text: Text,
    projects: Vec<Project>,
    root: std::path::PathBuf,
    seed: u64,
}

impl Generator {
    fn run_worker(&self, plans: &[Plan], next: &AtomicUsize) -> io::Result<CorpusCounts> {
        let mut counts = CorpusCounts::default();
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            self.write_session(plan, &mut counts)?;
        }
        Ok(counts)
    }

    fn write_session(&self, plan: &Plan, counts: &mut CorpusCounts) -> io::Result<()> {
        let mut rng = Rng::new(self.seed, 4, plan.index);
        let project = rng.pick_favoured(&self.projects);
        let folder = self.root.join(&project.folder);
        let id = ids::draw_uuid(&mut rng);
        let start_ms = EPOCH_MS + rng.below(HALF_YEAR_S) as u64 * 1000;
        let owner = Owner { project, session: &id, agent: None, start_ms };
        let mut main = Session::new(&self.text, &owner, self.rng_stream(plan, 0), plan.huge);
        main.write_until(plan.size);
        save_transcript(&folder.join(format!("{id}.jsonl")), &main, counts)?;
        for (which, size) in (1..).zip(&plan.agents) {
            let agent = format!("a{:016x}", rng.next());
            let owner = Owner { agent: Some(&agent), start_ms: start_ms + which * 60_000, ..owner };
            let mut written = Session::new(&self.text, &owner, self.rng_stream(plan, which), false);
            written.write_until(*size);
            save_transcript(
                &folder.join(&id).join(format!("subagents/agent-{agent}.jsonl")),
                &written,
                counts,
            )?;
        }
        if let Some(size) = plan.fork {
            let id = ids::draw_uuid(&mut rng);
            let owner = Owner { session: &id, ..owner };
            let mut fork = Session::new(&self.text, &owner, self.rng_stream(plan, 99), false);
            fork.copy_history(&main, main.turns.len() - 1);
            fork.write_until(size);
            save_transcript(&folder.join(format!("{id}.jsonl")), &fork, counts)?;
        }
        Ok(())
    }

    fn rng_stream(&self, plan: &Plan, which: u64) -> Rng {
        Rng::new(self.seed, 5, plan.index * 100 + which)
    }
}

fn save_transcript(path: &Path, session: &Session<'_>, counts: &mut CorpusCounts) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut file = File::create(path)?;
    file.write_all(session.out.as_bytes())?;
    // Set the modification time to that of the last entry, as in a real history.
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(session.ms))?;
    counts.add(&session.counts);
    Ok(())
}

#[cfg(test)]
mod tests;
