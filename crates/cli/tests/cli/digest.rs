//! `loci digest`: what was done, decided, left open and spent, as Markdown.

use serde_json::json;
use testutil::{Home, Session, command, run_command, run_line};

fn home_with_a_week() -> Home {
    let home = Home::new();
    for (id, folder, day, prompt, reply) in [
        (
            "aaaa1111",
            "/srv/demo/shop",
            "2026-02-27",
            "OK, decided: we go with Postgres 16 for labels, not SQLite.",
            "Noted.",
        ),
        (
            "bbbb2222",
            "/srv/demo/shop",
            "2026-02-28",
            "why is the cart stale after a refresh?",
            "The page cache.",
        ),
        ("cccc3333", "/srv/demo/tools", "2026-01-02", "rename the flag --fast to --quick", "Renamed."),
    ] {
        let id = format!("{id}-0000-4000-8000-000000000001");
        let mut session = Session::new(&id, folder, &format!("{day}T09:00:00Z"));
        session.prompt("we need a store for labels").reply(&["SQLite or Postgres?"]);
        session.prompt(prompt).did("Bash", json!({"command": "make"}), "ok").reply(&[reply]);
        home.add(&session);
    }
    run_line(&home, "memory consolidate --no-model").expect(0);
    home
}

#[test]
fn a_digest_has_what_was_done_decided_and_spent_within_its_time() {
    let home = home_with_a_week();
    let text = run_line(&home, "digest --since 2026-02-20 -o text").expect(0);
    let text = text.text();
    assert!(text.starts_with("# ") && text.contains("\n## Done\n\n### /srv/demo/shop\n\n- "), "{text}");
    assert!(text.contains("\n## Decided\n\n- ") && text.contains("Postgres 16"), "{text}");
    assert!(text.contains("\n## Spent\n\n< $0.01 in 2 sessions"), "{text}");
    assert!(!text.contains("/srv/demo/tools"), "{text}");
    let made = run_line(&home, "digest --since 2026-01-01 --until 2026-01-31").expect(0).records().remove(0);
    assert_eq!(made["done"].as_array().unwrap().len(), 1, "{made}");
    assert_eq!(made["done"][0]["project"], "/srv/demo/tools");
    assert_eq!(made["decided"], json!([]));
    let other = run_line(&home, "digest --since 2026-01-01 --project tools").expect(0).records().remove(0);
    assert_eq!((other["done"].as_array().unwrap().len(), &other["decided"]), (1, &json!([])), "{other}");
    let all = run_line(&home, "digest --since 2026-01-01").expect(0).records().remove(0);
    assert_eq!(all["done"].as_array().unwrap().len(), 3);
    assert_eq!(all["spent"]["messages"], 9, "{all}");
}

#[test]
fn a_digest_of_a_quiet_week_says_so() {
    let home = home_with_a_week();
    let mut quiet = command(home.path(), &["digest", "-o", "text"]);
    quiet.env("TZ", "UTC");
    let quiet = run_command(quiet).expect(2);
    assert!(quiet.text().contains("No sessions."), "{}", quiet.text());
    run_line(&home, "digest --since soon").expect(1);
}
