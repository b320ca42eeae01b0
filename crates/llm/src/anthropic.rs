//! Anthropic's Messages API. The answer is the input of a tool that the model must call, which every model and proxy takes.
//!
//! Does not judge the answer.

use crate::failure::{Class, Failure, Usage};
use crate::provider::{Completed, Question};
use serde_json::{Value, json};

pub(crate) const VERSION: &str = "2023-06-01";
const TOOL: &str = "answer";

pub(crate) fn body(question: &Question<'_>) -> Value {
    json!({
        "model": question.model,
        "max_tokens": question.max_tokens,
        "system": question.prompt.system(),
        "messages": [{"role": "user", "content": question.prompt.text()}],
        "tools": [{"name": TOOL, "description": "Takes the answer.", "input_schema": question.schema}],
        "tool_choice": {"type": "tool", "name": TOOL},
    })
}

/// What the API tells of tokens; the command passes the same on. What was read from a cache counts as read.
pub(crate) fn usage(told: &Value) -> Usage {
    let count = |name: &str| told[name].as_u64().unwrap_or(0);
    let cached = count("cache_creation_input_tokens") + count("cache_read_input_tokens");
    Usage {
        tokens_in: count("input_tokens") + cached,
        tokens_out: count("output_tokens"),
        told: told["input_tokens"].is_u64(),
        cost: None,
    }
}

pub(crate) fn read(answer: &Value) -> Result<Completed, Failure> {
    let usage = usage(&answer["usage"]);
    match answer["stop_reason"].as_str() {
        Some("max_tokens") => {
            let cut = "the answer was cut off at the limit of tokens";
            return Err(Failure::of_job(Class::Poison, cut).spent(usage));
        }
        Some("refusal") => return Err(Failure::of_job(Class::Refused, "the model refuses").spent(usage)),
        _ => {}
    }
    let blocks = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    let called =
        blocks.iter().find(|block| block["type"] == "tool_use").map(|block| block["input"].to_string());
    let said = || blocks.iter().find_map(|block| block["text"].as_str()).map(str::to_string);
    match called.or_else(said).filter(|text| !text.trim().is_empty()) {
        Some(text) => Ok(Completed { text, usage }),
        None => Err(Failure::of_job(Class::Poison, "the answer is empty").spent(usage)),
    }
}
