//! Runs the binary as a user would, in a given home and with a fixed environment.
//!
//! Does not know what a command prints.

use crate::Home;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The path of the `loci` binary. Cargo sets `CARGO_BIN_EXE_loci` only for the tests of the binary's own package, so
/// the binary is looked up next to the test executable, which is in `deps` of the same profile.
pub fn binary() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let test = std::env::current_exe().unwrap();
        let found =
            test.ancestors().skip(1).take(3).map(|folder| folder.join("loci")).find(|path| path.is_file());
        let path = found
            .unwrap_or_else(|| panic!("no `loci` above {}: run `cargo build -p loci` first", test.display()));
        path.into_os_string().into_string().unwrap()
    });
    &PATH
}

/// A run that takes longer counts as hung.
const RUN_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct Finished {
    /// `None` if a signal ended the process.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub took: Duration,
}

impl Finished {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("output is UTF-8")
    }

    pub fn lines(&self) -> Vec<&str> {
        self.text().lines().collect()
    }

    /// The records; each line must be valid JSON.
    pub fn records(&self) -> Vec<Value> {
        let parse = |line: &&str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:.300}"));
        self.lines().iter().map(parse).collect()
    }

    /// The values of one field, over all records that have it.
    pub fn all(&self, field: &str) -> Vec<Value> {
        self.records().iter().filter_map(|r| r.get(field).cloned()).collect()
    }

    /// Requires an exit code and no panic.
    #[track_caller]
    pub fn expect(self, code: i32) -> Finished {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {:.600}\nstderr: {}",
            String::from_utf8_lossy(&self.stdout),
            self.stderr
        );
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// A command that runs the binary with the environment of [`set_environment`].
///
/// A recovery phrase among the arguments is written to its standard input, which is where it belongs.
pub fn command(home: &Path, args: &[&str]) -> Command {
    let (phrases, args): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| arg.starts_with("loci1-"));
    let mut command = match phrases.first() {
        Some(phrase) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", "phrase=$1; shift; echo \"$phrase\" | \"$@\"", "sh", phrase, binary()]);
            shell
        }
        None => Command::new(binary()),
    };
    set_environment(&mut command, home);
    command.args(args);
    command
}

/// Replaces the environment: a home, UTC, a minimal `PATH`, no daemon.
pub fn set_environment(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .env("HOME", home)
        .env("TZ", "UTC")
        .env("LOCI_DAEMON", "off")
        .env("LOCI_HOME_TREE", "on")
        .env("PATH", "/usr/bin:/bin")
        .current_dir(home);
}

pub fn run_loci(home: &Home, args: &[&str]) -> Finished {
    run_command(command(home.path(), args))
}

/// Runs a command to its end; panics if it hangs.
pub fn run_command(mut command: Command) -> Finished {
    let shown = format!("{command:?}");
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (out, err) = (drain(child.stdout.take().unwrap()), drain(child.stderr.take().unwrap()));
    let code = wait_for_exit(&mut child, RUN_TIMEOUT)
        .unwrap_or_else(|| panic!("no exit within {RUN_TIMEOUT:?}: {shown}"));
    let took = started.elapsed();
    let stderr = String::from_utf8_lossy(&err.join().unwrap()).into_owned();
    Finished { code, stdout: out.join().unwrap(), stderr, took }
}

fn drain(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// Waits for the exit code. After the timeout, kills the child and returns `None`.
pub fn wait_for_exit(child: &mut Child, timeout: Duration) -> Option<Option<i32>> {
    let started = Instant::now();
    while started.elapsed() < timeout {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Runs a command; returns its exit code, its peak memory in kilobytes, and the length of its standard output.
pub fn peak_memory(mut command: Command) -> (Option<i32>, u64, u64) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let length = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()).unwrap());
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with("VmHWM"));
        let now = line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).unwrap_or(0);
        peak = peak.max(now);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    (code, peak, length.join().unwrap())
}

/// Splits a command line at blanks, without a shell. Single quotes group words.
pub fn split_words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let split = |(i, part): (usize, &str)| {
        if i % 2 == 1 { vec![part.to_string()] } else { part.split_whitespace().map(String::from).collect() }
    };
    parts.flat_map(split).collect()
}

/// Runs a command line as a user would type it, without the program name.
pub fn run_line(home: &Home, line: &str) -> Finished {
    let words = split_words(line);
    run_loci(home, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether a system program is installed and succeeds with these arguments.
pub fn can_run(program: &str, args: &[&str]) -> bool {
    let tried = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}
