//! Very many files, very many keys, and too little memory: bounded, and complete in the end.
//!
//! Does not measure speed.

use serde_json::json;
use std::fs::{self, File};
use std::process::Command;
use testutil::needs::number_variable;
use testutil::{ALPHA, Home, Session, command, peak_memory, run_command, run_line};

/// The documented memory bound, in kilobytes.
const MAX_MEMORY_KB: u64 = 300 * 1024;

fn session(n: usize, prompt: &str) -> Session {
    let mut session =
        Session::new(&format!("{n:08x}-0000-4000-8000-000000000000"), ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(prompt).did("Bash", json!({"command": "ls"}), "none").reply(&["ok"]);
    session
}

fn finds(home: &Home, word: &str) -> bool {
    run_line(home, &format!("search {word} -o json")).text().contains(word)
}

/// R22. `LOCI_FILES=1000000` runs the long form.
#[test]
fn very_many_empty_transcripts_are_indexed_in_bounded_memory() {
    let home = Home::new();
    let count = number_variable("LOCI_FILES", 20_000);
    for n in 0..count {
        let folder = home.path().join(format!(".claude/projects/-srv-many-{}", n / 1000));
        if n % 1000 == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        File::create(folder.join(format!("{n:08x}-1111-4000-8000-000000000000.jsonl"))).unwrap();
    }
    home.add(&session(1, "the quokkabird among them"));
    let (code, peak_kb, _) = peak_memory(command(home.path(), &["index"]));
    assert_eq!(code, Some(0));
    assert!(peak_kb <= MAX_MEMORY_KB, "{} MB for {count} files", peak_kb / 1024);
    assert!(finds(&home, "quokkabird"));
    let again = run_line(&home, "index -o json").expect(0).records().remove(0);
    assert_eq!((&again["bytesRead"], &again["files"]), (&0.into(), &(count + 1).into()), "{again}");
    let (code, peak_kb, _) = peak_memory(command(home.path(), &["sessions", "-o", "json"]));
    assert!(code == Some(0) && peak_kb <= MAX_MEMORY_KB, "{code:?}, {} MB", peak_kb / 1024);
}

/// R39. Each run has a little more address space than the last, and may be ended by the lack of it.
#[test]
fn updates_that_run_out_of_memory_keep_their_progress() {
    let home = Home::new();
    let filler = "a line of output that is not short\n".repeat(600);
    for n in 0..60 {
        let mut session = session(n, &format!("about number{n}x"));
        for call in 0..40 {
            session.did("Bash", json!({"command": format!("make {call}")}), &filler);
        }
        home.add(&session);
    }
    let (mut events, mut failed) = (0, 0);
    for megabytes in [40, 60, 80, 100, 120, 140, 160, 200, 240, 300, 400, 600] {
        let loci = command(home.path(), &["index"]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -v {}; exec \"$@\"", megabytes * 1024), "sh"]);
        limited.arg(loci.get_program()).args(loci.get_args()).current_dir(home.path()).env_clear();
        limited.envs(loci.get_envs().filter_map(|(name, value)| Some((name, value?))));
        failed += usize::from(run_command(limited).code != Some(0));
        let catalogue = home.path().join(".cache/loci/catalogue.db");
        let now = if catalogue.exists() { count_events(&catalogue) } else { 0 };
        assert!(now >= events, "{megabytes} MB: {now} events after {events}");
        events = now;
    }
    assert!(failed > 0, "no run was short of memory");
    run_line(&home, "index").expect(0);
    for n in [0, 29, 59] {
        assert!(finds(&home, &format!("number{n}x")), "{n}");
    }
    let fresh = Home::new();
    testutil::copy_folder(&home.path().join(".claude"), &fresh.path().join(".claude"));
    let line = "stats --all-projects --by session";
    assert_eq!(run_line(&home, line).text(), run_line(&fresh, line).text());
}

fn count_events(catalogue: &std::path::Path) -> i64 {
    let count = |open: db::Connection| open.query_row("select count(*) from events", [], |row| row.get(0));
    db::open_foreign(catalogue).and_then(count).unwrap_or(0)
}

/// S13. A million equal keys in a call's input, in the entry, and in an entry that is not read.
#[test]
fn a_million_equal_keys_cost_one_record_at_most() {
    let home = Home::new();
    let mut before = session(1, "before the quokkabird");
    let keys = "\"a\":1,".repeat(number_variable("LOCI_KEYS", 1_000_000));
    let entry = before.lines[0].clone();
    for line in [
        before.lines[1].replace("\"command\":\"ls\"", &format!("{keys}\"command\":\"ls\"")),
        entry.replacen('{', &format!("{{{keys}"), 1),
        format!("{{\"type\":\"progress\",{keys}\"z\":2}}"),
    ] {
        before.raw_line(line);
    }
    before.prompt("after the okapibird");
    home.add(&before);
    for args in [&["index"][..], &["query", "tools", "--all-projects"], &["stats", "--all-projects"]] {
        let (code, peak_kb, _) = peak_memory(command(home.path(), args));
        assert!(matches!(code, Some(0 | 3)), "{args:?}: {code:?}");
        assert!(peak_kb <= MAX_MEMORY_KB, "{args:?}: {} MB", peak_kb / 1024);
    }
    assert!(finds(&home, "quokkabird") && finds(&home, "okapibird"));
}
