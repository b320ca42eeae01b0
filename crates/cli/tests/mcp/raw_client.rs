//! An MCP client that sends exactly the given bytes and accepts nothing but lines of JSON-RPC.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use testutil::{command, wait_for_exit};

/// Anything that takes longer counts as hung.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct RawClient {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
    /// Messages received while waiting for another one.
    pub(crate) other_messages: Vec<Value>,
}

impl RawClient {
    pub(crate) fn start(home: &Path, args: &[&str]) -> RawClient {
        RawClient::from_command(command(home, &[&["mcp"], args].concat()))
    }

    pub(crate) fn from_command(mut command: Command) -> RawClient {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = child.unwrap();
        let lines = read_lines(child.stdout.take().unwrap());
        RawClient { input: child.stdin.take(), child, lines, last_id: 0, other_messages: Vec::new() }
    }

    /// Starts a server and initialises it.
    pub(crate) fn initialized(home: &Path, args: &[&str]) -> RawClient {
        let mut client = RawClient::start(home, args);
        client.initialize("2025-06-18");
        client
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let response = self.request("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        response
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Sends a request without waiting for the response; returns its ID.
    pub(crate) fn send_request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.wait_for_response(id)
    }

    /// Waits for the response to a request; collects all other messages in `other_messages`.
    pub(crate) fn wait_for_response(&mut self, id: u64) -> Value {
        if let Some(at) = self.other_messages.iter().position(|message| message["id"] == id) {
            return self.other_messages.remove(at);
        }
        loop {
            let message = self.next_message(TIMEOUT).expect("no response");
            if message["id"] == id {
                return message;
            }
            self.other_messages.push(message);
        }
    }

    /// Calls a tool and returns its result.
    pub(crate) fn call_tool(&mut self, name: &str, arguments: Value) -> Value {
        let response = self.request("tools/call", json!({"name": name, "arguments": arguments}));
        assert!(response["error"].is_null(), "{name}: {response}");
        response["result"].clone()
    }

    /// The next message; `None` on timeout or at the end of the output.
    pub(crate) fn next_message(&mut self, timeout: Duration) -> Option<Value> {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => Some(parse_message(&line)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    #[track_caller]
    pub(crate) fn assert_alive(&mut self) {
        let response = self.request("ping", json!({}));
        assert!(response["result"].is_object(), "{response}");
    }

    pub(crate) fn close_stdin(&mut self) {
        self.input = None;
    }

    /// Waits for the server to exit by itself; returns how long that took.
    pub(crate) fn wait_until_exit(&mut self) -> Duration {
        let started = Instant::now();
        let code = wait_for_exit(&mut self.child, TIMEOUT).expect("the server does not exit");
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

fn read_lines(from: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).all(|line| send.send(line).is_ok());
    });
    lines
}

/// Standard output may contain nothing but protocol messages.
fn parse_message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:.300}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line:.300}");
    let kinds = ["result", "error", "method"].iter().filter(|kind| message.get(kind).is_some()).count();
    assert_eq!(kinds, 1, "{line:.300}");
    message
}
