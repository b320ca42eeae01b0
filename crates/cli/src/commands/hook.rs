//! `loci hook`: handles the hooks that agents run at session start and with each prompt. It must never hold up the agent:
//! it exits successfully within a deadline under all circumstances.
//!
//! Does not know what the hooks print: that is in `service`.

use crate::daemon_client::{self, DaemonMode};
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
const SESSION_START: &str = "session-start";
/// Maximum size of the input in bytes; agents send a few kilobytes.
const MAX_INPUT_BYTES: u64 = 1 << 20;

pub(crate) fn build_command() -> Command {
    let events = HOOK_EVENTS.iter().map(|(word, ..)| *word).collect::<Vec<_>>();
    let meanings = HOOK_EVENTS.iter().map(|(word, _, about)| format!("  {word:<14} {about}"));
    Command::new(COMMAND)
        .about("Handle an agent hook: print context for a new session or prompt")
        .after_help(format!(
            "Events:\n{}\n\nAgents run this command (see `loci setup`) and pass a JSON object on stdin. It always exits \
             with code 0 within 100 ms; LOCI_HOOKS=off disables its output.\n\nExample:\n  echo '{{\"cwd\":\"'$PWD'\"}}' | loci hook session-start",
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
    let spawned = std::thread::Builder::new().spawn(move || send.send(handle_event(&worker_event)));
    if spawned.is_ok()
        && let Ok(Some(text)) = received.recv_timeout(DEADLINE)
    {
        let _ = output::print_stdout(&(text + "\n"));
    }
    if event == SESSION_START {
        ensure_daemon();
    }
    ExitCode::SUCCESS
}

/// Starts a daemon if none is running, without waiting for it: a new session means there will be changes to watch.
fn ensure_daemon() {
    let places = service::env::read_places();
    let quiet = service::env::text_var(&places, "LOCI_HOOKS").as_deref() == Some("off")
        || service::env::text_var(&places, "LOCI_WITHIN").is_some()
        || daemon_client::daemon_mode(&places) != DaemonMode::Start;
    let absent = || {
        daemon_client::runtime_paths(&places)
            .is_some_and(|place| daemon::Holder::read_current(&place).is_none())
    };
    if !quiet && absent() {
        daemon_client::spawn_daemon(&std::env::current_exe().unwrap_or_default());
    }
}

fn handle_event(event: &str) -> Option<String> {
    let places = service::env::read_places();
    let off = service::env::text_var(&places, "LOCI_HOOKS").as_deref() == Some("off");
    if off || service::env::text_var(&places, service::NESTED_CALL_VAR).is_some() {
        return None;
    }
    let mut input = Vec::new();
    std::io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut input).ok()?;
    let exe = std::env::current_exe().unwrap_or_default();
    Service::new(places, Clock::System, environment::current_dir(), exe, 1).run_hook(event, &input)
}
