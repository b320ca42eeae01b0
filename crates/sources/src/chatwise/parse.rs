//! Parses the rows of a `ChatWise` chat. A tool call is in a message's `parse_meta`, in a shape that differs
//! between builds; its result is beside it, as an object, as JSON in a string or as plain text.
//!
//! Does not know shapes that no public reader has described.

use super::Cells;
use crate::conversation::value::{
    as_items, as_stamp, attachment_label, display_text, file_argument, known_stamp, optional_text, text_field,
};
use crate::conversation::{Conversation, Part};
use crate::json;
use record::{Call, Kind, Message, ProblemKind, Role, Stamp, Status, TitleOrigin, Tokens};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn parse_chat(chat: &Cells, messages: &[Cells], conversation: &mut Conversation) {
    let model = describe_session(chat, conversation);
    let mut order: Vec<&Cells> = messages.iter().collect();
    order.sort_by_key(|cells| cell_stamp(cells, 6));
    for cells in order {
        let bytes: usize = cells.iter().flatten().map(String::len).sum();
        conversation.coverage.bytes += bytes as u64;
        MessageRow::from_cells(cells, &model, conversation).add_to(conversation);
    }
}

fn cell_text(cells: &Cells, n: usize) -> &str {
    cells.get(n).and_then(Option::as_deref).unwrap_or("")
}

fn cell_stamp(cells: &Cells, n: usize) -> Stamp {
    as_stamp(&Value::from(cell_text(cells, n)))
}

fn describe_session(chat: &Cells, conversation: &mut Conversation) -> String {
    conversation.count_understood();
    let session = &mut conversation.session;
    let options: Value = serde_json::from_str(cell_text(chat, 5)).unwrap_or_default();
    session.cwd = Arc::from(text_field(&options, "workDirectory"));
    session.project = session.cwd.clone();
    session.started_at = cell_stamp(chat, 3);
    session.ended_at = cell_stamp(chat, 4);
    if !cell_text(chat, 1).trim().is_empty() {
        session.title = Some((Arc::from(cell_text(chat, 1).trim()), TitleOrigin::Agent));
    }
    cell_text(chat, 2).to_string()
}

/// One row of `message`.
struct MessageRow<'c> {
    id: String,
    role: &'c str,
    content: &'c str,
    model: String,
    files: Value,
    meta: Value,
    at: Stamp,
}

impl<'c> MessageRow<'c> {
    fn from_cells(cells: &'c Cells, model: &str, conversation: &mut Conversation) -> MessageRow<'c> {
        let own = Some(cell_text(cells, 3)).filter(|own| !own.is_empty());
        let fallback = || format!("{}#{}", conversation.session.session_id, conversation.parts.len());
        MessageRow {
            id: Some(cell_text(cells, 0)).filter(|id| !id.is_empty()).map_or_else(fallback, str::to_string),
            role: cell_text(cells, 1),
            content: cell_text(cells, 2),
            model: own.unwrap_or(model).to_string(),
            files: serde_json::from_str(cell_text(cells, 4)).unwrap_or_default(),
            meta: parse_meta(cell_text(cells, 5), cell_text(cells, 0), conversation),
            at: cell_stamp(cells, 6),
        }
    }

    fn add_to(&self, conversation: &mut Conversation) {
        let calls = self.tool_calls();
        match self.role {
            "user" => self.add_message((Role::User, Kind::Prompt), calls.len(), conversation),
            "assistant" => self.add_message((Role::Assistant, Kind::Reply), calls.len(), conversation),
            "system" => self.add_message((Role::System, Kind::Context), calls.len(), conversation),
            "tool" => conversation.count_understood(),
            other => conversation.count_unknown(&format!("message {other}")),
        }
        let alone = calls.is_empty();
        conversation.parts.extend(calls);
        if let Some(answer) = self.tool_result() {
            answer.attach_to_call(self.at, alone, conversation);
        }
    }

    fn add_message(&self, who: (Role, Kind), calls: usize, conversation: &mut Conversation) {
        conversation.count_understood();
        let files = as_items(&self.files).iter().map(file_label);
        let texts = Some(self.content.to_string()).filter(|c| !c.is_empty()).into_iter().chain(files);
        let message = Message {
            id: self.id.clone(),
            text: texts.collect::<Vec<_>>().join("\n"),
            model: Some(self.model.clone()).filter(|m| who.0 == Role::Assistant && !m.is_empty()),
            tool_calls: calls as u32,
            at: known_stamp(self.at),
            ..Message::default()
        };
        let (role, kind) = who;
        conversation.parts.push(Part::Message { role, kind, message, tokens: Tokens::ZERO, same_as: None });
    }

    /// `toolCall` is an object keyed by the kind of call; a list of such objects is accepted too.
    fn tool_calls(&self) -> Vec<Part> {
        let calls = as_items(&self.meta["toolCall"]).iter().filter_map(Value::as_object).flatten();
        let one = |(n, (kind, of)): (usize, (&String, &Value))| {
            let id = if n == 0 { format!("{}/call", self.id) } else { format!("{}/call{n}", self.id) };
            Part::Call { call: parse_call(kind, of, id), at: self.at, until: Stamp::NONE, same_as: None }
        };
        calls.enumerate().map(one).collect()
    }

    fn tool_result(&self) -> Option<ToolResult> {
        let own = self.role == "tool" && !self.content.is_empty();
        match &self.meta["toolResult"] {
            Value::Null if own => Some(parse_packed_result(self.content)),
            Value::Null => None,
            Value::String(packed) => Some(parse_packed_result(packed)),
            other => Some(parse_result(other)),
        }
    }
}

fn parse_meta(packed: &str, id: &str, conversation: &mut Conversation) -> Value {
    if packed.trim().is_empty() {
        return Value::Null;
    }
    serde_json::from_str(packed).unwrap_or_else(|error| {
        // The row itself is used; only the call it may contain is lost.
        conversation
            .problems
            .push((ProblemKind::Salvaged, format!("message {id}, metadata ignored: {error}")));
        Value::Null
    })
}

fn file_label(file: &Value) -> String {
    let kind = ["mimeType", "type", "mediaType"].iter().find_map(|key| optional_text(file, key));
    attachment_label(&kind.unwrap_or_default(), file.as_str().unwrap_or_else(|| text_field(file, "name")))
}

fn parse_call(kind: &str, of: &Value, id: String) -> Call {
    let tool = match (text_field(of, "server_name"), text_field(of, "tool_name")) {
        (_, "") => kind.to_string(),
        ("", tool) => tool.to_string(),
        (server, tool) => format!("mcp__{server}__{tool}"),
    };
    let input = parse_arguments(of.get("arguments").unwrap_or(of));
    Call { id, tool, file: file_argument(&input), input: input.to_string(), ..Call::default() }
}

/// Arguments are JSON in a string; if it does not parse, it stays a string.
fn parse_arguments(from: &Value) -> Value {
    let unpacked = from.as_str().and_then(|packed| serde_json::from_str(packed).ok());
    unpacked.unwrap_or_else(|| from.clone())
}

struct ToolResult {
    text: String,
    status: Status,
}

fn parse_packed_result(packed: &str) -> ToolResult {
    match serde_json::from_str::<Value>(packed) {
        Ok(result) if result.is_object() => parse_result(&result),
        _ => ToolResult { text: packed.to_string(), status: Status::Unknown },
    }
}

/// The result of an MCP tool, which marks errors and nothing else.
fn parse_result(result: &Value) -> ToolResult {
    let Some(content) = result.get("content") else {
        return ToolResult { text: display_text(result), status: Status::Unknown };
    };
    let one = |part: &Value| match text_field(part, "type") {
        "text" => text_field(part, "text").to_string(),
        "" => display_text(part),
        _ if part["mimeType"].is_string() => attachment_label(text_field(part, "mimeType"), ""),
        other => format!("[{other}]"),
    };
    let status = if result["isError"] == true { Status::Error } else { Status::Success };
    ToolResult { text: as_items(content).iter().map(one).collect::<Vec<_>>().join("\n"), status }
}

impl ToolResult {
    /// Adds the result to the call beside it or, in a row of its own, to the last call without a result.
    fn attach_to_call(self, at: Stamp, alone: bool, conversation: &mut Conversation) {
        let open_call = conversation.parts.iter_mut().rev().find_map(|part| match part {
            Part::Call { call, until, .. } if call.output.is_none() => Some((call, until)),
            _ => None,
        });
        let Some((call, until)) = open_call else { return };
        // The end time of a call is known only if its result is a row of its own.
        if alone {
            *until = at;
        }
        call.status = self.status;
        call.error = (self.status == Status::Error).then(|| self.text.clone());
        call.output = Some(json::to_json_string(&self.text));
    }
}
