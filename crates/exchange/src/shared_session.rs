//! A session as it is shared with a team: in the form that `loci import` reads, without the folder it took place in.
//!
//! Does not know the team. Tools are left out unless the person wants them shared.

use crate::shared_fact::SharedProject;
use api::{Error, ViewRequest};
use history::History;
use history::error::read_error;
use history::projects::Projects;
use history::scan::{ScanResult, by_session, is_warm_up, scan_rows};
use history::to_record::role_of;
use history::tombstones::Tombstones;
use record::row::{SIDECHAIN, USAGE_ONLY};
use record::{Kind, Row, RowKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sources::SurveyOptions;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SharedSession {
    pub(crate) source: String,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) project: SharedProject,
    /// Messages, and calls with their results if they are shared.
    pub(crate) records: Vec<Value>,
}

impl SharedSession {
    /// Source and ID.
    pub(crate) fn item(&self) -> String {
        [self.source.as_str(), "\t", &self.id].concat()
    }

    pub(crate) fn count_of(&self, kind: &str) -> u64 {
        self.records.iter().filter(|record| record["type"] == kind).count() as u64
    }

    /// The session as that of the device that shares it. A member chooses its ID and those of its entries: they must never be those of
    /// something that this person has.
    pub(crate) fn of_device(mut self, device: &str) -> SharedSession {
        let mark = |id: &str| format!("{id}@{}", &device[..device.len().min(8)]);
        self.id = mark(&self.id);
        for (number, record) in self.records.iter_mut().enumerate() {
            if record["type"] == "message" && record["id"].as_str().is_none() {
                record["id"] = Value::String(format!("{}#{number}", self.id));
                continue;
            }
            for field in ["id", "call"] {
                if let Some(Value::String(id)) = record.get_mut(field) {
                    *id = mark(id);
                }
            }
        }
        self
    }

    /// The lines of a file for `loci import`.
    pub(crate) fn to_lines(&self, folder: &str) -> String {
        let head = json!({"type": "session", "id": self.id, "title": self.title, "cwd": folder, "version": self.source});
        let lines = std::iter::once(&head).chain(&self.records).map(|record| format!("{record}\n"));
        lines.collect()
    }
}

/// The kinds of records that a session consists of, and their fields. A record that begins another session, or that has the form of
/// another agent, could be imported as part of a session that this person has.
const RECORD_TYPES: [&str; 3] = ["message", "call", "result"];
const RECORD_FIELDS: [&str; 10] =
    ["type", "role", "text", "at", "id", "tool", "input", "call", "output", "status"];

/// None: a member sent something else.
pub(crate) fn parse(bytes: &[u8]) -> Option<SharedSession> {
    let session: SharedSession = serde_json::from_slice(bytes).ok()?;
    let is_part = |record: &Value| {
        let is_known = |fields: &serde_json::Map<_, _>| {
            fields.keys().all(|name: &String| RECORD_FIELDS.contains(&name.as_str()))
        };
        record["type"].as_str().is_some_and(|kind| RECORD_TYPES.contains(&kind))
            && record.as_object().is_some_and(is_known)
    };
    let is_whole = !session.id.is_empty() && !session.records.is_empty();
    (is_whole && session.records.iter().all(is_part)).then_some(session)
}

/// The session as it is now; none if it has no messages here.
pub(crate) fn read_session(
    history: &History<'_>,
    source: &str,
    id: &str,
    with_tools: bool,
) -> Result<Option<SharedSession>, Error> {
    let request = ViewRequest { session: Some(id.to_string()), ..ViewRequest::default() };
    let (library, rows) = scan_rows(history, &request, SurveyOptions::ALL, by_session, |library, joined| {
        let session = library.session(&joined.row);
        session.source == source && *session.session_id == *id && is_shared(&joined.row, with_tools)
    })?;
    let mut shared =
        SharedSession { source: source.to_string(), id: id.to_string(), ..SharedSession::default() };
    for row in rows {
        let row = row.map_err(read_error)?;
        let session = library.session(&row);
        if shared.records.is_empty() {
            shared.title = session.title_text().to_string();
            shared.project = SharedProject::of(&Projects::load(history), session.directory());
        }
        shared.records.extend(to_records(history, &library, &row));
    }
    Ok((!shared.records.is_empty()).then_some(shared))
}

fn is_shared(row: &Row, with_tools: bool) -> bool {
    let is_wanted = match row.row {
        RowKind::Message => matches!(row.kind(), Kind::Prompt | Kind::Reply),
        RowKind::Call => with_tools,
        RowKind::Result => false,
    };
    is_wanted && !is_warm_up(row) && !row.has_flag(USAGE_ONLY) && !row.has_flag(SIDECHAIN)
}

fn to_records(history: &History<'_>, library: &ScanResult, row: &Row) -> Vec<Value> {
    let at = row.at.is_some().then_some(row.at.0);
    if row.row == RowKind::Message {
        let Ok(message) = history.read_message(library, row) else { return Vec::new() };
        let role = role_of(row.kind()).as_str();
        let record = json!({"type": "message", "role": role, "text": message.text, "at": at});
        return if message.text.trim().is_empty() { Vec::new() } else { vec![record] };
    }
    let Ok(call) = history.read_call(library, row) else { return Vec::new() };
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()));
    let made =
        json!({"type": "call", "id": call.id, "tool": call.tool, "input": parse(&call.input), "at": at});
    let result = call.output.as_deref().map(|output| {
        json!({"type": "result", "call": call.id, "output": parse(output), "status": call.status.as_str()})
    });
    std::iter::once(made).chain(result).collect()
}

/// Whether a person has forgotten the session.
pub(crate) fn is_forgotten(history: &History<'_>, source: &str, id: &str) -> Result<bool, Error> {
    Ok(Tombstones::read(history.home().as_ref())?.contains(source, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_another_device_shares_no_id_with_one_of_this_device() {
        let call = json!({"type": "call", "id": "c-1", "tool": "Bash", "input": {"id": "c-1"}});
        let result = json!({"type": "result", "call": "c-1", "output": "x", "status": "success"});
        let session =
            SharedSession { id: "s-1".to_string(), records: vec![call, result], ..SharedSession::default() };
        let taken = session.of_device("0123456789abcdef");
        assert_eq!(taken.id, "s-1@01234567");
        assert_eq!(
            (&taken.records[0]["id"], &taken.records[1]["call"]),
            (&json!("c-1@01234567"), &json!("c-1@01234567"))
        );
        assert_eq!(taken.records[0]["input"]["id"], "c-1");
    }

    #[test]
    fn a_session_that_contains_another_one_is_refused() {
        let message = json!({"type": "message", "role": "user", "text": "Build it."});
        let shared = |records: Vec<Value>| json!({"id": "s-1", "records": records}).to_string();
        assert!(parse(shared(vec![message.clone()]).as_bytes()).is_some());
        let other = json!({"type": "session", "id": "s-2"});
        assert!(parse(shared(vec![message.clone(), other]).as_bytes()).is_none());
        assert!(parse(shared(vec![json!({"text": "Build it."})]).as_bytes()).is_none());
        let protocol = json!({"type": "message", "method": "session/update", "params": {"sessionId": "s-2"}});
        assert!(parse(shared(vec![message, protocol]).as_bytes()).is_none());
        assert!(parse(shared(Vec::new()).as_bytes()).is_none());
    }
}
