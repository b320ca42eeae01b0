//! The same input gives the same bytes in every run and with any number of threads.

use api::{VIEWS, View};
use serde_json::json;
use testutil::{ALPHA, BETA, Home, Rollout, Session, command, run_command, run_line};

/// About two hundred files that make ordering hard: equal timestamps, forks, copies under other names.
fn home_with_ordering_conflicts() -> Home {
    let home = Home::new();
    for n in 0..100 {
        // Ten sessions share each start time.
        let start = format!("2026-03-01T10:{:02}:00Z", n / 10);
        let cwd = if n % 3 == 0 { ALPHA } else { BETA };
        let mut session = Session::new(&format!("{n:08}-0000-4000-8000-000000000000"), cwd, &start);
        session.prompt("The same words in every session").reply(&["Yes.", "And more."]);
        for call in 0..3 {
            session.did("Read", json!({"file_path": format!("/srv/demo/{}.rs", call + n % 2)}), "text");
            let edit =
                json!({"file_path": "/srv/demo/one.rs", "old_string": "a", "new_string": format!("b{call}")});
            session.did("Edit", edit, "edited");
        }
        session.failed("Bash", json!({"command": "make"}), &format!("Exit code 2\nmake: error {n}"));
        session.wait_minutes(6).prompt("on").api_error("overloaded").reply(&["Done."]);
        home.add(&session);
        if n % 2 == 0 {
            home.add(&fork(&session, n));
        }
        if n % 4 == 0 {
            let mut copy = session.clone();
            copy.id = format!("{n:08}-1111-4000-8000-000000000000");
            home.add(&copy);
            home.add(
                &session.subagent(&format!("ace{n}")).prompt("look").did("Glob", json!({}), "x").clone(),
            );
        }
    }
    let mut codex = Rollout::new("cccc1111-0000-4000-8000-000000000004", ALPHA, "2026-03-01T10:00:00Z");
    codex.prompt("Codex too").did("call_1", "ls", 0).did("call_2", "false", 1).reply("Listed.");
    home.add_codex(&codex);
    home
}

/// The session continues in a new file that repeats its history under a new session ID.
fn fork(session: &Session, n: usize) -> Session {
    let mut fork = session.clone();
    let id = format!("{n:08}-2222-4000-8000-000000000000");
    fork.lines = session
        .lines
        .iter()
        .map(|line| {
            line.replace(&format!("\"sessionId\":\"{}\"", session.id), &format!("\"sessionId\":\"{id}\""))
        })
        .collect();
    fork.id = id;
    fork.prompt("A fork of the conversation").reply(&["It forks."]);
    fork
}

/// Command lines of a view whose output order could vary.
fn command_lines(view: &View) -> Vec<String> {
    let all = if view.accepts_param("all_projects") { "--all-projects" } else { "" };
    let base = format!("{} {all}", view.title());
    match view.name {
        "usage" => vec![base.clone(), format!("{base} --explain"), format!("{base} --by session --reverse")],
        "sources" => vec![base.clone(), format!("{base} --problems")],
        "stats" => vec![base.clone(), format!("{base} --by session")],
        "sequences" | "file-churn" => vec![format!("{base} --min-count 1")],
        _ => vec![base.clone(), format!("{base} --reverse -o tsv")],
    }
}

#[test]
fn thread_count_and_repetition_do_not_change_the_output() {
    let home = home_with_ordering_conflicts();
    for line in VIEWS.iter().flat_map(command_lines) {
        let first = run_line(&home, &line);
        assert!(matches!(first.code, Some(0 | 2)), "{line}: {:?} {}", first.code, first.stderr);
        assert!(line.contains("--problems") || !first.stdout.is_empty(), "{line}");
        for added in ["", "--threads 1", "--threads 2", "--threads 7"] {
            let again = run_line(&home, &format!("{line} {added}"));
            assert!(again.stdout == first.stdout, "{line} {added} differs");
            assert_eq!((again.code, &again.stderr), (first.code, &first.stderr), "{line} {added}");
        }
    }
}

#[test]
fn loci_threads_does_not_change_the_output() {
    let home = home_with_ordering_conflicts();
    let first = run_line(&home, "query tools --all-projects");
    let mut command = command(home.path(), &["query", "tools", "--all-projects"]);
    command.env("LOCI_THREADS", "5");
    assert_eq!(run_command(command).stdout, first.stdout);
}

/// A fork or copy adds only its new records.
#[test]
fn copies_are_counted_once() {
    let home = home_with_ordering_conflicts();
    let stats = &run_line(&home, "stats --all-projects").expect(0).records()[0];
    // 7 calls in each of 100 sessions, one in each of 25 subagents, two in the Codex session.
    assert_eq!(stats["tool_calls"], 100 * 7 + 25 + 2);
    let prompts = run_line(&home, "query user-messages --all-projects --fields text").expect(0);
    let forks = prompts.lines().iter().filter(|line| line.contains("A fork")).count();
    assert_eq!((prompts.lines().len(), forks), (2 * 100 + 50 + 1, 50));
}
