//! What a parameter is, and the parameters that operations share.

use crate::{Code, Error};
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
