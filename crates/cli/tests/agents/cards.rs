//! The card in the real Claude Code: the person sees it and the model does not; nothing is switched; and what is chosen
//! arrives, labelled as history. What the model was sent is read from the scripted provider.

use crate::clients::session;
use crate::fixture::Fixture;
use serde_json::{Value, json};
use testutil::clients::{CLAUDE, Clients};

const MEANT: &str = "aaaa1111-0000-4000-8000-000000000000";
const OWN: &str = "11111111-2222-4333-8444-555555555555";

/// A session of March, held where the others will be.
fn remember(fixture: &Fixture, id: &str, prompt: &str, reply: &str) {
    let work = fixture.path().join("work");
    let line = |nth: usize, kind: &str, message: Value| {
        let parent = if nth == 0 { Value::Null } else { json!(format!("{id}-{}", nth - 1)) };
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": work, "sessionId": id,
            "version": "2.1.325", "gitBranch": "", "type": kind, "uuid": format!("{id}-{nth}"),
            "timestamp": format!("2026-03-02T09:00:0{nth}.000Z"), "message": message,
        });
        format!("{line}\n")
    };
    let usage = json!({"input_tokens": 5, "output_tokens": 5});
    let said = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": reply}], "stop_reason": "end_turn", "usage": usage});
    let lines = line(0, "user", json!({"role": "user", "content": prompt})) + &line(1, "assistant", said);
    let folder: String =
        work.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    fixture.write(&format!(".claude/projects/{folder}/{id}.jsonl"), &lines);
}

fn prepared() -> Fixture {
    let fixture = Fixture::new();
    fixture.answer(&["setup", "claude-code", "--yes"], 0);
    remember(
        &fixture,
        MEANT,
        "the zebrafish daemon loses its socket",
        "Decision: keep the zebrafish socket in the runtime directory.",
    );
    for (n, prompt) in
        ["rename the module", "write the changelog", "add a colour flag"].into_iter().enumerate()
    {
        remember(&fixture, &format!("bbbb222{n}-0000-4000-8000-000000000000"), prompt, "Done.");
    }
    fixture.answer(&["index", "--json"], 0);
    fixture
}

/// The prompts of a session, each of which is taken up by the next.
fn script(id: &str, first: &str, prompts: &[&str]) -> String {
    let mut script =
        r#". "$CLIENTS/env.sh"; mkdir -p "$1/work"; cd "$1/work"; export CL_TIMEOUT=60"#.to_string();
    for (n, prompt) in prompts.iter().enumerate() {
        let session = if n == 0 { first } else { "--resume" };
        script += &format!(
            "\ncl \"$1\" -p '{prompt} SCENARIO:hello' {session} {id} --output-format stream-json --verbose < /dev/null > \"$1/{n}.jsonl\" 2>&1"
        );
    }
    script + "\n"
}

fn events(fixture: &Fixture, n: usize) -> Vec<Value> {
    fixture.read(&format!("{n}.jsonl")).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What the provider was sent, a request each; those that only warm up or count are left out.
fn asked(sent: &str, prompt: &str) -> String {
    let mut all = sent.lines().filter(|line| line.contains("/v1/messages") && line.contains(prompt));
    all.next_back().unwrap_or_else(|| panic!("nobody sent `{prompt}`")).to_string()
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn the_person_sees_the_card_and_the_model_gets_what_is_chosen() {
    let clients = Clients::offline(CLAUDE);
    let fixture = prepared();
    let prompts = [
        "what did we decide about the zebrafish daemon socket last time?",
        "loci bring.",
        "and now the changelog.",
    ];
    let script = script(OWN, "--session-id", &prompts);
    let sent = session(&fixture, &clients, "claude-code/claude_scenarios.json", &script);
    let seen = |n: usize| {
        let events = events(&fixture, n);
        let notices = events.iter().filter(|event| event["subtype"] == "informational");
        notices.map(|event| event["content"].as_str().unwrap_or_default().to_string()).collect::<String>()
    };
    let card = seen(0);
    for part in [
        "the zebrafish daemon loses its socket",
        "2026-03-02",
        &format!("claude --resume {MEANT}"),
        "type `loci bring`",
        "3 ignore",
    ] {
        assert!(card.contains(part), "{part}: {card}\n{}", fixture.read("0.jsonl"));
    }
    assert!(seen(1).contains("its summary was brought in"), "{}", seen(1));
    assert_eq!(seen(2), "");
    for n in 0..prompts.len() {
        let init = events(&fixture, n).into_iter().find(|event| event["subtype"] == "init").unwrap();
        assert_eq!(init["session_id"], OWN, "nothing is switched");
    }
    let first = asked(&sent, "zebrafish daemon socket last time");
    let told = sent.lines().filter(|line| !line.contains("loci bring")).collect::<String>();
    assert!(
        !told.contains(MEANT) && !told.contains("continue there"),
        "the model knows nothing of the card: {first}"
    );
    let second = asked(&sent, "loci bring.");
    for part in [
        "hook additional context: Loci: the summary of an earlier session",
        "history of 2026-03-02",
        "not a task",
        "Decision: keep the zebrafish socket",
    ] {
        assert!(second.contains(part), "{part}: {second}");
    }
}

/// Seed 003, P2-B: months have passed since March.
#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn a_session_that_is_taken_up_again_is_told_what_it_was_about() {
    let clients = Clients::offline(CLAUDE);
    let fixture = prepared();
    let script = script(MEANT, "--resume", &["go on."]);
    let sent = session(&fixture, &clients, "claude-code/claude_scenarios.json", &script);
    let sent = asked(&sent, "go on.");
    for part in [
        "what this session was about before it rested",
        "history of 2026-03-02",
        "not a task",
        "Asked first: the zebrafish daemon",
    ] {
        assert!(sent.contains(part), "{part}: {sent:.3000}\n{}", fixture.read("0.jsonl"));
    }
}
