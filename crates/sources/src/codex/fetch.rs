//! Reads one call or message of a Codex rollout in full, from its offset.
//!
//! Does not know the model of a message: it is on another line, and the survey has kept it.

use super::entry::{Entry, Item};
use super::outcome::{Head, Outcome};
use super::packed;
use crate::claude::fetch::between;
use crate::json::{self, Cursor};
use crate::survey::Want;
use crate::{Error, Transcript, place};
use record::row::USAGE_ONLY;
use record::{Call, Message, Row, Status};

pub(super) fn call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let moved = || Error::Moved { path: transcript.path.clone(), what: "tool call", place: row.place };
    let line = line(transcript, row.place)?;
    let entry = expect(&line, row).ok_or_else(moved)?;
    let item = &entry.item;
    if !item.kind.ends_with(b"_call") {
        return Err(moved());
    }
    let input = input(item);
    let mut call = Call {
        id: id(&entry, row),
        tool: json::text(&item.tool()),
        file: file_of(item, &input),
        input,
        status: row.status(),
        ..Call::default()
    };
    if row.end != Row::NOWHERE && (row.end, row.end_file) != (row.place, row.file) {
        read_result(result, row, &mut call)?;
    }
    Ok(call)
}

fn read_result(transcript: &Transcript, row: &Row, call: &mut Call) -> Result<(), Error> {
    let line = line(transcript, row.end)?;
    let entry = expect(&line, row).filter(|e| e.item.kind.ends_with(b"_output")).ok_or(Error::Moved {
        path: transcript.path.clone(),
        what: "tool result",
        place: row.end,
    })?;
    let shown = Shown::read(entry.item.output);
    call.exit_code = Outcome::of(entry.item.output).exit_code;
    call.duration_ms = shown.seconds.map(|s| (s * 1000.0) as i64).or_else(|| between(row.at, row.until));
    if call.status == Status::Error {
        let body = shown.text[shown.body..].trim_end();
        call.error = Some(if body.is_empty() { &shown.text } else { body }.to_string());
    }
    call.output = Some(json::quoted(&shown.text));
    Ok(())
}

/// A result as the model saw it.
struct Shown {
    text: String,
    /// Where the tool's own output begins.
    body: usize,
    seconds: Option<f64>,
}

impl Shown {
    fn read(output: &[u8]) -> Shown {
        let text = match output.first() {
            Some(b'"') => json::text(json::inside(output)),
            Some(b'{') => texts(json::get(output, b"content").unwrap_or(b"")),
            _ => texts(output),
        };
        if let Some(shown) = Shown::unwrapped(&text) {
            return shown;
        }
        let Head { body, seconds, .. } = Head::read(&text);
        Shown { text, body, seconds }
    }

    /// `{"output":…,"metadata":…}`
    fn unwrapped(text: &str) -> Option<Shown> {
        let metadata = json::get(text.as_bytes(), b"metadata")?;
        let inner = json::get_text(text.as_bytes(), b"output")?;
        let seconds = json::get(metadata, b"duration_seconds")?;
        Some(Shown { text: inner, body: 0, seconds: Cursor::new(seconds, 0).number().ok() })
    }
}

/// Arguments are JSON inside a string; if it does not parse, it stays a string.
fn input(item: &Item<'_>) -> String {
    let raw = [item.arguments, item.input, item.action].into_iter().find(|raw| !raw.is_empty());
    let raw = raw.unwrap_or(b"null");
    if item.arguments.first() == Some(&b'"') {
        let text = json::text(json::inside(raw));
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            // A line end inside JSON can only be between values.
            return text.replace(|c: char| c.is_ascii_control(), " ");
        }
    }
    json::printable(raw)
}

/// The file of a patch, whether passed as such or run by the shell, or of a viewed image.
fn file_of(item: &Item<'_>, input: &str) -> Option<String> {
    if item.name == b"view_image" {
        return json::get_text(input.as_bytes(), b"path");
    }
    let at = input.find("*** Begin Patch")?;
    let head = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let (start, word) =
        head.iter().filter_map(|h| input[at..].find(h).map(|n| (at + n, *h))).min_by_key(|(n, _)| *n)?;
    let path = input[start + word.len()..].split(['\n', '"']).next()?.split("\\n").next()?;
    Some(json::text(path.as_bytes()).trim().to_string()).filter(|p| !p.is_empty())
}

pub(super) fn message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    let line = line(transcript, row.place)?;
    let entry = expect(&line, row).ok_or_else(|| Error::Moved {
        path: transcript.path.clone(),
        what: "message",
        place: row.place,
    })?;
    let text = if row.is(USAGE_ONLY) { String::new() } else { text_of(&entry) };
    Ok(Message { id: id(&entry, row), text, ..Message::default() })
}

fn text_of(entry: &Entry<'_>) -> String {
    let item = &entry.item;
    match (entry.kind, item.kind) {
        (b"event_msg", b"item_completed") => texts(json::get(item.completed, b"content").unwrap_or(b"")),
        (b"event_msg", b"turn_aborted") => json::text(item.reason),
        (b"event_msg", b"user_message") => {
            let parts = [json::text(item.message), texts(item.images), texts(item.local_images)];
            parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("\n")
        }
        (b"event_msg", _) if item.message.is_empty() => {
            json::get_text(item.error, b"message").unwrap_or_default()
        }
        (b"event_msg" | b"compacted", _) => json::text(item.message),
        _ => texts(item.content),
    }
}

/// Text blocks joined, anything else named.
fn texts(content: &[u8]) -> String {
    let mut cursor = Cursor::new(content, 0);
    if !cursor.array() {
        return if content.first() == Some(&b'"') {
            json::text(json::inside(content))
        } else {
            String::new()
        };
    }
    let mut parts = Vec::new();
    while let Ok(true) = cursor.item() {
        let Ok(item) = cursor.skip() else { break };
        parts.extend(part(item));
    }
    parts.join("\n")
}

fn part(item: &[u8]) -> Option<String> {
    if item.first() == Some(&b'"') {
        return Some(image(&json::text(json::inside(item))));
    }
    if let Some(text) = json::get_text(item, b"text") {
        // Codex's own tags around a picture.
        let around = text.starts_with("<image name=") || text == "</image>";
        return (!around).then_some(text);
    }
    let address = [b"image_url".as_slice(), b"url", b"path"].iter().find_map(|key| json::get_text(item, key));
    match address {
        Some(address) => Some(image(&address)),
        None => Some(format!("[{}]", json::get_text(item, b"type").unwrap_or_else(|| "block".to_string()))),
    }
}

/// An embedded picture is named by its type, any other by its location.
fn image(address: &str) -> String {
    let named = address.strip_prefix("data:").and_then(|d| d.split([';', ',']).next()).unwrap_or(address);
    format!("[image: {named}]")
}

// ---- one line

fn line(transcript: &Transcript, offset: u64) -> Result<Vec<u8>, Error> {
    let mut line = if packed::is_packed(&transcript.path) {
        packed::line_at(transcript, offset)?
    } else {
        place::line_at(&transcript.path, offset)?
    };
    // A record salvaged from a damaged line may have others behind it.
    if let Ok(whole) = json::whole(&line) {
        let end = whole.len();
        line.truncate(end);
    }
    Ok(line)
}

/// The entry, if it is still the one the row was made from.
fn expect<'a>(line: &'a [u8], row: &Row) -> Option<Entry<'a>> {
    let (entry, _) = Entry::read(line, 0, Want::default()).ok()?;
    let own = entry.own_id();
    (own.is_empty() || Row::id_head(own) == row.id).then_some(entry)
}

/// An ID derived by the survey fits in the row completely.
fn id(entry: &Entry<'_>, row: &Row) -> String {
    let own = entry.own_id();
    if !own.is_empty() {
        return json::text(own);
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
            let item = Item::read(line.as_bytes()).unwrap();
            assert_eq!(input(&item), input_is);
            assert_eq!(file_of(&item, &input(&item)).as_deref(), file, "{line}");
        }
    }

    #[test]
    fn pictures_are_replaced_by_names() {
        let content = br#"[{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:image/png;base64,AA"},{"type":"input_text","text":"</image>"},{"type":"input_text","text":"look"},{"type":"local_image","path":"a.png"}]"#;
        assert_eq!(texts(content), "[image: image/png]\nlook\n[image: a.png]");
    }
}
