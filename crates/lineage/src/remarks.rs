//! What people said about a piece of code: the reasons and refusals that no edit records.
//!
//! A remark is a person's message in a session of the repository. It concerns a symbol if it names it, if the agent's words right before or after
//! it do, or if it follows an edit of the symbol; it is worth repeating if it says what has to stay, what must not be done, or what went wrong. Both
//! are counted in points, and the best are quoted with their dates. Does not claim that a remark still holds.

use crate::fact_check::last_name;
use api::about::Remark;
use api::search::stamp_to_ms;
use api::why::WhyFound;
use api::{Error, ViewRequest};
use history::error::read_error;
use history::file_calls::FileCalls;
use history::scan::{ScanResult, by_session, is_warm_up, scan_rows};
use history::{History, scope};
use record::row::{SIDECHAIN, USAGE_ONLY};
use record::{Kind, Row, RowKind};
use rustc_hash::FxHashSet;
use sources::SurveyOptions;
use std::path::Path;

/// Remarks that are quoted, and the characters of each.
const MAX_REMARKS: usize = 3;
const MAX_TEXT: usize = 420;
/// A shorter message says nothing alone.
const MIN_TEXT: usize = 20;
/// The latest sessions are read even if they did not touch the file; and calls on the file that are looked at.
const RECENT_SESSIONS: usize = 60;
const MAX_CALLS: u32 = 300;
/// Points that a remark needs, for what it is about and for what it says.
const MIN_ABOUT: u32 = 3;
const MIN_WEIGHT: u32 = 2;

/// A message of a session.
struct Turn {
    row: Row,
    is_person: bool,
    text: String,
}

/// What is asked about.
struct Place<'p> {
    name: &'p str,
    owner: &'p str,
    file_name: &'p str,
    /// Turns in which the code itself was edited, and in which its file was read or edited.
    edited: FxHashSet<(String, u32)>,
    touched: FxHashSet<(String, u32)>,
}

/// The remarks about the target of an answer, best first.
pub fn find_remarks(history: &History<'_>, root: &Path, found: &WhyFound) -> Result<Vec<Remark>, Error> {
    let file = found.file.as_deref().unwrap_or_default();
    let place = Place::new(history, root, found, file);
    let request =
        ViewRequest { project: Some(root.to_string_lossy().into_owned()), ..ViewRequest::default() };
    let messages = SurveyOptions { calls: false, messages: true, fields: false };
    let (library, rows) = scan_rows(history, &request, messages, by_session, |_, joined| {
        let row = &joined.row;
        let is_said = matches!(row.kind(), Kind::Prompt | Kind::Reply) && row.row == RowKind::Message;
        is_said && !is_warm_up(row) && !row.has_flag(USAGE_ONLY) && !row.has_flag(SIDECHAIN)
    })?;
    let rows = rows.collect::<Result<Vec<Row>, _>>().map_err(read_error)?;
    let sessions: Vec<&[Row]> = rows.chunk_by(|one, other| one.key == other.key).collect();
    let recent = sessions.len().saturating_sub(RECENT_SESSIONS);
    let mut scored: Vec<(u32, Remark)> = Vec::new();
    for (number, rows) in sessions.iter().enumerate() {
        let session = &library.session(&rows[0]).session_id;
        if number < recent && !place.is_known_in(session) {
            continue;
        }
        let turns = read_turns(history, &library, rows);
        scored.extend((0..turns.len()).filter_map(|at| place.judge(session, &turns, at)));
    }
    // Of equal ones the latest.
    scored.sort_by_key(|(score, remark)| std::cmp::Reverse((*score, remark.at)));
    Ok(scored.into_iter().take(MAX_REMARKS).map(|(_, remark)| remark).collect())
}

fn read_turns(history: &History<'_>, library: &ScanResult, rows: &[Row]) -> Vec<Turn> {
    let read = |row: &Row| {
        let text = history.read_message(library, row).ok()?.text;
        let is_person = row.kind() == Kind::Prompt;
        (!text.trim().is_empty()).then_some(Turn { row: *row, is_person, text })
    };
    rows.iter().filter_map(read).collect()
}

impl<'p> Place<'p> {
    fn new(history: &History<'_>, root: &Path, found: &'p WhyFound, file: &'p str) -> Place<'p> {
        let symbol = found.target.split('(').next().unwrap_or_default();
        let is_symbol = found.target != file;
        let name = if is_symbol { last_name(symbol) } else { "" };
        let owner = if is_symbol { symbol.strip_suffix(name).unwrap_or_default() } else { "" };
        let edits = found.steps.iter().filter_map(|step| Some((step.session_id.clone()?, step.turn?)));
        let folders = scope::project_folders(history, root);
        let calls = FileCalls::load(*history, &folders, file, MAX_CALLS);
        let calls = calls.iter().flat_map(|calls| &calls.calls);
        Place {
            name,
            owner: last_name(owner.trim_end_matches(['.', ':'])),
            file_name: file.rsplit('/').next().unwrap_or_default(),
            edited: edits.collect(),
            touched: calls.map(|call| (call.session_id.clone(), call.row.turn)).collect(),
        }
    }

    fn is_known_in(&self, session: &str) -> bool {
        self.edited.iter().chain(&self.touched).any(|(known, _)| known == session)
    }

    /// The points of a message and its quotation; None if it is no remark about the place.
    fn judge(&self, session: &str, turns: &[Turn], at: usize) -> Option<(u32, Remark)> {
        let turn = &turns[at];
        if !turn.is_person || turn.text.trim().len() < MIN_TEXT {
            return None;
        }
        let about = self.points_about(session, turns, at);
        let weight = weigh(&turn.text);
        if about < MIN_ABOUT || weight < MIN_WEIGHT {
            return None;
        }
        let text = quote(&turn.text, self.name);
        Some((about + weight, Remark { text, session_id: session.to_string(), at: stamp_to_ms(turn.row.at) }))
    }

    fn points_about(&self, session: &str, turns: &[Turn], at: usize) -> u32 {
        let turn = &turns[at];
        let reply_before = at.checked_sub(1).map(|before| &turns[before]).filter(|it| !it.is_person);
        // A person answers what the agent said to their question.
        let question_before = at.checked_sub(2).map(|before| &turns[before]).filter(|it| it.is_person);
        let reply_after = turns.get(at + 1).filter(|it| !it.is_person);
        let earlier = turns[..at].iter().map(|turn| self.points_of_text(&turn.text)).max().unwrap_or(0);
        let is_in = |known: &FxHashSet<(String, u32)>| {
            let number = turn.row.turn;
            [number, number.wrapping_sub(1)]
                .iter()
                .any(|number| known.contains(&(session.to_string(), *number)))
        };
        let near = [
            2 * self.points_of_text(&turn.text),
            reply_before.map_or(0, |reply| 2 * self.points_of_text(&reply.text)),
            reply_after.map_or(0, |reply| self.points_of_text(&reply.text)),
            question_before.map_or(0, |question| 2 * self.points_of_text(&question.text)).max(earlier),
            if is_in(&self.edited) { 5 } else { 0 },
            if is_in(&self.touched) { 3 } else { 0 },
        ];
        near.iter().sum()
    }

    /// How surely a text speaks of the place.
    fn points_of_text(&self, text: &str) -> u32 {
        let is_named = !self.name.is_empty() && has_word(text, self.name);
        let named = if is_named && names_as_code(text, self.name) { 3 } else { 2 * u32::from(is_named) };
        let owned = u32::from(!self.owner.is_empty() && has_word(text, self.owner));
        let filed = u32::from(!self.file_name.is_empty() && text.contains(self.file_name));
        named + owned + filed
    }
}

/// The places at which a text has a name as a word of its own.
fn places_of<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .map(move |(at, _)| (&text[..at], &text[at + name.len()..]))
        .filter(move |(before, after)| !before.ends_with(is_letter) && !after.starts_with(is_letter))
}

fn has_word(text: &str, name: &str) -> bool {
    places_of(text, name).next().is_some()
}

/// Whether a text means the name as code: made of several words, in backticks, called, or with its type.
fn names_as_code(text: &str, name: &str) -> bool {
    let is_unusual = name.contains('_') || name.chars().skip(1).any(char::is_uppercase);
    places_of(text, name).any(|(before, after)| {
        is_unusual || before.ends_with(['`', '.', ':']) || after.starts_with(['(', '`'])
    })
}

/// Words with which people refuse, insist and explain.
#[rustfmt::skip] // a table
const CUES: &[&str] = &[
    "no", "not", "don't", "dont", "never", "always", "must", "mustn't", "keep", "leave", "stay", "stays", "only", "because", "instead", "revert",
    "undo", "back", "wrong", "break", "breaks", "broke", "purpose", "intentional", "choice", "can't", "cannot", "won't", "shouldn't", "has to",
    "have to", "needs", "reason", "otherwise", "without", "unless", "nope", "nah", "decided", "agreed", "rely", "relies", "illegal", "forbidden",
    "so that", "rather", "nein", "nicht", "nie", "immer", "bleibt", "muss", "weil", "kein", "keine", "damit", "sonst", "zurück", "nunca", "siempre", "porque", "mejor",
    "hay que", "jamais", "toujours", "parce que", "il faut",
];

/// How much a message says that holds beyond it: one point for each cue, fewer for a mere question.
fn weigh(text: &str) -> u32 {
    let low = text.to_lowercase().replace('’', "'");
    let is_letter = |c: char| c.is_alphanumeric() || c == '\'' || c == '_';
    let words: Vec<&str> = low.split(|c| !is_letter(c)).filter(|word| !word.is_empty()).collect();
    let has = |cue: &str| {
        let parts: Vec<&str> = cue.split(' ').collect();
        words.windows(parts.len()).any(|window| window == parts)
    };
    let cues = CUES.iter().filter(|cue| has(cue)).count() as u32;
    let is_question = text.trim_end().ends_with('?') && !text.contains(['.', ':', '\n']);
    let length = u32::from(words.len() >= 12) + u32::from(words.len() >= 25);
    (cues.min(5) + length).saturating_sub(if is_question { 2 } else { 0 })
}

/// A message in one line; of a long one the part that says most.
fn quote(text: &str, name: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() <= MAX_TEXT {
        return text;
    }
    let starts = text.match_indices(['.', '!', '?', ';', ':', ')']).map(|(at, _)| at + 1);
    let starts = std::iter::once(0).chain(starts.filter(|at| text[*at..].starts_with(' ')));
    let window = |from: usize| text[from..text.floor_char_boundary((from + MAX_TEXT).min(text.len()))].trim();
    let value = |part: &str| 2 * weigh(part) + u32::from(!name.is_empty() && has_word(part, name));
    // Of equal ones the first.
    let best = starts.max_by_key(|from| (value(window(*from)), std::cmp::Reverse(*from))).unwrap_or(0);
    let (head, tail) =
        (if best > 0 { "… " } else { "" }, if best + MAX_TEXT < text.len() { " …" } else { "" });
    format!("{head}{}{tail}", window(best))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place<'p>(name: &'p str, owner: &'p str) -> Place<'p> {
        let (edited, touched) = (FxHashSet::default(), FxHashSet::default());
        Place { name, owner, file_name: "retry.py", edited, touched }
    }

    fn turns(texts: &[(bool, &str)]) -> Vec<Turn> {
        let turn = |(is_person, text): &(bool, &str)| Turn {
            row: Row::default(),
            is_person: *is_person,
            text: (*text).to_string(),
        };
        texts.iter().map(turn).collect()
    }

    #[test]
    fn a_refusal_after_the_agent_named_the_symbol_is_a_remark() {
        let talk = turns(&[
            (true, "the gateway fails at night, any idea"),
            (false, "Raising the limit in `should_retry` to six would help. Shall I?"),
            (true, "no, leave it. after the fourth attempt they lock the whole account"),
            (true, "what is the weather, by the way"),
        ]);
        let judged = |at: usize| place("should_retry", "RetryPolicy").judge("s", &talk, at);
        assert!(judged(2).is_some_and(|(_, remark)| remark.text.contains("fourth attempt")));
        assert!(judged(0).is_none() && judged(1).is_none() && judged(3).is_none());
        assert!(place("charge", "Service").judge("s", &talk, 2).is_none(), "about something else");
    }

    #[test]
    fn a_plain_word_is_a_weaker_name_than_code() {
        let place = place("send", "Connection");
        assert_eq!(place.points_of_text("please send it"), 2);
        assert_eq!(place.points_of_text("send() of the Connection"), 4);
        assert_eq!(place.points_of_text("resend it"), 0);
    }

    #[test]
    fn a_long_message_is_quoted_where_it_insists() {
        let filler = "here is the output of the job that ran last night on the first box ".repeat(9);
        let text = format!("{filler}. never cache the sum, because the auditor must see the bookings.");
        let quoted = quote(&text, "balance");
        assert!(quoted.contains("never cache the sum") && quoted.len() <= MAX_TEXT + 10, "{quoted}");
        assert_eq!(quote("short  text", "x"), "short text");
    }
}
