//! Builds the prompt for a note: the type's outline, what is known about its dependencies and, for an update, the existing note
//! and the changes since. Source text is quoted line by line, so that it cannot forge a heading of the prompt.
//!
//! Does not mask secrets and does not call a model.

use crate::format::{SECTIONS, Section, Sections};
use crate::response::MAX_SECTION_CHARS;
use code::{ChangeKind, ChangedMember};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// A type with a text about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescribedType {
    pub name: String,
    pub text: String,
}

/// The input of a prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptInput {
    /// The type, or all types of a cycle, with their outlines.
    pub subjects: Vec<DescribedType>,
    /// Their dependencies, with role and lifecycle from the dependencies' notes.
    pub dependencies: Vec<DescribedType>,
    pub previous: Option<PreviousNote>,
}

/// The existing note, and the changes since it was written.
#[derive(Clone, Debug)]
pub struct PreviousNote {
    pub sections: Sections,
    /// The name of the change class.
    pub class: &'static str,
    /// `None` if the note's baseline is no longer known.
    pub members: Option<Vec<ChangedMember>>,
}

/// A prompt, independent of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub system: &'static str,
    pub text: String,
    pub schema: Value,
    pub max_tokens: u32,
}

const FIRST_PROMPT: &str = include_str!("../prompts/note.md");
const UPDATE_PROMPT: &str = include_str!("../prompts/renote.md");
/// About 5,000 tokens. An outline is a fraction of its source, and the first part of a longer one says what the type is.
const MAX_OUTLINES_BYTES: usize = 16_000;
const MAX_DEPENDENCY_BYTES: usize = 500;
const MAX_DEPENDENCIES: usize = 8;
const MAX_MEMBERS: usize = 10;
const MAX_SECTION_BYTES: usize = 500;
/// Five texts of 600 characters are 750 tokens of English, plus JSON.
const FIRST_TOKENS: u32 = 1_100;
/// For each further type of a cycle.
const TOKENS_PER_TYPE: u32 = 100;
/// One rewritten section, and one more for every few changed members.
const UPDATE_TOKENS: u32 = 350;
const TOKENS_PER_MEMBER: u32 = 100;

pub fn build_prompt(brief: &PromptInput) -> Prompt {
    let mut text = String::new();
    if let Some(before) = &brief.previous {
        write_previous(&mut text, before);
    }
    for (at, subject) in brief.subjects.iter().enumerate() {
        let many = brief.subjects.len();
        let which = if many == 1 { String::new() } else { format!(" {} of {many}", at + 1) };
        let _ = writeln!(text, "OUTLINE{which}: {}", to_one_line(&subject.name)); // writing to a String does not fail
        text.push_str(&quote_lines(&subject.text, MAX_OUTLINES_BYTES / many));
    }
    for known in brief.dependencies.iter().take(MAX_DEPENDENCIES) {
        let _ = writeln!(text, "IT USES: {}", to_one_line(&known.name));
        text.push_str(&quote_lines(&known.text, MAX_DEPENDENCY_BYTES));
    }
    let update = brief.previous.is_some();
    let task =
        if update { "TASK: say which sections change, or that none does.\n" } else { "TASK: describe it.\n" };
    text.push_str(task);
    let system = if update { UPDATE_PROMPT } else { FIRST_PROMPT };
    Prompt { system, text, schema: response_schema(update), max_tokens: response_tokens(brief) }
}

/// The response limit grows with the number of affected members.
fn response_tokens(brief: &PromptInput) -> u32 {
    match &brief.previous {
        None => FIRST_TOKENS + TOKENS_PER_TYPE * (brief.subjects.len() as u32).saturating_sub(1),
        Some(before) => {
            let affected = before.members.as_ref().map_or(MAX_MEMBERS, Vec::len).min(MAX_MEMBERS);
            (UPDATE_TOKENS + TOKENS_PER_MEMBER * affected as u32).min(FIRST_TOKENS)
        }
    }
}

fn write_previous(text: &mut String, before: &PreviousNote) {
    text.push_str("THE NOTE AS IT STANDS:\n");
    for (section, heading, _) in SECTIONS {
        // leave out edge cases first: they follow from the other sections
        if *section != Section::EdgeCases
            && let Some(known) = before.sections.get(section)
        {
            text.push_str(&quote_lines(&format!("{heading}: {known}"), MAX_SECTION_BYTES));
        }
    }
    let _ = writeln!(text, "CHANGE: {}", before.class);
    let Some(members) = &before.members else {
        text.push_str("Which members changed is not known any more.\n");
        return;
    };
    for member in members.iter().take(MAX_MEMBERS) {
        let fate = match member.change {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
        };
        let _ = writeln!(text, "MEMBER {fate}, {}:", member.class.name());
        text.push_str(&quote_lines(&member.signature, MAX_SECTION_BYTES));
        text.push_str(&quote_lines(&member.diff.join("\n"), MAX_OUTLINES_BYTES / MAX_MEMBERS));
    }
    if members.len() > MAX_MEMBERS {
        let _ = writeln!(text, "and {} members more", members.len() - MAX_MEMBERS);
    }
}

/// Quotes foreign text for a prompt: each line gets a prefix, so that none can pass for a heading.
pub fn quote_lines(text: &str, most: usize) -> String {
    let cut = text.floor_char_boundary(most);
    let mut out = String::new();
    for line in text[..cut].lines().filter(|line| !line.trim().is_empty()) {
        // also split at characters that a terminal or a model treats as a line break
        for piece in line.split(['\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}']) {
            let _ = writeln!(out, "| {}", piece.trim_end());
        }
    }
    if cut < text.len() {
        out.push_str("| …\n");
    }
    out
}

fn to_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every field is required, and nullable where it may be missing: some servers accept nothing else.
fn response_schema(update: bool) -> Value {
    let mut fields = Map::new();
    for (_, _, name) in SECTIONS {
        let text = json!({"type": "string", "minLength": 1, "maxLength": MAX_SECTION_CHARS});
        let may_be_null = json!({"anyOf": [text, {"type": "null"}]});
        fields.insert((*name).to_string(), if update { may_be_null } else { text });
    }
    if update {
        fields.insert("no_change".to_string(), json!({"type": "boolean"}));
    }
    let names: Vec<&String> = fields.keys().collect();
    let required = json!(names);
    json!({"type": "object", "properties": fields, "required": required, "additionalProperties": false})
}
