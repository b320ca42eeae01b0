//! A home in which a real client plays what a model is scripted to say, one session after the other, and what the model
//! was told in return.

use serde_json::{Value, json};
use std::fs;
use testutil::Home;
use testutil::clients::Clients;

/// What the sessions are about: a word that is in no transcript but these, what was decided, and what failed.
pub(crate) const WORD: &str = "quokkabase";
pub(crate) const DECISION: &str =
    "Decision: the ledger stays in the quokkabase, because a second writer would lose entries.";
pub(crate) const FAILURE: &str = "E0599: no method named frobnicate";

pub(crate) struct ScriptedClient {
    pub(crate) home: Home,
    clients: Clients,
    /// The line of shell that starts the client, with its arguments in `$@`.
    start: &'static str,
}

/// One session, played to its end.
pub(crate) struct Played {
    /// What the client printed.
    pub(crate) said: String,
    /// What the model was asked, turn by turn.
    pub(crate) requests: Vec<Value>,
}

impl ScriptedClient {
    pub(crate) fn new(clients: Clients, start: &'static str) -> ScriptedClient {
        let client = ScriptedClient { home: Home::new(), clients, start };
        fs::create_dir_all(client.home.path().join("work")).unwrap();
        client
    }

    /// Plays a session in which the model says this, turn by turn.
    pub(crate) fn play(&self, name: &str, turns: &[Value], args: &[&str]) -> Played {
        self.play_both((name, turns), (name, turns), args)
    }

    /// The same with a second part, for an agent that the first one calls; what that agent was told.
    pub(crate) fn play_both(&self, main: (&str, &[Value]), sub: (&str, &[Value]), args: &[&str]) -> Played {
        let place = |what: &str| self.home.path().join(format!("{}.{what}", main.0));
        let turns =
            |part: &[Value]| part.iter().map(|block| json!({"blocks": [block]})).collect::<Vec<Value>>();
        fs::write(place("json"), json!({main.0: turns(main.1), sub.0: turns(sub.1)}).to_string()).unwrap();
        let script = format!(
            "#!/bin/bash\n. \"$CLIENTS/env.sh\"; home=\"$1\"; out=\"$2\"; shift 2; cd \"$home/work\" || exit 9\n\
             {} > \"$out\" 2> \"$out.err\" < /dev/null || {{ cat \"$out.err\" \"$out\"; exit 1; }}\n",
            self.start
        );
        let (home, out) = (self.home.path().display().to_string(), place("out").display().to_string());
        let requests = place("requests");
        self.clients.play(&place("json"), &requests, &script, &[&[home.as_str(), &out], args].concat());
        let lines = fs::read_to_string(requests).unwrap();
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let of_it = lines.lines().map(read).filter(|request| request["scenario"] == sub.0);
        Played { said: fs::read_to_string(out).unwrap(), requests: of_it.collect() }
    }
}

impl Played {
    /// What the model was asked after so many of its turns.
    pub(crate) fn request(&self, turn: usize) -> &Value {
        let found = self.requests.iter().rfind(|request| request["turn"] == turn);
        &found.unwrap_or_else(|| panic!("turn {turn} was not played: {}", self.said))["body"]
    }
}

/// A word of the model, as scenarios have it.
pub(crate) fn says(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn calls(tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "name": tool, "input": input})
}

/// The envelope that a tool's answer is.
#[track_caller]
pub(crate) fn envelope(text: &str) -> Value {
    let envelope: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(envelope["mode"], "inline", "{text}");
    assert!(envelope["recalled"]["note"].is_string() && envelope["recalled"]["as_of"].is_string(), "{text}");
    envelope["data"].clone()
}

/// The values of a field, over a list of records.
pub(crate) fn column<'a>(records: &'a Value, field: &str) -> Vec<&'a str> {
    records.as_array().unwrap().iter().map(|record| record[field].as_str().unwrap()).collect()
}
