//! Builds a Claude Code session line by line.
//!
//! Does not know where it is written.

use record::Stamp;
use serde_json::{Value, json};

pub const ALPHA: &str = "/srv/demo/alpha";
pub const BETA: &str = "/srv/demo/beta";

/// Parses an RFC 3339 timestamp into milliseconds.
pub fn millis(text: &str) -> i64 {
    let stamp = Stamp::parse(text.as_bytes());
    assert!(stamp.is_some(), "{text}");
    stamp.0
}

/// A Claude Code session under construction.
#[derive(Clone)]
pub struct Session {
    pub id: String,
    pub cwd: String,
    pub lines: Vec<String>,
    pub agent: Option<String>,
    /// The timestamp of the next line in milliseconds; each line takes a second.
    pub now: i64,
    last: Value,
    ids_used: usize,
}

impl Session {
    pub fn new(id: &str, cwd: &str, start: &str) -> Session {
        let (id, cwd, lines) = (id.to_string(), cwd.to_string(), Vec::new());
        Session { id, cwd, lines, agent: None, now: millis(start), last: Value::Null, ids_used: 0 }
    }

    /// A subagent of this session, which starts at the time of its next line.
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

    /// A second builder of the same session with different IDs, so that its entries do not look like copies.
    pub fn with_new_ids(&self) -> Session {
        Session { lines: Vec::new(), ids_used: self.ids_used + 1000, ..self.clone() }
    }

    fn next_id(&mut self, letter: char) -> String {
        self.ids_used += 1;
        format!("{letter}-{}-{}-{}", self.id, self.agent.as_deref().unwrap_or("main"), self.ids_used)
    }

    /// Appends an entry: the common fields, then these.
    pub fn entry(&mut self, kind: &str, fields: Value) -> &mut Session {
        let uuid = self.next_id('u');
        let mut entry = json!({
            "parentUuid": self.last, "isSidechain": self.agent.is_some(), "userType": "external",
            "cwd": self.cwd, "sessionId": self.id, "version": "2.1.100", "gitBranch": "main", "type": kind,
        });
        if let Some(agent) = &self.agent {
            entry["agentId"] = json!(agent);
        }
        entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        entry["uuid"] = json!(uuid);
        entry["timestamp"] = json!(Stamp(self.now).to_string());
        // The structured result is the last field, as in Claude Code.
        if let Some(result) = entry.as_object_mut().unwrap().shift_remove("toolUseResult") {
            entry["toolUseResult"] = result;
        }
        self.last = json!(uuid);
        self.now += 1000;
        self.lines.push(entry.to_string());
        self
    }

    /// Appends a line as it is.
    pub fn raw_line(&mut self, line: impl Into<String>) -> &mut Session {
        self.lines.push(line.into());
        self
    }

    pub fn prompt(&mut self, text: &str) -> &mut Session {
        self.entry("user", json!({"message": {"role": "user", "content": text}}))
    }

    /// A reply of several blocks: one line per block, all with the same message ID and the token counts of the whole
    /// reply.
    pub fn reply(&mut self, texts: &[&str]) -> &mut Session {
        let id = self.next_id('m');
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

    /// A call without a result; returns its ID.
    pub fn call(&mut self, tool: &str, input: Value) -> String {
        let (id, message) = (self.next_id('t'), self.next_id('m'));
        self.block(&message, json!({"type": "tool_use", "id": id, "name": tool, "input": input}));
        id
    }

    /// The result of a call.
    pub fn result(&mut self, id: &str, output: &str, structured: Value) -> &mut Session {
        let block = json!({"tool_use_id": id, "type": "tool_result", "content": output});
        self.entry(
            "user",
            json!({"message": {"role": "user", "content": [block]}, "toolUseResult": structured}),
        )
    }

    /// A successful call with its result.
    pub fn did(&mut self, tool: &str, input: Value, output: &str) -> &mut Session {
        let id = self.call(tool, input);
        self.result(
            &id,
            output,
            json!({"stdout": output, "interrupted": false, "parts": [{"n": 1}, {"n": 2}]}),
        )
    }

    /// A failed call with its error.
    pub fn failed(&mut self, tool: &str, input: Value, error: &str) -> &mut Session {
        let id = self.call(tool, input);
        let block = json!({"type": "tool_result", "content": error, "is_error": true, "tool_use_id": id});
        let structured = format!("Error: {error}");
        self.entry(
            "user",
            json!({"message": {"role": "user", "content": [block]}, "toolUseResult": structured}),
        )
    }

    /// An error of the model provider.
    pub fn api_error(&mut self, message: &str) -> &mut Session {
        self.entry("system", json!({"subtype": "api_error", "error": {"message": message}}))
    }
}
