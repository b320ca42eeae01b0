//! A daemon that nobody needs writes nothing, and ends once its last reason is gone.

use crate::fixture::{Connection, Fixture, wait_until};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Each file of a home with its size and the time of its last change.
fn snapshot(home: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![home.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                folders.push(entry.path());
            } else if meta.is_file() {
                files.insert(entry.path(), (meta.len(), meta.modified().unwrap()));
            }
        }
    }
    files
}

/// The home is asked about like a source tree, and accepted as one, as in a container; its own files are below it.
#[test]
fn a_daemon_at_rest_writes_nothing_though_its_folders_are_in_a_tree() {
    let fixture = Fixture::with_sessions();
    fs::create_dir_all(fixture.path().join("src")).unwrap();
    fs::write(fixture.path().join("src/a.py"), "def get():\n    return 1\n").unwrap();
    let _child = fixture.serve();
    fixture.loci(&["code", "outline", "get", "--root", "."]).expect(0);
    fixture.loci(&["why", "src/a.py"]);
    // the daemon watches the tree once it has looked for folders again
    std::thread::sleep(Duration::from_secs(3));
    fs::write(fixture.path().join("src/b.py"), "def other():\n    return 1\n").unwrap();
    std::thread::sleep(Duration::from_secs(6));
    let before = snapshot(fixture.path());
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(snapshot(fixture.path()), before);
}

#[test]
fn a_home_folder_is_not_a_source_tree() {
    let fixture = Fixture::with_sessions();
    fs::create_dir_all(fixture.path().join("src")).unwrap();
    fs::write(fixture.path().join("src/a.py"), "def get():\n    return 1\n").unwrap();
    let above = fixture.path().parent().unwrap().to_string_lossy().into_owned();
    let home = fixture.path().to_string_lossy().into_owned();
    let lines: [&[&str]; 6] = [
        &["code", "outline", "get"],
        &["code", "status", "--root", &home],
        &["code", "map", "--root", &above],
        &["why", "src/a.py"],
        &["edit", "rename", "get", "fetch"],
        &["code", "status", "--root", "/"],
    ];
    for line in lines {
        let mut command = fixture.command(line);
        command.env_remove("LOCI_HOME_TREE");
        let refused = testutil::run_command(command).expect(1);
        assert!(refused.stderr.contains("not a source tree"), "{line:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("--root"), "{line:?}: {}", refused.stderr);
    }
    assert!(!fixture.path().join(".cache/loci/code").exists(), "nothing was indexed");
    let mut below = fixture.command(&["code", "outline", "get", "--root", "src"]);
    below.env_remove("LOCI_HOME_TREE");
    testutil::run_command(below).expect(0);
}

#[test]
fn removing_the_setup_stops_the_daemon() {
    let fixture = Fixture::with_sessions();
    fixture.loci(&["setup", "--yes"]).expect(0);
    let mut child = fixture.serve();
    fixture.loci(&["setup", "--remove", "--dry-run"]).expect(0);
    assert!(fixture.connect().is_some(), "a dry run stops nothing");
    let removed = fixture.loci(&["setup", "--remove", "--yes"]);
    assert!(removed.stderr.contains("the daemon has stopped"), "{}", removed.stderr);
    assert!(wait_until(|| fixture.connect().is_none()));
    assert!(child.wait().unwrap().success());
}

/// As many connections as there may be, of a program that keeps them open.
#[test]
fn idle_connections_give_way_to_a_client() {
    let fixture = Fixture::with_sessions();
    let _child = fixture.serve();
    let socket = fixture.socket();
    let mut used = fixture.connect().unwrap();
    let idle: Vec<Connection> = (0..256).filter_map(|_| Connection::open(&socket)).collect();
    assert!(idle.len() > 250);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(used.request("ping", json!({})).is_some());
    let began = Instant::now();
    let mut clients = Vec::new();
    for n in 0..20 {
        let mut client = Connection::open(&socket).unwrap();
        let answer = client.request("list_sessions", json!({"limit": 1}));
        assert!(answer.is_some_and(|it| it.get("result").is_some()), "client {n}");
        clients.push(client);
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(used.request("ping", json!({})).is_some(), "a connection in use stays");
}
