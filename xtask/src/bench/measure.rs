//! Runs commands alternately and records the cost of each run.
//!
//! Linux reports the CPU time of finished children in ticks of 10 ms but accumulates it with a finer resolution, so a
//! short command is run several times and the sum divided. Does not judge the cost.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough that a tick is a few hundredths of it.
const MIN_SAMPLE_TIME: Duration = Duration::from_millis(600);
const MAX_REPEATS: u32 = 50;

/// A command and how often to run it.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    /// Values for one more argument; each run takes the next.
    pub(super) rotating_args: Vec<OsString>,
    /// Paths removed before each run, so that it starts from scratch.
    pub(super) removed_before: Vec<PathBuf>,
    pub(super) next_arg: Cell<usize>,
    /// The home and the working directory.
    pub(super) home: PathBuf,
    /// The value of `LOCI_DAEMON`.
    pub(super) daemon: &'static str,
    /// An accepted exit code besides 0.
    pub(super) accepted_exit: Option<i32>,
    pub(super) rounds: usize,
    /// Runs per sample; determined by a trial run if absent.
    pub(super) repeats: Option<u32>,
    /// The newline scan of the same corpus.
    pub(super) scan: Option<String>,
}

impl Case {
    pub(super) fn new(name: &str, program: &Path, home: &Path, args: &[&str]) -> Case {
        Case {
            name: name.to_owned(),
            program: program.to_path_buf(),
            args: args.iter().map(OsString::from).collect(),
            rotating_args: Vec::new(),
            removed_before: Vec::new(),
            next_arg: Cell::new(0),
            home: home.to_path_buf(),
            daemon: "off",
            accepted_exit: None,
            rounds: 1,
            repeats: None,
            scan: None,
        }
    }

    fn spawn_command(&self, stdout: Stdio, stderr: Stdio) -> Result<Child, String> {
        for path in &self.removed_before {
            let _ = fs::remove_dir_all(path);
        }
        let mut command = Command::new(&self.program);
        // Isolated from the user's own configuration and history.
        command.env_clear().env("HOME", &self.home).env("LOCI_DAEMON", self.daemon).env("LC_ALL", "C.UTF-8");
        command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
        command.args(&self.args).current_dir(&self.home);
        if !self.rotating_args.is_empty() {
            command.arg(&self.rotating_args[self.next_arg.get() % self.rotating_args.len()]);
            self.next_arg.set(self.next_arg.get() + 1);
        }
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        command.spawn().map_err(|error| format!("{}: {error}", self.program.display()))
    }

    fn check_status(&self, status: ExitStatus) -> Result<(), String> {
        if status.success() || (status.code().is_some() && status.code() == self.accepted_exit) {
            return Ok(());
        }
        let args: Vec<_> = self.args.iter().take(12).map(|arg| arg.to_string_lossy()).collect();
        Err(format!("{}: {status}: {} {}", self.name, self.program.display(), args.join(" ")))
    }

    /// Runs the command and returns its standard output.
    pub(super) fn run_for_output(&self) -> Result<String, String> {
        let done = self.spawn_command(Stdio::piped(), Stdio::inherit())?.wait_with_output();
        let done = done.map_err(|error| error.to_string())?;
        self.check_status(done.status)?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn run_timed(&self) -> Result<f64, String> {
        let started = Instant::now();
        let status =
            self.spawn_command(Stdio::null(), Stdio::null())?.wait().map_err(|error| error.to_string())?;
        let wall = started.elapsed().as_secs_f64();
        self.check_status(status).map(|()| wall)
    }

    fn take_sample(&self, repeats: u32) -> Result<Sample, String> {
        let before = children_cpu()?;
        let walls = (0..repeats).map(|_| self.run_timed()).collect::<Result<Vec<f64>, String>>()?;
        let cpu = (children_cpu()? - before) / f64::from(repeats);
        Ok(Sample { cpu, wall: median(walls) })
    }

    /// Runs once with stdout in a file (or discarded) and returns the peak resident memory in bytes. Separate from the
    /// timed runs, because polling has a cost.
    pub(super) fn peak_memory(&self, stdout: Option<&Path>) -> Result<u64, String> {
        let file = stdout.map(File::create).transpose().map_err(|error| error.to_string())?;
        let mut child = self.spawn_command(file.map_or_else(Stdio::null, Stdio::from), Stdio::inherit())?;
        let (done, peak, pid) = (AtomicBool::new(false), AtomicU64::new(0), child.id());
        let status = thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    peak.fetch_max(peak_resident(pid).unwrap_or(0), Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(1));
                }
            });
            let status = child.wait();
            done.store(true, Ordering::Relaxed);
            status
        });
        self.check_status(status.map_err(|error| error.to_string())?)?;
        Ok(peak.into_inner())
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) cpu: f64,
    pub(super) wall: f64,
}

pub(super) struct Measured {
    pub(super) name: String,
    pub(super) scan: Option<String>,
    pub(super) samples: Vec<Sample>,
}

/// The measurements, in the order of the table.
#[derive(Default)]
pub(super) struct Results {
    pub(super) rows: Vec<Measured>,
    pub(super) peaks: Vec<(String, u64)>,
}

impl Results {
    pub(super) fn find_row(&self, name: &str) -> Option<&Measured> {
        self.rows.iter().find(|row| row.name == name)
    }

    pub(super) fn peak_of(&self, name: &str) -> Option<u64> {
        self.peaks.iter().find(|(known, _)| known == name).map(|(_, peak)| *peak)
    }

    /// The median over the rounds of the cost of one command relative to another, both from the same round.
    pub(super) fn median_ratio(&self, name: &str, of: &str, cost: impl Fn(&Sample) -> f64) -> Option<f64> {
        let (these, those) = (self.find_row(name)?, self.find_row(of)?);
        let pairs = these.samples.iter().zip(&those.samples);
        let ratios: Vec<f64> = pairs.map(|(this, that)| cost(this) / cost(that)).collect();
        (!ratios.is_empty()).then(|| median(ratios)).filter(|ratio| ratio.is_finite())
    }
}

/// Measures round by round, so that a machine that becomes slower does so for all commands.
pub(super) fn measure_cases(cases: &[Case], results: &mut Results) -> Result<(), String> {
    let first = results.rows.len();
    let mut repeats = Vec::new();
    for case in cases {
        // One untimed run, so that the page cache is warm for all.
        let wall = case.run_timed()?.max(1e-4);
        let enough = (MIN_SAMPLE_TIME.as_secs_f64() / wall).ceil().min(f64::from(MAX_REPEATS)) as u32;
        repeats.push(case.repeats.unwrap_or(enough));
        let (name, scan) = (case.name.clone(), case.scan.clone());
        results.rows.push(Measured { name, scan, samples: Vec::new() });
    }
    for round in 0..cases.iter().map(|case| case.rounds).max().unwrap_or(0) {
        for (at, case) in cases.iter().enumerate().filter(|(_, case)| round < case.rounds) {
            results.rows[first + at].samples.push(case.take_sample(repeats[at])?);
        }
    }
    Ok(())
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// CPU seconds of all finished children and their descendants.
pub(super) fn children_cpu() -> Result<f64, String> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|_| "requires /proc (Linux)".to_owned())?;
    let ticks = children_ticks(&stat).ok_or("unexpected format of /proc/self/stat")?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The program's name, in parentheses, may contain anything; the children's times are the 14th and 15th field after it.
fn children_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The peak resident size so far, in bytes.
fn peak_resident(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    Ok(kilobytes.unwrap_or(0) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_the_midpoint() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < 1e-9);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn the_ticks_of_children_are_parsed() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 11 12 13 14 20 0 1 0 5 6 7";
        assert_eq!(children_ticks(stat), Some(27));
    }

    #[test]
    fn a_child_is_measured_and_its_exit_code_checked() {
        let shell = |script| Case::new("shell", Path::new("/bin/sh"), Path::new("/"), &["-c", script]);
        let mut results = Results::default();
        let busy = shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
        measure_cases(&[busy.clone(), shell(":")], &mut results).unwrap();
        assert!(results.rows[0].samples[0].cpu > results.rows[1].samples[0].cpu);
        assert!(busy.peak_memory(None).unwrap() > 100_000);
        assert!(shell("exit 3").run_timed().is_err());
        assert!(Case { accepted_exit: Some(3), ..shell("exit 3") }.run_timed().is_ok());
    }
}
