//! How much of a transcript was understood, and what was wrong with the rest. Damage is counted, never raised
//! as an error.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The file could not be opened or read.
    Unreadable,
    /// A line is not a record, and nothing could be salvaged from it.
    BadLine,
    /// A line was damaged; the records named in `note` were salvaged from it.
    Salvaged,
    /// The last line is incomplete: normal while an agent writes.
    Unfinished,
    /// The line is longer than the reader's limit.
    LineTooLong,
    /// The file changed between finding a record and reading it.
    Moved,
    /// The transcript lost more than a tenth of its entries. The archive has them.
    Shortened,
}

impl ProblemKind {
    pub const ALL: [ProblemKind; 7] = [
        ProblemKind::Unreadable,
        ProblemKind::BadLine,
        ProblemKind::Salvaged,
        ProblemKind::Unfinished,
        ProblemKind::LineTooLong,
        ProblemKind::Moved,
        ProblemKind::Shortened,
    ];

    pub fn from_name(word: &str) -> Option<ProblemKind> {
        ProblemKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ProblemKind::Unreadable => "unreadable",
            ProblemKind::BadLine => "bad_line",
            ProblemKind::Salvaged => "salvaged",
            ProblemKind::Unfinished => "unfinished",
            ProblemKind::LineTooLong => "line_too_long",
            ProblemKind::Moved => "moved",
            ProblemKind::Shortened => "shortened",
        }
    }

    /// Whether a complete response would have contained more.
    pub fn is_loss(self) -> bool {
        // Salvaged records are reported beside the damaged line they came from, and that line is the loss.
        !matches!(self, ProblemKind::Unfinished | ProblemKind::Salvaged)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub kind: ProblemKind,
    pub file: PathBuf,
    pub offset: u64,
    pub note: String,
}

/// Line counts of one file or of many. `adds_up` always holds.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub files: u64,
    pub bytes: u64,
    pub lines: u64,
    /// Lines that became part of a session, message or call.
    pub understood: u64,
    /// Lines of a known type without conversation content.
    pub ignored: u64,
    pub blank: u64,
    pub bad: u64,
    pub salvaged: u64,
    pub unfinished: u64,
    pub lossy_utf8: u64,
    /// Types and fields that the parser does not know, with how often they occur.
    pub unknown_types: BTreeMap<String, u64>,
    pub unknown_fields: BTreeMap<String, u64>,
}

impl Coverage {
    pub fn unknown_count(&self) -> u64 {
        self.unknown_types.values().sum()
    }

    pub fn count_unknown_type(&mut self, name: &str) {
        *self.unknown_types.entry(name.chars().take(60).collect()).or_default() += 1;
    }

    pub fn adds_up(&self) -> bool {
        self.lines
            == self.understood + self.ignored + self.unknown_count() + self.bad + self.blank + self.unfinished
    }

    pub fn merge(&mut self, other: &Coverage) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.understood += other.understood;
        self.ignored += other.ignored;
        self.blank += other.blank;
        self.bad += other.bad;
        self.salvaged += other.salvaged;
        self.unfinished += other.unfinished;
        self.lossy_utf8 += other.lossy_utf8;
        for (mine, theirs) in [
            (&mut self.unknown_types, &other.unknown_types),
            (&mut self.unknown_fields, &other.unknown_fields),
        ] {
            for (name, n) in theirs {
                *mine.entry(name.clone()).or_default() += n;
            }
        }
    }
}
