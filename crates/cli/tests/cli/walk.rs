//! A walk through the commands as a new user takes it, on terminals of 80 and 200 columns and through a pipe: what people
//! see, recorded so that a reviewer can read it. Accept changes with `INSTA_UPDATE=always cargo test -p loci walk`.
//!
//! Needs `script`, which every Linux has, for a terminal.

use serde_json::json;
use std::process::Command;
use testutil::{Home, Rollout, Session, binary, run_command, set_environment, split_words};

const STEPS: &[&str] = &[
    "sources",
    "sessions",
    "sessions -n 1",
    "search stale cache",
    "search kache",
    "search stale --since 2026-03-05",
    "search 'eviction order' --project shop",
    "show last",
    "show aaaa --no-tools",
    "resume --print stale cache",
    "query errors --all-projects",
    "query tools --all-projects -n 3",
    "query user-messages --all-projects -n 2",
    "query sessions --all-projects",
    "analyze errors --all-projects",
    "stats --all-projects",
    "usage --all-projects",
    "usage --all-projects --by month",
    "memory consolidate --no-model",
    "memory list",
    "recommend continue with the stale cache",
    "status",
    "export last --no-tools",
    "config get daemon.poll_seconds",
    "forget aaaa --dry-run",
    "nosuchword",
    "show nosuchid",
    "usage --by nothing",
];

fn home() -> Home {
    let home = Home::new();
    let mut first =
        Session::new("aaaa1111-0000-4000-8000-000000000001", "/srv/demo/shop", "2026-02-27T09:00:00Z");
    first.prompt("why is the cart stale after a refresh?").reply(&[
        "## What happens\n\nThe cart is read from the **page cache**, which is refreshed only when the price list \
         changes. Two ways out:\n\n1. drop the page cache for carts\n2. key it by the cart's version, which needs a \
         migration",
    ]);
    first.prompt("key it by version. never cache carts by user id again");
    first.did(
        "Edit",
        json!({"file_path": "/srv/demo/shop/cart.py", "old_string": "a", "new_string": "b"}),
        "ok",
    );
    first.failed(
        "Bash",
        json!({"command": "pytest tests/cart"}),
        "FAILED tests/cart/test_version.py\nAssertionError: 3 != 4",
    );
    first.did("Bash", json!({"command": "pytest tests/cart"}), "12 passed");
    first.reply(&["Carts are keyed by version now; the stale cache is gone."]);
    home.add(&first);
    let mut second =
        Rollout::new("bbbb2222-0000-4000-8000-000000000002", "/srv/demo/tools", "2026-02-28T20:30:00Z");
    second
        .prompt("rename the flag --fast to --quick everywhere")
        .did("c1", "rg -l -- --fast", 0)
        .reply("Renamed in 4 files.");
    home.add_codex(&second);
    home
}

/// The output of a command on a terminal of the given width.
fn on_terminal(home: &Home, line: &str, columns: usize) -> String {
    let words: Vec<String> = split_words(line).iter().map(|word| api::operation::shell_quote(word)).collect();
    let typed = format!("stty cols {columns} rows 500; {} {}", binary(), words.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &typed, "/dev/null"]);
    set_environment(&mut script, home.path());
    script.env("TZ", "Europe/Berlin").env("NO_COLOR", "1").env("TERM", "dumb").env("LOCI_PAGER", "cat");
    String::from_utf8_lossy(&run_command(script).stdout).replace("\r\n", "\n")
}

fn through_pipe(home: &Home, line: &str) -> String {
    let words = split_words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut loci = testutil::command(home.path(), &words);
    loci.env("TZ", "Europe/Berlin");
    let output = run_command(loci);
    format!("{}{}", String::from_utf8_lossy(&output.stdout), output.stderr)
}

/// Without what differs from run to run: folders, ages, the present time, sizes, and progress that was overwritten.
fn normalize(home: &Home, text: &str) -> String {
    let text = text.replace(&*home.path().to_string_lossy(), "~");
    let mut out = String::new();
    for line in text.lines() {
        let line = line.rsplit('\r').next().unwrap_or(line);
        let words: Vec<&str> = line.split(' ').collect();
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            let is_age = word.starts_with("ago") && kept.len() >= 2;
            if is_age {
                kept.truncate(kept.len() - 2);
                kept.push(format!("long {word}"));
            } else {
                kept.push(word.to_string());
            }
        }
        out += kept.join(" ").trim_end();
        out.push('\n');
    }
    out
}

fn record(home: &Home, run: impl Fn(&Home, &str) -> String) -> String {
    let varies = ["status"];
    let steps = STEPS.iter().filter(|step| !varies.contains(step));
    steps
        .map(|step| format!("$ loci {step}\n{}\n", without_clock(&normalize(home, &run(home, step)))))
        .collect()
}

/// Removes what follows "as of", and JSON fields that hold the present time.
fn without_clock(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = line.split("(as of").next().unwrap_or(line).trim_end();
        let line = line.split("\"asOf\":").next().unwrap_or(line);
        out += line;
        out.push('\n');
    }
    out
}

#[test]
fn a_walk_on_a_narrow_terminal() {
    insta::assert_snapshot!("walk_80", record(&home(), |home, step| on_terminal(home, step, 80)));
}

#[test]
fn a_walk_on_a_wide_terminal() {
    insta::assert_snapshot!("walk_200", record(&home(), |home, step| on_terminal(home, step, 200)));
}

#[test]
fn a_walk_through_a_pipe() {
    insta::assert_snapshot!("walk_pipe", record(&home(), through_pipe));
}
