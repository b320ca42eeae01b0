//! Kimi Code: `~/.kimi-code/sessions/<workspace>/<session>/agents/<agent>/wire.jsonl`. Every message is recorded twice;
//! the events of the agent's loop are read, and the copies for the screen are not.
//!
//! A reply is one step of the loop: its texts arrive one by one. Does not know the branch of the repository.

use record::{Kind, Message, Role, Session, Stamp, Tokens};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_integer, as_stamp, as_token_count, blocks_text, call_of, known_stamp, optional_text, text_field,
    token_counts,
};
use transcript::conversation::{Outcome, exit_code_after};
use transcript::document::read_sidecar;
use transcript::event_log::{Entry, EventLog, Item};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Evidence, Store, Transcript};

pub const KIMI: EventLog = EventLog {
    store: Store {
        name: "kimi",
        variables: &[("KIMI_CODE_HOME", "Kimi Code's data directory [default: ~/.kimi-code]")],
        evidence: Evidence::RealClient,
        roots: |places| places.roots_from_var("KIMI_CODE_HOME", ".kimi-code"),
        list: list_logs,
    },
    describe: describe_session,
    usage: None,
    parse: parse_entry,
};

/// The main agent's log has the session's ID, a subagent's one of its own.
fn list_logs(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("sessions"), found, &mut |path, meta, found| {
        let name =
            |n: usize| path.ancestors().nth(n).and_then(Path::file_name).map(|name| name.to_string_lossy());
        let (Some(file), Some(agent), Some(agents), Some(session)) = (name(0), name(1), name(2), name(3))
        else {
            return;
        };
        if file == "wire.jsonl" && agents == "agents" {
            let id = if agent == "main" { session.to_string() } else { format!("{session}-{agent}") };
            found.add_file(path.to_path_buf(), meta, &id, root);
        }
    });
}

fn describe_session(transcript: &Transcript, session: &mut Session) {
    let Some(folder) = transcript.path.ancestors().nth(3) else { return };
    let state = read_sidecar(&folder.join("state.json"));
    session.cwd = Arc::from(text_field(&state, "cwd"));
    session.project = session.cwd.clone();
    if let Some(title) = optional_text(&state, "title").filter(|_| state["isCustomTitle"] == true) {
        session.title = Some((Arc::from(title), record::TitleOrigin::Custom));
    }
    let parent = folder.file_name().unwrap_or_default().to_string_lossy();
    if *parent != *transcript.hint {
        session.parent_session_id = Some(Arc::from(&*parent));
        session.agent_id = Some(transcript.hint.clone());
    }
}

/// Entries that repeat others or have no conversation content.
const IGNORED: [&str; 17] = [
    "metadata",
    "runtime.set_binding",
    "permission.set_mode",
    "turn.prompt",
    "turn.ended",
    "turn.cancel",
    "agent.message.appended",
    "agent.turn.started",
    "agent.turn.ended",
    "plugin.session_start",
    "llm.tools_snapshot",
    "llm.request",
    "token_counting.measured",
    "token_counting.turn_recorded",
    "prompt.completed",
    "prompt.aborted",
    "file_history.tracked",
];

fn parse_entry(line: &Value, entry: &mut Entry) {
    match text_field(line, "type") {
        "profile.bind" => {
            entry.session.cwd = optional_text(&line["environmentDisclosure"], "cwd");
        }
        "context.append_message" => parse_message(line, entry),
        "context.append_loop_event" => parse_loop_event(line, entry),
        "usage.record" => parse_usage(line, entry),
        "turn.step.interrupted" => parse_interruption(line, entry),
        "context.compacted" | "context.replace" => {
            let id = format!("compaction@{}", time_of(line).0);
            add_message(line, (Role::User, Kind::CompactionSummary), id, text_field(line, "summary"), entry);
        }
        kind if IGNORED.contains(&kind) || kind.starts_with("file_history.") => entry.ignore(),
        other => entry.unknown(other),
    }
}

fn time_of(line: &Value) -> Stamp {
    as_stamp(&line["time"])
}

fn add_message(line: &Value, author: (Role, Kind), id: String, text: &str, entry: &mut Entry) {
    let (text, at) = (text.to_string(), known_stamp(time_of(line)));
    entry.add_message(author.0, author.1, Message { id, text, at, ..Message::default() }, Tokens::ZERO);
}

/// Only what a person typed is a prompt: reminders are written in the same role.
fn parse_message(line: &Value, entry: &mut Entry) {
    let message = &line["message"];
    let id = optional_text(message, "id").unwrap_or_else(|| format!("message@{}", time_of(line).0));
    let kind = match (text_field(message, "role"), text_field(&message["origin"], "kind")) {
        ("user", "user" | "") => Kind::Prompt,
        ("user", _) => Kind::Meta,
        (role, _) => return entry.unknown(&format!("message {role}")),
    };
    add_message(line, (Role::User, kind), id, &blocks_text(&message["content"]), entry);
}

fn parse_loop_event(line: &Value, entry: &mut Entry) {
    let event = &line["event"];
    let step = text_field(event, "stepUuid").to_string();
    match text_field(event, "type") {
        "step.begin" => {
            add_message(
                line,
                (Role::Assistant, Kind::Reply),
                text_field(event, "uuid").to_string(),
                "",
                entry,
            );
        }
        "content.part" => match text_field(&event["part"], "type") {
            "text" => {
                add_message(
                    line,
                    (Role::Assistant, Kind::Reply),
                    step,
                    text_field(&event["part"], "text"),
                    entry,
                );
            }
            _ => entry.ignore(),
        },
        "tool.call" => {
            let id = text_field(event, "toolCallId");
            entry.add_call(call_of(id, text_field(event, "name"), &event["args"]), time_of(line));
        }
        "tool.result" => parse_result(line, entry),
        "step.end" => entry.ignore(),
        other => entry.unknown(&format!("loop/{other}")),
    }
}

fn parse_result(line: &Value, entry: &mut Entry) {
    let (event, result) = (&line["event"], &line["event"]["result"]);
    let text = blocks_text(&result["output"]);
    let failed = result["isError"] == true;
    let code = exit_code_after(&text, "Command failed with exit code: ").filter(|_| failed);
    let mut outcome = Outcome::of_flag(failed, text).with_exit_code(code);
    outcome.duration_ms = as_integer(&result["durationMs"]);
    entry.add_result(text_field(event, "toolCallId"), time_of(line), outcome);
}

fn parse_usage(line: &Value, entry: &mut Entry) {
    let n = |key: &str| as_token_count(&line["usage"][key]);
    let tokens = token_counts(n("inputOther"), n("output"), n("inputCacheRead"), n("inputCacheCreation"));
    let (at, model) = (time_of(line), optional_text(line, "model"));
    entry.items.push(Item::Usage { id: format!("usage@{}/{}", at.0, tokens.input), at, model, tokens });
}

fn parse_interruption(line: &Value, entry: &mut Entry) {
    let reason = text_field(line, "reason");
    let author = match reason {
        "error" => (Role::Assistant, Kind::ApiError),
        _ => (Role::System, Kind::Interruption),
    };
    let text = optional_text(line, "message").unwrap_or_else(|| reason.to_string());
    add_message(line, author, format!("interrupted@{}", time_of(line).0), &text, entry);
}
