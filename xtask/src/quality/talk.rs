//! The talk set: sessions written by hand, in English and Chinese, with queries that should find them.
//!
//! Does not know how many there are: it loads all that the folder contains.

use super::set::{LabelledQuery, Message, Session, Set};
use search::Part;
use serde_json::Value;
use std::path::Path;

/// `None` if the set is missing.
pub(crate) fn load_set(folder: &Path) -> Result<Option<Set>, String> {
    let (sessions, queries) = (folder.join("sessions.json"), folder.join("queries.json"));
    if !sessions.exists() || !queries.exists() {
        return Ok(None);
    }
    let list_of_sessions = read_list(&sessions)?;
    let ids: Vec<&str> =
        list_of_sessions.iter().map(|session| session["id"].as_str().unwrap_or_default()).collect();
    let queries = read_list(&queries)?.iter().map(|query| parse_query(query, &ids)).collect();
    let sessions =
        list_of_sessions.iter().enumerate().map(|(nth, value)| parse_session(nth, value)).collect();
    Ok(Some(Set { name: "talk".to_owned(), sessions, queries }))
}

fn read_list(path: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn parse_session(nth: usize, value: &Value) -> Session {
    let messages = value["messages"].as_array().into_iter().flatten().enumerate().map(|(turn, message)| {
        let part = match message["role"].as_str() {
            Some("user") => Part::Person,
            Some("tool") => Part::Tool,
            _ => Part::Assistant,
        };
        let at = 1_770_000_000_000 + nth as i64 * 86_400_000 + turn as i64 * 20_000;
        Message { part, at, text: message["text"].as_str().unwrap_or_default().to_owned() }
    });
    Session { title: value["title"].as_str().map(str::to_owned), messages: messages.collect() }
}

fn parse_query(value: &Value, ids: &[&str]) -> LabelledQuery {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let right = value["right"].as_array().into_iter().flatten().filter_map(Value::as_str);
    LabelledQuery {
        query: text("query").to_owned(),
        kind: format!("{:<5} {}", text("lang"), text("kind")),
        right: right.filter_map(|id| ids.iter().position(|known| *known == id)).collect(),
        fuzzy: text("mode") == "fuzzy",
        expand: text("expand") == "auto",
    }
}
