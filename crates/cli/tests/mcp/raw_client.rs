//! A client that says exactly what a test wants said, and that takes nothing from the server but lines of JSON-RPC.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use testutil::{command, wait_for_exit};

/// Whatever takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) struct RawClient {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
    /// What came while something else was waited for.
    pub(crate) aside: Vec<Value>,
}

impl RawClient {
    pub(crate) fn start(home: &Path, args: &[&str]) -> RawClient {
        RawClient::with(command(home, &[&["mcp"], args].concat()))
    }

    pub(crate) fn with(mut command: Command) -> RawClient {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = child.unwrap();
        let lines = read(child.stdout.take().unwrap());
        RawClient { input: child.stdin.take(), child, lines, asked: 0, aside: Vec::new() }
    }

    /// A server that has been greeted.
    pub(crate) fn greeted(home: &Path, args: &[&str]) -> RawClient {
        let mut client = RawClient::start(home, args);
        client.greet("2025-06-18");
        client
    }

    pub(crate) fn greet(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.ask("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Asks without waiting; the id of the question.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        self.asked
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// The answer to a question; everything else that comes is laid aside.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        if let Some(at) = self.aside.iter().position(|message| message["id"] == id) {
            return self.aside.remove(at);
        }
        loop {
            let message = self.next(PATIENCE).expect("no answer comes");
            if message["id"] == id {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// What a tool gives back.
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{name}: {answer}");
        answer["result"].clone()
    }

    /// The next message; None when there is silence, or the server has nothing more to say.
    pub(crate) fn next(&mut self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(message(&line)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    #[track_caller]
    pub(crate) fn lives(&mut self) {
        let answer = self.ask("ping", json!({}));
        assert!(answer["result"].is_object(), "{answer}");
    }

    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    /// How long it takes to end by itself.
    pub(crate) fn ends(&mut self) -> Duration {
        let started = Instant::now();
        let code = wait_for_exit(&mut self.child, PATIENCE).expect("it does not end");
        assert_eq!(code, Some(0));
        started.elapsed()
    }
}

impl Drop for RawClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(from: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).all(|line| send.send(line).is_ok());
    });
    lines
}

/// Nothing but the protocol belongs on standard output.
fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:.300}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line:.300}");
    let kinds = ["result", "error", "method"].iter().filter(|kind| message.get(kind).is_some()).count();
    assert_eq!(kinds, 1, "{line:.300}");
    message
}
