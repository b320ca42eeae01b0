//! Extracts fields from a JSON value of any shape: null where text is expected, numbers as strings, a single
//! object instead of a list. Never fails; missing values are empty.
//!
//! Does not know any agent's format.

use record::{Call, Coverage, Stamp, Tokens};
use serde_json::Value;

/// Parses one entry. Invalid UTF-8 is replaced and counted, as everywhere.
pub fn parse_entry(bytes: &[u8], coverage: &mut Coverage) -> Result<Value, serde_json::Error> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        coverage.lossy_utf8 += 1;
    }
    serde_json::from_str(&text)
}

/// The text of a key; empty if it is missing or not text.
pub fn text_field<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or("")
}

/// The text of a key, if there is any.
pub fn optional_text(value: &Value, key: &str) -> Option<String> {
    Some(text_field(value, key)).filter(|t| !t.is_empty()).map(str::to_string)
}

pub fn as_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// An integer such as an exit code.
pub fn as_integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| as_number(value).filter(|n| n.fract() == 0.0).map(|n| n as i64))
}

/// A token count; negative and absurd values are clamped.
pub fn as_token_count(value: &Value) -> u32 {
    as_number(value).unwrap_or(0.0) as u32
}

/// A time, as RFC 3339 or as seconds or milliseconds.
pub fn as_stamp(value: &Value) -> Stamp {
    match as_number(value) {
        Some(n) => Stamp::from_number(n),
        None => Stamp::parse(value.as_str().unwrap_or("").as_bytes()),
    }
}

pub fn known_stamp(stamp: Stamp) -> Option<Stamp> {
    stamp.is_some().then_some(stamp)
}

/// A value as a person would read it: text as it is, anything else as JSON, empty for null.
pub fn display_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The items of a list, or the single value in place of a list.
pub fn as_items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

/// The file that a call is about, under the parameter names its tools use.
pub fn file_argument(input: &Value) -> Option<String> {
    ["file_path", "filePath", "absolute_path", "notebook_path", "path"]
        .iter()
        .find_map(|key| optional_text(input, key))
}

/// Attachments are named, never printed.
pub fn attachment_label(mime: &str, name: &str) -> String {
    match (mime.starts_with("image/"), name.is_empty()) {
        (true, _) => format!("[image: {mime}]"),
        (false, false) => format!("[file: {name}]"),
        (false, true) => format!("[file: {mime}]"),
    }
}

/// The text of a message in blocks as most model APIs have them: a string, or a list of texts, pictures and files.
/// Thoughts, calls and results are other parts of the conversation.
pub fn blocks_text(content: &Value) -> String {
    as_items(content).iter().filter_map(block_text).collect::<Vec<_>>().join("\n")
}

fn block_text(block: &Value) -> Option<String> {
    let mime = ["mimeType", "mime_type", "media_type"]
        .iter()
        .find_map(|key| optional_text(block, key).or_else(|| optional_text(&block["source"], key)));
    match text_field(block, "type") {
        "image" | "image_url" | "input_image" => {
            Some(attachment_label(&mime.unwrap_or_else(|| "image/*".to_string()), ""))
        }
        "document" | "file" => Some(attachment_label(&mime.unwrap_or_default(), text_field(block, "name"))),
        "thinking" | "reasoning" | "tool_use" | "tool_result" => None,
        _ => block.as_str().map(str::to_string).or_else(|| optional_text(block, "text")),
    }
}

/// A call without its result. Arguments are an object, or JSON in a string, or a string that stays one.
pub fn call_of(id: &str, tool: &str, input: &Value) -> Call {
    let unpacked = input.as_str().and_then(|packed| serde_json::from_str(packed).ok());
    let input: &Value = unpacked.as_ref().unwrap_or(input);
    let (id, tool) = (id.to_string(), tool.to_string());
    Call { id, tool, input: input.to_string(), file: file_argument(input), ..Call::default() }
}

pub fn token_counts(input: u32, output: u32, cache_read: u32, cache_write: u32) -> Tokens {
    Tokens { input, output, cache_read, cache_write, cache_write_1h: 0 }
}

/// How long a call took, if both ends are known.
pub fn duration_between(from: Stamp, to: Stamp) -> Option<i64> {
    (from.is_some() && to >= from).then(|| to.0.saturating_sub(from.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unexpected_shapes_are_read_or_empty() {
        let odd = json!({"a": null, "n": "12", "f": 3.0, "t": "2026-11-14T22:58:34Z", "s": 1_794_698_919});
        assert_eq!(
            (text_field(&odd, "a"), text_field(&odd["a"], "x"), text_field(&odd, "n")),
            ("", "", "12")
        );
        assert_eq!(
            (
                as_token_count(&odd["n"]),
                as_integer(&odd["f"]),
                as_token_count(&json!(-4)),
                as_token_count(&json!([]))
            ),
            (12, Some(3), 0, 0)
        );
        assert_eq!(as_stamp(&odd["t"]).to_string(), "2026-11-14T22:58:34.000Z");
        assert_eq!(as_stamp(&odd["s"]), Stamp(1_794_698_919_000));
        assert_eq!(as_stamp(&json!({})), Stamp::NONE);
        assert_eq!((as_items(&odd["a"]).len(), as_items(&odd["n"]).len()), (0, 1));
    }

    #[test]
    fn bad_bytes_are_replaced_and_counted() {
        let mut coverage = Coverage::default();
        let value = parse_entry(b"\xef\xbb\xbf{\"a\":\"x\xff\"}", &mut coverage).unwrap();
        assert_eq!((text_field(&value, "a"), coverage.lossy_utf8), ("x\u{fffd}", 1));
        assert!(parse_entry(b"{\"a\":", &mut coverage).is_err());
    }
}
