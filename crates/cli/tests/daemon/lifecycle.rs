//! When it goes, and what it leaves: nothing.

use crate::fixture::{Fixture, SOON, ended_within, rounds, signal, until, until_within};
use serde_json::json;
use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn it_is_started_looked_at_and_stopped() {
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

/// A script that waits for the end of a pipe would wait for as long as the daemon runs.
#[test]
fn it_holds_nothing_open_of_whoever_started_it() {
    let fixture = Fixture::new();
    let start = fixture.command(&["daemon", "start"]);
    let mut script = Command::new("sh");
    script.args(["-c", "exec 5>&1 9>&1; \"$0\" daemon start >/dev/null 2>&1 </dev/null"]);
    script.arg(start.get_program()).env_clear();
    script.envs(start.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = script.stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(pipe.read_to_end(&mut Vec::new()).is_ok()));
    assert_eq!(told.recv_timeout(SOON), Ok(true), "the other end of the pipe is still open");
    assert!(child.wait().unwrap().success());
    assert_eq!(fixture.status()["running"], true);
}

/// Figures with a daemon and without, in lines that a monitor reads.
#[test]
fn a_monitor_can_read_how_it_stands() {
    let fixture = Fixture::with_sessions();
    fixture.loci(&["index"]).expect(0);
    let figure = |name: &str| {
        let told = fixture.loci(&["daemon", "metrics"]).expect(0).text().to_string();
        for line in told.lines().filter(|line| !line.starts_with('#')) {
            let (head, value) = line.rsplit_once(' ').unwrap();
            assert!(head.starts_with("loci_") && value.parse::<f64>().is_ok(), "{line}");
        }
        let line = told.lines().find_map(|line| line.strip_prefix(&format!("loci_{name} ")));
        line.map(|value| value.parse::<f64>().unwrap())
    };
    assert_eq!((figure("up"), figure("transcripts"), figure("rss_bytes")), (Some(0.0), Some(5.0), None));
    let _child = fixture.serve();
    fixture.loci(&["sessions"]).expect(0);
    assert_eq!(figure("up"), Some(1.0));
    assert!(figure("rss_bytes").unwrap() > 1e6 && figure("open_files").unwrap() > 3.0);
    assert!(figure("query_total{method=\"list_sessions\"}").unwrap() >= 1.0);
    assert!(figure("query_ms{method=\"list_sessions\",quantile=\"0.95\"}").unwrap() > 0.0);
}

#[test]
fn a_daemon_that_was_killed_is_found_by_the_doctor() {
    let fixture = Fixture::new();
    let exits = || {
        let checkup = fixture.loci(&["doctor", "--json"]).records().remove(0);
        checkup["findings"].as_array().unwrap().iter().find(|one| one["check"] == "exits").cloned()
    };
    assert_eq!(exits(), None);
    fixture.start();
    fixture.loci(&["daemon", "stop"]).expect(0);
    assert_eq!(exits().unwrap()["severity"], "ok");
    let mut child = fixture.serve();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(exits().unwrap()["severity"], "warning", "before another is started");
    fixture.start();
    let found = exits().unwrap();
    assert_eq!(
        (&found["severity"], &found["fix"]),
        (&json!("warning"), &json!("loci daemon logs -n 100")),
        "{found}"
    );
}

#[test]
fn nobody_needs_it_and_it_goes() {
    let fixture = Fixture::new();
    testutil::write_file(
        &fixture.path().join(".config/loci/config.toml"),
        b"[daemon]\nidle_exit_minutes = 0\n",
    );
    let mut child = fixture.serve();
    assert_eq!(ended_within(&mut child, SOON), Some(Some(0)));
    assert_eq!(fixture.log().last().unwrap()["why"], "idle");
    // With `--stay` it stays.
    let mut child = fixture.serve_with(|command| {
        command.arg("--stay");
    });
    std::thread::sleep(Duration::from_millis(2500));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, "-TERM");
    assert_eq!(ended_within(&mut child, SOON), Some(Some(0)));
    assert_eq!(fixture.log().last().unwrap()["why"], "signalled");
}

#[test]
fn a_setting_that_is_not_understood_is_named() {
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
fn a_program_that_was_replaced_makes_room() {
    let fixture = Fixture::new();
    let copy = fixture.path().join("loci");
    std::fs::copy(testutil::binary(), &copy).unwrap();
    let mut command = std::process::Command::new(&copy);
    testutil::set_environment(&mut command, fixture.path());
    command.env("XDG_RUNTIME_DIR", fixture.path().join("run")).args(["daemon", "run"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    assert!(until(|| fixture.line().is_some()));
    let newer = fixture.path().join("loci.new");
    std::fs::copy(testutil::binary(), &newer).unwrap();
    std::fs::rename(&newer, &copy).unwrap();
    assert_eq!(ended_within(&mut child, SOON), Some(Some(0)));
    assert_eq!(fixture.log().last().unwrap()["why"], "replaced");
}

#[test]
fn a_home_that_is_gone_is_not_kept() {
    let fixture = Fixture::new();
    let mut child = fixture.serve();
    std::fs::remove_dir_all(fixture.path().join(".local/share/loci")).unwrap();
    assert_eq!(ended_within(&mut child, SOON), Some(Some(0)));
}

#[test]
fn a_client_of_another_version_has_it_drained() {
    let fixture = Fixture::new();
    let mut child = fixture.serve();
    let mut line = fixture.line().unwrap();
    let hello = line.ask("hello", json!({})).unwrap();
    assert_eq!(hello["result"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(line.ask("drain", json!({})).unwrap()["result"]["draining"], true);
    assert_eq!(ended_within(&mut child, SOON), Some(Some(0)));
    // Commands go on without it.
    fixture.loci(&["sessions", "--json"]).expect(2);
}

/// A call that runs when it is told to end is finished, or called off; asked twice, it does not wait.
#[test]
fn what_runs_is_finished_or_called_off_and_no_child_is_left() {
    let fixture = Fixture::with_sessions();
    for times in [1, 2] {
        let mut child = fixture.serve();
        let mut line = fixture.line().unwrap();
        let slow = json!({"jq_filter": "def f: f; f"});
        let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "query messages", "params": {"all_projects": true, "jq_filter": slow["jq_filter"], "_meta": {"cwd": fixture.path()}}});
        line.send(format!("{asked}\n").as_bytes());
        assert!(until(|| !children(child.id()).is_empty()), "the filter never ran");
        let kids = children(child.id());
        let told = Instant::now();
        for _ in 0..times {
            signal(&child, "-TERM");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(ended_within(&mut child, SOON), Some(Some(0)));
        // Three seconds and what a busy machine adds to them.
        assert!(told.elapsed() < Duration::from_secs(10), "{:?}", told.elapsed());
        assert!(until_within(SOON, || kids.iter().all(|kid| !is_alive(*kid))), "{kids:?}");
    }
}

/// `LOCI_KILLS=50` is the long form.
#[test]
fn killed_at_any_moment_it_leaves_no_child_and_the_next_one_serves() {
    let fixture = Fixture::with_sessions();
    for round in 0..rounds("LOCI_KILLS", 4) {
        let mut child = fixture.serve();
        let asking: Vec<_> = (0..4)
            .map(|n| {
                let mut command = fixture.command(&["search", "walrus", &format!("number{n}"), "--json"]);
                std::thread::spawn(move || command.output().unwrap())
            })
            .collect();
        let mut line = fixture.line().unwrap();
        let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "query messages", "params": {"all_projects": true, "jq_filter": "def f: f; f"}});
        line.send(format!("{asked}\n").as_bytes());
        std::thread::sleep(Duration::from_millis(37 * (round as u64 % 7)));
        let kids = children(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        // Whoever was not answered by it did it alone.
        for asked in asking {
            let output = asked.join().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(String::from_utf8_lossy(&output.stdout).contains("walrus"));
        }
        assert!(until_within(SOON, || kids.iter().all(|kid| !is_alive(*kid))), "{kids:?}");
    }
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| parent(*child) == Some(pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn whoever_has_it_stay_is_told_how_it_stands() {
    let fixture = Fixture::new();
    let path = fixture.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let hear = || {
        let mut said = [0; 64];
        let many = socket.recv(&mut said).unwrap();
        String::from_utf8_lossy(&said[..many]).into_owned()
    };
    let told = |command: &mut Command| {
        command.arg("--stay").env("NOTIFY_SOCKET", &path);
    };
    let mut child = fixture.serve_with(told);
    assert_eq!((hear(), hear(), hear()), ("READY=1".into(), "WATCHDOG=1".into(), "WATCHDOG=1".into()));
    // A second one that finds it serving has what it wanted.
    let mut second = fixture.command(&["daemon", "run"]);
    told(&mut second);
    assert!(second.status().unwrap().success());
    while hear() != "READY=1" {}
    signal(&child, "-TERM");
    while hear() != "STOPPING=1" {}
    assert_eq!(ended_within(&mut child, SOON), Some(Some(0)));
}

#[test]
fn it_can_be_started_with_the_session() {
    let fixture = Fixture::new();
    let unit = fixture.path().join(".config/systemd/user/loci.service");
    let dry = fixture.loci(&["daemon", "install", "--dry-run", "--json"]).expect(0).records().remove(0);
    assert!(!unit.exists() && dry["dry_run"] == true);
    fixture.loci(&["daemon", "install"]).expect(0);
    let text = std::fs::read_to_string(&unit).unwrap();
    assert_eq!(dry["text"], text.as_str());
    assert!(text.contains("daemon run --stay") && text.contains(testutil::binary()), "{text}");
    assert!(text.contains("Type=notify\nWatchdogSec=30\n"), "{text}");
    // Where systemd is, it has a word on it.
    if let Ok(verified) =
        std::process::Command::new("systemd-analyze").args(["verify", "--user"]).arg(&unit).output()
    {
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(!said.contains("loci.service:"), "{said}");
    }
    fixture.loci(&["daemon", "uninstall", "--dry-run"]).expect(0);
    assert!(unit.exists());
    fixture.loci(&["daemon", "uninstall"]).expect(0);
    assert!(!unit.exists());
    fixture.loci(&["daemon", "uninstall"]).expect(2);
}
