//! `loci memory consolidate` with a model behind a scripted server: what is asked, what is remembered of the answer, what it costs,
//! and what is never sent.

use crate::fixture::{FIRST, Fixture, SECOND, THIRD, files, good, session};
use serde_json::{Value, json};
use testutil::model_server::{Act, Server, chat, ok};
use testutil::{ALPHA, BETA};

fn answering(name: &str) -> Server {
    Server::new(vec![ok(chat(&good(name).to_string()))])
}

#[test]
fn a_model_improves_what_was_derived_and_is_asked_once() {
    let server = answering("Keep things in pages");
    let fixture = Fixture::with(&server, "price_in = 1.0\nprice_out = 5.0");
    let run = fixture.consolidate("", 0);
    assert_eq!((&run["answered"], &run["failed"], &run["left"]), (&json!(3), &json!(0), &json!(0)), "{run}");
    assert_eq!((&run["tokensIn"], &run["tokensOut"]), (&json!(300), &json!(60)));
    assert_eq!(server.requests(), 3);

    let shown = fixture.answer(&format!("memory show {FIRST}"), 0);
    assert!(shown.to_string().contains("Keep things in pages"), "{shown}");
    let facts = fixture.answer("memory list --kind facts", 0);
    let fact = facts["memories"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["text"].to_string().contains("kept in pages"));
    let id = fact.unwrap_or_else(|| panic!("{facts}"))["id"].as_str().unwrap().to_string();
    let proof = fixture.answer(&format!("memory show {id}"), 0).to_string();
    assert!(
        proof.contains(&format!("u-{FIRST}-main-4")) || proof.contains("main-4"),
        "it names its evidence: {proof}"
    );

    let again = fixture.consolidate("", 0);
    assert_eq!((&again["answered"], server.requests()), (&json!(0), 3), "nothing is new: {again}");
    let mut longer = session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser");
    longer.wait_minutes(60).prompt("one more thing").reply(&["Yes."]);
    fixture.home.add(&longer);
    fixture.consolidate("", 0);
    assert_eq!(server.requests(), 4, "only the one that went on");
}

#[test]
fn without_a_model_or_with_no_model_nothing_is_sent() {
    let server = answering("x");
    let fixture = Fixture::new("");
    assert_eq!(fixture.answer("memory consolidate", 0)["model"], Value::Null);
    assert!(!fixture.ledger().exists());
    let fixture = Fixture::with(&server, "");
    assert_eq!(fixture.consolidate("--no-model", 0), Value::Null);
    assert_eq!(server.requests(), 0);
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(3), "and the next run makes up for it");
}

#[test]
fn a_dry_run_shows_what_would_be_sent_and_sends_nothing() {
    let server = answering("Keep things in pages");
    let fixture = Fixture::with(&server, "price_in = 1.0\nprice_out = 5.0");
    let run = fixture.consolidate("--dry-run", 0);
    assert_eq!(run["planned"].as_array().unwrap().len(), 3, "{run}");
    assert!(run["tokensIn"].as_u64().unwrap() > 300 && run["cost"].as_f64().unwrap() > 0.0, "{run}");
    assert_eq!(run["planned"][0]["payload"], Value::Null);
    assert_eq!(run["planned"][0]["chatId"], json!(THIRD), "the latest first");
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
            "what was shown is what was sent"
        );
    }
    let refused = fixture.run("memory consolidate --payload");
    assert!(refused.code == Some(1) && refused.stderr.contains("--dry-run"), "{}", refused.stderr);
}

#[test]
fn a_run_obeys_its_limits() {
    let server = answering("x");
    let fixture = Fixture::with(&server, "jobs_per_run = 2");
    let run = fixture.consolidate("", 0);
    assert_eq!((&run["answered"], &run["left"]), (&json!(2), &json!(1)), "{run}");
    assert!(server.body(0).to_string().contains("report"), "the latest first");
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(1), "and the rest in the next run");

    let server = answering("x");
    let fixture = Fixture::with(&server, "tokens_per_day = 100");
    let run = fixture.consolidate("", 0);
    assert!(run["left"] == json!(3) && run["why"].as_str().unwrap().contains("of 100 tokens a day"), "{run}");
    assert_eq!(server.requests(), 0);

    let server = answering("x");
    let fixture = Fixture::with(&server, &format!("projects_off = [\"{ALPHA}\"]"));
    let run = fixture.consolidate("", 0);
    assert_eq!((&run["answered"], &run["off"], server.requests()), (&json!(1), &json!(2), 1), "{run}");
    assert!(server.body(0).to_string().contains("report"));

    let server = answering("x");
    let fixture = Fixture::with(&server, "");
    assert_eq!(fixture.consolidate(&format!("--project {BETA}"), 0)["answered"], json!(1));
    assert_eq!(fixture.consolidate(SECOND, 0)["answered"], json!(1));
}

#[test]
fn the_cap_holds_from_run_to_run() {
    let server = answering("x");
    let fixture = Fixture::with(&server, "jobs_per_run = 1\ntokens_per_day = 5000");
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(1));
    fixture.change("update receipt set tokens_in = 4900");
    assert!(fixture.consolidate("", 0)["why"].as_str().unwrap().contains("of 5000"));
    // A clock that was a year ahead and is right again.
    fixture.change("update receipt set counted = counted + 31536000000");
    assert!(fixture.consolidate("", 0)["why"].as_str().unwrap().contains("of 5000"));
    assert_eq!(server.requests(), 1);
    fixture.change("update receipt set counted = counted - 90000000");
    assert_eq!(fixture.consolidate("", 0)["answered"], json!(1), "the next day");
}

#[test]
fn no_secret_leaves_and_none_is_kept() {
    let specimens = mask::specimen::generate_secrets(11);
    let secret = specimens.iter().find(|it| it.kind == "github-pat").unwrap();
    let server = answering(&format!("Use {}", secret.secret[0]));
    let fixture = Fixture::with(&server, "");
    let mut leaky = session(FIRST, ALPHA, "2026-03-05T10:00:00Z", "parser");
    leaky.prompt(&secret.text).reply(&[&secret.text]);
    fixture.home.add(&leaky);
    fixture.consolidate("", 0);
    let sent: String = (0..server.requests()).map(|at| server.body(at).to_string()).collect();
    assert!(!sent.contains(&secret.secret[0]) && sent.contains("secret:github-pat"), "{sent}");
    for file in files(&fixture.path(".local/share/loci")) {
        let bytes = std::fs::read(&file).unwrap();
        let held = bytes.windows(secret.secret[0].len()).any(|piece| piece == secret.secret[0].as_bytes());
        assert!(!held, "what a model says is masked too: {}", file.display());
    }
}

#[test]
fn a_key_is_where_the_configuration_says() {
    let server = answering("x");
    let heard = |fixture: &Fixture, with: Option<(&str, &str)>, code: i32| {
        let mut command = fixture.command("memory consolidate -o json");
        command.envs(with);
        let ended = testutil::run_command(command).expect(code);
        assert!(!ended.text().contains("k-1234"), "{}", ended.text());
        ended.records().remove(0)["model"].clone()
    };
    let key = |at: usize| {
        let head = server.head(at).to_lowercase();
        head.lines().find_map(|line| line.strip_prefix("authorization: ").map(str::to_string))
    };
    let fixture = Fixture::with(&server, "jobs_per_run = 1");
    heard(&fixture, Some(("OPENAI_API_KEY", "k-1234")), 0);
    assert_eq!(key(0), None, "a key for one address is not sent to another");
    let fixture = Fixture::with(&server, "jobs_per_run = 1\nkey_env = \"MY_KEY\"");
    heard(&fixture, Some(("MY_KEY", "k-1234")), 0);
    assert_eq!(key(1).as_deref(), Some("bearer k-1234"));
    let missing = heard(&fixture, None, 3);
    assert!(missing["why"].as_str().unwrap().contains("MY_KEY is not set"), "{missing}");
    let fixture = Fixture::with(&server, "jobs_per_run = 1\nkey_command = \"echo k-1234\"");
    heard(&fixture, None, 0);
    assert_eq!(key(2).as_deref(), Some("bearer k-1234"));
    let fixture = Fixture::with(&server, "jobs_per_run = 1\nkey_command = \"echo k-1234; exit 3\"");
    let failed = heard(&fixture, None, 3);
    assert!(failed["why"].as_str().unwrap().contains("exit status 3"), "{failed}");
    assert_eq!(server.requests(), 3);
}

#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let server = answering("x");
    let fixture = Fixture::with(&server, "");
    let mut command = fixture.command("memory consolidate -o json");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    let run = testutil::run_command(command).expect(0).records().remove(0)["model"].clone();
    assert_eq!(run["answered"], json!(3), "{run}");
}

#[test]
fn settings_that_make_no_sense_are_refused_and_what_was_derived_stays() {
    for (settings, says) in [
        ("[model]\ntemperature = 1", "unknown field `temperature`"),
        (
            "[model]\nprovider = \"parrot\"",
            "cannot be `parrot`: it is one of `claude`, `anthropic`, `openai`",
        ),
        ("[model]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9\"", "`model.model` is missing"),
        ("[model]\nprovider = \"openai\"\nmodel = \"x\"\nbase_url = \"http://example.com\"", "not encrypted"),
        (
            "[model]\nprovider = \"openai\"\nmodel = \"x\"\nbase_url = \"https://me:pw@example.com\"",
            "password",
        ),
    ] {
        let fixture = Fixture::new(settings);
        let done = fixture.answer("memory consolidate", 3);
        assert!(done["model"]["why"].as_str().unwrap().contains(says), "{settings}: {done}");
        assert_eq!(done["named"], json!(3), "{done}");
    }
}

#[test]
fn a_conversation_of_our_own_is_nobodys() {
    let fixture = Fixture::new("");
    let nowhere = fixture.path(".cache/loci/nowhere");
    let own = session(
        "dddd1111-0000-4000-8000-000000000009",
        nowhere.to_str().unwrap(),
        "2026-03-09T10:00:00Z",
        "marmalade",
    );
    fixture.home.add(&own);
    assert_eq!(fixture.answer("sessions", 0)["sessions"].as_array().unwrap().len(), 3);
    assert!(!fixture.run("query user-messages --all-projects").expect(0).text().contains("marmalade"));
    assert_eq!(fixture.run("search marmalade -o json").code, Some(2));
    assert_eq!(fixture.answer("memory consolidate", 0)["named"], json!(3));
}

#[test]
fn hooks_say_nothing_inside_of_a_call_of_ours() {
    let fixture = Fixture::new("");
    fixture.run("index").expect(0);
    let hook = |within: bool| {
        let told = json!({"cwd": ALPHA, "session_id": "x", "source": "startup"}).to_string();
        let mut command = fixture.command("hook session-start");
        if within {
            command.env("LOCI_WITHIN", "1");
        }
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), told.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert!(hook(false).contains("SessionStart"));
    assert_eq!(hook(true), "");
}

#[test]
fn what_is_forgotten_is_gone_from_the_ledger_but_for_its_sum() {
    let server = answering("x");
    let fixture = Fixture::with(&server, "");
    fixture.consolidate("", 0);
    assert!(fixture.answer("memory costs --by session", 0).to_string().contains(FIRST));
    fixture.run(&format!("forget {FIRST} --yes")).expect(0);
    let costs = fixture.answer("memory costs --by session", 0);
    assert!(!costs.to_string().contains(FIRST) && costs["total"]["calls"] == json!(3), "{costs}");
}

#[test]
fn an_answer_that_memory_holds_does_not_wait_whoever_was_killed_before_saying_so() {
    let server = answering("x");
    let fixture = Fixture::with(&server, "");
    fixture.consolidate("", 0);
    let unsaid = "update job set state = 'answered', answer = '{}' where about like '%aaaa1111%'";
    fixture.change(unsaid);
    assert_eq!(fixture.run("memory jobs").code, Some(2), "it is remembered: nothing waits");
    fixture.consolidate("", 0);
    let left = fixture.read("select count(*) from job where state <> 'done'");
    assert_eq!((left, server.requests()), (0, 3), "and the next run says so, without asking again");

    // Of a session that went on since, the question is another.
    let mut longer = session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser");
    longer.wait_minutes(60).prompt("one more thing").reply(&["Yes."]);
    fixture.home.add(&longer);
    fixture.run("memory consolidate --no-model").expect(0);
    fixture.change(unsaid);
    assert_eq!(fixture.run("memory jobs").code, Some(0), "an answer that memory does not hold waits");
}

#[test]
fn a_forgotten_fact_leaves_what_a_model_said_of_its_session() {
    let told = json!({
        "session_name": "Parser kept in pages",
        "tags": ["paging"],
        "summary": "The parser was made smaller. We decided to keep the parser in pages. Tests pass.",
        "facts": [],
    });
    let server = Server::new(vec![ok(chat(&told.to_string()))]);
    let fixture = Fixture::with(&server, "");
    fixture.consolidate(FIRST, 0);
    assert!(
        fixture.answer(&format!("memory show {FIRST}"), 0).to_string().contains("keep the parser in pages")
    );
    let id = fixture.answer("memory list parser --kind facts", 0)["memories"][0]["id"].clone();
    fixture.run(&format!("memory forget {} --yes", id.as_str().unwrap())).expect(0);
    let shown = fixture.answer(&format!("memory show {FIRST}"), 0).to_string();
    assert!(!shown.contains("in pages") && shown.contains("make the parser smaller"), "{shown}");
    fixture.consolidate(FIRST, 0);
    assert_eq!(server.requests(), 2, "what it said had to go, so it is asked again");
    assert!(!server.body(1).to_string().contains("keep the parser in pages"), "and is not told");
    let shown = fixture.answer(&format!("memory show {FIRST}"), 0).to_string();
    assert!(shown.contains("Tests pass") && !shown.contains("keep the parser in pages"), "{shown}");
}

#[test]
fn a_silent_server_costs_no_more_than_its_time() {
    let server = Server::new(vec![Act::Silence]);
    let fixture = Fixture::with(&server, "jobs_per_run = 2\nseconds_per_job = 1");
    let began = std::time::Instant::now();
    let run = fixture.consolidate("", 3);
    assert_eq!(
        (&run["failed"], server.requests()),
        (&json!(2), 2),
        "one hangs, the next is asked all the same: {run}"
    );
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
}
