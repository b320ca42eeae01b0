//! Which messages a Gemini session had. The event log is written for the client's next start and forgets what
//! it no longer needs; this keeps everything that was ever said in it.
//!
//! Does not know what a message means.

use crate::conversation::Conversation;
use crate::conversation::value::{items, text};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

pub(super) struct Entry {
    pub(super) message: Value,
    /// The message it continues, where the person went back before it.
    pub(super) parent: Option<String>,
}

pub(super) struct Log {
    /// What is said of the whole session, the latest word on each thing.
    pub(super) header: Value,
    pub(super) entries: Vec<Entry>,
    index: FxHashMap<String, usize>,
    /// The entries the session consists of now, in order; the others were gone back from.
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

/// Who is right when a message is met again.
#[derive(Clone, Copy, PartialEq)]
enum Right {
    /// The client writes a message again when it knows more of it.
    Later,
    /// A list of messages is what the client will send next: without counts and times, cut or masked.
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
    /// A session that is one JSON object. It and each of its messages is an entry.
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

    /// One line of an event log.
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

    /// A change to one message, or to the session and the list of its messages.
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
            // A resumed session gets a header with a new start; it started when it first did.
            let first_holds = key == "startTime" && header.contains_key(&key);
            if !first_holds && !value.is_null() {
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

    /// The target goes too: it is the prompt that will be asked differently. One that is not there takes all
    /// that was said, up to what the client itself said first.
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
