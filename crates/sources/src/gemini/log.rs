//! The messages of a Gemini session. The event log is written for the client's next start and drops what the
//! client no longer needs; this keeps every message that was ever in it.
//!
//! Does not know the meaning of a message.

use crate::conversation::Conversation;
use crate::conversation::value::{as_items, text_field};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

pub(super) struct Entry {
    pub(super) message: Value,
    /// The message it continues, if the person rewound before it.
    pub(super) parent: Option<String>,
}

pub(super) struct Log {
    /// The properties of the whole session, the latest value of each.
    pub(super) header: Value,
    pub(super) entries: Vec<Entry>,
    index: FxHashMap<String, usize>,
    /// The entries the session consists of now, in order; the others were rewound.
    active: Vec<usize>,
    was_rewound: bool,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            header: Value::Object(Map::new()),
            entries: Vec::new(),
            index: FxHashMap::default(),
            active: Vec::new(),
            was_rewound: false,
        }
    }
}

/// Which version counts when a message occurs again.
#[derive(Clone, Copy, PartialEq)]
enum Precedence {
    /// The client writes a message again when it has more details.
    Later,
    /// A list of messages is what the client will send next: without counts and times, truncated or masked.
    Earlier,
}

const MESSAGE_TYPES: [&str; 5] = ["user", "gemini", "info", "error", "warning"];
const MESSAGE_FIELDS: [&str; 9] =
    ["id", "timestamp", "type", "content", "displayContent", "thoughts", "tokens", "model", "toolCalls"];
const HEADER_FIELDS: [&str; 10] = [
    "sessionId",
    "projectHash",
    "startTime",
    "lastUpdated",
    "kind",
    "summary",
    "memoryScratchpad",
    "directories",
    "messages",
    "hasUserOrAssistantMessage",
];

impl Log {
    /// Adds a session that is one JSON object. The object and each of its messages count as entries.
    pub(super) fn add_session(&mut self, mut whole: Value, conversation: &mut Conversation) {
        conversation.count_understood();
        conversation.count_unknown_fields("session", &whole, &HEADER_FIELDS);
        let messages = whole["messages"].take();
        self.update_header(whole);
        for message in as_items(&messages) {
            count_message(message, conversation);
            self.add_message(message, Precedence::Later);
        }
    }

    /// Adds one line of an event log.
    pub(super) fn add_line(&mut self, entry: Value, conversation: &mut Conversation) {
        let patch = entry.get("$set").or_else(|| entry.get("$patch"));
        if let Some(patch) = patch {
            conversation.count_understood();
            conversation.count_unknown_fields(
                "$set",
                patch,
                if patch["id"].is_string() { &MESSAGE_FIELDS } else { &HEADER_FIELDS },
            );
            self.apply_patch(patch.clone());
        } else if let Some(target) = entry.get("$rewindTo") {
            conversation.count_understood();
            self.rewind_to(target.as_str().unwrap_or(""));
        } else if entry["type"].is_string() {
            count_message(&entry, conversation);
            self.add_message(&entry, Precedence::Later);
        } else if entry["sessionId"].is_string() {
            conversation.count_understood();
            conversation.count_unknown_fields("session", &entry, &HEADER_FIELDS);
            self.apply_patch(entry);
        } else {
            let name = entry.as_object().and_then(|o| o.keys().next()).map_or("", String::as_str);
            conversation.count_unknown(name);
        }
    }

    /// Applies a change to one message, or to the session and the list of its messages.
    fn apply_patch(&mut self, mut patch: Value) {
        if patch["id"].is_string() {
            return self.add_message(&patch, Precedence::Later);
        }
        let messages = patch.get_mut("messages").map(Value::take).unwrap_or_default();
        self.update_header(patch);
        for message in as_items(&messages) {
            self.add_message(message, Precedence::Earlier);
        }
    }

    fn update_header(&mut self, patch: Value) {
        let (Value::Object(header), Value::Object(patch)) = (&mut self.header, patch) else { return };
        for (key, value) in patch {
            // A resumed session gets a header with a new start time; the first one is correct.
            let keeps_first = key == "startTime" && header.contains_key(&key);
            if !keeps_first && !value.is_null() {
                header.insert(key, value);
            }
        }
    }

    fn add_message(&mut self, message: &Value, right: Precedence) {
        let (id, Some(fields)) = (text_field(message, "id"), message.as_object()) else { return };
        if let Some(known) = self.index.get(id).filter(|_| !id.is_empty()) {
            let Value::Object(known) = &mut self.entries[*known].message else { return };
            for (key, value) in fields {
                if right == Precedence::Later || !known.contains_key(key) {
                    known.insert(key.clone(), value.clone());
                }
            }
            return;
        }
        let parent =
            self.was_rewound.then(|| self.active.last().map(|last| self.message_id(*last))).flatten();
        self.was_rewound = false;
        self.index.insert(id.to_string(), self.entries.len());
        self.active.push(self.entries.len());
        self.entries.push(Entry { message: message.clone(), parent });
    }

    fn message_id(&self, entry: usize) -> String {
        text_field(&self.entries[entry].message, "id").to_string()
    }

    /// Rewinds to before the target: it is the prompt that will be rephrased. If the target is missing,
    /// everything after the client's own first message is rewound.
    fn rewind_to(&mut self, target: &str) {
        let cut = self.active.iter().position(|entry| self.message_id(*entry) == target);
        self.active.truncate(cut.unwrap_or(1));
        self.was_rewound = true;
    }
}

fn count_message(message: &Value, conversation: &mut Conversation) {
    let kind = text_field(message, "type");
    if !MESSAGE_TYPES.contains(&kind) {
        return conversation.count_unknown(kind);
    }
    conversation.count_understood();
    conversation.count_unknown_fields(kind, message, &MESSAGE_FIELDS);
}
