//! What it does with those who do not behave, and with those who may not ask at all.

use crate::fixture::{Fixture, Line, until};
use serde_json::json;
use std::io::Read;
use std::process::Command;
use std::time::Duration;
use testutil::needs::OtherUser;

#[test]
fn every_operation_of_every_interface_is_answered_and_nothing_else() {
    let fixture = Fixture::with_sessions();
    let _child = fixture.serve();
    let mut line = fixture.line().unwrap();
    let here = json!({"cwd": fixture.path()});
    let found = line.ask("list_sessions", json!({"limit": 2, "_meta": here})).unwrap();
    assert_eq!(found["result"]["sessions"].as_array().unwrap().len(), 2);
    // The same as an agent gets it.
    let enclosed = json!({"limit": 2, "_meta": {"envelope": true}});
    let enclosed = line.ask("list_sessions", enclosed).unwrap();
    assert_eq!(enclosed["result"]["data"]["sessions"].as_array().unwrap().len(), 2);
    let view = line.ask("query messages", json!({"all_projects": true, "limit": 1})).unwrap();
    assert_eq!(view["result"]["printed"], 1);
    for (method, params, code, word) in [
        ("nothing_of_ours", json!({}), -32601, None),
        ("list_sessions", json!({"limt": 2}), -32602, Some("INVALID_ARGUMENT")),
        ("list_sessions", json!({"_meta": {"who": 1}}), -32602, None),
        ("gather_chats", json!({"chatIds": ["ffffffff"]}), -32000, Some("SESSION_NOT_FOUND")),
    ] {
        let refused = line.ask(method, params).unwrap();
        assert_eq!(refused["error"]["code"], code, "{refused}");
        assert_eq!(refused["error"]["data"]["code"].as_str(), word, "{refused}");
    }
    // Every operation is known by name: what it lacks are parameters, not an answer.
    for operation in api::OPERATIONS {
        let said = line.ask(operation.name, json!({"no_such_parameter": 1})).unwrap();
        assert_eq!(said["error"]["code"], -32602, "{}: {said}", operation.name);
    }
}

#[test]
fn garbage_half_lines_and_floods_cost_the_one_who_sends_them() {
    let fixture = Fixture::new();
    let child = fixture.serve();
    let socket = fixture.socket();
    let before = rss(child.id());
    let mut rude = Line::at(&socket).unwrap();
    rude.send(b"\x00\xff{}\n[1,2]\n");
    assert_eq!(rude.hear().unwrap()["error"]["code"], -32700);
    assert_eq!(rude.hear().unwrap()["error"]["code"], -32600);
    // More than a request may have.
    let mut endless = Line::at(&socket).unwrap();
    let mut sent = 0;
    while sent < (64 << 20) && endless.send(&[b'x'; 1 << 16]) {
        sent += 1 << 16;
    }
    assert!(sent < (16 << 20), "it took {sent} bytes");
    // Half a line, and a hundred who say nothing.
    let mut half = Line::at(&socket).unwrap();
    half.send(b"{\"jsonrpc\":");
    let silent: Vec<Line> = (0..100).filter_map(|_| Line::at(&socket)).collect();
    assert!(fixture.line().is_some(), "others are kept waiting");
    let mut rest = Vec::new();
    half.reader.get_mut().read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "a line that is never finished is cut off");
    drop(silent);
    for _ in 0..500 {
        drop(Line::at(&socket));
    }
    assert!(until(|| fixture.line().is_some()));
    let grown = rss(child.id()).saturating_sub(before);
    assert!(grown < 30 << 20, "{grown}");
}

fn rss(pid: u32) -> u64 {
    memory(pid, "VmRSS:")
}

/// A figure of the kernel's about a process, in bytes.
pub(crate) fn memory(pid: u32, figure: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Each answer is larger than a socket holds, so that it cannot be handed over.
#[test]
fn answers_that_nobody_reads_hold_neither_threads_nor_memory_nor_others() {
    const HOGS: usize = 40;
    let fixture = Fixture::new();
    fixture.converse(1, &"all of it is about the walrus ".repeat(15_000));
    fixture.converse(2, "a short one");
    let child = fixture.serve();
    let socket = fixture.socket();
    let ask = |line: &mut Line| line.ask("gather_chats", json!({"chatIds": ["00000002"]}));
    assert!(ask(&mut fixture.line().unwrap()).unwrap().get("result").is_some());
    let (calm, before) = (threads(child.id()), rss(child.id()));
    let hog = |_| {
        let mut line = Line::at(&socket).unwrap();
        let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "gather_chats", "params": {"chatIds": ["00000001"], "_meta": {"threads": 1}}});
        let calls: String = (0..16).map(|id| format!("{}\n", call(id))).collect();
        assert!(line.send(calls.as_bytes()));
        line
    };
    let hogs: Vec<Line> = (0..HOGS).map(hog).collect();
    let (mut most, mut largest) = (0, 0);
    for _ in 0..10 {
        let said = ask(&mut fixture.line().unwrap());
        assert!(said.unwrap().get("result").is_some(), "another one is kept from being answered");
        most = most.max(threads(child.id()));
        largest = largest.max(rss(child.id()));
    }
    // A thread that listens to each; one that answers, and one that reads for it, for each and for those beside; and the
    // other one's. 697 when every call had a thread at once.
    assert!(most <= calm + HOGS + 2 * (HOGS + 32) + 4, "{calm} threads became {most}");
    assert!(largest.saturating_sub(before) < 400 << 20, "{before} bytes became {largest}");
    drop(hogs);
    assert!(until(|| fixture.status()["in_flight"] == 0), "{}", fixture.status());
    assert!(until(|| threads(child.id()) <= calm + 2), "{} threads", threads(child.id()));
}

/// The folder keeps others out; where somebody opened it, the peer is checked.
#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn another_user_is_not_listened_to() {
    let other = OtherUser::new();
    let fixture = Fixture::new();
    let _child = fixture.serve();
    let socket = fixture.socket();
    let talk = format!(
        "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(10)\ns.connect({:?})\ns.sendall(b'{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}}\\n')\nsys.stdout.write(s.recv(100).decode())",
        socket.to_str().unwrap()
    );
    let stranger = || other.program("python3").args(["-c", &talk]).output().unwrap();
    assert!(!stranger().status.success(), "the folder lets strangers in");
    for (path, mode) in [
        (fixture.path(), "755"),
        (&fixture.path().join("run"), "755"),
        (socket.parent().unwrap(), "755"),
        (&socket, "666"),
    ] {
        assert!(Command::new("chmod").arg(mode).arg(path).status().unwrap().success());
    }
    let said = stranger();
    assert!(said.stdout.is_empty(), "{}", String::from_utf8_lossy(&said.stdout));
    if said.status.success() {
        assert!(fixture.status()["foreign"].as_u64().unwrap() >= 1);
    }
}

#[test]
fn a_daemon_that_hangs_keeps_nobody_waiting_for_long() {
    let fixture = Fixture::with_sessions();
    let child = fixture.serve();
    fixture.loci(&["index"]).expect(0);
    crate::fixture::signal(&child, "-STOP");
    let alone = fixture.loci(&["sessions", "--json"]).expect(0);
    assert_eq!(alone.records()[0]["sessions"].as_array().unwrap().len(), 5);
    assert!(alone.took < Duration::from_secs(20), "{:?}", alone.took);
    let status = fixture.loci(&["daemon", "status", "--json"]).expect(1).records().remove(0);
    assert_eq!(status["trouble"], "it does not answer");
    crate::fixture::signal(&child, "-CONT");
    assert!(until(|| fixture.line().is_some()));
}
