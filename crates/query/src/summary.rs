//! Short forms of records and counts, for the summary of a result that is too large to show.
//!
//! Does not know where the result is.

use crate::tally::Tally;
use serde_json::{Map, Value, json};

/// Counted values per field.
const MOST_COUNTS: usize = 6;

/// The most frequent values of each counted field. `status` values get keys of their own, such as `error_count`.
pub fn summary_counts(tally: &Tally) -> Map<String, Value> {
    let mut counts = Map::new();
    for name in tally.fields() {
        let values = tally.of_field(name);
        if *name == "status" {
            for (word, n) in &values {
                counts.insert(format!("{word}_count"), json!(n));
            }
            continue;
        }
        let (most, rest) = values.split_at(values.len().min(MOST_COUNTS));
        let mut of: Map<String, Value> =
            most.iter().map(|(word, n)| (word.chars().take(40).collect(), json!(n))).collect();
        if !rest.is_empty() {
            of.insert("…".to_string(), json!(rest.iter().map(|(_, n)| n).sum::<u64>()));
        }
        if !of.is_empty() {
            counts.insert(format!("by_{name}"), Value::Object(of));
        }
    }
    counts
}

/// Shortens a record to at most `most` bytes: long values end in `…`, and fields that do not fit are left out.
pub fn shorten_record(record: &Value, most: usize) -> Value {
    if record.to_string().len() <= most {
        return record.clone();
    }
    let cut = |value: &Value| match value {
        Value::String(text) => json!(truncate_text(text, 48)),
        Value::Array(_) | Value::Object(_) => json!(truncate_text(&value.to_string(), 48)),
        other => other.clone(),
    };
    let Value::Object(map) = record else { return cut(record) };
    let mut short = Map::new();
    let mut size = 2;
    for (name, value) in map {
        let value = cut(value);
        size += name.len() + value.to_string().len() + 4;
        if size > most.saturating_sub(10) {
            short.insert("…".to_string(), json!("…"));
            break;
        }
        short.insert(name.clone(), value);
    }
    Value::Object(short)
}

pub fn truncate_text(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    text.chars().take(most).chain(['…']).collect()
}

/// What the next step after a search needs: status, IDs, the next action and the best hits.
pub fn search_summary(head: &Value, rows: &[Value], hits: usize) -> Map<String, Value> {
    let best = rows.iter().take(hits).map(|chat| {
        json!({
            "chatId": chat["chatId"],
            "title": truncate_text(chat["title"].as_str().unwrap_or_default(), 60),
            "at": chat["timeRange"]["to"],
            "text": truncate_text(chat["snippets"][0]["text"].as_str().unwrap_or_default(), 110),
        })
    });
    let ids = head["topChatIds"].as_array().map(|ids| ids.iter().take(hits).cloned().collect::<Vec<_>>());
    let guidance =
        json!({"nextActions": head.pointer("/guidance/nextActions/0").into_iter().collect::<Vec<_>>()});
    Map::from_iter([
        ("status".to_string(), head["status"].clone()),
        ("confidence".to_string(), head["confidence"].clone()),
        ("topChatIds".to_string(), json!(ids)),
        ("guidance".to_string(), guidance),
        ("best".to_string(), best.collect()),
    ])
}
