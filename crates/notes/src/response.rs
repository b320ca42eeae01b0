//! Validates a model's response about a type: one JSON object of the requested shape, within its limits. Merges it section by
//! section with the existing note.
//!
//! Does not repair anything: an error names the problem, so that the request can be repeated.

use crate::format::{SECTIONS, Sections};
use serde::Deserialize;

/// A section with fewer words says nothing that the name of the type does not.
const MIN_SECTION_WORDS: usize = 5;
/// The request, which small models repeat.
const PROMPT: &str = include_str!("../prompts/note.md");
/// Maximum length of a section, in characters.
pub const MAX_SECTION_CHARS: usize = 900;

/// A validated response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteResponse {
    /// The note is still correct.
    NoChange,
    /// The sections in the response.
    Sections(Sections),
}

/// Why a response is rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoteResponseError {
    #[error("the response is not the JSON object that was requested: {0}")]
    Shape(String),
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{0}` is longer than {MAX_SECTION_CHARS} characters")]
    Long(&'static str),
    #[error("`{0}` says too little: a name, or fewer than {MIN_SECTION_WORDS} words")]
    Thin(&'static str),
    #[error("`{0}` repeats the request")]
    Echo(&'static str),
    #[error("`no_change` is true, but the response contains sections")]
    Both,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawResponse {
    role: Option<String>,
    lifecycle: Option<String>,
    edge_cases: Option<String>,
    limitations: Option<String>,
    recommendations: Option<String>,
    no_change: Option<bool>,
}

/// Parses the response to a first request, or to an `update` of an existing note.
pub fn parse_response(text: &str, update: bool) -> Result<NoteResponse, NoteResponseError> {
    let RawResponse { role, lifecycle, edge_cases, limitations, recommendations, no_change } =
        serde_json::from_str(text.trim()).map_err(|error| NoteResponseError::Shape(error.to_string()))?;
    let texts = [role, lifecycle, edge_cases, limitations, recommendations];
    let mut sections = Sections::new();
    for ((section, _, name), text) in SECTIONS.iter().zip(texts) {
        let text = text.filter(|text| !text.trim().is_empty());
        if text.as_ref().is_some_and(|text| text.chars().count() > MAX_SECTION_CHARS) {
            return Err(NoteResponseError::Long(name));
        }
        match text.as_deref().map(str::trim) {
            Some(text) if count_words(text) < MIN_SECTION_WORDS => return Err(NoteResponseError::Thin(name)),
            Some(text) if is_echo(text) => return Err(NoteResponseError::Echo(name)),
            _ => {}
        }
        if text.is_none() && !update {
            return Err(NoteResponseError::Missing(name));
        }
        sections.extend(text.map(|text| (*section, text)));
    }
    match (update && no_change == Some(true), sections.is_empty()) {
        (true, true) => Ok(NoteResponse::NoChange),
        (true, false) => Err(NoteResponseError::Both),
        (false, true) => Err(NoteResponseError::Missing("no_change")),
        (false, false) => Ok(NoteResponse::Sections(sections)),
    }
}

/// Whether a text is the request for a section; the sentence for a section without content is not.
fn is_echo(text: &str) -> bool {
    PROMPT.lines().filter(|line| line.starts_with("- `")).any(|line| line.contains(text))
}

/// The number of words; in a script without spaces, a character counts as one.
fn count_words(text: &str) -> usize {
    let is_unspaced =
        |c: char| ('\u{2e80}'..='\u{9fff}').contains(&c) || ('\u{ac00}'..='\u{d7af}').contains(&c);
    let spaced = text.split(|c: char| c.is_whitespace() || is_unspaced(c));
    let words = spaced.filter(|word| word.chars().any(char::is_alphabetic)).count();
    words + text.chars().filter(|c| is_unspaced(*c)).count()
}

/// Replaces the sections that the response contains; the others stay.
pub fn merge_sections(before: &Sections, update: Sections) -> Result<Sections, NoteResponseError> {
    let mut all = before.clone();
    all.extend(update);
    let missing =
        SECTIONS.iter().find(|(section, ..)| all.get(section).is_none_or(|text| text.trim().is_empty()));
    missing.map_or(Ok(all), |(_, _, name)| Err(NoteResponseError::Missing(name)))
}
