//! `loci show`: one conversation and several, exactly in the shape that agents were promised.

use serde_json::{Value, json};
use testutil::{ALPHA, BETA, Finished, Home, Rollout, Session, run_line, run_loci, sample_home};

const FIRST: &str = "aaaa1111-0000-4000-8000-000000000001";

fn answer(ended: &Finished) -> Value {
    let records = ended.records();
    assert_eq!(records.len(), 1, "one line: {}", ended.text());
    records[0].clone()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn roles(answer: &Value) -> Vec<(&str, &str)> {
    let of = |m: &'_ Value, key: &str| m[key].as_str().unwrap().to_string().leak() as &str;
    answer["messages"].as_array().unwrap().iter().map(|m| (of(m, "role"), of(m, "content"))).collect()
}

#[test]
fn one_conversation_has_the_promised_shape() {
    let home = sample_home();
    let shown = answer(&run_loci(&home, &["show", FIRST]).expect(0));
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
    let told = shown.to_string();
    assert!(!told.contains("Look around the alpha"), "a subagent's words are its own");
    assert!(told.contains("overloaded"), "what the provider said is not lost");
}

#[test]
fn calls_stand_with_the_reply_that_made_them() {
    let home = Home::new();
    let mut session = Session::new("dddd1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("Read it").reply(&["First,", "a look."]);
    session.did("Read", json!({"file_path": "/a.rs"}), "fn main() {}");
    session.did("mcp__mem__recall", json!({"q": "x"}), "{\"found\": [1, 2]}");
    session.failed("Bash", json!({"command": "false"}), "Exit code 1");
    session.reply(&["It is empty."]).prompt("Go on");
    session.call("Bash", json!({"command": "sleep 9"}));
    home.add(&session);

    let shown = answer(&run_loci(&home, &["show", "dddd"]).expect(0));
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

    let bare = answer(&run_loci(&home, &["show", "dddd", "--no-tools"]).expect(0));
    assert_eq!(
        roles(&bare),
        [
            ("user", "Read it"),
            ("assistant", "First,\na look."),
            ("assistant", "It is empty."),
            ("user", "Go on"),
        ]
    );
    assert!(!bare.to_string().contains("\"tools\""));
}

#[test]
fn several_conversations_are_interleaved_and_aligned() {
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

    let shown = answer(&run_loci(&home, &["show", "eeee1", "eeee2", "ffff", "eeee1111"]).expect(0));
    assert_eq!(keys(&shown), ["meta", "narrative", "commonAlignment"]);
    let ids: Vec<&Value> = shown["meta"].as_array().unwrap().iter().map(|m| &m["id"]).collect();
    assert_eq!(ids.len(), 3, "named twice is shown once");
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
    for at in shown["commonAlignment"][0]["refs"].as_array().unwrap() {
        assert_eq!(keys(at), ["chatIdx", "index", "messageIdPrefix"]);
        let whole = shown["narrative"]
            .as_array()
            .unwrap()
            .iter()
            .find(|m| m["chatIdx"] == at["chatIdx"] && m["index"] == at["index"]);
        let prefix = at["messageIdPrefix"].as_str().unwrap();
        assert!(whole.unwrap()["messageId"].as_str().unwrap().starts_with(prefix) && prefix.len() <= 8);
    }
}

#[test]
fn an_id_is_known_by_its_beginning() {
    let home = sample_home();
    let error = answer(&run_loci(&home, &["show", "zzzz"]).expect(1));
    assert_eq!(error["code"], "SESSION_NOT_FOUND");
    let error = answer(&run_loci(&home, &["show", "aaaa"]).expect(1));
    assert_eq!(error["code"], "AMBIGUOUS_ID");
    let hints = error["hints"].to_string();
    assert!(hints.contains("loci show aaaa1111-") && hints.contains("loci show aaaa2222-"), "{hints}");
    let whole = run_loci(&home, &["show", FIRST]).expect(0).stdout;
    assert_eq!(run_loci(&home, &["show", "aaaa1"]).expect(0).stdout, whole);

    let agent = answer(&run_loci(&home, &["show", "ace01"]).expect(0));
    assert_eq!(agent["chat"]["id"], "ace01");
    assert!(agent["chat"].get("resume").is_none(), "a subagent is not resumed");
    assert_eq!(agent["chat"]["title"], "Look around the alpha", "it has no title but its task");
    assert_eq!(agent["messages"][0]["content"], "Look around the alpha");
    assert_eq!(
        run_loci(&home, &["show", "agent-ace01"]).expect(0).stdout,
        run_loci(&home, &["show", "ace"]).stdout
    );
}

#[test]
fn a_transcript_is_text_for_people_when_asked() {
    let home = sample_home();
    let text = run_line(&home, "show bbbb -o text").expect(3);
    let text = text.text();
    assert!(text.starts_with("Beta asks for a colour\n"), "{text}");
    assert!(text.contains("\nuser  3 Mar"), "{text}");
    assert!(text.contains("\n  Blue.\n"), "{text}");
    assert!(text.contains("\n  · Bash false  error\n"), "{text}");
    assert!(!text.contains('\x1b'), "no colours where there is no terminal");
    assert!(
        text.ends_with("note: a part of it could not be read; `loci sources --problems` says where\n"),
        "{text}"
    );
}

#[test]
fn what_is_left_of_a_lost_session_is_named() {
    let home = Home::new();
    let mut session = Session::new("dddd1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    let mut agent = session.subagent("bee02");
    agent.prompt("Look").reply(&["Looked."]);
    home.add(&agent);
    let error = answer(&run_loci(&home, &["show", "dddd"]).expect(1));
    assert_eq!(
        (error["code"].as_str(), error["hints"][0].as_str()),
        (Some("SESSION_NOT_FOUND"), Some("loci show bee02  # claude-code"))
    );
    session.prompt("Here again").reply(&["Yes."]);
    home.add(&session);
    assert_eq!(answer(&run_loci(&home, &["show", "dddd"]).expect(0))["chat"]["subagents"], json!(["bee02"]));
}

/// Codex numbers its sessions by time: all of one minute begin with the same eight characters.
fn one_minute() -> Home {
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
fn a_beginning_that_several_share_is_refused_by_every_command_and_what_is_printed_is_understood() {
    let home = one_minute();
    for line in [
        "query errors --session 0199aaaa",
        "query sessions --session 0199aaaa",
        "query messages --session 0199aaaa",
        "stats --session 0199aaaa",
        "forget 0199aaaa --dry-run",
        "show 0199aaaa",
    ] {
        let error = answer(&run_line(&home, line).expect(1));
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
        let told = run_line(&home, line).expect(0);
        let shown = told.text().split_whitespace().find(|word| word.starts_with("0199aaaa-00"));
        let shown = shown.unwrap_or_else(|| panic!("{line}: {}", told.text()));
        assert!(shown.len() >= 13, "{line}: {shown}");
        run_line(&home, &format!("show {shown}")).expect(0);
        run_line(&home, &format!("query errors --session {shown}")).expect(0);
    }
}
