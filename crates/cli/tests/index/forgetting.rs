//! `forget` reaches everything that Loci stores: besides catalogue, index and archive also saved results, suggestion cards
//! and memory.

use crate::instance::list_files;
use serde_json::json;
use std::fs;
use testutil::{ALPHA, Home, Session, run_line, run_loci, write_file};

const DOOMED: &str = "dddd1111-0000-4000-8000-000000000000";
const KEPT: &str = "eeee2222-0000-4000-8000-000000000000";
const SECRET_PLAN: &str = "quokkaplan";

fn home_with_two_sessions() -> Home {
    let home = Home::new();
    let mut doomed = Session::new(DOOMED, ALPHA, "2026-03-02T09:00:00Z");
    doomed.prompt(&format!("We decided to use the {SECRET_PLAN} for the pager.")).reply(&["ok"]);
    for n in 0..40 {
        doomed.did("Bash", json!({"command": format!("echo {SECRET_PLAN} {n}")}), &"x".repeat(400));
    }
    home.add(&doomed);
    let mut kept = Session::new(KEPT, ALPHA, "2026-03-03T09:00:00Z");
    kept.prompt("an ordinary session").reply(&["ok"]);
    home.add(&kept);
    home
}

/// Files of Loci that contain a text, in file names too.
fn files_containing(home: &Home, text: &str) -> Vec<String> {
    let folders = [".cache/loci", ".local/share/loci", ".local/state/loci"];
    let files = folders.iter().flat_map(|folder| list_files(&home.path().join(folder)));
    let contains = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let found = files
        .filter(|path| contains(path.as_os_str().as_encoded_bytes()) || contains(&fs::read(path).unwrap()));
    found.map(|path| path.display().to_string()).collect()
}

#[test]
fn no_stored_file_mentions_a_forgotten_session() {
    let home = home_with_two_sessions();
    run_line(&home, "memory consolidate").expect(0);
    let saved = run_loci(&home, &["query", "tools", "--session", DOOMED, "--hybrid"]).expect(0);
    assert!(saved.text().contains("file_ref"), "nothing was saved: {}", saved.text());
    let cards = home.path().join(".local/state/loci/cards");
    let shown =
        json!({"session": KEPT, "pending": {"chat_id": DOOMED, "source": "claude-code"}, "done": [DOOMED]});
    write_file(&cards.join("0123456789abcdef.json"), shown.to_string().as_bytes());
    write_file(&cards.join("fedcba9876543210.json"), json!({"session": DOOMED}).to_string().as_bytes());
    assert!(files_containing(&home, SECRET_PLAN).len() >= 2, "memory and the saved result have it");

    let planned =
        run_line(&home, &format!("forget {DOOMED} --dry-run -o json")).expect(0).records().remove(0);
    let done = run_line(&home, &format!("forget {DOOMED} --yes -o json")).expect(0).records().remove(0);
    for field in ["chats", "events", "archiveFiles", "savedResults"] {
        assert_eq!(planned[field], done[field], "{field}");
    }
    assert_eq!(done["savedResults"], 1);
    assert_eq!(files_containing(&home, SECRET_PLAN), [""; 0]);
    // The ID stays where it keeps the session away: in the tombstones, and in the path of the agent's own transcript.
    let expected =
        [".cache/loci/catalogue.db", ".local/share/loci/archive/forgotten", ".local/share/loci/forgotten"];
    let expected = expected.map(|path| home.path().join(path).display().to_string());
    assert_eq!(files_containing(&home, DOOMED), expected);
}

#[test]
fn a_forgotten_session_is_reported_as_forgotten() {
    let home = home_with_two_sessions();
    run_line(&home, &format!("forget {DOOMED} --yes")).expect(0);
    for line in ["show dddd1111", "query tools --session dddd1111"] {
        let error = run_line(&home, line).expect(1).records().remove(0);
        assert_eq!(error["code"], "SESSION_NOT_FOUND", "{line}: {error}");
        assert!(error["error"].as_str().unwrap().contains("was forgotten"), "{line}: {error}");
    }
}
