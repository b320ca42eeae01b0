//! TOML: a table of ours at the end of somebody's file, and how it is found and taken out again.
//!
//! Does not write any other line of the file, not even to tidy it.

use crate::entry::{Entry, Spot};
use crate::text::{Cut, Misfit, blank, line_end};
use serde_json::Value;

pub(crate) fn tree(text: &str) -> Result<Value, Misfit> {
    ::toml::from_str(text.trim_start_matches('\u{feff}')).map_err(|e| Misfit::Syntax(e.message().to_string()))
}

// ---- putting in

pub(crate) fn put_in(text: &str, entry: &Entry) -> Vec<Cut> {
    let eol = line_end(text);
    let mut block = String::new();
    if !text.is_empty() && !text.ends_with('\n') {
        block.push_str(eol);
    }
    if !blank(text) {
        block.push_str(eol);
    }
    let path = entry.spot.keys.iter().map(|key| written_key(key)).collect::<Vec<_>>().join(".");
    let (open, close) = if entry.spot.mark.is_some() { ("[[", "]]") } else { ("[", "]") };
    block.extend([open, &path, close, eol]);
    for (key, value) in entry.value.as_object().into_iter().flatten() {
        block.extend([&written_key(key), " = ", &written(value), eol]);
    }
    vec![Cut { at: text.len(), text: block }]
}

fn written_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) { key.to_string() } else { quoted(key) }
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| format!("{} = {}", written_key(key), written(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A basic string knows the escapes of JSON; DEL is the one character that JSON lets stand and TOML does not.
pub(crate) fn quoted(text: &str) -> String {
    Value::String(text.to_string()).to_string().replace('\u{7f}', "\\u007F")
}

// ---- taking out

/// A line in brackets, and what stands below it.
struct Block {
    start: usize,
    /// Behind the last line that says something; remarks further down belong to what comes next.
    end: usize,
    keys: Vec<String>,
    list: bool,
}

pub(crate) fn take_out(text: &str, spot: &Spot) -> String {
    let blocks = blocks(text);
    let mut doomed: Vec<&Block> = Vec::new();
    let mut at = 0;
    while let Some(block) = blocks.get(at) {
        let below =
            |other: &&Block| other.keys.len() > block.keys.len() && other.keys.starts_with(&block.keys);
        let many = 1 + blocks[at + 1..].iter().take_while(below).count();
        let ours = match &spot.mark {
            None => block.keys.starts_with(&spot.keys),
            Some(mark) => {
                let said = &text[block.start..blocks[at + many - 1].end];
                block.list && block.keys == spot.keys && said.contains(mark.as_str())
            }
        };
        let many = if ours { many } else { 1 };
        if ours {
            doomed.extend(&blocks[at..at + many]);
        }
        at += many;
    }
    let mut now = text.to_string();
    doomed.iter().rev().for_each(|block| now.replace_range(gap_before(text, block.start)..block.end, ""));
    now
}

/// One empty line before a block goes with it.
fn gap_before(text: &str, start: usize) -> usize {
    let before = &text[..start];
    let Some(line) = before.strip_suffix('\n') else { return start };
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.ends_with('\n') { line.len() } else { start }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = at + line_length(&text[at..]);
        let line = text[at..end].trim_start_matches('\u{feff}').trim();
        if line.starts_with('[') {
            let (keys, list) = header(line);
            blocks.push(Block { start: at, end, keys, list });
        } else if !line.is_empty() && !line.starts_with('#') {
            blocks.iter_mut().next_back().into_iter().for_each(|block| block.end = end);
        }
        at = end;
    }
    blocks
}

/// The keys of a header. A line in brackets is a document of its own, so the parser says what they are.
fn header(line: &str) -> (Vec<String>, bool) {
    let (mut keys, mut at) = (Vec::new(), tree(line).unwrap_or_default());
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

/// Up to the end of the line, or of the lines over which its value goes.
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
            // Up to two quotes may stand right before the three that end it.
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
