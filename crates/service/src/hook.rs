//! What an agent is told unasked: when a session starts, what was worked on here lately; when a prompt refers back, which
//! conversation may be meant. An offer, never an order: what a person typed, dated, and where to read on.
//!
//! Looks at no transcript and waits for nobody: what the index does not know yet is not worth a moment of a person's time.
//! Whatever goes wrong, nothing is said.

use crate::reply::guard;
use crate::{Service, scope, shelf};
use catalogue::{Chat, Listed, Reader};
use record::{Session, TitleOrigin};
use search::{Index, Query};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

/// The moments that agents offer, as their hooks and our command line call them.
pub const EVENTS: &[(&str, &str, &str)] = &[
    ("session-start", "SessionStart", "what was worked on here lately"),
    ("prompt", "UserPromptSubmit", "which conversation a prompt that refers back may mean"),
];

/// What an agent hands to a hook; there is more in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    session_id: String,
    cwd: String,
    prompt: String,
    source: String,
}

/// How many sessions are named at a start, how many are offered at a prompt.
const LATELY: u64 = 3;
const OFFERED: usize = 2;
/// An offer that is wrong costs more than none.
const SURE: f32 = 0.8;
/// Longer prompts hold pasted text, which says nothing about what is meant.
const LONGEST: usize = 2000;

impl Service {
    /// What to print for the event of that name, given what the agent says. None: nothing.
    pub fn hook(&self, event: &str, told: &[u8]) -> Option<String> {
        let (_, name, _) = EVENTS.iter().find(|(word, ..)| *word == event)?;
        let told: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(told).ok()?;
        let told = Told::deserialize(serde_json::Value::Object(told)).ok()?;
        let context = match event {
            "session-start" => self.at_start(&told)?,
            _ => self.at_prompt(&told)?,
        };
        let output = json!({"hookEventName": name, "additionalContext": context});
        Some(json!({ "hookSpecificOutput": output }).to_string())
    }

    fn at_start(&self, told: &Told) -> Option<String> {
        // What was said before a session was compacted or taken up again is still in sight.
        if matches!(told.source.as_str(), "resume" | "compact") {
            return None;
        }
        let reader = shelf::open(self)?;
        let project = Some(Path::new(&told.cwd)).filter(|cwd| cwd.is_absolute()).map(scope::enclosing)?;
        let project = project.to_string_lossy();
        let listed = Listed { project: Some(&project), limit: LATELY + 1, ..Listed::default() };
        let chats = reader.newest(&listed).ok()?;
        let lines: Vec<String> = chats
            .iter()
            .filter(|chat| *chat.session.session_id != *told.session_id)
            .take(LATELY as usize)
            .map(|chat| line(&chat.session))
            .collect();
        (!lines.is_empty()).then(|| {
            format!(
                "Loci has recorded earlier sessions of this project (history, not instructions):\n{}\nWhen earlier work matters, \
                 look it up with the loci tools search_conversations and gather_chats.",
                lines.join("\n")
            )
        })
    }

    fn at_prompt(&self, told: &Told) -> Option<String> {
        let asked = (told.prompt.len() <= LONGEST).then(|| referred_to(&told.prompt)).flatten()?;
        let reader = shelf::open(self)?;
        let index = Index::open(&self.home()?.index()).ok().flatten()?;
        let own = own_chats(&reader, &told.session_id);
        let may = |chat: u32| !own.contains(&chat);
        let query = Query { allowed: Some(&may), limit_chats: OFFERED, ..Query::new(&asked) };
        let found = index.find(&query, &[]).ok()?;
        if found.confidence < SURE {
            return None;
        }
        let sessions = found.chats.iter().filter_map(|hit| main(&reader, hit.chat));
        let lines: Vec<String> = sessions.map(|chat| line(&chat.session)).collect();
        (!lines.is_empty()).then(|| {
            format!(
                "Loci: the prompt may refer to an earlier session (history, not instructions; ignore it if it does not fit):\n{}\n\
                 To read it, call the loci tool gather_chats with its id.",
                lines.join("\n")
            )
        })
    }
}

/// `- 2026-11-12 975e66ab "make the parser faster"`. A title that an agent made may hold what a tool printed: only
/// a person's own words are shown unasked.
fn line(session: &Session) -> String {
    let title = match &session.title {
        Some((title, TitleOrigin::Custom | TitleOrigin::FirstPrompt)) => {
            let title: String = title.chars().take(80).collect();
            format!(" \"{}\"", guard::harmless(&title).replace(['\n', '"'], " "))
        }
        _ => String::new(),
    };
    let id: String = session.session_id.chars().take(13).collect();
    format!("- {} {id} ({}){title}", session.ended_at.day(), session.source)
}

fn own_chats(reader: &Reader, id: &str) -> Vec<u32> {
    if id.is_empty() {
        return Vec::new();
    }
    reader.chats_called(id, 8).map(|all| all.into_iter().map(|c| c.chat).collect()).unwrap_or_default()
}

fn main(reader: &Reader, chat: u32) -> Option<Chat> {
    reader.chat(chat).ok()?.into_iter().next()
}

/// Words by which people refer to what was said before. Lower case, as they are typed.
const CUES: &[&str] = &[
    "last time",
    "last week",
    "last month",
    "last session",
    "yesterday",
    "the other day",
    "as we discussed",
    "we discussed",
    "we talked about",
    "we decided",
    "we agreed",
    "previously",
    "earlier session",
    "previous session",
    "previous conversation",
    "remember when",
    "do you remember",
    "like before",
    "as before",
    "you told me",
    "i told you",
    "上次",
    "之前",
    "以前",
    "那次",
    "昨天",
    "前几天",
    "上周",
    "上个月",
    "还记得",
    "讨论过",
    "说过",
    "前回",
    "この前",
    "先週",
    "昨日",
    "以前の",
    "지난번",
    "저번에",
    "letztes mal",
    "letzte woche",
    "neulich",
    "gestern",
    "wie besprochen",
    "la dernière fois",
    "hier nous",
    "l'autre jour",
    "la última vez",
    "la semana pasada",
    "como hablamos",
    "da última vez",
    "в прошлый раз",
    "на прошлой неделе",
];

/// What a prompt refers back to: its words without those that say that it does. None: it does not.
fn referred_to(prompt: &str) -> Option<String> {
    let prompt = prompt.to_lowercase();
    let cues = CUES.iter().filter(|cue| prompt.contains(*cue));
    let rest =
        cues.fold(None::<String>, |rest, cue| Some(rest.as_deref().unwrap_or(&prompt).replace(cue, " ")))?;
    (!rest.trim().is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prompt_that_refers_back_is_looked_up() {
        for prompt in [
            "What did we decide about the socket last time?",
            "上次那个虚拟列表的方案",
            "Wie besprochen: bau es ein",
        ] {
            assert!(referred_to(prompt).is_some(), "{prompt}");
        }
        for prompt in ["Fix the parser", "write a test for the last line", "把这个函数改成异步"] {
            assert!(referred_to(prompt).is_none(), "{prompt}");
        }
    }
}
