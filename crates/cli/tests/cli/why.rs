//! `loci why`: the sessions behind a symbol, lines and a commit, with their evidence.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testutil::{Home, McpClient, Session, command, git, run_command};

const FIRST: &str = "aaaa1111-0000-4000-8000-000000000001";
const SECOND: &str = "bbbb2222-0000-4000-8000-000000000002";
const THIRD: &str = "cccc3333-0000-4000-8000-000000000003";

const STORE: &str = "class Store:\n    def __init__(self, client):\n        self.client = client\n        self.items = []\n\n    \
def flush(self):\n        self.client.send_batch(self.items)\n        self.items.clear()\n\n    \
def count(self):\n        return len(self.items)\n";
const ONCE: &str = "        self.client.send_batch(self.items)\n";
const THRICE: &str = "        for attempt in range(3):\n            self.client.send_batch(self.items)\n";
const TWICE: &str =
    "        if not self.client.send_batch(self.items):\n            self.client.send_batch(self.items)\n";

fn commit(folder: &Path, date: &str, subject: &str, text: &str) -> String {
    std::fs::write(folder.join("src/store.py"), text).unwrap();
    git(folder, date, &["add", "src"]);
    git(folder, date, &["commit", "-q", "-m", subject]);
    git(folder, date, &["rev-parse", "HEAD"])
}

/// A repository that two sessions and a person made: the first session writes a class, the second makes a method retry, after an
/// attempt that failed, and commits, and the person adds a method.
fn home_with_history() -> (Home, PathBuf, [String; 3]) {
    let home = Home::new();
    let root = home.path().join("shop");
    std::fs::create_dir_all(root.join("src")).unwrap();
    git(&root, "2026-02-01T08:00:00Z", &["init", "-q", "-b", "main"]);
    let file = root.join("src/store.py");
    let (cwd, path) = (root.to_str().unwrap(), file.to_str().unwrap());

    let mut first = Session::new(FIRST, cwd, "2026-02-01T09:00:00Z");
    first.prompt("write a store that sends its items in batches").reply(&["A list is enough."]);
    first.did("Write", json!({"file_path": path, "content": STORE}), "created");
    first.did("Bash", json!({"command": "python -m pytest -q"}), "1 passed");
    home.add(&first);
    let one = commit(&root, "2026-02-01T10:00:00Z", "Add a store", STORE);

    let two_text = STORE.replace(ONCE, TWICE);
    let two = commit(&root, "2026-02-03T10:00:00Z", "Retry once", &two_text);
    let mut second = Session::new(SECOND, cwd, "2026-02-03T09:00:00Z");
    let edit = |old: &str, new: &str| json!({"file_path": path, "old_string": old, "new_string": new});
    second.prompt("the sandbox drops the first connection, make flush retry");
    second.did("Edit", edit(ONCE, THRICE), "edited");
    second.failed("Bash", json!({"command": "python -m pytest -q"}), "Exit code 1\n1 failed");
    second.reply(&["It sent everything three times, so I retry only after a failure."]);
    second.did("Edit", edit(THRICE, ONCE), "edited");
    second.did("Edit", edit(ONCE, TWICE), "edited");
    second.did("Bash", json!({"command": "python -m pytest -q"}), "1 passed");
    let output = format!("[main {}] Retry once", &two[..7]);
    second.did("Bash", json!({"command": "git commit -am 'Retry once'"}), &output);
    home.add(&second);

    let three_text =
        format!("{two_text}\n    def is_idle(self):\n        return self.client.pending_requests() == 0\n");
    let three = commit(&root, "2026-02-05T10:00:00Z", "Tell whether it is idle", &three_text);
    (home, root, [one, two, three])
}

fn why(home: &Home, root: &Path, args: &[&str], code: i32) -> Value {
    let mut run = command(home.path(), &[&["why"], args].concat());
    run.current_dir(root);
    run_command(run).expect(code).records().remove(0)
}

fn texts<'a>(found: &'a Value, field: &str) -> Vec<&'a str> {
    found["steps"].as_array().unwrap().iter().map(|step| step[field].as_str().unwrap_or_default()).collect()
}

#[test]
fn a_symbol_is_explained_by_its_chain() {
    let (home, root, [one, two, _]) = home_with_history();
    for _ in 0..2 {
        let found = why(&home, &root, &["Store.flush"], 0);
        assert_eq!(texts(&found, "session_id"), [FIRST, SECOND, SECOND], "{found:#}");
        assert_eq!(texts(&found, "evidence"), ["likely", "textual", "attested"]);
        let steps = found["steps"].as_array().unwrap();
        assert_eq!((&steps[0]["commit"]["hash"], &steps[2]["commit"]["hash"]), (&json!(one), &json!(two)));
        assert_eq!(steps[0]["outcome"]["status"], "success");
        assert_eq!((&steps[1]["undone"], &steps[1]["outcome"]["status"]), (&json!(true), &json!("error")));
        assert_eq!(steps[2]["prompt"], "the sandbox drops the first connection, make flush retry");
        assert_eq!(steps[2]["reasoning"], "It sent everything three times, so I retry only after a failure.");
        assert!(
            steps[2]["diff"].as_str().unwrap().contains("+        if not self.client.send_batch"),
            "{steps:#?}"
        );
        assert_eq!((&found["lines"], &found["explained"]), (&json!(4), &json!(4)));
        let summary = found["summary"].as_str().unwrap();
        assert!(
            summary.contains("sandbox drops") && summary.contains("passed afterwards; unchanged since"),
            "{summary}"
        );
        // The second time from the index.
        run_command(command(home.path(), &["index"])).expect(0);
    }
}

fn edits(home: &Home, root: &Path, args: &[&str]) -> Vec<Value> {
    let mut run = command(home.path(), &[&["query", "edits"], args].concat());
    run.current_dir(root);
    run_command(run).records()
}

#[test]
fn edits_are_listed_with_their_symbols_and_what_became_of_them() {
    let (home, root, [_, two, _]) = home_with_history();
    let found = edits(&home, &root, &[]);
    let field = |name: &str| found.iter().map(|it| it[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("status"), ["current", "replaced", "replaced", "replaced"], "{found:#?}");
    assert_eq!(field("session_id"), [SECOND, SECOND, SECOND, FIRST]);
    assert_eq!(found[0]["symbols"], json!([{"name": "Store.flush", "change_class": "PublicBehavior"}]));
    assert_eq!(
        (&found[0]["lines_added"], &found[0]["lines_removed"]),
        (&json!(1), &json!(0)),
        "indentation is no change"
    );
    assert_eq!(found[0]["outcome"], json!({"command": "python -m pytest -q", "status": "success"}));
    assert_eq!(found[2]["outcome"]["status"], "error", "the first attempt");
    assert_eq!((&found[0]["commit"], &found[3]["commit"]), (&json!(two[..7]), &Value::Null));
    assert_eq!(found[0]["file"], json!(root.join("src/store.py")));
    let reversed = edits(&home, &root, &["--reverse"]);
    assert_eq!((&reversed[0], reversed.len()), (&found[3], 4));
    assert_eq!(edits(&home, &root, &["--tool", "write"]).len(), 1);
    assert_eq!(edits(&home, &root, &["--pattern", "range\\(3\\)"]).len(), 2);
    assert_eq!(edits(&home, &root, &["--file", "src/store.py"]).len(), 4);
    assert_eq!(edits(&home, &root, &["--file", "other.py"]).len(), 0);
    std::fs::remove_file(root.join("src/store.py")).unwrap();
    assert_eq!(edits(&home, &root, &["--limit", "1"])[0]["status"], "missing");
    std::os::unix::fs::symlink("/dev/zero", root.join("src/store.py")).unwrap();
    assert_eq!(edits(&home, &root, &["--limit", "1"])[0]["status"], "missing", "a device has no end");
}

#[test]
fn work_that_was_done_twice_is_found_with_its_evidence() {
    let home = Home::new();
    let root = home.path().join("shop");
    std::fs::create_dir_all(&root).unwrap();
    let (cwd, path) = (root.to_str().unwrap(), root.join("a.py"));
    let path = path.to_str().unwrap();
    let edit =
        |file: &str, old: &str, new: &str| json!({"file_path": file, "old_string": old, "new_string": new});
    let test = || json!({"command": "python -m pytest -q"});
    let mut session = Session::new(FIRST, cwd, "2026-02-01T09:00:00Z");
    session.prompt("make it faster");
    session.did("Read", json!({"file_path": path}), "x = 1");
    session.did("Bash", test(), "1 passed");
    session.did("Read", json!({"file_path": path}), "x = 1"); // again, unchanged
    session.did("Read", json!({"file_path": path, "offset": 50}), "y = 1"); // another part
    session.did("Edit", edit(path, "x = 1", "x = 2"), "edited"); // breaks the test
    session.failed("Bash", test(), "Exit code 1\n1 failed");
    session.did("Read", json!({"file_path": path}), "x = 2"); // changed since
    session.did("Edit", edit(path, "y = 1", "y = 2"), "edited"); // does not mend it
    session.failed("Bash", test(), "Exit code 1\n1 failed");
    session.did("Edit", edit(path, "x = 2", "x = 1"), "edited"); // takes it back and mends the test
    session.did("Bash", test(), "1 passed");
    session.did("Bash", json!({"command": "cat b.py"}), "z = 1");
    session.did("Edit", edit("b.py", "z = 1", "z = 2"), "edited"); // seen by a command
    session.did("Edit", edit("c.py", "c = 1", "c = 2"), "edited"); // never seen
    session.did("Edit", edit("c.py", "c = 2", "c = 3"), "edited"); // known by now
    home.add(&session);
    let rework = |args: &[&str]| {
        let mut run = command(home.path(), &[&["analyze", "rework", "--reverse"], args].concat());
        run.current_dir(&root);
        run_command(run).records()
    };
    let found = rework(&[]);
    let kinds: Vec<&str> = found.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["repeated_read", "broke_check", "taken_back", "blind_edit"], "{found:#?}");
    assert_eq!(found[1]["mended_by"], found[2]["id"], "{found:#?}");
    assert_eq!(found[2]["earlier_id"], found[1]["id"]);
    assert_eq!(found[1]["command"], "python -m pytest -q");
    assert!(found[0]["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{}", found[0]);
    assert_eq!(found[3]["file"], json!(root.join("c.py")));
    assert_eq!(rework(&["--file", "c.py"]).len(), 1);
}

#[test]
fn what_no_session_wrote_is_unknown() {
    let (home, root, [.., three]) = home_with_history();
    let found = why(&home, &root, &["src/store.py:14-15"], 2);
    assert_eq!(texts(&found, "evidence"), ["unknown"], "{found:#}");
    assert_eq!((&found["lines"], &found["explained"]), (&json!(2), &json!(0)));
    assert!(found["summary"].as_str().unwrap().contains("unknown, no recorded session"));
    let commit = why(&home, &root, &[&three], 2);
    assert_eq!((&commit["explained"], &commit["commit"]["hash"]), (&json!(0), &json!(three)));
}

#[test]
fn a_commit_is_explained_by_its_session() {
    let (home, root, [one, two, _]) = home_with_history();
    let found = why(&home, &root, &[&two[..9]], 0);
    assert_eq!((texts(&found, "session_id"), texts(&found, "evidence")), (vec![SECOND], vec!["attested"]));
    assert_eq!(found["explained"], found["lines"], "{found:#}");
    let found = why(&home, &root, &[&one], 0);
    assert_eq!((texts(&found, "session_id"), texts(&found, "evidence")), (vec![FIRST], vec!["likely"]));
}

#[test]
fn lines_that_are_not_committed_are_explained() {
    let (home, root, _) = home_with_history();
    let file = root.join("src/store.py");
    let old = std::fs::read_to_string(&file).unwrap();
    let (before, after) =
        ("        return len(self.items)\n", "        return len(self.items) + self.client.unsent_items()\n");
    let mut third = Session::new(THIRD, root.to_str().unwrap(), "2026-02-07T09:00:00Z");
    third.prompt("count the unsent items too");
    let input = json!({"file_path": file.to_str().unwrap(), "old_string": before, "new_string": after});
    third.did("Edit", input, "edited");
    home.add(&third);
    std::fs::write(&file, old.replace(before, after)).unwrap();
    let found = why(&home, &root, &["Store.count"], 0);
    assert_eq!(texts(&found, "session_id"), [FIRST, THIRD], "{found:#}");
    assert_eq!(found["steps"][1].get("commit"), None);
    assert_eq!(found["explained"], found["lines"]);
}

#[test]
fn renames_and_formatters_do_not_break_the_chain() {
    let (home, root, _) = home_with_history();
    git(&root, "2026-02-06T10:00:00Z", &["mv", "src/store.py", "src/queue.py"]);
    git(&root, "2026-02-06T10:00:00Z", &["commit", "-q", "-m", "Rename"]);
    let file = root.join("src/queue.py");
    let text = std::fs::read_to_string(&file).unwrap().replace("        ", "\t\t").replace("    ", "\t");
    std::fs::write(&file, text).unwrap();
    git(&root, "2026-02-06T11:00:00Z", &["commit", "-q", "-am", "Use tabs"]);
    let found = why(&home, &root, &["src/queue.py:6-9"], 0);
    assert!(texts(&found, "session_id").contains(&SECOND), "{found:#}");
    assert_eq!(found["explained"], found["lines"], "{found:#}");
}

#[test]
fn every_parameter_is_honoured() {
    let (home, root, _) = home_with_history();
    let tight = why(&home, &root, &["Store.flush", "--budget", "200"], 0);
    assert_eq!((texts(&tight, "session_id"), &tight["omitted"]), (vec![SECOND], &json!(2)));
    let wide = why(&home, &root, &["Store.flush", "--budget", "5000"], 0);
    assert_eq!((texts(&wide, "session_id").len(), wide.get("omitted")), (3, None));
    let elsewhere = why(&home, home.path(), &["Store.flush", "--root", root.to_str().unwrap()], 0);
    assert_eq!(texts(&elsewhere, "session_id"), [FIRST, SECOND, SECOND]);
    for wrong in [&["Store.flush", "--budget", "1"][..], &["Store.gone"], &["src/store.py:900"]] {
        let mut run = command(home.path(), &[&["why"], wrong].concat());
        run.current_dir(&root);
        run_command(run).expect(1);
    }
}

#[test]
fn an_agent_gets_the_same_answer() {
    let (home, root, _) = home_with_history();
    let mut client = McpClient::new(home.path(), &[]);
    let found = client.call("why", json!({"target": "Store.flush", "root": root.to_str().unwrap()}));
    assert!(found.to_string().contains(SECOND), "{found:#}");
}

#[test]
fn secrets_in_an_edit_are_masked() {
    let (home, root, _) = home_with_history();
    let file = root.join("src/key.py");
    let secret = ["ghp_", "A1b2C3d4E5f6G7h8I9j0", "K1l2M3n4O5p6Q7r8"].concat();
    let text = format!("def load_token():\n    token = '{secret}'\n    return token\n");
    std::fs::write(&file, &text).unwrap();
    let mut third = Session::new(THIRD, root.to_str().unwrap(), "2026-02-07T09:00:00Z");
    third.prompt("load the token");
    third.did("Write", json!({"file_path": file.to_str().unwrap(), "content": text}), "created");
    home.add(&third);
    let found = why(&home, &root, &["src/key.py"], 0);
    assert_eq!((&found["lines"], &found["explained"]), (&json!(3), &json!(3)), "{found:#}");
    assert!(!found.to_string().contains(&secret), "{found:#}");
}

fn run_in(home: &Home, root: &Path, args: &[&str], code: i32) -> Value {
    let mut run = command(home.path(), args);
    run.current_dir(root);
    run_command(run).expect(code).records().remove(0)
}

#[test]
fn a_place_is_recalled_with_outline_facts_sessions_and_failures() {
    let (home, root, _) = home_with_history();
    let fact = ["memory", "add", "Store.flush must retry at most once", "--project", root.to_str().unwrap()];
    run_in(&home, &root, &fact, 0);
    let found = run_in(&home, &root, &["about", "Store.flush"], 0);
    assert!(found["outline"].as_str().unwrap().contains("flush"), "{found:#}");
    assert_eq!(found["facts"][0]["text"], "Store.flush must retry at most once", "{found:#}");
    assert_eq!(found["failed"][0]["undone"], true);
    assert_eq!(found["sessions"].as_array().unwrap().last().unwrap()["session_id"], SECOND);
    let other = run_in(&home, &root, &["about", "Store.count", "--budget", "200"], 0);
    assert_eq!((&other["facts"], other["sessions"].as_array().unwrap().len()), (&json!([]), 1), "{other:#}");
    let elsewhere = ["about", "src/store.py", "--root", root.to_str().unwrap()];
    assert_eq!(run_in(&home, home.path(), &elsewhere, 0)["file"], "src/store.py");
    run_in(&home, &root, &["about", "Store.flush", "--budget", "3"], 1);
}

#[test]
fn a_session_is_handed_over_with_task_files_and_open_failure() {
    let (home, root, _) = home_with_history();
    let mut third = Session::new(THIRD, root.to_str().unwrap(), "2026-02-07T09:00:00Z");
    third.prompt("count the unsent items too").prompt("and test it");
    let input = json!({"file_path": root.join("src/store.py").to_str().unwrap(), "old_string": "a", "new_string": "b"});
    third.did("Edit", input, "edited");
    third.failed("Bash", json!({"command": "python -m pytest -q"}), "Exit code 1\nassert 3 == 4");
    third.reply(&["One test fails."]);
    home.add(&third);
    let made = run_in(&home, &root, &["handoff", "cccc"], 0);
    assert_eq!((&made["session_id"], &made["task"]), (&json!(THIRD), &json!("count the unsent items too")));
    assert_eq!((&made["prompts"], &made["files"]), (&json!(["and test it"]), &json!(["src/store.py"])));
    assert_eq!(made["failed"]["command"], "python -m pytest -q");
    assert!(made["error"].as_str().unwrap().contains("assert 3 == 4"), "{made:#}");
    assert_eq!(made["last_reply"].as_str().or(made["lastReply"].as_str()), Some("One test fails."));
    assert!(made["command"].as_str().unwrap().contains("claude --resume cccc3333"), "{made:#}");
    let codex = run_in(&home, &root, &["handoff", "cccc", "--to", "codex"], 0);
    assert!(codex["command"].as_str().unwrap().ends_with("codex \"$(loci handoff cccc3333)\""), "{codex:#}");
    let mended = run_in(&home, &root, &["handoff", "bbbb"], 0);
    assert_eq!(mended.get("failed"), None, "the last test passed");
    run_in(&home, &root, &["handoff", "cccc", "--to", "nobody"], 1);
}

/// A repository that was unpacked from an archive brings its configuration with it.
#[test]
fn no_program_that_a_repository_names_is_run() {
    let (home, root, _) = home_with_history();
    let (mark, program) = (home.path().join("ran"), home.path().join("program"));
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let signed = "-----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
    let date = "2026-02-06T10:00:00Z";
    let tree = git(&root, date, &["write-tree"]);
    let parent = git(&root, date, &["rev-parse", "HEAD"]);
    let who = "a <a@example.org> 1770372000 +0000";
    let text =
        format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\ngpgsig {signed}\n\nsigned\n");
    std::fs::write(home.path().join("signed"), text).unwrap();
    let commit = home.path().join("signed");
    let commit = git(&root, date, &["hash-object", "-t", "commit", "-w", commit.to_str().unwrap()]);
    git(&root, date, &["update-ref", "HEAD", &commit]);
    std::fs::write(root.join(".git/info/attributes"), "*.py diff=odd filter=odd\n").unwrap();
    for name in [
        "gpg.program",
        "diff.odd.textconv",
        "diff.odd.command",
        "diff.external",
        "filter.odd.clean",
        "core.fsmonitor",
    ] {
        git(&root, date, &["config", name, program.to_str().unwrap()]);
    }
    git(&root, date, &["config", "log.showSignature", "true"]);
    let _ = std::fs::remove_file(&mark);
    let fact = ["memory", "add", "Store.flush must retry at most once", "--project", root.to_str().unwrap()];
    run_in(&home, &root, &fact, 0);
    for line in [
        &["why", "Store.flush"][..],
        &["why", &commit],
        &["about", "Store.flush"],
        &["code", "changes", "--since", "HEAD~1"],
    ] {
        let mut run = command(home.path(), line);
        run.current_dir(&root);
        run_command(run);
        assert!(!mark.exists(), "{line:?} ran a program of the repository");
    }
}

#[test]
fn a_step_on_another_device_names_it() {
    let (work, root, _) = home_with_history();
    let (bucket, laptop) = (Home::new(), Home::new());
    let type_line = |home: &Home, args: &[&str]| run_command(command(home.path(), args)).expect(0).records();
    let url = bucket.path().to_str().unwrap();
    let started = type_line(&work, &["sync", "init", "--show-phrase", url, "--label", "work"]).remove(0);
    type_line(&laptop, &["sync", "join", url, started["phrase"].as_str().unwrap(), "--label", "laptop"]);
    for home in [&work, &laptop] {
        type_line(home, &["sync", "now"]);
    }
    let found = why(&laptop, &root, &["Store.flush"], 0);
    assert_eq!(texts(&found, "device"), ["work"; 3], "{found:#}");
    assert_eq!(texts(&why(&work, &root, &["Store.flush"], 0), "device"), [""; 3]);
    let mut run = command(laptop.path(), &["why", "Store.flush", "-o", "text"]);
    run.current_dir(&root);
    assert!(run_command(run).expect(0).text().contains("on work"));
}

/// Gives a commit a note as git-ai writes it.
fn add_note(root: &Path, commit: &str, note: &str) {
    git(root, "2026-02-06T10:00:00Z", &["notes", "--ref=ai", "add", "-f", "-m", note, commit]);
}

#[test]
fn a_note_of_git_ai_names_the_session_of_each_line() {
    let (home, root, [one, _, three]) = home_with_history();
    let agent = json!({"agent_id": {"tool": "cursor", "id": "other-machine", "model": "m-1"},
        "messages": [{"type": "user", "text": "tell whether requests wait, key ghp_16C7e42F292c6912E7710c838347Ae178B4a"}]});
    let json = json!({"schema_version": "authorship/3.0.0", "prompts": {"4a60f5ac951ddc7b": agent}});
    add_note(
        &root,
        &three,
        &format!("src/store.py\n  4a60f5ac951ddc7b 14\n  h_5e32efc4aad69a 15\n---\n{json}"),
    );
    let found = why(&home, &root, &["src/store.py:14-15"], 0);
    assert_eq!(texts(&found, "evidence"), ["attested"], "{found:#}");
    let step = &found["steps"][0];
    assert_eq!(
        (&step["session_id"], &step["source"], &step["model"], &step["attestedBy"], &step["lines"]),
        (&json!("other-machine"), &json!("cursor"), &json!("m-1"), &json!("git-ai note"), &json!(1))
    );
    assert_eq!((&found["lines"], &found["explained"]), (&json!(2), &json!(1)), "a person wrote the other");
    let prompt = step["prompt"].as_str().unwrap();
    assert!(prompt.starts_with("tell whether requests wait") && !prompt.contains("ghp_16C"), "{prompt}");
    assert_eq!(why(&home, &root, &["src/store.py:15"], 2)["explained"], 0);
    let commit = why(&home, &root, &[&three], 0);
    assert_eq!((&commit["explained"], &commit["steps"][0]["lines"]), (&json!(1), &json!(1)), "{commit:#}");
    // A key alone is enough for a session that is recorded here: it is a hash of the agent and the ID.
    let recorded = provenance_key(FIRST);
    add_note(&root, &one, &format!("src/store.py\n  {recorded}::t_013c07475d8e43 1-11\n---\n{{}}"));
    let found = why(&home, &root, &["Store.count"], 0);
    assert_eq!((texts(&found, "session_id"), texts(&found, "evidence")), (vec![FIRST], vec!["attested"]));
    assert_eq!(found["steps"][0]["outcome"]["status"], "success", "what the transcript knows is kept");
}

/// The key of a session of Claude Code.
fn provenance_key(id: &str) -> String {
    let done = std::process::Command::new("sh")
        .args(["-c", &format!("printf 'claude:{id}' | sha256sum | cut -c1-14")])
        .output()
        .unwrap();
    format!("s_{}", String::from_utf8(done.stdout).unwrap().trim())
}

#[test]
fn a_note_wins_over_text_that_agrees() {
    let (home, root, [one, ..]) = home_with_history();
    let json =
        json!({"sessions": {"s_1": {"agent_id": {"tool": "codex", "id": "someone-else", "model": "m"}}}});
    add_note(&root, &one, &format!("src/store.py\n  s_1::t_1 1-11\n---\n{json}"));
    let found = why(&home, &root, &["Store.count"], 0);
    assert_eq!(texts(&found, "session_id"), ["someone-else"], "{found:#}");
    assert_eq!(found["explained"], found["lines"]);
}

/// Stores a checkpoint as Entire does, on its branch.
fn add_checkpoint(root: &Path, folder: &str, session: &str, files: &[&str]) {
    let day = "2026-02-06T10:00:00Z";
    let place = root.join(folder);
    git(root, day, &["checkout", "-q", "--orphan", "entire/checkpoints/v1"]);
    git(root, day, &["rm", "-rfq", "."]);
    std::fs::create_dir_all(place.join("0")).unwrap();
    let all = json!({"sessions": [{"metadata": format!("/{folder}/0/metadata.json")}]});
    let one = json!({"session_id": session, "agent": "Claude Code", "files_touched": files});
    std::fs::write(place.join("metadata.json"), all.to_string()).unwrap();
    std::fs::write(place.join("0/metadata.json"), one.to_string()).unwrap();
    std::fs::write(place.join("0/prompt.txt"), "say whether it is idle\n").unwrap();
    git(root, day, &["add", "-A"]);
    git(root, day, &["commit", "-q", "-m", "Checkpoint"]);
    git(root, day, &["checkout", "-q", "main"]);
}

#[test]
fn a_checkpoint_of_entire_names_the_session_of_a_commit() {
    let (home, root, _) = home_with_history();
    let text = std::fs::read_to_string(root.join("src/store.py")).unwrap();
    let text =
        format!("{text}\n    def drop_everything(self):\n        self.items = self.client.empty_list()\n");
    let subject = "Drop everything\n\nEntire-Checkpoint: 00c9e2351016";
    let hash = commit(&root, "2026-02-06T10:00:00Z", subject, &text);
    let place = ["src/store.py:17-18"];
    assert_eq!(texts(&why(&home, &root, &place, 2), "evidence"), ["unknown"], "no checkpoint is stored");
    add_checkpoint(&root, "00/c9e2351016", THIRD, &["src/store.py"]);
    for target in [place[0], &hash] {
        let found = why(&home, &root, &[target], 0);
        assert_eq!(texts(&found, "evidence"), ["attested"], "{found:#}");
        assert_eq!(texts(&found, "attestedBy"), ["Entire checkpoint"]);
        assert_eq!(
            (texts(&found, "session_id"), texts(&found, "prompt")),
            (vec![THIRD], vec!["say whether it is idle"])
        );
        assert_eq!(found["explained"], 0, "a checkpoint says nothing about lines");
    }
    // Text that agrees is certain once the checkpoint names its session.
    let mut third = Session::new(THIRD, root.to_str().unwrap(), "2026-02-06T09:00:00Z");
    third.prompt("forget what was collected");
    third.did(
        "Write",
        json!({"file_path": root.join("src/store.py").to_str().unwrap(), "content": text}),
        "created",
    );
    home.add(&third);
    let found = why(&home, &root, &place, 0);
    assert_eq!((texts(&found, "evidence"), &found["explained"]), (vec!["attested"], &json!(2)), "{found:#}");
    assert_eq!(texts(&found, "prompt"), ["forget what was collected"]);
}

#[test]
fn an_answer_is_also_a_record_of_agent_trace() {
    let (home, root, [one, _, three]) = home_with_history();
    let found = why(&home, &root, &["Store.flush", "--format", "agent-trace"], 0);
    let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["version", "id", "timestamp", "vcs", "tool", "files", "metadata"], "{found:#}");
    assert_eq!((&found["version"], &found["tool"]["name"]), (&json!("0.1.0"), &json!("loci")));
    assert_eq!(found["vcs"], json!({"type": "git", "revision": three}));
    assert_eq!(found["files"][0]["path"], "src/store.py");
    let talks = found["files"][0]["conversations"].as_array().unwrap();
    let ranges = |at: usize| -> Vec<(u64, u64)> {
        let ranges = talks[at]["ranges"].as_array().unwrap().iter();
        ranges.map(|it| (it["start_line"].as_u64().unwrap(), it["end_line"].as_u64().unwrap())).collect()
    };
    assert_eq!((ranges(0), ranges(1)), (vec![(6, 6), (8, 9)], vec![(7, 7)]), "{found:#}");
    assert_eq!(talks[1]["url"], json!(format!("loci://sessions/claude-code/{SECOND}")));
    assert_eq!(talks[1]["contributor"]["type"], "ai");
    let steps = found["metadata"]["dev.loci"]["steps"].as_array().unwrap();
    assert_eq!(
        (&steps[1]["undone"], &steps[2]["evidence"]),
        (&json!(true), &json!("attested")),
        "{steps:#?}"
    );
    // The whole commit, and what nobody is known to have written.
    let found = why(&home, &root, &[&one, "--format", "agent-trace"], 0);
    assert_eq!((&found["vcs"]["revision"], found["files"].as_array().unwrap().len()), (&json!(one), 1));
    assert_eq!(why(&home, &root, &[&three, "--format", "agent-trace"], 2)["files"], json!([]));
    let mut run = command(home.path(), &["why", "Store.flush", "--format", "agent-trace", "-o", "text"]);
    run.current_dir(&root);
    assert!(run_command(run).expect(0).text().starts_with("{\"version\":\"0.1.0\""));
    let wrong = why(&home, &root, &["Store.flush", "--format", "trace"], 1);
    assert_eq!(wrong["code"], "INVALID_ARGUMENT", "{wrong}");
}

#[test]
fn an_agent_gets_a_record_of_agent_trace() {
    let (home, root, _) = home_with_history();
    let mut client = McpClient::new(home.path(), &[]);
    let root = root.to_str().unwrap();
    let found = client.call("why", json!({"target": "Store.flush", "root": root, "format": "agent-trace"}));
    assert!(found.to_string().contains("loci://sessions/claude-code/"), "{found}");
}
