//! The sets of talk as search sets: whole sessions with the queries of a person who looks for them, some of which nobody
//! ever talked about.
//!
//! Does not know what is remembered of a session: this is search alone.

use super::set::{LabelledQuery, Message, Session, Set};
use crate::repository;
use search::Part;
use serde_json::Value;
use std::path::Path;

/// The sets below a folder, by name.
pub(crate) fn load_sets(folder: &Path) -> Result<Vec<Set>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut folders: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("queries.json").is_file())
        .collect();
    folders.sort();
    folders.iter().map(|folder| load_set(folder)).collect()
}

fn load_set(folder: &Path) -> Result<Set, String> {
    let name = format!("exchange-{}", folder.file_name().unwrap_or_default().to_string_lossy());
    let mut files = repository::files(&folder.join("sessions"))?;
    files.sort();
    let slugs: Vec<String> = files
        .iter()
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    let sessions =
        files.iter().map(|path| Ok(parse_session(&read_json(path)?))).collect::<Result<_, String>>()?;
    let queries = read_json(&folder.join("queries.json"))?;
    let queries = queries.as_array().into_iter().flatten().map(|query| parse_query(query, &slugs)).collect();
    Ok(Set { name, sessions, queries })
}

fn read_json(path: &Path) -> Result<Value, String> {
    serde_json::from_str(&repository::read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn parse_session(value: &Value) -> Session {
    let started = record::Stamp::parse(value["start"].as_str().unwrap_or_default().as_bytes()).0;
    let messages = value["turns"].as_array().into_iter().flatten().enumerate().map(|(nth, turn)| {
        let at = started + nth as i64 * 20_000;
        let (part, text) = match (turn["user"].as_str(), turn["assistant"].as_str()) {
            (Some(text), _) => (Part::Person, text.to_owned()),
            (_, Some(text)) => (Part::Assistant, text.to_owned()),
            _ => (Part::Tool, format!("{}\n{}", turn["input"], turn["output"].as_str().unwrap_or_default())),
        };
        Message { part, at, text }
    });
    Session { title: None, messages: messages.collect() }
}

fn parse_query(value: &Value, slugs: &[String]) -> LabelledQuery {
    let expected = value["expect"].as_array().into_iter().flatten().filter_map(Value::as_str);
    LabelledQuery {
        query: value["query"].as_str().unwrap_or_default().to_owned(),
        kind: value["kind"].as_str().unwrap_or_default().to_owned(),
        right: expected.filter_map(|slug| slugs.iter().position(|known| known == slug)).collect(),
        ..LabelledQuery::default()
    }
}
