//! Suggestion cards in the real Claude Code: the user sees the card, the model does not, and no session is switched.
//! A chosen summary reaches the model, labelled as history. The scripted provider records what the model was sent.

use crate::clients::run_session_script;
use crate::fixture::Fixture;
use serde_json::{Value, json};
use testutil::clients::{CLAUDE, Clients};

const EARLIER_SESSION: &str = "aaaa1111-0000-4000-8000-000000000000";
const CURRENT_SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// Writes the transcript of a session from March into the project folder that the later sessions use.
fn write_session(fixture: &Fixture, id: &str, prompt: &str, reply: &str) {
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
    let assistant = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": reply}], "stop_reason": "end_turn", "usage": usage});
    let lines =
        line(0, "user", json!({"role": "user", "content": prompt})) + &line(1, "assistant", assistant);
    let folder: String =
        work.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    fixture.write(&format!(".claude/projects/{folder}/{id}.jsonl"), &lines);
}

fn fixture_with_history() -> Fixture {
    let fixture = Fixture::new();
    fixture.run_json(&["setup", "claude-code", "--yes"], 0);
    write_session(
        &fixture,
        EARLIER_SESSION,
        "the zebrafish daemon loses its socket",
        "Decision: keep the zebrafish socket in the runtime directory.",
    );
    for (n, prompt) in
        ["rename the module", "write the changelog", "add a colour flag"].into_iter().enumerate()
    {
        write_session(&fixture, &format!("bbbb222{n}-0000-4000-8000-000000000000"), prompt, "Done.");
    }
    fixture.run_json(&["index", "--json"], 0);
    fixture
}

/// A shell script that runs Claude Code once for each prompt; every run after the first resumes the session.
fn session_script(id: &str, first_flag: &str, prompts: &[&str]) -> String {
    let mut script =
        r#". "$CLIENTS/env.sh"; mkdir -p "$1/work"; cd "$1/work"; export CL_TIMEOUT=60"#.to_string();
    for (n, prompt) in prompts.iter().enumerate() {
        let session = if n == 0 { first_flag } else { "--resume" };
        script += &format!(
            "\ncl \"$1\" -p '{prompt} SCENARIO:hello' {session} {id} --output-format stream-json --verbose < /dev/null > \"$1/{n}.jsonl\" 2>&1"
        );
    }
    script + "\n"
}

fn read_events(fixture: &Fixture, n: usize) -> Vec<Value> {
    fixture.read(&format!("{n}.jsonl")).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The last request to `/v1/messages` that contains the prompt.
fn find_request(requests: &str, prompt: &str) -> String {
    let mut all = requests.lines().filter(|line| line.contains("/v1/messages") && line.contains(prompt));
    all.next_back().unwrap_or_else(|| panic!("no request contains `{prompt}`")).to_string()
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn the_user_sees_the_card_and_the_model_receives_only_the_chosen_summary() {
    let clients = Clients::offline(CLAUDE);
    let fixture = fixture_with_history();
    let prompts = [
        "what did we decide about the zebrafish daemon socket last time?",
        "loci bring.",
        "and now the changelog.",
    ];
    let script = session_script(CURRENT_SESSION, "--session-id", &prompts);
    let requests = run_session_script(&fixture, &clients, "claude-code/claude_scenarios.json", &script);
    let shown_notices = |n: usize| {
        let events = read_events(&fixture, n);
        let notices = events.iter().filter(|event| event["subtype"] == "informational");
        notices.map(|event| event["content"].as_str().unwrap_or_default().to_string()).collect::<String>()
    };
    let card = shown_notices(0);
    for part in [
        "the zebrafish daemon loses its socket",
        "2026-03-02",
        &format!("claude --resume {EARLIER_SESSION}"),
        "type `loci bring`",
        "3 ignore",
    ] {
        assert!(card.contains(part), "{part}: {card}\n{}", fixture.read("0.jsonl"));
    }
    assert!(shown_notices(1).contains("its summary was added"), "{}", shown_notices(1));
    assert_eq!(shown_notices(2), "");
    for n in 0..prompts.len() {
        let init = read_events(&fixture, n).into_iter().find(|event| event["subtype"] == "init").unwrap();
        assert_eq!(init["session_id"], CURRENT_SESSION, "the session was switched");
    }
    let first = find_request(&requests, "zebrafish daemon socket last time");
    // The card itself says `loci bring`; only the user's own prompt ends it with a full stop.
    let requests_before_choice =
        requests.lines().take_while(|line| !line.contains("loci bring.")).collect::<String>();
    assert!(
        !requests_before_choice.contains(EARLIER_SESSION)
            && !requests_before_choice.contains("continue there"),
        "the card was sent to the model: {first}"
    );
    let second = find_request(&requests, "loci bring.");
    for part in [
        "hook additional context: Loci: the summary of an earlier session",
        "history of 2026-03-02",
        "not a task",
        "Decision: keep the zebrafish socket",
    ] {
        assert!(second.contains(part), "{part}: {second}");
    }
}

/// Seed 003, P2-B: the session has been idle since March.
#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn a_resumed_session_receives_its_summary() {
    let clients = Clients::offline(CLAUDE);
    let fixture = fixture_with_history();
    let script = session_script(EARLIER_SESSION, "--resume", &["go on."]);
    let requests = run_session_script(&fixture, &clients, "claude-code/claude_scenarios.json", &script);
    let request = find_request(&requests, "go on.");
    for part in [
        "what this session was about before it rested",
        "history of 2026-03-02",
        "not a task",
        "Asked first: the zebrafish daemon",
    ] {
        assert!(request.contains(part), "{part}: {request:.3000}\n{}", fixture.read("0.jsonl"));
    }
}
