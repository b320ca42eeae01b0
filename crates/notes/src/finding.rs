//! An answer to a question about a codebase: builds the prompt for a model from the evidence, and validates its response.
//!
//! Does not search for the evidence.

use crate::prompt::{Prompt, quote_lines};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A symbol with all the evidence shown for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    pub name: String,
    pub outline: String,
    pub note: String,
    pub usages: Vec<String>,
}

const SYSTEM_PROMPT: &str = include_str!("../prompts/investigate.md");
const MAX_QUESTION_BYTES: usize = 1_000;
const MAX_OUTLINE_BYTES: usize = 2_000;
const MAX_NOTE_BYTES: usize = 1_200;
const MAX_USAGES_BYTES: usize = 600;
const MAX_ANSWER_CHARS: usize = 1_800;
const MAX_CITATIONS: usize = 12;
/// 1,200 characters of English or 500 of Chinese, and the cited names.
const MAX_ANSWER_TOKENS: u32 = 800;

pub fn build_prompt(question: &str, exhibits: &[Evidence]) -> Prompt {
    let mut text = String::from("QUESTION:\n");
    text.push_str(&quote_lines(question, MAX_QUESTION_BYTES));
    for exhibit in exhibits {
        let name = exhibit.name.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "SYMBOL: {name}"); // writing to a String does not fail
        text.push_str(&quote_lines(&exhibit.outline, MAX_OUTLINE_BYTES));
        for (heading, evidence, most) in [
            ("NOTE:", &exhibit.note, MAX_NOTE_BYTES),
            ("MENTIONED IN:", &exhibit.usages.join("\n"), MAX_USAGES_BYTES),
        ] {
            if !evidence.is_empty() {
                let _ = writeln!(text, "{heading}");
                text.push_str(&quote_lines(evidence, most));
            }
        }
    }
    text.push_str("TASK: answer the question from this evidence.\n");
    Prompt { system: SYSTEM_PROMPT, text, schema: response_schema(), max_tokens: MAX_ANSWER_TOKENS }
}

fn response_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "answer": {"type": "string", "minLength": 1, "maxLength": MAX_ANSWER_CHARS},
            "cites": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 300}, "minItems": 1, "maxItems": MAX_CITATIONS},
        },
        "required": ["answer", "cites"],
        "additionalProperties": false,
    })
}

/// A validated response of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Finding {
    pub text: String,
    /// Full names of cited symbols that exist.
    pub cites: Vec<String>,
    /// The number of cited names that do not exist.
    pub unknown: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFinding {
    answer: String,
    cites: Vec<String>,
}

/// Why a response is rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FindingError {
    #[error("the response is not the JSON object that was requested: {0}")]
    Shape(String),
    #[error("the answer is empty, or longer than {MAX_ANSWER_CHARS} characters")]
    Length,
    #[error("the answer cites no existing symbol")]
    Unproven,
}

/// Parses a response; `there` resolves a cited name to its full name, if the prompt contained it.
pub fn parse_finding(text: &str, there: &dyn Fn(&str) -> Option<String>) -> Result<Finding, FindingError> {
    let answer: RawFinding =
        serde_json::from_str(text.trim()).map_err(|error| FindingError::Shape(error.to_string()))?;
    let long = answer.answer.chars().count();
    if answer.answer.trim().is_empty() || long > MAX_ANSWER_CHARS {
        return Err(FindingError::Length);
    }
    let mut cites: Vec<String> = Vec::new();
    let mut unknown = 0;
    for cited in answer.cites.iter().take(MAX_CITATIONS) {
        match there(cited.trim().trim_matches('`')) {
            Some(name) if !cites.contains(&name) => cites.push(name),
            Some(_) => {}
            None => unknown += 1,
        }
    }
    if cites.is_empty() {
        return Err(FindingError::Unproven);
    }
    Ok(Finding { text: answer.answer, cites, unknown })
}
