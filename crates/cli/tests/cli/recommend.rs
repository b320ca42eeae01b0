//! `loci recommend`: a card when a prompt refers back to one conversation, the reason when it does not; every parameter
//! changes that, and a person can type what the card offers.

use serde_json::{Value, json};
use testutil::{ALPHA, BETA, Finished, Home, Session, run_loci};

const SOCKET: &str = "aaaa1111-0000-4000-8000-000000000001";
const BACKUP: &str = "bbbb2222-0000-4000-8000-000000000002";
const BACK: &str = "what did we decide about the walrus socket last time?";

fn history() -> Home {
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

fn asked(home: &Home, args: &[&str]) -> (Value, Finished) {
    let ended = run_loci(home, &[&["recommend", "--json"], args].concat());
    (ended.records().remove(0), ended)
}

#[test]
fn a_card_has_the_promised_shape_and_can_be_read() {
    let home = history();
    let (answer, ended) = asked(&home, &[BACK]);
    let card = &answer["card"];
    assert_eq!(ended.code, Some(0));
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
    let home = history();
    let card = |args: &[&str]| asked(&home, args).0["card"]["chatId"].as_str().map(str::to_owned);
    assert_eq!(card(&["--prompt", BACK]).as_deref(), Some(SOCKET));
    assert_eq!(card(&["--prompt", "上次那个数据库备份的方案"]).as_deref(), Some(BACKUP));
    assert_eq!(card(&[BACK, "--session", SOCKET]), None, "not to itself");
    assert_eq!(card(&[BACK, "--project", BETA]), None);
    assert_eq!(card(&[BACK, "--project", ALPHA]).as_deref(), Some(SOCKET));
    assert_eq!(card(&[BACK, "--threshold", "1"]), None, "nobody is certain");
    let vague = "what did we decide about the walrus and the otter and the seal?";
    assert_eq!(card(&[vague]), None);
    assert_eq!(card(&[vague, "--threshold", "0"]).as_deref(), Some(SOCKET));
}

#[test]
fn silence_has_a_reason() {
    let home = history();
    for (prompt, why, sure) in [
        ("mend the walrus socket", "no_reference", false),
        ("as we discussed: quantum llamas", "nothing_found", false),
        ("what did we decide about the walrus and the otter and the seal?", "unsure", true),
    ] {
        let (answer, ended) = asked(&home, &[prompt]);
        assert_eq!(
            (ended.code, &answer["card"], &answer["abstained"]),
            (Some(2), &Value::Null, &json!(why)),
            "{prompt}"
        );
        assert_eq!(answer["confidence"].is_number(), sure, "{prompt}");
        assert!(answer["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{prompt}");
    }
    for args in [&["--prompt", " "][..], &[BACK, "--threshold", "2"]] {
        let (error, ended) = asked(&home, args);
        assert_eq!((ended.code, &error["code"]), (Some(1), &json!("INVALID_ARGUMENT")), "{args:?}");
    }
}

#[test]
fn what_was_forgotten_is_not_recommended() {
    let home = history();
    assert!(asked(&home, &[BACK]).0["card"].is_object());
    run_loci(&home, &["forget", SOCKET, "--yes"]).expect(0);
    assert_eq!(asked(&home, &[BACK]).0["card"], Value::Null);
}
