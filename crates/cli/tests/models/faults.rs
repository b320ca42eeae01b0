//! What can go wrong with a model, seen from the command line: each fault with what is remembered, what is shown, and what is asked
//! next.

use crate::fixture::{FIRST, Fixture, good};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;
use testutil::model_server::{Act, Server, chat, ok};

fn with(field: &str, value: Value) -> String {
    let mut answer = good("x");
    answer[field] = value;
    chat(&answer.to_string())
}

#[test]
fn nothing_is_believed_that_was_not_asked_for() {
    let fact = |evidence: &str| json!([{"text": "The moon is made of cheese", "evidence": [evidence], "symbols": []}]);
    for (about, body) in [
        ("prose", chat("Certainly! Here is the summary.")),
        ("an empty answer", chat("")),
        ("another shape", chat(r#"{"title": "x"}"#)),
        ("a field more", with("commands", json!(["rm -rf /"]))),
        ("evidence that was not shown", with("facts", fact("m99"))),
        ("too long a name", with("session_name", json!("x".repeat(500)))),
        ("too many tags", with("tags", json!(vec!["x"; 50]))),
        ("fifty megabytes", "x".repeat(50 << 20)),
    ] {
        let server = Server::new(vec![ok(body)]);
        let fixture = Fixture::with(&server, "jobs_per_run = 1");
        let run = fixture.consolidate("", 3);
        assert_eq!((&run["answered"], &run["failed"]), (&json!(0), &json!(1)), "{about}: {run}");
        let remembered = fixture.answer("memory export", 0).to_string();
        assert!(!remembered.contains("model") || !remembered.contains("cheese"), "{about}: {remembered}");
        assert!(!remembered.contains("\"by\":\"model\""), "{about}: {remembered}");
        let jobs = fixture.answer("memory jobs", 0);
        assert_eq!(
            (&jobs["jobs"][0]["state"], &jobs["jobs"][0]["class"]),
            (&json!("waiting"), &json!("poison")),
            "{about}"
        );
    }
}

#[test]
fn what_cannot_be_answered_is_set_aside_and_can_be_asked_again() {
    let server = Server::new(vec![
        ok(chat("no")),
        ok(chat("no")),
        ok(chat("no")),
        ok(chat(&good("Pages").to_string())),
    ]);
    let fixture = Fixture::with(&server, "");
    let only = FIRST;
    for attempt in 1..=3 {
        let run = fixture.consolidate(only, 3);
        assert_eq!((&run["failed"], server.requests()), (&json!(1), attempt), "{run}");
        let waits = fixture.consolidate(only, 0);
        assert_eq!((&waits["left"], server.requests()), (&json!(1), attempt), "not at once: {waits}");
        fixture.let_time_pass();
    }
    let parked = fixture.answer("memory jobs", 0);
    assert_eq!(
        (&parked["jobs"][0]["state"], &parked["jobs"][0]["attempts"]),
        (&json!("parked"), &json!(3)),
        "{parked}"
    );
    assert!(fixture.run("memory jobs -o text").expect(0).text().contains("--retry"));
    assert_eq!(
        (fixture.consolidate(only, 0)["left"].clone(), server.requests()),
        (json!(1), 3),
        "and stays aside"
    );
    assert_eq!(fixture.run("memory jobs ffff").code, Some(1), "of another session nothing waits");
    assert_eq!(fixture.answer("memory jobs --retry", 0)["retried"], json!(1));
    assert_eq!(fixture.consolidate(only, 0)["answered"], json!(1));
    assert_eq!(fixture.run("memory jobs").code, Some(2), "nothing is left");
    let costs = fixture.answer("memory costs", 0);
    assert_eq!((&costs["total"]["calls"], &costs["total"]["failed"]), (&json!(4), &json!(3)), "{costs}");
}

#[test]
fn a_retry_can_be_of_one_session_alone() {
    let server = Server::new(vec![ok(chat("no"))]);
    let fixture = Fixture::with(&server, "");
    fixture.consolidate("", 3);
    assert_eq!(fixture.answer("memory jobs", 0)["jobs"].as_array().unwrap().len(), 3);
    let one = fixture.answer(&format!("memory jobs {} --retry", &FIRST[..8]), 0);
    assert_eq!((&one["retried"], one["jobs"].as_array().unwrap().len()), (&json!(1), 1), "{one}");
    fixture.consolidate("", 3);
    assert_eq!(server.requests(), 4);
}

#[test]
fn a_provider_that_fails_is_left_in_peace() {
    let limit = "You've hit your weekly limit · resets in 3 days";
    for (about, act, class) in [
        ("too many", Act::Say(429, &[("Retry-After", "3037")], "{}".to_string()), "rate_limited"),
        ("overloaded", Act::Say(529, &[], "{}".to_string()), "transient"),
        ("an inner error", Act::Say(500, &[], "{}".to_string()), "transient"),
        ("a wrong key", Act::Say(401, &[], "{}".to_string()), "auth"),
        ("a used-up subscription", ok(chat(limit)), "quota"),
        ("elsewhere", Act::Say(302, &[("Location", "http://127.0.0.1:9/")], String::new()), "auth"),
    ] {
        let server = Server::new(vec![act]);
        let fixture = Fixture::with(&server, "");
        let run = fixture.consolidate("", 3);
        assert_eq!(
            (&run["failed"], &run["left"], server.requests()),
            (&json!(1), &json!(2), 1),
            "{about}: {run}"
        );
        assert!(run["why"].is_string(), "{about}: {run}");
        let again = fixture.consolidate("", 3);
        assert!(again["why"].as_str().unwrap().contains("not before"), "{about}: {again}");
        assert_eq!(server.requests(), 1, "{about}");
        let jobs = fixture.answer("memory jobs", 0);
        assert_eq!(jobs["closed"][0]["class"], json!(class), "{about}: {jobs}");
        assert!(
            jobs["jobs"].as_array().unwrap().iter().all(|job| job["state"] == "waiting"),
            "{about}: {jobs}"
        );
    }
}

#[test]
fn receipts_add_up_by_day_model_and_session() {
    let server = Server::new(vec![ok(chat(&good("Pages").to_string()))]);
    let fixture = Fixture::with(&server, "price_in = 1.0\nprice_out = 5.0");
    assert_eq!(fixture.run("memory costs").code, Some(2), "nothing was asked");
    fixture.consolidate("", 0);
    fixture.change("update receipt set started = started - 200000000 where id = 1");
    let groups = |line: &str| {
        let costs = fixture.answer(line, 0);
        let costs = costs["costs"].as_array().unwrap().clone();
        costs.iter().map(|one| one["group"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(groups("memory costs").len(), 2);
    assert_eq!(groups("memory costs --by model"), ["openai a-model"]);
    assert_eq!(groups("memory costs --by session").len(), 3);
    let lately = fixture.answer("memory costs --since 1d", 0);
    assert_eq!(
        (&lately["total"]["calls"], &lately["total"]["tokensIn"]),
        (&json!(2), &json!(200)),
        "{lately}"
    );
    assert_eq!(lately["total"]["cost"].as_f64().unwrap(), 2.0 * 0.0002);
    assert_eq!((&lately["usedToday"], &lately["tokensPerDay"]), (&json!(360), &json!(200_000)), "{lately}");
    assert!(
        fixture.run("memory costs -o text").expect(0).text().contains("last 24 hours: 360 of 200,000 tokens")
    );
    assert_eq!(fixture.run("memory costs --by colour").code, Some(1));
}

#[test]
fn each_question_takes_effect_once_however_often_loci_is_killed() {
    let answer = chat(&good("Pages").to_string());
    let server = Server::new(vec![Act::After(Duration::from_millis(300), answer)]);
    let fixture = Fixture::with(&server, "seconds_per_job = 5");
    fixture.run("memory consolidate --no-model").expect(0);
    let mut kills = 0;
    for round in 0..8 {
        let mut command = fixture.command("memory consolidate -o json");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100 + round * 90));
        kills += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        // A kill may have come before there was anything in it.
        if fixture.ledger().exists() && fixture.has_jobs() {
            fixture.let_time_pass();
            // Three deaths set a question aside; here they are the test's doing and not the question's.
            fixture.change("update job set attempts = 0 where state = 'open'");
        }
    }
    fixture.consolidate("", 0);
    let facts = fixture.answer("memory list --kind facts", 0);
    let from_model = facts["memories"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["text"].to_string().contains("kept in pages: Pages"));
    // The same words about two projects are two facts.
    assert_eq!(from_model.count(), 2, "{facts}");
    assert!(server.requests() <= kills + 3, "{} requests, {kills} kills", server.requests());
    assert!(fixture.run("memory jobs").code == Some(2), "nothing is left to ask");
}
