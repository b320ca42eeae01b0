//! Programs under the supervisor: programs that fork, ignore signals, leave their process group and their session.
//! However a program ends, and even if Loci is killed, none of its processes remains.

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

/// A script, and an environment variable by which all its processes are recognised.
struct FakeProgram {
    folder: TempDir,
    marker: String,
}

/// Starts children that ignore SIGTERM, one in a process group of its own, and one in a session of its own whose parent
/// has exited.
const UNRULY_SCRIPT: &str = "trap '' TERM HUP INT
sleep 300 &
(trap '' TERM; while :; do sleep 1; done) &
setsid sh -c 'trap \"\" TERM; sleep 300; :' &
(setsid sh -c 'sleep 300 & :' &) &
echo begun
while :; do sleep 1; done";

impl FakeProgram {
    fn new(script: &str) -> FakeProgram {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let marker = format!("LOCI_TEST_MARK={}", folder.path().display());
        FakeProgram { folder, marker }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    fn job(&self) -> Job<'static> {
        let (name, value) = self.marker.split_once('=').unwrap();
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

    /// The command lines of the running processes that have the marker.
    fn running_processes(&self) -> Vec<String> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let with_marker = all.filter(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == self.marker.as_bytes())
        });
        let command_line = |entry: std::fs::DirEntry| {
            std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default()
        };
        with_marker.map(command_line).filter(|line| !line.is_empty()).collect()
    }

    #[track_caller]
    fn assert_all_exited(&self) {
        assert_eq!(self.running_processes(), [""; 0]);
    }
}

/// Waits up to 20 seconds for a condition; returns whether it became true.
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_program_gets_its_input_and_its_output_is_returned() {
    let program = FakeProgram::new("read first; echo \"$first $1 $(pwd) $LOCI_OTHER\"; cat >&2; exit 7");
    let mut job = program.job();
    job.stdin = b"hello\nthe rest".to_vec();
    job.args = vec!["there".into()];
    let done = program.run(job).unwrap();
    let expected = format!("hello there {} \n", program.folder.path().canonicalize().unwrap().display());
    assert_eq!((done.status, String::from_utf8(done.stdout).unwrap()), (7, expected));
    assert_eq!(done.stderr, "the rest");
}

#[test]
fn a_program_gets_only_the_given_environment() {
    let program = FakeProgram::new("env");
    let done = program.run(program.job()).unwrap();
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
fn four_hundred_kilobytes_pass_through_stdin_and_stdout() {
    let program = FakeProgram::new("cat");
    let text = b"0123456789".repeat(40_000);
    let done = program.run(Job { stdin: text.clone(), ..program.job() }).unwrap();
    assert!(done.status == 0 && done.stdout == text);
}

#[test]
fn only_the_end_of_long_stderr_output_is_kept() {
    let program =
        FakeProgram::new("i=0; while [ $i -lt 5000 ]; do echo complaint $i >&2; i=$((i+1)); done; exit 1");
    let done = program.run(program.job()).unwrap();
    assert!(done.stderr.ends_with("complaint 4999\n") && done.stderr.len() <= 8192, "{}", done.stderr.len());
}

#[test]
fn a_missing_and_a_non_executable_program_give_different_errors() {
    let program = FakeProgram::new("true");
    let missing = program.run(Job { program: "there-is-no-such-program".into(), ..program.job() });
    assert!(matches!(missing, Err(RunError::NotFound(_))), "{missing:?}");
    let plain = program.folder.path().join("plain");
    std::fs::write(&plain, "not a program").unwrap();
    let not_executable = program.run(Job { program: plain, ..program.job() });
    assert!(matches!(not_executable, Err(RunError::CannotStart { .. })), "{not_executable:?}");
    let exits_with_125 = FakeProgram::new("echo no >&2; exit 125");
    assert_eq!(exits_with_125.run(exits_with_125.job()).unwrap().status, 125);
}

#[test]
fn a_signal_is_reported_as_status_128_plus_its_number() {
    let program = FakeProgram::new("kill -9 $$");
    assert_eq!(program.run(program.job()).unwrap().status, 137);
}

#[test]
fn background_processes_end_with_their_program() {
    let program = FakeProgram::new("setsid sleep 300 & (sleep 300 &) ; echo done");
    let done = program.run(program.job()).unwrap();
    assert_eq!(done.stdout, b"done\n");
    program.assert_all_exited();
}

#[test]
fn an_unruly_program_is_stopped_at_its_deadline() {
    let program = FakeProgram::new(UNRULY_SCRIPT);
    let began = Instant::now();
    let stopped = program.run(Job { deadline: Duration::from_secs(2), ..program.job() });
    assert!(matches!(stopped, Err(RunError::TimedOut(_))), "{stopped:?}");
    assert!(began.elapsed() >= Duration::from_secs(2));
    program.assert_all_exited();
}

#[test]
fn a_program_that_prints_too_much_is_stopped() {
    let program =
        FakeProgram::new("sleep 300 & while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done");
    let stopped = program.run(Job { stdout_limit: 50_000, ..program.job() });
    assert!(matches!(stopped, Err(RunError::TooMuchOutput(50_000))), "{stopped:?}");
    program.assert_all_exited();
}

#[test]
fn a_program_that_does_not_read_stdin_can_be_cancelled() {
    let program = FakeProgram::new(UNRULY_SCRIPT);
    let cancel = AtomicBool::new(false);
    let job = Job { stdin: vec![b'x'; 4 << 20], cancel: Some(&cancel), ..program.job() };
    let stopped = std::thread::scope(|scope| {
        let run = scope.spawn(|| program.run(job));
        assert!(
            eventually(|| program.running_processes().len() >= 6),
            "not all processes have started: {:?}",
            program.running_processes()
        );
        cancel.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert!(matches!(stopped, Err(RunError::Cancelled)), "{stopped:?}");
    program.assert_all_exited();
}

/// A shell in the place of Loci: it starts a supervisor as Loci does, holds the other end of its stdin, and is killed.
fn parent(program: &FakeProgram) -> Command {
    let script =
        "mkfifo line; \"$0\" internal-supervise 60000 $$ \"$1\" <line & exec 3>line; echo 0 >&3; wait";
    let mut command = Command::new("sh");
    command.args(["-c", script, binary()]).arg(program.path()).current_dir(program.folder.path());
    let (name, value) = program.marker.split_once('=').unwrap();
    command.env(name, value).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
fn no_process_remains_when_loci_is_killed() {
    let rounds = testutil::needs::number_variable("LOCI_KILLS", 5);
    for round in 0..rounds {
        let program = FakeProgram::new(UNRULY_SCRIPT);
        let mut parent = parent(&program).spawn().unwrap();
        let mut word = [0; 6];
        parent.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
        assert_eq!(&word, b"begun\n");
        // Kill alternately when all processes have started and while they are starting.
        assert!(
            round % 2 == 1 || eventually(|| program.running_processes().len() >= 8),
            "{:?}",
            program.running_processes()
        );
        parent.kill().unwrap();
        parent.wait().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        program.assert_all_exited();
        assert!(Path::new(program.folder.path()).exists());
    }
}

#[test]
fn internal_supervise_rejects_invalid_arguments() {
    for args in [&[][..], &["soon", "1", "true"], &["100", "nobody", "true"], &["100", "1"]] {
        let output = Command::new(binary()).arg("internal-supervise").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{args:?}");
    }
}
