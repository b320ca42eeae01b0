//! What is said over the socket: JSON-RPC 2.0, one message to a line. A request names an operation and its parameters, as
//! at every other door; `_meta` among them says from where it is asked.
//!
//! Does not know any operation.

use api::{Code, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Raised when a message means something else than before; a client that speaks another one works without the daemon.
pub const PROTOCOL: u32 = 1;
/// A request is a few kilobytes; nobody who sends more means well.
pub const LONGEST: usize = 4 << 20;

/// From where, and by whom, something is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Meta {
    /// The directory that the question is asked in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The variables of Loci's table that are set where it is asked; those of the daemon where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vars: Option<BTreeMap<String, String>>,
    /// The session that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Wants to be told how far it is.
    #[serde(skip_serializing_if = "is_false")]
    pub progress: bool,
    /// Wants the envelope that an agent gets.
    #[serde(skip_serializing_if = "is_false")]
    pub envelope: bool,
    /// Wants records as rows of a table, not as JSON.
    #[serde(skip_serializing_if = "is_false")]
    pub tsv: bool,
}

/// What is not wanted is not mentioned: a daemon of another build may not know the word.
#[allow(clippy::trivially_copy_pass_by_ref)] // as serde hands it over
fn is_false(wanted: &bool) -> bool {
    !wanted
}

#[derive(Debug, Deserialize)]
struct Frame {
    jsonrpc: String,
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Option<Value>,
}

/// A request, understood.
#[derive(Debug)]
pub struct Request {
    /// None: nobody waits for an answer.
    pub id: Option<Value>,
    pub method: String,
    pub params: Map<String, Value>,
    pub meta: Meta,
}

impl Request {
    /// What a line asks; else the answer to it.
    pub fn read(line: &[u8]) -> Result<Request, Value> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|e| refusal(&Value::Null, -32700, &format!("this is no JSON: {e}")))?;
        let id = value.get("id").cloned().unwrap_or(Value::Null);
        let invalid = |why: &str| refusal(&id, -32600, why);
        let frame: Frame = serde_json::from_value(value).map_err(|e| invalid(&e.to_string()))?;
        if frame.jsonrpc != "2.0" {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        let mut params = match frame.params {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(refusal(&id, -32602, "`params` must be an object")),
        };
        let meta = params.shift_remove("_meta").map_or_else(|| Ok(Meta::default()), serde_json::from_value);
        let meta = meta.map_err(|e| refusal(&id, -32602, &format!("`_meta`: {e}")))?;
        Ok(Request { id: frame.id, method: frame.method, params, meta })
    }
}

/// A request as a line.
pub fn request(id: u64, method: &str, mut params: Map<String, Value>, meta: &Meta) -> String {
    if *meta != Meta::default() {
        params.insert("_meta".to_string(), serde_json::to_value(meta).unwrap_or_default());
    }
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub fn result(id: &Value, result: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// An error of ours: its code's word and hints stand in `data`.
pub fn failure(id: &Value, error: &Error) -> String {
    let number = match error.code {
        Code::InvalidArgument => -32602,
        Code::InternalError => -32603,
        _ => -32000,
    };
    let data = json!({"code": error.code.word(), "hints": error.hints});
    line(&json!({
        "jsonrpc": "2.0", "id": id, "error": {"code": number, "message": error.message, "data": data}
    }))
}

pub fn unknown(id: &Value, method: &str) -> String {
    line(&refusal(id, -32601, &format!("there is no method `{method}`")))
}

pub fn notice(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

pub fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

pub(crate) fn line(value: &Value) -> String {
    let mut text = value.to_string();
    text.push('\n');
    text
}

/// The error that an answer holds, as it was before it was sent. None: it is none of ours, the daemon did not understand the
/// request.
pub fn read_error(error: &Value) -> Option<Error> {
    let word = error["data"]["code"].as_str()?;
    let known = Code::ALL.iter().find(|(_, known, _)| *known == word);
    let code = known.map_or(Code::InternalError, |(code, ..)| *code);
    let message = error["message"].as_str().unwrap_or("the daemon gave no reason").to_string();
    let hints = error["data"]["hints"].as_array().into_iter().flatten();
    let hints = hints.filter_map(|hint| hint.as_str().map(str::to_string)).collect();
    Some(Error { code, message, hints })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_refused_with_the_reason() {
        for (line, code) in [
            ("{", -32700),
            ("[]", -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"who":1}}}"#, -32602),
        ] {
            let refused = Request::read(line.as_bytes()).unwrap_err();
            assert_eq!(refused["error"]["code"], code, "{line}");
        }
    }

    #[test]
    fn what_is_sent_is_what_arrives() {
        let meta = Meta { cwd: Some("/srv/a".into()), envelope: true, ..Meta::default() };
        let params = json!({"limit": 3}).as_object().cloned().unwrap();
        let read = Request::read(request(7, "list_sessions", params.clone(), &meta).as_bytes()).unwrap();
        assert_eq!((read.id, read.params, read.meta), (Some(json!(7)), params, meta));
        let error = Error::new(Code::SessionNotFound, "none is called so").hint("loci sessions");
        let sent: Value = serde_json::from_str(&failure(&json!(7), &error)).unwrap();
        assert_eq!(read_error(&sent["error"]), Some(error));
        assert_eq!(read_error(&refusal(&json!(7), -32602, "`_meta`: unknown field")["error"]), None);
    }
}
