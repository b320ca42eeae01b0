//! Measures recall by place: whether `loci about SYMBOL` tells the decision or the failed attempt that sessions left behind:
//!
//!     cargo run --example places -- CASES.json
//!
//! A case is a repository, the sessions that worked on it, a symbol, and pieces of text of which the answer must contain one, within its
//! first 600 tokens. People wrote the cases without knowing how Loci looks for them. `--explain` prints the answers that lack it.

// The pedantic lints are for shipped code.
#![allow(clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testutil::{Home, Session, command, git, run_command, write_file};

/// The tokens that count, and the characters of one.
const BUDGET: usize = 600;
const CHARS_PER_TOKEN: usize = 4;

fn main() {
    let Some(file) = std::env::args().nth(1) else {
        println!("usage: places CASES.json");
        return;
    };
    let text = std::fs::read_to_string(&file).expect("the cases can be read");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the cases are a JSON array");
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut longest = 0;
    for case in &cases {
        let answer = ask(case);
        longest = longest.max(answer.len());
        let is_found = contains_any(&answer, &case["expected_any"]);
        let count = counts.entry(text_of(&case["kind"]).to_string()).or_default();
        *count = [count[0] + 1, count[1] + usize::from(is_found)];
        if !is_found && std::env::args().any(|arg| arg == "--explain") {
            println!("---- {} {} wants {}\n{answer}", case["id"], case["ask"], case["expected_any"]);
        }
    }
    let found: usize = counts.values().map(|count| count[1]).sum();
    println!("{found} of {} places: {counts:?} (asked, told)", cases.len());
    println!("the longest answer has {} tokens", longest / CHARS_PER_TOKEN);
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether the beginning of an answer contains one of the texts; case and line breaks do not count.
fn contains_any(answer: &str, expected: &Value) -> bool {
    let fold = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let beginning = &answer[..answer.floor_char_boundary(BUDGET * CHARS_PER_TOKEN)];
    let beginning = fold(beginning);
    expected.as_array().into_iter().flatten().any(|text| beginning.contains(&fold(text_of(text))))
}

/// Makes the repository and the transcripts, and asks.
fn ask(case: &Value) -> String {
    let home = Home::new();
    let root = std::fs::canonicalize(home.path()).unwrap().join("project");
    for (path, text) in case["files"].as_object().into_iter().flatten() {
        write_file(&root.join(path), text_of(text).as_bytes());
    }
    git(&root, FIRST, &["init", "-q", "-b", "main"]);
    commit(&root, FIRST, "Begin");
    for (number, told) in case["sessions"].as_array().into_iter().flatten().enumerate() {
        add_session(&home, &root, number, told);
    }
    let run = |args: &[&str]| {
        let mut run = command(home.path(), args);
        run.current_dir(&root);
        run_command(run)
    };
    run(&["index"]).expect(0);
    run(&["memory", "consolidate", "--no-model"]);
    let answer = run(&["about", text_of(&case["ask"]), "--budget", &BUDGET.to_string(), "-o", "text"]);
    format!("{}{}", answer.text(), answer.stderr)
}

/// Before all sessions.
const FIRST: &str = "2025-01-01T00:00:00Z";

fn commit(root: &Path, date: &str, subject: &str) {
    git(root, date, &["add", "-A"]);
    git(root, date, &["commit", "-q", "--allow-empty", "-m", subject]);
}

fn add_session(home: &Home, root: &Path, number: usize, told: &Value) {
    let id = format!("{number:08x}-0000-4000-8000-00000000000{number:x}");
    let mut session = Session::new(&id, root.to_str().unwrap(), text_of(&told["date"]));
    for turn in told["turns"].as_array().into_iter().flatten() {
        add_turn(&mut session, root, turn);
    }
    let end = record::Stamp(session.now + 60_000).to_string();
    if let Some(subject) = told["commit"].as_str() {
        commit(root, &end, subject);
    }
    home.add(&session);
}

fn add_turn(session: &mut Session, root: &Path, turn: &Value) {
    // A person takes a while to answer.
    session.wait_minutes(1);
    if let Some(text) = turn["user"].as_str() {
        session.prompt(text);
    } else if let Some(text) = turn["assistant"].as_str() {
        session.reply(&[text]);
    } else if let Some(run) = turn.get("run") {
        let (input, output) = (json!({"command": run["command"]}), text_of(&run["output"]));
        if run["failed"] == true {
            session.failed("Bash", input, &format!("Exit code 1\n{output}"));
        } else {
            session.did("Bash", input, output);
        }
    } else if let Some(edit) = turn.get("edit") {
        let (path, old, new) =
            (root.join(text_of(&edit["path"])), text_of(&edit["old"]), text_of(&edit["new"]));
        replace(&path, old, new);
        session.did("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), "edited");
    }
}

fn replace(path: &PathBuf, old: &str, new: &str) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    assert!(text.contains(old), "{} does not contain {old}", path.display());
    std::fs::write(path, text.replacen(old, new, 1)).unwrap();
}
