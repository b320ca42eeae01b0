//! The server does not outlive its agent: whether the agent closes the line or is killed, and whatever the server is
//! doing, a second later it is gone, and everybody who works for it.
//!
//! Twenty rounds of each; `LOCI_ROUNDS=100` for more.

use crate::protocol::{long_history, through};
use crate::raw_client::{PATIENCE, RawClient};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use testutil::needs::number_variable;
use testutil::{binary, command, run_command, sample_home, set_environment};

/// The promise.
const GONE: Duration = Duration::from_secs(1);

/// Nothing stops it for two seconds, when it has had its time.
const ENDLESS: &str = "last(range(infinite))";

fn rounds() -> usize {
    number_variable("LOCI_ROUNDS", 20)
}

/// Plays it so often; each time it tells how long the server took to go.
fn each_time(name: &str, play: impl Fn() -> Duration) {
    let mut took: Vec<Duration> = (0..rounds()).map(|_| play()).collect();
    took.sort();
    let late = took.iter().filter(|took| **took > GONE).count();
    let (half, last) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{name}: {} of {} in time, half within {half:?}, all within {last:?}",
        took.len() - late,
        took.len()
    );
    assert_eq!(late, 0, "{name}: gone too late: {took:?}");
}

struct Process {
    state: char,
    parent: u32,
    /// What it has computed so far, in hundredths of a second.
    busy: u32,
}

impl Process {
    /// None: it is gone.
    fn look(pid: u32) -> Option<Process> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // Its name may hold blanks and brackets; what follows the last one does not.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Process { state: fields.first()?.chars().next()?, parent: number(1)?, busy: number(11)? })
    }

    /// Who is dead but not yet buried does not run.
    fn runs(pid: u32) -> bool {
        Process::look(pid).is_some_and(|process| !"ZX".contains(process.state))
    }
}

/// The process ids of those whose parent this is.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let all =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|pid| Process::look(*pid).is_some_and(|process| process.parent == parent)).collect()
}

fn wait_until(what: &str, so: impl Fn() -> bool) -> Duration {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < PATIENCE, "it never is that {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
    started.elapsed()
}

/// How long it takes until none of them runs.
fn gone(all: &[u32]) -> Duration {
    wait_until("all are gone", || !all.iter().any(|pid| Process::runs(*pid)))
}

/// The server and whoever works for it, once a filter has been at it for a while.
fn at_work(server: u32) -> Vec<u32> {
    let busy = |pid: &u32| Process::look(*pid).is_some_and(|process| process.busy >= 5);
    wait_until("a filter works", || children(server).iter().any(busy));
    [vec![server], children(server)].concat()
}

#[test]
fn an_agent_that_never_says_anything() {
    let home = sample_home();
    each_time("nothing to read", || run_command(command(home.path(), &["mcp"])).expect(0).took);
    each_time("closed at once", || {
        let mut client = RawClient::start(home.path(), &[]);
        client.hang_up();
        client.ends()
    });
}

#[test]
fn an_agent_that_hangs_up_after_the_greeting() {
    let home = sample_home();
    each_time("closed after the greeting", || {
        let mut client = RawClient::greeted(home.path(), &[]);
        client.hang_up();
        client.ends()
    });
}

#[test]
fn an_agent_that_hangs_up_in_the_middle_of_a_call() {
    let home = long_history(20);
    each_time("closed in the middle of a call", || {
        let mut client = RawClient::greeted(home.path(), &[]);
        client.begin("tools/call", through(ENDLESS));
        let all = at_work(client.child.id());
        client.hang_up();
        let took = gone(&all);
        client.ends();
        took
    });
}

/// A shell starts the server and is killed. The line stays open: we hold the other end of it, as a sibling of the server
/// may that the agent had started too.
#[test]
fn an_agent_that_is_killed_while_the_line_stays_open() {
    let home = long_history(20);
    for (name, busy) in [("killed while idle", false), ("killed in the middle of a call", true)] {
        each_time(name, || {
            let mut shell = Command::new("/bin/sh");
            set_environment(&mut shell, home.path());
            // Something after it, so that the shell does not become the server.
            shell.args(["-c", "\"$0\" mcp; true", binary()]);
            let mut client = RawClient::with(shell);
            client.greet("2025-06-18");
            let server = children(client.child.id())[0];
            let all = if busy {
                client.begin("tools/call", through(ENDLESS));
                at_work(server)
            } else {
                vec![server]
            };
            client.child.kill().unwrap();
            client.child.wait().unwrap();
            gone(&all)
        });
    }
}

/// Who asks and closes the line at once still gets what can be had quickly.
#[test]
fn a_last_question_is_still_answered() {
    let home = sample_home();
    let mut client = RawClient::greeted(home.path(), &[]);
    let id = client.begin("tools/list", serde_json::json!({}));
    client.hang_up();
    assert_eq!(client.answer(id)["result"]["tools"].as_array().unwrap().len(), crate::usual());
    client.ends();
}
