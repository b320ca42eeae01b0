//! Any server that implements `OpenAI`'s chat completions: Ollama, llama.cpp, vLLM and many others. They agree on the
//! envelope but not on the options in it, so options that a server rejects are left out, one at a time.
//!
//! Does not validate the answer.

use crate::completion::{Completion, CompletionRequest};
use crate::failure::{Failure, FailureClass, Usage};
use crate::http::HttpResponse;
use serde_json::{Value, json};

/// The options that servers differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dialect {
    answer_format: AnswerFormat,
    uses_completion_limit: bool,
    sends_temperature: bool,
    sends_penalty: bool,
}

/// How the answer is constrained to its schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnswerFormat {
    Schema,
    Object,
    /// By instructions in the prompt only.
    Plain,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect {
            answer_format: AnswerFormat::Schema,
            uses_completion_limit: false,
            sends_temperature: true,
            sends_penalty: true,
        }
    }
}

pub(crate) fn request_body(request: &CompletionRequest<'_>, dialect: Dialect) -> Value {
    let instructions = request.prompt.system();
    let system = match dialect.answer_format {
        AnswerFormat::Schema => instructions.to_string(),
        _ => format!(
            "{instructions}\nAnswer with one JSON object of this schema and nothing else: {}",
            request.schema
        ),
    };
    let mut body = json!({
        "model": request.model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": request.prompt.text()}],
        "stream": false,
    });
    let limit = if dialect.uses_completion_limit { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(request.max_tokens);
    if dialect.sends_temperature {
        body["temperature"] = json!(0.2);
    }
    if dialect.sends_penalty {
        // Small models repeat themselves until the limit: valid answers of a 135 M model rose from 15 to 20 in 20.
        body["frequency_penalty"] = json!(0.3);
    }
    match dialect.answer_format {
        AnswerFormat::Schema => {
            body["response_format"] = json!({"type": "json_schema",
                "json_schema": {"name": "answer", "strict": true, "schema": request.schema}});
        }
        AnswerFormat::Object => body["response_format"] = json!({"type": "json_object"}),
        AnswerFormat::Plain => {}
    }
    body
}

type Change = fn(Dialect) -> Dialect;

/// Names in a server's error message, and how to leave the rejected option out.
const REJECTED_OPTIONS: &[(&[&str], Change)] = &[
    (&["max_completion_tokens", "max_tokens"], |it| Dialect { uses_completion_limit: true, ..it }),
    (&["temperature"], |it| Dialect { sends_temperature: false, ..it }),
    (&["penalty"], |it| Dialect { sends_penalty: false, ..it }),
    (&["response_format", "json_schema", "json_object", "schema", "grammar", "structured"], |it| Dialect {
        answer_format: if it.answer_format == AnswerFormat::Schema {
            AnswerFormat::Object
        } else {
            AnswerFormat::Plain
        },
        ..it
    }),
];

/// The dialect without the option the server rejects. Returns `None` if the error is about something else.
pub(crate) fn drop_rejected_option(dialect: Dialect, response: &HttpResponse) -> Option<Dialect> {
    if !matches!(response.status, 400 | 415 | 422 | 501) {
        return None;
    }
    let words = response.error_text().to_lowercase();
    let rejected = REJECTED_OPTIONS.iter().filter(|(names, _)| names.iter().any(|name| words.contains(name)));
    rejected.map(|(_, change)| change(dialect)).find(|changed| *changed != dialect)
}

pub(crate) fn parse_response(answer: &Value) -> Result<Completion, Failure> {
    let reported = &answer["usage"];
    let usage = Usage {
        tokens_in: reported["prompt_tokens"].as_u64().unwrap_or(0),
        tokens_out: reported["completion_tokens"].as_u64().unwrap_or(0),
        // If the server reports nothing, or zero, the reserved amount counts.
        reported: reported["prompt_tokens"].as_u64().is_some_and(|n| n > 0)
            && reported["completion_tokens"].is_u64(),
        cost: None,
    };
    let choice = &answer["choices"][0];
    let poison = |words: &str| Err(Failure::of_job(FailureClass::Poison, words).with_usage(usage));
    if let Some(refusal) = choice["message"]["refusal"].as_str().filter(|words| !words.is_empty()) {
        return Err(
            Failure::of_job(FailureClass::Refused, format!("the model refused: {refusal}")).with_usage(usage)
        );
    }
    match (choice["finish_reason"].as_str(), choice["message"]["content"].as_str()) {
        (Some("length"), _) => poison("the answer was truncated at the token limit"),
        (Some("content_filter"), _) => {
            Err(Failure::of_job(FailureClass::Refused, "the provider filtered the answer").with_usage(usage))
        }
        (_, Some(text)) if !text.trim().is_empty() => Ok(Completion { text: extract_object(text), usage }),
        _ => poison("the answer is empty"),
    }
}

/// Extracts the JSON object if the model wrapped it in prose or a code fence.
fn extract_object(text: &str) -> String {
    let from = text.find('{').filter(|_| text.trim_end().ends_with(['}', '`']));
    match from.zip(text.rfind('}')) {
        Some((from, to)) if from < to => text[from..=to].to_string(),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_response(status: u16, words: &str) -> HttpResponse {
        HttpResponse { status, retry_after: None, body: json!({"error": {"message": words}}).to_string() }
    }

    #[test]
    fn rejected_options_are_left_out_one_at_a_time() {
        let whole = Dialect::default();
        let object =
            drop_rejected_option(whole, &error_response(400, "json_schema is not supported")).unwrap();
        assert_eq!(object.answer_format, AnswerFormat::Object);
        let plain =
            drop_rejected_option(object, &error_response(400, "'response_format' is unknown")).unwrap();
        assert_eq!(plain.answer_format, AnswerFormat::Plain);
        assert_eq!(drop_rejected_option(plain, &error_response(400, "'response_format' is unknown")), None);
        let newer = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
        assert!(drop_rejected_option(whole, &error_response(400, newer)).unwrap().uses_completion_limit);
        assert!(
            !drop_rejected_option(whole, &error_response(400, "Unsupported value: 'temperature'"))
                .unwrap()
                .sends_temperature
        );
        assert!(
            !drop_rejected_option(whole, &error_response(422, "frequency_penalty: extra fields"))
                .unwrap()
                .sends_penalty
        );
        assert_eq!(drop_rejected_option(whole, &error_response(400, "the context is too long")), None);
        assert_eq!(drop_rejected_option(whole, &error_response(500, "json_schema")), None);
    }

    #[test]
    fn text_around_the_object_is_removed() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("```json\n{\"a\":1}\n```", r#"{"a":1}"#),
            ("Here it is: {\"a\":{}}", r#"{"a":{}}"#),
            ("{\"a\":1", "{\"a\":1"),
            ("no object", "no object"),
        ] {
            assert_eq!(extract_object(text), expected, "{text}");
        }
    }
}
