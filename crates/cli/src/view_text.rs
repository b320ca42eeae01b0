//! Formats the records of views for a terminal: one or two lines each, dated, with failures highlighted. Scripts read
//! JSON lines; this text is not meant to be parsed.
//!
//! Does not know how records are computed.

use api::terminal_text::{clean, cut, may_stand, short_id};
use api::{View, ViewRequest};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write;

pub(crate) struct Text {
    view: &'static View,
    width: usize,
    colour: bool,
    /// `--fields` or a filter is set: print only the selected values.
    plain: bool,
    /// Rows of a table, printed at the end when the widths are known.
    rows: Vec<Vec<String>>,
    /// Lines printed below the table: sources without transcripts.
    below: Vec<String>,
    last_session: String,
}

/// Views that are tables: columns, and whether a column is a number.
const TABLES: &[(&str, &[(&str, bool)])] = &[
    (
        "sources",
        &[
            ("source", false),
            ("version", false),
            ("files", true),
            ("sessions", true),
            ("lines", true),
            ("bytes", true),
            ("unknown", true),
            ("bad", true),
        ],
    ),
    (
        "usage",
        &[
            ("", false),
            ("messages", true),
            ("input", true),
            ("output", true),
            ("cache_read", true),
            ("cache_write", true),
            ("cost_usd", true),
        ],
    ),
    (
        "files",
        &[
            ("reads", true),
            ("edits", true),
            ("writes", true),
            ("errors", true),
            ("sessions", true),
            ("file", false),
        ],
    ),
    (
        "file-churn",
        &[("edits", true), ("writes", true), ("sessions", true), ("last_at", false), ("file", false)],
    ),
    ("sequences", &[("count", true), ("success_rate", true), ("sessions", true), ("pattern", false)]),
    (
        "stats",
        &[
            ("", false),
            ("count", true),
            ("errors", true),
            ("error_rate", true),
            ("pending", true),
            ("sessions", true),
        ],
    ),
    (
        "idle",
        &[
            ("minutes", true),
            ("started_at", false),
            ("session_id", false),
            ("before", false),
            ("after", false),
        ],
    ),
];

impl Text {
    pub(crate) fn new(view: &'static View, request: &ViewRequest, no_colour: bool) -> Text {
        let (width, terminal) = crate::output::screen();
        Text {
            view,
            width,
            colour: terminal && !no_colour,
            plain: !request.fields.is_empty()
                || request.control().alters()
                || request.explain
                || request.problems,
            rows: Vec::new(),
            below: Vec::new(),
            last_session: String::new(),
        }
    }

    /// Takes one record as JSON. Returns false if the reader closed the pipe.
    pub(crate) fn line(&mut self, json: &[u8], to: &mut impl Write) -> bool {
        let Ok(mut record) = serde_json::from_slice::<Value>(json) else {
            // Nested too deeply to parse.
            return writeln!(to, "{}", clean(&String::from_utf8_lossy(json))).is_ok();
        };
        disarm(&mut record);
        if self.plain || !record.is_object() {
            return writeln!(to, "{}", clean(&one_line(&record))).is_ok();
        }
        if let Some(columns) = self.columns(&record) {
            self.rows.push(columns.iter().map(|(name, _)| shown(name, &record)).collect());
            return true;
        }
        let text = self.record(&record);
        if self.view.name == "sources" {
            self.below.push(text);
            return true;
        }
        text.is_empty() || writeln!(to, "{text}").is_ok()
    }

    /// Prints the collected table, if the view has one.
    pub(crate) fn finish(self, to: &mut impl Write) {
        let Some((_, columns)) = TABLES.iter().find(|(name, _)| *name == self.view.name) else { return };
        if self.rows.is_empty() {
            return;
        }
        let titles: Vec<String> = columns
            .iter()
            .map(|(name, _)| if name.is_empty() { "group" } else { name }.to_string())
            .collect();
        let widths: Vec<usize> = (0..columns.len())
            .map(|i| self.rows.iter().chain([&titles]).map(|r| r[i].chars().count()).max().unwrap_or(0))
            .collect();
        for (n, row) in [&titles].into_iter().chain(&self.rows).enumerate() {
            let cells = row.iter().zip(columns.iter()).zip(&widths).map(|((cell, (_, number)), width)| {
                if *number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            let line = clean(line.trim_end());
            let _ = writeln!(to, "{}", if n == 0 { self.paint("1", &line) } else { line });
        }
        // If nothing at all was found, the command prints where it looked.
        for line in &self.below {
            let _ = writeln!(to, "{line}");
        }
    }

    fn columns(&self, record: &Value) -> Option<&'static [(&'static str, bool)]> {
        let table = TABLES.iter().find(|(name, _)| *name == self.view.name)?.1;
        // A missing source is printed as a sentence instead of a row, and so are the overall statistics.
        (record.get("found").is_none() && record.get("tools").is_none()).then_some(table)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    fn record(&mut self, r: &Value) -> String {
        match (self.view.group, self.view.name) {
            ("query", "tools") => self.tool(r),
            ("query", "errors") => self.with_body(
                &format!(
                    "{}  {}  {}  {}",
                    when(r),
                    self.paint("31", text(r, "tool")),
                    self.paint("2", text(r, "signature")),
                    self.paint("2", &short(r))
                ),
                text(r, "message"),
                3,
            ),
            ("query", "turns") => self.turn(r),
            ("query", "sessions") => self.session(r),
            ("query", "context") => self.context(r),
            ("query", "file-access") => self.file(r),
            ("query", "messages" | "user-messages" | "assistant-messages") => self.message(r),
            ("analyze", "errors") => self.with_body(
                &format!(
                    "{:>5} ×  {}  {}  {}",
                    r["count"].to_string(),
                    self.paint("31", text(r, "tool")),
                    self.paint("2", text(r, "signature")),
                    self.paint(
                        "2",
                        &format!(
                            "in {}, last {}",
                            counted(&r["sessions"], "session"),
                            &text(r, "last_at").get(..16).unwrap_or("").replace('T', " ")
                        )
                    )
                ),
                text(r, "message"),
                2,
            ),
            (_, "stats") if r.get("tools").is_some() => self.stats(r),
            (_, "sources") => format!("{}: nothing found in {}", text(r, "source"), list(r, "looked_in")),
            _ => clean(&one_line(r)),
        }
    }

    fn tool(&self, r: &Value) -> String {
        let status = match text(r, "status") {
            "success" => self.paint("32", "ok   "),
            "error" => self.paint("31", "error"),
            _ => self.paint("33", "…    "),
        };
        let about = ["file", "error"]
            .iter()
            .map(|k| text(r, k))
            .find(|s| !s.is_empty())
            .map_or_else(|| one_line(&r["input"]), first_line);
        let head = format!("{}  {status}  {:<12} ", when(r), text(r, "tool"));
        head + &cut(&clean(&about), self.width.saturating_sub(40))
    }

    /// Formats a failure and the turns around it.
    fn context(&self, r: &Value) -> String {
        let head = format!(
            "{}  {}  {}  {}",
            when(r),
            self.paint("31", text(r, "tool")),
            self.paint("2", text(r, "signature")),
            self.paint("2", &format!("{} turn {}", short(r), r["turn"]))
        );
        let mut out = self.with_body(&head, text(r, "message"), 3);
        for part in ["before", "at", "after"] {
            for turn in r[part].as_array().into_iter().flatten() {
                let _ = write!(out, "\n  {part:<6} {}", self.around(turn));
            }
        }
        out
    }

    /// Formats one of those turns: prompt, reply and tools.
    fn around(&self, turn: &Value) -> String {
        let width = self.width.saturating_sub(20);
        let line = |key: &str| cut(&clean(&first_line(text(turn, key))), width);
        let mut out = format!("turn {}  {}", turn["turn"], self.paint("36", &line("prompt")));
        for text in [line("reply"), list(turn, "tools")] {
            if !text.is_empty() {
                let _ = write!(out, "\n           {}", cut(&clean(&text), width));
            }
        }
        out
    }

    /// Formats a file and the timeline of its accesses.
    fn file(&self, r: &Value) -> String {
        let counts = ["read", "edit", "write"].map(|word| counted(&r[format!("{word}s")], word)).join(", ");
        let failed = format!("{} failed, in {}", r["errors"], counted(&r["sessions"], "session"));
        let head = format!(
            "{}\n    {}",
            self.paint("1", &clean(text(r, "file"))),
            self.paint("2", &format!("{counts}, {failed}"))
        );
        let one = |at: &Value| {
            format!(
                "{}  {:<5}  {:<7}  {} turn {}",
                when(at),
                text(at, "action"),
                text(at, "status"),
                short(at),
                at["turn"]
            )
        };
        let touched: Vec<String> = r["timeline"].as_array().into_iter().flatten().map(one).collect();
        self.with_body(&head, &touched.join("\n"), 8)
    }

    fn message(&mut self, r: &Value) -> String {
        // A reply that only calls tools: `query tools` shows those.
        if text(r, "text").trim().is_empty() {
            return String::new();
        }
        let mut out = String::new();
        let session = text(r, "session_id").to_string();
        if session != self.last_session {
            out = format!("{}\n", self.paint("1", &format!("── {} {}", short(r), text(r, "project"))));
            self.last_session = session;
        }
        let who = format!(
            "{}  {}",
            when(r),
            self.paint(if text(r, "kind") == "prompt" { "36" } else { "2" }, text(r, "kind"))
        );
        out + &self.with_body(&who, text(r, "text"), 6)
    }

    fn turn(&self, r: &Value) -> String {
        let head = format!(
            "{}  {}  {}",
            when(r),
            self.paint("2", &format!("{} turn {}", short(r), r["turn"])),
            self.paint("36", &cut(&clean(&first_line(text(r, "prompt"))), self.width.saturating_sub(45)))
        );
        let errors = if r["errors"].as_u64().unwrap_or(0) > 0 {
            self.paint("31", &format!(", {} failed", r["errors"]))
        } else {
            String::new()
        };
        self.with_body(&format!("{head}\n    {} calls{errors}", r["tool_calls"]), text(r, "reply"), 2)
    }

    fn session(&self, r: &Value) -> String {
        let (turns, calls) = (counted(&r["turns"], "turn"), counted(&r["tool_calls"], "call"));
        let counts = format!("{turns}, {calls}, {} failed", r["errors"]);
        let started = text(r, "started_at").get(..16).unwrap_or("").replace('T', " ");
        let agent = if r.get("agent_id").is_some() { " (subagent)" } else { "" };
        format!(
            "{started}  {}  {}{agent}\n    {}",
            self.paint("2", &short(r)),
            self.paint("36", &cut(&clean(text(r, "title")), self.width.saturating_sub(40))),
            self.paint("2", &format!("{} · {} · {counts}", text(r, "source"), text(r, "project")))
        )
    }

    fn stats(&self, r: &Value) -> String {
        let mut out = format!(
            "{}, {}, {}, {} failed ({:.1} %)\nfrom {} to {}",
            counted(&r["sessions"], "session"),
            counted(&r["turns"], "turn"),
            counted(&r["tool_calls"], "tool call"),
            r["errors"],
            r["error_rate"].as_f64().unwrap_or(0.0) * 100.0,
            text(r, "started_at"),
            text(r, "ended_at")
        );
        for tool in r["tools"].as_array().into_iter().flatten() {
            let _ = write!(
                out,
                "\n{:>8}  {:<24} {}",
                tool["count"].to_string(),
                clean(text(tool, "tool")),
                if tool["errors"] == 0 {
                    String::new()
                } else {
                    self.paint("31", &format!("{} failed", tool["errors"]))
                }
            );
        }
        out
    }

    /// Formats a head line and the first lines of `body` below it, with the number of omitted lines.
    fn with_body(&self, head: &str, body: &str, lines: usize) -> String {
        let mut out = head.to_string();
        let all: Vec<&str> = body.lines().filter(|l| !l.trim().is_empty()).collect();
        for line in all.iter().take(lines) {
            let _ = write!(out, "\n    {}", cut(&clean(line), self.width.saturating_sub(5)));
        }
        if all.len() > lines {
            out += &self.paint("2", &format!("\n    … {} more lines", all.len() - lines));
        }
        out
    }
}

/// `1 turn`, `2 turns`.
fn counted(n: &Value, word: &str) -> String {
    crate::output::plural(n.as_u64().unwrap_or(0) as usize, word)
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or("")
}

fn list(record: &Value, key: &str) -> String {
    record[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// Formats a table cell. An empty name means the first field: `usage` and `stats` name it after their grouping.
fn shown(name: &str, record: &Value) -> String {
    let value =
        if name.is_empty() { record.as_object().and_then(|o| o.values().next()) } else { record.get(name) };
    match value {
        Some(Value::String(s)) if name.ends_with("_at") => s.get(..16).unwrap_or(s).replace('T', " "),
        Some(Value::String(s)) => s.clone(),
        Some(Value::Number(n)) if name.ends_with("_rate") => {
            format!("{:.1} %", n.as_f64().unwrap_or(0.0) * 100.0)
        }
        Some(Value::Number(n)) if name == "cost_usd" => cost(n.as_f64().unwrap_or(0.0), record),
        Some(Value::Number(n)) => grouped(&n.to_string()),
        _ => String::new(),
    }
}

/// Formats a cost; a lower bound if a model has no price.
fn cost(dollars: f64, record: &Value) -> String {
    match (record.get("unpriced").is_some(), dollars > 0.0) {
        (true, false) => "?".to_string(),
        (true, true) => format!("≥ {dollars:.2}"),
        _ => format!("{dollars:.2}"),
    }
}

/// Adds thousands separators: 1234567 becomes 1,234,567.
fn grouped(number: &str) -> String {
    if number.contains(['.', 'e', '-']) {
        return number.to_string();
    }
    let mut out = String::new();
    for (i, c) in number.chars().enumerate() {
        if i > 0 && (number.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn when(record: &Value) -> String {
    text(record, "timestamp").get(..16).unwrap_or("").replace('T', " ")
}

fn short(record: &Value) -> String {
    short_id(text(record, "session_id"))
}

fn first_line(text: &str) -> String {
    text.lines().find(|l| !l.trim().is_empty()).unwrap_or("").to_string()
}

fn one_line(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Object(map) if map.len() == 1 || map.contains_key("command") => {
            map.get("command").or_else(|| map.values().next()).map(one_line).unwrap_or_default()
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Removes control characters from every string of a record, except line breaks and tabs. Any string may be printed,
/// including tool names.
fn disarm(value: &mut Value) {
    match value {
        Value::String(text) => {
            text.retain(|c| matches!(c, '\n' | '\t') || may_stand(c));
        }
        Value::Array(items) => items.iter_mut().for_each(disarm),
        Value::Object(map) => map.values_mut().for_each(disarm),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_from_records() {
        let mut record = serde_json::json!({"tool": "\u{1b}[31mx\u{9b}", "list": ["a\n\u{7}b"]});
        disarm(&mut record);
        assert_eq!(record, serde_json::json!({"tool": "[31mx", "list": ["a\nb"]}));
        assert_eq!(grouped("1234567"), "1,234,567");
    }
}
