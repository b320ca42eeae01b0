//! A real model, small enough for any machine: the real protocol, real constrained answers, real slowness. What it says is not
//! judged, only what becomes of it.

use crate::fixture::{FIRST, Fixture, session};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testutil::{ALPHA, Home, write_file};

/// A model at work behind a port of its own; it goes with the test.
struct Small {
    server: Child,
    url: String,
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn started((script, home): (PathBuf, PathBuf)) -> Small {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new(script)
        .args([port.to_string().as_str(), "smollm2"])
        .env("LLM_HOME", home)
        .env("NT", "1") // two threads that share a core with others wait for each other most of the time
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said = BufReader::new(server.stdout.take().unwrap());
    let small = Small { server, url: format!("http://127.0.0.1:{port}") };
    let mut lines = said.lines();
    let ready = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("READY"));
    assert!(ready, "it never got ready");
    // What it says later must not fill its pipe.
    std::thread::spawn(move || lines.for_each(drop));
    small
}

#[test]
#[ignore = "needs model: see CONTRIBUTING.md"]
fn a_small_real_model_names_a_session_and_is_not_asked_twice() {
    let small = started(testutil::needs::small_model());
    let home = Home::new();
    home.add(&session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser"));
    let fixture = Fixture { home };
    fixture.configure(&format!(
        "[model]\nprovider = \"openai\"\nmodel = \"smollm2\"\nbase_url = \"{}\"\nseconds_per_job = 240\n",
        small.url
    ));
    let until = Instant::now() + Duration::from_secs(280);
    let mut asked = 0;
    let run = loop {
        let mut command = fixture.command("memory consolidate -o json");
        let said = command.stderr(Stdio::inherit()).output().unwrap().stdout;
        let done: Value = serde_json::from_slice(&said).unwrap();
        asked += 1;
        if done["model"]["answered"] == json!(1) {
            break done;
        }
        // Nine of ten answers can be used; one that cannot is asked for again, and must have left nothing behind.
        assert_eq!(done["model"]["failed"], json!(1), "{done}");
        assert!(asked < 3 && Instant::now() < until, "{}", fixture.answer("memory jobs", 0));
        fixture.let_time_pass();
    };
    assert!(
        run["model"]["tokensIn"].as_u64().unwrap() > 500 && run["model"]["tokensOut"].as_u64().unwrap() > 10
    );
    let named = &run["sessions"][0];
    assert_eq!(named["namedBy"], json!("model"), "{run}");
    assert!(!named["name"].as_str().unwrap().is_empty() && !named["tags"].as_array().unwrap().is_empty());
    let kept = fixture.answer("memory export", 0);
    assert_eq!(kept["sessions"][0]["summary"]["by"], json!("model"), "{kept}");
    for fact in kept["facts"].as_array().unwrap() {
        let proof = &fact["evidence"][0];
        assert_eq!(proof["chatId"], json!(FIRST), "{fact}");
        assert!(proof["messageId"].as_str().unwrap().contains(FIRST), "{fact}");
    }
    fixture.answer("memory consolidate", 0);
    let costs = fixture.answer("memory costs --by model", 0);
    assert_eq!(
        (&costs["total"]["calls"], &costs["costs"][0]["group"]),
        (&json!(asked), &json!("openai smollm2")),
        "{costs}"
    );
}

#[test]
#[ignore = "needs model: see CONTRIBUTING.md"]
fn a_small_real_model_writes_a_note_and_answers_a_question() {
    let small = started(testutil::needs::small_model());
    let fixture = Fixture { home: Home::new() };
    fixture.configure(&format!(
        "[model]\nprovider = \"openai\"\nmodel = \"smollm2\"\nbase_url = \"{}\"\ncode = true\nseconds_per_job = 240\n",
        small.url
    ));
    write_file(
        &fixture.path("shop/src/Store.cs"),
        b"namespace Memo { /// <summary>Keeps nodes by id.</summary>\npublic class Store { public int Get(int id) { return id; } } }",
    );
    let until = Instant::now() + Duration::from_secs(280);
    for asked in 1.. {
        let mut command = fixture.command("code notes Store --root shop -o json");
        let said = command.stderr(Stdio::inherit()).output().unwrap().stdout;
        let done: Value = serde_json::from_slice(&said).unwrap();
        if done["notes"][0]["outcome"] == json!("written") {
            break;
        }
        assert_eq!(done["notes"][0]["outcome"], json!("failed"), "{done}");
        assert!(asked < 3 && Instant::now() < until, "{done}");
        fixture.let_time_pass();
    }
    let shown = fixture.answer("code semantic Store --root shop", 0);
    assert_eq!(shown["state"], json!("cached"), "{shown}");
    assert!(shown["text"].as_str().unwrap().contains("\nModel: openai smollm2\n"), "{shown}");
    // whatever it says, what comes back cites what is there or is the evidence itself
    let mut command = fixture.command("code investigate 'What does the store keep?' --root shop -o json");
    let said = command.stderr(Stdio::inherit()).output().unwrap().stdout;
    let told: Value = serde_json::from_slice(&said).unwrap();
    assert_eq!(told["state"], json!("done"), "{told}");
    for cited in told["answer"]["cites"].as_array().into_iter().flatten() {
        assert!(cited["path"].as_str().unwrap().starts_with("Memo.Store"), "{told}");
    }
    assert_eq!(told["answer"]["evidence"][0]["symbol"]["path"], json!("Memo.Store"));
}
