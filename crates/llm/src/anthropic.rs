//! Anthropic's Messages API. The answer is the input of a forced tool call, which every model and proxy supports.
//!
//! Does not validate the answer.

use crate::completion::{Completion, CompletionRequest};
use crate::failure::{Failure, FailureClass, Usage};
use serde_json::{Value, json};

pub(crate) const API_VERSION: &str = "2023-06-01";
const ANSWER_TOOL: &str = "answer";

pub(crate) fn request_body(request: &CompletionRequest<'_>) -> Value {
    json!({
        "model": request.model,
        "max_tokens": request.max_tokens,
        "system": request.prompt.system(),
        "messages": [{"role": "user", "content": request.prompt.text()}],
        "tools": [{"name": ANSWER_TOOL, "description": "Takes the answer.", "input_schema": request.schema}],
        "tool_choice": {"type": "tool", "name": ANSWER_TOOL},
    })
}

/// Parses the token usage; the `claude` command reports it in the same form. Tokens read from a cache count as input.
pub(crate) fn parse_usage(reported: &Value) -> Usage {
    let count = |name: &str| reported[name].as_u64().unwrap_or(0);
    let cached = count("cache_creation_input_tokens") + count("cache_read_input_tokens");
    Usage {
        tokens_in: count("input_tokens") + cached,
        tokens_out: count("output_tokens"),
        reported: reported["input_tokens"].is_u64(),
        cost: None,
    }
}

pub(crate) fn parse_response(answer: &Value) -> Result<Completion, Failure> {
    let usage = parse_usage(&answer["usage"]);
    match answer["stop_reason"].as_str() {
        Some("max_tokens") => {
            let truncated = "the answer was truncated at the token limit";
            return Err(Failure::of_job(FailureClass::Poison, truncated).with_usage(usage));
        }
        Some("refusal") => {
            return Err(Failure::of_job(FailureClass::Refused, "the model refused").with_usage(usage));
        }
        _ => {}
    }
    let blocks = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    let called =
        blocks.iter().find(|block| block["type"] == "tool_use").map(|block| block["input"].to_string());
    let text = || blocks.iter().find_map(|block| block["text"].as_str()).map(str::to_string);
    match called.or_else(text).filter(|text| !text.trim().is_empty()) {
        Some(text) => Ok(Completion { text, usage }),
        None => Err(Failure::of_job(FailureClass::Poison, "the answer is empty").with_usage(usage)),
    }
}
