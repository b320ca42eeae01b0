//! Leader election: one daemon serves, regardless of concurrent starts and of what exists at the socket path.

use crate::fixture::{Connection, Fixture, TIMEOUT, rounds, wait_for_exit, wait_until};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::time::Duration;

/// `LOCI_TRIALS=200` runs the long form.
#[test]
fn of_sixteen_concurrent_starts_one_serves_and_all_clients_are_answered() {
    let fixture = Fixture::new();
    let socket = fixture.socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    for trial in 0..rounds("LOCI_TRIALS", 5) {
        // The stale socket of a dead daemon.
        let _ = std::fs::remove_file(&socket);
        drop(UnixListener::bind(&socket).unwrap());
        let mut all: Vec<Child> = (0..16).map(|_| spawn_daemon(&fixture)).collect();
        let clients: Vec<_> = (0..16).map(|_| spawn_client(&socket)).collect();
        let answered: Vec<u64> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        assert!(answered.iter().all(|pid| *pid == answered[0]), "trial {trial}: {answered:?}");
        let losers: Vec<&mut Child> = all.iter_mut().filter(|c| u64::from(c.id()) != answered[0]).collect();
        assert_eq!(losers.len(), 15, "trial {trial}");
        for loser in losers {
            assert_eq!(wait_for_exit(loser, TIMEOUT), Some(Some(0)), "trial {trial}");
        }
        let winner = all.iter_mut().find(|c| u64::from(c.id()) == answered[0]).unwrap();
        assert!(winner.try_wait().unwrap().is_none());
        fixture.loci(&["daemon", "stop"]).expect(0);
        assert_eq!(wait_for_exit(winner, TIMEOUT), Some(Some(0)));
    }
}

fn spawn_daemon(fixture: &Fixture) -> Child {
    let mut command = fixture.command(&["daemon", "run"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Sends requests until a daemon responds, and returns the daemon's PID.
fn spawn_client(socket: &std::path::Path) -> std::thread::JoinHandle<u64> {
    let socket = socket.to_path_buf();
    std::thread::spawn(move || {
        let mut pid = None;
        assert!(retry_until_some(&mut pid, || {
            Connection::open(&socket)?.request("hello", json!({}))?["result"]["pid"].as_u64()
        }));
        pid.unwrap()
    })
}

fn retry_until_some<T>(value: &mut Option<T>, attempt: impl Fn() -> Option<T>) -> bool {
    let end = std::time::Instant::now() + TIMEOUT;
    while value.is_none() && std::time::Instant::now() < end {
        *value = attempt();
        std::thread::sleep(Duration::from_millis(5));
    }
    value.is_some()
}

#[test]
fn a_deleted_or_replaced_socket_is_recreated() {
    let fixture = Fixture::new();
    let mut child = fixture.serve();
    let socket = fixture.socket();
    for damage in ["gone", "file"] {
        std::fs::remove_file(&socket).unwrap();
        if damage == "file" {
            std::fs::write(&socket, b"x").unwrap();
        }
        assert!(wait_until(|| fixture.connect().is_some()), "{damage}");
        // The same process keeps serving.
        assert!(child.try_wait().unwrap().is_none());
    }
    assert!(fixture.status()["rebound"].as_u64().unwrap() >= 2);
    // No thread keeps listening on a deleted socket.
    let threads = fixture.status()["threads"].as_u64().unwrap();
    for _ in 0..3 {
        std::fs::remove_file(&socket).unwrap();
        assert!(wait_until(|| fixture.connect().is_some()));
    }
    assert!(wait_until(|| fixture.status()["threads"].as_u64().unwrap() <= threads), "{}", fixture.status());
}

#[test]
fn a_symlink_at_the_socket_path_is_neither_used_nor_replaced() {
    let fixture = Fixture::new();
    let socket = fixture.socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let elsewhere = fixture.path().join("elsewhere.sock");
    let trap = UnixListener::bind(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &socket).unwrap();
    let refused = fixture.loci(&["daemon", "run"]).expect(1);
    assert!(refused.stderr.contains("is a link"), "{}", refused.stderr);
    assert!(std::fs::symlink_metadata(&socket).unwrap().is_symlink());
    // A command does not connect to it either: it would wait for the trap, which never responds.
    fixture.loci(&["sessions", "--json"]).expect(2);
    drop(trap);
    std::fs::remove_file(&socket).unwrap();
    std::fs::remove_dir(socket.parent().unwrap()).unwrap();
    let target = fixture.path().join("target");
    std::fs::create_dir(&target).unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(&target, socket.parent().unwrap()).unwrap();
    let refused = fixture.loci(&["daemon", "run"]).expect(1);
    assert!(refused.stderr.contains("is a link"), "{}", refused.stderr);
    assert_eq!(
        std::fs::metadata(&target).unwrap().permissions().mode() & 0o777,
        0o755,
        "the link was followed"
    );
}

#[test]
fn a_home_with_a_deep_or_unusual_path_has_a_reachable_socket() {
    for name in ["a b", "über/漢字", &"deep/".repeat(40)] {
        let fixture = Fixture::new();
        let home = fixture.path().join(name);
        std::fs::create_dir_all(&home).unwrap();
        let run = |args: &[&str]| {
            let mut command = fixture.command(args);
            // Without a runtime directory the socket is in the state directory, whose path can be long.
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

/// The PID in the lock file belongs to another process by now, which must not be killed.
#[test]
fn a_process_that_reused_the_pid_is_not_killed() {
    let fixture = Fixture::new();
    let mut bystander = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let lock = fixture.path().join(".local/share/loci/daemon.lock");
    let lock_content = |started: u64| json!({"pid": bystander.id(), "started": started, "boot": "", "version": "0.1.0", "socket": ""});
    testutil::write_file(&lock, lock_content(1).to_string().as_bytes());
    fixture.loci(&["daemon", "stop"]).expect(2);
    // Not even while the lock is held.
    let lock_file = std::fs::File::open(&lock).unwrap();
    lock_file.lock().unwrap();
    fixture.loci(&["daemon", "stop"]).expect(1);
    drop(lock_file);
    assert!(bystander.try_wait().unwrap().is_none(), "the process was killed");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    let started = fixture.start();
    assert_eq!(started["started"], true);
}
