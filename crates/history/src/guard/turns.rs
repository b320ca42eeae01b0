//! Finds what begins a turn in the text formats of models: `Human:` at the begin of a line, however it is emphasised.
//!
//! Does not know tags.

use super::fold::fold_char;

/// In place of the colon: it looks like one, and no normalisation turns it into one.
const COLON: char = '∶';

/// Characters before and after the word.
const MAX_LEAD: usize = 24;

/// Replaces the colons of turn markers. None: there are none.
pub(super) fn defuse_turns(text: &str) -> Option<String> {
    let markers: Vec<(usize, Marker)> =
        line_starts(text).filter_map(|start| Some((start, Marker::read(&text[start..])?))).collect();
    let has =
        |meant: &[Word]| markers.iter().any(|(_, marker)| meant.contains(&marker.word) && marker.is_capital);
    let is_talk = has(&[Word::Party]);
    let is_short_talk = has(&[Word::ShortHuman]) && has(&[Word::ShortAssistant]);
    let is_exercise = markers.iter().any(|(_, marker)| marker.word == Word::Instruction && marker.is_heading);
    let counts = |start: usize, marker: &Marker| match marker.word {
        // In lower case these are keys of configuration; after a blank line they begin a turn all the same.
        Word::Party => marker.is_capital || marker.has_text && is_after_blank_line(text, start),
        // `User:` begins many lines of logs and forms: it counts beside the others. A snippet may have lost them, and `USER:` is a format
        // of its own.
        Word::User => marker.is_capital && (is_talk || marker.is_loud),
        Word::ShortHuman | Word::ShortAssistant => is_short_talk && marker.is_capital,
        Word::Instruction => marker.is_heading,
        Word::Response => marker.is_heading && (is_exercise || marker.is_third_level),
    };
    let (mut out, mut done) = (None, 0);
    for (start, marker) in markers.iter().filter(|(start, marker)| counts(*start, marker)) {
        let out = out.get_or_insert_with(|| String::with_capacity(text.len() + 16));
        out.push_str(&text[done..start + marker.colon]);
        out.push(COLON);
        done = start + marker.colon + marker.colon_length;
    }
    let mut out: String = out?;
    out.push_str(&text[done..]);
    Some(out)
}

/// The beginning of the text, and the position after each line break.
fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
}

fn is_after_blank_line(text: &str, start: usize) -> bool {
    let before = text[..start].strip_suffix('\n').unwrap_or_default();
    before.trim_end_matches(['\r', ' ', '\t']).ends_with('\n')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Party,
    User,
    ShortHuman,
    ShortAssistant,
    Instruction,
    Response,
}

struct Marker {
    word: Word,
    is_capital: bool,
    is_loud: bool,
    is_heading: bool,
    is_third_level: bool,
    has_text: bool,
    colon: usize,
    colon_length: usize,
}

impl Marker {
    fn read(line: &str) -> Option<Marker> {
        let is_lead = |c: char| {
            c.is_whitespace() && c != '\n' || matches!(c, '*' | '_' | '#' | '`' | '~' | '>' | '-' | '+' | '•')
        };
        let rest = trim_few(line, is_lead);
        let lead = &line[..line.len() - rest.len()];
        // Most lines end here.
        let first = rest.chars().next()?;
        if first.is_ascii() && !matches!(first.to_ascii_lowercase(), 'h' | 'a' | 's' | 'u' | 'i' | 'r') {
            return None;
        }
        let mut name = String::new();
        let mut end = rest.len();
        for (at, c) in rest.char_indices().take(MAX_LEAD) {
            let mut is_letter = true;
            fold_char(c, |letter| {
                is_letter &= letter.is_alphabetic();
                name.extend(letter.is_alphabetic().then_some(letter));
            });
            if !is_letter {
                end = at;
                break;
            }
        }
        let word = match name.as_str() {
            "human" | "assistant" | "system" => Word::Party,
            "user" => Word::User,
            "h" => Word::ShortHuman,
            "a" => Word::ShortAssistant,
            "instruction" => Word::Instruction,
            "response" => Word::Response,
            _ => return None,
        };
        let after =
            trim_few(&rest[end..], |c| c.is_whitespace() && c != '\n' || matches!(c, '*' | '_' | '`' | '~'));
        let colon = after.chars().next().filter(|c| is_colon(*c))?;
        let said = &after[colon.len_utf8()..];
        Some(Marker {
            word,
            is_capital: rest[..end].contains(char::is_uppercase),
            is_loud: !rest[..end].contains(char::is_lowercase),
            is_heading: lead.contains("##"),
            is_third_level: lead.trim() == "###",
            has_text: said.starts_with(' ') && !said.lines().next().unwrap_or_default().trim().is_empty(),
            colon: line.len() - after.len(),
            colon_length: colon.len_utf8(),
        })
    }
}

/// Without a few such characters at the begin.
fn trim_few(text: &str, is_meant: impl Fn(char) -> bool) -> &str {
    let end =
        text.char_indices().take(MAX_LEAD).find(|(_, c)| !is_meant(*c)).map_or(text.len(), |(at, _)| at);
    &text[end..]
}

fn is_colon(c: char) -> bool {
    let mut is_colon = false;
    fold_char(c, |letter| is_colon |= letter == ':');
    is_colon
}
