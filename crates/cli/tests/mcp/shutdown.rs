//! The server does not outlive its agent: whether the agent closes stdin or is killed, and regardless of what the
//! server is doing, the server and its subprocesses exit within a second.
//!
//! 20 rounds per case; `LOCI_ROUNDS` sets another number.

use crate::protocol::{filtered_call, long_history};
use crate::raw_client::{RawClient, TIMEOUT};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use testutil::needs::number_variable;
use testutil::{binary, command, run_command, sample_home, set_environment};

/// The documented limit.
const EXIT_LIMIT: Duration = Duration::from_secs(1);

/// A filter that runs until its time limit of two seconds.
const ENDLESS_FILTER: &str = "last(range(infinite))";

fn rounds() -> usize {
    number_variable("LOCI_ROUNDS", 20)
}

/// Runs a case several times; `run` returns how long the server took to exit.
fn check_rounds(name: &str, run: impl Fn() -> Duration) {
    let mut took: Vec<Duration> = (0..rounds()).map(|_| run()).collect();
    took.sort();
    let late = took.iter().filter(|took| **took > EXIT_LIMIT).count();
    let (half, last) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{name}: {} of {} in time, half within {half:?}, all within {last:?}",
        took.len() - late,
        took.len()
    );
    assert_eq!(late, 0, "{name}: exited too late: {took:?}");
}

struct Process {
    state: char,
    parent: u32,
    /// CPU time used in user mode, in hundredths of a second.
    user_time: u32,
}

impl Process {
    /// `None` if the process does not exist.
    fn read(pid: u32) -> Option<Process> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The process name may contain blanks and parentheses; the fields after the last parenthesis do not.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Process { state: fields.first()?.chars().next()?, parent: number(1)?, user_time: number(11)? })
    }

    /// A zombie is not running.
    fn is_running(pid: u32) -> bool {
        Process::read(pid).is_some_and(|process| !"ZX".contains(process.state))
    }
}

/// The process IDs of the children of a process.
pub(crate) fn child_pids(parent: u32) -> Vec<u32> {
    let all =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|pid| Process::read(*pid).is_some_and(|process| process.parent == parent)).collect()
}

fn wait_until(description: &str, condition: impl Fn() -> bool) -> Duration {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < TIMEOUT, "timed out waiting until {description}");
        std::thread::sleep(Duration::from_millis(2));
    }
    started.elapsed()
}

/// Waits until none of the processes runs; returns how long that took.
fn time_until_exit(all: &[u32]) -> Duration {
    wait_until("all processes have exited", || !all.iter().any(|pid| Process::is_running(*pid)))
}

/// The server and its subprocesses, once a filter has been running for a while.
fn busy_processes(server: u32) -> Vec<u32> {
    let is_busy = |pid: &u32| Process::read(*pid).is_some_and(|process| process.user_time >= 5);
    wait_until("a filter is running", || child_pids(server).iter().any(is_busy));
    [vec![server], child_pids(server)].concat()
}

#[test]
fn the_server_exits_if_the_agent_sends_nothing() {
    let home = sample_home();
    check_rounds("empty stdin", || run_command(command(home.path(), &["mcp"])).expect(0).took);
    check_rounds("closed at once", || {
        let mut client = RawClient::start(home.path(), &[]);
        client.close_stdin();
        client.wait_until_exit()
    });
}

#[test]
fn the_server_exits_when_stdin_closes_after_initialize() {
    let home = sample_home();
    check_rounds("closed after initialize", || {
        let mut client = RawClient::initialized(home.path(), &[]);
        client.close_stdin();
        client.wait_until_exit()
    });
}

#[test]
fn the_server_exits_when_stdin_closes_during_a_call() {
    let home = long_history(20);
    check_rounds("closed during a call", || {
        let mut client = RawClient::initialized(home.path(), &[]);
        client.send_request("tools/call", filtered_call(ENDLESS_FILTER));
        let all = busy_processes(client.child.id());
        client.close_stdin();
        let took = time_until_exit(&all);
        client.wait_until_exit();
        took
    });
}

/// A shell starts the server and is killed. The server's stdin stays open because the test holds the other end of the
/// pipe, as another child of the agent might.
#[test]
fn the_server_exits_when_its_agent_is_killed_and_stdin_stays_open() {
    let home = long_history(20);
    for (name, busy) in [("killed while idle", false), ("killed during a call", true)] {
        check_rounds(name, || {
            let mut shell = Command::new("/bin/sh");
            set_environment(&mut shell, home.path());
            // A command after it keeps the shell from replacing itself with the server.
            shell.args(["-c", "\"$0\" mcp; true", binary()]);
            let mut client = RawClient::from_command(shell);
            client.initialize("2025-06-18");
            let server = child_pids(client.child.id())[0];
            let all = if busy {
                client.send_request("tools/call", filtered_call(ENDLESS_FILTER));
                busy_processes(server)
            } else {
                vec![server]
            };
            client.child.kill().unwrap();
            client.child.wait().unwrap();
            time_until_exit(&all)
        });
    }
}

/// A client that sends a request and closes stdin at once still gets a quick response.
#[test]
fn a_request_sent_before_stdin_closes_gets_a_response() {
    let home = sample_home();
    let mut client = RawClient::initialized(home.path(), &[]);
    let id = client.send_request("tools/list", serde_json::json!({}));
    client.close_stdin();
    assert_eq!(
        client.wait_for_response(id)["result"]["tools"].as_array().unwrap().len(),
        crate::default_tool_count()
    );
    client.wait_until_exit();
}
