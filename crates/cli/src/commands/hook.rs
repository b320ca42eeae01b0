//! `loci hook`: handles the hooks that agents run at session start and with each prompt. It must never hold up the agent:
//! it exits successfully within a deadline under all circumstances.
//!
//! Does not know what the hooks print: that is in `service`.

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

/// After this the prompt continues without our output. Agents allow a second or more; people notice a delay of 200 ms.
const DEADLINE: Duration = Duration::from_millis(100);
/// The event at the start of a session.
const FIRST: &str = "session-start";
/// Maximum size of the input in bytes; agents send a few kilobytes.
const LONGEST: u64 = 1 << 20;

pub(crate) fn command() -> Command {
    let events = HOOK_EVENTS.iter().map(|(word, ..)| *word).collect::<Vec<_>>();
    let meanings = HOOK_EVENTS.iter().map(|(word, _, about)| format!("  {word:<14} {about}"));
    Command::new(COMMAND)
        .about("Handle an agent hook: print context for a new session or prompt")
        .after_help(format!(
            "Events:\n{}\n\nAgents run this command (see `loci setup`) and pass a JSON object on stdin. It always exits\n\
             successfully within 100 ms; LOCI_HOOKS=off disables its output.\n\nExample:\n  echo '{{\"cwd\":\"'$PWD'\"}}' | loci hook session-start",
            meanings.collect::<Vec<_>>().join("\n")
        ))
        .arg(Arg::new("event").value_name("EVENT").required(true).value_parser(PossibleValuesParser::new(events)))
}

pub(crate) fn run(matches: &ArgMatches) -> ExitCode {
    let event = matches.get_one::<String>("event").cloned().unwrap_or_default();
    // A panic message must not reach the agent.
    std::panic::set_hook(Box::new(|_| {}));
    let (send, received) = mpsc::channel();
    let worker_event = event.clone();
    let spawned = std::thread::Builder::new().spawn(move || send.send(answer(&worker_event)));
    if spawned.is_ok()
        && let Ok(Some(text)) = received.recv_timeout(DEADLINE)
    {
        let _ = output::say(&(text + "\n"));
    }
    if event == FIRST {
        have_a_daemon();
    }
    ExitCode::SUCCESS
}

/// Starts a daemon if none is running, without waiting for it: a new session means there will be changes to watch.
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
    let mut input = Vec::new();
    std::io::stdin().lock().take(LONGEST).read_to_end(&mut input).ok()?;
    let exe = std::env::current_exe().unwrap_or_default();
    Service::new(places, Clock::System, environment::cwd(), exe, 1).hook(event, &input)
}
