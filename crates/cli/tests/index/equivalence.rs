//! The index makes questions over records faster and nothing else: each gives the same bytes with it and with an
//! empty cache, whatever has happened to the transcripts since it was made.

use crate::history::{History, gemini};
use crate::instance::{Instance, VIEWS, assert_same, viewed};
use serde_json::json;
use std::fs;
use testutil::corpus::{SYNTHETIC, recorded_stores};
use testutil::{ALPHA, Home, Session, write_file};

#[track_caller]
fn same<L: AsRef<str>>(about: &str, instance: &Instance, lines: &[L]) {
    let empty = instance.with_empty_cache();
    for line in lines {
        let with = viewed(instance, line.as_ref());
        assert_same(about, &[with], &[viewed(&empty, line.as_ref())]);
    }
}

/// Every view with parameters of many kinds.
fn shapes() -> Vec<String> {
    let mut lines: Vec<String> = VIEWS.iter().map(ToString::to_string).collect();
    for view in api::VIEWS {
        let title = view.title();
        if !view.accepts_param("all_projects") {
            lines.push(title);
            continue;
        }
        lines.push(format!("{title} --all-projects --reverse -o tsv --limit 7 --offset 2"));
        lines.push(format!("{title} --project {ALPHA} --since 2026-03-01T01:00:00Z --until 2026-04-01"));
        lines.push(format!("{title} --session 00000000-0 --source claude-code"));
        if view.accepts_param("pattern") {
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
    let instance = Instance::new(history.home.path());
    instance.index();
    same("indexed", &instance, &shapes());
}

#[test]
fn bytes_stay_the_same_while_transcripts_grow_are_rewritten_and_deleted() {
    let mut history = History::new(24);
    let instance = Instance::new(history.home.path());
    instance.index();

    // Half of the files are as they were; some have grown, some are new, one is a copy of an old one.
    for n in [0, 1, 3, 8, 12] {
        history.grow(n);
    }
    let call = history.growing[2].session.call("Bash", json!({"command": "pending"}));
    history.growing[2].flush();
    history.session();
    history.fork(4);
    same("half of it new", &instance, VIEWS);
    history.growing[2].session.result(&call, "it ended", json!({"stdout": "it ended"}));
    history.growing[2].flush();
    same("a call ended that was pending", &instance, VIEWS);
    instance.index();
    same("indexed again", &instance, VIEWS);

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
    write_file(&path, gemini(0, "rewritten").to_string().as_bytes());
    same("rewritten", &instance, VIEWS);
    instance.index();
    same("rewritten and indexed", &instance, VIEWS);

    // The agents delete: an original whose fork stays, a fork, a file of one JSON text, a rollout.
    let codex = crate::instance::files(&history.home.path().join(".codex"));
    for path in
        [&history.growing[0].path, &history.growing[1].path, &history.growing[9].path, &path, &codex[0]]
    {
        fs::remove_file(path).unwrap();
    }
    same("deleted", &instance, VIEWS);
    let before: Vec<_> = VIEWS.iter().map(|line| viewed(&instance, line)).collect();
    instance.index();
    same("deleted and indexed", &instance, VIEWS);
    let after: Vec<_> = VIEWS.iter().map(|line| viewed(&instance, line)).collect();
    assert_same("the archive, before and after indexing", &before, &after);
}

/// Indexes a home and compares every view with and without the index.
fn same_with_an_index(about: &str, home: &Home) {
    let instance = Instance::new(home.path());
    // OpenCode and ChatWise store their history where Loci stores its own.
    for own in ["opencode", "app.chatwise"] {
        let data = home.path().join(".local/share").join(own);
        if data.exists() {
            std::os::unix::fs::symlink(data, instance.data.join(own)).unwrap();
        }
    }
    instance.run("index").expect(0);
    assert!(instance.run("stats --all-projects").stdout.len() > 10, "{about}");
    same(about, &instance, VIEWS);
}

#[test]
fn synthetic_histories_of_every_agent_give_the_same_bytes() {
    for agent in SYNTHETIC {
        same_with_an_index(agent, &Home::of_synthetic(agent));
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn recorded_histories_of_every_agent_give_the_same_bytes() {
    for (client, version) in recorded_stores() {
        same_with_an_index(&format!("{client} {version}"), &Home::of_recorded(&client, &version));
    }
}
