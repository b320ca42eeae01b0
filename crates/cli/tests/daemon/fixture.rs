//! A home with a daemon in it, which ends with the test, and a line to it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testutil::{Finished, Home, Session};

/// Generous: a machine may be busy with everything else.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) struct Fixture {
    pub(crate) home: Home,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::at(Home::new())
    }

    pub(crate) fn at(home: Home) -> Fixture {
        std::fs::create_dir_all(home.path().join("run")).unwrap();
        Fixture { home }
    }

    /// A few conversations.
    pub(crate) fn with_sessions() -> Fixture {
        let fixture = Fixture::new();
        for n in 0..5 {
            fixture.converse(n, &format!("subject number{n} of the walrus"));
        }
        fixture
    }

    pub(crate) fn converse(&self, n: usize, prompt: &str) -> PathBuf {
        let id = format!("{n:08}-1111-4222-8333-444444444444");
        let mut session = Session::new(&id, "/srv/demo/alpha", "2026-03-04T09:00:00Z");
        session.prompt(prompt).reply(&["it is done"]);
        self.home.add(&session)
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = testutil::command(self.path(), args);
        command.env("LOCI_DAEMON", "use").env("XDG_RUNTIME_DIR", self.path().join("run"));
        command
    }

    pub(crate) fn loci(&self, args: &[&str]) -> Finished {
        testutil::run_command(self.command(args))
    }

    pub(crate) fn alone(&self, args: &[&str]) -> Finished {
        let mut command = self.command(args);
        command.env("LOCI_DAEMON", "off");
        testutil::run_command(command)
    }

    pub(crate) fn start(&self) -> Value {
        self.loci(&["daemon", "start", "--json"]).expect(0).records().remove(0)
    }

    /// Not through `start`: a child of the test, which can be stopped and killed.
    pub(crate) fn serve(&self) -> Child {
        self.serve_with(|_| {})
    }

    pub(crate) fn serve_with(&self, dress: impl Fn(&mut Command)) -> Child {
        let mut command = self.command(&["daemon", "run"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        dress(&mut command);
        let child = command.spawn().unwrap();
        assert!(until(|| self.line().is_some()), "nobody serves");
        child
    }

    pub(crate) fn status(&self) -> Value {
        let ended = self.loci(&["daemon", "status", "--json"]);
        ended.records().remove(0)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        let told = self.status()["socket"].clone();
        PathBuf::from(told.as_str().unwrap())
    }

    pub(crate) fn line(&self) -> Option<Line> {
        let mut line = Line::at(&self.find_socket()?)?;
        line.ask("ping", json!({})).map(|_| line)
    }

    fn find_socket(&self) -> Option<PathBuf> {
        let folder = std::fs::read_dir(self.path().join("run/loci")).ok()?;
        folder.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "sock"))
    }

    pub(crate) fn log(&self) -> Vec<Value> {
        let text =
            std::fs::read_to_string(self.path().join(".local/state/loci/daemon.log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.command(&["daemon", "stop"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// One connection.
pub(crate) struct Line {
    pub(crate) reader: BufReader<UnixStream>,
    next: u64,
}

impl Line {
    pub(crate) fn at(socket: &Path) -> Option<Line> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(SOON)).ok()?;
        Some(Line { reader: BufReader::new(stream), next: 0 })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.reader.get_mut().write_all(bytes).is_ok()
    }

    pub(crate) fn hear(&mut self) -> Option<Value> {
        let mut said = String::new();
        self.reader.read_line(&mut said).ok().filter(|n| *n > 0)?;
        Some(serde_json::from_str(&said).unwrap())
    }

    /// The whole answer, `result` or `error`; what is told before is left out.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Option<Value> {
        self.next += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(format!("{line}\n").as_bytes());
        loop {
            let said = self.hear()?;
            if said["id"] == json!(self.next) {
                return Some(said);
            }
        }
    }
}

pub(crate) fn until(done: impl Fn() -> bool) -> bool {
    until_within(SOON, done)
}

pub(crate) fn until_within(longest: Duration, done: impl Fn() -> bool) -> bool {
    let end = Instant::now() + longest;
    while Instant::now() < end {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

pub(crate) fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

pub(crate) fn ended_within(child: &mut Child, longest: Duration) -> Option<Option<i32>> {
    testutil::wait_for_exit(child, longest)
}

/// How many rounds, in the short form or as many as `variable` says.
pub(crate) fn rounds(variable: &str, short: usize) -> usize {
    testutil::needs::number_variable(variable, short)
}
