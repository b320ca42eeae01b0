//! Reads one call or message of a Claude Code transcript in full, from its place.

use crate::json::{self, Cursor, Look};
use crate::{Error, Transcript, place};
use record::{Call, Message, Row, Stamp, Status};
use std::path::Path;

pub(super) fn call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let line = line(&transcript.path, row.place)?;
    let block = find_block(&line, |b| b.kind == b"tool_use" && row.id == Row::id_head(b.id))
        .ok_or(Error::Moved { path: transcript.path.clone(), what: "tool call", place: row.place })?;
    let tool = json::text(block.name);
    let mut call = Call {
        id: json::text(block.id),
        file: file_of(block.input),
        input: json::printable(block.input),
        tool,
        status: row.status(),
        ..Call::default()
    };
    if row.end != Row::NOWHERE {
        read_result(&result.path, row, &mut call)?;
    }
    Ok(call)
}

fn read_result(path: &Path, row: &Row, call: &mut Call) -> Result<(), Error> {
    let line = line(path, row.end)?;
    let block = find_block(&line, |b| b.kind == b"tool_result" && row.id == Row::id_head(b.id))
        .ok_or(Error::Moved { path: path.to_path_buf(), what: "tool result", place: row.end })?;
    let structured = json::get(&line, b"toolUseResult").unwrap_or(b"null");
    call.output = Some(output(block.content));
    call.duration_ms = duration(structured).or_else(|| between(row.at, row.until));
    if call.status == Status::Error {
        let said = json::text(json::inside(call.output.as_deref().unwrap_or("").as_bytes()));
        call.exit_code = exit_code(&said);
        call.error = Some(without_tag(&said));
    }
    Ok(())
}

/// What the model saw, as one JSON string: text blocks joined, anything else named.
fn output(content: &[u8]) -> String {
    if content.first() == Some(&b'"') {
        return json::printable(content);
    }
    let mut cursor = Cursor::new(content, 0);
    let mut parts = Vec::new();
    if cursor.array() {
        while let Ok(true) = cursor.item() {
            let Ok(item) = cursor.skip() else { break };
            parts.push(part(item));
        }
    }
    json::quoted(&parts.join("\n"))
}

fn part(item: &[u8]) -> String {
    if let Some(text) = json::get_text(item, b"text") {
        return text;
    }
    let kind = json::get_text(item, b"type").unwrap_or_else(|| "block".to_string());
    let source = json::get(item, b"source").unwrap_or(b"{}");
    match json::get_text(source, b"media_type") {
        Some(media) => format!("[{kind}: {media}]"),
        None => format!("[{kind}]"),
    }
}

fn duration(structured: &[u8]) -> Option<i64> {
    let raw = json::get(structured, b"durationMs").or_else(|| json::get(structured, b"totalDurationMs"))?;
    std::str::from_utf8(raw).ok()?.parse::<f64>().ok().map(|ms| ms as i64)
}

pub(crate) fn between(from: Stamp, to: Stamp) -> Option<i64> {
    (from.is_some() && to.is_some() && to >= from).then(|| to.0 - from.0)
}

fn exit_code(error: &str) -> Option<i64> {
    error.strip_prefix("Exit code ")?.split_whitespace().next()?.parse().ok()
}

fn without_tag(error: &str) -> String {
    let inner =
        error.trim().strip_prefix("<tool_use_error>").and_then(|e| e.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(error).to_string()
}

/// The file a call is about, under the names its tools use.
pub(crate) fn file_of(input: &[u8]) -> Option<String> {
    [b"file_path".as_slice(), b"notebook_path", b"filePath", b"absolute_path"]
        .iter()
        .find_map(|key| json::get_text(input, key))
}

pub(super) fn message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    let first = line(&transcript.path, row.place)?;
    let mut message = Message {
        id: json::get_text(&first, b"uuid").unwrap_or_default(),
        parent_id: json::get_text(&first, b"parentUuid"),
        ..Message::default()
    };
    let mut texts = Vec::new();
    let body = json::get(&first, b"message");
    let Some(body) = body else {
        message.text = beside(&first);
        return Ok(message);
    };
    let reply = json::get_text(body, b"id");
    if let Some(id) = &reply {
        message.id.clone_from(id);
    }
    message.model = json::get_text(body, b"model");
    add_texts(body, &mut texts, &mut message.tool_calls);
    if row.end > row.place {
        add_further_blocks(
            transcript,
            row,
            reply.as_deref().unwrap_or(""),
            &mut texts,
            &mut message.tool_calls,
        )?;
    }
    message.text = texts.join("\n");
    Ok(message)
}

/// The other blocks of a reply lie between its first and last line, among lines of other things.
fn add_further_blocks(
    transcript: &Transcript,
    row: &Row,
    id: &str,
    texts: &mut Vec<String>,
    calls: &mut u32,
) -> Result<(), Error> {
    let file = place::kept(&transcript.path)?;
    let mut at = row.place + place::line_at(&file, &transcript.path, row.place)?.len() as u64 + 1;
    while at <= row.end {
        let line = place::line_at(&file, &transcript.path, at)?;
        let body = json::get(&line, b"message");
        if let Some(body) = body.filter(|b| json::get_text(b, b"id").as_deref() == Some(id)) {
            add_texts(body, texts, calls);
        }
        at += line.len() as u64 + 1;
    }
    Ok(())
}

/// Text of the entries that hold it outside `message`: queued prompts, hooks, errors of the provider.
fn beside(line: &[u8]) -> String {
    if let Some(attachment) = json::get(line, b"attachment") {
        for key in [b"prompt".as_slice(), b"content", b"stdout", b"stderr", b"message"] {
            if let Some(value) = json::get(attachment, key) {
                return json::text(json::inside(output(value).as_bytes()));
            }
        }
    }
    let error = json::get(line, b"error").unwrap_or(b"{}");
    let shown = [b"formatted".as_slice(), b"message"].iter().find_map(|key| json::get_text(error, key));
    shown.or_else(|| json::get_text(line, b"content")).unwrap_or_default()
}

fn add_texts(body: &[u8], texts: &mut Vec<String>, calls: &mut u32) {
    let content = json::get(body, b"content").unwrap_or(b"null");
    if content.first() == Some(&b'"') {
        texts.push(json::text(json::inside(content)));
        return;
    }
    let mut cursor = Cursor::new(content, 0);
    if !cursor.array() {
        return;
    }
    while let Ok(true) = cursor.item() {
        let Ok(item) = cursor.skip() else { return };
        match json::get(item, b"type").map(json::inside) {
            Some(b"text") => texts.extend(json::get_text(item, b"text")),
            Some(b"image") => texts.push(part(item)),
            Some(b"tool_use") => *calls += 1,
            _ => {}
        }
    }
}

// ---- one line and its blocks

fn line(path: &Path, offset: u64) -> Result<Vec<u8>, Error> {
    let file = place::kept(path)?;
    let mut line = place::line_at(&file, path, offset)?;
    // A record saved out of a damaged line may have others behind it.
    if let Ok(whole) = json::whole(&line) {
        let end = whole.len();
        line.truncate(end);
    }
    Ok(line)
}

#[derive(Clone, Copy, Default)]
struct Block<'a> {
    kind: &'a [u8],
    id: &'a [u8],
    name: &'a [u8],
    input: &'a [u8],
    content: &'a [u8],
}

fn find_block<'a>(line: &'a [u8], is_it: impl Fn(&Block<'a>) -> bool) -> Option<Block<'a>> {
    let content = json::get(json::get(line, b"message")?, b"content")?;
    let mut cursor = Cursor::new(content, 0);
    if !cursor.array() {
        return None;
    }
    while cursor.item().ok()? {
        let block = block(cursor.skip().ok()?).ok()?;
        if is_it(&block) {
            return Some(block);
        }
    }
    None
}

fn block(item: &[u8]) -> Look<Block<'_>> {
    let mut cursor = Cursor::new(item, 0);
    let mut block = Block { input: b"null", content: b"null", ..Block::default() };
    if cursor.object().is_err() {
        return Ok(block);
    }
    while let Some(key) = cursor.key()? {
        match key {
            b"type" => block.kind = cursor.string_or_skip()?,
            b"id" | b"tool_use_id" => block.id = cursor.string_or_skip()?,
            b"name" => block.name = cursor.string_or_skip()?,
            b"input" => block.input = cursor.skip()?,
            b"content" => block.content = cursor.skip()?,
            _ => drop(cursor.skip()?),
        }
    }
    Ok(block)
}
