//! Cursor: the transcripts of its command line and newer agents, `~/.cursor/projects/<folder>/agent-transcripts/`, and
//! the chats of the editor in `state.vscdb`.
//!
//! Unverified: made from public descriptions. A transcript has no times, so its messages have that of the file; its
//! folder's name is ambiguous, so the project is not known. Does not know tokens.

use crate::blocks::inside;
use crate::roo::editor_roots;
use record::{Kind, Message, Role, Session, Stamp, TitleOrigin, Tokens, event_key};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, blocks_text, call_of, display_text, known_stamp, optional_text, text_field,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::database::{self, Snapshot};
use transcript::document::Documents;
use transcript::event_log::{Entry, EventLog};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const CURSOR_CLI: EventLog = EventLog {
    store: Store {
        name: "cursor-cli",
        variables: &[("CURSOR_CONFIG_DIR", "Cursor's directory in the home directory [default: ~/.cursor]")],
        evidence: Evidence::PublicSchema,
        roots: |places| places.roots_from_var("CURSOR_CONFIG_DIR", ".cursor"),
        list: list_transcripts,
    },
    describe: |transcript, session| {
        session.started_at = Stamp(transcript.file_stamp.changed / 1_000_000);
        session.ended_at = session.started_at;
    },
    usage: None,
    parse: parse_line,
};

fn list_transcripts(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("projects"), found, &mut |path, meta, found| {
        let inside = path.components().any(|part| part.as_os_str() == "agent-transcripts");
        if inside && path.extension().is_some_and(|e| e == "jsonl") {
            let id = path.file_stem().unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
        }
    });
}

/// Lines have no IDs: one is derived from the content, so that a copy has the same.
fn parse_line(line: &Value, entry: &mut Entry) {
    let content = &line["message"]["content"];
    let id = optional_text(line, "id")
        .unwrap_or_else(|| format!("{:016x}", event_key(b'x', &[line.to_string().as_bytes()])));
    let text = blocks_text(content);
    match text_field(line, "role") {
        "user" => {
            add_results(content, entry);
            let prompt = inside(&text, "user_query").map_or(text.as_str(), |query| query).to_string();
            if !prompt.is_empty() {
                let message = Message { id, text: prompt, ..Message::default() };
                entry.add_message(Role::User, Kind::Prompt, message, Tokens::ZERO);
            }
        }
        "assistant" => {
            let message = Message { id, text, ..Message::default() };
            entry.add_message(Role::Assistant, Kind::Reply, message, Tokens::ZERO);
            for block in as_items(content).iter().filter(|block| text_field(block, "type") == "tool_use") {
                let call = call_of(text_field(block, "id"), text_field(block, "name"), &block["input"]);
                entry.add_call(call, Stamp::NONE);
            }
        }
        "tool" => add_results(content, entry),
        "" | "system" => entry.ignore(),
        other => entry.unknown(&format!("role {other}")),
    }
}

fn add_results(content: &Value, entry: &mut Entry) {
    for block in as_items(content).iter().filter(|block| text_field(block, "type") == "tool_result") {
        let outcome = Outcome::of_flag(block["is_error"] == true, blocks_text(&block["content"]));
        entry.add_result(text_field(block, "tool_use_id"), Stamp::NONE, outcome);
    }
}

// ---- the editor

pub const CURSOR: Documents = Documents {
    store: Store {
        name: "cursor",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: |places| {
            let below = |root: PathBuf| root.join("Cursor/User/globalStorage");
            editor_roots(places).into_iter().map(below).collect()
        },
        list: list_composers,
    },
    load: load_composer,
};

/// The table has everything Cursor remembers, under keys of many kinds: those of chats begin with `composerData:`.
fn list_composers(root: &Path, found: &mut TranscriptList) {
    let path = root.join("state.vscdb");
    if path.is_file() {
        database::list_keys(&path, root, "cursorDiskKV", "composerData:", found);
    }
}

fn load_composer(transcript: &Transcript) -> Result<Conversation, Error> {
    let id = transcript.part.as_deref().unwrap_or(&transcript.hint);
    let mut conversation = Conversation::new(Session::new("cursor", id));
    let snapshot = Snapshot::open(&transcript.path)?;
    let composer = snapshot.value_of("cursorDiskKV", &format!("composerData:{id}"))?;
    if composer.is_object() {
        conversation.count_understood();
    }
    let session = &mut conversation.session;
    session.started_at = as_stamp(&composer["createdAt"]);
    session.ended_at = as_stamp(&composer["lastUpdatedAt"]);
    session.title = optional_text(&composer, "name").map(|name| (Arc::from(name), TitleOrigin::Agent));
    let begun = session.started_at;
    for (key, bubble) in ordered_bubbles(&snapshot, id, &composer)? {
        add_bubble(&key, &bubble, begun, &mut conversation);
    }
    Ok(conversation)
}

/// Bubbles in the order of the chat's list; those it does not list follow by time.
fn ordered_bubbles(snapshot: &Snapshot, id: &str, composer: &Value) -> Result<Vec<(String, Value)>, Error> {
    let prefix = format!("bubbleId:{id}:");
    let mut bubbles = snapshot.values_below("cursorDiskKV", &prefix)?;
    let headers = as_items(&composer["fullConversationHeadersOnly"]);
    let order = |key: &str| headers.iter().position(|header| key.ends_with(text_field(header, "bubbleId")));
    bubbles.sort_by_key(|(key, bubble)| (order(key).unwrap_or(usize::MAX), as_stamp(&bubble["timestamp"])));
    Ok(bubbles)
}

fn add_bubble(key: &str, bubble: &Value, begun: Stamp, conversation: &mut Conversation) {
    if !bubble.is_object() {
        return conversation.count_ignored(); // Cursor leaves empty values behind
    }
    conversation.count_understood();
    let at = ["timestamp", "createdAt"].iter().map(|name| as_stamp(&bubble[*name])).find(|at| at.is_some());
    let at = at.unwrap_or(begun);
    if let Some(folder) =
        optional_text(bubble, "workspaceProjectDir").filter(|_| conversation.session.cwd.is_empty())
    {
        conversation.session.cwd = Arc::from(folder);
        conversation.session.project = conversation.session.cwd.clone();
    }
    let text = optional_text(bubble, "text").or_else(|| optional_text(bubble, "rawText")).unwrap_or_default();
    let typed = bubble["type"] == 1;
    let author = if typed { (Role::User, Kind::Prompt) } else { (Role::Assistant, Kind::Reply) };
    let tool = &bubble["toolFormerData"];
    let made = Message {
        id: key.rsplit(':').next().unwrap_or("").to_string(),
        text,
        model: optional_text(&bubble["modelInfo"], "modelName").filter(|_| !typed),
        tool_calls: u32::from(tool["name"].is_string()),
        at: known_stamp(at),
        ..Message::default()
    };
    conversation.add_message(author.0, author.1, made, Tokens::ZERO);
    if tool["name"].is_string() {
        add_tool(tool, at, conversation);
    }
}

fn add_tool(tool: &Value, at: Stamp, conversation: &mut Conversation) {
    let id = optional_text(tool, "toolCallId").unwrap_or_else(|| conversation.next_id());
    let input = if tool["rawArgs"].is_null() { &tool["params"] } else { &tool["rawArgs"] };
    conversation.add_call(call_of(&id, text_field(tool, "name"), input), at);
    let status = text_field(tool, "status");
    if !tool["result"].is_null() || ["completed", "error", "cancelled"].contains(&status) {
        let outcome =
            Outcome::of_flag(["error", "cancelled"].contains(&status), display_text(&tool["result"]));
        conversation.add_result(&id, at, outcome);
    }
}
