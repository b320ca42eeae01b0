//! Clients that misbehave or belong to another user, and a daemon that hangs.

use crate::fixture::{Connection, Fixture, wait_until};
use serde_json::json;
use std::io::Read;
use std::process::Command;
use std::time::Duration;
use testutil::needs::OtherUser;

#[test]
fn every_operation_is_known_and_invalid_requests_are_refused() {
    let fixture = Fixture::with_sessions();
    let _child = fixture.serve();
    let mut connection = fixture.connect().unwrap();
    let meta = json!({"cwd": fixture.path()});
    let found = connection.request("list_sessions", json!({"limit": 2, "_meta": meta})).unwrap();
    assert_eq!(found["result"]["sessions"].as_array().unwrap().len(), 2);
    // The same in the envelope that agents receive.
    let enclosed = json!({"limit": 2, "_meta": {"envelope": true}});
    let enclosed = connection.request("list_sessions", enclosed).unwrap();
    assert_eq!(enclosed["result"]["data"]["sessions"].as_array().unwrap().len(), 2);
    let view = connection.request("query messages", json!({"all_projects": true, "limit": 1})).unwrap();
    assert_eq!(view["result"]["printed"], 1);
    for (method, params, code, word) in [
        ("nothing_of_ours", json!({}), -32601, None),
        ("list_sessions", json!({"limt": 2}), -32602, Some("INVALID_ARGUMENT")),
        ("list_sessions", json!({"_meta": {"who": 1}}), -32602, None),
        ("gather_chats", json!({"chatIds": ["ffffffff"]}), -32000, Some("SESSION_NOT_FOUND")),
    ] {
        let refused = connection.request(method, params).unwrap();
        assert_eq!(refused["error"]["code"], code, "{refused}");
        assert_eq!(refused["error"]["data"]["code"].as_str(), word, "{refused}");
    }
    // Every operation is known by name: the error is about the parameter, not the method.
    for operation in api::OPERATIONS {
        let response = connection.request(operation.name, json!({"no_such_parameter": 1})).unwrap();
        assert_eq!(response["error"]["code"], -32602, "{}: {response}", operation.name);
    }
}

#[test]
fn garbage_unfinished_lines_and_floods_affect_only_their_sender() {
    let fixture = Fixture::new();
    let child = fixture.serve();
    let socket = fixture.socket();
    let before = rss(child.id());
    let mut garbage = Connection::open(&socket).unwrap();
    garbage.send(b"\x00\xff{}\n[1,2]\n");
    assert_eq!(garbage.receive().unwrap()["error"]["code"], -32700);
    assert_eq!(garbage.receive().unwrap()["error"]["code"], -32600);
    // More than the maximum size of a request.
    let mut endless = Connection::open(&socket).unwrap();
    let mut sent = 0;
    while sent < (64 << 20) && endless.send(&[b'x'; 1 << 16]) {
        sent += 1 << 16;
    }
    assert!(sent < (16 << 20), "the daemon accepted {sent} bytes");
    // An unfinished line, and a hundred connections that send nothing.
    let mut unfinished = Connection::open(&socket).unwrap();
    unfinished.send(b"{\"jsonrpc\":");
    let silent: Vec<Connection> = (0..100).filter_map(|_| Connection::open(&socket)).collect();
    assert!(fixture.connect().is_some(), "other clients are blocked");
    let mut rest = Vec::new();
    unfinished.reader.get_mut().read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "an unfinished line gets no response");
    drop(silent);
    for _ in 0..500 {
        drop(Connection::open(&socket));
    }
    assert!(wait_until(|| fixture.connect().is_some()));
    let grown = rss(child.id()).saturating_sub(before);
    assert!(grown < 30 << 20, "{grown}");
}

fn rss(pid: u32) -> u64 {
    memory_bytes(pid, "VmRSS:")
}

/// A field of `/proc/PID/status`, in bytes.
pub(crate) fn memory_bytes(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

fn count_threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Each response is larger than a socket buffer, so that it cannot be sent.
#[test]
fn unread_responses_do_not_exhaust_threads_or_memory_or_block_others() {
    const HOGS: usize = 40;
    let fixture = Fixture::new();
    fixture.add_session(1, &"all of it is about the walrus ".repeat(15_000));
    fixture.add_session(2, "a short one");
    let child = fixture.serve();
    let socket = fixture.socket();
    let show_short_session =
        |connection: &mut Connection| connection.request("gather_chats", json!({"chatIds": ["00000002"]}));
    assert!(show_short_session(&mut fixture.connect().unwrap()).unwrap().get("result").is_some());
    let (idle_threads, idle_memory) = (count_threads(child.id()), rss(child.id()));
    let hog = |_| {
        let mut connection = Connection::open(&socket).unwrap();
        let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "gather_chats", "params": {"chatIds": ["00000001"], "_meta": {"threads": 1}}});
        let calls: String = (0..16).map(|id| format!("{}\n", call(id))).collect();
        assert!(connection.send(calls.as_bytes()));
        connection
    };
    let hogs: Vec<Connection> = (0..HOGS).map(hog).collect();
    let (mut most_threads, mut most_memory) = (0, 0);
    for _ in 0..10 {
        let response = show_short_session(&mut fixture.connect().unwrap());
        assert!(response.unwrap().get("result").is_some(), "another client gets no response");
        most_threads = most_threads.max(count_threads(child.id()));
        most_memory = most_memory.max(rss(child.id()));
    }
    // A listening thread for each connection; for each connection and each extra call, a thread that responds and one
    // that reads for it; and those of the other client. There were 697 when every call got its own thread.
    assert!(
        most_threads <= idle_threads + HOGS + 2 * (HOGS + 32) + 4,
        "{idle_threads} threads became {most_threads}"
    );
    assert!(most_memory.saturating_sub(idle_memory) < 400 << 20, "{idle_memory} bytes became {most_memory}");
    drop(hogs);
    assert!(wait_until(|| fixture.status()["in_flight"] == 0), "{}", fixture.status());
    assert!(
        wait_until(|| count_threads(child.id()) <= idle_threads + 2),
        "{} threads",
        count_threads(child.id())
    );
}

/// The permissions of the folder keep other users out. If they are relaxed, the daemon checks the peer.
#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn another_user_gets_no_response() {
    let other = OtherUser::new();
    let fixture = Fixture::new();
    let _child = fixture.serve();
    let socket = fixture.socket();
    let script = format!(
        "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(10)\ns.connect({:?})\ns.sendall(b'{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}}\\n')\nsys.stdout.write(s.recv(100).decode())",
        socket.to_str().unwrap()
    );
    assert!(other.program("python3").arg("--version").output().unwrap().status.success(), "needs python3");
    let connect_as_other_user = || other.program("python3").args(["-c", &script]).output().unwrap();
    assert!(!connect_as_other_user().status.success(), "the folder lets other users in");
    for (path, mode) in [
        (fixture.path(), "755"),
        (&fixture.path().join("run"), "755"),
        (socket.parent().unwrap(), "755"),
        (&socket, "666"),
    ] {
        assert!(Command::new("chmod").arg(mode).arg(path).status().unwrap().success());
    }
    let output = connect_as_other_user();
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    if output.status.success() {
        assert!(fixture.status()["foreign"].as_u64().unwrap() >= 1);
    }
}

#[test]
fn a_hanging_daemon_does_not_block_commands_for_long() {
    let fixture = Fixture::with_sessions();
    let child = fixture.serve();
    fixture.loci(&["index"]).expect(0);
    crate::fixture::signal(&child, "-STOP");
    let alone = fixture.loci(&["sessions", "--json"]).expect(0);
    assert_eq!(alone.records()[0]["sessions"].as_array().unwrap().len(), 5);
    assert!(alone.took < Duration::from_secs(20), "{:?}", alone.took);
    // A message waits for the same handshake once, and not for a second daemon after it.
    let sent = fixture.loci(&["dispatch", "nobody", "hello"]);
    assert!(sent.took.as_secs_f64() < 1.7 * alone.took.as_secs_f64(), "{:?} {:?}", sent.took, alone.took);
    let status = fixture.loci(&["daemon", "status", "--json"]).expect(1).records().remove(0);
    assert_eq!(status["trouble"], "the daemon does not respond");
    crate::fixture::signal(&child, "-CONT");
    assert!(wait_until(|| fixture.connect().is_some()));
}
