//! Symlink loops, FIFOs, sockets, devices and /proc entries where transcripts are expected: the scan opens none of
//! them and finishes quickly.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testutil::{ALPHA, Finished, Home, Session, command, run_command};

const TIME_LIMIT: Duration = Duration::from_secs(5);

fn home_with_one_prompt() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    home.add(session.prompt("the only prompt"));
    let folder = home.project_folder(ALPHA);
    (home, folder)
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Each adds something that is not a transcript to a project's folder.
const NON_TRANSCRIPTS: &[(&str, fn(&Path))] = &[
    ("a link to its own folder", |dir| symlink(dir, dir.join("again")).unwrap()),
    ("a link to the folder above", |dir| symlink("..", dir.join("up")).unwrap()),
    ("a link to itself", |dir| symlink("self.jsonl", dir.join("self.jsonl")).unwrap()),
    ("a link to nothing", |dir| symlink("/nonexistent/x", dir.join("gone.jsonl")).unwrap()),
    ("folders that all link to each other", |dir| {
        for a in 0..9 {
            let subfolder = dir.join(format!("d{a}"));
            fs::create_dir(&subfolder).unwrap();
            (0..9)
                .for_each(|b| symlink(dir.join(format!("d{b}")), subfolder.join(format!("to{b}"))).unwrap());
        }
    }),
    ("a FIFO without a writer", |dir| make_fifo(&dir.join("pipe.jsonl"))),
    ("a link to a FIFO", |dir| {
        make_fifo(&dir.join("pipe"));
        symlink("pipe", dir.join("link.jsonl")).unwrap();
    }),
    ("a socket", |dir| drop(UnixListener::bind(dir.join("s.jsonl")).unwrap())),
    ("an endless device", |dir| symlink("/dev/zero", dir.join("zero.jsonl")).unwrap()),
    ("a terminal", |dir| symlink("/dev/tty", dir.join("tty.jsonl")).unwrap()),
    ("a link into /proc", |dir| symlink("/proc/self/mem", dir.join("mem.jsonl")).unwrap()),
    ("a link to the kernel log, which blocks", |dir| symlink("/proc/kmsg", dir.join("kmsg.jsonl")).unwrap()),
    ("a link to /proc", |dir| symlink("/proc", dir.join("proc")).unwrap()),
    ("a link to /sys", |dir| symlink("/sys", dir.join("sys")).unwrap()),
    ("a folder named as a transcript", |dir| fs::create_dir(dir.join("folder.jsonl")).unwrap()),
    ("folders nested without end", |dir| fs::create_dir_all(dir.join("n/".repeat(200))).unwrap()),
    ("a name that is not UTF-8", |dir| {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9\xff.jsonl");
        fs::write(dir.join(name), "").unwrap();
    }),
];

fn run(home: &Home, args: &[&str]) -> Finished {
    run_command(command(home.path(), args))
}

#[test]
fn non_transcripts_are_skipped() {
    for (name, make) in NON_TRANSCRIPTS {
        let (home, folder) = home_with_one_prompt();
        make(&folder);
        for args in [&["query", "user-messages", "--all-projects"][..], &["sources"]] {
            let done = run(&home, args);
            assert!(done.took < TIME_LIMIT, "{name}: {:?}", done.took);
            assert_eq!(done.code, Some(0), "{name}: {}", done.stderr);
        }
        let prompts = run(&home, &["query", "user-messages", "--all-projects", "--fields", "text"]);
        assert_eq!(prompts.all("text"), ["the only prompt"], "{name}");
    }
}

#[test]
fn a_tree_of_non_transcripts_is_skipped() {
    let (home, folder) = home_with_one_prompt();
    for (n, (_, make)) in NON_TRANSCRIPTS.iter().enumerate() {
        let dir = folder.join(format!("odd-{n}"));
        fs::create_dir(&dir).unwrap();
        make(&dir);
    }
    let done = run(&home, &["query", "user-messages", "--all-projects"]).expect(0);
    assert!(done.took < TIME_LIMIT && done.lines().len() == 1, "{:?}", done.took);
}

/// A store that was moved and symlinked back is read through the link.
#[test]
fn links_to_real_transcripts_are_followed() {
    let (home, folder) = home_with_one_prompt();
    let elsewhere = home.path().join("elsewhere");
    fs::rename(&folder, &elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    assert_eq!(run(&home, &["query", "user-messages", "--all-projects"]).expect(0).lines().len(), 1);
    assert_eq!(run(&home, &["query", "user-messages", "--project", ALPHA]).expect(0).lines().len(), 1);
    let projects = home.path().join(".claude/projects");
    let moved = home.path().join("moved");
    fs::rename(&projects, &moved).unwrap();
    symlink(&moved, &projects).unwrap();
    assert_eq!(run(&home, &["query", "user-messages", "--all-projects"]).expect(0).lines().len(), 1);
}
