//! `loci statusline`: one line for the status line of an agent: the cost of today, the context in use, and the last
//! session of the project.
//!
//! Like a hook it must never hold up the agent: it prints what is known within a deadline, or nothing.

use crate::{environment, output};
use api::sessions::ListSessions;
use api::{Exit, Handle, ViewRequest, view_named};
use clap::{ArgMatches, Command};
use record::Clock;
use render::format::format_money;
use serde_json::Value;
use service::{Format, Service};
use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

pub(crate) const COMMAND: &str = "statusline";

/// Claude Code refreshes the line several times a second.
const DEADLINE: Duration = Duration::from_millis(100);
/// Maximum size of the input in bytes; Claude Code sends about a kilobyte.
const MAX_INPUT_BYTES: u64 = 1 << 20;
/// The columns of the last session's name.
const NAME_WIDTH: usize = 40;

pub(crate) fn build_command() -> Command {
    Command::new(COMMAND)
        .about("Print a line for an agent's status line: cost today, context, last session")
        .after_help(
            "Reads what Claude Code passes to a status line on standard input.\n\nExample, in Claude Code's settings.json:\n  \
             \"statusLine\": {\"type\": \"command\", \"command\": \"loci statusline\"}",
        )
}

pub(crate) fn run(_: &ArgMatches) -> Exit {
    // A panic message must not reach the agent.
    std::panic::set_hook(Box::new(|_| {}));
    let (send, received) = mpsc::channel();
    let spawned = std::thread::Builder::new().spawn(move || send.send(format_line()));
    if spawned.is_ok()
        && let Ok(Some(line)) = received.recv_timeout(DEADLINE)
    {
        let _ = output::print_stdout(&(line + "\n"));
    }
    Exit::Found
}

fn format_line() -> Option<String> {
    let mut input = Vec::new();
    std::io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut input).ok()?;
    let input: Value = serde_json::from_slice(&input).unwrap_or_default();
    let folder = ["/workspace/current_dir", "/cwd"].iter().find_map(|at| input.pointer(at)?.as_str());
    let cwd = folder.map_or_else(environment::current_dir, PathBuf::from);
    let exe = std::env::current_exe().unwrap_or_default();
    let service = Service::new(service::env::read_places(), Clock::System, cwd, exe, 1);
    let parts = [cost_today(&service), context_used(&input), last_session(&service, &input)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn cost_today(service: &Service) -> Option<String> {
    let request = ViewRequest {
        all_projects: true,
        since: Some("today".to_string()),
        by: Some("total".to_string()),
        ..ViewRequest::default()
    };
    let mut spent = None;
    let mut take = |line: &[u8]| {
        let record: Value = serde_json::from_slice(line).unwrap_or_default();
        let unpriced = record["unpriced"].as_u64().unwrap_or(0);
        spent = record["cost_usd"].as_f64().map(|dollars| format_money(dollars, unpriced));
        true
    };
    service.run_view(view_named("", "usage")?, &request, Format::Jsonl, &mut take).ok()?;
    Some(format!("{} today", spent.unwrap_or_else(|| format_money(0.0, 0))))
}

fn context_used(input: &Value) -> Option<String> {
    let percent = input.pointer("/context_window/used_percentage")?.as_f64()?;
    Some(format!("context {percent:.0} %"))
}

/// The last session of the project other than the present one.
fn last_session(service: &Service, input: &Value) -> Option<String> {
    let present = input["session_id"].as_str().unwrap_or_default();
    let project = Some(service.cwd.to_string_lossy().into_owned());
    let request = ListSessions { limit: 2, project, ..ListSessions::default() };
    let listed = Handle::<ListSessions>::handle(service, &request).ok()?;
    let last = listed.sessions.into_iter().find(|session| session.chat_id != present)?;
    let name = api::terminal_text::truncate_width(&api::terminal_text::one_line(&last.title), NAME_WIDTH);
    (!name.is_empty()).then(|| format!("last: {name}"))
}
