//! What can be said without a network of whether the wiring holds: the settings say what they should, the program they
//! name runs and answers.
//!
//! Does not start the agent.

use crate::agents::{Agent, Piece};
use crate::{Machine, disk, is_program};
use api::setup::Check;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longer than a start takes on a busy machine; only a program that hangs gets there.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn checks(machine: &Machine, agent: &Agent) -> Vec<Check> {
    let pieces = (agent.pieces)(machine);
    let held = pieces.iter().filter(|piece| piece.stands()).count();
    let loci = machine.loci();
    let path = Path::new(loci.path());
    let mut checks = vec![
        Check {
            what: format!("{held} of {} files hold what they should", pieces.len()),
            holds: held == pieces.len(),
        },
        Check { what: format!("{} can be run", path.display()), holds: is_program(path) },
    ];
    if checks[1].holds {
        checks.push(answers(path));
    }
    checks
}

impl Piece {
    fn stands(&self) -> bool {
        match self {
            Piece::Whole { path, text } => disk::read(path).is_ok_and(|there| there.as_ref() == Some(text)),
            Piece::Entries { path, form, entries } => {
                let text = disk::read(path).ok().flatten().unwrap_or_default();
                form.tree(&text)
                    .is_ok_and(|tree| entries.iter().all(|e| e.spot.find(&tree) == Some(&e.value)))
            }
        }
    }
}

/// What an agent says first to a server of tools.
const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"loci-setup","version":"1"}}}"#,
    "\n"
);

fn answers(program: &Path) -> Check {
    if said(program, "mcp", HELLO).is_some_and(|said| said.contains("\"serverInfo\"")) {
        return Check { what: "`loci mcp` answers".to_string(), holds: true };
    }
    let version = said(program, "--version", "").unwrap_or_default();
    let name = if version.is_empty() { "nothing" } else { version.trim() };
    Check { what: format!("it says that it is {name}"), holds: version.starts_with("loci ") }
}

/// The first line a program prints; none when it prints none, or hangs.
fn said(program: &Path, argument: &str, told: &str) -> Option<String> {
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let started =
        Command::new(program).arg(argument).stdin(input).stdout(output).stderr(Stdio::null()).spawn();
    let mut child = started.ok()?;
    // Kept open until the answer is there: a server may end with its input, whatever it was just asked.
    let mut input = child.stdin.take()?;
    let output = child.stdout.take()?;
    let (tell, told_back) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _ = tell.send(read.ok().map(|_| line));
    });
    let _ = input.write_all(told.as_bytes());
    let line = told_back.recv_timeout(PATIENCE).ok().flatten();
    drop(input);
    end(&mut child);
    line
}

/// Lets it end by itself, or else ends it.
fn end(child: &mut Child) {
    let until = Instant::now() + PATIENCE;
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
    fn a_program_is_believed_when_it_answers() {
        let folder = tempfile::tempdir().unwrap();
        for (at, (script, what, holds)) in [
            ("read line; echo '{\"result\":{\"serverInfo\":{}}}'; cat", "`loci mcp` answers", true),
            ("[ $1 = mcp ] && exit 1; echo loci 1.2", "it says that it is loci 1.2", true),
            ("echo something else", "it says that it is something else", false),
            ("exit 1", "it says that it is nothing", false),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(format!("loci{at}"));
            // By another process: what another test's child still holds open for writing cannot be run.
            let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
            assert!(
                Command::new("sh").args(["-c", write]).arg(&path).arg(script).status().unwrap().success()
            );
            assert_eq!(answers(&path), Check { what: what.to_string(), holds }, "{script}");
        }
    }
}
