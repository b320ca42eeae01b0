//! The parameters of the views: name, shape and meaning.
//!
//! Does not know which view takes which: see [`crate::views`].

use crate::control;
use crate::params::{Param, Shape, param};

pub const PARAMS: &[Param] = &[
    param("session", Shape::Text, "ID", "Only this session, by session ID, ID prefix or subagent ID"),
    param(
        "project",
        Shape::Text,
        "PROJECT",
        "Only sessions of this project, by path, name or git remote [default: the enclosing git repository, or the current \
         directory]",
    ),
    param("all_projects", Shape::Flag, "", "Include sessions of all projects"),
    param(
        "source",
        Shape::List,
        "NAME",
        "Only these agents, comma-separated: claude-code, codex, opencode, … (`loci sources` lists all)",
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
        "Only records matching this regex; for sessions: the title; for files: the path; for sequences: \
         exact tool names, as in `Read -> Edit`",
    ),
    param("tool", Shape::List, "NAME", "Only these tools; separate names with commas"),
    param("status", Shape::Text, "STATUS", "Only success, error, pending or unknown"),
    param("signature", Shape::Text, "NAME", "Only this error signature; `loci analyze errors` prints them"),
    param("window", Shape::Count, "N", "Turns to show before and after each error [default: 3]"),
    param("file", Shape::Text, "PATH", "Only this file, by path or path suffix"),
    param(
        "min_count",
        Shape::Count,
        "N",
        "Minimum number of occurrences [default: 3 for sequences, 1 for errors, 5 for file-churn]",
    ),
    param("minutes", Shape::Number, "N", "Minimum length of a gap in minutes [default: 5]"),
    param("by", Shape::Text, "GROUP", "Group results by this field"),
    param("explain", Shape::Flag, "", "List what was counted and what was not, and by which rule"),
    param("problems", Shape::Flag, "", "List records that could not be read, with their location"),
    param("limit", Shape::Count, "N", "Maximum number of records [default: all]"),
    param("offset", Shape::Count, "N", "Skip the first N"),
    param("reverse", Shape::Flag, "", "Reverse the order: lists by time oldest first"),
    param("fields", Shape::List, "NAMES", "Only these fields, in this order, comma-separated"),
    control::JQ_FILTER,
    control::SLURP,
    control::STATS_ONLY,
    control::STATS_FIRST,
    control::INLINE_THRESHOLD,
];

pub fn param_named(name: &str) -> Option<&'static Param> {
    PARAMS.iter().find(|p| p.name == name)
}
