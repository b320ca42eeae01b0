//! The table of views over the history: description, parameters, fields and order of the records.

pub struct View {
    /// `query`, `analyze`, or empty for a top-level command.
    pub group: &'static str,
    pub name: &'static str,
    pub about: &'static str,
    pub order: &'static str,
    pub fields: &'static [&'static str],
    /// Parameters beyond `SCOPE` and `FORM`.
    pub own: &'static [&'static str],
    pub by: &'static [&'static str],
    /// The fields that `stats_only` counts by; if empty, numeric fields are summed.
    pub stats: &'static [&'static str],
    pub example: &'static str,
}

/// Parameters that limit a view to part of the history.
pub const SCOPE: &[&str] = &["session", "project", "all_projects", "source", "since", "until"];
/// Parameters that select the form and number of records.
pub const FORM: &[&str] = &[
    "limit",
    "offset",
    "reverse",
    "fields",
    "jq_filter",
    "slurp",
    "stats_only",
    "stats_first",
    "inline_threshold_bytes",
];

impl View {
    pub fn accepts_param(&self, param: &str) -> bool {
        self.params().any(|p| p == param)
    }

    pub fn params(&self) -> impl Iterator<Item = &'static str> {
        let scope: &[&str] = if self.name == "sources" { &["source"] } else { SCOPE };
        let by: &[&str] = if self.by.is_empty() { &[] } else { &["by"] };
        scope.iter().chain(FORM).chain(self.own).chain(by).copied()
    }

    /// The command without `loci`.
    pub fn title(&self) -> String {
        format!("{} {}", self.group, self.name).trim().to_string()
    }

    /// The name used in the file names of saved results.
    pub fn file_stem(&self) -> String {
        self.title().replace([' ', '-'], "_")
    }
}

/// The view with this name in this group.
pub fn view_named(group: &str, name: &str) -> Option<&'static View> {
    VIEWS.iter().find(|view| view.group == group && view.name == name)
}

const TOOL: &[&str] = &[
    "session_id",
    "source",
    "project",
    "agent_id",
    "turn",
    "sequence",
    "id",
    "tool",
    "input",
    "output",
    "status",
    "error",
    "error_signature",
    "timestamp",
    "duration_ms",
    "exit_code",
    "file",
    "mcp_server",
    "abandoned",
];
const MESSAGE: &[&str] = &[
    "session_id",
    "source",
    "project",
    "agent_id",
    "turn",
    "sequence",
    "id",
    "parent_id",
    "role",
    "kind",
    "timestamp",
    "text",
    "model",
    "tokens",
    "tool_calls",
    "abandoned",
];
const BY_SESSION: &str = "newest first: session start time, then turn, then sequence";
const BY_TIME: &str = "newest first: timestamp, then ID";

pub const VIEWS: &[View] = &[
    View {
        group: "query",
        name: "tools",
        about: "List tool calls with input, output and status",
        order: BY_TIME,
        fields: TOOL,
        own: &["pattern", "tool", "status"],
        by: &[],
        stats: &["tool", "status"],
        example: "loci query tools --status error --since 7d --fields timestamp,tool,error",
    },
    View {
        group: "query",
        name: "errors",
        about: "List errors of tool calls and model providers",
        order: BY_TIME,
        fields: &[
            "timestamp",
            "session_id",
            "source",
            "project",
            "agent_id",
            "turn",
            "sequence",
            "id",
            "tool",
            "signature",
            "message",
            "exit_code",
            "file",
            "input",
            "abandoned",
        ],
        own: &["pattern", "tool", "signature"],
        by: &[],
        stats: &["signature"],
        example: "loci query errors --all-projects --since 7d",
    },
    View {
        group: "query",
        name: "messages",
        about: "List messages with role and kind",
        order: BY_SESSION,
        fields: MESSAGE,
        own: &["pattern"],
        by: &[],
        stats: &["role", "kind"],
        example: "loci query messages --session 975e66ab --fields role,kind,text",
    },
    View {
        group: "query",
        name: "user-messages",
        about: "List prompts typed by users, without injected ones",
        order: BY_SESSION,
        fields: MESSAGE,
        own: &["pattern"],
        by: &[],
        stats: &["session_id"],
        example: "loci query user-messages --pattern 'socket|daemon' --all-projects",
    },
    View {
        group: "query",
        name: "assistant-messages",
        about: "List agents' replies",
        order: BY_SESSION,
        fields: MESSAGE,
        own: &["pattern"],
        by: &[],
        stats: &["session_id"],
        example: "loci query assistant-messages --pattern '(?i)decision' --limit 5",
    },
    View {
        group: "query",
        name: "turns",
        about: "List turns: prompt, tool calls and reply",
        order: BY_SESSION,
        fields: &[
            "session_id",
            "source",
            "project",
            "agent_id",
            "turn",
            "timestamp",
            "ended_at",
            "duration_ms",
            "prompt",
            "reply",
            "messages",
            "tool_calls",
            "errors",
            "tools",
            "tokens",
            "abandoned",
        ],
        own: &["pattern"],
        by: &[],
        stats: &["session_id"],
        example: "loci query turns --since today",
    },
    View {
        group: "query",
        name: "context",
        about: "Show the turns around each occurrence of an error",
        order: BY_SESSION,
        fields: &[
            "signature",
            "session_id",
            "source",
            "project",
            "turn",
            "timestamp",
            "tool",
            "message",
            "before",
            "at",
            "after",
        ],
        own: &["signature", "window", "pattern", "tool"],
        by: &[],
        stats: &["signature"],
        example: "loci query context --signature Bash-33b41987 --window 2",
    },
    View {
        group: "query",
        name: "file-access",
        about: "List files with their reads, edits and writes over time",
        order: "file",
        fields: &[
            "file", "reads", "edits", "writes", "errors", "total", "sessions", "first_at", "last_at",
            "timeline",
        ],
        own: &["file"],
        by: &[],
        stats: &[],
        example: "loci query file-access --file src/main.rs",
    },
    View {
        group: "query",
        name: "sessions",
        about: "List sessions with title, times and counts",
        order: "newest first: start time, then ID",
        fields: &[
            "session_id",
            "source",
            "project",
            "cwd",
            "git_branch",
            "title",
            "title_origin",
            "started_at",
            "ended_at",
            "turns",
            "tool_calls",
            "errors",
            "models",
            "parent_session_id",
            "agent_id",
            "version",
        ],
        own: &["pattern"],
        by: &[],
        stats: &["source", "project"],
        example: "loci query sessions --all-projects --limit 5",
    },
    View {
        group: "query",
        name: "files",
        about: "List files by number of accesses",
        order: "most accessed first, then file",
        fields: &["file", "reads", "edits", "writes", "errors", "total", "sessions", "first_at", "last_at"],
        own: &["pattern"],
        by: &[],
        stats: &[],
        example: "loci query files --since 30d --limit 20",
    },
    View {
        group: "query",
        name: "edits",
        about: "List edits: file, symbols with change class, what became of the text, next check and commit",
        order: BY_TIME,
        fields: &[
            "timestamp",
            "session_id",
            "source",
            "project",
            "agent_id",
            "turn",
            "id",
            "tool",
            "file",
            "symbols",
            "lines_added",
            "lines_removed",
            "status",
            "outcome",
            "commit",
        ],
        own: &["pattern", "tool", "file"],
        by: &[],
        stats: &["status", "file"],
        example: "loci query edits --since 7d --fields timestamp,file,symbols,status,outcome",
    },
    View {
        group: "analyze",
        name: "sequences",
        about: "Find recurring sequences of two to five tool calls",
        order: "most frequent first, then longest, then pattern",
        fields: &[
            "pattern",
            "length",
            "count",
            "success_rate",
            "sessions",
            "occurrences",
            "occurrences_listed",
        ],
        own: &["pattern", "min_count"],
        by: &[],
        stats: &[],
        example: "loci analyze sequences --pattern 'Read -> Edit' --min-count 1",
    },
    View {
        group: "analyze",
        name: "errors",
        about: "Group errors across sessions by signature (tool and normalized message)",
        order: "most frequent first, then signature",
        fields: &["signature", "tool", "count", "sessions", "first_at", "last_at", "pattern", "message"],
        own: &["pattern", "tool", "min_count"],
        by: &[],
        stats: &["tool"],
        example: "loci analyze errors --all-projects --since 30d",
    },
    View {
        group: "analyze",
        name: "file-churn",
        about: "List the most frequently changed files",
        order: "most changed first, then file",
        fields: &["file", "reads", "edits", "writes", "errors", "total", "sessions", "first_at", "last_at"],
        own: &["min_count"],
        by: &[],
        stats: &[],
        example: "loci analyze file-churn --min-count 10",
    },
    View {
        group: "analyze",
        name: "rework",
        about: "Find blind edits, edits taken back, repeated reads, and checks that an edit broke",
        order: BY_TIME,
        fields: &[
            "timestamp",
            "session_id",
            "source",
            "project",
            "turn",
            "kind",
            "id",
            "file",
            "earlier_id",
            "command",
            "mended_by",
            "bytes",
        ],
        own: &["file"],
        by: &[],
        stats: &["kind"],
        example: "loci analyze rework --since 30d --stats-only",
    },
    View {
        group: "analyze",
        name: "idle",
        about: "List idle gaps: long pauses between the messages of a session",
        order: BY_SESSION,
        fields: &["session_id", "started_at", "ended_at", "minutes", "turn", "before", "after"],
        own: &["minutes"],
        by: &[],
        stats: &["session_id"],
        example: "loci analyze idle --minutes 15 --since today",
    },
    View {
        group: "",
        name: "stats",
        about: "Count sessions, turns, tool calls and errors",
        order: "one record; with --by: most tool calls first, then name; days (local time) newest first",
        fields: &[
            "sessions",
            "turns",
            "messages",
            "tool_calls",
            "errors",
            "error_rate",
            "started_at",
            "ended_at",
            "tools",
            "tool",
            "day",
            "session",
            "project",
            "source",
            "status",
            "count",
            "success",
            "pending",
            "unknown",
        ],
        own: &["tool", "status"],
        by: &["tool", "day", "session", "project", "source", "status"],
        stats: &[],
        example: "loci stats --by tool --since 7d",
    },
    View {
        group: "",
        name: "usage",
        about: "Show token usage and cost (`--explain` shows how each figure is counted)",
        order: "days (the default), weeks and months newest first, in local time, other groups by name; with --explain: replies, newest first, then totals by rule",
        fields: &[
            "day",
            "week",
            "month",
            "session",
            "model",
            "project",
            "source",
            "total",
            "messages",
            "input",
            "output",
            "cache_read",
            "cache_write",
            "cost_usd",
            "unpriced",
            "rule",
            "counted",
            "lines",
            "meaning",
            "timestamp",
            "session_id",
            "id",
        ],
        own: &["explain"],
        by: &["day", "week", "month", "session", "model", "project", "source", "total"],
        stats: &[],
        example: "loci usage --by model --since 30d",
    },
    View {
        group: "",
        name: "sources",
        about: "List agents found on this machine, and how much of their transcripts Loci understands",
        order: "source, then version",
        fields: &[
            "source",
            "version",
            "evidence",
            "files",
            "sessions",
            "bytes",
            "lines",
            "understood",
            "ignored",
            "blank",
            "unfinished",
            "unknown",
            "bad",
            "salvaged",
            "lossy_utf8",
            "unknown_types",
            "unknown_fields",
            "looked_in",
            "found",
            "problem",
            "file",
            "offset",
            "note",
        ],
        own: &["problems"],
        by: &[],
        stats: &[],
        example: "loci sources",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ViewRequest;

    #[test]
    fn every_view_takes_known_parameters_and_every_parameter_is_taken() {
        for view in VIEWS {
            for name in view.params() {
                assert!(ViewRequest::param_named(name).is_some(), "{}: {name}", view.title());
            }
        }
        let used = |name: &str| VIEWS.iter().any(|v| v.accepts_param(name));
        assert!(ViewRequest::PARAMS.iter().all(|p| used(p.name)));
    }

    #[test]
    fn a_view_rejects_unknown_parameters() {
        let view = view_named("query", "tools").unwrap();
        for params in [
            r#"{"signature":"x"}"#,
            r#"{"nope":1}"#,
            r#"{"limit":"x"}"#,
            r#"{"fields":["nope"]}"#,
            r#"{"status":"bad"}"#,
        ] {
            let params = serde_json::from_str(params).unwrap();
            assert_eq!(ViewRequest::new(view, &params).unwrap_err().code, crate::Code::InvalidArgument);
        }
    }
}
