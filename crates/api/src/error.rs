//! Errors with their codes and hints, and the exit codes of the process.

use record::{Cell, Record};

/// Declares each code with its word and description.
macro_rules! codes {
    ($($name:ident = $word:literal, $meaning:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Code { $($name,)* }
        impl Code {
            pub const ALL: &'static [(Code, &'static str, &'static str)] = &[$((Code::$name, $word, $meaning),)*];
            pub fn word(self) -> &'static str { match self { $(Code::$name => $word,)* } }
        }
    };
}

codes! {
    InvalidArgument = "INVALID_ARGUMENT", "a parameter is unknown, malformed or contradicts another";
    SessionNotFound = "SESSION_NOT_FOUND", "no session has this ID or ID prefix";
    AmbiguousId = "AMBIGUOUS_ID", "the ID prefix is ambiguous; the hints list the matches";
    NotFound = "NOT_FOUND", "the named item does not exist";
    IndexMissing = "INDEX_MISSING", "the index is missing or was written by an incompatible version; run `loci index`";
    NewerStore = "NEWER_STORE", "a store was written by a newer Loci; this version leaves it unchanged";
    WriterBusy = "WRITER_BUSY", "another process is writing the index or the archive";
    DiskFull = "DISK_FULL", "no space left on the device";
    FilterError = "FILTER_ERROR", "the jq filter or pattern is invalid, failed, or exceeded its limits";
    ReadError = "READ_ERROR", "a required file could not be read or written";
    SymbolNotFound = "SYMBOL_NOT_FOUND", "no type or member has this name; the hints list similar names";
    AmbiguousSymbol = "AMBIGUOUS_SYMBOL", "the name is ambiguous; the hints list the matching types or members";
    InvalidFilter = "INVALID_FILTER", "the filter of a pack or graph cannot be parsed; the hint says where";
    EditRefused = "EDIT_REFUSED", "the edit is uncertain, would break the code, or a file has changed; the hints list the places";
    ShuttingDown = "SHUTTING_DOWN", "the daemon is shutting down; commands run without it";
    Cancelled = "CANCELLED", "the caller cancelled the request";
    InternalError = "INTERNAL_ERROR", "a defect in Loci";
}

/// What an error knows besides its message and hints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorDetails {
    /// Full names of symbols: similar ones if none was found, all that match if several were.
    pub names: Vec<String>,
    /// The place of a mistake in a filter: its character, from 1, and what is expected there.
    pub mistake: Option<(u64, String)>,
    /// How much of the tree had been read, in percent, when another process was in the way.
    pub progress: Option<u64>,
    pub trace_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub code: Code,
    pub message: String,
    pub hints: Vec<String>,
    /// Boxed, because most errors have none.
    pub details: Box<ErrorDetails>,
}

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), hints: Vec::new(), details: Box::default() }
    }

    /// Adds a hint: a command to type next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// Adds the full names of similar or matching symbols.
    #[must_use]
    pub fn names(mut self, names: Vec<String>) -> Error {
        self.details.names = names;
        self
    }

    /// Adds the place of a mistake, a character counted from 1, and what is expected there.
    #[must_use]
    pub fn mistake(mut self, character: u64, hint: impl Into<String>) -> Error {
        self.details.mistake = Some((character, hint.into()));
        self
    }

    /// The error as a record, for a consumer that reads standard output.
    pub(crate) fn to_record(&self) -> Record<'_> {
        let hints = self.hints.iter().map(|h| Cell::text(h.as_str())).collect::<Vec<_>>();
        vec![
            ("status", Cell::text("error")),
            ("error", Cell::text(self.message.as_str())),
            ("code", Cell::text(self.code.word())),
            ("hints", if hints.is_empty() { Cell::Null } else { Cell::List(hints) }),
        ]
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Found,
    Failed,
    Nothing,
    Incomplete,
}

impl Exit {
    pub const ALL: &'static [(Exit, u8, &'static str)] = &[
        (Exit::Found, 0, "results were found"),
        (
            Exit::Failed,
            1,
            "an error, or problems found by `loci doctor`; the error is printed to standard error and, in the chosen format, to standard output",
        ),
        (Exit::Nothing, 2, "no results"),
        (
            Exit::Incomplete,
            3,
            "part of the history could not be read or was lost, with or without results from the rest (see `loci sources --problems` and `loci doctor`)",
        ),
    ];

    pub fn code(self) -> u8 {
        self as u8
    }
}
