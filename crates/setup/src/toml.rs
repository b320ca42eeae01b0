//! TOML: appends a table of ours to a user's file, finds it again and removes it.
//!
//! Does not rewrite any other line of the file, not even to tidy it.

use crate::edit::{EditError, Insertion, is_blank, line_ending};
use crate::entry::{Entry, Location};
use serde_json::Value;

pub(crate) fn parse_tree(text: &str) -> Result<Value, EditError> {
    ::toml::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|e| EditError::Syntax(e.message().to_string()))
}

// ---- inserting

pub(crate) fn insert_entry(text: &str, entry: &Entry) -> Vec<Insertion> {
    let eol = line_ending(text);
    let mut block = String::new();
    if !text.is_empty() && !text.ends_with('\n') {
        block.push_str(eol);
    }
    if !is_blank(text) {
        block.push_str(eol);
    }
    let path = entry.location.keys.iter().map(|key| format_key(key)).collect::<Vec<_>>().join(".");
    let (open, close) = if entry.location.mark.is_some() { ("[[", "]]") } else { ("[", "]") };
    block.extend([open, &path, close, eol]);
    for (key, value) in entry.value.as_object().into_iter().flatten() {
        block.extend([&format_key(key), " = ", &format_value(value), eol]);
    }
    vec![Insertion { at: text.len(), text: block }]
}

fn format_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) { key.to_string() } else { quote_string(key) }
}

fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote_string(text),
        Value::Array(list) => format!("[{}]", list.iter().map(format_value).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let members =
                map.iter().map(|(key, value)| format!("{} = {}", format_key(key), format_value(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A basic string has the escapes of JSON. DEL is the one character that JSON allows unescaped and TOML does not.
pub(crate) fn quote_string(text: &str) -> String {
    Value::String(text.to_string()).to_string().replace('\u{7f}', "\\u007F")
}

// ---- removing

/// A header line in brackets, and the lines below it.
struct Block {
    start: usize,
    /// End of the last line with a key; comments further down belong to the next block.
    end: usize,
    keys: Vec<String>,
    list: bool,
}

pub(crate) fn remove_entry(text: &str, spot: &Location) -> String {
    let blocks = parse_blocks(text);
    let mut removed: Vec<&Block> = Vec::new();
    let mut at = 0;
    while let Some(block) = blocks.get(at) {
        let below =
            |other: &&Block| other.keys.len() > block.keys.len() && other.keys.starts_with(&block.keys);
        let count = 1 + blocks[at + 1..].iter().take_while(below).count();
        let ours = match &spot.mark {
            None => block.keys.starts_with(&spot.keys),
            Some(mark) => {
                let content = &text[block.start..blocks[at + count - 1].end];
                block.list && block.keys == spot.keys && content.contains(mark.as_str())
            }
        };
        let count = if ours { count } else { 1 };
        if ours {
            removed.extend(&blocks[at..at + count]);
        }
        at += count;
    }
    let mut now = text.to_string();
    removed
        .iter()
        .rev()
        .for_each(|block| now.replace_range(start_with_gap(text, block.start)..block.end, ""));
    now
}

/// An empty line before a block is removed with it.
fn start_with_gap(text: &str, start: usize) -> usize {
    let before = &text[..start];
    let Some(line) = before.strip_suffix('\n') else { return start };
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.ends_with('\n') { line.len() } else { start }
}

fn parse_blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = at + line_length(&text[at..]);
        let line = text[at..end].trim_start_matches('\u{feff}').trim();
        if line.starts_with('[') {
            let (keys, list) = parse_header(line);
            blocks.push(Block { start: at, end, keys, list });
        } else if !line.is_empty() && !line.starts_with('#') {
            blocks.iter_mut().next_back().into_iter().for_each(|block| block.end = end);
        }
        at = end;
    }
    blocks
}

/// The keys of a header. A header line is a valid document, so the parser extracts them.
fn parse_header(line: &str) -> (Vec<String>, bool) {
    let (mut keys, mut at) = (Vec::new(), parse_tree(line).unwrap_or_default());
    loop {
        match at {
            Value::Object(map) => match map.into_iter().next() {
                Some((key, inner)) => (keys.push(key), at = inner).1,
                None => return (keys, false),
            },
            Value::Array(_) => return (keys, true),
            _ => return (keys, false),
        }
    }
}

/// Length up to the end of the line, or of the lines that its value spans.
fn line_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'#' => at += text[at..].find('\n').unwrap_or(text.len() - at).saturating_sub(1),
            b'"' | b'\'' => at += string_length(&text[at..]) - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'\n' if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let long = quote.repeat(3);
    let (open, close) = if text.starts_with(&long) { (3, long.as_str()) } else { (1, quote) };
    let mut at = open;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(close) {
            // Up to two quotes may precede the three that end the string.
            let more = if open == 3 {
                rest[3..].chars().take(2).take_while(|c| quote.starts_with(*c)).count()
            } else {
                0
            };
            return at + open + more;
        }
        let escaped = quote == "\"" && rest.starts_with('\\');
        at += rest.chars().take(1 + usize::from(escaped)).map(char::len_utf8).sum::<usize>();
    }
    text.len()
}
