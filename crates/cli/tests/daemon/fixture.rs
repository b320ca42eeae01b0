//! A home with a daemon that ends with the test, and connections to the daemon.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testutil::{Finished, Home, Session};

/// Generous, because the machine may be busy.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Fixture {
    pub(crate) home: Home,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::in_home(Home::new())
    }

    pub(crate) fn in_home(home: Home) -> Fixture {
        std::fs::create_dir_all(home.path().join("run")).unwrap();
        Fixture { home }
    }

    /// A home with five sessions.
    pub(crate) fn with_sessions() -> Fixture {
        let fixture = Fixture::new();
        for n in 0..5 {
            fixture.add_session(n, &format!("subject number{n} of the walrus"));
        }
        fixture
    }

    pub(crate) fn add_session(&self, n: usize, prompt: &str) -> PathBuf {
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

    pub(crate) fn loci_without_daemon(&self, args: &[&str]) -> Finished {
        let mut command = self.command(args);
        command.env("LOCI_DAEMON", "off");
        testutil::run_command(command)
    }

    pub(crate) fn start(&self) -> Value {
        self.loci(&["daemon", "start", "--json"]).expect(0).records().remove(0)
    }

    /// Runs the daemon as a child of the test, which can signal and kill it, instead of through `daemon start`.
    pub(crate) fn serve(&self) -> Child {
        self.serve_with(|_| {})
    }

    pub(crate) fn serve_with(&self, configure: impl Fn(&mut Command)) -> Child {
        let mut command = self.command(&["daemon", "run"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        configure(&mut command);
        let child = command.spawn().unwrap();
        assert!(wait_until(|| self.connect().is_some()), "no daemon answers");
        child
    }

    pub(crate) fn status(&self) -> Value {
        let output = self.loci(&["daemon", "status", "--json"]);
        output.records().remove(0)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        let path = self.status()["socket"].clone();
        PathBuf::from(path.as_str().unwrap())
    }

    pub(crate) fn connect(&self) -> Option<Connection> {
        let mut connection = Connection::open(&self.find_socket()?)?;
        connection.request("ping", json!({})).map(|_| connection)
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

/// A connection to the daemon.
pub(crate) struct Connection {
    pub(crate) reader: BufReader<UnixStream>,
    last_id: u64,
}

impl Connection {
    pub(crate) fn open(socket: &Path) -> Option<Connection> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(TIMEOUT)).ok()?;
        Some(Connection { reader: BufReader::new(stream), last_id: 0 })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.reader.get_mut().write_all(bytes).is_ok()
    }

    pub(crate) fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Sends a request and returns the response, with `result` or `error`; notifications before it are skipped.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Option<Value> {
        self.last_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.send(format!("{message}\n").as_bytes());
        loop {
            let response = self.receive()?;
            if response["id"] == json!(self.last_id) {
                return Some(response);
            }
        }
    }
}

pub(crate) fn wait_until(done: impl Fn() -> bool) -> bool {
    wait_until_within(TIMEOUT, done)
}

pub(crate) fn wait_until_within(timeout: Duration, done: impl Fn() -> bool) -> bool {
    let end = Instant::now() + timeout;
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

pub(crate) fn wait_for_exit(child: &mut Child, timeout: Duration) -> Option<Option<i32>> {
    testutil::wait_for_exit(child, timeout)
}

/// The number of rounds: the value of `variable`, or `short` if it is not set.
pub(crate) fn rounds(variable: &str, short: usize) -> usize {
    testutil::needs::number_variable(variable, short)
}
