//! The parameters of the views: name, shape and meaning.
//!
//! Does not know which view takes which: see [`crate::views`].

use crate::control;
use crate::params::{Param, Shape, param};

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

pub fn param_named(name: &str) -> Option<&'static Param> {
    PARAMS.iter().find(|p| p.name == name)
}
