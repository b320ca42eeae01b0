//! Builds a Claude Code session line by line.
//!
//! Does not know where it is written.

use record::Stamp;
use serde_json::{Value, json};

pub const ALPHA: &str = "/srv/demo/alpha";
pub const BETA: &str = "/srv/demo/beta";

/// Parses a time of RFC 3339 into milliseconds.
pub fn millis(text: &str) -> i64 {
    let stamp = Stamp::parse(text.as_bytes());
    assert!(stamp.is_some(), "{text}");
    stamp.0
}

/// A Claude Code session in the making, one line after the other.
#[derive(Clone)]
pub struct Session {
    pub id: String,
    pub cwd: String,
    pub lines: Vec<String>,
    pub agent: Option<String>,
    /// The time of the next line, in milliseconds; each takes a second.
    pub now: i64,
    last: Value,
    made: usize,
}

impl Session {
    pub fn new(id: &str, cwd: &str, start: &str) -> Session {
        let (id, cwd, lines) = (id.to_string(), cwd.to_string(), Vec::new());
        Session { id, cwd, lines, agent: None, now: millis(start), last: Value::Null, made: 0 }
    }

    /// A subagent of this session, which starts where the session stands.
    pub fn subagent(&self, agent: &str) -> Session {
        let (lines, last) = (Vec::new(), Value::Null);
        Session { lines, last, agent: Some(agent.to_string()), ..self.clone() }
    }

    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub fn wait_minutes(&mut self, minutes: i64) -> &mut Session {
        self.now += minutes * 60_000;
        self
    }

    /// The same session, going on with ids of its own: what two builders add does not look like copies.
    pub fn apart(&self) -> Session {
        Session { lines: Vec::new(), made: self.made + 1000, ..self.clone() }
    }

    fn name(&mut self, letter: char) -> String {
        self.made += 1;
        format!("{letter}-{}-{}-{}", self.id, self.agent.as_deref().unwrap_or("main"), self.made)
    }

    /// An entry of the conversation: its surroundings, then what is given.
    pub fn entry(&mut self, kind: &str, own: Value) -> &mut Session {
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

    pub fn raw(&mut self, line: impl Into<String>) -> &mut Session {
        self.lines.push(line.into());
        self
    }

    pub fn prompt(&mut self, text: &str) -> &mut Session {
        self.entry("user", json!({"message": {"role": "user", "content": text}}))
    }

    /// A reply of several blocks: as many lines with one id, each with the whole count of tokens.
    pub fn reply(&mut self, texts: &[&str]) -> &mut Session {
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
    pub fn call(&mut self, tool: &str, input: Value) -> String {
        let (id, message) = (self.name('t'), self.name('m'));
        self.block(&message, json!({"type": "tool_use", "id": id, "name": tool, "input": input}));
        id
    }

    pub fn result(&mut self, id: &str, output: &str, structured: Value) -> &mut Session {
        let block = json!({"tool_use_id": id, "type": "tool_result", "content": output});
        self.entry(
            "user",
            json!({"message": {"role": "user", "content": [block]}, "toolUseResult": structured}),
        )
    }

    /// A call that succeeds.
    pub fn did(&mut self, tool: &str, input: Value, output: &str) -> &mut Session {
        let id = self.call(tool, input);
        self.result(
            &id,
            output,
            json!({"stdout": output, "interrupted": false, "parts": [{"n": 1}, {"n": 2}]}),
        )
    }

    /// A call that fails.
    pub fn failed(&mut self, tool: &str, input: Value, error: &str) -> &mut Session {
        let id = self.call(tool, input);
        let block = json!({"type": "tool_result", "content": error, "is_error": true, "tool_use_id": id});
        let said = format!("Error: {error}");
        self.entry("user", json!({"message": {"role": "user", "content": [block]}, "toolUseResult": said}))
    }

    /// A failure of the model's provider.
    pub fn api_error(&mut self, message: &str) -> &mut Session {
        self.entry("system", json!({"subtype": "api_error", "error": {"message": message}}))
    }
}
