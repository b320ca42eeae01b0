//! The index makes questions over records faster and nothing else: each gives the same bytes with it and with an
//! empty cache, whatever has happened to the transcripts since it was made.

use crate::builder::{ALPHA, Session, put};
use crate::corpus;
use crate::desk::{Desk, VIEWS, assert_same, viewed};
use crate::history::{History, gemini};
use serde_json::json;
use std::fs;

#[track_caller]
fn same<L: AsRef<str>>(about: &str, desk: &Desk, lines: &[L]) {
    let empty = desk.with_empty_cache();
    for line in lines {
        let with = viewed(desk, line.as_ref());
        assert_same(about, &[with], &[viewed(&empty, line.as_ref())]);
    }
}

/// Every view with parameters of many kinds.
fn shapes() -> Vec<String> {
    let mut lines: Vec<String> = VIEWS.iter().map(ToString::to_string).collect();
    for view in api::VIEWS {
        let title = view.title();
        if !view.takes("all_projects") {
            lines.push(title);
            continue;
        }
        lines.push(format!("{title} --all-projects --reverse -o tsv --limit 7 --offset 2"));
        lines.push(format!("{title} --project {ALPHA} --since 2026-03-01T01:00:00Z --until 2026-04-01"));
        lines.push(format!("{title} --session 00000000-0 --source claude-code"));
        if view.takes("pattern") {
            lines.push(format!("{title} --all-projects --pattern main"));
        }
        lines.extend(view.by.iter().map(|by| format!("{title} --all-projects --by {by}")));
    }
    lines.retain(|line| !line.starts_with("query file-access") || line.contains("--file"));
    lines
}

#[test]
fn every_view_gives_the_same_bytes_with_the_index_and_without() {
    let history = History::new(30);
    let desk = Desk::new(history.home.path());
    desk.index();
    same("indexed", &desk, &shapes());
}

#[test]
fn bytes_stay_the_same_while_transcripts_grow_are_rewritten_and_deleted() {
    let mut history = History::new(24);
    let desk = Desk::new(history.home.path());
    desk.index();

    // Half of the files are as they were; some have grown, some are new, one is a copy of an old one.
    for n in [0, 1, 3, 8, 12] {
        history.grow(n);
    }
    let call = history.growing[2].session.call("Bash", json!({"command": "pending"}));
    history.growing[2].flush();
    history.session();
    history.fork(4);
    same("half of it new", &desk, VIEWS);
    history.growing[2].session.result(&call, "it ended", json!({"stdout": "it ended"}));
    history.growing[2].flush();
    same("a call ended that was pending", &desk, VIEWS);
    desk.index();
    same("indexed again", &desk, VIEWS);

    // Other words under the same ids; shorter; no longer what it was.
    let rewrite = |n: usize, change: &dyn Fn(String) -> String| {
        let path = &history.growing[n].path;
        fs::write(path, change(fs::read_to_string(path).unwrap())).unwrap();
    };
    rewrite(0, &|text| text.replace("Please look", "Please gaze"));
    rewrite(5, &|text| text.lines().take(3).map(|line| format!("{line}\n")).collect());
    let mut other = Session::new("0badcafe-0000-4000-8000-000000000000", ALPHA, "2026-03-20T10:00:00Z");
    other.prompt("Another text in its place").failed("Bash", json!({"command": "x"}), "Exit code 3");
    rewrite(6, &|_| other.text());
    let path = history.home.path().join(".gemini/tmp/proj/chats/session-2026-04-02T10-00-00000000.json");
    put(&path, gemini(0, "rewritten").to_string().as_bytes());
    same("rewritten", &desk, VIEWS);
    desk.index();
    same("rewritten and indexed", &desk, VIEWS);

    // The agents delete: an original whose fork stays, a fork, a file of one JSON text, a rollout.
    let codex = crate::desk::files(&history.home.path().join(".codex"));
    for path in
        [&history.growing[0].path, &history.growing[1].path, &history.growing[9].path, &path, &codex[0]]
    {
        fs::remove_file(path).unwrap();
    }
    same("deleted", &desk, VIEWS);
    let before: Vec<_> = VIEWS.iter().map(|line| viewed(&desk, line)).collect();
    desk.index();
    same("deleted and indexed", &desk, VIEWS);
    let after: Vec<_> = VIEWS.iter().map(|line| viewed(&desk, line)).collect();
    assert_same("the archive, before and after indexing", &before, &after);
}

#[test]
fn recorded_histories_of_every_agent_give_the_same_bytes() {
    for (client, version) in corpus::stores() {
        let Some(home) = corpus::Home::of(&client, &version) else { return };
        let desk = Desk::new(home.path());
        // opencode keeps its history where Loci keeps its own.
        let data = home.path().join(".local/share/opencode");
        if data.exists() {
            std::os::unix::fs::symlink(data, desk.data.join("opencode")).unwrap();
        }
        desk.run("index").expect(0);
        assert!(desk.run("stats --all-projects").stdout.len() > 10);
        same(&format!("{client} {version}"), &desk, VIEWS);
    }
}
