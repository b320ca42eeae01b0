//! Ten tasks across history, memory and code, solved in a real client with the tools that it gets by default. The model is
//! scripted: it calls what a model would call, and the results that reach it must contain the answer.

use crate::scripted_client::{DECISION, FAILURE, ScriptedClient, WORD, tool_call};
use serde_json::{Value, json};
use std::fs;
use testutil::run_line;

/// A task: what is to be found out, the tool, its parameters, and a text that the answer contains.
pub(crate) struct Task {
    pub(crate) about: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
    pub(crate) answer: String,
}

/// The tasks, for a history in which the session `decided` made a decision.
pub(crate) fn ten_tasks(decided: &str) -> Vec<Task> {
    let task = |about, tool, input, answer: &str| Task { about, tool, input, answer: answer.to_string() };
    vec![
        task(
            "which session decided it",
            "search_conversations",
            json!({"intent_query": format!("{WORD} ledger decision")}),
            decided,
        ),
        task("what was said there", "gather_chats", json!({"chatIds": [decided]}), DECISION),
        task("which sessions there were", "list_sessions", json!({"limit": 5}), decided),
        task("what failed", "query_errors", json!({}), FAILURE),
        task("which file was written", "query_history", json!({"view": "query file-access"}), "ledger.txt"),
        task("what it cost", "query_history", json!({"view": "usage", "by": "total"}), "output"),
        task("which rules hold", "list_memory", json!({"query": "tabs"}), "never use tabs"),
        task("what a type offers", "get_outline", json!({"path": "Ledger"}), "add_entry"),
        task(
            "how it is implemented",
            "get_source",
            json!({"path": "Ledger.add_entry"}),
            "self.entries.append",
        ),
        task("who calls it", "find_usages", json!({"path": "Ledger.add_entry"}), "report.py"),
    ]
}

/// Tools that Claude Code loads after a search; Codex needs one search for all.
pub(crate) fn tool_names(tasks: &[Task]) -> Vec<&'static str> {
    let mut names: Vec<&str> = tasks.iter().map(|task| task.tool).collect();
    names.dedup();
    names
}

/// Adds what the tasks need besides sessions: a rule in memory, and source code.
pub(crate) fn prepare(client: &ScriptedClient) {
    let work = client.home.path().join("work");
    fs::write(
        work.join("ledger.py"),
        "class Ledger:\n    \"\"\"Keeps entries.\"\"\"\n\n    def __init__(self):\n        self.entries = []\n\n    def add_entry(self, entry):\n        self.entries.append(entry)\n",
    )
    .unwrap();
    fs::write(
        work.join("report.py"),
        "from ledger import Ledger\n\n\ndef report():\n    ledger = Ledger()\n    ledger.add_entry(1)\n    return ledger\n",
    )
    .unwrap();
    run_line(&client.home, "memory add 'never use tabs in the ledger'").expect(0);
}

/// The calls of the tasks, by a function that names the tool as the client does.
pub(crate) fn calls(tasks: &[Task], call: impl Fn(&str, Value) -> Value) -> Vec<Value> {
    tasks.iter().map(|task| call(task.tool, task.input.clone())).collect()
}

/// Checks the results in the order of the tasks.
pub(crate) fn assert_solved(tasks: &[Task], result: impl Fn(usize) -> String) {
    let unsolved: Vec<String> = tasks
        .iter()
        .enumerate()
        .filter(|(at, task)| !result(*at).contains(&task.answer))
        .map(|(at, task)| format!("{}: {} gives {}", task.about, task.tool, result(at)))
        .collect();
    assert!(unsolved.is_empty(), "{} of {}:\n{}", unsolved.len(), tasks.len(), unsolved.join("\n"));
}

/// A call of a tool under a prefix.
pub(crate) fn prefixed_call(prefix: &str, tool: &str, input: Value) -> Value {
    tool_call(&format!("{prefix}{tool}"), input)
}
