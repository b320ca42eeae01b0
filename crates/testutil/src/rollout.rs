//! Builds a Codex rollout line by line.
//!
//! Does not know where it is written.

use crate::millis;
use record::Stamp;
use serde_json::{Value, json};

/// A Codex rollout.
pub struct Rollout {
    pub id: String,
    pub lines: Vec<String>,
    now: i64,
}

impl Rollout {
    pub fn new(id: &str, cwd: &str, start: &str) -> Rollout {
        let mut rollout = Rollout { id: id.to_string(), lines: Vec::new(), now: millis(start) };
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

    pub fn prompt(&mut self, text: &str) -> &mut Rollout {
        self.line("event_msg", json!({"type": "user_message", "message": text, "kind": "plain"}))
    }

    pub fn reply(&mut self, text: &str) -> &mut Rollout {
        let content = json!([{"type": "output_text", "text": text}]);
        self.line("response_item", json!({"type": "message", "role": "assistant", "content": content}));
        let usage =
            json!({"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7, "total_tokens": 107});
        let info = json!({"total_token_usage": usage, "last_token_usage": usage});
        self.line("event_msg", json!({"type": "token_count", "info": info}))
    }

    /// A shell call with its result.
    pub fn did(&mut self, id: &str, command: &str, code: i32) -> &mut Rollout {
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

    pub fn wait_minutes(&mut self, minutes: i64) -> &mut Rollout {
        self.now += minutes * 60_000;
        self
    }
}
