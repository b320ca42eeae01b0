//! Salvages records from a damaged line. Seen in the wild: a truncated record with the next one spliced right
//! behind it, two records without a line end between them, runs of NULs.
//!
//! Returns only spans that the caller recognises as complete records: nothing is invented.

use crate::json::first_value;
use memchr::memmem;
use serde_json::value::RawValue;

/// How many bytes may be scanned per byte of line: enough for a record at every tenth byte, and not the
/// quadratic cost of a line of nothing but `{"`.
const MAX_EFFORT_PER_BYTE: usize = 10;

/// The spans of `line` that are records. `is_record` receives a complete JSON object.
pub fn salvage_records(line: &[u8], is_record: impl Fn(&[u8]) -> bool) -> Vec<(usize, usize)> {
    let finder = memmem::Finder::new(b"{\"");
    let mut effort = line.len().saturating_mul(MAX_EFFORT_PER_BYTE).saturating_add(4096);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = finder.find(&line[at..]).map(|n| at + n) {
        at = start + 2;
        if effort == 0 {
            break;
        }
        match first_value(&line[start..]) {
            // A splice can look balanced by accident; a strict parser rejects it.
            Ok(span) if is_record(span) && is_valid_json(span) => {
                found.push((start, start + span.len()));
                at = start + span.len();
            }
            Ok(span) => effort = effort.saturating_sub(span.len()),
            Err(_) => effort = effort.saturating_sub(line.len() - start),
        }
    }
    found
}

fn is_valid_json(span: &[u8]) -> bool {
    serde_json::from_str::<&RawValue>(&String::from_utf8_lossy(span)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::get_value;

    fn is_test_record(span: &[u8]) -> bool {
        get_value(span, b"type").is_some() && get_value(span, b"uuid").is_some()
    }

    fn salvaged_texts(line: &str) -> Vec<String> {
        salvage_records(line.as_bytes(), is_test_record)
            .into_iter()
            .map(|(a, b)| line[a..b].to_string())
            .collect()
    }

    #[test]
    fn only_complete_records_are_salvaged() {
        let a = r#"{"type":"user","uuid":"1","message":{"type":"text","x":"{\"type\":\"user\",\"uuid\":\"9\"}"}}"#;
        let b = r#"{"uuid":"2","type":"assistant"}"#;
        for (line, expected) in [
            (format!("{a}{b}"), vec![a, b]),
            (format!("\0\0\0{a}\0\0"), vec![a]),
            (format!("{}{b}", &a[..40]), vec![b]),
            (format!("{}{b}", &a[..a.len() - 1]), vec![b]),
            (a[..60].to_string(), vec![]),
            // The backslashes make the quotes match again: both records together look like one.
            (
                r#"{"type":"x","uuid":"1","n":{"a":1,"to{"uuid":"2","type":"y","t":"w { \\ \"q\" } "}"#
                    .to_string(),
                vec![r#"{"uuid":"2","type":"y","t":"w { \\ \"q\" } "}"#],
            ),
            (String::new(), vec![]),
        ] {
            assert_eq!(salvaged_texts(&line), expected, "{line}");
        }
    }

    #[test]
    fn a_hostile_line_takes_bounded_time() {
        let line = "{\"a\":".repeat(400_000);
        assert!(salvage_records(line.as_bytes(), is_test_record).is_empty());
    }
}
