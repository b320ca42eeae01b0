//! Junie: `~/.junie/sessions/<session>/events.jsonl`, and an index of all sessions.
//!
//! Unverified: made from public descriptions. A step is written again as it grows: the last version counts. Does not know
//! the time of a prompt, so it has that of the event before it.

use record::{Kind, Message, Role, Session, Stamp, Status, TitleOrigin, Tokens};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_items, as_stamp, as_token_count, call_of, display_text, known_stamp, optional_text, text_field,
    token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::document::{Documents, read_records, read_sidecar_text};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const JUNIE: Documents = Documents {
    store: Store {
        name: "junie",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: |places| places.below_home(".junie/sessions"),
        list: list_sessions,
    },
    load: load_session,
};

fn list_sessions(root: &Path, found: &mut TranscriptList) {
    walk_files(root, found, &mut |path, meta, found| {
        if path.file_name().is_some_and(|name| name == "events.jsonl") {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &folder, root);
        }
    });
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("junie", &transcript.hint));
    describe_session(transcript, &mut conversation.session);
    let mut steps = Steps { at: conversation.session.started_at, ..Steps::default() };
    read_records(&transcript.path, &mut conversation, &mut |line, conversation| {
        steps.read_event(&line, conversation);
    })?;
    Ok(conversation)
}

fn describe_session(transcript: &Transcript, session: &mut Session) {
    let index = read_sidecar_text(&transcript.group.join("index.jsonl")).unwrap_or_default();
    let mut lines = index.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(listed) = lines.find(|line| text_field(line, "sessionId") == &*transcript.hint) else { return };
    session.cwd = Arc::from(text_field(&listed, "projectDir"));
    session.project = session.cwd.clone();
    session.started_at = as_stamp(&listed["createdAt"]);
    session.title = optional_text(&listed, "taskName").map(|title| (Arc::from(title), TitleOrigin::Agent));
}

/// The parts that later versions of a step replace.
#[derive(Default)]
struct Steps {
    at: Stamp,
    parts: FxHashMap<String, usize>,
}

/// Events without conversation content.
const IGNORED: [&str; 4] =
    ["PlanUpdatedEvent", "StatusUpdatedEvent", "AgentStartedEvent", "MarkdownBlockUpdatedEvent"];

impl Steps {
    fn read_event(&mut self, line: &Value, conversation: &mut Conversation) {
        match text_field(line, "kind") {
            "UserPromptEvent" => {
                let text = text_field(line, "prompt").to_string();
                self.add_message((Role::User, Kind::Prompt), text, conversation);
            }
            "SessionA2uxEvent" => {
                self.at = as_stamp(&line["timestampMs"]).or(self.at);
                self.read_agent_event(&line["event"]["agentEvent"], conversation);
            }
            other => conversation.count_unknown(other),
        }
    }

    fn read_agent_event(&mut self, event: &Value, conversation: &mut Conversation) {
        match text_field(event, "kind") {
            "LlmResponseMetadataEvent" => self.add_usage(event, conversation),
            "TerminalBlockUpdatedEvent" => {
                let input = json!({"command": event["command"]});
                self.set_call(event, "terminal", &input, text_field(event, "details"), conversation);
            }
            "ViewFilesBlockUpdatedEvent" => {
                let input = json!({"files": event["files"]});
                self.set_call(event, "view_files", &input, "", conversation);
            }
            "FileChangesBlockUpdatedEvent" => {
                let input = json!({"changes": event["changes"]});
                self.set_call(event, "edit", &input, "", conversation);
            }
            "ToolBlockUpdatedEvent" => {
                let text = display_text(&event["details"]);
                let tool = optional_text(event, "toolName").unwrap_or_else(|| "tool".to_string());
                self.set_call(event, &tool, &event["input"], &text, conversation);
            }
            "ResultBlockUpdatedEvent" => {
                let text = display_text(&event["result"]);
                self.set_reply(event, text, conversation);
            }
            "AgentFailureEvent" => {
                let text = text_field(event, "message").to_string();
                self.add_message((Role::Assistant, Kind::ApiError), text, conversation);
            }
            kind if IGNORED.contains(&kind) => conversation.count_ignored(),
            other => conversation.count_unknown(other),
        }
    }

    fn add_message(&self, author: (Role, Kind), text: String, conversation: &mut Conversation) {
        conversation.count_understood();
        let made = Message { text, at: known_stamp(self.at), ..Message::default() };
        conversation.add_message(author.0, author.1, made, Tokens::ZERO);
    }

    fn add_usage(&self, event: &Value, conversation: &mut Conversation) {
        conversation.count_understood();
        for usage in as_items(&event["modelUsage"]) {
            let n = |key: &str| as_token_count(&usage[key]);
            let tokens = token_counts(
                n("inputTokens"),
                n("outputTokens"),
                n("cacheInputTokens"),
                n("cacheCreateTokens"),
            );
            let made = Message {
                model: optional_text(usage, "model"),
                at: known_stamp(self.at),
                ..Message::default()
            };
            conversation.add_message(Role::Assistant, Kind::Reply, made, tokens);
        }
    }

    /// The last version of a step replaces the earlier ones.
    fn set_part(
        &mut self,
        event: &Value,
        part: transcript::conversation::Part,
        conversation: &mut Conversation,
    ) {
        conversation.count_understood();
        let step = text_field(event, "stepId").to_string();
        if let Some(known) = self.parts.get(&step).filter(|_| !step.is_empty()) {
            conversation.parts[*known] = part;
        } else {
            self.parts.insert(step, conversation.parts.len());
            conversation.parts.push(part);
        }
    }

    fn set_call(
        &mut self,
        event: &Value,
        tool: &str,
        input: &Value,
        text: &str,
        conversation: &mut Conversation,
    ) {
        let id = optional_text(event, "stepId").unwrap_or_else(|| conversation.next_id());
        let mut call = call_of(&format!("{}/{id}", conversation.session.session_id), tool, input);
        let status = match text_field(event, "status").to_uppercase().as_str() {
            "COMPLETED" | "SUCCESS" | "FINISHED" => Some(Status::Success),
            "FAILED" | "ERROR" | "CANCELLED" => Some(Status::Error),
            _ if !text.is_empty() => Some(Status::Unknown),
            _ => None,
        };
        if let Some(status) = status {
            Outcome::new(status, text).apply(&mut call);
        }
        let until = if call.output.is_some() { self.at } else { Stamp::NONE };
        let part = transcript::conversation::Part::Call { call, at: self.at, until, same_as: None };
        self.set_part(event, part, conversation);
    }

    fn set_reply(&mut self, event: &Value, text: String, conversation: &mut Conversation) {
        let id = optional_text(event, "stepId").unwrap_or_else(|| conversation.next_id());
        let id = format!("{}/{id}", conversation.session.session_id);
        let made = Message { id, text, at: known_stamp(self.at), ..Message::default() };
        let part = transcript::conversation::Part::message(Role::Assistant, Kind::Reply, made, Tokens::ZERO);
        self.set_part(event, part, conversation);
    }
}
