//! Decisions before an edit and the brief after a compaction, in the real Claude Code. The scripted provider records what the
//! model was sent.

use crate::clients::run_session_script;
use crate::fixture::Fixture;
use serde_json::{Value, json};
use testutil::clients::{CLAUDE, Clients};
use testutil::git;

const SESSION: &str = "22222222-3333-4444-8555-666666666666";
const DATE: &str = "2026-01-05T09:00:00Z";
const STORE: &str =
    "class Store:\n    def flush(self):\n        return 1\n\n    def size(self):\n        return 2\n";
/// The brief has at most 800 tokens, of which none is shorter than three bytes on average.
const MAX_BRIEF_BYTES: usize = 2_400;

struct Project {
    fixture: Fixture,
    clients: Clients,
}

impl Project {
    fn new() -> Project {
        let fixture = Fixture::new();
        fixture.write("work/store.py", STORE);
        let work = fixture.path().join("work");
        git(&work, DATE, &["init", "-q", "-b", "main"]);
        git(&work, DATE, &["add", "-A"]);
        git(&work, DATE, &["commit", "-q", "-m", "store"]);
        fixture.run_json(&["setup", "claude-code", "--yes"], 0);
        Project { fixture, clients: Clients::offline(CLAUDE) }
    }

    fn store_file(&self) -> String {
        self.fixture.path().join("work/store.py").to_string_lossy().into_owned()
    }

    /// Runs prompts in one session; returns the requests to the model.
    fn run(&self, scenarios: &Value, prompts: &[(&str, &str)]) -> Vec<String> {
        self.fixture.write("scenarios.json", &scenarios.to_string());
        let mut script = r#". "$CLIENTS/env.sh"; cd "$1/work"; export CL_TIMEOUT=60"#.to_string();
        for (n, (prompt, flag)) in prompts.iter().enumerate() {
            script += &format!(
                "\ncl \"$1\" -p '{prompt}' {flag} {SESSION} --dangerously-skip-permissions --output-format stream-json --verbose \
                 < /dev/null > \"$1/{n}.jsonl\" 2>&1"
            );
        }
        let scenarios = self.fixture.path().join("scenarios.json");
        let requests =
            run_session_script(&self.fixture, &self.clients, scenarios.to_str().unwrap(), &(script + "\n"));
        requests.lines().filter(|line| line.contains("/v1/messages")).map(String::from).collect()
    }
}

fn call(tool: &str, input: Value) -> Value {
    json!({"blocks": [{"type": "tool_use", "name": tool, "input": input}]})
}

fn text(text: &str) -> Value {
    json!({"blocks": [{"type": "text", "text": text}]})
}

/// A hook that misses its deadline on a busy machine is silent: the decided symbol is edited several times.
#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn a_decision_reaches_the_model_before_the_edit_and_once() {
    let project = Project::new();
    let work = project.fixture.path().join("work").canonicalize().unwrap();
    let decision = "Store.flush must return within a second";
    project.fixture.run_json(&["memory", "add", decision, "--project", work.to_str().unwrap(), "--json"], 0);
    let file = project.store_file();
    let edit =
        |old: &str, new: &str| call("Edit", json!({"file_path": file, "old_string": old, "new_string": new}));
    let mut turns = vec![call("Read", json!({"file_path": file})), edit("return 2", "return 3")];
    turns.extend([
        edit("return 1", "return 10"),
        edit("return 10", "return 11"),
        edit("return 11", "return 12"),
    ]);
    turns.push(text("Done."));
    let requests = project.run(&json!({"edits": turns}), &[("SCENARIO:edits go", "--session-id")]);
    let heading = "decided earlier by the person (history, not instructions)";
    let said = |request: &&String| request.contains(heading);
    let last = requests.iter().rfind(said).expect("the model was not told");
    assert_eq!(last.matches(heading).count(), 1, "{last}");
    let told = &last[last.find(heading).unwrap()..];
    assert!(told.contains("Store.flush (decision of") && told.contains(decision), "{told}");
    let first = requests.iter().position(|request| said(&request)).unwrap();
    assert!(requests[first].contains("return 10"), "told before anything was edited: {}", requests[first]);
    assert!(!requests[first].contains("return 12"), "told only after the last edit: {}", requests[first]);
    assert!(project.fixture.read("work/store.py").contains("return 12"), "an edit was blocked");
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn a_compacted_session_gets_its_brief() {
    let project = Project::new();
    let file = project.store_file();
    let turns = json!([
        call("Read", json!({"file_path": file})),
        call("Edit", json!({"file_path": file, "old_string": "return 1", "new_string": "return 10"})),
        call("Bash", json!({"command": "make check-everything", "description": "Check"})),
        text("The check fails: there is no such target."),
    ]);
    let scenarios = json!({"work": turns, "hello": [text("Hello.")]});
    let prompts = [("SCENARIO:work make flush return ten. We decided: flush never raises.", "--session-id")];
    project.run(&scenarios, &prompts);
    project.fixture.run_json(&["index", "--json"], 0);
    project.fixture.run_json(&["memory", "consolidate", "--json"], 0);
    let requests = project.run(&scenarios, &[("/compact", "--resume"), ("SCENARIO:hello go on", "--resume")]);
    let request = requests.last().unwrap();
    let from =
        request.find("before its context was compacted").unwrap_or_else(|| panic!("no brief: {request}"));
    let brief = &request[from..(from + MAX_BRIEF_BYTES).min(request.len())];
    for part in ["make flush return ten", "flush never raises", "store.py", "make check-everything", "ends]"]
    {
        assert!(brief.contains(part), "{part}: {brief}");
    }
}
