//! What moves is noticed: by what the kernel tells, by looking again where it lost count, by looking now and then where
//! it does not tell.

use crate::fixture::{Fixture, rounds, signal, until};
use std::io::Write;
use std::process::{Command, Stdio};
use testutil::write_file;

fn append(path: &std::path::Path, n: usize) {
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"sessionId\":\"00000000-1111-4222-8333-444444444444\",\"timestamp\":\"2026-03-04T10:00:00.{:03}Z\",\"cwd\":\"/srv/demo/alpha\",\"message\":{{\"role\":\"user\",\"content\":\"the okapi{n} arrives\"}}}}\n",
        n % 1000
    );
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}

/// `LOCI_TRIALS=200` is the long form.
#[test]
fn an_appended_line_is_found_and_the_index_follows_by_itself() {
    let fixture = Fixture::new();
    let path = fixture.converse(0, "where is the walrus");
    fixture.alone(&["index"]).expect(0);
    let _child = fixture.serve();
    assert!(until(|| fixture.status()["watched"].as_u64().unwrap_or(0) >= 1));
    for n in 0..rounds("LOCI_TRIALS", 5) {
        append(&path, n);
        let found = fixture.loci(&["search", &format!("okapi{n}"), "--json"]).expect(0);
        assert!(found.text().contains(&format!("okapi{n}")), "{n}");
    }
    // Not because somebody searched: the index itself has it.
    assert!(until(|| fixture.status()["caught_up"].as_u64().unwrap() >= 1));
    assert!(until(|| fixture.log().iter().any(|line| line["what"] == "history" && line["transcripts"] == 1)));
    // A folder that was not there is watched from now on.
    let other = "11111111-1111-4222-8333-444444444444";
    let mut session = testutil::Session::new(other, "/srv/demo/new", "2026-03-05T09:00:00Z");
    session.prompt("a new project").reply(&["yes"]);
    let before = fixture.status()["watched"].as_u64().unwrap();
    // It is empty for a while, as an agent leaves it.
    std::fs::create_dir_all(fixture.home.folder("/srv/demo/new")).unwrap();
    assert!(until(|| fixture.status()["watched"].as_u64().unwrap() > before));
    fixture.home.add(&session);
    assert!(until(|| fixture.log().iter().filter(|line| line["what"] == "history").count() >= 2));
}

#[test]
fn a_source_tree_that_was_asked_about_is_followed() {
    let fixture = Fixture::new();
    let tree = fixture.path().join("tree");
    write_file(&tree.join("a.rs"), b"pub struct First;\n");
    let _child = fixture.serve();
    let mut asked = fixture.command(&["code", "outline", "First"]);
    asked.current_dir(&tree);
    testutil::run_command(asked).expect(0);
    assert!(until(|| fixture.status()["watched"].as_u64().unwrap() >= 1));
    write_file(&tree.join("a.rs"), b"pub struct First;\npub struct Second;\n");
    assert!(until(|| fixture.log().iter().any(|line| line["what"] == "code" && line["files"] == 1)));
    // A folder that came, and what is written in it later.
    let before = fixture.status()["watched"].as_u64().unwrap();
    write_file(&tree.join("deep/b.rs"), b"pub struct Third;\n");
    assert!(until(|| fixture.status()["watched"].as_u64().unwrap() > before));
    let seen = fixture.log().iter().filter(|line| line["what"] == "code").count();
    write_file(&tree.join("deep/b.rs"), b"pub struct Third { n: u8 }\n");
    assert!(until(|| fixture.log().iter().filter(|line| line["what"] == "code").count() > seen));
}

/// A queue of the kernel's holds 16,384 events.
#[test]
fn where_count_was_lost_everything_is_looked_at_again() {
    let fixture = Fixture::with_sessions();
    fixture.alone(&["index"]).expect(0);
    let child = fixture.serve();
    assert!(until(|| fixture.status()["watched"].as_u64().unwrap_or(0) >= 1));
    signal(&child, "-STOP");
    let folder = fixture.home.folder("/srv/demo/alpha");
    for n in 0..9000 {
        // Each is made, written and taken away again.
        std::fs::write(folder.join(format!("{n}.tmp")), b"x").unwrap();
        std::fs::remove_file(folder.join(format!("{n}.tmp"))).unwrap();
    }
    fixture.converse(9, "the gazelle came meanwhile");
    signal(&child, "-CONT");
    assert!(until(|| fixture.status()["overflows"].as_u64().unwrap_or(0) >= 1));
    assert!(until(|| fixture.log().iter().any(|line| line["what"] == "history" && line["transcripts"] == 1)));
}

/// Beyond the kernel's limit folders are looked at now and then; it is said how many.
#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn beyond_the_kernels_limit_folders_are_polled() {
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
    assert!(until(|| fixture.line().is_some()));
    assert!(until(|| fixture.status()["polled"].as_u64().unwrap_or(0) >= 1), "{}", fixture.status());
    assert!(until(|| fixture.status()["caught_up"].as_u64().unwrap() >= 1));
    fixture.converse(9, "the gazelle came");
    assert!(until(|| fixture.log().iter().any(|line| line["what"] == "history" && line["transcripts"] == 1)));
    fixture.loci(&["daemon", "stop"]).expect(0);
    child.wait().unwrap();
}
