//! Parses the rows of a `ChatWise` chat. A tool call is in a message's `meta`, in a shape that differs
//! between builds; its result is beside it, as an object, as JSON in a string or as plain text.
//!
//! Does not know shapes that no public reader has described.

use super::Cells;
use crate::conversation::value::{attachment, file_of, items, shown, some_stamp, some_text, stamp, text};
use crate::conversation::{Conversation, Part};
use crate::json;
use record::{Call, Kind, Message, ProblemKind, Role, Stamp, Status, TitleOrigin, Tokens};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn tell(chat: &Cells, messages: &[Cells], conversation: &mut Conversation) {
    let model = describe(chat, conversation);
    let mut order: Vec<&Cells> = messages.iter().collect();
    order.sort_by_key(|cells| moment(cells, 6));
    for cells in order {
        let bytes: usize = cells.iter().flatten().map(String::len).sum();
        conversation.coverage.bytes += bytes as u64;
        Said::read(cells, &model, conversation).tell(conversation);
    }
}

fn cell(cells: &Cells, n: usize) -> &str {
    cells.get(n).and_then(Option::as_deref).unwrap_or("")
}

fn moment(cells: &Cells, n: usize) -> Stamp {
    stamp(&Value::from(cell(cells, n)))
}

fn describe(chat: &Cells, conversation: &mut Conversation) -> String {
    conversation.understood();
    let session = &mut conversation.session;
    let options: Value = serde_json::from_str(cell(chat, 5)).unwrap_or_default();
    session.cwd = Arc::from(text(&options, "workDirectory"));
    session.project = session.cwd.clone();
    session.started_at = moment(chat, 3);
    session.ended_at = moment(chat, 4);
    if !cell(chat, 1).trim().is_empty() {
        session.title = Some((Arc::from(cell(chat, 1).trim()), TitleOrigin::Agent));
    }
    cell(chat, 2).to_string()
}

/// One row of `message`.
struct Said<'c> {
    id: String,
    role: &'c str,
    content: &'c str,
    model: String,
    files: Value,
    meta: Value,
    at: Stamp,
}

impl<'c> Said<'c> {
    fn read(cells: &'c Cells, model: &str, conversation: &mut Conversation) -> Said<'c> {
        let own = Some(cell(cells, 3)).filter(|own| !own.is_empty());
        let fallback = || format!("{}#{}", conversation.session.session_id, conversation.parts.len());
        Said {
            id: Some(cell(cells, 0)).filter(|id| !id.is_empty()).map_or_else(fallback, str::to_string),
            role: cell(cells, 1),
            content: cell(cells, 2),
            model: own.unwrap_or(model).to_string(),
            files: serde_json::from_str(cell(cells, 4)).unwrap_or_default(),
            meta: meta(cell(cells, 5), cell(cells, 0), conversation),
            at: moment(cells, 6),
        }
    }

    fn tell(&self, conversation: &mut Conversation) {
        let calls = self.calls();
        match self.role {
            "user" => self.say((Role::User, Kind::Prompt), calls.len(), conversation),
            "assistant" => self.say((Role::Assistant, Kind::Reply), calls.len(), conversation),
            "system" => self.say((Role::System, Kind::Context), calls.len(), conversation),
            "tool" => conversation.understood(),
            other => conversation.unknown(&format!("message {other}")),
        }
        let alone = calls.is_empty();
        conversation.parts.extend(calls);
        if let Some(answer) = self.answer() {
            answer.give(self.at, alone, conversation);
        }
    }

    fn say(&self, who: (Role, Kind), calls: usize, conversation: &mut Conversation) {
        conversation.understood();
        let files = items(&self.files).iter().map(file);
        let texts = Some(self.content.to_string()).filter(|c| !c.is_empty()).into_iter().chain(files);
        let message = Message {
            id: self.id.clone(),
            text: texts.collect::<Vec<_>>().join("\n"),
            model: Some(self.model.clone()).filter(|m| who.0 == Role::Assistant && !m.is_empty()),
            tool_calls: calls as u32,
            at: some_stamp(self.at),
            ..Message::default()
        };
        let (role, kind) = who;
        conversation.parts.push(Part::Said { role, kind, message, tokens: Tokens::ZERO, same_as: None });
    }

    /// `toolCall` is an object keyed by the kind of call; a list of such objects is accepted too.
    fn calls(&self) -> Vec<Part> {
        let calls = items(&self.meta["toolCall"]).iter().filter_map(Value::as_object).flatten();
        let one = |(n, (kind, of)): (usize, (&String, &Value))| {
            let id = if n == 0 { format!("{}/call", self.id) } else { format!("{}/call{n}", self.id) };
            Part::Called { call: call(kind, of, id), at: self.at, until: Stamp::NONE, same_as: None }
        };
        calls.enumerate().map(one).collect()
    }

    fn answer(&self) -> Option<Answer> {
        let own = self.role == "tool" && !self.content.is_empty();
        match &self.meta["toolResult"] {
            Value::Null if own => Some(unpacked(self.content)),
            Value::Null => None,
            Value::String(packed) => Some(unpacked(packed)),
            other => Some(answered(other)),
        }
    }
}

fn meta(packed: &str, id: &str, conversation: &mut Conversation) -> Value {
    if packed.trim().is_empty() {
        return Value::Null;
    }
    serde_json::from_str(packed).unwrap_or_else(|error| {
        // The row itself is used; only the call it may contain is lost.
        conversation
            .problems
            .push((ProblemKind::Salvaged, format!("message {id}, without its meta: {error}")));
        Value::Null
    })
}

fn file(file: &Value) -> String {
    let kind = ["mimeType", "type", "mediaType"].iter().find_map(|key| some_text(file, key));
    attachment(&kind.unwrap_or_default(), file.as_str().unwrap_or_else(|| text(file, "name")))
}

fn call(kind: &str, of: &Value, id: String) -> Call {
    let tool = match (text(of, "server_name"), text(of, "tool_name")) {
        (_, "") => kind.to_string(),
        ("", tool) => tool.to_string(),
        (server, tool) => format!("mcp__{server}__{tool}"),
    };
    let input = arguments(of.get("arguments").unwrap_or(of));
    Call { id, tool, file: file_of(&input), input: input.to_string(), ..Call::default() }
}

/// Arguments are JSON in a string; if it does not parse, it stays a string.
fn arguments(from: &Value) -> Value {
    let unpacked = from.as_str().and_then(|packed| serde_json::from_str(packed).ok());
    unpacked.unwrap_or_else(|| from.clone())
}

struct Answer {
    said: String,
    status: Status,
}

fn unpacked(packed: &str) -> Answer {
    match serde_json::from_str::<Value>(packed) {
        Ok(result) if result.is_object() => answered(&result),
        _ => Answer { said: packed.to_string(), status: Status::Unknown },
    }
}

/// The result of an MCP tool, which marks errors and nothing else.
fn answered(result: &Value) -> Answer {
    let Some(content) = result.get("content") else {
        return Answer { said: shown(result), status: Status::Unknown };
    };
    let one = |part: &Value| match text(part, "type") {
        "text" => text(part, "text").to_string(),
        "" => shown(part),
        _ if part["mimeType"].is_string() => attachment(text(part, "mimeType"), ""),
        other => format!("[{other}]"),
    };
    let status = if result["isError"] == true { Status::Error } else { Status::Success };
    Answer { said: items(content).iter().map(one).collect::<Vec<_>>().join("\n"), status }
}

impl Answer {
    /// Adds the result to the call beside it or, in a row of its own, to the last call without a result.
    fn give(self, at: Stamp, alone: bool, conversation: &mut Conversation) {
        let open_call = conversation.parts.iter_mut().rev().find_map(|part| match part {
            Part::Called { call, until, .. } if call.output.is_none() => Some((call, until)),
            _ => None,
        });
        let Some((call, until)) = open_call else { return };
        // The end time of a call is known only if its result is a row of its own.
        if alone {
            *until = at;
        }
        call.status = self.status;
        call.error = (self.status == Status::Error).then(|| self.said.clone());
        call.output = Some(json::quoted(&self.said));
    }
}
