//! File watching: kernel events, a full rescan after an overflow of the event queue, polling beyond the watch limit.

use crate::fixture::{Fixture, rounds, signal, wait_until};
use std::io::Write;
use std::process::{Command, Stdio};
use testutil::write_file;

fn append_prompt(path: &std::path::Path, n: usize) {
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"sessionId\":\"00000000-1111-4222-8333-444444444444\",\"timestamp\":\"2026-03-04T10:00:00.{:03}Z\",\"cwd\":\"/srv/demo/alpha\",\"message\":{{\"role\":\"user\",\"content\":\"the okapi{n} arrives\"}}}}\n",
        n % 1000
    );
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}

/// `LOCI_TRIALS=200` runs the long form.
#[test]
fn an_appended_line_is_found_and_indexed_in_the_background() {
    let fixture = Fixture::new();
    let path = fixture.add_session(0, "where is the walrus");
    fixture.loci_without_daemon(&["index"]).expect(0);
    let _child = fixture.serve();
    assert!(wait_until(|| fixture.status()["watched"].as_u64().unwrap_or(0) >= 1));
    for n in 0..rounds("LOCI_TRIALS", 5) {
        append_prompt(&path, n);
        let found = fixture.loci(&["search", &format!("okapi{n}"), "--json"]).expect(0);
        assert!(found.text().contains(&format!("okapi{n}")), "{n}");
    }
    // The daemon updates the index itself, not because of a search.
    assert!(wait_until(|| fixture.status()["caught_up"].as_u64().unwrap() >= 1));
    assert!(wait_until(|| fixture
        .log()
        .iter()
        .any(|line| line["what"] == "history" && line["transcripts"] == 1)));
    // A new folder is watched, too.
    let other = "11111111-1111-4222-8333-444444444444";
    let mut session = testutil::Session::new(other, "/srv/demo/new", "2026-03-05T09:00:00Z");
    session.prompt("a new project").reply(&["yes"]);
    let before = fixture.status()["watched"].as_u64().unwrap();
    // It is empty at first, as agents create it.
    std::fs::create_dir_all(fixture.home.project_folder("/srv/demo/new")).unwrap();
    assert!(wait_until(|| fixture.status()["watched"].as_u64().unwrap() > before));
    fixture.home.add(&session);
    assert!(wait_until(|| fixture.log().iter().filter(|line| line["what"] == "history").count() >= 2));
}

#[test]
fn a_queried_source_tree_is_watched() {
    let fixture = Fixture::new();
    let tree = fixture.path().join("tree");
    write_file(&tree.join("a.rs"), b"pub struct First;\n");
    let _child = fixture.serve();
    let mut outline = fixture.command(&["code", "outline", "First"]);
    outline.current_dir(&tree);
    testutil::run_command(outline).expect(0);
    assert!(wait_until(|| fixture.status()["watched"].as_u64().unwrap() >= 1));
    write_file(&tree.join("a.rs"), b"pub struct First;\npub struct Second;\n");
    assert!(wait_until(|| fixture.log().iter().any(|line| line["what"] == "code" && line["files"] == 1)));
    // A new folder, and a later write in it.
    let before = fixture.status()["watched"].as_u64().unwrap();
    write_file(&tree.join("deep/b.rs"), b"pub struct Third;\n");
    assert!(wait_until(|| fixture.status()["watched"].as_u64().unwrap() > before));
    let seen = fixture.log().iter().filter(|line| line["what"] == "code").count();
    write_file(&tree.join("deep/b.rs"), b"pub struct Third { n: u8 }\n");
    assert!(wait_until(|| fixture.log().iter().filter(|line| line["what"] == "code").count() > seen));
}

#[test]
fn changes_of_code_wait_until_an_edit_is_written() {
    let fixture = Fixture::new();
    let tree = fixture.path().join("tree");
    write_file(&tree.join("a.rs"), b"pub struct First;\n");
    let _child = fixture.serve();
    for arguments in [&["code", "outline", "First"][..], &["edit", "rename", "First", "Second", "--apply"]] {
        let mut command = fixture.command(arguments);
        command.current_dir(&tree);
        testutil::run_command(command).expect(0);
    }
    let count = || fixture.log().iter().filter(|line| line["what"] == "code").count();
    assert!(wait_until(|| fixture.status()["watched"].as_u64().unwrap() >= 1));
    write_file(&tree.join("a.rs"), b"pub struct Second;\npub struct Third;\n");
    assert!(wait_until(|| count() > 0));
    let seen = count();
    let edits = std::fs::read_dir(fixture.path().join(".local/state/loci/edits")).unwrap().next().unwrap();
    let lock = std::fs::File::open(edits.unwrap().path().join("lock")).unwrap();
    lock.lock().unwrap();
    write_file(&tree.join("a.rs"), b"pub struct Second;\npub struct Fourth;\n");
    // without the lock, a change is handled after 0.8 s
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(count(), seen);
    drop(lock);
    assert!(wait_until(|| count() > seen));
}

/// The event queue of the kernel holds 16,384 events.
#[test]
fn an_event_overflow_triggers_a_full_rescan() {
    let fixture = Fixture::with_sessions();
    fixture.loci_without_daemon(&["index"]).expect(0);
    let child = fixture.serve();
    assert!(wait_until(|| fixture.status()["watched"].as_u64().unwrap_or(0) >= 1));
    signal(&child, "-STOP");
    let folder = fixture.home.project_folder("/srv/demo/alpha");
    for n in 0..9000 {
        // Each file is created, written and deleted.
        std::fs::write(folder.join(format!("{n}.tmp")), b"x").unwrap();
        std::fs::remove_file(folder.join(format!("{n}.tmp"))).unwrap();
    }
    fixture.add_session(9, "the gazelle came meanwhile");
    signal(&child, "-CONT");
    assert!(wait_until(|| fixture.status()["overflows"].as_u64().unwrap_or(0) >= 1));
    assert!(wait_until(|| fixture
        .log()
        .iter()
        .any(|line| line["what"] == "history" && line["transcripts"] == 1)));
}

/// The number of polled folders is part of the status.
#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn folders_beyond_the_watch_limit_of_the_kernel_are_polled() {
    testutil::needs::mount_namespace();
    let fixture = Fixture::with_sessions();
    for n in 0..12 {
        write_file(&fixture.path().join(format!(".claude/projects/p{n}/x.txt")), b"");
        let mut session = testutil::Session::new(
            &format!("{n:08}-2222-4222-8333-444444444444"),
            &format!("/srv/p{n}"),
            "2026-03-05T09:00:00Z",
        );
        session.prompt("many folders").reply(&["yes"]);
        fixture.home.add(&session);
    }
    write_file(&fixture.path().join(".config/loci/config.toml"), b"[daemon]\npoll_seconds = 1\n");
    let script = "echo 5 > /proc/sys/user/max_inotify_watches && exec \"$LOCI\" daemon run";
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", script]);
    testutil::set_environment(&mut command, fixture.path());
    command.env("LOCI", testutil::binary()).env("XDG_RUNTIME_DIR", fixture.path().join("run"));
    command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    assert!(wait_until(|| fixture.connect().is_some()));
    assert!(wait_until(|| fixture.status()["polled"].as_u64().unwrap_or(0) >= 1), "{}", fixture.status());
    assert!(wait_until(|| fixture.status()["caught_up"].as_u64().unwrap() >= 1));
    fixture.add_session(9, "the gazelle came");
    assert!(wait_until(|| fixture
        .log()
        .iter()
        .any(|line| line["what"] == "history" && line["transcripts"] == 1)));
    fixture.loci(&["daemon", "stop"]).expect(0);
    child.wait().unwrap();
}
