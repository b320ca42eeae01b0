//! The index makes views faster and changes nothing else: each view prints the same bytes with it and with an empty
//! cache, however the transcripts have changed since indexing.

use crate::history::{History, gemini_transcript};
use crate::instance::{Instance, VIEWS, assert_same, run_view};
use serde_json::json;
use std::fs;
use testutil::corpus::{SYNTHETIC_AGENTS, recorded_stores};
use testutil::{ALPHA, Home, Session, write_file};

#[track_caller]
fn assert_same_without_cache<L: AsRef<str>>(label: &str, instance: &Instance, lines: &[L]) {
    let empty = instance.with_empty_cache();
    for line in lines {
        let indexed = run_view(instance, line.as_ref());
        assert_same(label, &[indexed], &[run_view(&empty, line.as_ref())]);
    }
}

/// Command lines of every view with many kinds of parameters.
fn command_lines() -> Vec<String> {
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
    let history = History::damaged(30);
    let instance = Instance::new(history.home.path());
    instance.index_damaged();
    assert_same_without_cache("indexed", &instance, &command_lines());
}

#[test]
fn bytes_stay_the_same_while_transcripts_grow_are_rewritten_and_deleted() {
    let mut history = History::damaged(24);
    let instance = Instance::new(history.home.path());
    instance.index_damaged();

    // Half of the files are unchanged; some have grown, one is new, one is a fork of an old one.
    for n in [0, 1, 3, 8, 12] {
        history.grow_session(n);
    }
    let call = history.growing[2].session.call("Bash", json!({"command": "pending"}));
    history.growing[2].flush();
    history.add_session();
    history.add_fork(4);
    assert_same_without_cache("some files changed", &instance, VIEWS);
    history.growing[2].session.result(&call, "it ended", json!({"stdout": "it ended"}));
    history.growing[2].flush();
    assert_same_without_cache("a pending call completed", &instance, VIEWS);
    instance.index_damaged();
    assert_same_without_cache("indexed again", &instance, VIEWS);

    // Other text under the same IDs; a shorter file; another session in the same file.
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
    write_file(&path, gemini_transcript(0, "rewritten").to_string().as_bytes());
    assert_same_without_cache("rewritten", &instance, VIEWS);
    instance.index_shortened();
    assert_same_without_cache("rewritten and indexed", &instance, VIEWS);

    // Agents delete: an original whose fork remains, a fork, a file with a single JSON document, a rollout.
    let codex = crate::instance::list_files(&history.home.path().join(".codex"));
    for path in
        [&history.growing[0].path, &history.growing[1].path, &history.growing[9].path, &path, &codex[0]]
    {
        fs::remove_file(path).unwrap();
    }
    assert_same_without_cache("deleted", &instance, VIEWS);
    let before: Vec<_> = VIEWS.iter().map(|line| run_view(&instance, line)).collect();
    instance.index_damaged();
    assert_same_without_cache("deleted and indexed", &instance, VIEWS);
    let after: Vec<_> = VIEWS.iter().map(|line| run_view(&instance, line)).collect();
    assert_same("the archive, before and after indexing", &before, &after);
}

/// Indexes a home and compares every view with and without the index.
fn assert_same_with_index(label: &str, home: &Home) {
    let instance = Instance::new(home.path());
    // OpenCode and ChatWise store their history in the directory in which Loci stores its data.
    for own in ["opencode", "app.chatwise"] {
        let data = home.path().join(".local/share").join(own);
        if data.exists() {
            std::os::unix::fs::symlink(data, instance.data.join(own)).unwrap();
        }
    }
    instance.index_damaged();
    assert!(instance.run("stats --all-projects").stdout.len() > 10, "{label}");
    assert_same_without_cache(label, &instance, VIEWS);
}

#[test]
fn synthetic_histories_of_every_agent_give_the_same_bytes() {
    for agent in SYNTHETIC_AGENTS {
        assert_same_with_index(agent, &Home::of_synthetic(agent));
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn recorded_histories_of_every_agent_give_the_same_bytes() {
    for (client, version) in recorded_stores() {
        assert_same_with_index(&format!("{client} {version}"), &Home::of_recorded(&client, &version));
    }
}
