//! A program below the guard: one that forks, ignores what it is asked, leaves its group and its session. Whatever ends it, and
//! if it is we who are killed, nothing of it is left.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use subprocess::{Finished, Job, RunError, Supervisor};
use tempfile::TempDir;
use testutil::binary;

/// A script, and a mark in its environment by which everything that comes of it is known.
struct Fake {
    folder: TempDir,
    mark: String,
}

/// What a program should not do: children that ignore the signal to end, one in a group of its own, one in a session of its
/// own whose parent is gone.
const WILD: &str = "trap '' TERM HUP INT
sleep 300 &
(trap '' TERM; while :; do sleep 1; done) &
setsid sh -c 'trap \"\" TERM; sleep 300; :' &
(setsid sh -c 'sleep 300 & :' &) &
echo begun
while :; do sleep 1; done";

impl Fake {
    fn new(script: &str) -> Fake {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let mark = format!("LOCI_TEST_MARK={}", folder.path().display());
        Fake { folder, mark }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    fn job(&self) -> Job<'static> {
        let (name, value) = self.mark.split_once('=').unwrap();
        let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), (name, value)];
        Job {
            program: self.path(),
            args: Vec::new(),
            env: env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect(),
            cwd: self.folder.path().to_path_buf(),
            stdin: Vec::new(),
            deadline: Duration::from_secs(60),
            stdout_limit: 1 << 20,
            cancel: None,
        }
    }

    fn run(&self, job: Job<'_>) -> Result<Finished, RunError> {
        Supervisor::new(binary()).run(job)
    }

    /// Who still runs with the mark.
    fn alive(&self) -> Vec<String> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let marked = all.filter(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|one| one == self.mark.as_bytes())
        });
        let told = |entry: std::fs::DirEntry| {
            std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default()
        };
        marked.map(told).filter(|line| !line.is_empty()).collect()
    }

    #[track_caller]
    fn is_gone(&self) {
        assert_eq!(self.alive(), [""; 0]);
    }
}

fn eventually(mut what: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_program_gets_its_input_and_its_words_come_back() {
    let fake = Fake::new("read first; echo \"$first $1 $(pwd) $LOCI_OTHER\"; cat >&2; exit 7");
    let mut job = fake.job();
    job.stdin = b"hello\nthe rest".to_vec();
    job.args = vec!["there".into()];
    let done = fake.run(job).unwrap();
    let said = format!("hello there {} \n", fake.folder.path().canonicalize().unwrap().display());
    assert_eq!((done.status, String::from_utf8(done.stdout).unwrap()), (7, said));
    assert_eq!(done.stderr, "the rest");
}

#[test]
fn its_environment_is_what_it_was_given_and_no_more() {
    let fake = Fake::new("env");
    let done = fake.run(fake.job()).unwrap();
    let names: BTreeMap<String, ()> = String::from_utf8(done.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| Some((line.split_once('=')?.0.to_string(), ())))
        .collect();
    // The shell itself adds these.
    let added = ["OLDPWD", "PWD", "SHLVL", "_"];
    let given: Vec<&String> = names.keys().filter(|name| !added.contains(&name.as_str())).collect();
    assert_eq!(given, ["LOCI_TEST_MARK", "PATH"]);
}

#[test]
fn four_hundred_kilobytes_go_in_and_come_out() {
    let fake = Fake::new("cat");
    let text = b"0123456789".repeat(40_000);
    let done = fake.run(Job { stdin: text.clone(), ..fake.job() }).unwrap();
    assert!(done.status == 0 && done.stdout == text);
}

#[test]
fn of_long_complaints_the_end_is_kept() {
    let fake = Fake::new("i=0; while [ $i -lt 5000 ]; do echo complaint $i >&2; i=$((i+1)); done; exit 1");
    let done = fake.run(fake.job()).unwrap();
    assert!(done.stderr.ends_with("complaint 4999\n") && done.stderr.len() <= 8192, "{}", done.stderr.len());
}

#[test]
fn a_program_that_is_not_there_or_is_none_is_told_apart() {
    let fake = Fake::new("true");
    let missing = fake.run(Job { program: "there-is-no-such-program".into(), ..fake.job() });
    assert!(matches!(missing, Err(RunError::NotFound(_))), "{missing:?}");
    let plain = fake.folder.path().join("plain");
    std::fs::write(&plain, "not a program").unwrap();
    let refused = fake.run(Job { program: plain, ..fake.job() });
    assert!(matches!(refused, Err(RunError::CannotStart { .. })), "{refused:?}");
    let ends = Fake::new("echo no >&2; exit 125");
    assert_eq!(ends.run(ends.job()).unwrap().status, 125);
}

#[test]
fn a_program_that_a_signal_ended_says_so() {
    let fake = Fake::new("kill -9 $$");
    assert_eq!(fake.run(fake.job()).unwrap().status, 137);
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    let fake = Fake::new("setsid sleep 300 & (sleep 300 &) ; echo done");
    let done = fake.run(fake.job()).unwrap();
    assert_eq!(done.stdout, b"done\n");
    fake.is_gone();
}

#[test]
fn a_wild_program_is_stopped_at_its_deadline() {
    let fake = Fake::new(WILD);
    let began = Instant::now();
    let stopped = fake.run(Job { deadline: Duration::from_secs(2), ..fake.job() });
    assert!(matches!(stopped, Err(RunError::TimedOut(_))), "{stopped:?}");
    assert!(began.elapsed() >= Duration::from_secs(2));
    fake.is_gone();
}

#[test]
fn a_program_that_says_too_much_is_stopped() {
    let fake = Fake::new("sleep 300 & while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done");
    let stopped = fake.run(Job { stdout_limit: 50_000, ..fake.job() });
    assert!(matches!(stopped, Err(RunError::TooMuchOutput(50_000))), "{stopped:?}");
    fake.is_gone();
}

#[test]
fn a_program_that_does_not_read_can_still_be_called_off() {
    let fake = Fake::new(WILD);
    let cancel = AtomicBool::new(false);
    let job = Job { stdin: vec![b'x'; 4 << 20], cancel: Some(&cancel), ..fake.job() };
    let stopped = std::thread::scope(|scope| {
        let run = scope.spawn(|| fake.run(job));
        assert!(eventually(|| fake.alive().len() >= 6), "it has begun: {:?}", fake.alive());
        cancel.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert!(matches!(stopped, Err(RunError::Cancelled)), "{stopped:?}");
    fake.is_gone();
}

/// A shell that stands for us: it starts a guard as we do, holds its line, and is killed.
fn parent(fake: &Fake) -> Command {
    let script =
        "mkfifo line; \"$0\" internal-supervise 60000 $$ \"$1\" <line & exec 3>line; echo 0 >&3; wait";
    let mut command = Command::new("sh");
    command.args(["-c", script, binary()]).arg(fake.path()).current_dir(fake.folder.path());
    let (name, value) = fake.mark.split_once('=').unwrap();
    command.env(name, value).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
fn nothing_outlives_us_when_we_are_killed() {
    let rounds = testutil::needs::number_variable("LOCI_KILLS", 5);
    for round in 0..rounds {
        let fake = Fake::new(WILD);
        let mut parent = parent(&fake).spawn().unwrap();
        let mut word = [0; 6];
        parent.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
        assert_eq!(&word, b"begun\n");
        // Killed when all are there, or while they are being started.
        assert!(round % 2 == 1 || eventually(|| fake.alive().len() >= 8), "{:?}", fake.alive());
        parent.kill().unwrap();
        parent.wait().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        fake.is_gone();
        assert!(Path::new(fake.folder.path()).exists());
    }
}

#[test]
fn the_guard_is_for_loci_alone() {
    for args in [&[][..], &["soon", "1", "true"], &["100", "nobody", "true"], &["100", "1"]] {
        let output = Command::new(binary()).arg("internal-supervise").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{args:?}");
    }
}
