//! Dispatched messages: the real client answers in the agent's directory, and the next message resumes its session.

use crate::clients::run_session_script;
use crate::fixture::Fixture;
use serde_json::Value;
use testutil::binary;
use testutil::clients::{CLAUDE, CODEX, Clients};

/// `cl` runs Claude Code in a clean environment. Here it runs Loci in that environment, with the client on its `PATH`.
const RUN_LOCI_WITH_CLAUDE: &str = r#". "$CLIENTS/env.sh"; mkdir -p "$1/bin"; ln -sf "$CLAUDE_BIN" "$1/bin/claude"
CLAUDE_BIN="LOCI"; CLEAN_PATH="$1/bin:/usr/local/bin:/usr/bin:/bin"; loci() { cl "$@"; }; client=claude
"#;

/// The same for Codex, which `cx` runs.
const RUN_LOCI_WITH_CODEX: &str = r#". "$CLIENTS/codex/codex_env.sh"; mkdir -p "$1/bin"; ln -sf "$CX" "$1/bin/codex"
cat "$CLIENTS/codex/config.toml" > "$1/.codex/config.toml"
CX="LOCI"; CX_EXTRA="PATH=$1/bin:/usr/local/bin:/usr/bin:/bin"; CX_TIMEOUT=100; loci() { cx "$@"; }; client=codex
"#;

const SCRIPT: &str = r#"mkdir -p "$1/work"; cd "$1"
loci "$1" agent add helper "$1/work" --client $client --json > "$1/agent.json"
loci "$1" dispatch helper 'remember the zebrafish SCENARIO:hello' --wait-seconds 80 --json > "$1/0.json"
loci "$1" dispatch helper 'and now the changelog SCENARIO:hello' --wait-seconds 80 --from reviewer --json > "$1/1.json"
loci "$1" daemon stop > /dev/null
"#;

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn claude_code_answers_two_messages_in_one_session() {
    check_two_messages(&Clients::offline(CLAUDE), "claude-code/claude_scenarios.json", RUN_LOCI_WITH_CLAUDE);
}

#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn codex_answers_two_messages_in_one_session() {
    check_two_messages(&Clients::offline(CODEX), "codex/codex_scenarios.json", RUN_LOCI_WITH_CODEX);
}

fn check_two_messages(clients: &Clients, scenarios: &str, client: &str) {
    let fixture = Fixture::new();
    let script = format!("{client}{SCRIPT}").replace("LOCI", binary());
    let requests = run_session_script(&fixture, clients, scenarios, &script);
    let read_message =
        |n: usize| -> Value { serde_json::from_str(&fixture.read(&format!("{n}.json"))).unwrap() };
    let (first, second) = (read_message(0), read_message(1));
    for message in [&first, &second] {
        assert_eq!(message["state"], "answered", "{message}");
        assert!(message["reply"].as_str().unwrap().contains("Hello from stub"), "{message}");
        assert_eq!(message["attempts"], 1);
    }
    assert_eq!(first["session"], second["session"]);
    let request = requests.lines().rfind(|line| line.contains("and now the changelog")).unwrap();
    for part in ["remember the zebrafish", "Message 2 from reviewer, handed over by Loci"] {
        assert!(request.contains(part), "{part}: {request:.2000}");
    }
    // The session is listed like any other, with the agent's directory as its project.
    let id = first["session"].as_str().unwrap();
    let listed = fixture.run_json(&["sessions", "--json"], 0);
    let own = listed["sessions"].as_array().unwrap().iter().find(|one| one["chatId"] == id).unwrap();
    assert!(own["project"].as_str().unwrap().ends_with("/work"), "{own}");
}
