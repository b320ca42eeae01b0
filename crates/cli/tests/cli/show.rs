//! `loci show`: one session and several, in the documented JSON format and as text.

use serde_json::{Value, json};
use testutil::{ALPHA, BETA, Finished, Home, Rollout, Session, run_line, run_loci, sample_home};

const FIRST: &str = "aaaa1111-0000-4000-8000-000000000001";

fn single_record(output: &Finished) -> Value {
    let records = output.records();
    assert_eq!(records.len(), 1, "one line: {}", output.text());
    records[0].clone()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn roles_and_texts(response: &Value) -> Vec<(&str, &str)> {
    let of = |m: &'_ Value, key: &str| m[key].as_str().unwrap().to_string().leak() as &str;
    response["messages"].as_array().unwrap().iter().map(|m| (of(m, "role"), of(m, "content"))).collect()
}

#[test]
fn one_session_has_the_documented_fields() {
    let home = sample_home();
    let shown = single_record(&run_loci(&home, &["show", FIRST]).expect(0));
    assert_eq!(keys(&shown), ["chat", "messages", "notes"]);
    let chat = &shown["chat"];
    assert_eq!(chat["id"], FIRST);
    assert_eq!(chat["title"], "Please fix the socket in the daemon");
    assert_eq!(chat["messageCount"], shown["messages"].as_array().unwrap().len());
    assert_eq!(chat["timeRange"]["from"], testutil::millis("2026-03-01T10:00:00Z"));
    assert_eq!(chat["source"], "claude-code");
    assert_eq!(chat["project"], ALPHA);
    assert_eq!(chat["resume"], format!("cd {ALPHA} && claude --resume {FIRST}"));
    assert_eq!(chat["subagents"], json!(["ace01"]));
    assert!(shown["notes"][0].as_str().unwrap().contains("subagents"));

    let first = &shown["messages"][0];
    assert_eq!(keys(first), ["messageId", "createdAt", "role", "content"]);
    assert_eq!(
        (first["role"].as_str(), first["content"].as_str()),
        (Some("user"), Some("Please fix the socket in the daemon"))
    );
    assert_eq!(first["createdAt"], testutil::millis("2026-03-01T10:00:00Z"));
    let printed = shown.to_string();
    assert!(!printed.contains("Look around the alpha"), "a subagent's messages are not included");
    assert!(printed.contains("overloaded"), "provider errors are included");
}

#[test]
fn calls_are_listed_with_the_reply_that_made_them() {
    let home = Home::new();
    let mut session = Session::new("dddd1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("Read it").reply(&["First,", "a look."]);
    session.did("Read", json!({"file_path": "/a.rs"}), "fn main() {}");
    session.did("mcp__mem__recall", json!({"q": "x"}), "{\"found\": [1, 2]}");
    session.failed("Bash", json!({"command": "false"}), "Exit code 1");
    session.reply(&["It is empty."]).prompt("Go on");
    session.call("Bash", json!({"command": "sleep 9"}));
    home.add(&session);

    let shown = single_record(&run_loci(&home, &["show", "dddd"]).expect(0));
    let messages = shown["messages"].as_array().unwrap();
    let tools: Vec<&Value> = messages.iter().filter_map(|m| m.get("tools")).collect();
    let flat = |key: &str| -> Vec<Value> {
        tools.iter().flat_map(|t| t[key].as_array().cloned().unwrap_or_default()).collect()
    };
    assert_eq!(
        flat("calls"),
        [
            json!({"server": "", "tool": "Read", "args": {"file_path": "/a.rs"}}),
            json!({"server": "mem", "tool": "recall", "args": {"q": "x"}}),
            json!({"server": "", "tool": "Bash", "args": {"command": "false"}, "status": "error"}),
            json!({"server": "", "tool": "Bash", "args": {"command": "sleep 9"}, "status": "pending"}),
        ]
    );
    assert_eq!(
        flat("results"),
        [json!({"text": "fn main() {}"}), json!({"json": {"found": [1, 2]}}), json!({"text": "Exit code 1"}),]
    );
    assert!(messages.iter().filter(|m| m.get("tools").is_some()).all(|m| m["role"] == "assistant"));

    let without_tools = single_record(&run_loci(&home, &["show", "dddd", "--no-tools"]).expect(0));
    assert_eq!(
        roles_and_texts(&without_tools),
        [
            ("user", "Read it"),
            ("assistant", "First,\na look."),
            ("assistant", "It is empty."),
            ("user", "Go on"),
        ]
    );
    assert!(!without_tools.to_string().contains("\"tools\""));
}

#[test]
fn several_sessions_are_interleaved_and_aligned() {
    let home = Home::new();
    let mut one = Session::new("eeee1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    one.prompt("Fix the  SOCKET").reply(&["Done."]).wait_minutes(10).prompt("thanks");
    let mut two = Session::new("eeee2222-0000-4000-8000-000000000002", BETA, "2026-03-01T10:05:00Z");
    two.prompt("fix the socket").reply(&["Not yet."]).prompt("Done.");
    home.add(&one);
    home.add(&two);
    let mut codex = Rollout::new("ffff1111-0000-4000-8000-000000000003", ALPHA, "2026-03-01T09:00:00Z");
    codex.prompt("Fix the socket").reply("done.");
    home.add_codex(&codex);

    let shown = single_record(&run_loci(&home, &["show", "eeee1", "eeee2", "ffff", "eeee1111"]).expect(0));
    assert_eq!(keys(&shown), ["meta", "narrative", "commonAlignment"]);
    let ids: Vec<&Value> = shown["meta"].as_array().unwrap().iter().map(|m| &m["id"]).collect();
    assert_eq!(ids.len(), 3, "a session named twice is shown once");
    assert_eq!(shown["meta"][2]["chatIdx"], 2);
    assert_eq!(shown["meta"][2]["source"], "codex");
    assert_eq!(shown["meta"][2]["resume"], format!("codex resume {}", codex.id));
    let order: Vec<(u64, u64)> = shown["narrative"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["chatIdx"].as_u64().unwrap(), m["index"].as_u64().unwrap()))
        .collect();
    assert_eq!(order, [(2, 0), (2, 1), (0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (0, 2)]);
    let aligned: Vec<(&str, &str, Vec<u64>)> = shown["commonAlignment"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            let chats =
                s["refs"].as_array().unwrap().iter().map(|r| r["chatIdx"].as_u64().unwrap()).collect();
            (s["role"].as_str().unwrap(), s["content"].as_str().unwrap(), chats)
        })
        .collect();
    assert_eq!(aligned, [("user", "Fix the  SOCKET", vec![0, 1, 2]), ("assistant", "Done.", vec![0, 2])]);
    for reference in shown["commonAlignment"][0]["refs"].as_array().unwrap() {
        assert_eq!(keys(reference), ["chatIdx", "index", "messageIdPrefix"]);
        let message = shown["narrative"]
            .as_array()
            .unwrap()
            .iter()
            .find(|m| m["chatIdx"] == reference["chatIdx"] && m["index"] == reference["index"]);
        let prefix = reference["messageIdPrefix"].as_str().unwrap();
        assert!(message.unwrap()["messageId"].as_str().unwrap().starts_with(prefix) && prefix.len() <= 8);
    }
}

#[test]
fn a_session_is_shown_by_an_unambiguous_id_prefix() {
    let home = sample_home();
    let error = single_record(&run_loci(&home, &["show", "zzzz"]).expect(1));
    assert_eq!(error["code"], "SESSION_NOT_FOUND");
    let error = single_record(&run_loci(&home, &["show", "aaaa"]).expect(1));
    assert_eq!(error["code"], "AMBIGUOUS_ID");
    let hints = error["hints"].to_string();
    assert!(hints.contains("loci show aaaa1111-") && hints.contains("loci show aaaa2222-"), "{hints}");
    let full = run_loci(&home, &["show", FIRST]).expect(0).stdout;
    assert_eq!(run_loci(&home, &["show", "aaaa1"]).expect(0).stdout, full);

    let agent = single_record(&run_loci(&home, &["show", "ace01"]).expect(0));
    assert_eq!(agent["chat"]["id"], "ace01");
    assert!(agent["chat"].get("resume").is_none(), "a subagent is not resumed");
    assert_eq!(agent["chat"]["title"], "Look around the alpha", "its task is its title");
    assert_eq!(agent["messages"][0]["content"], "Look around the alpha");
    assert_eq!(
        run_loci(&home, &["show", "agent-ace01"]).expect(0).stdout,
        run_loci(&home, &["show", "ace"]).stdout
    );
}

#[test]
fn a_session_can_be_shown_as_text() {
    let home = sample_home();
    let text = run_line(&home, "show bbbb -o text").expect(3);
    let text = text.text();
    assert!(text.starts_with("Beta asks for a colour\n"), "{text}");
    assert!(text.contains("\nuser  3 Mar"), "{text}");
    assert!(text.contains("\n  Blue.\n"), "{text}");
    assert!(text.contains("\n  · Bash false  error\n"), "{text}");
    assert!(!text.contains('\x1b'), "no colours where there is no terminal");
    assert!(
        text.ends_with("note: parts of it could not be read; `loci sources --problems` lists them\n"),
        "{text}"
    );
}

#[test]
fn a_missing_session_hints_at_its_remaining_subagents() {
    let home = Home::new();
    let mut session = Session::new("dddd1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    let mut agent = session.subagent("bee02");
    agent.prompt("Look").reply(&["Looked."]);
    home.add(&agent);
    let error = single_record(&run_loci(&home, &["show", "dddd"]).expect(1));
    assert_eq!(
        (error["code"].as_str(), error["hints"][0].as_str()),
        (Some("SESSION_NOT_FOUND"), Some("loci show bee02  # claude-code"))
    );
    session.prompt("Here again").reply(&["Yes."]);
    home.add(&session);
    assert_eq!(
        single_record(&run_loci(&home, &["show", "dddd"]).expect(0))["chat"]["subagents"],
        json!(["bee02"])
    );
}

/// Codex session IDs start with a timestamp: sessions of the same minute share the first eight characters.
fn home_with_sessions_of_one_minute() -> Home {
    let home = Home::new();
    for n in 0..12 {
        let id = format!("0199aaaa-00{n:02}-7000-8000-00000000000c");
        let mut rollout = Rollout::new(&id, ALPHA, "2026-03-04T09:00:00Z");
        rollout.prompt(&format!("Question {n}")).reply("Answer").did(&format!("call_{n}"), "false", 1);
        home.add_codex(&rollout);
    }
    home
}

#[test]
fn an_ambiguous_prefix_is_refused_and_printed_prefixes_are_accepted() {
    let home = home_with_sessions_of_one_minute();
    for line in [
        "query errors --session 0199aaaa",
        "query sessions --session 0199aaaa",
        "query messages --session 0199aaaa",
        "stats --session 0199aaaa",
        "forget 0199aaaa --dry-run",
        "show 0199aaaa",
    ] {
        let error = single_record(&run_line(&home, line).expect(1));
        assert_eq!(error["code"], "AMBIGUOUS_ID", "{line}");
        assert!(error["error"].as_str().unwrap().contains("is ambiguous (12 "), "{line}: {error}");
        let hints = error["hints"].to_string();
        assert_eq!(hints.matches("0199aaaa-").count(), 10, "{line}: {error}");
        assert!(hints.contains("and 2 more: use a longer prefix"), "{line}: {error}");
    }
    for line in [
        "query sessions --all-projects -o text",
        "query errors --all-projects -o text",
        "query turns --all-projects -o text",
        "query messages --all-projects -o text",
        "sessions -o text",
        "search question -o text",
        "archive -o text",
    ] {
        let listing = run_line(&home, line).expect(0);
        let prefix = listing.text().split_whitespace().find(|word| word.starts_with("0199aaaa-00"));
        let prefix = prefix.unwrap_or_else(|| panic!("{line}: {}", listing.text()));
        assert!(prefix.len() >= 13, "{line}: {prefix}");
        run_line(&home, &format!("show {prefix}")).expect(0);
        run_line(&home, &format!("query errors --session {prefix}")).expect(0);
    }
}
