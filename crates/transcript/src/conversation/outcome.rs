//! How a call ended: its status, exit code and text. A command that fails is an error, whatever its client says.
//!
//! Does not know how an agent writes any of them.

use crate::json;
use record::{Call, Status};

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub status: Status,
    pub text: String,
    /// The error, if it is not the whole text.
    pub error: Option<String>,
    pub exit_code: Option<i64>,
    pub duration_ms: Option<i64>,
}

impl Outcome {
    pub fn new(status: Status, text: impl Into<String>) -> Outcome {
        Outcome { status, text: text.into(), ..Outcome::default() }
    }

    /// A result of which the client says only whether it failed.
    pub fn of_flag(failed: bool, text: impl Into<String>) -> Outcome {
        Outcome::new(if failed { Status::Error } else { Status::Success }, text)
    }

    /// A code other than 0 is a failure.
    #[must_use]
    pub fn with_exit_code(mut self, code: Option<i64>) -> Outcome {
        self.exit_code = code;
        if code.is_some_and(|code| code != 0) {
            self.status = Status::Error;
        }
        self
    }

    #[must_use]
    pub fn with_error(mut self, error: Option<String>) -> Outcome {
        self.error = error.filter(|error| !error.is_empty());
        self
    }

    pub fn apply(self, call: &mut Call) {
        let Outcome { status, text, error, exit_code, duration_ms } = self;
        call.output = Some(json::to_json_string(&text));
        call.error = (status == Status::Error).then(|| error.unwrap_or(text));
        call.status = status;
        call.exit_code = exit_code;
        call.duration_ms = duration_ms;
    }
}

/// The number behind the last occurrence of `words`, as clients append an exit code to a command's output.
pub fn exit_code_after(text: &str, words: &str) -> Option<i64> {
    let behind = &text[text.rfind(words)? + words.len()..];
    let digits = behind.strip_prefix('-').unwrap_or(behind);
    let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: i64 = digits[..length].parse().ok()?;
    Some(if behind.starts_with('-') { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_an_error_although_the_client_says_success() {
        let mut call = Call::default();
        Outcome::of_flag(false, "boom").with_exit_code(Some(3)).apply(&mut call);
        assert_eq!(
            (call.status, call.exit_code, call.error.as_deref()),
            (Status::Error, Some(3), Some("boom"))
        );
        Outcome::of_flag(false, "fine").with_exit_code(Some(0)).apply(&mut call);
        assert_eq!((call.status, call.error), (Status::Success, None));
    }

    #[test]
    fn exit_codes_are_read_behind_their_words() {
        for (text, code) in [
            ("out\n\nCommand exited with code 3", Some(3)),
            ("exited with code 1 exited with code -15.", Some(-15)),
            ("exited with code x", None),
            ("exited with code ", None),
            ("nothing", None),
        ] {
            assert_eq!(exit_code_after(text, "exited with code "), code, "{text}");
        }
    }
}
