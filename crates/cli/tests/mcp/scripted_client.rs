//! Runs a real client against a scripted model, one session after the other in the same home, and records the requests
//! that the model receives.

use serde_json::{Value, json};
use std::fs;
use testutil::Home;
use testutil::clients::Clients;

/// The content of the sessions: a word that occurs in no other transcript, a decision and a failure.
pub(crate) const WORD: &str = "quokkabase";
pub(crate) const DECISION: &str =
    "Decision: the ledger stays in the quokkabase, because a second writer would lose entries.";
pub(crate) const FAILURE: &str = "E0599: no method named frobnicate";

pub(crate) struct ScriptedClient {
    pub(crate) home: Home,
    clients: Clients,
    /// The shell command that starts the client, with its arguments in `$@`.
    start: &'static str,
}

/// The record of a finished session.
pub(crate) struct ScriptedSession {
    /// The client's standard output.
    pub(crate) stdout: String,
    /// The requests to the model, turn by turn.
    pub(crate) requests: Vec<Value>,
}

impl ScriptedClient {
    pub(crate) fn new(clients: Clients, start: &'static str) -> ScriptedClient {
        let client = ScriptedClient { home: Home::new(), clients, start };
        fs::create_dir_all(client.home.path().join("work")).unwrap();
        client
    }

    /// Runs a session in which the model replies with these blocks, one per turn.
    pub(crate) fn run_session(&self, name: &str, turns: &[Value], args: &[&str]) -> ScriptedSession {
        self.run_session_with_subagent((name, turns), (name, turns), args)
    }

    /// Runs a session with a second script for a subagent; returns the requests of the subagent.
    pub(crate) fn run_session_with_subagent(
        &self,
        main: (&str, &[Value]),
        sub: (&str, &[Value]),
        args: &[&str],
    ) -> ScriptedSession {
        let file = |extension: &str| self.home.path().join(format!("{}.{extension}", main.0));
        let turns =
            |part: &[Value]| part.iter().map(|block| json!({"blocks": [block]})).collect::<Vec<Value>>();
        fs::write(file("json"), json!({main.0: turns(main.1), sub.0: turns(sub.1)}).to_string()).unwrap();
        let script = format!(
            "#!/bin/bash\n. \"$CLIENTS/env.sh\"; home=\"$1\"; out=\"$2\"; shift 2; cd \"$home/work\" || exit 9\n\
             {} > \"$out\" 2> \"$out.err\" < /dev/null || {{ cat \"$out.err\" \"$out\"; exit 1; }}\n",
            self.start
        );
        let (home, out) = (self.home.path().display().to_string(), file("out").display().to_string());
        let requests = file("requests");
        self.clients.run_script(&file("json"), &requests, &script, &[&[home.as_str(), &out], args].concat());
        let lines = fs::read_to_string(requests).unwrap();
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let matching = lines.lines().map(read).filter(|request| request["scenario"] == sub.0);
        ScriptedSession { stdout: fs::read_to_string(out).unwrap(), requests: matching.collect() }
    }
}

impl ScriptedSession {
    /// The request to the model after `turn` of its replies.
    pub(crate) fn request(&self, turn: usize) -> &Value {
        let found = self.requests.iter().rfind(|request| request["turn"] == turn);
        &found.unwrap_or_else(|| panic!("turn {turn} did not happen: {}", self.stdout))["body"]
    }
}

/// A text block of the model, in the format of the scenario files.
pub(crate) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A tool call of the model, in the format of the scenario files.
pub(crate) fn tool_call(tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "name": tool, "input": input})
}

/// The data of a tool response, which must be an inline envelope.
#[track_caller]
pub(crate) fn envelope_data(text: &str) -> Value {
    let envelope: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(envelope["mode"], "inline", "{text}");
    assert!(envelope["recalled"]["note"].is_string() && envelope["recalled"]["as_of"].is_string(), "{text}");
    envelope["data"].clone()
}

/// The values of a field, over a list of records.
pub(crate) fn column<'a>(records: &'a Value, field: &str) -> Vec<&'a str> {
    records.as_array().unwrap().iter().map(|record| record[field].as_str().unwrap()).collect()
}
