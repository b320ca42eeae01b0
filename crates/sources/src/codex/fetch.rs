//! Reads one call or message of a Codex rollout in full, from its offset.
//!
//! Does not know the model of a message: it is on another line, and the survey has kept it.

use super::compressed;
use super::entry::{Entry, Item};
use super::outcome::{Outcome, OutputHead};
use crate::claude::fetch::duration_between;
use crate::json::{self, Cursor};
use crate::survey::SurveyOptions;
use crate::{Error, Transcript, line_reader};
use record::row::USAGE_ONLY;
use record::{Call, Message, Row, Status};

pub(super) fn fetch_call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let moved = || Error::Moved { path: transcript.path.clone(), what: "tool call", place: row.start };
    let line = read_line(transcript, row.start)?;
    let entry = parse_expected_entry(&line, row).ok_or_else(moved)?;
    let item = &entry.item;
    if !item.kind.ends_with(b"_call") {
        return Err(moved());
    }
    let input = input_json(item);
    let mut call = Call {
        id: record_id(&entry, row),
        tool: json::decode_string(&item.tool_name()),
        file: file_argument(item, &input),
        input,
        status: row.status(),
        ..Call::default()
    };
    if row.end != Row::NO_END && (row.end, row.end_file) != (row.start, row.file) {
        read_result(result, row, &mut call)?;
    }
    Ok(call)
}

fn read_result(transcript: &Transcript, row: &Row, call: &mut Call) -> Result<(), Error> {
    let line = read_line(transcript, row.end)?;
    let entry = parse_expected_entry(&line, row)
        .filter(|e| e.item.kind.ends_with(b"_output"))
        .ok_or(Error::Moved { path: transcript.path.clone(), what: "tool result", place: row.end })?;
    let shown = ResultText::parse(entry.item.output);
    call.exit_code = Outcome::from_output(entry.item.output).exit_code;
    call.duration_ms =
        shown.seconds.map(|s| (s * 1000.0) as i64).or_else(|| duration_between(row.at, row.until));
    if call.status == Status::Error {
        let body = shown.text[shown.body..].trim_end();
        call.error = Some(if body.is_empty() { &shown.text } else { body }.to_string());
    }
    call.output = Some(json::to_json_string(&shown.text));
    Ok(())
}

/// A result as the model saw it.
struct ResultText {
    text: String,
    /// Where the tool's own output begins.
    body: usize,
    seconds: Option<f64>,
}

impl ResultText {
    fn parse(output: &[u8]) -> ResultText {
        let text = match output.first() {
            Some(b'"') => json::decode_string(json::strip_quotes(output)),
            Some(b'{') => join_texts(json::get_value(output, b"content").unwrap_or(b"")),
            _ => join_texts(output),
        };
        if let Some(shown) = ResultText::from_wrapped(&text) {
            return shown;
        }
        let OutputHead { body, seconds, .. } = OutputHead::parse(&text);
        ResultText { text, body, seconds }
    }

    /// `{"output":…,"metadata":…}`
    fn from_wrapped(text: &str) -> Option<ResultText> {
        let metadata = json::get_value(text.as_bytes(), b"metadata")?;
        let inner = json::get_text(text.as_bytes(), b"output")?;
        let seconds = json::get_value(metadata, b"duration_seconds")?;
        Some(ResultText { text: inner, body: 0, seconds: Cursor::new(seconds, 0).read_number().ok() })
    }
}

/// Arguments are JSON inside a string; if it does not parse, it stays a string.
fn input_json(item: &Item<'_>) -> String {
    let raw = [item.arguments, item.input, item.action].into_iter().find(|raw| !raw.is_empty());
    let raw = raw.unwrap_or(b"null");
    if item.arguments.first() == Some(&b'"') {
        let text = json::decode_string(json::strip_quotes(raw));
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            // A line end inside JSON can only be between values.
            return text.replace(|c: char| c.is_ascii_control(), " ");
        }
    }
    json::to_printable(raw)
}

/// The file of a patch, whether passed as such or run by the shell, or of a viewed image.
fn file_argument(item: &Item<'_>, input: &str) -> Option<String> {
    if item.name == b"view_image" {
        return json::get_text(input.as_bytes(), b"path");
    }
    let at = input.find("*** Begin Patch")?;
    let head = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let (start, word) =
        head.iter().filter_map(|h| input[at..].find(h).map(|n| (at + n, *h))).min_by_key(|(n, _)| *n)?;
    let path = input[start + word.len()..].split(['\n', '"']).next()?.split("\\n").next()?;
    Some(json::decode_string(path.as_bytes()).trim().to_string()).filter(|p| !p.is_empty())
}

pub(super) fn fetch_message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    let line = read_line(transcript, row.start)?;
    let entry = parse_expected_entry(&line, row).ok_or_else(|| Error::Moved {
        path: transcript.path.clone(),
        what: "message",
        place: row.start,
    })?;
    let text = if row.has_flag(USAGE_ONLY) { String::new() } else { message_text(&entry) };
    Ok(Message { id: record_id(&entry, row), text, ..Message::default() })
}

fn message_text(entry: &Entry<'_>) -> String {
    let item = &entry.item;
    match (entry.kind, item.kind) {
        (b"event_msg", b"item_completed") => {
            join_texts(json::get_value(item.completed, b"content").unwrap_or(b""))
        }
        (b"event_msg", b"turn_aborted") => json::decode_string(item.reason),
        (b"event_msg", b"user_message") => {
            let parts =
                [json::decode_string(item.message), join_texts(item.images), join_texts(item.local_images)];
            parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("\n")
        }
        (b"event_msg", _) if item.message.is_empty() => {
            json::get_text(item.error, b"message").unwrap_or_default()
        }
        (b"event_msg" | b"compacted", _) => json::decode_string(item.message),
        _ => join_texts(item.content),
    }
}

/// Text blocks joined, anything else named.
fn join_texts(content: &[u8]) -> String {
    let mut cursor = Cursor::new(content, 0);
    if !cursor.enter_array() {
        return if content.first() == Some(&b'"') {
            json::decode_string(json::strip_quotes(content))
        } else {
            String::new()
        };
    }
    let mut parts = Vec::new();
    while let Ok(true) = cursor.next_item() {
        let Ok(item) = cursor.skip_value() else { break };
        parts.extend(part_text(item));
    }
    parts.join("\n")
}

fn part_text(item: &[u8]) -> Option<String> {
    if item.first() == Some(&b'"') {
        return Some(image_label(&json::decode_string(json::strip_quotes(item))));
    }
    if let Some(text) = json::get_text(item, b"text") {
        // Codex's own tags around a picture.
        let around = text.starts_with("<image name=") || text == "</image>";
        return (!around).then_some(text);
    }
    let address = [b"image_url".as_slice(), b"url", b"path"].iter().find_map(|key| json::get_text(item, key));
    match address {
        Some(address) => Some(image_label(&address)),
        None => Some(format!("[{}]", json::get_text(item, b"type").unwrap_or_else(|| "block".to_string()))),
    }
}

/// An embedded picture is named by its type, any other by its location.
fn image_label(address: &str) -> String {
    let named = address.strip_prefix("data:").and_then(|d| d.split([';', ',']).next()).unwrap_or(address);
    format!("[image: {named}]")
}

// ---- one line

fn read_line(transcript: &Transcript, offset: u64) -> Result<Vec<u8>, Error> {
    let mut line = if compressed::is_compressed(&transcript.path) {
        compressed::read_line_at(transcript, offset)?
    } else {
        line_reader::read_line_at(&transcript.path, offset)?
    };
    // A record salvaged from a damaged line may have others behind it.
    if let Ok(whole) = json::first_value(&line) {
        let end = whole.len();
        line.truncate(end);
    }
    Ok(line)
}

/// The entry, if it is still the one the row was made from.
fn parse_expected_entry<'a>(line: &'a [u8], row: &Row) -> Option<Entry<'a>> {
    let (entry, _) = Entry::parse(line, 0, SurveyOptions::default()).ok()?;
    let own = entry.own_id();
    (own.is_empty() || Row::id_head(own) == row.id).then_some(entry)
}

/// An ID derived by the survey fits in the row completely.
fn record_id(entry: &Entry<'_>, row: &Row) -> String {
    let own = entry.own_id();
    if !own.is_empty() {
        return json::decode_string(own);
    }
    let end = row.id.iter().position(|b| *b == 0).unwrap_or(row.id.len());
    String::from_utf8_lossy(&row.id[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_json() {
        for (line, input_is, file) in [
            (r#"{"type":"function_call","arguments":"{\"cmd\":\n \"ls\"}"}"#, r#"{"cmd":  "ls"}"#, None),
            (r#"{"type":"function_call","arguments":"not json"}"#, r#""not json""#, None),
            (
                r#"{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** Update File: a b.py\n@@\n"}"#,
                r#""*** Begin Patch\n*** Update File: a b.py\n@@\n""#,
                Some("a b.py"),
            ),
            (
                r#"{"type":"function_call","arguments":"{\"cmd\":\"apply_patch <<'EOF'\\n*** Begin Patch\\n*** Delete File: x\\\"y\"}"}"#,
                r#"{"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: x\"y"}"#,
                Some("x"),
            ),
            (
                r#"{"type":"function_call","name":"view_image","arguments":"{\"path\":\"p.png\"}"}"#,
                r#"{"path":"p.png"}"#,
                Some("p.png"),
            ),
            (
                r#"{"type":"web_search_call","action":{"type":"search","query":"q"}}"#,
                r#"{"type":"search","query":"q"}"#,
                None,
            ),
        ] {
            let item = Item::parse(line.as_bytes()).unwrap();
            assert_eq!(input_json(&item), input_is);
            assert_eq!(file_argument(&item, &input_json(&item)).as_deref(), file, "{line}");
        }
    }

    #[test]
    fn pictures_are_replaced_by_names() {
        let content = br#"[{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:image/png;base64,AA"},{"type":"input_text","text":"</image>"},{"type":"input_text","text":"look"},{"type":"local_image","path":"a.png"}]"#;
        assert_eq!(join_texts(content), "[image: image/png]\nlook\n[image: a.png]");
    }
}
