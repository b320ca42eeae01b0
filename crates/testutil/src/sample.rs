//! The sample history that most command tests read.
//!
//! Does not know the tests.

use crate::{ALPHA, BETA, Home, Rollout, Session};
use serde_json::json;

/// A home with a small history: two projects, two agents, a subagent, failures, pauses, an open call, a damaged line.
pub fn sample_home() -> Home {
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
        // Each second edit takes the one before it back.
        let (old, new) = if n % 2 == 0 { ("text", "words") } else { ("words", "text") };
        let edit = json!({"file_path": "/srv/demo/alpha/src/lib.rs", "old_string": old, "new_string": new});
        second.did("Edit", edit, "edited");
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
    other
        .did(
            "Edit",
            json!({"file_path": "/srv/demo/beta/x.rs", "old_string": "red", "new_string": "green"}),
            "ok",
        )
        .reply(&["Green."]);
    other.raw_line("{\"this line\": is damaged");
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
