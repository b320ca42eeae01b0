//! The file format of a note: a header that names the types and their hashes when the note was written, and five sections.
//!
//! Does not know whether the note is still correct. A file written by hand is parsed as far as it resembles a note.

use code::Hashes;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use syntax::Digest;

/// In the order of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Section {
    Role,
    Lifecycle,
    EdgeCases,
    Limitations,
    Recommendations,
}

/// Each section with its heading and its JSON name.
pub const SECTIONS: &[(Section, &str, &str)] = &[
    (Section::Role, "ROLE", "role"),
    (Section::Lifecycle, "LIFECYCLE", "lifecycle"),
    (Section::EdgeCases, "EDGE_CASES", "edge_cases"),
    (Section::Limitations, "LIMITATIONS", "limitations"),
    (Section::Recommendations, "RECOMMENDATIONS", "recommendations"),
];

pub type Sections = BTreeMap<Section, String>;

/// The section whose heading starts a line.
pub fn parse_heading(line: &str) -> Option<Section> {
    let heading = line.split_once(':')?.0;
    SECTIONS.iter().find(|(_, word, _)| *word == heading).map(|(section, ..)| *section)
}

/// The header of a note; each list has one entry per type of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NoteHeader {
    pub types: Vec<String>,
    pub structure: Vec<String>,
    pub implementation: Vec<String>,
    /// The day on which a model wrote it.
    pub date: Option<String>,
    /// Whether a model wrote the note and its text has not been edited since.
    pub untouched: bool,
}

/// Lines are wrapped at this width, so that an edited sentence changes only a line or two.
const LINE_WIDTH: usize = 110;

/// The content of a note to be written.
pub struct NoteContent<'a> {
    /// Full name, ID and hashes of one type, or of all types of a cycle.
    pub types: &'a [(String, String, Hashes)],
    /// IDs of their dependencies.
    pub dependencies: &'a [String],
    pub model: &'a str,
    pub date: &'a str,
    pub sections: &'a Sections,
}

/// The ID of a cycle's note: the same for the same set of types.
pub fn group_id(ids: &[String]) -> String {
    let mut sorted = ids.to_vec();
    sorted.sort();
    format!("G_{}", Digest::of_bytes(sorted.join(" ").as_bytes()))
}

pub fn format_note(note: &NoteContent<'_>) -> String {
    let list = |pick: fn(&(String, String, Hashes)) -> String| {
        note.types.iter().map(pick).collect::<Vec<_>>().join(", ")
    };
    let ids = list(|(_, id, _)| id.clone());
    let mut text = match note.types {
        [(name, id, _)] => format!("# Semantic: {name} {id}\n"),
        several => {
            let all: Vec<String> = several.iter().map(|(_, id, _)| id.clone()).collect();
            format!("# Semantic: {} {}\nTypes: {ids}\n", list(|(name, ..)| name.clone()), group_id(&all))
        }
    };
    let body = format_sections(note.sections);
    for (name, value) in [
        ("StructureHash", list(|(.., hashes)| hashes.structure.to_string())),
        ("ImplHash", list(|(.., hashes)| hashes.implementation().to_string())),
        ("Dependencies", note.dependencies.join(", ")),
        ("Model", note.model.to_string()),
        ("Date", note.date.to_string()),
        ("TextHash", Digest::of_bytes(body.as_bytes()).to_string()),
    ] {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{name}: {value}"); // writing to a String does not fail
    }
    text + "\n" + &body
}

fn format_sections(sections: &Sections) -> String {
    let mut text = String::new();
    for (section, heading, _) in SECTIONS {
        let text_of_section = sections.get(section).map_or("", String::as_str);
        wrap_lines(&mut text, &format!("{heading}: {text_of_section}"));
    }
    text
}

/// Continuation lines are indented, so that none can pass for a heading.
fn wrap_lines(out: &mut String, text: &str) {
    let mut wide = 0;
    for (at, word) in text.split_whitespace().enumerate() {
        let long = word.chars().count();
        if at > 0 && wide + 1 + long > LINE_WIDTH {
            out.push_str("\n  ");
            wide = 2;
        } else if at > 0 {
            out.push(' ');
            wide += 1;
        }
        out.push_str(word);
        wide += long;
    }
    out.push('\n');
}

pub fn parse_note(text: &str) -> (NoteHeader, Sections) {
    let length =
        text.split_inclusive('\n').take_while(|line| parse_heading(line).is_none()).map(str::len).sum();
    let (head, body) = text.split_at(length);
    let value = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start().strip_prefix(':').map(str::trim)
    };
    let list = |name: &str| {
        let all = value(name).unwrap_or_default().split(',').map(str::trim);
        all.filter(|one| !one.is_empty()).map(str::to_string).collect::<Vec<_>>()
    };
    let untouched = value("Model").is_some()
        && has_only_known_keys(head)
        && value("TextHash").is_some_and(|hash| hash == Digest::of_bytes(body.as_bytes()).to_string());
    let head = NoteHeader {
        types: list("Types"),
        structure: list("StructureHash"),
        implementation: list("ImplHash"),
        date: value("Date").filter(|date| !date.is_empty()).map(str::to_string),
        untouched,
    };
    (head, parse_sections(body))
}

/// The header keys that this module writes, each at most once.
const HEADER_KEYS: &[&str] =
    &["# Semantic", "Types", "StructureHash", "ImplHash", "Dependencies", "Model", "Date", "TextHash"];

/// Whether a header contains nothing else: a remark above the first section was written by a person, and the text hash does not
/// cover it.
fn has_only_known_keys(head: &str) -> bool {
    let lines = head.lines().filter(|line| !line.trim().is_empty());
    let mut keys: Vec<&str> = lines.map(|line| line.split_once(':').map_or("", |(key, _)| key)).collect();
    let known = keys.iter().all(|key| HEADER_KEYS.contains(key));
    let many = keys.len();
    keys.sort_unstable();
    keys.dedup();
    known && keys.len() == many
}

fn parse_sections(body: &str) -> Sections {
    let mut found = Sections::new();
    let mut at = None;
    for line in body.lines() {
        let own = parse_heading(line);
        let content = if own.is_some() { line.split_once(':').map_or("", |(_, rest)| rest) } else { line };
        at = own.or(at);
        let Some(section) = at else { continue };
        let text: &mut String = found.entry(section).or_default();
        if !text.is_empty() && !content.trim().is_empty() {
            text.push(' ');
        }
        text.push_str(content.trim());
    }
    found
}
