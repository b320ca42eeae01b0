//! Model failures as seen from the command line: after each failure, what is stored, what is shown, and what is
//! requested next.

use crate::fixture::{FIRST, Fixture, valid_response};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;
use testutil::model_server::{Act, Server, chat, ok};

/// A model response with one field added or replaced.
fn response_with_field(field: &str, value: Value) -> String {
    let mut response = valid_response("x");
    response[field] = value;
    chat(&response.to_string())
}

#[test]
fn invalid_model_responses_are_rejected() {
    let fact = |evidence: &str| json!([{"text": "The moon is made of cheese", "evidence": [evidence], "symbols": []}]);
    for (label, body) in [
        ("prose", chat("Certainly! Here is the summary.")),
        ("an empty response", chat("")),
        ("another shape", chat(r#"{"title": "x"}"#)),
        ("an additional field", response_with_field("commands", json!(["rm -rf /"]))),
        ("evidence that was not shown", response_with_field("facts", fact("m99"))),
        ("too long a name", response_with_field("session_name", json!("x".repeat(500)))),
        ("too many tags", response_with_field("tags", json!(vec!["x"; 50]))),
        ("fifty megabytes", "x".repeat(50 << 20)),
    ] {
        let server = Server::new(vec![ok(body)]);
        let fixture = Fixture::with_model(&server, "jobs_per_run = 1");
        let run = fixture.consolidate("", 3);
        assert_eq!((&run["answered"], &run["failed"]), (&json!(0), &json!(1)), "{label}: {run}");
        let exported = fixture.run_json("memory export", 0).to_string();
        assert!(!exported.contains("model") || !exported.contains("cheese"), "{label}: {exported}");
        assert!(!exported.contains("\"by\":\"model\""), "{label}: {exported}");
        let jobs = fixture.run_json("memory jobs", 0);
        assert_eq!(
            (&jobs["jobs"][0]["state"], &jobs["jobs"][0]["class"]),
            (&json!("waiting"), &json!("poison")),
            "{label}"
        );
    }
}

#[test]
fn a_job_that_keeps_failing_is_parked_and_can_be_retried() {
    let server = Server::new(vec![
        ok(chat("no")),
        ok(chat("no")),
        ok(chat("no")),
        ok(chat(&valid_response("Pages").to_string())),
    ]);
    let fixture = Fixture::with_model(&server, "");
    let only = FIRST;
    for attempt in 1..=3 {
        let run = fixture.consolidate(only, 3);
        assert_eq!((&run["failed"], server.requests()), (&json!(1), attempt), "{run}");
        let waiting = fixture.consolidate(only, 0);
        assert_eq!(
            (&waiting["left"], server.requests()),
            (&json!(1), attempt),
            "no retry before it is due: {waiting}"
        );
        fixture.make_jobs_due();
    }
    let parked = fixture.run_json("memory jobs", 0);
    assert_eq!(
        (&parked["jobs"][0]["state"], &parked["jobs"][0]["attempts"]),
        (&json!("parked"), &json!(3)),
        "{parked}"
    );
    assert!(fixture.run("memory jobs -o text").expect(0).text().contains("--retry"));
    assert_eq!(
        (fixture.consolidate(only, 0)["left"].clone(), server.requests()),
        (json!(1), 3),
        "it stays parked"
    );
    assert_eq!(fixture.run("memory jobs ffff").code, Some(1), "another session has no jobs");
    assert_eq!(fixture.run_json("memory jobs --retry", 0)["retried"], json!(1));
    assert_eq!(fixture.consolidate(only, 0)["answered"], json!(1));
    assert_eq!(fixture.run("memory jobs").code, Some(2), "no jobs are left");
    let costs = fixture.run_json("memory costs", 0);
    assert_eq!((&costs["total"]["calls"], &costs["total"]["failed"]), (&json!(4), &json!(3)), "{costs}");
}

#[test]
fn a_retry_can_be_limited_to_one_session() {
    let server = Server::new(vec![ok(chat("no"))]);
    let fixture = Fixture::with_model(&server, "");
    fixture.consolidate("", 3);
    assert_eq!(fixture.run_json("memory jobs", 0)["jobs"].as_array().unwrap().len(), 3);
    let entry = fixture.run_json(&format!("memory jobs {} --retry", &FIRST[..8]), 0);
    assert_eq!((&entry["retried"], entry["jobs"].as_array().unwrap().len()), (&json!(1), 1), "{entry}");
    fixture.consolidate("", 3);
    assert_eq!(server.requests(), 4);
}

#[test]
fn a_failing_provider_is_not_called_again_at_once() {
    let limit = "You've hit your weekly limit · resets in 3 days";
    for (label, act, class) in [
        ("too many requests", Act::Say(429, &[("Retry-After", "3037")], "{}".to_string()), "rate_limited"),
        ("overloaded", Act::Say(529, &[], "{}".to_string()), "transient"),
        ("a server error", Act::Say(500, &[], "{}".to_string()), "transient"),
        ("a wrong key", Act::Say(401, &[], "{}".to_string()), "auth"),
        ("a used-up subscription", ok(chat(limit)), "quota"),
        ("a redirect", Act::Say(302, &[("Location", "http://127.0.0.1:9/")], String::new()), "auth"),
    ] {
        let server = Server::new(vec![act]);
        let fixture = Fixture::with_model(&server, "");
        let run = fixture.consolidate("", 3);
        assert_eq!(
            (&run["failed"], &run["left"], server.requests()),
            (&json!(1), &json!(2), 1),
            "{label}: {run}"
        );
        assert!(run["why"].is_string(), "{label}: {run}");
        let again = fixture.consolidate("", 3);
        assert!(again["why"].as_str().unwrap().contains("in backoff until"), "{label}: {again}");
        assert_eq!(server.requests(), 1, "{label}");
        let jobs = fixture.run_json("memory jobs", 0);
        assert_eq!(jobs["closed"][0]["class"], json!(class), "{label}: {jobs}");
        assert!(
            jobs["jobs"].as_array().unwrap().iter().all(|job| job["state"] == "waiting"),
            "{label}: {jobs}"
        );
    }
}

#[test]
fn receipts_add_up_by_day_model_and_session() {
    let server = Server::new(vec![ok(chat(&valid_response("Pages").to_string()))]);
    let fixture = Fixture::with_model(&server, "price_in = 1.0\nprice_out = 5.0");
    assert_eq!(fixture.run("memory costs").code, Some(2), "no call was made");
    fixture.consolidate("", 0);
    fixture.execute_sql("update receipt set started = started - 200000000 where id = 1");
    let groups = |line: &str| {
        let costs = fixture.run_json(line, 0);
        let costs = costs["costs"].as_array().unwrap().clone();
        costs.iter().map(|entry| entry["group"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(groups("memory costs").len(), 2);
    assert_eq!(groups("memory costs --by model"), ["openai a-model"]);
    assert_eq!(groups("memory costs --by session").len(), 3);
    let recent = fixture.run_json("memory costs --since 1d", 0);
    assert_eq!(
        (&recent["total"]["calls"], &recent["total"]["tokensIn"]),
        (&json!(2), &json!(200)),
        "{recent}"
    );
    assert_eq!(recent["total"]["cost"].as_f64().unwrap(), 2.0 * 0.0002);
    assert_eq!((&recent["usedToday"], &recent["tokensPerDay"]), (&json!(360), &json!(200_000)), "{recent}");
    assert!(
        fixture.run("memory costs -o text").expect(0).text().contains("last 24 hours: 360 of 200,000 tokens")
    );
    assert_eq!(fixture.run("memory costs --by colour").code, Some(1));
}

#[test]
fn each_job_takes_effect_once_despite_repeated_kills() {
    let response = chat(&valid_response("Pages").to_string());
    let server = Server::new(vec![Act::After(Duration::from_millis(300), response)]);
    let fixture = Fixture::with_model(&server, "seconds_per_job = 5");
    fixture.run("memory consolidate --no-model").expect(0);
    let mut kills = 0;
    for round in 0..8 {
        let mut command = fixture.command("memory consolidate -o json");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100 + round * 90));
        kills += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        // The kill may have come before the ledger had any content.
        if fixture.ledger().exists() && fixture.has_job_table() {
            fixture.make_jobs_due();
            // Three crashes park a job; here the test causes them, not the job.
            fixture.execute_sql("update job set attempts = 0 where state = 'open'");
        }
    }
    fixture.consolidate("", 0);
    let facts = fixture.run_json("memory list --kind facts", 0);
    let from_model = facts["memories"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["text"].to_string().contains("Pages have 500 rows: Pages"));
    // The same text about two projects makes two facts.
    assert_eq!(from_model.count(), 2, "{facts}");
    assert!(server.requests() <= kills + 3, "{} requests, {kills} kills", server.requests());
    assert!(fixture.run("memory jobs").code == Some(2), "jobs are left");
}
