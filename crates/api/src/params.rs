//! The description of a parameter, and the parameters that operations share.

use crate::{Code, Error};
use record::{Clock, Stamp};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Text,
    /// Several values, separated by commas or repeated.
    List,
    /// Several values, each given separately: commas belong to the text.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// True or false; unlike a flag it can be set to false.
    Switch,
    Count,
    Number,
    Flag,
}

pub struct Param {
    pub name: &'static str,
    pub shape: Shape,
    /// The placeholder for the value in help.
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

// ---- parameters that operations share; operations cover all projects by default

pub(crate) const SOURCE: Param = param(
    "source",
    Shape::List,
    "NAME",
    "Only these agents, comma-separated: claude-code, codex, opencode, … (`loci sources` lists all)",
);
pub(crate) const PROJECT: Param = param(
    "project",
    Shape::Text,
    "PROJECT",
    "Only this project: path, name or git remote [default: all projects]",
);
pub(crate) const DEVICE: Param =
    param("device", Shape::Text, "NAME", "Only sessions of this device (`loci sync devices` lists them)");
pub(crate) const MINE: Param = param("mine", Shape::Flag, "", "Only sessions of this device");

/// `device` and `mine` contradict each other.
pub(crate) fn check_origin(device: Option<&str>, mine: bool) -> Result<(), Error> {
    let invalid = |message: &str| {
        Err(Error::new(Code::InvalidArgument, message).hint("`loci sync devices` lists the devices"))
    };
    match device {
        Some(name) if name.trim().is_empty() => invalid("`device` is empty"),
        Some(_) if mine => invalid("`mine` and `device` exclude each other"),
        _ => Ok(()),
    }
}

pub(crate) const SINCE: Param = param(
    "since",
    Shape::Text,
    "TIME",
    "Earliest time: 7d, 12h, today, 2026-11-01 (local time), or an RFC 3339 time",
);
pub(crate) const UNTIL: Param = param(
    "until",
    Shape::Text,
    "TIME",
    "Latest time (same formats as `--since`; dates include the whole day)",
);

/// Checks that a text is a valid time, independent of the current time.
pub(crate) fn check_time(name: &str, text: Option<&str>) -> Result<(), Error> {
    let Some(text) = text.filter(|text| Clock::At(Stamp(0)).parse_time(text).is_none()) else {
        return Ok(());
    };
    Err(Error::new(Code::InvalidArgument, format!("invalid time for `{name}`: `{text}`"))
        .hint("use 7d, 12h, today, 2026-11-01 or 2026-11-01T09:30:00Z"))
}

/// The flag of a parameter: `chat-id-prefix` for `chatIdPrefix`, `time-window` for `time_window`.
pub fn flag_name(name: &str) -> String {
    let mut flag = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    flag
}
