//! Every parameter, once: its name, its shape and its meaning.

use crate::{Code, Error, control};
use record::{Clock, Stamp};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Text,
    /// Several, separated by commas or given again.
    List,
    /// Several, each given by itself: commas belong to the text.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// True or false, where a flag could only say one of them.
    Switch,
    Count,
    Number,
    Flag,
}

pub struct Param {
    pub name: &'static str,
    pub shape: Shape,
    /// What stands for the value in help.
    pub value: &'static str,
    pub about: &'static str,
}

pub(crate) const fn param(
    name: &'static str,
    shape: Shape,
    value: &'static str,
    about: &'static str,
) -> Param {
    Param { name, shape, value, about }
}

pub const PARAMS: &[Param] = &[
    param("session", Shape::Text, "ID", "Only this session: its id, a prefix of it, or a subagent's id"),
    param(
        "project",
        Shape::Text,
        "PATH",
        "Only sessions of this project, or below it [default: the enclosing git repository, or the working directory]",
    ),
    param("all_projects", Shape::Flag, "", "Sessions of every project"),
    param(
        "source",
        Shape::List,
        "NAME",
        "Only these agents: claude-code, codex, gemini-cli, opencode, chatwise",
    ),
    param(
        "since",
        Shape::Text,
        "TIME",
        "Not before: 7d, 12h, today, 2026-11-01 (local time), or an RFC 3339 time",
    ),
    param("until", Shape::Text, "TIME", "Not after: in the same words; a day is meant to its end"),
    param(
        "pattern",
        Shape::Text,
        "REGEX",
        "Only records whose text matches; for sequences: the tools, as in `Read -> Edit`",
    ),
    param("tool", Shape::List, "NAME", "Only calls of these tools"),
    param("status", Shape::Text, "STATUS", "Only calls that ended so: success, error, pending, unknown"),
    param(
        "signature",
        Shape::Text,
        "NAME",
        "Only the failure of this name, as `loci analyze errors` prints it",
    ),
    param("window", Shape::Count, "N", "Turns to show before and after [default: 3]"),
    param("file", Shape::Text, "PATH", "Only this file: its path or the end of it"),
    param(
        "min_count",
        Shape::Count,
        "N",
        "Only what occurs at least this often [default: sequences 3, errors 1, file-churn 5]",
    ),
    param("minutes", Shape::Number, "N", "Gaps at least this long [default: 5]"),
    param("by", Shape::Text, "GROUP", "Group by this"),
    param("explain", Shape::Flag, "", "List what was counted and what was not, and by which rule"),
    param("problems", Shape::Flag, "", "List what could not be read, and where"),
    param("limit", Shape::Count, "N", "Print at most this many"),
    param("offset", Shape::Count, "N", "Leave out this many first"),
    param("reverse", Shape::Flag, "", "The other way round: newest or last first"),
    param("fields", Shape::List, "NAMES", "Only these fields, in this order"),
    control::JQ_FILTER,
    control::SLURP,
    control::STATS_ONLY,
    control::STATS_FIRST,
    control::INLINE_THRESHOLD,
];

// ---- parameters that operations share; an operation asks about every project unless it is told otherwise

pub(crate) const SOURCE: Param = param(
    "source",
    Shape::List,
    "NAME",
    "Only these agents: claude-code, codex, gemini-cli, opencode, chatwise",
);
pub(crate) const PROJECT: Param = param(
    "project",
    Shape::Text,
    "PATH",
    "Only conversations of this project, or below it [default: all projects]",
);
pub(crate) const SINCE: Param = param(
    "since",
    Shape::Text,
    "TIME",
    "Not before: 7d, 12h, today, 2026-11-01 (local time), or an RFC 3339 time",
);
pub(crate) const UNTIL: Param =
    param("until", Shape::Text, "TIME", "Not after: in the same words; a day is meant to its end");

/// Whether a text can be understood as a moment, whatever time it is now.
pub(crate) fn is_time(name: &str, text: Option<&str>) -> Result<(), Error> {
    let Some(text) = text.filter(|text| Clock::At(Stamp(0)).moment(text).is_none()) else { return Ok(()) };
    Err(Error::new(Code::InvalidArgument, format!("`{name}` does not understand `{text}`"))
        .hint("write 7d, 12h, today, 2026-11-01 or 2026-11-01T09:30:00Z"))
}

pub fn param_named(name: &str) -> Option<&'static Param> {
    PARAMS.iter().find(|p| p.name == name)
}

/// How a parameter is typed: `chatIdPrefix` as `chat-id-prefix`, `time_window` as `time-window`.
pub fn dashed(name: &str) -> String {
    let mut flag = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    flag
}
