//! A message to an agent, answered by the real Claude Code in the agent's directory; the next one goes on in the same
//! conversation.

use crate::clients::{claude, session};
use crate::desk::{Desk, EXE};
use serde_json::Value;

/// `cl` runs Claude Code in a clean environment; here it runs Loci in the same, which finds the client on its path.
const SCRIPT: &str = r#". "$CLIENTS/env.sh"; mkdir -p "$1/work" "$1/bin"; ln -sf "$CLAUDE_BIN" "$1/bin/claude"
CLAUDE_BIN="LOCI"; CLEAN_PATH="$1/bin:/usr/local/bin:/usr/bin:/bin"; cd "$1"
cl "$1" agent add helper "$1/work" --json > "$1/agent.json"
cl "$1" dispatch helper 'remember the zebrafish SCENARIO:hello' --wait-seconds 80 --json > "$1/0.json"
cl "$1" dispatch helper 'and now the changelog SCENARIO:hello' --wait-seconds 80 --from reviewer --json > "$1/1.json"
cl "$1" daemon stop > /dev/null
"#;

#[test]
fn a_message_is_answered_by_the_real_client_and_the_next_goes_on_from_there() {
    if claude().is_none() {
        return;
    }
    let desk = Desk::new();
    let script = SCRIPT.replace("LOCI", EXE);
    let Some(sent) = session(&desk, "claude-code/claude_scenarios.json", &script) else { return };
    let told = |n: usize| -> Value { serde_json::from_str(&desk.read(&format!("{n}.json"))).unwrap() };
    let (first, second) = (told(0), told(1));
    for message in [&first, &second] {
        assert_eq!(message["state"], "answered", "{message}");
        assert!(message["reply"].as_str().unwrap().contains("Hello from stub"), "{message}");
        assert_eq!(message["attempts"], 1);
    }
    assert_eq!(first["session"], second["session"]);
    let asked = sent.lines().rfind(|line| line.contains("and now the changelog")).unwrap();
    for part in ["remember the zebrafish", "Message 2 from reviewer, handed over by Loci"] {
        assert!(asked.contains(part), "{part}: {asked:.2000}");
    }
    // It is a conversation like any other, of that directory.
    let id = first["session"].as_str().unwrap();
    let listed = desk.answer(&["sessions", "--json"], 0);
    let own = listed["sessions"].as_array().unwrap().iter().find(|one| one["chatId"] == id).unwrap();
    assert!(own["project"].as_str().unwrap().ends_with("/work"), "{own}");
}
