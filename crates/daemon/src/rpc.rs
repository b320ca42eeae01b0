//! The socket protocol: JSON-RPC 2.0, one message per line. A request names an operation and its parameters, as in every
//! other interface; `_meta` describes the caller's environment.
//!
//! Does not know any operation.

use api::code_error::CodeError;
use api::{Code, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Incremented when the meaning of a message changes. A client with another version works without the daemon.
pub const PROTOCOL_VERSION: u32 = 1;
/// Maximum size of a request. Legitimate ones have a few kilobytes.
pub const MAX_REQUEST_BYTES: usize = 4 << 20;

/// The caller's environment and output options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Meta {
    /// The caller's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The caller's Loci environment variables. Without them the daemon uses its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vars: Option<BTreeMap<String, String>>,
    /// The caller's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Send progress notifications.
    #[serde(skip_serializing_if = "is_false")]
    pub progress: bool,
    /// Return the MCP envelope.
    #[serde(skip_serializing_if = "is_false")]
    pub envelope: bool,
    /// Send records as TSV instead of JSON.
    #[serde(skip_serializing_if = "is_false")]
    pub tsv: bool,
}

/// Options that are off are omitted: a daemon of another build may not know the key.
#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde requires
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, Deserialize)]
struct Frame {
    jsonrpc: String,
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Option<Value>,
}

/// A parsed request.
#[derive(Debug)]
pub struct Request {
    /// `None` for a notification, which gets no response.
    pub id: Option<Value>,
    pub method: String,
    pub params: Map<String, Value>,
    pub meta: Meta,
}

impl Request {
    /// Parses a line. The error is the response to send.
    pub fn parse(line: &[u8]) -> Result<Request, Value> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|e| error_response(&Value::Null, -32700, &format!("invalid JSON: {e}")))?;
        let id = value.get("id").cloned().unwrap_or(Value::Null);
        let invalid = |why: &str| error_response(&id, -32600, why);
        let frame: Frame = serde_json::from_value(value).map_err(|e| invalid(&e.to_string()))?;
        if frame.jsonrpc != "2.0" {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        let mut params = match frame.params {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(error_response(&id, -32602, "`params` must be an object")),
        };
        let meta = params.shift_remove("_meta").map_or_else(|| Ok(Meta::default()), serde_json::from_value);
        let meta = meta.map_err(|e| error_response(&id, -32602, &format!("`_meta`: {e}")))?;
        Ok(Request { id: frame.id, method: frame.method, params, meta })
    }
}

/// Formats a request as a line.
pub fn format_request(id: u64, method: &str, mut params: Map<String, Value>, meta: &Meta) -> String {
    if *meta != Meta::default() {
        params.insert("_meta".to_string(), serde_json::to_value(meta).unwrap_or_default());
    }
    to_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub fn format_result(id: &Value, result: &Value) -> String {
    to_line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Formats an error of ours; `data` contains its code and hints, and what else an operation on code says about it.
pub fn format_failure(id: &Value, error: &Error, is_about_code: bool) -> String {
    let number = match error.code {
        Code::InvalidArgument => -32602,
        Code::InternalError => -32603,
        _ => -32000,
    };
    let mut data = json!({"code": error.code.word(), "hints": error.hints});
    if is_about_code {
        data["error"] = json!(CodeError::new(error));
    }
    to_line(&json!({
        "jsonrpc": "2.0", "id": id, "error": {"code": number, "message": error.message, "data": data}
    }))
}

pub fn format_unknown_method(id: &Value, method: &str) -> String {
    to_line(&error_response(id, -32601, &format!("unknown method `{method}`")))
}

pub fn format_notification(method: &str, params: &Value) -> String {
    to_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

pub fn error_response(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

pub(crate) fn to_line(value: &Value) -> String {
    let mut text = value.to_string();
    text.push('\n');
    text
}

/// Restores the error from a response. Returns `None` if it is not one of ours, that is, the daemon did not understand
/// the request.
pub fn parse_error(error: &Value) -> Option<Error> {
    let word = error["data"]["code"].as_str()?;
    let known = Code::ALL.iter().find(|(_, known, _)| *known == word);
    let code = known.map_or(Code::InternalError, |(code, ..)| *code);
    let message = error["message"].as_str().unwrap_or("the daemon returned no error message").to_string();
    let hints = error["data"]["hints"].as_array().into_iter().flatten();
    let hints = hints.filter_map(|hint| hint.as_str().map(str::to_string)).collect();
    let sent = data_error(error).map(|sent| sent.into_details(code)).unwrap_or_default();
    Some(Error { code, message, hints, details: Box::new(sent) })
}

fn data_error(error: &Value) -> Option<CodeError> {
    serde_json::from_value(error["data"]["error"].clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_request_is_rejected_with_its_code() {
        for (line, code) in [
            ("{", -32700),
            ("[]", -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"who":1}}}"#, -32602),
        ] {
            let rejected = Request::parse(line.as_bytes()).unwrap_err();
            assert_eq!(rejected["error"]["code"], code, "{line}");
        }
    }

    #[test]
    fn requests_and_errors_round_trip() {
        let meta = Meta { cwd: Some("/srv/a".into()), envelope: true, ..Meta::default() };
        let params = json!({"limit": 3}).as_object().cloned().unwrap();
        let read =
            Request::parse(format_request(7, "list_sessions", params.clone(), &meta).as_bytes()).unwrap();
        assert_eq!((read.id, read.params, read.meta), (Some(json!(7)), params, meta));
        let error = Error::new(Code::SessionNotFound, "no such session").hint("loci sessions");
        let sent: Value = serde_json::from_str(&format_failure(&json!(7), &error, false)).unwrap();
        assert_eq!(parse_error(&sent["error"]), Some(error));
        let error = Error::new(Code::SymbolNotFound, "no such symbol").names(vec!["a.Node".into()]);
        let sent: Value = serde_json::from_str(&format_failure(&json!(7), &error, true)).unwrap();
        assert_eq!(sent["error"]["data"]["error"]["suggestions"], json!(["a.Node"]));
        assert_eq!(parse_error(&sent["error"]), Some(error));
        assert_eq!(parse_error(&error_response(&json!(7), -32602, "`_meta`: unknown field")["error"]), None);
    }
}
