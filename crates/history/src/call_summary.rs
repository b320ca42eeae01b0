//! Summarises a tool call without its output: the file it touched and the command it ran.
//!
//! Does not read transcripts.

use record::Call;

/// Longer texts are shortened to their beginning and end, which say what was wanted.
const MAX_BYTES: usize = 8 << 10;

/// File and command of a call. The output is not read.
#[derive(Debug, Default)]
pub struct CallSummary {
    pub file: Option<String>,
    pub command: Option<String>,
}

impl CallSummary {
    pub fn from_call(call: &Call) -> CallSummary {
        let input = call.input.as_bytes();
        let command = ["command", "cmd", "script"].iter().find_map(|key| text_or_last(input, key.as_bytes()));
        CallSummary { file: call.file.clone(), command: command.map(shorten_text) }
    }
}

/// A command is a string, or an argument list; for a shell, the last argument is the script.
fn text_or_last(input: &[u8], key: &[u8]) -> Option<String> {
    let raw = sources::json::get_value(input, key)?;
    if raw.first() == Some(&b'[') {
        let words: Vec<String> = serde_json::from_slice(raw).ok()?;
        let shell = words.first().is_some_and(|word| word.ends_with("sh"));
        return if shell { words.into_iter().next_back() } else { Some(words.join(" ")) };
    }
    sources::json::get_text(input, key)
}

/// Shortens a long text to its beginning and end.
pub fn shorten_text(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        let (head, tail) = (
            text.floor_char_boundary(MAX_BYTES * 3 / 4),
            text.ceil_char_boundary(text.len() - MAX_BYTES / 4),
        );
        text.replace_range(head..tail, "\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_strings_and_argument_lists() {
        for (input, command) in [
            (r#"{"command":"cargo test"}"#, Some("cargo test")),
            (r#"{"command":["bash","-lc","cargo test"]}"#, Some("cargo test")),
            (r#"{"command":["cargo","test"]}"#, Some("cargo test")),
            (r#"{"cmd":"ls"}"#, Some("ls")),
            (r#"{"file_path":"a"}"#, None),
        ] {
            let call = Call { input: input.to_string(), ..Call::default() };
            assert_eq!(CallSummary::from_call(&call).command.as_deref(), command, "{input}");
        }
    }
}
