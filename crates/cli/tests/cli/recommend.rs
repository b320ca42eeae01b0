//! `loci recommend`: a card if a prompt refers back to a session, otherwise the reason why there is none; the effect of
//! every parameter, and the commands that the card offers.

use serde_json::{Value, json};
use testutil::{ALPHA, BETA, Finished, Home, Session, run_loci};

const SOCKET: &str = "aaaa1111-0000-4000-8000-000000000001";
const BACKUP: &str = "bbbb2222-0000-4000-8000-000000000002";
const REFERRING_PROMPT: &str = "what did we decide about the walrus socket last time?";

fn home_with_history() -> Home {
    let home = Home::new();
    for (id, project, prompt, reply) in [
        (
            SOCKET,
            ALPHA,
            "the walrus daemon loses its socket",
            "Decision: the walrus socket stays in the runtime directory.",
        ),
        (BACKUP, BETA, "数据库备份的方案，先全量再增量", "定了：每天全量，保留 14 天"),
        ("cccc3333-0000-4000-8000-000000000003", BETA, "rename the module", "Renamed."),
        ("dddd4444-0000-4000-8000-000000000004", ALPHA, "write the changelog for the release", "Written."),
    ] {
        let mut session = Session::new(id, project, "2026-03-02T09:00:00Z");
        home.add(session.prompt(prompt).reply(&[reply]));
    }
    home
}

fn recommend(home: &Home, args: &[&str]) -> (Value, Finished) {
    let output = run_loci(home, &[&["recommend", "--json"], args].concat());
    (output.records().remove(0), output)
}

#[test]
fn a_card_has_the_documented_fields_and_a_text_form() {
    let home = home_with_history();
    let (response, output) = recommend(&home, &[REFERRING_PROMPT]);
    let card = &response["card"];
    assert_eq!(output.code, Some(0));
    assert_eq!(
        (&card["chatId"], &card["source"], &card["project"]),
        (&json!(SOCKET), &json!("claude-code"), &json!(ALPHA))
    );
    assert_eq!(card["name"], "the walrus daemon loses its socket");
    assert_eq!(card["resume"], format!("cd {ALPHA} && claude --resume {SOCKET}"));
    assert_eq!(card["why"], json!(["socket", "walrus"]));
    assert!(card["confidence"].as_f64().unwrap() > 0.8 && card["date"].as_i64().is_some(), "{card}");
    assert!(card["preview"].as_str().unwrap().starts_with("Decision"), "{card}");
    let text = run_loci(&home, &["recommend", "上次那个数据库备份的方案", "-o", "text"]).expect(0);
    for line in [
        "数据库备份的方案，先全量再增量\n",
        "  1  continue there ",
        &format!("claude --resume {BACKUP}"),
        &format!("loci show {BACKUP}\n"),
        "  3  ignore it",
    ] {
        assert!(text.text().contains(line), "{line}: {}", text.text());
    }
}

#[test]
fn every_parameter_changes_the_result() {
    let home = home_with_history();
    let card = |args: &[&str]| recommend(&home, args).0["card"]["chatId"].as_str().map(str::to_owned);
    assert_eq!(card(&["--prompt", REFERRING_PROMPT]).as_deref(), Some(SOCKET));
    assert_eq!(card(&["--prompt", "上次那个数据库备份的方案"]).as_deref(), Some(BACKUP));
    assert_eq!(
        card(&[REFERRING_PROMPT, "--session", SOCKET]),
        None,
        "a session is not recommended to itself"
    );
    assert_eq!(card(&[REFERRING_PROMPT, "--project", BETA]), None);
    assert_eq!(card(&[REFERRING_PROMPT, "--project", ALPHA]).as_deref(), Some(SOCKET));
    assert_eq!(card(&[REFERRING_PROMPT, "--threshold", "1"]), None, "no suggestion has full confidence");
    let vague = "what did we decide about the walrus and the otter and the seal?";
    assert_eq!(card(&[vague]), None);
    assert_eq!(card(&[vague, "--threshold", "0"]).as_deref(), Some(SOCKET));
}

#[test]
fn a_missing_suggestion_has_a_reason() {
    let home = home_with_history();
    for (prompt, abstained, has_confidence) in [
        ("mend the walrus socket", "no_reference", false),
        ("as we discussed: quantum llamas", "nothing_found", false),
        ("what did we decide about the walrus and the otter and the seal?", "unsure", true),
    ] {
        let (response, output) = recommend(&home, &[prompt]);
        assert_eq!(
            (output.code, &response["card"], &response["abstained"]),
            (Some(2), &Value::Null, &json!(abstained)),
            "{prompt}"
        );
        assert_eq!(response["confidence"].is_number(), has_confidence, "{prompt}");
        assert!(response["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{prompt}");
    }
    for args in [&["--prompt", " "][..], &[REFERRING_PROMPT, "--threshold", "2"]] {
        let (error, output) = recommend(&home, args);
        assert_eq!((output.code, &error["code"]), (Some(1), &json!("INVALID_ARGUMENT")), "{args:?}");
    }
}

#[test]
fn a_forgotten_session_is_not_recommended() {
    let home = home_with_history();
    assert!(recommend(&home, &[REFERRING_PROMPT]).0["card"].is_object());
    run_loci(&home, &["forget", SOCKET, "--yes"]).expect(0);
    assert_eq!(recommend(&home, &[REFERRING_PROMPT]).0["card"], Value::Null);
}
