//! What a demanding new user found wrong at the terminal, each shown mended. The numbers are those of the review; findings
//! that have a test elsewhere are named there.

use serde_json::{Value, json};
use testutil::{Finished, Home, Session, command, run_command, run_line, write_file};

const LABELS: &str = "/srv/demo/parcelhub";

/// One session per line: ID, day, prompts and replies in turn.
fn home_with(sessions: &[(&str, &str, &[&str])]) -> Home {
    let home = Home::new();
    for (id, day, talk) in sessions {
        let id = format!("{id}-0000-4000-8000-000000000001");
        let mut session = Session::new(&id, LABELS, &format!("{day}T09:00:00Z"));
        for pair in talk.chunks(2) {
            session.prompt(pair[0]);
            session.reply(&[pair.get(1).copied().unwrap_or("Done.")]);
        }
        home.add(&session);
    }
    run_line(&home, "memory consolidate --no-model").expect(0);
    home
}

fn parcelhub() -> Home {
    home_with(&[
        (
            "aaaa1111",
            "2026-11-03",
            &[
                "we need a store for labels",
                "SQLite or Postgres?",
                "OK, decided: we go with Postgres 16 for labels, not SQLite.",
                "Noted.",
            ],
        ),
        (
            "bbbb2222",
            "2026-11-04",
            &[
                "The label upload to S3 fails on staging, the DATABASE_URL is fine",
                "The bucket policy denies PutObject.",
            ],
        ),
        (
            "cccc3333",
            "2026-11-05",
            &["refactor the carriers so that each has its own module", "The carriers DHL and UPS are split."],
        ),
        (
            "dddd4444",
            "2026-10-28",
            &[
                "what about pgbouncer?",
                "It would help.",
                "we decided to use pgbouncer in front of postgres",
                "Done.",
            ],
        ),
        (
            "eeee5555",
            "2026-11-14",
            &[
                "pgbouncer breaks prepared statements",
                "Yes.",
                "we're dropping pgbouncer, we decided to use the pool of the driver instead",
                "Removed.",
            ],
        ),
        ("ffff6666", "2026-11-10", &["add retries to the webhook sender", "Wall time: 3 s. Added."]),
    ])
}

fn record(output: &Finished) -> Value {
    output.records().into_iter().next().unwrap_or_default()
}

#[test]
fn finding_1_a_clear_decision_is_remembered() {
    let listed = run_line(&parcelhub(), "memory list --kind facts").expect(0);
    assert!(listed.text().contains("Postgres 16"), "{}", listed.text());
}

#[test]
fn finding_2_a_session_that_only_shares_words_gets_no_card() {
    let home = home_with(&[
        (
            "bbbb2222",
            "2026-11-04",
            &[
                "The label upload to S3 fails on staging, the DATABASE_URL is fine",
                "The bucket policy denies PutObject.",
            ],
        ),
        ("ffff6666", "2026-11-10", &["add retries to the webhook sender", "Added."]),
        ("cccc3333", "2026-11-05", &["refactor the carriers", "Split."]),
    ]);
    let asked = "recommend 'as we discussed last week, which database did we pick for labels?'";
    let wrong = record(&run_line(&home, asked));
    assert_eq!(wrong["card"], Value::Null, "{wrong}");
    let right = record(&run_line(
        &parcelhub(),
        "recommend 'as we discussed, which database did we pick for labels?'",
    ));
    let card = &right["card"]["chatId"];
    assert!(card.is_null() || card.as_str().unwrap().starts_with("aaaa1111"), "{right}");
}

#[test]
fn finding_3_a_prompt_that_refers_back_is_not_denied() {
    let home = parcelhub();
    let found = record(&run_line(&home, "recommend 'continue the carriers refactor from the other day'"));
    assert_ne!(found["abstained"], "no_reference", "{found}");
}

#[test]
fn finding_5_a_dry_run_counts_what_forgetting_removes() {
    let home = parcelhub();
    let dry = record(&run_line(&home, "forget bbbb2222 --dry-run").expect(0));
    let done = record(&run_line(&home, "forget bbbb2222 --yes").expect(0));
    assert_eq!(dry["archiveFiles"], done["archiveFiles"], "{dry} {done}");
    let gone = run_line(&home, "show bbbb2222").expect(1);
    assert!(gone.stderr.contains("forgotten") && !gone.text().contains("resume"), "{}", gone.stderr);
}

#[test]
fn finding_6_quotes_make_a_phrase() {
    let home = parcelhub();
    run_line(&home, "search '\"wall clock\"'").expect(2);
    let phrase = record(&run_line(&home, "search '\"Wall time\"'").expect(0));
    assert_eq!(phrase["results"].as_array().unwrap().len(), 1, "{phrase}");
}

#[test]
fn finding_7_the_decision_that_holds_comes_before_the_one_it_replaced() {
    let found = record(&run_line(&parcelhub(), "search what did we decide about pgbouncer").expect(0));
    assert!(found["results"][0]["chatId"].as_str().unwrap().starts_with("eeee5555"), "{found}");
}

#[test]
fn finding_8_sessions_of_this_project_come_first_and_the_total_is_said() {
    let home = Home::new();
    for (n, folder) in [(1, "other"), (2, "here"), (3, "other"), (4, "other")] {
        let id = format!("{n:08}-0000-4000-8000-000000000001");
        let folder = home.path().join(folder);
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        let mut session = Session::new(&id, folder.to_str().unwrap(), &format!("2026-11-0{n}T09:00:00Z"));
        home.add(session.prompt("tune pgbouncer").reply(&["Tuned."]));
    }
    let mut loci = command(home.path(), &["search", "pgbouncer", "-n", "2"]);
    loci.current_dir(home.path().join("here"));
    let found = record(&run_command(loci).expect(0));
    assert!(found["results"][0]["chatId"].as_str().unwrap().starts_with("00000002"), "{found}");
    assert_eq!((found["results"].as_array().unwrap().len(), &found["totalChats"]), (2, &json!(4)));
}

#[test]
fn finding_15_show_breaks_lines_and_shows_the_error_of_a_failed_call() {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", LABELS, "2026-11-03T09:00:00Z");
    session.prompt(&"words ".repeat(100));
    session.failed("Edit", json!({"file_path": "/srv/a.rs"}), "String to replace not found in file.");
    home.add(session.reply(&["ok"]));
    let shown = run_line(&home, "show last -o text").expect(0);
    assert!(shown.text().contains("String to replace not found in file."), "{}", shown.text());
}

#[test]
fn finding_18_rules_reach_a_starting_session() {
    let home = parcelhub();
    use std::io::Write;
    let mut hook = command(home.path(), &["hook", "session-start"]);
    let input = json!({"session_id": "x", "cwd": LABELS, "source": "startup"}).to_string();
    let mut run = |_| {
        hook.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = hook.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let context = (0..20).map(&mut run).find(|text| !text.is_empty()).expect("the hook prints nothing");
    assert!(context.contains("decision of 2026-11-03") && context.contains("Postgres 16"), "{context}");
}

fn tree() -> Home {
    let home = Home::new();
    std::fs::create_dir_all(home.path().join(".git")).unwrap();
    write_file(&home.path().join("retry.py"), b"def with_backoff(f):\n    return f()\n\n\nclass Clock:\n    def now(self):\n        return 0\n\n\nclass RetryPolicy:\n    def __init__(self, clock: Clock):\n        self.clock = clock\n");
    home
}

#[test]
fn finding_19_code_commands_take_a_bare_name_and_leave_the_tree_alone() {
    let home = tree();
    let outline = run_line(&home, "code outline with_backoff -o text").expect(0);
    assert!(!outline.text().contains("222 %"), "{}", outline.text());
    assert!(!outline.text().contains("of 27 tokens"), "{}", outline.text());
    let graph = run_line(&home, "code graph Clock").expect(0);
    assert!(graph.text().contains("Clock"), "{}", graph.text());
    let pack = run_line(&home, "code pack RetryPolicy").expect(1);
    let line = pack.records()[0]["hints"][0].as_str().unwrap().to_string();
    run_line(&home, line.strip_prefix("loci ").unwrap()).expect(0);
    std::fs::remove_dir_all(home.path().join(".loci")).ok();
    run_line(&home, "code investigate 'how are retries made?'");
    assert!(!home.path().join(".loci").exists(), "investigating leaves files in the tree");
}

#[test]
fn finding_20_counts_have_plural_forms_and_tables_fit() {
    let home = parcelhub();
    for line in [
        "sessions -o text",
        "search pgbouncer -o text",
        "usage --all-projects --by session -o text",
        "stats --all-projects -o text",
    ] {
        let text = run_line(&home, line).expect(0);
        for wrong in [" 1 calls", " 1 turns", " 1 sessions", " 1 hits", " 1 messages,"] {
            assert!(!text.text().contains(wrong), "{line}: {}", text.text());
        }
    }
    let explained = run_line(&home, "usage --all-projects --explain -o text").expect(0);
    assert!(!explained.text().contains("{\""), "{}", explained.text());
    let review = run_line(&home, "memory list --state review -o text");
    assert!(!review.text().contains("loci memory list --state review"), "{}", review.text());
    let empty = run_line(&home, "search").expect(1);
    assert!(!empty.stderr.contains("`intent_query` is empty"), "{}", empty.stderr);
}
