//! The messages of a Gemini session. The event log is written for the client's next start and drops what the
//! client no longer needs; this keeps every message that was ever in it.
//!
//! Does not know the meaning of a message.

use crate::conversation::Conversation;
use crate::conversation::value::{items, text};
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
    alive: Vec<usize>,
    rewound: bool,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            header: Value::Object(Map::new()),
            entries: Vec::new(),
            index: FxHashMap::default(),
            alive: Vec::new(),
            rewound: false,
        }
    }
}

/// Which version counts when a message occurs again.
#[derive(Clone, Copy, PartialEq)]
enum Right {
    /// The client writes a message again when it has more details.
    Later,
    /// A list of messages is what the client will send next: without counts and times, truncated or masked.
    Earlier,
}

const TYPES: [&str; 5] = ["user", "gemini", "info", "error", "warning"];
const FIELDS: [&str; 9] =
    ["id", "timestamp", "type", "content", "displayContent", "thoughts", "tokens", "model", "toolCalls"];
const HEADER: [&str; 10] = [
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
    pub(super) fn whole(&mut self, mut whole: Value, conversation: &mut Conversation) {
        conversation.understood();
        conversation.fields("session", &whole, &HEADER);
        let messages = whole["messages"].take();
        self.describe(whole);
        for message in items(&messages) {
            account(message, conversation);
            self.meet(message, Right::Later);
        }
    }

    /// Adds one line of an event log.
    pub(super) fn line(&mut self, entry: Value, conversation: &mut Conversation) {
        let patch = entry.get("$set").or_else(|| entry.get("$patch"));
        if let Some(patch) = patch {
            conversation.understood();
            conversation.fields("$set", patch, if patch["id"].is_string() { &FIELDS } else { &HEADER });
            self.patch(patch.clone());
        } else if let Some(target) = entry.get("$rewindTo") {
            conversation.understood();
            self.rewind(target.as_str().unwrap_or(""));
        } else if entry["type"].is_string() {
            account(&entry, conversation);
            self.meet(&entry, Right::Later);
        } else if entry["sessionId"].is_string() {
            conversation.understood();
            conversation.fields("session", &entry, &HEADER);
            self.patch(entry);
        } else {
            let name = entry.as_object().and_then(|o| o.keys().next()).map_or("", String::as_str);
            conversation.unknown(name);
        }
    }

    /// Applies a change to one message, or to the session and the list of its messages.
    fn patch(&mut self, mut patch: Value) {
        if patch["id"].is_string() {
            return self.meet(&patch, Right::Later);
        }
        let messages = patch.get_mut("messages").map(Value::take).unwrap_or_default();
        self.describe(patch);
        for message in items(&messages) {
            self.meet(message, Right::Earlier);
        }
    }

    fn describe(&mut self, patch: Value) {
        let (Value::Object(header), Value::Object(patch)) = (&mut self.header, patch) else { return };
        for (key, value) in patch {
            // A resumed session gets a header with a new start time; the first one is correct.
            let keeps_first = key == "startTime" && header.contains_key(&key);
            if !keeps_first && !value.is_null() {
                header.insert(key, value);
            }
        }
    }

    fn meet(&mut self, message: &Value, right: Right) {
        let (id, Some(fields)) = (text(message, "id"), message.as_object()) else { return };
        if let Some(known) = self.index.get(id).filter(|_| !id.is_empty()) {
            let Value::Object(known) = &mut self.entries[*known].message else { return };
            for (key, value) in fields {
                if right == Right::Later || !known.contains_key(key) {
                    known.insert(key.clone(), value.clone());
                }
            }
            return;
        }
        let parent = self.rewound.then(|| self.alive.last().map(|last| self.id(*last))).flatten();
        self.rewound = false;
        self.index.insert(id.to_string(), self.entries.len());
        self.alive.push(self.entries.len());
        self.entries.push(Entry { message: message.clone(), parent });
    }

    fn id(&self, entry: usize) -> String {
        text(&self.entries[entry].message, "id").to_string()
    }

    /// Rewinds to before the target: it is the prompt that will be rephrased. If the target is missing,
    /// everything after the client's own first message is rewound.
    fn rewind(&mut self, target: &str) {
        let cut = self.alive.iter().position(|entry| self.id(*entry) == target);
        self.alive.truncate(cut.unwrap_or(1));
        self.rewound = true;
    }
}

fn account(message: &Value, conversation: &mut Conversation) {
    let kind = text(message, "type");
    if !TYPES.contains(&kind) {
        return conversation.unknown(kind);
    }
    conversation.understood();
    conversation.fields(kind, message, &FIELDS);
}
