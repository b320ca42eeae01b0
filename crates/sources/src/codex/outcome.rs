//! How a tool call ended. Codex does not record failures: they are derived from the text the model saw, an
//! exit code in its head or its metadata, or the phrases with which Codex rejects a call.
//!
//! Does not recognise failures that a tool phrases in its own way: those count as success.

use crate::json;
use memchr::memmem;
use record::Status;

/// How Codex's message begins when a call was not run or failed as a whole.
const FAILURES: &[&str] = &[
    "unsupported call",
    "unsupported custom tool call",
    "apply_patch verification failed",
    "failed to parse function arguments",
    "aborted by user",
    "tool call error",
    "Mcp error",
    "err: ",
    "execution error",
    "exec command failed",
    "exec_command failed",
    "failed in sandbox",
    "command timed out",
    "patch rejected",
    "exec command rejected",
    "rejected by user",
    "unable to locate image",
    "unknown process id",
    "write_stdin failed",
];

/// How much of a text is decoded for its head.
const MAX_HEAD_BYTES: usize = 1024;
const METADATA_PREFIX: &[u8] = br#"\"metadata\":{\"exit_code\":"#;

/// How a finished call ended.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) exit_code: Option<i64>,
    pub(super) failed: bool,
}

impl Outcome {
    /// Examines a raw `output` value without decoding more than its head.
    pub(super) fn from_output(output: &[u8]) -> Outcome {
        match output.first() {
            Some(b'"') => Outcome::from_text(json::strip_quotes(output)),
            Some(b'{') => {
                Outcome { exit_code: None, failed: json::get_value(output, b"success") == Some(b"false") }
            }
            _ => Outcome::default(),
        }
    }

    fn from_text(raw: &[u8]) -> Outcome {
        let exit_code = parse_wrapped_exit_code(raw);
        if exit_code.is_some() {
            return Outcome { exit_code, failed: false };
        }
        let head = OutputHead::parse(&json::decode_string(&raw[..raw.len().min(MAX_HEAD_BYTES)]));
        Outcome { exit_code: head.exit_code, failed: head.failed }
    }

    pub(super) fn status(&self) -> Status {
        let bad = self.failed || self.exit_code.is_some_and(|code| code != 0);
        if bad { Status::Error } else { Status::Success }
    }
}

/// The exit code of `{"output":…,"metadata":{"exit_code":…}}`, still escaped. The tool's own output is
/// escaped once more and cannot be mistaken for it.
fn parse_wrapped_exit_code(raw: &[u8]) -> Option<i64> {
    if !raw.starts_with(br#"{\"output\":"#) {
        return None;
    }
    let at = memmem::rfind(raw, METADATA_PREFIX)? + METADATA_PREFIX.len();
    parse_leading_number(std::str::from_utf8(&raw[at..raw.len().min(at + 12)]).ok()?)
}

fn parse_leading_number(text: &str) -> Option<i64> {
    let end = text.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The lines that Codex puts above the output of a command.
#[derive(Default)]
pub(super) struct OutputHead {
    pub(super) exit_code: Option<i64>,
    pub(super) seconds: Option<f64>,
    pub(super) failed: bool,
    /// Where the command's own output begins.
    pub(super) body: usize,
}

impl OutputHead {
    pub(super) fn parse(text: &str) -> OutputHead {
        let mut head = OutputHead::default();
        let mut printed = false;
        for line in text.split_inclusive('\n') {
            // A patch run by the shell has a second head below the first; if a command itself printed "Exit
            // code", Codex's own line comes before it.
            if printed && (head.exit_code.is_some() || !line.starts_with("Exit code: ")) {
                break;
            }
            if !head.read_line(line.trim_end()) {
                break;
            }
            printed = line.trim_end() == "Output:";
            head.body += line.len();
        }
        head.failed = FAILURES.iter().any(|start| text[head.body..].starts_with(start)) && !printed;
        head
    }

    /// Reads one line; false if it is not part of the head.
    fn read_line(&mut self, line: &str) -> bool {
        let code =
            line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "));
        if let Some(code) = code {
            self.exit_code = parse_leading_number(code);
            return self.exit_code.is_some();
        }
        if let Some(time) = line.strip_prefix("Wall time: ") {
            self.seconds = time.split(' ').next().and_then(|n| n.parse().ok());
            return self.seconds.is_some();
        }
        ["Chunk ID: ", "Original token count: ", "Process running with session ID "]
            .iter()
            .any(|start| line.starts_with(start))
            || line == "Output:"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_of_a_call_is_derived_from_its_output() {
        let shell = "Chunk ID: 29\nWall time: 0.0 seconds\nProcess exited with code 3\nOutput:\nboom\n";
        let patch = "Wall time: 0.0 seconds\nOutput:\nExit code: 1\nWall time: 0 seconds\nOutput:\nno\n";
        let quoting = "Process exited with code 0\nOutput:\nExit code: 7\n";
        for (output, code, status) in [
            (json::to_json_string(shell), Some(3), Status::Error),
            (json::to_json_string(patch), Some(1), Status::Error),
            (json::to_json_string(quoting), Some(0), Status::Success),
            (
                json::to_json_string("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."),
                Some(0),
                Status::Success,
            ),
            (
                json::to_json_string(
                    r#"{"output":"\"metadata\":{\"exit_code\":9","metadata":{"exit_code":124,"d":0}}"#,
                ),
                Some(124),
                Status::Error,
            ),
            (json::to_json_string(r#"{"output":"","metadata":{"exit_code":0}}"#), Some(0), Status::Success),
            (json::to_json_string("unsupported call: x"), None, Status::Error),
            (json::to_json_string("Wall time: 0.1 seconds\naborted by user"), None, Status::Error),
            (json::to_json_string("Wall time: 0.1 seconds\nOutput:\naborted by user"), None, Status::Success),
            (json::to_json_string("Plan updated"), None, Status::Success),
            ("[{\"type\":\"input_image\"}]".to_string(), None, Status::Success),
            (r#"{"content":"x","success":false}"#.to_string(), None, Status::Error),
        ] {
            let outcome = Outcome::from_output(output.as_bytes());
            assert_eq!((outcome.exit_code, outcome.status()), (code, status), "{output}");
        }
    }

    #[test]
    fn the_body_is_the_output_of_the_command() {
        for (text, body) in [
            ("Chunk ID: 1\nProcess exited with code 3\nOutput:\nboom\n", "boom\n"),
            ("plain", "plain"),
            ("Output:\nx", "x"),
        ] {
            assert_eq!(&text[OutputHead::parse(text).body..], body);
        }
    }
}
