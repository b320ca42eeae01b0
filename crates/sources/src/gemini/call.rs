//! Parses the calls of Gemini's tools, their results, and whether they failed: a shell command that fails is
//! a "success" with `Exit Code: 3` in its text.
//!
//! Cannot distinguish a command that prints such a line as its very last from one that fails with it.

use super::attachment::attachment_name;
use super::log::Log;
use crate::conversation::Part;
use crate::conversation::value::{
    as_items, as_stamp, display_text, duration_between, file_argument, optional_text, text_field,
};
use crate::json;
use record::{Call, Stamp, Status};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// The results in messages of their own, by the call they belong to.
pub(super) type ToolResults<'l> = FxHashMap<&'l str, &'l Value>;

pub(super) fn collect_results(log: &Log) -> ToolResults<'_> {
    let users = log.entries.iter().filter(|entry| text_field(&entry.message, "type") == "user");
    let parts = users.flat_map(|entry| as_items(&entry.message["content"]));
    let answers = parts.filter(|part| part["functionResponse"]["id"].is_string());
    answers.map(|part| (text_field(&part["functionResponse"], "id"), part)).collect()
}

pub(super) fn parse_call(
    from: &Value,
    fallback: &str,
    requested_at: Stamp,
    answers: &ToolResults<'_>,
) -> Part {
    let id = optional_text(from, "id").unwrap_or_else(|| fallback.to_string());
    let until = as_stamp(&from["timestamp"]);
    let at = call_start(&id, requested_at, until);
    let mut call = Call {
        tool: text_field(from, "name").to_string(),
        input: from["args"].to_string(),
        file: file_argument(&from["args"]),
        ..Call::default()
    };
    let answer = if from["result"].is_null() {
        answers.get(id.as_str()).map(|part| result_text(part))
    } else {
        Some(result_text(&from["result"]))
    };
    set_outcome(from, answer, &mut call);
    if call.output.is_some() {
        call.duration_ms = duration_between(at, until);
    }
    call.id = id;
    Part::Call { call, at, until, same_as: None }
}

/// Old versions collect all calls of a turn in one message; the ID of each contains the millisecond of its
/// start, without which they could not be ordered.
fn call_start(id: &str, requested_at: Stamp, until: Stamp) -> Stamp {
    let digits = id.split(|c: char| !c.is_ascii_digit()).find(|run| run.len() == 13);
    let named = digits.and_then(|run| run.parse().ok()).map_or(Stamp::NONE, Stamp);
    if named > requested_at && named <= until { named } else { requested_at }
}

fn set_outcome(from: &Value, answer: Option<String>, call: &mut Call) {
    let answer = answer.or_else(|| optional_text(from, "resultDisplay"));
    call.status = match (text_field(from, "status"), &answer) {
        ("error" | "cancelled", _) => Status::Error,
        ("success", _) => Status::Success,
        (_, None) | ("validating" | "scheduled" | "executing" | "awaiting_approval", _) => Status::Pending,
        (_, Some(_)) => Status::Unknown,
    };
    if call.status == Status::Pending {
        return;
    }
    let answer = answer.unwrap_or_default();
    if call.tool.contains("shell") {
        call.exit_code = parse_exit_code(&answer);
    }
    if call.exit_code.is_some_and(|code| code != 0) {
        call.status = Status::Error;
    }
    if call.status == Status::Error {
        let silent = || text_field(from, "status").to_string();
        call.error = Some(Some(answer.clone()).filter(|a| !a.is_empty()).unwrap_or_else(silent));
    }
    call.output = Some(json::to_json_string(&answer));
}

/// The result as the model saw it: the text of each response, pictures by name.
fn result_text(result: &Value) -> String {
    let one = |part: &Value| {
        let response = &part["functionResponse"]["response"];
        let content = [&response["output"], &response["error"], response].into_iter().find(|v| !v.is_null());
        match (content, part) {
            (Some(content), _) => display_text(content),
            (None, Value::String(content)) => content.clone(),
            (None, part) => attachment_name(part).unwrap_or_else(|| text_field(part, "text").to_string()),
        }
    };
    as_items(result).iter().map(one).filter(|content| !content.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The lines that the client appends to a command's output, one of which can be its exit code.
const TRAILER_LABELS: [&str; 7] = [
    "Signal:",
    "Background PIDs:",
    "Process Group PGID:",
    "Exit Code:",
    "Error:",
    "</untrusted_context>",
    "Stderr:",
];

fn parse_exit_code(answer: &str) -> Option<i64> {
    let behind = |line: &&str| line.is_empty() || TRAILER_LABELS.iter().any(|label| line.starts_with(label));
    let mut lines = answer.lines().rev().take_while(behind);
    lines.find_map(|line| line.strip_prefix("Exit Code:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse_test_call(from: &Value) -> Call {
        match parse_call(from, "fallback", Stamp::NONE, &ToolResults::default()) {
            Part::Call { call, .. } => call,
            Part::Message { .. } => unreachable!(),
        }
    }

    #[test]
    fn a_command_that_fails_is_an_error() {
        for (answer, code) in [
            ("Output: x\nExit Code: 3\nProcess Group PGID: 35", Some(3)),
            (
                "<untrusted_context>\nOutput: x\nExit Code: 3\nProcess Group PGID: 1\n</untrusted_context>",
                Some(3),
            ),
            ("Output: x\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)", Some(0)),
            ("Output: x\nExit Code: (none)\nSignal: 9", None),
            ("Output: Exit Code: 3\nand more\nProcess Group PGID: 35", None),
        ] {
            let made = json!({"name": "run_shell_command", "status": "success",
                "result": [{"functionResponse": {"response": {"output": answer}}}]});
            let made = parse_test_call(&made);
            assert_eq!(made.exit_code, code, "{answer}");
            assert_eq!(made.status == Status::Error, code == Some(3));
        }
    }

    #[test]
    fn unusual_calls_are_read_as_far_as_possible() {
        for (made, status, output) in [
            (json!({"name": "x", "status": "executing"}), Status::Pending, None),
            (json!({"name": "x"}), Status::Pending, None),
            (json!({"name": "x", "status": "cancelled"}), Status::Error, Some("\"\"")),
            (json!({"name": "x", "result": "text"}), Status::Unknown, Some("\"text\"")),
            (json!({"status": "success", "resultDisplay": "shown"}), Status::Success, Some("\"shown\"")),
            (
                json!({"status": "error", "result": {"functionResponse": {"response": {"error": {"code": 1}}}}}),
                Status::Error,
                Some(r#""{\"code\":1}""#),
            ),
            (
                json!({"name": null, "args": null, "result": [null, 3], "status": 7}),
                Status::Unknown,
                Some("\"\""),
            ),
        ] {
            let call = parse_test_call(&made);
            assert_eq!((call.status, call.output.as_deref()), (status, output), "{made}");
            assert_eq!(call.error.is_some(), status == Status::Error);
        }
    }
}
