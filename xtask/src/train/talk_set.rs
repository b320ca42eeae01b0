//! Reads a set of talk: sessions with the facts a person would want remembered (the format of the talk sets' README).
//!
//! Does not know how a session becomes memory: it fills the digest as the transcripts of an agent would.

use crate::repository;
use memory::{Digest, DigestMessage, Reply};
use record::{Role, Stamp};
use serde_json::Value;
use std::path::Path;

/// Lists of which one word each must occur.
pub(crate) type Wanted = Vec<Vec<String>>;

pub(crate) struct GoldFact {
    pub(crate) words: Wanted,
    pub(crate) kind: String,
    pub(crate) is_superseded: bool,
    /// The slug of the session and the number of the fact that replaced it.
    pub(crate) superseded_by: Option<(String, usize)>,
}

pub(crate) struct Session {
    pub(crate) slug: String,
    pub(crate) digest: Digest,
    pub(crate) facts: Vec<GoldFact>,
    pub(crate) kinds: Vec<String>,
}

/// The languages that sessions are counted by.
pub(crate) const LANGUAGES: [&str; 3] = ["other", "Chinese", "mixed"];

impl Session {
    /// The language of what the person writes, by its share of Chinese characters.
    pub(crate) fn language(&self) -> usize {
        let said = self.digest.prompts.iter();
        let letters: Vec<char> =
            said.flat_map(|message| message.text.chars()).filter(|c| c.is_alphabetic()).collect();
        let han = letters.iter().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(*c)).count();
        match 100 * han / letters.len().max(1) {
            0 => 0,
            40.. => 1,
            _ => 2,
        }
    }
}

pub(crate) struct TalkSet {
    pub(crate) name: String,
    pub(crate) sessions: Vec<Session>,
    /// What must not be kept, in any session.
    pub(crate) traps: Vec<Wanted>,
}

impl TalkSet {
    pub(crate) fn load(folder: &Path) -> Result<TalkSet, String> {
        let mut files = repository::files(&folder.join("sessions"))?;
        files.sort();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut set = TalkSet { name, sessions: Vec::new(), traps: Vec::new() };
        for path in files {
            let slug = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let value: Value = serde_json::from_str(&repository::read(&path)?)
                .map_err(|error| format!("{slug}: {error}"))?;
            let gold = &value["gold"];
            set.traps.extend(list(&gold["not_facts"]).map(parse_wanted));
            let facts = list(&gold["facts"]).map(parse_fact).collect();
            let kinds = list(&gold["kind"]).filter_map(|kind| Some(kind.as_str()?.to_owned())).collect();
            set.sessions.push(Session { digest: parse_digest(&slug, &value), slug, facts, kinds });
        }
        Ok(set)
    }

    /// The sets below a folder, by name.
    pub(crate) fn load_all(folder: &Path) -> Result<Vec<TalkSet>, String> {
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut folders: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.join("sessions").is_dir())
            .collect();
        folders.sort();
        folders.iter().map(|folder| TalkSet::load(folder)).collect()
    }

    /// As the scorer of the sets counts: any fact of the set, and no trap.
    pub(crate) fn is_right(&self, text: &str) -> bool {
        let text = fold(text);
        let facts = self.sessions.iter().flat_map(|session| &session.facts);
        facts.into_iter().any(|fact| has(&text, &fact.words))
            && !self.traps.iter().any(|trap| has(&text, trap))
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn parse_fact(value: &Value) -> GoldFact {
    let by = value["superseded_by"].as_str().and_then(|by| by.split_once('#'));
    GoldFact {
        superseded_by: by.and_then(|(slug, nth)| Some((slug.to_owned(), nth.parse().ok()?))),
        words: parse_wanted(&value["words"]),
        kind: value["kind"].as_str().unwrap_or_default().to_owned(),
        is_superseded: !value["superseded_by"].is_null(),
    }
}

/// A list of lists, or one list.
fn parse_wanted(value: &Value) -> Wanted {
    let words = |value: &Value| list(value).filter_map(|word| Some(fold(word.as_str()?))).collect();
    if value[0].is_array() { list(value).map(words).collect() } else { vec![words(value)] }
}

/// Lower case, with full-width letters as plain ones.
pub(crate) fn fold(text: &str) -> String {
    let plain = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        c => c,
    };
    text.chars().map(plain).collect::<String>().to_lowercase()
}

/// Whether one of each list occurs in a folded text.
pub(crate) fn has(text: &str, wanted: &Wanted) -> bool {
    wanted.iter().all(|any| any.iter().any(|word| text.contains(word.as_str())))
}

fn parse_digest(slug: &str, value: &Value) -> Digest {
    let started_at = Stamp::parse(value["start"].as_str().unwrap_or_default().as_bytes());
    let mut digest = Digest {
        source: value["agent"].as_str().unwrap_or_default().to_owned(),
        session_id: slug.to_owned(),
        project: format!("/src/{}", value["project"].as_str().unwrap_or_default()),
        started_at,
        ended_at: started_at,
        ..Digest::default()
    };
    let mut calls = 0;
    for (nth, turn) in list(&value["turns"]).enumerate() {
        let message = |role: Role, text: &str| DigestMessage {
            id: format!("{slug}-{nth}"),
            role,
            at: started_at,
            text: text.to_owned(),
        };
        if let Some(text) = turn["user"].as_str() {
            digest.prompts.push(message(Role::User, text));
            calls = 0;
        } else if let Some(text) = turn["assistant"].as_str() {
            let prompts_before = digest.prompts.len();
            digest.replies.push(Reply { message: message(Role::Assistant, text), prompts_before, calls });
            text.clone_into(&mut digest.last_reply);
            calls = 0;
        } else {
            calls += 1;
            add_call(&mut digest, turn);
        }
    }
    digest
}

fn add_call(digest: &mut Digest, turn: &Value) {
    let failed = turn["error"].as_bool().unwrap_or(false);
    digest.calls += 1;
    digest.errors += u32::from(failed);
    if let Some(command) = turn["input"]["command"].as_str() {
        if failed {
            digest.failed_commands.push(command.to_owned());
        } else {
            digest.commits.extend(memory::committed(command));
            digest.commands.push(command.to_owned());
        }
    }
    if let Some(file) = turn["input"]["file_path"].as_str().filter(|_| !failed) {
        let changes = matches!(turn["tool"].as_str(), Some("Edit" | "Write" | "MultiEdit" | "apply_patch"));
        let files = if changes { &mut digest.files_changed } else { &mut digest.files_read };
        *files.entry(file.to_owned()).or_default() += 1;
    }
}
