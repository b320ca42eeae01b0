//! Reads one call or message of a Claude Code transcript in full, from its offset.

use crate::json::{self, Cursor, Look};
use crate::{Error, Transcript, place};
use memchr::memmem;
use record::{Call, Message, Row, Stamp, Status};
use std::path::Path;
use std::sync::LazyLock;

pub(super) fn call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let moved = |path: &Path, what, place| Error::Moved { path: path.to_path_buf(), what, place };
    let call = place::with_line(&transcript.path, row.place, |line| {
        let block = find_block(line, |b| b.kind == b"tool_use" && row.id == Row::id_head(b.id))?;
        Some(Call {
            id: json::text(block.id),
            tool: json::text(block.name),
            file: file_of(block.input),
            input: json::printable(block.input),
            status: row.status(),
            ..Call::default()
        })
    })?;
    let mut call = call.ok_or_else(|| moved(&transcript.path, "tool call", row.place))?;
    if row.end == Row::NOWHERE {
        return Ok(call);
    }
    let result_found = place::with_line(&result.path, row.end, |line| {
        let block = find_block(line, |b| b.kind == b"tool_result" && row.id == Row::id_head(b.id))?;
        read_result(&block, row, &mut call);
        Some(())
    })?;
    result_found.ok_or_else(|| moved(&result.path, "tool result", row.end))?;
    Ok(call)
}

fn read_result(block: &Block<'_>, row: &Row, call: &mut Call) {
    let output = output(block.content);
    let timed = !UNTIMED.contains(&call.tool.as_str());
    call.duration_ms = timed.then(|| duration(block.rest)).flatten().or_else(|| between(row.at, row.until));
    if call.status == Status::Error {
        let text = json::text(json::inside(output.as_bytes()));
        call.exit_code = exit_code(&text);
        call.error = Some(without_tag(&text));
    }
    call.output = Some(output);
}

/// The output as the model saw it, as one JSON string: text blocks joined, anything else named.
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

/// Tools whose results never contain a duration, and are often the largest: not searched.
const UNTIMED: &[&str] = &["Bash", "Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "TodoWrite"];

/// The duration that the tool reports in the structured result after the message. Found by a text search
/// instead of parsing: that result can be megabytes. A quote inside a string would have a backslash before
/// it.
fn duration(rest: &[u8]) -> Option<i64> {
    let at = DURATION.find_iter(rest).find(|at| *at > 0 && matches!(rest[at - 1], b'{' | b','))?;
    let number = rest[at..].split(|b| *b == b':').nth(1)?;
    let end = number.iter().position(|b| !b.is_ascii_digit() && *b != b'.').unwrap_or(number.len());
    std::str::from_utf8(&number[..end]).ok()?.parse::<f64>().ok().map(|ms| ms as i64)
}

static DURATION: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"urationMs\":"));

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

/// The file that a call is about, under the parameter names its tools use.
pub(crate) fn file_of(input: &[u8]) -> Option<String> {
    [b"file_path".as_slice(), b"notebook_path", b"filePath", b"absolute_path"]
        .iter()
        .find_map(|key| json::get_text(input, key))
}

pub(super) fn message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    let mut builder = Told::default();
    let length = place::with_line(&transcript.path, row.place, |line| {
        builder.first(line);
        line.len() as u64
    })?;
    // The other blocks of a reply are between its first and last line, among unrelated lines.
    let mut at = row.place + length + 1;
    while row.end > row.place && at <= row.end {
        at += 1 + place::with_line(&transcript.path, at, |line| {
            builder.further(line);
            line.len() as u64
        })?;
    }
    builder.message.text = builder.texts.join("\n");
    Ok(builder.message)
}

/// Collects a message from its lines.
#[derive(Default)]
struct Told {
    message: Message,
    texts: Vec<String>,
    reply: Option<String>,
}

impl Told {
    fn first(&mut self, line: &[u8]) {
        self.message.id = json::get_text(line, b"uuid").unwrap_or_default();
        self.message.parent_id = json::get_text(line, b"parentUuid");
        let Some(body) = json::get(line, b"message") else {
            self.texts.push(beside(line));
            return;
        };
        self.reply = json::get_text(body, b"id");
        if let Some(id) = &self.reply {
            self.message.id.clone_from(id);
        }
        self.message.model = json::get_text(body, b"model");
        add_texts(body, &mut self.texts, &mut self.message.tool_calls);
    }

    fn further(&mut self, line: &[u8]) {
        let body = json::get(line, b"message");
        if let Some(body) = body.filter(|b| self.reply.is_some() && json::get_text(b, b"id") == self.reply) {
            add_texts(body, &mut self.texts, &mut self.message.tool_calls);
        }
    }
}

/// Text of the entries that have it outside `message`: queued prompts, hooks, errors of the provider.
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

// ---- the blocks of a line

#[derive(Clone, Copy, Default)]
struct Block<'a> {
    kind: &'a [u8],
    id: &'a [u8],
    name: &'a [u8],
    input: &'a [u8],
    content: &'a [u8],
    /// The rest of the line after the block.
    rest: &'a [u8],
}

/// Goes straight to the blocks of the message: one pass over the bytes before the block.
fn find_block<'a>(line: &'a [u8], is_it: impl Fn(&Block<'a>) -> bool) -> Option<Block<'a>> {
    let mut cursor = Cursor::new(line, 0);
    step_into(&mut cursor, b"message")?;
    step_into(&mut cursor, b"content")?;
    if !cursor.array() {
        return None;
    }
    while cursor.item().ok()? {
        let mut block = block(&mut cursor).ok()?;
        if is_it(&block) {
            block.rest = &line[cursor.at..];
            return Some(block);
        }
    }
    None
}

/// Moves the cursor to the value of one key of the object before it.
fn step_into(cursor: &mut Cursor<'_>, wanted: &[u8]) -> Option<()> {
    cursor.object().ok()?;
    while let Some(key) = cursor.key().ok()? {
        if key == wanted {
            return Some(());
        }
        cursor.skip().ok()?;
    }
    None
}

fn block<'a>(cursor: &mut Cursor<'a>) -> Look<Block<'a>> {
    let mut block = Block { input: b"null", content: b"null", ..Block::default() };
    if cursor.peek() != b'{' {
        cursor.skip()?;
        return Ok(block);
    }
    cursor.object()?;
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
