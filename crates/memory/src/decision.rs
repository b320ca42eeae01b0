//! Recognises sentences that state a decision or a standing wish of their author.
//!
//! Does not know who wrote a sentence, nor whether it was pasted.

use crate::phrases::{
    CONTRASTING_WORDS, DECISION_BEGINNINGS, DECISION_PHRASES, NON_DECISION_PHRASES, OWN_STATEMENTS,
    REPORTING_PHRASES, REQUEST_VERBS,
};
use crate::prose::{is_han, strip_list_marker};

/// The longest accepted sentence; anything longer was pasted.
const MAX_LENGTH: usize = 300;
const MIN_LENGTH: usize = 8;

pub(crate) fn is_decision(sentence: &str) -> bool {
    let low = strip_list_marker(sentence).to_lowercase().replace('’', "'");
    let low = low.split_whitespace().collect::<Vec<_>>().join(" ");
    (MIN_LENGTH..=MAX_LENGTH).contains(&low.chars().count())
        && !NON_DECISION_PHRASES.iter().any(|sign| low.contains(sign))
        && !is_quoted(sentence)
        && own_clauses(&low).into_iter().any(is_decision_clause)
}

fn is_decision_clause(clause: &str) -> bool {
    let text = without_lead(clause);
    DECISION_PHRASES.iter().any(|sign| contains_phrase(&without_quotations(clause), sign))
        || begins_with_instruction(text)
        || further_requests(text).into_iter().any(begins_with_instruction)
}

pub(crate) fn without_lead(clause: &str) -> &str {
    let text = clause.trim_start_matches(|c: char| !c.is_alphanumeric());
    LEADING_WORDS.iter().fold(text, |text, lead| text.strip_prefix(lead).unwrap_or(text))
}

pub(crate) fn begins_with_instruction(clause: &str) -> bool {
    DECISION_BEGINNINGS.iter().any(|begin| gives_instruction(&clause.to_lowercase(), begin))
}

/// Clauses that state a further request: "fix it and never push to main". Only if the sentence begins with a request:
/// "the tests pass and never touch the disk" is a description.
pub(crate) fn further_requests(text: &str) -> Vec<&str> {
    let first = text.split(' ').next().unwrap_or("").to_lowercase();
    let marks: &[&str] =
        if REQUEST_VERBS.contains(&first.as_str()) { &[" and ", ", ", "; ", " but "] } else { &[] };
    let places = marks.iter().flat_map(|mark| text.match_indices(mark).map(|(at, mark)| at + mark.len()));
    places.map(|at| &text[at..]).collect()
}

/// Words that may precede an instruction without being part of it.
#[rustfmt::skip] // a table
const LEADING_WORDS: &[&str] = &[
    "please ", "and ", "but ", "so ", "also ", "ok, ", "note: ", "important: ", "as i wrote: ", "as i said: ", "as i said, ",
];

/// The whole sentence; if it reports other people's words, the clauses that are the user's own: "the README says we use
/// npm, but always use pnpm".
fn own_clauses(low: &str) -> Vec<&str> {
    let is_reported = |clause: &str| REPORTING_PHRASES.iter().any(|sign| clause.contains(sign));
    if !is_reported(low) {
        return vec![low];
    }
    let turns = CONTRASTING_WORDS
        .iter()
        .flat_map(|sign| low.match_indices(sign).map(|(at, sign)| (at, at + sign.len())));
    let answers = low.match_indices([',', '，']).map(|(at, comma)| (at, at + comma.len()));
    let answers =
        answers.filter(|(at, behind)| is_complete_report(&low[..*at]) && is_own_statement(&low[*behind..]));
    let mut cuts: Vec<(usize, usize)> = turns.chain(answers).collect();
    cuts.sort_unstable();
    let (mut clauses, mut from) = (Vec::new(), 0);
    for (end, behind) in cuts.into_iter().chain([(low.len(), low.len())]) {
        clauses.push(low.get(from..end).unwrap_or(""));
        from = behind;
    }
    clauses.retain(|clause| !is_reported(clause));
    clauses
}

fn is_own_statement(rest: &str) -> bool {
    OWN_STATEMENTS.iter().any(|word| rest.trim_start().starts_with(word))
}

/// "According to Anna, we decided" is Anna's statement; "according to the docs this is fine, we decided" is the user's.
fn is_complete_report(reported: &str) -> bool {
    reported.split_whitespace().count() > 5 || reported.chars().filter(|c| is_han(*c)).count() > 3
}

/// Whether the sentence is a quotation: it begins and ends with quotation marks.
fn is_quoted(sentence: &str) -> bool {
    let trimmed = sentence.trim();
    let pairs = [('"', '"'), ('“', '”'), ('「', '」'), ('\'', '\'')];
    trimmed.chars().count() > 2
        && pairs.iter().any(|(open, close)| {
            trimmed.starts_with(*open) && trimmed.trim_end_matches(['.', '。']).ends_with(*close)
        })
}

/// The sentence without the parts it quotes: reporting another person's decision is not a decision.
fn without_quotations(low: &str) -> String {
    let pairs = [('“', '”'), ('「', '」'), ('『', '』'), ('"', '"')];
    let mut text = low.to_string();
    for (open, close) in pairs {
        while let Some((start, end)) = find_quotation(&text, open, close) {
            text.replace_range(start..end, " ");
        }
    }
    text
}

fn find_quotation(text: &str, open: char, close: char) -> Option<(usize, usize)> {
    let start = text.find(open)?;
    let inside = start + open.len_utf8();
    Some((start, inside + text[inside..].find(close)? + close.len_utf8()))
}

/// An ASCII phrase must begin at a word boundary.
fn contains_phrase(low: &str, sign: &str) -> bool {
    low.match_indices(sign)
        .any(|(at, _)| !sign.is_ascii() || low[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
}

/// "Always use", not "always fails" or "never worked".
fn gives_instruction(text: &str, begin: &str) -> bool {
    let Some(rest) = text.strip_prefix(begin) else { return false };
    let verb = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    let third_person = verb.ends_with('s') && !verb.ends_with("ss") && !verb.ends_with("us");
    let past = verb.ends_with("ed") && !["need", "embed", "feed", "seed", "speed"].contains(&verb);
    !verb.is_empty()
        && !third_person
        && !past
        && !["the", "a", "had", "got", "been", "been", "seen", "mind"].contains(&verb)
}
