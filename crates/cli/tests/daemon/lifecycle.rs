//! Starting, stopping and exiting of the daemon, which must leave nothing behind.

use crate::fixture::{Fixture, TIMEOUT, rounds, signal, wait_for_exit, wait_until, wait_until_within};
use serde_json::json;
use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_daemon_starts_reports_its_status_and_stops() {
    let fixture = Fixture::new();
    assert_eq!(fixture.loci(&["daemon", "status", "--json"]).expect(2).records()[0]["running"], false);
    fixture.loci(&["daemon", "logs"]).expect(2);
    let first = fixture.start();
    assert_eq!((&first["running"], &first["started"]), (&json!(true), &json!(true)));
    let second = fixture.start();
    assert_eq!((&second["pid"], &second["started"]), (&first["pid"], &json!(false)));
    let status = fixture.loci(&["daemon", "status", "--json"]).expect(0).records().remove(0);
    assert_eq!(status["pid"], first["pid"]);
    assert!(status["rss_bytes"].as_u64().unwrap() > 0 && status["protocol"] == 1, "{status}");
    let logs = fixture.loci(&["daemon", "logs", "-n", "1"]).expect(0).records();
    assert_eq!((logs.len(), logs[0]["what"].as_str()), (1, Some("started")));
    fixture.loci(&["daemon", "stop"]).expect(0);
    fixture.loci(&["daemon", "stop"]).expect(2);
    assert_eq!(fixture.log().last().unwrap()["why"], "drained");
    let left: Vec<_> = std::fs::read_dir(fixture.path().join("run/loci")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Otherwise a script that waits for the end of a pipe would wait as long as the daemon runs.
#[test]
fn the_daemon_keeps_no_inherited_file_open() {
    let fixture = Fixture::new();
    let start = fixture.command(&["daemon", "start"]);
    let mut script = Command::new("sh");
    script.args(["-c", "exec 5>&1 9>&1; \"$0\" daemon start >/dev/null 2>&1 </dev/null"]);
    script.arg(start.get_program()).env_clear();
    script.envs(start.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = script.stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(pipe.read_to_end(&mut Vec::new()).is_ok()));
    assert_eq!(receiver.recv_timeout(TIMEOUT), Ok(true), "the other end of the pipe is still open");
    assert!(child.wait().unwrap().success());
    assert_eq!(fixture.status()["running"], true);
}

/// The metrics are lines of a name and a number, with and without a daemon.
#[test]
fn metrics_are_printed_with_and_without_a_daemon() {
    let fixture = Fixture::with_sessions();
    fixture.loci(&["index"]).expect(0);
    let metric = |name: &str| {
        let metrics = fixture.loci(&["daemon", "metrics"]).expect(0).text().to_string();
        for line in metrics.lines().filter(|line| !line.starts_with('#')) {
            let (head, value) = line.rsplit_once(' ').unwrap();
            assert!(head.starts_with("loci_") && value.parse::<f64>().is_ok(), "{line}");
        }
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("loci_{name} ")));
        line.map(|value| value.parse::<f64>().unwrap())
    };
    assert_eq!((metric("up"), metric("transcripts"), metric("rss_bytes")), (Some(0.0), Some(5.0), None));
    let _child = fixture.serve();
    fixture.loci(&["sessions"]).expect(0);
    assert_eq!(metric("up"), Some(1.0));
    assert!(metric("rss_bytes").unwrap() > 1e6 && metric("open_files").unwrap() > 3.0);
    assert!(metric("query_total{method=\"list_sessions\"}").unwrap() >= 1.0);
    assert!(metric("query_ms{method=\"list_sessions\",quantile=\"0.95\"}").unwrap() > 0.0);
}

#[test]
fn doctor_reports_a_killed_daemon() {
    let fixture = Fixture::new();
    let find_exits = || {
        let checkup = fixture.loci(&["doctor", "--json"]).records().remove(0);
        checkup["findings"].as_array().unwrap().iter().find(|one| one["check"] == "exits").cloned()
    };
    assert_eq!(find_exits(), None);
    fixture.start();
    fixture.loci(&["daemon", "stop"]).expect(0);
    assert_eq!(find_exits().unwrap()["severity"], "ok");
    let mut child = fixture.serve();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(find_exits().unwrap()["severity"], "warning", "before another daemon starts");
    fixture.start();
    let found = find_exits().unwrap();
    assert_eq!(
        (&found["severity"], &found["fix"]),
        (&json!("warning"), &json!("loci daemon logs -n 100")),
        "{found}"
    );
}

#[test]
fn an_idle_daemon_exits() {
    let fixture = Fixture::new();
    testutil::write_file(
        &fixture.path().join(".config/loci/config.toml"),
        b"[daemon]\nidle_exit_minutes = 0\n",
    );
    let mut child = fixture.serve();
    assert_eq!(wait_for_exit(&mut child, TIMEOUT), Some(Some(0)));
    assert_eq!(fixture.log().last().unwrap()["why"], "idle");
    // With `--stay` it keeps running.
    let mut child = fixture.serve_with(|command| {
        command.arg("--stay");
    });
    std::thread::sleep(Duration::from_millis(2500));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, "-TERM");
    assert_eq!(wait_for_exit(&mut child, TIMEOUT), Some(Some(0)));
    assert_eq!(fixture.log().last().unwrap()["why"], "signalled");
}

#[test]
fn an_unknown_setting_is_named() {
    let fixture = Fixture::new();
    testutil::write_file(&fixture.path().join(".config/loci/config.toml"), b"[daemon]\nidle_exit = 1\n");
    let refused = fixture.loci(&["daemon", "run"]).expect(1);
    assert!(
        refused.stderr.contains("idle_exit") && refused.stderr.contains("daemon.idle_exit_minutes"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_daemon_whose_binary_was_replaced_exits() {
    let fixture = Fixture::new();
    let copy = fixture.path().join("loci");
    std::fs::copy(testutil::binary(), &copy).unwrap();
    let mut command = std::process::Command::new(&copy);
    testutil::set_environment(&mut command, fixture.path());
    command.env("XDG_RUNTIME_DIR", fixture.path().join("run")).args(["daemon", "run"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    assert!(wait_until(|| fixture.connect().is_some()));
    let newer = fixture.path().join("loci.new");
    std::fs::copy(testutil::binary(), &newer).unwrap();
    std::fs::rename(&newer, &copy).unwrap();
    assert_eq!(wait_for_exit(&mut child, TIMEOUT), Some(Some(0)));
    assert_eq!(fixture.log().last().unwrap()["why"], "replaced");
}

#[test]
fn a_daemon_whose_data_folder_was_deleted_exits() {
    let fixture = Fixture::new();
    let mut child = fixture.serve();
    std::fs::remove_dir_all(fixture.path().join(".local/share/loci")).unwrap();
    assert_eq!(wait_for_exit(&mut child, TIMEOUT), Some(Some(0)));
}

#[test]
fn a_drain_request_ends_the_daemon() {
    let fixture = Fixture::new();
    let mut child = fixture.serve();
    let mut connection = fixture.connect().unwrap();
    let hello = connection.request("hello", json!({})).unwrap();
    assert_eq!(hello["result"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(connection.request("drain", json!({})).unwrap()["result"]["draining"], true);
    assert_eq!(wait_for_exit(&mut child, TIMEOUT), Some(Some(0)));
    // Commands work without it.
    fixture.loci(&["sessions", "--json"]).expect(2);
}

/// On SIGTERM a running call is finished or cancelled; a second SIGTERM ends the daemon without waiting.
#[test]
fn running_calls_are_finished_or_cancelled_and_no_child_is_left() {
    let fixture = Fixture::with_sessions();
    for times in [1, 2] {
        let mut child = fixture.serve();
        let mut connection = fixture.connect().unwrap();
        let filter = json!({"jq_filter": "def f: f; f"});
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "query messages", "params": {"all_projects": true, "jq_filter": filter["jq_filter"], "_meta": {"cwd": fixture.path()}}});
        connection.send(format!("{request}\n").as_bytes());
        assert!(wait_until(|| !children(child.id()).is_empty()), "the filter never ran");
        let subprocesses = children(child.id());
        let signalled = Instant::now();
        for _ in 0..times {
            signal(&child, "-TERM");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(wait_for_exit(&mut child, TIMEOUT), Some(Some(0)));
        // Three seconds, plus slack for a busy machine.
        assert!(signalled.elapsed() < Duration::from_secs(10), "{:?}", signalled.elapsed());
        assert!(
            wait_until_within(TIMEOUT, || subprocesses.iter().all(|subprocess| !is_alive(*subprocess))),
            "{subprocesses:?}"
        );
    }
}

/// `LOCI_KILLS=50` runs the long form.
#[test]
fn a_killed_daemon_leaves_no_child_and_the_next_one_serves() {
    let fixture = Fixture::with_sessions();
    for round in 0..rounds("LOCI_KILLS", 4) {
        let mut child = fixture.serve();
        let searches: Vec<_> = (0..4)
            .map(|n| {
                let mut command = fixture.command(&["search", "walrus", &format!("number{n}"), "--json"]);
                std::thread::spawn(move || command.output().unwrap())
            })
            .collect();
        let mut connection = fixture.connect().unwrap();
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "query messages", "params": {"all_projects": true, "jq_filter": "def f: f; f"}});
        connection.send(format!("{request}\n").as_bytes());
        std::thread::sleep(Duration::from_millis(37 * (round as u64 % 7)));
        let subprocesses = children(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        // A command that got no response from the daemon did the work itself.
        for search in searches {
            let output = search.join().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(String::from_utf8_lossy(&output.stdout).contains("walrus"));
        }
        assert!(
            wait_until_within(TIMEOUT, || subprocesses.iter().all(|subprocess| !is_alive(*subprocess))),
            "{subprocesses:?}"
        );
    }
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| parent_pid(*child) == Some(pid)).collect()
}

fn parent_pid(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn systemd_is_notified_of_the_state_of_the_daemon() {
    let fixture = Fixture::new();
    let path = fixture.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let receive = || {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let enable_notify = |command: &mut Command| {
        command.arg("--stay").env("NOTIFY_SOCKET", &path);
    };
    let mut child = fixture.serve_with(enable_notify);
    assert_eq!(
        (receive(), receive(), receive()),
        ("READY=1".into(), "WATCHDOG=1".into(), "WATCHDOG=1".into())
    );
    // A second daemon that finds the first one serving reports ready and exits with success.
    let mut second = fixture.command(&["daemon", "run"]);
    enable_notify(&mut second);
    assert!(second.status().unwrap().success());
    while receive() != "READY=1" {}
    signal(&child, "-TERM");
    while receive() != "STOPPING=1" {}
    assert_eq!(wait_for_exit(&mut child, TIMEOUT), Some(Some(0)));
}

#[test]
fn a_systemd_user_unit_can_be_installed_and_removed() {
    let fixture = Fixture::new();
    let unit = fixture.path().join(".config/systemd/user/loci.service");
    let dry = fixture.loci(&["daemon", "install", "--dry-run", "--json"]).expect(0).records().remove(0);
    assert!(!unit.exists() && dry["dry_run"] == true);
    fixture.loci(&["daemon", "install"]).expect(0);
    let text = std::fs::read_to_string(&unit).unwrap();
    assert_eq!(dry["text"], text.as_str());
    assert!(text.contains("daemon run --stay") && text.contains(testutil::binary()), "{text}");
    assert!(text.contains("Type=notify\nWatchdogSec=30\n"), "{text}");
    // If systemd is installed, it verifies the unit.
    if let Ok(verified) =
        std::process::Command::new("systemd-analyze").args(["verify", "--user"]).arg(&unit).output()
    {
        let printed = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(!printed.contains("loci.service:"), "{printed}");
    }
    fixture.loci(&["daemon", "uninstall", "--dry-run"]).expect(0);
    assert!(unit.exists());
    fixture.loci(&["daemon", "uninstall"]).expect(0);
    assert!(!unit.exists());
    fixture.loci(&["daemon", "uninstall"]).expect(2);
}
