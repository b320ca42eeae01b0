//! Unreadable files, read-only homes, closed pipes, escape sequences, a missing or empty home, help texts and full
//! disks.

use api::VIEWS;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use testutil::needs::{self, OtherUser};
use testutil::{
    ALPHA, Finished, Home, Session, binary, command, run_command, run_line, run_loci, sample_home,
    set_environment, wait_for_exit,
};

/// Runs as a user to whom file modes apply: the current user, or another one if that is root.
fn run_bound_by_modes(home: &Home, args: &[&str]) -> Finished {
    if needs::is_root() { run_command(OtherUser::new().loci(home, args)) } else { run_loci(home, args) }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn home_with_two_sessions() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    for n in 1..=2 {
        let mut session =
            Session::new(&format!("aaaa{n}111-0000-4000-8000-000000000001"), ALPHA, "2026-03-01T10:00:00Z");
        session.prompt(&format!("prompt {n}")).did("Bash", json!({"command": "ls"}), "x").reply(&["done"]);
        home.add(&session);
    }
    let second = home.project_folder(ALPHA).join("aaaa2111-0000-4000-8000-000000000001.jsonl");
    (home, second)
}

#[test]
fn an_unreadable_file_is_reported_and_the_rest_is_returned() {
    let (home, second) = home_with_two_sessions();
    set_mode(&second, 0);
    let output = run_bound_by_modes(&home, &["query", "user-messages", "--all-projects", "--fields", "text"])
        .expect(3);
    assert_eq!(output.all("text"), ["prompt 1"]);
    assert!(
        output.stderr.contains("could not be read") && output.stderr.contains("--problems"),
        "{}",
        output.stderr
    );
    let problems = run_bound_by_modes(&home, &["sources", "--problems"]).expect(3);
    assert_eq!(problems.all("problem"), ["unreadable"]);
    assert!(problems.text().contains("aaaa2111"), "{}", problems.text());
}

#[test]
fn an_unreadable_folder_is_reported_and_the_rest_is_returned() {
    let (home, _) = home_with_two_sessions();
    let closed = home.path().join(".claude/projects/-srv-demo-closed");
    fs::create_dir(&closed).unwrap();
    set_mode(&closed, 0);
    let output = run_bound_by_modes(&home, &["query", "user-messages", "--all-projects", "--fields", "text"]);
    set_mode(&closed, 0o755);
    assert_eq!(output.expect(3).all("text"), ["prompt 2", "prompt 1"]);
}

#[test]
fn views_write_nothing_to_the_home_directory() {
    let (home, _) = home_with_two_sessions();
    let expected = run_loci(&home, &["query", "tools", "--all-projects"]).expect(0);
    let listing = || {
        let found = Command::new("find").arg(home.path()).args(["-printf", "%p %s %T@\n"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap()
    };
    let before = listing();
    for view in VIEWS {
        run_line(&home, &view.title());
    }
    assert_eq!(listing(), before);
    set_mode(home.path(), 0o555);
    let output = run_bound_by_modes(&home, &["query", "tools", "--all-projects"]);
    set_mode(home.path(), 0o755);
    assert!(output.expect(0).stdout == expected.stdout);
}

#[test]
fn concurrent_runs_give_the_same_output() {
    let home = sample_home();
    let line = "query tools --all-projects --jq .tool";
    let alone = run_line(&home, line).stdout;
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| run_line(&home, line).stdout)).collect();
        runs.into_iter().for_each(|run| assert_eq!(run.join().unwrap(), alone));
    });
}

// ---- standard output

fn long_home() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    for n in 0..2000 {
        session.prompt(&format!("prompt {n}")).did("Bash", json!({"command": "x".repeat(300)}), "y");
    }
    home.add(&session);
    home
}

/// `| head -1`
#[test]
fn a_closed_pipe_is_not_an_error() {
    let home = long_home();
    for view in VIEWS {
        for format in ["jsonl", "tsv", "text"] {
            let title = view.title();
            let mut args: Vec<&str> = title.split(' ').chain(["-o", format]).collect();
            args.extend(view.accepts_param("all_projects").then_some("--all-projects"));
            let mut child =
                command(home.path(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let (mut out, mut line) = (BufReader::new(child.stdout.take().unwrap()), String::new());
            out.read_line(&mut line).unwrap();
            drop(out);
            let code = wait_for_exit(&mut child, Duration::from_secs(30)).expect("timed out");
            let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
            let no_results = code == Some(2) && line.lines().count() <= 1;
            assert!(no_results || (code == Some(0) && stderr.is_empty()), "{args:?}: {code:?} {stderr}");
        }
    }
}

#[test]
fn help_into_a_closed_pipe_is_not_an_error() {
    let home = Home::new();
    let mut child =
        command(home.path(), &["--help"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(wait_for_exit(&mut child, Duration::from_secs(30)), Some(Some(0)));
    assert_eq!(std::io::read_to_string(child.stderr.take().unwrap()).unwrap(), "");
}

/// Output to a pipe contains no colours and no escape sequences from transcripts, in any format.
#[test]
fn piped_output_contains_no_escape_codes() {
    let home = sample_home();
    let mut session = Session::new("dddd1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    let evil = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u{9b}31m";
    session.prompt(evil).did("Bash", json!({"command": evil}), evil).failed(
        evil,
        json!({"file_path": evil}),
        evil,
    );
    home.add(session.reply(&[evil]));
    for view in VIEWS {
        for format in ["jsonl", "text"] {
            for variable in [None, Some("NO_COLOR"), Some("CLICOLOR_FORCE")] {
                let title = view.title();
                let mut args: Vec<&str> = title.split(' ').chain(["-o", format]).collect();
                args.extend(view.accepts_param("all_projects").then_some("--all-projects"));
                let mut command = command(home.path(), &args);
                variable.map(|name| command.env(name, "1"));
                let done = run_command(command);
                let output = [done.text(), &done.stderr].concat();
                assert!(!output.contains('\x1b'), "{args:?} {variable:?}: {output:.300}");
                assert!(format == "jsonl" || !output.contains('\u{9b}'), "{args:?}");
            }
        }
    }
    for args in [&["--help"][..], &["query", "tools", "--help"], &["query", "tools", "--nope"]] {
        let done = run_loci(&home, args);
        assert!(![done.text(), &done.stderr].concat().contains('\x1b'), "{args:?}");
    }
}

// ---- messages and help

/// Without `HOME`, the working directory is not used in its place.
#[test]
fn a_missing_home_variable_is_reported() {
    let home = Home::new();
    home.add(
        Session::new("aaaa0000-0000-4000-8000-00000000000f", "/p", "2026-03-01T10:00:00Z").prompt("here"),
    );
    for set in [None, Some("")] {
        let mut command = command(home.path(), &["query", "user-messages", "--all-projects"]);
        command.env_remove("HOME").current_dir(home.path());
        if let Some(set) = set {
            command.env("HOME", set);
        }
        let done = run_command(command).expect(2);
        assert!(done.stderr.contains("HOME is not set"), "{}", done.stderr);
    }
}

#[test]
fn an_empty_home_lists_the_searched_sources() {
    let home = Home::new();
    for view in VIEWS.iter().filter(|v| v.name != "sources") {
        for more in ["", " --all-projects", " -o text"] {
            let done = run_line(&home, &(view.title() + more)).expect(2);
            for word in [
                "no agent history found",
                "claude-code",
                "codex",
                "gemini-cli",
                "opencode",
                "`loci sources` lists the places",
            ] {
                assert!(done.stderr.contains(word), "{}: {word}: {}", view.title(), done.stderr);
            }
        }
    }
    let sources = run_line(&home, "sources");
    let names = sources.all("source");
    assert!(names.len() > 5 && names.iter().any(|name| *name == "qwen"), "{names:?}");
    assert!(sources.all("found").iter().all(|found| *found == false));
}

#[test]
fn every_help_has_an_example() {
    let home = Home::new();
    let groups = ["", "query", "analyze"].map(String::from);
    for title in VIEWS.iter().map(api::View::title).chain(groups) {
        let help = run_line(&home, &format!("{title} --help")).expect(0);
        let example = help.lines().iter().any(|line| line.trim_start().starts_with("loci "));
        assert!(example, "`loci {title} --help` shows no example:\n{}", help.text());
    }
}

// ---- a full disk

/// Adds more calls than are sorted in memory.
fn add_many_calls(home: &Home) {
    let (mut text, cwd) = (String::new(), ALPHA);
    for n in 0..130_000 {
        text += &format!(
            "{{\"type\":\"assistant\",\"uuid\":\"u{n}\",\"timestamp\":\"2026-03-01T10:00:00Z\",\"cwd\":\"{cwd}\",\"message\":{{\"id\":\"m{n}\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{n}\",\"name\":\"Bash\",\"input\":{{}}}}]}}}}\n"
        );
    }
    home.add_bytes(
        &Session::new("aaaa1111-0000-4000-8000-000000000001", cwd, "2026-03-01T10:00:00Z"),
        text.as_bytes(),
    );
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_disk_is_a_typed_error() {
    needs::mount_namespace();
    let home = Home::new();
    add_many_calls(&home);
    let expected = run_loci(&home, &["stats", "--all-projects"]).expect(0);
    assert_eq!(expected.all("tool_calls"), [130_000]);
    let (small, loci) = (home.path().join("small"), binary());
    fs::create_dir(&small).unwrap();
    for size in ["1m", "64k"] {
        for format in ["jsonl", "tsv"] {
            let script = format!(
                "mount -t tmpfs -o size={size} tmpfs '{}' && exec '{loci}' stats --all-projects -o {format}",
                small.display()
            );
            let mut command = Command::new("unshare");
            set_environment(&mut command, home.path());
            command.env("TMPDIR", &small).args(["-Urm", "sh", "-c", &script]);
            let done = run_command(command).expect(1);
            assert!(done.text().contains("READ_ERROR"), "{}", done.text());
            assert!(
                done.stderr.contains("temporary file") && done.stderr.contains("space"),
                "{}",
                done.stderr
            );
        }
    }
    let mut without_tmpdir = command(home.path(), &["stats", "--all-projects"]);
    let done = run_command({
        without_tmpdir.env("TMPDIR", "/nonexistent");
        without_tmpdir
    })
    .expect(1);
    assert_eq!(done.records()[0]["code"], "READ_ERROR");
}

#[test]
fn a_home_that_is_not_utf8_causes_no_panic() {
    use std::os::unix::ffi::OsStrExt;
    let parent = tempfile::tempdir().unwrap();
    let home = parent.path().join(std::ffi::OsStr::from_bytes(b"h\xff\xfe"));
    fs::create_dir(&home).unwrap();
    for line in [
        "daemon status --json",
        "daemon install --dry-run --json",
        "status --json",
        "doctor --json",
        "index",
        "sources",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let done = run_command(command(&home, &words));
        assert!(matches!(done.code, Some(0..=3)), "{line}: {:?} {}", done.code, done.stderr);
        assert!(!done.stderr.contains("panicked"), "{line}: {}", done.stderr);
    }
}
