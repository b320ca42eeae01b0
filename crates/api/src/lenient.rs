//! Other spellings of parameter values: `claude` for `claude-code`, `failed` for `error`, one text where a list is meant.
//!
//! Applied to every request of every interface. Does not know which operation or view is called.

use serde_json::{Map, Value};

/// A parameter, what people and models write, and what is meant.
const SPELLINGS: &[(&str, &[(&str, &str)])] = &[
    (
        "source",
        &[
            ("claude", "claude-code"),
            ("claude_code", "claude-code"),
            ("gemini", "gemini-cli"),
            ("codex-cli", "codex"),
        ],
    ),
    (
        "status",
        &[
            ("failed", "error"),
            ("failure", "error"),
            ("errors", "error"),
            ("ok", "success"),
            ("done", "success"),
        ],
    ),
    (
        "by",
        &[
            ("days", "day"),
            ("daily", "day"),
            ("weeks", "week"),
            ("weekly", "week"),
            ("months", "month"),
            ("monthly", "month"),
            ("sessions", "session"),
            ("models", "model"),
            ("projects", "project"),
            ("sources", "source"),
            ("agent", "source"),
            ("agents", "source"),
            ("tools", "tool"),
        ],
    ),
    ("agents", &[("claude", "claude-code"), ("gemini", "gemini-cli")]),
];

/// Parameters that are lists, of which one element may be given alone.
const LISTS: &[&str] = &[
    "source",
    "tool",
    "fields",
    "chatIds",
    "role_filter",
    "exclude_terms",
    "tag",
    "agents",
    "toolsets",
    "folders",
    "chat_ids",
    "kind_filter",
    "add",
    "value",
    "remove",
    "order",
    "step",
    "members",
];

/// Replaces other spellings by those that are meant.
pub(crate) fn normalize(params: &mut Map<String, Value>) {
    if let Some(Value::String(filter)) = params.get_mut("filter")
        && is_bare_name(filter)
    {
        *filter = format!("type:{}", filter.trim());
    }
    for name in LISTS {
        if let Some(value @ Value::String(_)) = params.get_mut(*name) {
            *value = Value::Array(vec![value.take()]);
        }
    }
    for (name, spellings) in SPELLINGS {
        match params.get_mut(*name) {
            Some(Value::Array(all)) => all.iter_mut().for_each(|value| respell(value, spellings)),
            Some(value) => respell(value, spellings),
            None => {}
        }
    }
}

/// A name where a filter of types is meant: `Clock` for `type:Clock`.
fn is_bare_name(filter: &str) -> bool {
    let filter = filter.trim();
    !filter.is_empty() && filter.chars().all(|c| c.is_alphanumeric() || "_.*?".contains(c))
}

fn respell(value: &mut Value, spellings: &[(&str, &str)]) {
    let Some(text) = value.as_str() else { return };
    let folded = text.trim().to_lowercase();
    if let Some((_, meant)) = spellings.iter().find(|(written, _)| *written == folded) {
        *value = Value::from(*meant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn other_spellings_and_single_texts_are_understood() {
        let Value::Object(mut params) = json!({"source": "Claude", "status": "failed", "by": "weeks", "tool": "Bash", "limit": 3, "query": "ok"})
        else {
            panic!()
        };
        normalize(&mut params);
        let expected = json!({"source": ["claude-code"], "status": "error", "by": "week", "tool": ["Bash"], "limit": 3, "query": "ok"});
        assert_eq!(Value::Object(params), expected);
        for (typed, meant) in
            [("Clock", "type:Clock"), ("type:Clock", "type:Clock"), ("!tag:x", "!tag:x"), ("", "")]
        {
            let Value::Object(mut params) = json!({"filter": typed}) else { panic!() };
            normalize(&mut params);
            assert_eq!(params["filter"], meant);
        }
    }
}
