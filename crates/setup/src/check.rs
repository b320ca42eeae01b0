//! Checks an installation without a network: the settings contain what they should, and the program they name runs and
//! responds.
//!
//! Does not start the agent.

use crate::agents::Agent;
use crate::artifact::Artifact;
use crate::{Machine, disk, is_program};
use api::setup::Check;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longer than a start takes on a busy machine; only a program that hangs reaches it.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run_checks(machine: &Machine, agent: &Agent) -> Vec<Check> {
    let pieces = agent.artifacts(machine);
    let installed = pieces.iter().filter(|piece| piece.is_installed()).count();
    let loci = machine.loci_program();
    let path = Path::new(loci.path());
    let mut checks = vec![
        Check {
            what: format!("{installed} of {} files are installed as expected", pieces.len()),
            holds: installed == pieces.len(),
        },
        Check { what: format!("{} is executable", path.display()), holds: is_program(path) },
    ];
    if checks[1].holds {
        checks.push(check_response(path));
    }
    checks
}

impl Artifact {
    fn is_installed(&self) -> bool {
        match self {
            Artifact::OwnFile { path, text } => {
                disk::read_text(path).is_ok_and(|there| there.as_ref() == Some(text))
            }
            Artifact::Entries { path, form, entries } => {
                let text = disk::read_text(path).ok().flatten().unwrap_or_default();
                form.parse_tree(&text)
                    .is_ok_and(|tree| entries.iter().all(|e| e.location.find(&tree) == Some(&e.value)))
            }
        }
    }
}

/// The first request of an MCP client.
const INITIALIZE_REQUEST: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"loci-setup","version":"1"}}}"#,
    "\n"
);

fn check_response(program: &Path) -> Check {
    if first_output_line(program, "mcp", INITIALIZE_REQUEST)
        .is_some_and(|line| line.contains("\"serverInfo\""))
    {
        return Check { what: "`loci mcp` responds".to_string(), holds: true };
    }
    let version = first_output_line(program, "--version", "").unwrap_or_default();
    let name = if version.is_empty() { "nothing" } else { version.trim() };
    Check { what: format!("`loci --version` prints {name}"), holds: version.starts_with("loci ") }
}

/// The first line that a program prints. `None` if it prints none or hangs.
fn first_output_line(program: &Path, argument: &str, stdin: &str) -> Option<String> {
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let started =
        Command::new(program).arg(argument).stdin(input).stdout(output).stderr(Stdio::null()).spawn();
    let mut child = started.ok()?;
    // Keep the input open until the response arrives: a server may exit when it closes, even with a request pending.
    let mut input = child.stdin.take()?;
    let output = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _ = sender.send(read.ok().map(|_| line));
    });
    let _ = input.write_all(stdin.as_bytes());
    let line = receiver.recv_timeout(TIMEOUT).ok().flatten();
    drop(input);
    wait_or_kill(&mut child);
    line
}

/// Waits for the child to exit, and kills it after a timeout.
fn wait_or_kill(child: &mut Child) {
    let until = Instant::now() + TIMEOUT;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            _ => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_accepted_when_it_responds() {
        let folder = tempfile::tempdir().unwrap();
        for (at, (script, what, holds)) in [
            ("read line; echo '{\"result\":{\"serverInfo\":{}}}'; cat", "`loci mcp` responds", true),
            ("[ $1 = mcp ] && exit 1; echo loci 1.2", "`loci --version` prints loci 1.2", true),
            ("echo something else", "`loci --version` prints something else", false),
            ("exit 1", "`loci --version` prints nothing", false),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(format!("loci{at}"));
            // Written by another process: a file that a child of another test still holds open for writing cannot be executed.
            let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
            assert!(
                Command::new("sh").args(["-c", write]).arg(&path).arg(script).status().unwrap().success()
            );
            assert_eq!(check_response(&path), Check { what: what.to_string(), holds }, "{script}");
        }
    }
}
