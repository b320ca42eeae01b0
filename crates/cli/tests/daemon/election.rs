//! Who serves: one, however many start at once and whatever stands at the socket's name.

use crate::fixture::{Fixture, Line, SOON, ended_within, rounds, until};
use serde_json::json;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::time::Duration;

/// `LOCI_TRIALS=200` is the long form.
#[test]
fn of_sixteen_that_start_at_once_one_serves_and_everybody_is_answered() {
    let fixture = Fixture::new();
    let socket = fixture.socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    for trial in 0..rounds("LOCI_TRIALS", 5) {
        // What a dead one left behind.
        let _ = std::fs::remove_file(&socket);
        drop(UnixListener::bind(&socket).unwrap());
        let mut all: Vec<Child> = (0..16).map(|_| starter(&fixture)).collect();
        let clients: Vec<_> = (0..16).map(|_| client(&socket)).collect();
        let answered: Vec<u64> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        assert!(answered.iter().all(|pid| *pid == answered[0]), "trial {trial}: {answered:?}");
        let losers: Vec<&mut Child> = all.iter_mut().filter(|c| u64::from(c.id()) != answered[0]).collect();
        assert_eq!(losers.len(), 15, "trial {trial}");
        for loser in losers {
            assert_eq!(ended_within(loser, SOON), Some(Some(0)), "trial {trial}");
        }
        let winner = all.iter_mut().find(|c| u64::from(c.id()) == answered[0]).unwrap();
        assert!(winner.try_wait().unwrap().is_none());
        fixture.loci(&["daemon", "stop"]).expect(0);
        assert_eq!(ended_within(winner, SOON), Some(Some(0)));
    }
}

fn starter(fixture: &Fixture) -> Child {
    let mut command = fixture.command(&["daemon", "run"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Asks until somebody answers, and tells who.
fn client(socket: &std::path::Path) -> std::thread::JoinHandle<u64> {
    let socket = socket.to_path_buf();
    std::thread::spawn(move || {
        let mut told = None;
        assert!(until_some(&mut told, || {
            Line::at(&socket)?.ask("hello", json!({}))?["result"]["pid"].as_u64()
        }));
        told.unwrap()
    })
}

fn until_some<T>(told: &mut Option<T>, ask: impl Fn() -> Option<T>) -> bool {
    let end = std::time::Instant::now() + SOON;
    while told.is_none() && std::time::Instant::now() < end {
        *told = ask();
        std::thread::sleep(Duration::from_millis(5));
    }
    told.is_some()
}

#[test]
fn a_socket_that_is_taken_away_is_made_again() {
    let fixture = Fixture::new();
    let mut child = fixture.serve();
    let socket = fixture.socket();
    for damage in ["gone", "file"] {
        std::fs::remove_file(&socket).unwrap();
        if damage == "file" {
            std::fs::write(&socket, b"x").unwrap();
        }
        assert!(until(|| fixture.line().is_some()), "{damage}");
        // Nobody else sits down meanwhile.
        assert!(child.try_wait().unwrap().is_none());
    }
    assert!(fixture.status()["rebound"].as_u64().unwrap() >= 2);
    // Nobody is left waiting at a socket that is gone.
    let threads = fixture.status()["threads"].as_u64().unwrap();
    for _ in 0..3 {
        std::fs::remove_file(&socket).unwrap();
        assert!(until(|| fixture.line().is_some()));
    }
    assert!(until(|| fixture.status()["threads"].as_u64().unwrap() <= threads), "{}", fixture.status());
}

#[test]
fn what_somebody_else_put_at_the_name_is_neither_used_nor_replaced() {
    let fixture = Fixture::new();
    let socket = fixture.socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let elsewhere = fixture.path().join("elsewhere.sock");
    let trap = UnixListener::bind(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &socket).unwrap();
    let refused = fixture.loci(&["daemon", "run"]).expect(1);
    assert!(refused.stderr.contains("is a link"), "{}", refused.stderr);
    assert!(std::fs::symlink_metadata(&socket).unwrap().is_symlink());
    // A command does not speak to it either: it would wait for the trap, which never answers.
    fixture.loci(&["sessions", "--json"]).expect(2);
    drop(trap);
    std::fs::remove_file(&socket).unwrap();
    std::fs::remove_dir(socket.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(fixture.path(), socket.parent().unwrap()).unwrap();
    let refused = fixture.loci(&["daemon", "run"]).expect(1);
    assert!(refused.stderr.contains("is a link"), "{}", refused.stderr);
}

#[test]
fn a_home_however_deep_or_odd_has_a_socket_that_everybody_finds() {
    for name in ["a b", "über/漢字", &"deep/".repeat(40)] {
        let fixture = Fixture::new();
        let home = fixture.path().join(name);
        std::fs::create_dir_all(&home).unwrap();
        let run = |args: &[&str]| {
            let mut command = fixture.command(args);
            // Without a runtime directory it lies with the state, where a path can grow long.
            command.env("HOME", &home).env_remove("XDG_RUNTIME_DIR");
            testutil::run_command(command)
        };
        let started = run(&["daemon", "start", "--json"]).expect(0).records().remove(0);
        let socket = started["socket"].as_str().unwrap().to_string();
        assert!(socket.len() < 104, "{socket}");
        let status = run(&["daemon", "status", "--json"]).expect(0).records().remove(0);
        assert_eq!(status["pid"], started["pid"], "{name}");
        run(&["daemon", "stop"]).expect(0);
        assert!(!std::path::Path::new(&socket).exists());
    }
}

/// The number in the lock's file went to somebody else: nobody is ended for it.
#[test]
fn a_process_that_only_has_the_number_is_left_alone() {
    let fixture = Fixture::new();
    let mut bystander = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let lock = fixture.path().join(".local/share/loci/daemon.lock");
    let stale = |started: u64| json!({"pid": bystander.id(), "started": started, "boot": "", "version": "0.1.0", "socket": ""});
    testutil::write_file(&lock, stale(1).to_string().as_bytes());
    fixture.loci(&["daemon", "stop"]).expect(2);
    // Even while somebody holds the lock.
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    fixture.loci(&["daemon", "stop"]).expect(1);
    drop(held);
    assert!(bystander.try_wait().unwrap().is_none(), "it was ended");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    let started = fixture.start();
    assert_eq!(started["started"], true);
}
