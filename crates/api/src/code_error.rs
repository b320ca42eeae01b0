//! Errors of the operations on code and edits: one object with a code, suggestions, and what else belongs to the code.
//!
//! Does not print them: [`Error::to_record_of`] has the record, and each interface embeds this object in its own form.

use crate::error::ErrorDetails;
use crate::{Code, Error, OPERATIONS, Operation, Progress};
use record::{Cell, Clock, Record};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Each of our codes as these errors name it. `AccessDenied` does not occur: private types and members are shown to everyone who
/// can read the files.
#[rustfmt::skip] // a table
pub const CODE_ERRORS: &[(Code, &str)] = &[
    (Code::SymbolNotFound, "SymbolNotFound"),
    (Code::AmbiguousSymbol, "AmbiguousSymbol"),
    (Code::WriterBusy, "Busy"),
    (Code::ShuttingDown, "Busy"),
    (Code::InvalidFilter, "InvalidFilter"),
    (Code::FilterError, "InvalidFilter"),
    (Code::InternalError, "InternalError"),
    // The rest is specific to Loci.
    (Code::InvalidArgument, "InvalidArgument"),
    (Code::SessionNotFound, "SessionNotFound"),
    (Code::AmbiguousId, "AmbiguousId"),
    (Code::NotFound, "NotFound"),
    (Code::IndexMissing, "IndexMissing"),
    (Code::NewerStore, "NewerStore"),
    (Code::DiskFull, "DiskFull"),
    (Code::ReadError, "ReadError"),
    (Code::EditRefused, "EditRefused"),
    (Code::Cancelled, "Cancelled"),
];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CodeError {
    pub code: String,
    pub message: String,
    /// Names of symbols if a name was the problem, otherwise the hints.
    pub suggestions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

impl CodeError {
    pub fn new(error: &Error) -> CodeError {
        let details = error.details.as_ref();
        let (position, hint) = details.mistake.clone().unzip();
        CodeError {
            code: word_of(error.code).to_string(),
            message: error.message.clone(),
            suggestions: if is_about_name(error.code) { &details.names } else { &error.hints }.clone(),
            candidates: match error.code {
                Code::AmbiguousSymbol => details.names.clone(),
                _ => Vec::new(),
            },
            position,
            hint,
            progress: details.progress,
            trace_id: details.trace_id.clone(),
        }
    }

    /// The details of an error with this code that was sent as this object.
    pub fn into_details(self, code: Code) -> ErrorDetails {
        ErrorDetails {
            names: if is_about_name(code) { self.suggestions } else { Vec::new() },
            mistake: self.position.zip(self.hint),
            progress: self.progress,
            trace_id: self.trace_id,
        }
    }
}

fn word_of(code: Code) -> &'static str {
    let row = CODE_ERRORS.iter().find(|(of, _)| *of == code);
    row.map_or("InternalError", |(_, word)| word)
}

fn is_about_name(code: Code) -> bool {
    matches!(code, Code::SymbolNotFound | Code::AmbiguousSymbol)
}

/// Whether the errors of a command have this form.
pub fn is_code_command(first_word: &str) -> bool {
    ["code", "edit"].contains(&first_word)
}

impl Operation {
    /// Whether its errors have this form.
    pub fn is_about_code(&self) -> bool {
        is_code_command(self.command.split(' ').next().unwrap_or_default())
    }
}

/// Whether a method or tool is an operation whose errors have this form.
pub fn is_code_method(name: &str) -> bool {
    OPERATIONS.iter().any(|operation| operation.name == name && operation.is_about_code())
}

impl Error {
    /// The error as a record, for a consumer that reads standard output. That of an operation on code has an object in `error`.
    pub fn to_record_of(&self, is_about_code: bool) -> Record<'_> {
        let mut record = self.to_record();
        if is_about_code {
            let object = serde_json::to_string(&CodeError::new(self)).unwrap_or_default();
            record[1].1 = Cell::Json(object.into());
        }
        record
    }

    /// Says how far the request had come when another process was in the way.
    #[must_use]
    pub fn with_progress(mut self, progress: &Progress) -> Error {
        let (files, of) = (progress.files.load(Relaxed), progress.of.load(Relaxed));
        if word_of(self.code) == "Busy" && of > 0 {
            self.details.progress.get_or_insert((files * 100 / of).min(100));
        }
        self
    }

    /// Gives an internal error an ID, also in its message, that finds it in a log or a report. Reads the clock itself: the ID is new in
    /// each call anyway.
    #[must_use]
    pub fn with_trace(mut self) -> Error {
        if self.code == Code::InternalError && self.details.trace_id.is_none() {
            let id = make_trace_id();
            self.message.extend([" (trace ", &id, ")"]);
            self.details.trace_id = Some(id);
        }
        self
    }
}

/// The time, and what tells errors of the same millisecond apart.
fn make_trace_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Relaxed).wrapping_add(u64::from(std::process::id()));
    format!("{:x}-{:04x}", Clock::System.now().0, count & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_code_has_exactly_one_name() {
        for (code, word, _) in Code::ALL {
            assert_eq!(CODE_ERRORS.iter().filter(|(of, _)| of == code).count(), 1, "{word}");
        }
    }

    #[test]
    fn an_error_has_the_fields_of_its_code() {
        let progress = Progress::default();
        progress.files.store(30, Relaxed);
        progress.of.store(40, Relaxed);
        let names = || vec!["a.Node".to_string()];
        let of = |code| Error::new(code, "m");
        for (error, expected) in [
            (
                of(Code::SymbolNotFound).names(names()),
                json!({"code": "SymbolNotFound", "message": "m", "suggestions": ["a.Node"]}),
            ),
            (
                of(Code::SymbolNotFound).hint("search for it"),
                json!({"code": "SymbolNotFound", "message": "m", "suggestions": []}),
            ),
            (
                of(Code::AmbiguousSymbol).names(names()),
                json!({"code": "AmbiguousSymbol", "message": "m", "suggestions": ["a.Node"], "candidates": ["a.Node"]}),
            ),
            (
                of(Code::WriterBusy).hint("wait").with_progress(&progress),
                json!({"code": "Busy", "message": "m", "suggestions": ["wait"], "progress": 75}),
            ),
            (
                of(Code::InvalidFilter).mistake(3, "a key"),
                json!({"code": "InvalidFilter", "message": "m", "suggestions": [], "position": 3, "hint": "a key"}),
            ),
            (
                of(Code::EditRefused).with_progress(&progress).with_trace(),
                json!({"code": "EditRefused", "message": "m", "suggestions": []}),
            ),
        ] {
            let sent = CodeError::new(&error);
            assert_eq!(serde_json::to_value(&sent).unwrap(), expected);
            assert_eq!(sent.into_details(error.code), *error.details);
        }
    }

    #[test]
    fn an_internal_error_keeps_its_first_trace_id_and_prints_it() {
        let traced = || Error::new(Code::InternalError, "crashed").with_trace();
        let error = traced();
        let id = error.details.trace_id.clone().unwrap();
        assert_eq!(error.message, format!("crashed (trace {id})"));
        assert_eq!(error.clone().with_trace(), error);
        assert_ne!(traced().details.trace_id, Some(id));
    }

    #[test]
    fn only_operations_on_code_and_edits_have_this_form() {
        for (name, expected) in
            [("get_outline", true), ("rename_symbol", true), ("search_conversations", false), ("why", false)]
        {
            assert_eq!(is_code_method(name), expected, "{name}");
        }
        let plain = Error::new(Code::NotFound, "m").hint("h");
        let record = |name: &str| {
            let mut bytes = Vec::new();
            record::cell::write_object(
                &plain.to_record_of(crate::operation_named(name).unwrap().is_about_code()),
                &mut bytes,
            );
            serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()
        };
        let old = json!({"status": "error", "error": "m", "code": "NOT_FOUND", "hints": ["h"]});
        assert_eq!(record("status"), old);
        let mut new = old;
        new["error"] = json!({"code": "NotFound", "message": "m", "suggestions": ["h"]});
        assert_eq!(record("get_outline"), new);
    }
}
