//! `loci hook`: what agents call when a session starts or a prompt is sent. It may help and must never be in the way: it
//! ends in time, with success, whatever happens.
//!
//! Does not know what is said.

use crate::daemon_client::{self, Wish};
use crate::environment;
use crate::output;
use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser};
use record::Clock;
use service::{HOOK_EVENTS, Service};
use std::io::Read;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

pub(crate) const COMMAND: &str = "hook";

/// Then the prompt goes on without us. An agent's own limit is a second or more; a person notices a fifth of one.
const DEADLINE: Duration = Duration::from_millis(100);
/// The event that a session begins with.
const FIRST: &str = "session-start";
/// Agents write a few kilobytes.
const LONGEST: u64 = 1 << 20;

pub(crate) fn command() -> Command {
    let events = HOOK_EVENTS.iter().map(|(word, ..)| *word).collect::<Vec<_>>();
    let meanings = HOOK_EVENTS.iter().map(|(word, _, about)| format!("  {word:<14} {about}"));
    Command::new(COMMAND)
        .about("What an agent's hooks call: tells it, unasked, what it may want to look up")
        .after_help(format!(
            "Events:\n{}\n\nWhat the agent says is read from standard input. It always ends with success and within a tenth of a\n\
             second; LOCI_HOOKS=off makes it say nothing.\n\nExample:\n  echo '{{\"cwd\":\"'$PWD'\"}}' | loci hook session-start",
            meanings.collect::<Vec<_>>().join("\n")
        ))
        .arg(Arg::new("event").value_name("EVENT").required(true).value_parser(PossibleValuesParser::new(events)))
}

pub(crate) fn run(matches: &ArgMatches) -> ExitCode {
    let event = matches.get_one::<String>("event").cloned().unwrap_or_default();
    // A panic is nobody's business here.
    std::panic::set_hook(Box::new(|_| {}));
    let (send, said) = mpsc::channel();
    let asked = event.clone();
    let spawned = std::thread::Builder::new().spawn(move || send.send(answer(&asked)));
    if spawned.is_ok()
        && let Ok(Some(text)) = said.recv_timeout(DEADLINE)
    {
        let _ = output::say(&(text + "\n"));
    }
    if event == FIRST {
        have_a_daemon();
    }
    ExitCode::SUCCESS
}

/// Somebody begins to work: from now on there is something to watch. Nobody waits for it.
fn have_a_daemon() {
    let places = service::env::places();
    let quiet = service::env::text(&places, "LOCI_HOOKS").as_deref() == Some("off")
        || service::env::text(&places, "LOCI_WITHIN").is_some()
        || daemon_client::wish(&places) != Wish::Start;
    let absent = || daemon_client::place(&places).is_some_and(|place| daemon::Holder::of(&place).is_none());
    if !quiet && absent() {
        daemon_client::spawn(&std::env::current_exe().unwrap_or_default());
    }
}

fn answer(event: &str) -> Option<String> {
    let places = service::env::places();
    let off = service::env::text(&places, "LOCI_HOOKS").as_deref() == Some("off");
    if off || service::env::text(&places, service::WITHIN).is_some() {
        return None;
    }
    let mut told = Vec::new();
    std::io::stdin().lock().take(LONGEST).read_to_end(&mut told).ok()?;
    let exe = std::env::current_exe().unwrap_or_default();
    Service::new(places, Clock::System, environment::cwd(), exe, 1).hook(event, &told)
}
