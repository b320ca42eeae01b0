//! `loci memory consolidate` with a model behind a scripted server: what is sent, what is stored of the response, what
//! it costs, and what is never sent.

use crate::fixture::{FIRST, Fixture, SECOND, THIRD, list_files, sample_session, valid_response};
use serde_json::{Value, json};
use testutil::model_server::{Act, Server, chat, ok};
use testutil::{ALPHA, BETA};

fn answering_server(name: &str) -> Server {
    Server::new(vec![ok(chat(&valid_response(name).to_string()))])
}

#[test]
fn a_model_refines_derived_memory_with_one_call_per_session() {
    let server = answering_server("Keep things in pages");
    let fixture = Fixture::with_model(&server, "price_in = 1.0\nprice_out = 5.0");
    let run = fixture.consolidate("", 0);
    assert_eq!((&run["answered"], &run["failed"], &run["left"]), (&json!(3), &json!(0), &json!(0)), "{run}");
    assert_eq!((&run["tokensIn"], &run["tokensOut"]), (&json!(300), &json!(60)));
    assert_eq!(server.requests(), 3);

    let shown = fixture.run_json(&format!("memory show {FIRST}"), 0);
    assert!(shown.to_string().contains("Keep things in pages"), "{shown}");
    let facts = fixture.run_json("memory list --kind facts", 0);
    let fact = facts["memories"]
        .as_array()
        .unwrap()
        .iter()
        .find(|memory| memory["text"].to_string().contains("Pages have 500 rows"));
    let id = fact.unwrap_or_else(|| panic!("{facts}"))["id"].as_str().unwrap().to_string();
    let proof = fixture.run_json(&format!("memory show {id}"), 0).to_string();
    assert!(proof.contains("main-4"), "the evidence is missing: {proof}");

    let again = fixture.consolidate("", 0);
    assert_eq!((&again["answered"], server.requests()), (&json!(0), 3), "nothing has changed: {again}");
    let mut longer = sample_session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser");
    longer.wait_minutes(60).prompt("one more thing").reply(&["Yes."]);
    fixture.home.add(&longer);
    fixture.consolidate("", 0);
    assert_eq!(server.requests(), 4, "only the session that continued is sent");
}

#[test]
fn a_model_is_shown_the_known_facts_and_says_which_it_replaces() {
    let mut response = valid_response("Keep things in pages");
    response["facts"][0]["replaces"] = json!(["f1"]);
    let server = Server::new(vec![ok(chat(&response.to_string()))]);
    let fixture = Fixture::with_model(&server, "");
    fixture
        .run(&format!("memory add 'Things of the parser are kept in one file' --project {ALPHA}"))
        .expect(0);
    let id =
        fixture.run_json("memory list --kind facts", 0)["memories"][0]["id"].as_str().unwrap().to_string();
    fixture.execute_memory_sql("update facts set made = 1000, edited = 0");
    assert_eq!(fixture.consolidate(FIRST, 0)["answered"], json!(1));
    let sent = server.body(0).to_string();
    assert!(sent.contains("[f1] 1970-01-01: Things of the parser are kept in one file"), "{sent}");
    let shown = fixture.run_json(&format!("memory show {id}"), 0).to_string();
    assert!(shown.contains("superseded"), "{shown}");
    let rules = fixture.run_json("memory list --kind facts --tag constraint", 0).to_string();
    assert!(rules.contains("Pages have 500 rows"), "the kind is the model's: {rules}");
}

#[test]
fn nothing_is_sent_without_a_model_or_with_the_no_model_flag() {
    let server = answering_server("x");
    let fixture = Fixture::new("");
    assert_eq!(fixture.run_json("memory consolidate", 0)["model"], Value::Null);
    assert!(!fixture.ledger().exists());
    let fixture = Fixture::with_model(&server, "");
    assert_eq!(fixture.consolidate("--no-model", 0), Value::Null);
    assert_eq!(server.requests(), 0);
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(3), "the next run catches up");
}

#[test]
fn a_dry_run_shows_the_payload_and_sends_nothing() {
    let server = answering_server("Keep things in pages");
    let fixture = Fixture::with_model(&server, "price_in = 1.0\nprice_out = 5.0");
    let run = fixture.consolidate("--dry-run", 0);
    assert_eq!(run["planned"].as_array().unwrap().len(), 3, "{run}");
    assert!(run["tokensIn"].as_u64().unwrap() > 300 && run["cost"].as_f64().unwrap() > 0.0, "{run}");
    assert_eq!(run["planned"][0]["payload"], Value::Null);
    assert_eq!(run["planned"][0]["chatId"], json!(THIRD), "the latest session comes first");
    let shown = fixture.consolidate("--dry-run --payload", 0);
    assert_eq!(server.requests(), 0);
    assert!(!fixture.ledger().exists());
    fixture.consolidate("", 0);
    for (at, planned) in shown["planned"].as_array().unwrap().iter().enumerate() {
        let (line, body) = planned["payload"].as_str().unwrap().split_once('\n').unwrap();
        assert_eq!(line, format!("POST {}/v1/chat/completions", server.url));
        assert_eq!(
            serde_json::from_str::<Value>(body).unwrap(),
            server.body(at),
            "the dry run showed another payload than was sent"
        );
    }
    let rejected = fixture.run("memory consolidate --payload");
    assert!(rejected.code == Some(1) && rejected.stderr.contains("--dry-run"), "{}", rejected.stderr);
}

#[test]
fn a_run_obeys_its_limits() {
    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, "jobs_per_run = 2");
    let run = fixture.consolidate("", 0);
    assert_eq!((&run["answered"], &run["left"]), (&json!(2), &json!(1)), "{run}");
    assert!(server.body(0).to_string().contains("report"), "the latest session comes first");
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(1), "the next run sends the rest");

    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, "tokens_per_day = 100");
    let run = fixture.consolidate("", 0);
    assert!(run["left"] == json!(3) && run["why"].as_str().unwrap().contains("of 100 tokens used"), "{run}");
    assert_eq!(server.requests(), 0);

    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, &format!("projects_off = [\"{ALPHA}\"]"));
    let run = fixture.consolidate("", 0);
    assert_eq!((&run["answered"], &run["off"], server.requests()), (&json!(1), &json!(2), 1), "{run}");
    assert!(server.body(0).to_string().contains("report"));

    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, "");
    assert_eq!(fixture.consolidate(&format!("--project {BETA}"), 0)["answered"], json!(1));
    assert_eq!(fixture.consolidate(SECOND, 0)["answered"], json!(1));
}

#[test]
fn the_daily_token_limit_applies_across_runs() {
    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, "jobs_per_run = 1\ntokens_per_day = 5000");
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(1));
    fixture.execute_sql("update receipt set tokens_in = 4900");
    assert!(fixture.consolidate("", 0)["why"].as_str().unwrap().contains("of 5000"));
    // The clock was a year ahead and has been corrected.
    fixture.execute_sql("update receipt set counted = counted + 31536000000");
    assert!(fixture.consolidate("", 0)["why"].as_str().unwrap().contains("of 5000"));
    assert_eq!(server.requests(), 1);
    fixture.execute_sql("update receipt set counted = counted - 90000000");
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(1), "the next day");
}

#[test]
fn no_secret_is_sent_or_stored() {
    let specimens = mask::specimen::generate_secrets(11);
    let secret = specimens.iter().find(|it| it.kind == "github-pat").unwrap();
    let server = answering_server(&format!("Use {}", secret.secret[0]));
    let fixture = Fixture::with_model(&server, "");
    let mut session_with_secret = sample_session(FIRST, ALPHA, "2026-03-05T10:00:00Z", "parser");
    session_with_secret.prompt(&secret.text).reply(&[&secret.text]);
    fixture.home.add(&session_with_secret);
    fixture.consolidate("", 0);
    let sent: String = (0..server.requests()).map(|at| server.body(at).to_string()).collect();
    assert!(!sent.contains(&secret.secret[0]) && sent.contains("secret:github-pat"), "{sent}");
    for file in list_files(&fixture.path(".local/share/loci")) {
        let bytes = std::fs::read(&file).unwrap();
        let leaked = bytes.windows(secret.secret[0].len()).any(|piece| piece == secret.secret[0].as_bytes());
        assert!(!leaked, "the model's response is not masked: {}", file.display());
    }
}

#[test]
fn the_api_key_comes_from_the_configured_source() {
    let server = answering_server("x");
    let consolidate = |fixture: &Fixture, variable: Option<(&str, &str)>, code: i32| {
        let mut command = fixture.command("memory consolidate -o json");
        command.envs(variable);
        let ended = testutil::run_command(command).expect(code);
        assert!(!ended.text().contains("k-1234"), "{}", ended.text());
        ended.records().remove(0)["model"].clone()
    };
    let key = |at: usize| {
        let head = server.head(at).to_lowercase();
        head.lines().find_map(|line| line.strip_prefix("authorization: ").map(str::to_string))
    };
    let fixture = Fixture::with_model(&server, "jobs_per_run = 1");
    consolidate(&fixture, Some(("OPENAI_API_KEY", "k-1234")), 0);
    assert_eq!(key(0), None, "a key for one address is not sent to another");
    let fixture = Fixture::with_model(&server, "jobs_per_run = 1\nkey_env = \"MY_KEY\"");
    consolidate(&fixture, Some(("MY_KEY", "k-1234")), 0);
    assert_eq!(key(1).as_deref(), Some("bearer k-1234"));
    let missing = consolidate(&fixture, None, 3);
    assert!(missing["why"].as_str().unwrap().contains("MY_KEY is not set"), "{missing}");
    let fixture = Fixture::with_model(&server, "jobs_per_run = 1\nkey_command = \"echo k-1234\"");
    consolidate(&fixture, None, 0);
    assert_eq!(key(2).as_deref(), Some("bearer k-1234"));
    let fixture = Fixture::with_model(&server, "jobs_per_run = 1\nkey_command = \"echo k-1234; exit 3\"");
    let failed = consolidate(&fixture, None, 3);
    assert!(failed["why"].as_str().unwrap().contains("exit status 3"), "{failed}");
    assert_eq!(server.requests(), 3);
}

#[test]
fn proxy_variables_are_ignored() {
    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, "");
    let mut command = fixture.command("memory consolidate -o json");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    let run = testutil::run_command(command).expect(0).records().remove(0)["model"].clone();
    assert_eq!(run["answered"], json!(3), "{run}");
}

#[test]
fn invalid_settings_are_rejected_and_derived_memory_is_kept() {
    for (settings, expected) in [
        ("[model]\ntemperature = 1", "unknown field `temperature`"),
        (
            "[model]\nprovider = \"parrot\"",
            "unknown `model.provider` `parrot`: use one of `claude`, `anthropic`, `openai`",
        ),
        ("[model]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9\"", "`model.model` is missing"),
        ("[model]\nprovider = \"openai\"\nmodel = \"x\"\nbase_url = \"http://example.com\"", "not encrypted"),
        (
            "[model]\nprovider = \"openai\"\nmodel = \"x\"\nbase_url = \"https://me:pw@example.com\"",
            "password",
        ),
    ] {
        let fixture = Fixture::new(settings);
        let done = fixture.run_json("memory consolidate", 3);
        assert!(done["model"]["why"].as_str().unwrap().contains(expected), "{settings}: {done}");
        assert_eq!(done["named"], json!(3), "{done}");
    }
}

#[test]
fn sessions_of_model_calls_by_loci_are_ignored() {
    let fixture = Fixture::new("");
    // The working directory of Loci's own model calls.
    let call_directory = fixture.path(".cache/loci/nowhere");
    let own_session = sample_session(
        "dddd1111-0000-4000-8000-000000000009",
        call_directory.to_str().unwrap(),
        "2026-03-09T10:00:00Z",
        "marmalade",
    );
    fixture.home.add(&own_session);
    assert_eq!(fixture.run_json("sessions", 0)["sessions"].as_array().unwrap().len(), 3);
    assert!(!fixture.run("query user-messages --all-projects").expect(0).text().contains("marmalade"));
    assert_eq!(fixture.run("search marmalade -o json").code, Some(2));
    assert_eq!(fixture.run_json("memory consolidate", 0)["named"], json!(3));
}

#[test]
fn hooks_print_nothing_within_a_model_call_by_loci() {
    let fixture = Fixture::new("");
    fixture.run("index").expect(0);
    let hook = |within: bool| {
        let input = json!({"cwd": ALPHA, "session_id": "x", "source": "startup"}).to_string();
        let mut command = fixture.command("hook session-start");
        if within {
            command.env("LOCI_WITHIN", "1");
        }
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert!(hook(false).contains("SessionStart"));
    assert_eq!(hook(true), "");
}

#[test]
fn a_forgotten_session_leaves_only_its_cost_in_the_ledger() {
    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, "");
    fixture.consolidate("", 0);
    assert!(fixture.run_json("memory costs --by session", 0).to_string().contains(FIRST));
    fixture.run(&format!("forget {FIRST} --yes")).expect(0);
    let costs = fixture.run_json("memory costs --by session", 0);
    assert!(!costs.to_string().contains(FIRST) && costs["total"]["calls"] == json!(3), "{costs}");
}

#[test]
fn a_stored_response_is_not_pending_after_a_kill() {
    let server = answering_server("x");
    let fixture = Fixture::with_model(&server, "");
    fixture.consolidate("", 0);
    // As if Loci had been killed after storing the response and before marking the job as done.
    let mark_as_answered = "update job set state = 'answered', answer = '{}' where about like '%aaaa1111%'";
    fixture.execute_sql(mark_as_answered);
    assert_eq!(fixture.run("memory jobs").code, Some(2), "the response is stored, so no job is pending");
    fixture.consolidate("", 0);
    let left = fixture.query_number("select count(*) from job where state <> 'done'");
    assert_eq!((left, server.requests()), (0, 3), "the next run marks the job as done without another call");

    // For a session that has continued since then, it is another job.
    let mut longer = sample_session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser");
    longer.wait_minutes(60).prompt("one more thing").reply(&["Yes."]);
    fixture.home.add(&longer);
    fixture.run("memory consolidate --no-model").expect(0);
    fixture.execute_sql(mark_as_answered);
    assert_eq!(fixture.run("memory jobs").code, Some(0), "a response that is not stored is pending");
}

#[test]
fn a_forgotten_fact_is_removed_from_the_model_summary() {
    let response = json!({
        "session_name": "Parser kept in pages",
        "tags": ["paging"],
        "summary": "The parser was made smaller. We decided to keep the parser in pages. Tests pass.",
        "facts": [],
    });
    let server = Server::new(vec![ok(chat(&response.to_string()))]);
    let fixture = Fixture::with_model(&server, "");
    fixture.consolidate(FIRST, 0);
    assert!(
        fixture.run_json(&format!("memory show {FIRST}"), 0).to_string().contains("keep the parser in pages")
    );
    let id = fixture.run_json("memory list parser --kind facts", 0)["memories"][0]["id"].clone();
    fixture.run(&format!("memory forget {} --yes", id.as_str().unwrap())).expect(0);
    let shown = fixture.run_json(&format!("memory show {FIRST}"), 0).to_string();
    assert!(!shown.contains("in pages") && shown.contains("make the parser smaller"), "{shown}");
    fixture.consolidate(FIRST, 0);
    assert_eq!(server.requests(), 2, "the summary was removed, so it is requested again");
    assert!(!server.body(1).to_string().contains("keep the parser in pages"), "the forgotten fact was sent");
    let shown = fixture.run_json(&format!("memory show {FIRST}"), 0).to_string();
    assert!(shown.contains("Tests pass") && !shown.contains("keep the parser in pages"), "{shown}");
}

#[test]
fn a_silent_server_costs_only_its_timeout() {
    let server = Server::new(vec![Act::Silence]);
    let fixture = Fixture::with_model(&server, "jobs_per_run = 2\nseconds_per_job = 1");
    let started = std::time::Instant::now();
    let run = fixture.consolidate("", 3);
    assert_eq!(
        (&run["failed"], server.requests()),
        (&json!(2), 2),
        "after one timeout the next job is still sent: {run}"
    );
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}
