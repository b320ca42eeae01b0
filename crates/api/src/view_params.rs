//! The parameters of the views: name, shape and meaning.
//!
//! Does not know which view takes which: see [`crate::views`].

use crate::control;
use crate::params::{Param, Shape, param};

pub const PARAMS: &[Param] = &[
    param("session", Shape::Text, "ID", "Only this session, by ID, ID prefix or the ID of a subagent"),
    param(
        "project",
        Shape::Text,
        "PATH",
        "Only sessions in this directory or below [default: the enclosing git repository, or the working directory]",
    ),
    param("all_projects", Shape::Flag, "", "Include sessions of all projects"),
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
        "Earliest time: 7d, 12h, today, 2026-11-01 (local time), or an RFC 3339 time",
    ),
    param(
        "until",
        Shape::Text,
        "TIME",
        "Latest time (same formats as `--since`; dates include the whole day)",
    ),
    param(
        "pattern",
        Shape::Text,
        "REGEX",
        "Only records whose text matches this regex; for sequences: the tools, as in `Read -> Edit`",
    ),
    param("tool", Shape::List, "NAME", "Only calls of these tools"),
    param("status", Shape::Text, "STATUS", "Only calls with this status: success, error, pending, unknown"),
    param(
        "signature",
        Shape::Text,
        "NAME",
        "Only errors with this signature, as printed by `loci analyze errors`",
    ),
    param("window", Shape::Count, "N", "Turns to show before and after [default: 3]"),
    param("file", Shape::Text, "PATH", "Only this file, by path or the end of the path"),
    param(
        "min_count",
        Shape::Count,
        "N",
        "Minimum number of occurrences [default: sequences 3, errors 1, file-churn 5]",
    ),
    param("minutes", Shape::Number, "N", "Minimum length of a gap in minutes [default: 5]"),
    param("by", Shape::Text, "GROUP", "Group results by this field"),
    param("explain", Shape::Flag, "", "List what was counted and what was not, with the rule applied"),
    param("problems", Shape::Flag, "", "List records that could not be read, with their location"),
    param("limit", Shape::Count, "N", "Maximum number of records"),
    param("offset", Shape::Count, "N", "Skip the first N"),
    param("reverse", Shape::Flag, "", "Reverse the order: newest or last first"),
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
