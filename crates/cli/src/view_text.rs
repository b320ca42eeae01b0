//! Formats the records of views for a terminal: one or two lines each, dated, with failures highlighted. Scripts read
//! JSON lines; this text is not meant to be parsed.
//!
//! Does not know how records are computed.

use api::terminal_text::{is_printable, short_id, strip_controls, truncate_width};
use api::{View, ViewRequest};
use record::{Clock, Stamp};
use render::format::format_money;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write;

pub(crate) struct TextFormatter {
    view: &'static View,
    width: usize,
    clock: Clock,
    colour: bool,
    /// `--fields` or a filter is set: print only the selected values.
    plain: bool,
    /// Rows of a table, printed at the end when the widths are known.
    rows: Vec<Vec<String>>,
    /// Lines printed below the table: sources without transcripts.
    footer: Vec<String>,
    /// Above those: sources that are encrypted.
    encrypted: Vec<String>,
    last_session: String,
    /// The sums of the columns of `usage`, for its last row.
    totals: Totals,
    /// A time was printed, so that the time zone has to be named.
    has_times: bool,
}

/// Missing sources that get a line each; if more are missing, one line names them all.
const MAX_MISSING_LINES: usize = 3;

/// Views that are tables: columns, and whether a column is a number.
const TABLES: &[(&str, &[(&str, bool)])] = &[
    (
        "sources",
        &[
            ("source", false),
            ("version", false),
            ("evidence", false),
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

impl TextFormatter {
    pub(crate) fn new(
        view: &'static View,
        request: &ViewRequest,
        clock: Clock,
        colour: bool,
    ) -> TextFormatter {
        TextFormatter {
            view,
            width: crate::output::stdout_size().0,
            clock,
            colour,
            plain: !request.fields.is_empty()
                || request.output_controls().alters_records()
                || request.problems,
            rows: Vec::new(),
            footer: Vec::new(),
            encrypted: Vec::new(),
            last_session: String::new(),
            totals: Totals::default(),
            has_times: false,
        }
    }

    /// Takes one record as JSON. Returns false if the reader closed the pipe.
    pub(crate) fn write_record(&mut self, json: &[u8], to: &mut impl Write) -> bool {
        let Ok(mut record) = serde_json::from_slice::<Value>(json) else {
            // Nested too deeply to parse.
            return writeln!(to, "{}", strip_controls(&String::from_utf8_lossy(json))).is_ok();
        };
        strip_control_chars(&mut record);
        if self.plain || !record.is_object() {
            return writeln!(to, "{}", strip_controls(&one_line(&record))).is_ok();
        }
        self.has_times |= localize_times(&mut record, self.clock);
        if let Some(columns) = self.table_columns(&record) {
            self.totals.add(&record);
            self.rows.push(columns.iter().map(|(name, _)| format_cell(name, &record)).collect());
            return true;
        }
        let text = self.format_record(&record);
        if self.view.name == "sources" {
            let lines = if record["found"] == true { &mut self.encrypted } else { &mut self.footer };
            lines.push(text);
            return true;
        }
        text.is_empty() || writeln!(to, "{text}").is_ok()
    }

    /// Prints the collected table, if the view has one.
    pub(crate) fn write_table(self, to: &mut impl Write) {
        let Some((_, columns)) = TABLES.iter().find(|(name, _)| *name == self.view.name) else { return };
        let encrypted = self.encrypted.join("\n");
        if self.rows.is_empty() {
            let _ = if encrypted.is_empty() { Ok(()) } else { writeln!(to, "{encrypted}") };
            return;
        }
        let total = (self.view.name == "usage" && self.rows.len() > 1).then(|| self.totals.to_record());
        let total =
            total.map(|sum| columns.iter().map(|(name, _)| format_cell(name, &sum)).collect::<Vec<_>>());
        let rows: Vec<&Vec<String>> = self.rows.iter().chain(&total).collect();
        let titles: Vec<String> = columns
            .iter()
            .map(|(name, _)| if name.is_empty() { "group" } else { name }.to_string())
            .collect();
        let widths: Vec<usize> = (0..columns.len())
            .map(|i| rows.iter().copied().chain([&titles]).map(|r| r[i].chars().count()).max().unwrap_or(0))
            .collect();
        let last = rows.len();
        for (n, row) in [&titles].into_iter().chain(rows).enumerate() {
            let cells = row.iter().zip(columns.iter()).zip(&widths).map(|((cell, (_, number)), width)| {
                if *number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            let line = strip_controls(line.trim_end());
            let bold = n == 0 || (n == last && total.is_some());
            let _ = writeln!(to, "{}", if bold { self.paint("1", &line) } else { line });
        }
        if !encrypted.is_empty() {
            let _ = writeln!(to, "{encrypted}");
        }
        // If nothing at all was found, the command prints where it looked.
        if self.footer.len() > MAX_MISSING_LINES {
            let names: Vec<&str> = self.footer.iter().filter_map(|line| line.split(':').next()).collect();
            let _ = writeln!(to, "No history from: {} (`--json` shows where Loci looked)", names.join(", "));
            return;
        }
        for line in &self.footer {
            let _ = writeln!(to, "{line}");
        }
    }

    /// The time zone of the printed times; `None` if there were none.
    pub(crate) fn zone_note(&self) -> Option<String> {
        self.has_times.then(|| format!("times in {}", self.clock.zone_name()))
    }

    fn table_columns(&self, record: &Value) -> Option<&'static [(&'static str, bool)]> {
        let table = TABLES.iter().find(|(name, _)| *name == self.view.name)?.1;
        // A missing source is printed as a sentence instead of a row, and so are the overall statistics and the rules by
        // which replies were counted.
        let is_sentence = ["found", "tools", "rule"].iter().any(|name| record.get(name).is_some());
        (!is_sentence).then_some(table)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    fn format_record(&mut self, r: &Value) -> String {
        match (self.view.group, self.view.name) {
            ("query", "tools") => self.format_call(r),
            ("query", "errors") => self.with_body(
                &format!(
                    "{}  {}  {}  {}",
                    format_timestamp(r),
                    self.paint("31", text_field(r, "tool")),
                    self.paint("2", text_field(r, "signature")),
                    self.paint("2", &short_session_id(r))
                ),
                text_field(r, "message"),
                3,
            ),
            ("query", "turns") => self.format_turn(r),
            ("query", "sessions") => self.format_session(r),
            ("query", "context") => self.format_failure_context(r),
            ("query", "file-access") => self.format_file(r),
            ("query", "messages" | "user-messages" | "assistant-messages") => self.format_message(r),
            ("analyze", "errors") => self.with_body(
                &format!(
                    "{:>5} ×  {}  {}  {}",
                    r["count"].to_string(),
                    self.paint("31", text_field(r, "tool")),
                    self.paint("2", text_field(r, "signature")),
                    self.paint(
                        "2",
                        &format!(
                            "in {}, last {}",
                            format_count_of(&r["sessions"], "session"),
                            &text_field(r, "last_at").get(..16).unwrap_or("").replace('T', " ")
                        )
                    )
                ),
                text_field(r, "message"),
                2,
            ),
            (_, "stats") if r.get("tools").is_some() => self.format_stats(r),
            (_, "usage") => self.format_counted(r),
            (_, "sources") if r["found"] == true => format!(
                "{}: encrypted, {} ({})",
                text_field(r, "source"),
                text_field(r, "note"),
                joined_field(r, "looked_in")
            ),
            (_, "sources") => {
                format!("{}: nothing found in {}", text_field(r, "source"), joined_field(r, "looked_in"))
            }
            _ => strip_controls(&one_line(r)),
        }
    }

    fn format_call(&self, r: &Value) -> String {
        let status = match text_field(r, "status") {
            "success" => self.paint("32", "ok   "),
            "error" => self.paint("31", "error"),
            _ => self.paint("33", "…    "),
        };
        let about = ["file", "error"]
            .iter()
            .map(|k| text_field(r, k))
            .find(|s| !s.is_empty())
            .map_or_else(|| one_line(&r["input"]), first_line);
        let head = format!("{}  {status}  {:<12} ", format_timestamp(r), text_field(r, "tool"));
        head + &truncate_width(&strip_controls(&about), self.width.saturating_sub(40))
    }

    /// Formats a failure and the turns around it.
    fn format_failure_context(&self, r: &Value) -> String {
        let head = format!(
            "{}  {}  {}  {}",
            format_timestamp(r),
            self.paint("31", text_field(r, "tool")),
            self.paint("2", text_field(r, "signature")),
            self.paint("2", &format!("{} turn {}", short_session_id(r), r["turn"]))
        );
        let mut out = self.with_body(&head, text_field(r, "message"), 3);
        for part in ["before", "at", "after"] {
            for turn in r[part].as_array().into_iter().flatten() {
                let _ = write!(out, "\n  {part:<6} {}", self.format_turn_summary(turn));
            }
        }
        out
    }

    /// Formats one of those turns: prompt, reply and tools.
    fn format_turn_summary(&self, turn: &Value) -> String {
        let width = self.width.saturating_sub(20);
        let line = |key: &str| truncate_width(&strip_controls(&first_line(text_field(turn, key))), width);
        let mut out = format!("turn {}  {}", turn["turn"], self.paint("36", &line("prompt")));
        for text in [line("reply"), joined_field(turn, "tools")] {
            if !text.is_empty() {
                let _ = write!(out, "\n           {}", truncate_width(&strip_controls(&text), width));
            }
        }
        out
    }

    /// Formats a file and the timeline of its accesses.
    fn format_file(&self, r: &Value) -> String {
        let counts =
            ["read", "edit", "write"].map(|word| format_count_of(&r[format!("{word}s")], word)).join(", ");
        let failed = format!("{} failed, in {}", r["errors"], format_count_of(&r["sessions"], "session"));
        let head = format!(
            "{}\n    {}",
            self.paint("1", &strip_controls(text_field(r, "file"))),
            self.paint("2", &format!("{counts}, {failed}"))
        );
        let one = |at: &Value| {
            format!(
                "{}  {:<5}  {:<7}  {} turn {}",
                format_timestamp(at),
                text_field(at, "action"),
                text_field(at, "status"),
                short_session_id(at),
                at["turn"]
            )
        };
        let touched: Vec<String> = r["timeline"].as_array().into_iter().flatten().map(one).collect();
        self.with_body(&head, &touched.join("\n"), 8)
    }

    fn format_message(&mut self, r: &Value) -> String {
        let mut out = String::new();
        let session = text_field(r, "session_id").to_string();
        if session != self.last_session {
            out = format!(
                "{}\n",
                self.paint("1", &format!("── {} {}", short_session_id(r), text_field(r, "project")))
            );
            self.last_session = session;
        }
        let who = format!(
            "{}  {}",
            format_timestamp(r),
            self.paint(if text_field(r, "kind") == "prompt" { "36" } else { "2" }, text_field(r, "kind"))
        );
        // A reply that only calls tools: `query tools` shows those.
        let text = Some(text_field(r, "text")).filter(|text| !text.trim().is_empty());
        let calls = || format!("({})", format_count_of(&r["tool_calls"], "tool call"));
        out + &self.with_body(&who, &text.map_or_else(calls, str::to_string), 6)
    }

    fn format_turn(&self, r: &Value) -> String {
        let head = format!(
            "{}  {}  {}",
            format_timestamp(r),
            self.paint("2", &format!("{} turn {}", short_session_id(r), r["turn"])),
            self.paint(
                "36",
                &truncate_width(
                    &strip_controls(&first_line(text_field(r, "prompt"))),
                    self.width.saturating_sub(45)
                )
            )
        );
        let errors = if r["errors"].as_u64().unwrap_or(0) > 0 {
            self.paint("31", &format!(", {} failed", r["errors"]))
        } else {
            String::new()
        };
        self.with_body(
            &format!("{head}\n    {}{errors}", format_count_of(&r["tool_calls"], "call")),
            text_field(r, "reply"),
            2,
        )
    }

    fn format_session(&self, r: &Value) -> String {
        let (turns, calls) =
            (format_count_of(&r["turns"], "turn"), format_count_of(&r["tool_calls"], "call"));
        let counts = format!("{turns}, {calls}, {} failed", r["errors"]);
        let started = text_field(r, "started_at").get(..16).unwrap_or("").replace('T', " ");
        let agent = if r.get("agent_id").is_some() { " (subagent)" } else { "" };
        format!(
            "{started}  {}  {}{agent}\n    {}",
            self.paint("2", &short_session_id(r)),
            self.paint(
                "36",
                &truncate_width(&strip_controls(text_field(r, "title")), self.width.saturating_sub(40))
            ),
            self.paint(
                "2",
                &format!("{} · {} · {counts}", text_field(r, "source"), text_field(r, "project"))
            )
        )
    }

    fn format_stats(&self, r: &Value) -> String {
        let mut out = format!(
            "{}, {}, {}, {} failed ({:.1} %)\nfrom {} to {}",
            format_count_of(&r["sessions"], "session"),
            format_count_of(&r["turns"], "turn"),
            format_count_of(&r["tool_calls"], "tool call"),
            r["errors"],
            r["error_rate"].as_f64().unwrap_or(0.0) * 100.0,
            text_field(r, "started_at"),
            text_field(r, "ended_at")
        );
        for tool in r["tools"].as_array().into_iter().flatten() {
            let _ = write!(
                out,
                "\n{:>8}  {:<24} {}",
                tool["count"].to_string(),
                strip_controls(text_field(tool, "tool")),
                if tool["errors"] == 0 {
                    String::new()
                } else {
                    self.paint("31", &format!("{} failed", tool["errors"]))
                }
            );
        }
        out
    }

    /// Formats a reply with the rule by which it was counted, or a rule with its totals.
    fn format_counted(&self, r: &Value) -> String {
        let rule = format!("{:<14}", text_field(r, "rule"));
        let rule = if r["counted"] == true { rule } else { self.paint("2", &rule) };
        if r.get("meaning").is_none() {
            let model = text_field(r, "model");
            return format!("{}  {rule}  {}  {model}", format_timestamp(r), short_session_id(r));
        }
        let number = ["messages", "lines"].iter().find_map(|name| r[*name].as_u64()).unwrap_or(0);
        let counted = if r["counted"] == true { "counted" } else { "not counted" };
        format!("{rule} {:>9}  {counted}: {}", group_thousands(&number.to_string()), text_field(r, "meaning"))
    }

    /// Formats a head line and the first lines of `body` below it, with the number of omitted lines.
    fn with_body(&self, head: &str, body: &str, lines: usize) -> String {
        let mut out = head.to_string();
        let all: Vec<&str> = body.lines().filter(|l| !l.trim().is_empty()).collect();
        for line in all.iter().take(lines) {
            let _ =
                write!(out, "\n    {}", truncate_width(&strip_controls(line), self.width.saturating_sub(5)));
        }
        if all.len() > lines {
            let more = crate::output::format_count(all.len() - lines, "more line");
            out += &self.paint("2", &format!("\n    … {more}"));
        }
        out
    }
}

/// Sums of the numbers of a table.
#[derive(Default)]
struct Totals {
    sums: serde_json::Map<String, Value>,
}

impl Totals {
    fn add(&mut self, record: &Value) {
        for (name, value) in record.as_object().into_iter().flatten() {
            if let Some(number) = value.as_f64() {
                let before = self.sums.get(name).and_then(Value::as_f64).unwrap_or(0.0);
                self.sums.insert(name.clone(), sum_to_value(before + number, value.is_f64()));
            }
        }
    }

    /// The sums as a record whose first field says what it is.
    fn to_record(&self) -> Value {
        let mut all = serde_json::Map::new();
        all.insert("group".to_owned(), Value::from("total"));
        all.extend(self.sums.clone());
        Value::Object(all)
    }
}

fn sum_to_value(sum: f64, is_float: bool) -> Value {
    if is_float { Value::from(sum) } else { Value::from(sum as u64) }
}

/// Writes the times of a record as the user's clock shows them; returns whether there are any.
fn localize_times(value: &mut Value, clock: Clock) -> bool {
    let Some(fields) = value.as_object_mut() else { return false };
    let mut any = false;
    for (name, value) in fields.iter_mut() {
        match value {
            Value::String(text) if name == "timestamp" || name.ends_with("_at") => {
                let at = Stamp::parse(text.as_bytes());
                if let Some(local) = at.is_some().then(|| clock.local_minute(at)).flatten() {
                    *text = local;
                    any = true;
                }
            }
            Value::Array(items) => {
                any |= items.iter_mut().fold(false, |any, item| localize_times(item, clock) | any);
            }
            _ => {}
        }
    }
    any
}

/// `1 turn`, `2 turns`.
fn format_count_of(n: &Value, word: &str) -> String {
    crate::output::format_count(n.as_u64().unwrap_or(0) as usize, word)
}

fn text_field<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or("")
}

fn joined_field(record: &Value, key: &str) -> String {
    record[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// Formats a table cell. An empty name means the first field: `usage` and `format_stats` name it after their grouping.
fn format_cell(name: &str, record: &Value) -> String {
    let value =
        if name.is_empty() { record.as_object().and_then(|o| o.values().next()) } else { record.get(name) };
    match value {
        Some(Value::String(id)) if name.is_empty() && record.get("session").is_some() => short_id(id),
        Some(Value::String(s)) if name.ends_with("_at") => s.get(..16).unwrap_or(s).replace('T', " "),
        Some(Value::String(s)) => s.clone(),
        Some(Value::Number(n)) if name.ends_with("_rate") => {
            format!("{:.1} %", n.as_f64().unwrap_or(0.0) * 100.0)
        }
        Some(Value::Number(n)) if name == "cost_usd" => {
            format_money(n.as_f64().unwrap_or(0.0), record["unpriced"].as_u64().unwrap_or(0))
        }
        Some(Value::Number(n)) => group_thousands(&n.to_string()),
        _ => String::new(),
    }
}

/// Adds thousands separators: 1234567 becomes 1,234,567.
fn group_thousands(number: &str) -> String {
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

fn format_timestamp(record: &Value) -> String {
    text_field(record, "timestamp").get(..16).unwrap_or("").replace('T', " ")
}

fn short_session_id(record: &Value) -> String {
    short_id(text_field(record, "session_id"))
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
fn strip_control_chars(value: &mut Value) {
    match value {
        Value::String(text) => {
            text.retain(|c| matches!(c, '\n' | '\t') || is_printable(c));
        }
        Value::Array(items) => items.iter_mut().for_each(strip_control_chars),
        Value::Object(map) => map.values_mut().for_each(strip_control_chars),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_from_records() {
        let mut record = serde_json::json!({"tool": "\u{1b}[31mx\u{9b}", "list": ["a\n\u{7}b"]});
        strip_control_chars(&mut record);
        assert_eq!(record, serde_json::json!({"tool": "[31mx", "list": ["a\nb"]}));
        assert_eq!(group_thousands("1234567"), "1,234,567");
    }
}
