//! Reads one call or message of a Claude Code transcript in full, from its offset.

use crate::json::{self, Cursor, JsonResult};
use crate::{Error, Transcript, line_reader};
use memchr::memmem;
use record::{Call, Message, Row, Stamp, Status};
use std::path::Path;
use std::sync::LazyLock;

pub(super) fn fetch_call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let moved = |path: &Path, what, place| Error::Moved { path: path.to_path_buf(), what, place };
    let call = line_reader::with_line(&transcript.path, row.start, |line| {
        let block = find_block(line, |b| b.kind == b"tool_use" && row.id == Row::id_head(b.id))?;
        Some(Call {
            id: json::decode_string(block.id),
            tool: json::decode_string(block.name),
            file: file_argument(block.input),
            input: json::to_printable(block.input),
            status: row.status(),
            ..Call::default()
        })
    })?;
    let mut call = call.ok_or_else(|| moved(&transcript.path, "tool call", row.start))?;
    if row.end == Row::NO_END {
        return Ok(call);
    }
    let result_found = line_reader::with_line(&result.path, row.end, |line| {
        let block = find_block(line, |b| b.kind == b"tool_result" && row.id == Row::id_head(b.id))?;
        read_result(&block, row, &mut call);
        Some(())
    })?;
    result_found.ok_or_else(|| moved(&result.path, "tool result", row.end))?;
    Ok(call)
}

fn read_result(block: &Block<'_>, row: &Row, call: &mut Call) {
    let output = output_json(block.content);
    let timed = !UNTIMED.contains(&call.tool.as_str());
    call.duration_ms =
        timed.then(|| find_duration_ms(block.rest)).flatten().or_else(|| duration_between(row.at, row.until));
    if call.status == Status::Error {
        let text = json::decode_string(json::strip_quotes(output.as_bytes()));
        call.exit_code = parse_exit_code(&text);
        call.error = Some(strip_error_tag(&text));
    }
    call.output = Some(output);
}

/// The output as the model saw it, as one JSON string: text blocks joined, anything else named.
fn output_json(content: &[u8]) -> String {
    if content.first() == Some(&b'"') {
        return json::to_printable(content);
    }
    let mut cursor = Cursor::new(content, 0);
    let mut parts = Vec::new();
    if cursor.enter_array() {
        while let Ok(true) = cursor.next_item() {
            let Ok(item) = cursor.skip_value() else { break };
            parts.push(part_text(item));
        }
    }
    json::to_json_string(&parts.join("\n"))
}

fn part_text(item: &[u8]) -> String {
    if let Some(text) = json::get_text(item, b"text") {
        return text;
    }
    let kind = json::get_text(item, b"type").unwrap_or_else(|| "block".to_string());
    let source = json::get_value(item, b"source").unwrap_or(b"{}");
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
fn find_duration_ms(rest: &[u8]) -> Option<i64> {
    let at = DURATION.find_iter(rest).find(|at| *at > 0 && matches!(rest[at - 1], b'{' | b','))?;
    let number = rest[at..].split(|b| *b == b':').nth(1)?;
    let end = number.iter().position(|b| !b.is_ascii_digit() && *b != b'.').unwrap_or(number.len());
    std::str::from_utf8(&number[..end]).ok()?.parse::<f64>().ok().map(|ms| ms as i64)
}

static DURATION: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"urationMs\":"));

pub(crate) fn duration_between(from: Stamp, to: Stamp) -> Option<i64> {
    (from.is_some() && to.is_some() && to >= from).then(|| to.0 - from.0)
}

fn parse_exit_code(error: &str) -> Option<i64> {
    error.strip_prefix("Exit code ")?.split_whitespace().next()?.parse().ok()
}

fn strip_error_tag(error: &str) -> String {
    let inner =
        error.trim().strip_prefix("<tool_use_error>").and_then(|e| e.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(error).to_string()
}

/// The file that a call is about, under the parameter names its tools use.
pub(crate) fn file_argument(input: &[u8]) -> Option<String> {
    [b"file_path".as_slice(), b"notebook_path", b"filePath", b"absolute_path"]
        .iter()
        .find_map(|key| json::get_text(input, key))
}

pub(super) fn fetch_message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    let mut builder = MessageBuilder::default();
    let length = line_reader::with_line(&transcript.path, row.start, |line| {
        builder.add_first_line(line);
        line.len() as u64
    })?;
    // The other blocks of a reply are between its first and last line, among unrelated lines.
    let mut at = row.start + length + 1;
    while row.end > row.start && at <= row.end {
        at += 1 + line_reader::with_line(&transcript.path, at, |line| {
            builder.add_further_line(line);
            line.len() as u64
        })?;
    }
    builder.message.text = builder.texts.join("\n");
    Ok(builder.message)
}

/// Collects a message from its lines.
#[derive(Default)]
struct MessageBuilder {
    message: Message,
    texts: Vec<String>,
    reply: Option<String>,
}

impl MessageBuilder {
    fn add_first_line(&mut self, line: &[u8]) {
        self.message.id = json::get_text(line, b"uuid").unwrap_or_default();
        self.message.parent_id = json::get_text(line, b"parentUuid");
        let Some(body) = json::get_value(line, b"message") else {
            self.texts.push(text_outside_message(line));
            return;
        };
        self.reply = json::get_text(body, b"id");
        if let Some(id) = &self.reply {
            self.message.id.clone_from(id);
        }
        self.message.model = json::get_text(body, b"model");
        add_texts(body, &mut self.texts, &mut self.message.tool_calls);
    }

    fn add_further_line(&mut self, line: &[u8]) {
        let body = json::get_value(line, b"message");
        if let Some(body) = body.filter(|b| self.reply.is_some() && json::get_text(b, b"id") == self.reply) {
            add_texts(body, &mut self.texts, &mut self.message.tool_calls);
        }
    }
}

/// Text of the entries that have it outside `fetch_message`: queued prompts, hooks, errors of the provider.
fn text_outside_message(line: &[u8]) -> String {
    if let Some(attachment) = json::get_value(line, b"attachment") {
        for key in [b"prompt".as_slice(), b"content", b"stdout", b"stderr", b"message"] {
            if let Some(value) = json::get_value(attachment, key) {
                return json::decode_string(json::strip_quotes(output_json(value).as_bytes()));
            }
        }
    }
    let error = json::get_value(line, b"error").unwrap_or(b"{}");
    let shown = [b"formatted".as_slice(), b"message"].iter().find_map(|key| json::get_text(error, key));
    shown.or_else(|| json::get_text(line, b"content")).unwrap_or_default()
}

fn add_texts(body: &[u8], texts: &mut Vec<String>, calls: &mut u32) {
    let content = json::get_value(body, b"content").unwrap_or(b"null");
    if content.first() == Some(&b'"') {
        texts.push(json::decode_string(json::strip_quotes(content)));
        return;
    }
    let mut cursor = Cursor::new(content, 0);
    if !cursor.enter_array() {
        return;
    }
    while let Ok(true) = cursor.next_item() {
        let Ok(item) = cursor.skip_value() else { return };
        match json::get_value(item, b"type").map(json::strip_quotes) {
            Some(b"text") => texts.extend(json::get_text(item, b"text")),
            Some(b"image") => texts.push(part_text(item)),
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
    enter_key(&mut cursor, b"message")?;
    enter_key(&mut cursor, b"content")?;
    if !cursor.enter_array() {
        return None;
    }
    while cursor.next_item().ok()? {
        let mut block = read_block(&mut cursor).ok()?;
        if is_it(&block) {
            block.rest = &line[cursor.at..];
            return Some(block);
        }
    }
    None
}

/// Moves the cursor to the value of one key of the object before it.
fn enter_key(cursor: &mut Cursor<'_>, wanted: &[u8]) -> Option<()> {
    cursor.enter_object().ok()?;
    while let Some(key) = cursor.next_key().ok()? {
        if key == wanted {
            return Some(());
        }
        cursor.skip_value().ok()?;
    }
    None
}

fn read_block<'a>(cursor: &mut Cursor<'a>) -> JsonResult<Block<'a>> {
    let mut block = Block { input: b"null", content: b"null", ..Block::default() };
    if cursor.peek() != b'{' {
        cursor.skip_value()?;
        return Ok(block);
    }
    cursor.enter_object()?;
    while let Some(key) = cursor.next_key()? {
        match key {
            b"type" => block.kind = cursor.string_or_skip()?,
            b"id" | b"tool_use_id" => block.id = cursor.string_or_skip()?,
            b"name" => block.name = cursor.string_or_skip()?,
            b"input" => block.input = cursor.skip_value()?,
            b"content" => block.content = cursor.skip_value()?,
            _ => drop(cursor.skip_value()?),
        }
    }
    Ok(block)
}
