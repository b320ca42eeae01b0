//! What can be said without a network of whether the wiring holds: the settings say what they should, the program they
//! name runs and answers.
//!
//! Does not start the agent.

use crate::agents::{Agent, Piece};
use crate::{Machine, disk, is_program};
use api::setup::Check;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
    let version = said(program, "--version", "");
    let holds = version.as_deref().is_some_and(|version| version.starts_with("loci "));
    Check { what: format!("it says that it is {}", version.as_deref().unwrap_or("nothing").trim()), holds }
}

/// What a program prints before it ends; none when it does not end, or not well.
fn said(program: &Path, argument: &str, told: &str) -> Option<String> {
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let started =
        Command::new(program).arg(argument).stdin(input).stdout(output).stderr(Stdio::null()).spawn();
    let mut child = started.ok()?;
    // Its input ends here, so it will: whether it reads it or not.
    child.stdin.take().map(|mut input| input.write_all(told.as_bytes()));
    let mut output = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let well = ended_well(&mut child);
    let text = reader.join().ok()?.ok()?;
    well.then_some(text)
}

fn ended_well(child: &mut Child) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}
