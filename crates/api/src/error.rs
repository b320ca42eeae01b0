//! What can go wrong, in the user's words, and what the process ends with.

use record::{Cell, Line};

/// Declares each code with its word once.
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
    SessionNotFound = "SESSION_NOT_FOUND", "no session has an id that begins so";
    AmbiguousId = "AMBIGUOUS_ID", "several ids begin so; the hints list them";
    NotFound = "NOT_FOUND", "what was named is not there";
    IndexMissing = "INDEX_MISSING", "there is no index yet, or one that this version cannot read: `loci index` makes it";
    WriterBusy = "WRITER_BUSY", "another process is writing the index or the archive";
    DiskFull = "DISK_FULL", "there is no room left to write";
    FilterError = "FILTER_ERROR", "the jq filter or the pattern is wrong, failed, or was stopped at its limit";
    ReadError = "READ_ERROR", "something that must be read or written could not be";
    SymbolNotFound = "SYMBOL_NOT_FOUND", "no type or member has such a name; the hints say what is written nearly so";
    AmbiguousSymbol = "AMBIGUOUS_SYMBOL", "several types or members are called so; the hints list them";
    InvalidFilter = "INVALID_FILTER", "the filter of a pack or a graph cannot be read; the hint says where";
    ShuttingDown = "SHUTTING_DOWN", "the daemon is about to end; commands go on without it";
    Cancelled = "CANCELLED", "whoever asked does not want the answer any more";
    InternalError = "INTERNAL_ERROR", "a defect in Loci";
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub code: Code,
    pub message: String,
    pub hints: Vec<String>,
}

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), hints: Vec::new() }
    }

    /// What to type next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// The error as a record, for a consumer that reads standard output.
    pub fn line(&self) -> Line<'_> {
        let hints = self.hints.iter().map(|h| Cell::text(h.as_str())).collect::<Vec<_>>();
        vec![
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
        (Exit::Found, 0, "something was found"),
        (
            Exit::Failed,
            1,
            "an error, or problems found by `loci doctor`; what went wrong is on standard error and, in the chosen format, on standard output",
        ),
        (Exit::Nothing, 2, "nothing was found"),
        (
            Exit::Incomplete,
            3,
            "a part of the history could not be read, whatever was found in the rest (see `loci sources --problems`)",
        ),
    ];

    pub fn code(self) -> u8 {
        self as u8
    }
}
