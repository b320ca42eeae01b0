//! Runs the binary as a user would, in a home and with an environment of the test's own making.

use crate::Home;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The path of the `loci` binary. Cargo builds it before the tests of its own package; `CARGO_BIN_EXE_loci` is known only to
/// those, so it is looked up beside the test executable, which is in `deps` of the same profile.
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

/// No run of these tests may take longer; whatever does hangs.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct Finished {
    /// None: a signal ended it.
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

    /// The records, each of which must be valid JSON.
    pub fn records(&self) -> Vec<Value> {
        let parse = |line: &&str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:.300}"));
        self.lines().iter().map(parse).collect()
    }

    /// The values of one field, over all records that have it.
    pub fn all(&self, field: &str) -> Vec<Value> {
        self.records().iter().filter_map(|r| r.get(field).cloned()).collect()
    }

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

/// The binary with nothing in its environment but a home and a time zone.
pub fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    set_environment(&mut command, home);
    command.args(args);
    command
}

pub fn set_environment(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .env("HOME", home)
        .env("TZ", "UTC")
        .env("LOCI_DAEMON", "off")
        .env("PATH", "/usr/bin:/bin")
        .current_dir(home);
}

pub fn run_loci(home: &Home, args: &[&str]) -> Finished {
    run_command(command(home.path(), args))
}

/// Runs to the end, or panics when it does not come.
pub fn run_command(mut command: Command) -> Finished {
    let shown = format!("{command:?}");
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (out, err) = (drain(child.stdout.take().unwrap()), drain(child.stderr.take().unwrap()));
    let code = wait_for_exit(&mut child, PATIENCE).unwrap_or_else(|| panic!("it hangs: {shown}"));
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

/// Waits for the end; None, and the child is killed, when it does not come in time.
pub fn wait_for_exit(child: &mut Child, patience: Duration) -> Option<Option<i32>> {
    let started = Instant::now();
    while started.elapsed() < patience {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Runs and also tells the most memory it had at once, in kilobytes. Standard output is thrown away but for its length.
pub fn peak_memory(mut command: Command) -> (Option<i32>, u64, u64) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let length = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()).unwrap());
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with("VmHWM"));
        let now = line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).unwrap_or(0);
        most = most.max(now);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    (code, most, length.join().unwrap())
}

/// The words of a command line, without a shell: blanks separate them, single quotes hold them together.
pub fn split_words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let split = |(i, part): (usize, &str)| {
        if i % 2 == 1 { vec![part.to_string()] } else { part.split_whitespace().map(String::from).collect() }
    };
    parts.flat_map(split).collect()
}

/// A command line as a person types it, the program's name left out.
pub fn run_line(home: &Home, line: &str) -> Finished {
    let words = split_words(line);
    run_loci(home, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether a helper of the system is there and may be used.
pub fn can_run(program: &str, args: &[&str]) -> bool {
    let tried = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}
