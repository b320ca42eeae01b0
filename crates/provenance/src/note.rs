//! Reads what git-ai writes about a commit into `refs/notes/ai`: which lines of which file a session wrote.
//!
//! A note lists files, below each the keys of sessions with their lines, then `---` and JSON about the sessions. Does not run git,
//! and does not know which sessions are recorded here.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A session as a note names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotedSession {
    /// As it is beside the lines.
    pub key: String,
    /// The agent and its ID of the session; empty if the note has lost them.
    pub tool: String,
    pub id: String,
    pub model: Option<String>,
    /// The first message of the person; later versions of git-ai leave messages out.
    pub prompt: String,
}

impl NotedSession {
    /// Whether this is the session with that ID, which one of these tools wrote.
    pub fn is_session(&self, tools: &[&str], id: &str) -> bool {
        let has_key = |tool: &&str| self.key.len() >= MIN_KEY && session_key(tool, id) == self.key;
        if self.id.is_empty() { tools.iter().any(has_key) } else { self.id == id }
    }
}

/// Hexadecimal digits of a hash, after `s_`.
const KEY_DIGITS: usize = 14;
const MIN_KEY: usize = 2 + KEY_DIGITS;

/// How git-ai names a session: `s_` and the first digits of a hash of the tool and its ID of the session.
pub fn session_key(tool: &str, id: &str) -> String {
    format!("s_{}", &sha256_hex(format!("{tool}:{id}").as_bytes())[..KEY_DIGITS])
}

/// A hash in hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digit = |number: u8| char::from_digit(u32::from(number), 16).unwrap_or_default();
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// What a note says about a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    pub sessions: Vec<NotedSession>,
    /// By file: the first and last line of each range, and the number of its session.
    files: BTreeMap<String, Vec<(u32, u32, usize)>>,
}

impl Note {
    /// Reads a note. Lines of people are left out: they are nobody's session. Damaged JSON costs what it says, not the lines.
    pub fn parse(text: &str) -> Note {
        let (lines, json) = match text.strip_prefix("---\n") {
            Some(json) => ("", json),
            None => text.split_once("\n---\n").unwrap_or((text, "")),
        };
        let about: Value = serde_json::from_str(json).unwrap_or_default();
        let (mut note, mut path) = (Note::default(), String::new());
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            match line.strip_prefix("  ") {
                Some(entry) => note.add_entry(&path, entry, &about),
                None => path = line.trim_matches('"').to_string(),
            }
        }
        note
    }

    fn add_entry(&mut self, path: &str, entry: &str, about: &Value) {
        let Some((key, ranges)) = entry.split_once(' ') else { return };
        // A session and one of its calls.
        let key = key.split("::").next().unwrap_or(key);
        if key == "human" || key.starts_with("h_") {
            return;
        }
        let known = self.sessions.iter().position(|session| session.key == key);
        let session = known.unwrap_or_else(|| {
            self.sessions.push(read_session(key, about));
            self.sessions.len() - 1
        });
        let ranges = ranges.split(',').filter_map(parse_range).map(|(from, to)| (from, to, session));
        self.files.entry(path.to_string()).or_default().extend(ranges);
    }

    /// The number of the session that wrote a line, counted from 1, of a file of the commit.
    pub fn session_at(&self, path: &str, line: u32) -> Option<usize> {
        let ranges = self.files.get(path)?;
        ranges.iter().find(|(from, to, _)| (*from..=*to).contains(&line)).map(|(.., session)| *session)
    }
}

fn parse_range(text: &str) -> Option<(u32, u32)> {
    let text = text.trim();
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    Some((from.parse().ok()?, to.parse().ok()?))
}

fn read_session(key: &str, about: &Value) -> NotedSession {
    let entry = ["sessions", "prompts"].iter().map(|list| &about[*list][key]).find(|entry| entry.is_object());
    let entry = entry.unwrap_or(&Value::Null);
    let text = |name: &str| entry["agent_id"][name].as_str().unwrap_or_default().to_string();
    let messages = entry["messages"].as_array().into_iter().flatten();
    let mut asked = messages.filter(|message| message["type"] == "user");
    let prompt = asked.find_map(|message| message["text"].as_str()).unwrap_or_default().to_string();
    let model = Some(text("model")).filter(|model| !model.is_empty() && model != "unknown");
    NotedSession { key: key.to_string(), tool: text("tool"), id: text("id"), model, prompt }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "src/a b.rs\n  s_0db412aeb21ffe::t_013c07475d8e43 1,4-6\n  h_5e32efc4aad69a 2\n  \
        s_0db412aeb21ffe::t_113c07475d8e43 9\n\"src/b.rs\"\n  4a60f5ac951ddc7b 3\n  human 4\n---\n\
        {\"sessions\": {\"s_0db412aeb21ffe\": {\"agent_id\": {\"tool\": \"claude\", \"id\": \"x-1\", \"model\": \"m-1\"}}},\n\
        \"prompts\": {\"4a60f5ac951ddc7b\": {\"agent_id\": {\"tool\": \"cursor\", \"id\": \"c-1\", \"model\": \"unknown\"},\n\
        \"messages\": [{\"type\": \"assistant\", \"text\": \"no\"}, {\"type\": \"user\", \"text\": \"make it so\"}]}}}\n";

    #[test]
    fn lines_belong_to_the_sessions_that_a_note_names() {
        let note = Note::parse(NOTE);
        let at = |path: &str, line: u32| note.session_at(path, line).map(|n| note.sessions[n].id.as_str());
        for (path, line, expected) in [
            ("src/a b.rs", 1, Some("x-1")),
            ("src/a b.rs", 2, None),
            ("src/a b.rs", 3, None),
            ("src/a b.rs", 6, Some("x-1")),
            ("src/a b.rs", 9, Some("x-1")),
            ("src/b.rs", 3, Some("c-1")),
            ("src/b.rs", 4, None),
            ("src/c.rs", 3, None),
        ] {
            assert_eq!(at(path, line), expected, "{path}:{line}");
        }
        assert_eq!(note.sessions.len(), 2);
        assert_eq!(
            (note.sessions[0].model.as_deref(), note.sessions[1].model.as_deref()),
            (Some("m-1"), None)
        );
        assert_eq!(note.sessions[1].prompt, "make it so");
    }

    #[test]
    fn a_session_is_recognised_by_its_key_where_the_note_has_lost_its_id() {
        let key = session_key("claude", "7f3a");
        let note = Note::parse(&format!("a.rs\n  {key}::t_1 1-2\n---\n{{not json"));
        let session = &note.sessions[note.session_at("a.rs", 2).unwrap()];
        assert!(session.is_session(&["codex", "claude"], "7f3a"));
        assert!(!session.is_session(&["claude"], "7f3b") && !session.is_session(&["codex"], "7f3a"));
    }

    #[test]
    fn notes_without_lines_and_odd_ranges_are_read() {
        assert_eq!(Note::parse("---\n{\"prompts\": {}}"), Note::default());
        assert_eq!(Note::parse(""), Note::default());
        let note = Note::parse("a.rs\n  k x,3-,-4,5\n---\n{}");
        assert_eq!((note.session_at("a.rs", 5), note.session_at("a.rs", 3)), (Some(0), None));
    }
}
