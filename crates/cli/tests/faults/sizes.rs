//! Lines and files of any size are read in bounded memory. The largest case takes minutes and gigabytes of disk:
//! `cargo test --release -p loci --test faults -- --ignored five_gigabytes`.

use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use testutil::{ALPHA, Home, Session, command, peak_memory, run_line};

const ID: &str = "aaaa1111-0000-4000-8000-000000000001";
const MB: u64 = 1 << 20;
/// The documented memory bound, in kilobytes.
const MAX_MEMORY_KB: u64 = 300 * 1024;

/// Returns the peak memory of a run in kilobytes and the number of bytes it printed.
fn measure_memory(home: &Home, args: &[&str]) -> (u64, u64) {
    let (code, peak_kb, length) = peak_memory(command(home.path(), args));
    assert_eq!(code, Some(0), "{args:?}");
    println!("{args:?}: peak {} MB, {length} bytes printed", peak_kb / 1024);
    (peak_kb, length)
}

/// A session in which one tool result is a line of 100 MB.
fn home_with_long_line() -> Home {
    let home = Home::new();
    let mut session = Session::new(ID, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("before").did("Read", json!({"file_path": "/small"}), "text");
    let call = session.call("Bash", json!({"command": "cat big"}));
    session.result(&call, "@BIG@", json!({"stdout": "short"}));
    session.prompt("after").did("Read", json!({"file_path": "/last"}), "text");
    let text = session.text();
    let (head, tail) = text.split_once("@BIG@").unwrap();
    let path = home.add_bytes(&session, head.as_bytes());
    let mut file = BufWriter::new(OpenOptions::new().append(true).open(&path).unwrap());
    let block = "line of output \\u00e9\\n".repeat(5000);
    for _ in 0..(100 * MB as usize) / block.len() {
        file.write_all(block.as_bytes()).unwrap();
    }
    file.write_all(b"the needle").unwrap();
    file.write_all(tail.as_bytes()).unwrap();
    file.flush().unwrap();
    home
}

#[test]
fn a_line_of_a_hundred_megabytes_is_found_in_bounded_memory() {
    let home = home_with_long_line();
    let mut over = Vec::new();
    for args in [
        &["stats", "--all-projects"][..],
        &["query", "tools", "--all-projects", "--fields", "tool,status"],
        &["query", "messages", "--all-projects"],
        &["sources"],
        &["query", "tools", "--all-projects", "--pattern", "the needle", "--fields", "id,tool"],
    ] {
        let (peak_kb, _) = measure_memory(&home, args);
        if peak_kb > MAX_MEMORY_KB {
            over.push(format!("{args:?}: {} MB", peak_kb / 1024));
        }
    }
    assert!(over.is_empty(), "over {} MB: {over:#?}", MAX_MEMORY_KB / 1024);
    let found = run_line(&home, "query tools --all-projects --pattern 'the needle' --fields input").expect(0);
    assert_eq!(found.lines(), [r#"{"input":{"command":"cat big"}}"#]);
    let around = run_line(&home, "query tools --all-projects --tool Read --fields input").expect(0);
    assert_eq!(around.lines().len(), 2);
}

/// A session with progress entries of 3 MB each between its prompts.
fn home_with_progress_lines(total: u64) -> (Home, PathBuf) {
    let home = Home::new();
    let mut session = Session::new(ID, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("before");
    let path = home.add(&session);
    let mut file: BufWriter<File> =
        BufWriter::with_capacity(1 << 20, OpenOptions::new().append(true).open(&path).unwrap());
    let filling = "progress ".repeat((3 * MB as usize) / 9);
    for n in 0..total / (3 * MB) {
        let head = json!({"type": "progress", "sessionId": ID, "timestamp": "2026-03-01T10:00:01Z", "uuid": format!("p{n}")}).to_string();
        writeln!(file, "{},\"data\":{{\"text\":\"{filling}\"}}}}", &head[..head.len() - 1]).unwrap();
    }
    session.lines.clear();
    session.did("Bash", json!({"command": "ls"}), "x").prompt("after");
    file.write_all(session.text().as_bytes()).unwrap();
    file.flush().unwrap();
    (home, path)
}

fn assert_progress_lines_are_skipped(total: u64) {
    let (home, path) = home_with_progress_lines(total);
    let size = std::fs::metadata(&path).unwrap().len();
    for args in [&["stats", "--all-projects"][..], &["query", "messages", "--all-projects"], &["sources"]] {
        let started = std::time::Instant::now();
        let (peak_kb, _) = measure_memory(&home, args);
        println!("{args:?}: {} MB/s", size as f64 / MB as f64 / started.elapsed().as_secs_f64());
        assert!(peak_kb < MAX_MEMORY_KB, "{args:?}: {} MB", peak_kb / 1024);
    }
    let prompts = run_line(&home, "query user-messages --all-projects --fields text").expect(0);
    assert_eq!(prompts.all("text"), ["after", "before"]);
    let sources = run_line(&home, "sources --source claude-code").expect(0);
    assert_eq!((sources.all("ignored"), sources.all("bad")), (vec![json!(total / (3 * MB))], vec![json!(0)]));
}

#[test]
fn long_progress_lines_are_skipped() {
    assert_progress_lines_are_skipped(300 * MB);
}

#[test]
#[ignore = "takes minutes: see CONTRIBUTING.md"]
fn five_gigabytes_of_progress_lines_are_skipped() {
    assert_progress_lines_are_skipped(5 * 1024 * MB);
}

/// A line over the reader's limit is skipped, counted and reported; its neighbours are not lost.
#[test]
fn a_line_over_the_length_limit_is_skipped_and_counted() {
    let home = Home::new();
    let mut session = Session::new(ID, ALPHA, "2026-03-01T10:00:00Z");
    let path = home.add(session.prompt("before"));
    let mut file = BufWriter::new(OpenOptions::new().append(true).open(&path).unwrap());
    file.write_all(b"{\"type\":\"user\",\"message\":{\"content\":\"").unwrap();
    let block = vec![b'x'; MB as usize];
    (0..170).for_each(|_| file.write_all(&block).unwrap());
    session.lines.clear();
    file.write_all(format!("\"}}}}\n{}", session.prompt("after").text()).as_bytes()).unwrap();
    file.flush().unwrap();
    let prompts = run_line(&home, "query user-messages --all-projects --fields text").expect(3);
    assert_eq!(prompts.all("text"), ["after", "before"]);
    assert_eq!(run_line(&home, "sources --source claude-code").all("bad"), [1]);
    let problems = run_line(&home, "sources --problems");
    assert_eq!(problems.all("problem"), ["line_too_long"]);
    let (code, peak_kb, _) = peak_memory(command(home.path(), &["stats", "--all-projects"]));
    assert!(code == Some(3) && peak_kb < MAX_MEMORY_KB, "{} MB", peak_kb / 1024);
}

/// A response ends at 32 MB, whatever the size of the session.
#[test]
fn showing_a_large_session_is_bounded() {
    let home = Home::new();
    let mut session = Session::new("cccc1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("go");
    let output = "line of output\n".repeat(70_000);
    for n in 0..48 {
        session.did("Bash", json!({"command": format!("cat {n}")}), &output);
    }
    session.reply(&["the last words"]);
    home.add(&session);
    let shown = run_line(&home, "show cccc1111 --json").expect(3).records().remove(0);
    assert_eq!(shown["partial"], true);
    let notes = shown["notes"].to_string();
    assert!(notes.contains("further messages and calls are omitted"), "{notes}");
    let size = shown.to_string().len();
    assert!((24 << 20..40 << 20).contains(&size), "{size}");
    let small = run_line(&home, "show cccc1111 --include-tools=false --json").expect(0);
    assert!(small.text().contains("the last words"));
}
