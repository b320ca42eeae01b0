//! Any server that implements `OpenAI`'s chat completions: Ollama, llama.cpp, vLLM and many others. They agree on the
//! envelope but not on the options in it, so options that a server rejects are left out, one at a time.
//!
//! Does not validate the answer.

use crate::completion::{Completion, CompletionRequest};
use crate::failure::{Class, Failure, Usage};
use crate::http::Said;
use serde_json::{Value, json};

/// The options that servers differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dialect {
    form: Form,
    newer_limit: bool,
    temperature: bool,
    penalty: bool,
}

/// How the answer is constrained to its schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Schema,
    Object,
    /// By instructions in the prompt only.
    Plain,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect { form: Form::Schema, newer_limit: false, temperature: true, penalty: true }
    }
}

pub(crate) fn body(request: &CompletionRequest<'_>, dialect: Dialect) -> Value {
    let instructions = request.prompt.system();
    let system = match dialect.form {
        Form::Schema => instructions.to_string(),
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
    let limit = if dialect.newer_limit { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(request.max_tokens);
    if dialect.temperature {
        body["temperature"] = json!(0.2);
    }
    if dialect.penalty {
        // Small models repeat themselves until the limit: valid answers of a 135 M model rose from 15 to 20 in 20.
        body["frequency_penalty"] = json!(0.3);
    }
    match dialect.form {
        Form::Schema => {
            body["response_format"] = json!({"type": "json_schema",
                "json_schema": {"name": "answer", "strict": true, "schema": request.schema}});
        }
        Form::Object => body["response_format"] = json!({"type": "json_object"}),
        Form::Plain => {}
    }
    body
}

type Change = fn(Dialect) -> Dialect;

/// Names in a server's error message, and how to leave the rejected option out.
const REFUSED: &[(&[&str], Change)] = &[
    (&["max_completion_tokens", "max_tokens"], |it| Dialect { newer_limit: true, ..it }),
    (&["temperature"], |it| Dialect { temperature: false, ..it }),
    (&["penalty"], |it| Dialect { penalty: false, ..it }),
    (&["response_format", "json_schema", "json_object", "schema", "grammar", "structured"], |it| Dialect {
        form: if it.form == Form::Schema { Form::Object } else { Form::Plain },
        ..it
    }),
];

/// The dialect without the option the server rejects. Returns `None` if the error is about something else.
pub(crate) fn without(dialect: Dialect, response: &Said) -> Option<Dialect> {
    if !matches!(response.status, 400 | 415 | 422 | 501) {
        return None;
    }
    let words = response.words().to_lowercase();
    let rejected = REFUSED.iter().filter(|(names, _)| names.iter().any(|name| words.contains(name)));
    rejected.map(|(_, change)| change(dialect)).find(|changed| *changed != dialect)
}

pub(crate) fn read(answer: &Value) -> Result<Completion, Failure> {
    let reported = &answer["usage"];
    let usage = Usage {
        tokens_in: reported["prompt_tokens"].as_u64().unwrap_or(0),
        tokens_out: reported["completion_tokens"].as_u64().unwrap_or(0),
        // If the server reports nothing, or zero, the reserved amount counts.
        told: reported["prompt_tokens"].as_u64().is_some_and(|n| n > 0)
            && reported["completion_tokens"].is_u64(),
        cost: None,
    };
    let choice = &answer["choices"][0];
    let poison = |words: &str| Err(Failure::of_job(Class::Poison, words).spent(usage));
    if let Some(refusal) = choice["message"]["refusal"].as_str().filter(|words| !words.is_empty()) {
        return Err(Failure::of_job(Class::Refused, format!("the model refused: {refusal}")).spent(usage));
    }
    match (choice["finish_reason"].as_str(), choice["message"]["content"].as_str()) {
        (Some("length"), _) => poison("the answer was truncated at the token limit"),
        (Some("content_filter"), _) => {
            Err(Failure::of_job(Class::Refused, "the provider filtered the answer").spent(usage))
        }
        (_, Some(text)) if !text.trim().is_empty() => Ok(Completion { text: bare(text), usage }),
        _ => poison("the answer is empty"),
    }
}

/// Extracts the JSON object if the model wrapped it in prose or a code fence.
fn bare(text: &str) -> String {
    let from = text.find('{').filter(|_| text.trim_end().ends_with(['}', '`']));
    match from.zip(text.rfind('}')) {
        Some((from, to)) if from < to => text[from..=to].to_string(),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, words: &str) -> Said {
        Said { status, retry_after: None, body: json!({"error": {"message": words}}).to_string() }
    }

    #[test]
    fn rejected_options_are_left_out_one_at_a_time() {
        let whole = Dialect::default();
        let object = without(whole, &said(400, "json_schema is not supported")).unwrap();
        assert_eq!(object.form, Form::Object);
        let plain = without(object, &said(400, "'response_format' is unknown")).unwrap();
        assert_eq!(plain.form, Form::Plain);
        assert_eq!(without(plain, &said(400, "'response_format' is unknown")), None);
        let newer = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
        assert!(without(whole, &said(400, newer)).unwrap().newer_limit);
        assert!(!without(whole, &said(400, "Unsupported value: 'temperature'")).unwrap().temperature);
        assert!(!without(whole, &said(422, "frequency_penalty: extra fields")).unwrap().penalty);
        assert_eq!(without(whole, &said(400, "the context is too long")), None);
        assert_eq!(without(whole, &said(500, "json_schema")), None);
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
            assert_eq!(bare(text), expected, "{text}");
        }
    }
}
