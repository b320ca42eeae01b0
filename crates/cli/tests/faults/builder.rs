//! Makes a home with the histories of agents in it: Claude Code sessions, their subagents, Codex rollouts.

use record::Stamp;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) const ALPHA: &str = "/srv/demo/alpha";
pub(crate) const BETA: &str = "/srv/demo/beta";

/// A temporary home directory.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Home {
        Home(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The folder of a project in Claude Code's store.
    pub(crate) fn folder(&self, cwd: &str) -> PathBuf {
        let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.path().join(".claude/projects").join(name)
    }

    pub(crate) fn file(&self, session: &Session) -> PathBuf {
        let folder = self.folder(&session.cwd);
        match &session.agent {
            Some(agent) => folder.join(&session.id).join(format!("subagents/agent-{agent}.jsonl")),
            None => folder.join(format!("{}.jsonl", session.id)),
        }
    }

    /// Writes the session where Claude Code would.
    pub(crate) fn add(&self, session: &Session) -> PathBuf {
        self.add_bytes(session, session.text().as_bytes())
    }

    /// Writes something else in the session's place.
    pub(crate) fn add_bytes(&self, session: &Session, bytes: &[u8]) -> PathBuf {
        put(&self.file(session), bytes)
    }

    pub(crate) fn add_codex(&self, rollout: &Rollout) -> PathBuf {
        let name = format!("rollout-2026-03-04T09-00-00-{}.jsonl", rollout.id);
        put(
            &self.path().join(".codex/sessions/2026/03/04").join(name),
            (rollout.lines.join("\n") + "\n").as_bytes(),
        )
    }
}

/// Writes a file and the folders above it.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    path.to_path_buf()
}

pub(crate) fn time(text: &str) -> i64 {
    let stamp = Stamp::parse(text.as_bytes());
    assert!(stamp.is_some(), "{text}");
    stamp.0
}

/// A Claude Code session in the making, one line after the other.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) lines: Vec<String>,
    pub(crate) agent: Option<String>,
    /// The time of the next line, in milliseconds; each takes a second.
    pub(crate) now: i64,
    last: Value,
    made: usize,
}

impl Session {
    pub(crate) fn new(id: &str, cwd: &str, start: &str) -> Session {
        let (id, cwd, lines) = (id.to_string(), cwd.to_string(), Vec::new());
        Session { id, cwd, lines, agent: None, now: time(start), last: Value::Null, made: 0 }
    }

    /// A subagent of this session, which starts where the session stands.
    pub(crate) fn subagent(&self, agent: &str) -> Session {
        let (lines, last) = (Vec::new(), Value::Null);
        Session { lines, last, agent: Some(agent.to_string()), ..self.clone() }
    }

    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn wait_minutes(&mut self, minutes: i64) -> &mut Session {
        self.now += minutes * 60_000;
        self
    }

    /// The same session, going on with ids of its own: what two builders add does not look like copies.
    pub(crate) fn apart(&self) -> Session {
        Session { lines: Vec::new(), made: self.made + 1000, ..self.clone() }
    }

    fn name(&mut self, letter: char) -> String {
        self.made += 1;
        format!("{letter}-{}-{}-{}", self.id, self.agent.as_deref().unwrap_or("main"), self.made)
    }

    /// An entry of the conversation: its surroundings, then what is given.
    pub(crate) fn entry(&mut self, kind: &str, own: Value) -> &mut Session {
        let uuid = self.name('u');
        let mut entry = json!({
            "parentUuid": self.last, "isSidechain": self.agent.is_some(), "userType": "external",
            "cwd": self.cwd, "sessionId": self.id, "version": "2.1.100", "gitBranch": "main", "type": kind,
        });
        if let Some(agent) = &self.agent {
            entry["agentId"] = json!(agent);
        }
        entry.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        entry["uuid"] = json!(uuid);
        entry["timestamp"] = json!(Stamp(self.now).to_string());
        // The structured result stands last, as Claude Code writes it.
        if let Some(result) = entry.as_object_mut().unwrap().shift_remove("toolUseResult") {
            entry["toolUseResult"] = result;
        }
        self.last = json!(uuid);
        self.now += 1000;
        self.lines.push(entry.to_string());
        self
    }

    pub(crate) fn raw(&mut self, line: impl Into<String>) -> &mut Session {
        self.lines.push(line.into());
        self
    }

    pub(crate) fn prompt(&mut self, text: &str) -> &mut Session {
        self.entry("user", json!({"message": {"role": "user", "content": text}}))
    }

    /// A reply of several blocks: as many lines with one id, each with the whole count of tokens.
    pub(crate) fn reply(&mut self, texts: &[&str]) -> &mut Session {
        let id = self.name('m');
        for text in texts {
            let block = json!({"type": "text", "text": text});
            self.block(&id, block);
        }
        self
    }

    fn block(&mut self, id: &str, block: Value) {
        self.entry(
            "assistant",
            json!({"message": {
                "id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [block],
                "usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40},
            }}),
        );
    }

    /// A call without a result yet; gives back its id.
    pub(crate) fn call(&mut self, tool: &str, input: Value) -> String {
        let (id, message) = (self.name('t'), self.name('m'));
        self.block(&message, json!({"type": "tool_use", "id": id, "name": tool, "input": input}));
        id
    }

    pub(crate) fn result(&mut self, id: &str, output: &str, structured: Value) -> &mut Session {
        let block = json!({"tool_use_id": id, "type": "tool_result", "content": output});
        self.entry(
            "user",
            json!({"message": {"role": "user", "content": [block]}, "toolUseResult": structured}),
        )
    }

    /// A call that succeeds.
    pub(crate) fn did(&mut self, tool: &str, input: Value, output: &str) -> &mut Session {
        let id = self.call(tool, input);
        self.result(
            &id,
            output,
            json!({"stdout": output, "interrupted": false, "parts": [{"n": 1}, {"n": 2}]}),
        )
    }

    /// A call that fails.
    pub(crate) fn failed(&mut self, tool: &str, input: Value, error: &str) -> &mut Session {
        let id = self.call(tool, input);
        let block = json!({"type": "tool_result", "content": error, "is_error": true, "tool_use_id": id});
        let said = format!("Error: {error}");
        self.entry("user", json!({"message": {"role": "user", "content": [block]}, "toolUseResult": said}))
    }

    /// A failure of the model's provider.
    pub(crate) fn api_error(&mut self, message: &str) -> &mut Session {
        self.entry("system", json!({"subtype": "api_error", "error": {"message": message}}))
    }
}

/// A Codex rollout.
pub(crate) struct Rollout {
    pub(crate) id: String,
    pub(crate) lines: Vec<String>,
    now: i64,
}

impl Rollout {
    pub(crate) fn new(id: &str, cwd: &str, start: &str) -> Rollout {
        let mut rollout = Rollout { id: id.to_string(), lines: Vec::new(), now: time(start) };
        let started = Stamp(rollout.now).to_string();
        rollout.line(
            "session_meta",
            json!({"id": id, "timestamp": started, "cwd": cwd, "originator": "codex_cli_rs", "cli_version": "0.140.0", "source": "cli", "git": {"branch": "main"}}),
        );
        rollout.line("turn_context", json!({"cwd": cwd, "model": "gpt-5-codex"}));
        rollout
    }

    fn line(&mut self, kind: &str, payload: Value) -> &mut Rollout {
        let at = Stamp(self.now).to_string();
        self.now += 1000;
        self.lines.push(json!({"timestamp": at, "type": kind, "payload": payload}).to_string());
        self
    }

    pub(crate) fn prompt(&mut self, text: &str) -> &mut Rollout {
        self.line("event_msg", json!({"type": "user_message", "message": text, "kind": "plain"}))
    }

    pub(crate) fn reply(&mut self, text: &str) -> &mut Rollout {
        let content = json!([{"type": "output_text", "text": text}]);
        self.line("response_item", json!({"type": "message", "role": "assistant", "content": content}));
        let spent =
            json!({"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7, "total_tokens": 107});
        let info = json!({"total_token_usage": spent, "last_token_usage": spent});
        self.line("event_msg", json!({"type": "token_count", "info": info}))
    }

    pub(crate) fn did(&mut self, id: &str, command: &str, code: i32) -> &mut Rollout {
        let arguments = json!({"command": ["bash", "-lc", command]}).to_string();
        self.line(
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id}),
        );
        let output = json!({"output": format!("ran {command}"), "metadata": {"exit_code": code, "duration_seconds": 0.1}});
        self.line(
            "response_item",
            json!({"type": "function_call_output", "call_id": id, "output": output.to_string()}),
        )
    }

    pub(crate) fn wait_minutes(&mut self, minutes: i64) -> &mut Rollout {
        self.now += minutes * 60_000;
        self
    }
}

/// A small history with something of everything: two projects, two agents, a subagent, failures, gaps, a bad line.
pub(crate) fn world() -> Home {
    let home = Home::new();
    let mut first = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    first.prompt("Please fix the socket in the daemon").reply(&["I will look.", "Reading first."]);
    first.did("Read", json!({"file_path": "/srv/demo/alpha/src/main.rs"}), "fn main() {}");
    first.did(
        "Edit",
        json!({"file_path": "/srv/demo/alpha/src/main.rs", "old_string": "a", "new_string": "b"}),
        "edited",
    );
    first.failed("Bash", json!({"command": "cargo test"}), "Exit code 101\ntest socket failed");
    let mut agent = first.subagent("ace01");
    agent.prompt("Look around the alpha").did("Grep", json!({"pattern": "x"}), "none").reply(&["Nothing."]);
    first.wait_minutes(12).prompt("Go on, and write the notes").api_error("overloaded");
    first.did("Write", json!({"file_path": "/srv/demo/alpha/notes.md", "content": "n"}), "written");
    first.reply(&["Done with the socket."]);
    home.add(&first);
    home.add(&agent);

    let mut second = Session::new("aaaa2222-0000-4000-8000-000000000002", ALPHA, "2026-03-02T10:00:00Z");
    second.prompt("Second day: churn");
    for n in 0..6 {
        second.did("Read", json!({"file_path": "/srv/demo/alpha/src/lib.rs"}), "text");
        second.did("Edit", json!({"file_path": "/srv/demo/alpha/src/lib.rs", "n": n}), "edited");
    }
    second.reply(&["Churned."]).wait_minutes(7).prompt("thanks").reply(&["Welcome."]);
    second.call("Bash", json!({"command": "sleep 9"}));
    home.add(&second);

    let mut other = Session::new("bbbb1111-0000-4000-8000-000000000003", BETA, "2026-03-03T10:00:00Z");
    other.prompt("Beta asks for a colour").failed(
        "Read",
        json!({"file_path": "/srv/demo/beta/gone.rs"}),
        "File does not exist.",
    );
    other.reply(&["Blue."]).wait_minutes(30).prompt("And a second one").failed(
        "Bash",
        json!({"command": "false"}),
        "Exit code 1",
    );
    other.did("Edit", json!({"file_path": "/srv/demo/beta/x.rs"}), "ok").reply(&["Green."]);
    other.raw("{\"this line\": is damaged");
    home.add(&other);

    let mut codex = Rollout::new("cccc1111-0000-4000-8000-000000000004", ALPHA, "2026-03-04T09:00:00Z");
    codex
        .prompt("Codex, list the files")
        .did("call_1", "ls", 0)
        .did("call_2", "cat missing", 1)
        .reply("Listed.");
    codex.wait_minutes(9).prompt("Once more").did("call_3", "ls -a", 0).reply("Again.");
    home.add_codex(&codex);
    home
}
