//! Whole sessions as text: role, time and content of each message, one line per tool call.
//!
//! Does not truncate prompts and replies; of messages injected by the client only the first lines are shown.

use crate::Render;
use crate::format::count_of;
use crate::markdown;
use crate::options::{RenderOptions, Style};
use crate::search::{render_device, render_resume};
use api::gather_chats::{
    Chat, ChatMessage, Gathered, NarrativeEntry, OneChat, SeveralChats, SharedMessage, ToolCall, ToolResult,
};
use api::resume::missing_note;
use api::terminal_text::{append_fmt, one_line, short_id, strip_controls, truncate_width};
use serde_json::Value;

impl Render for Gathered {
    fn render(&self, options: &RenderOptions) -> String {
        match self {
            Gathered::One(one) => one.render(options),
            Gathered::Several(several) => several.render(options),
        }
    }
}

impl Render for OneChat {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_header(&self.chat, "", options);
        let mut before = None;
        for message in &self.messages {
            out += &render_message(message, before, "", options);
            before = Some(message);
        }
        out + &render_notes(&self.notes, options)
    }
}

impl Render for SeveralChats {
    fn render(&self, options: &RenderOptions) -> String {
        let label = |n: usize| format!("[{}] ", n + 1);
        let mut out: String =
            self.meta.iter().map(|meta| render_header(&meta.chat, &label(meta.chat_idx), options)).collect();
        let mut before: Option<&NarrativeEntry> = None;
        for entry in &self.narrative {
            let same = before.filter(|last| last.chat_idx == entry.chat_idx).map(|last| &last.message);
            out += &render_message(&entry.message, same, &label(entry.chat_idx), options);
            before = Some(entry);
        }
        if !self.common_alignment.is_empty() {
            append_fmt(&mut out, format_args!("\n{}\n", options.paint(Style::Bold, "In several sessions:")));
            out.extend(self.common_alignment.iter().map(|shared| render_shared(shared, options)));
        }
        out + &render_notes(&self.notes, options)
    }
}

fn render_header(chat: &Chat, label: &str, options: &RenderOptions) -> String {
    let title = one_line(&chat.title);
    let title = if title.is_empty() { "(no title)" } else { &title };
    let facts = [
        options.format_when(chat.time_range.from),
        one_line(&chat.source),
        render_device(chat.device.as_deref()),
        chat.project.as_deref().map_or(String::new(), |path| options.display_path(path)),
        count_of(chat.message_count, "message"),
        one_line(&chat.id),
    ];
    let mut out = format!(
        "{}\n  {}\n",
        options.paint(Style::Bold, &format!("{label}{title}")),
        options.join_facts(&facts)
    );
    if !chat.subagents.is_empty() {
        let ids: Vec<String> = chat.subagents.iter().map(|id| one_line(id)).collect();
        let line = format!("subagent sessions: {}", ids.join(", "));
        append_fmt(&mut out, format_args!("  {}\n", options.paint(Style::Dim, &line)));
    }
    let missing = missing_note(&short_id(&chat.id), chat.archived, chat.device.as_deref());
    out + &render_resume(chat.resume.as_deref(), missing, options)
}

/// The number of lines shown of an injected message.
const INJECTED_LINES: usize = 3;

/// A message below the previous one. A reply that only calls tools continues the previous reply.
fn render_message(
    message: &ChatMessage,
    before: Option<&ChatMessage>,
    label: &str,
    options: &RenderOptions,
) -> String {
    let goes_on = message.content.is_empty() && before.is_some_and(|last| last.role == message.role);
    let mut out = if goes_on { String::new() } else { render_speaker(message, label, options) };
    let lines: Vec<&str> = message.content.lines().collect();
    let shown = if message.kind.is_some() { lines.len().min(INJECTED_LINES) } else { lines.len() };
    out += &markdown::render_lines(&lines[..shown], options);
    if shown < lines.len() {
        let more = format!("… {} (--json shows all)", count_of((lines.len() - shown) as u64, "more line"));
        append_fmt(&mut out, format_args!("  {}\n", options.paint(Style::Dim, &more)));
    }
    if let Some(tools) = &message.tools {
        // A call without a result is pending; the others have theirs in the same order.
        let mut results = tools.results.iter();
        for call in &tools.calls {
            append_fmt(&mut out, format_args!("  {}\n", render_call(call, options)));
            let result = if call.status.as_deref() == Some("pending") { None } else { results.next() };
            out += &result
                .filter(|_| call.status.is_some())
                .map_or(String::new(), |it| render_failure(it, options));
        }
    }
    out
}

fn render_speaker(message: &ChatMessage, label: &str, options: &RenderOptions) -> String {
    let ink = if message.kind.is_none() { Style::Role } else { Style::Dim };
    let who = one_line(&format!("{label}{}", message.kind.as_deref().unwrap_or(&message.role)));
    format!(
        "\n{}  {}\n",
        options.paint(ink, &who),
        options.paint(Style::Dim, &options.format_date(message.created_at))
    )
}

fn render_call(call: &ToolCall, options: &RenderOptions) -> String {
    let server = if call.server.is_empty() { String::new() } else { format!("{}: ", call.server) };
    let line = format!("· {server}{} {}", call.tool, summarize_args(&call.args));
    let line = truncate_width(one_line(&line).trim_end(), options.width.saturating_sub(14).max(20));
    match call.status.as_deref() {
        Some("pending") => options.paint(Style::Dim, &format!("{line}  (no result)")),
        Some(status) => {
            format!("{}  {}", options.paint(Style::Dim, &line), options.paint(Style::Bad, status))
        }
        None => options.paint(Style::Dim, &line),
    }
}

/// The number of lines shown of what a failed call returned.
const FAILURE_LINES: usize = 4;

fn render_failure(result: &ToolResult, options: &RenderOptions) -> String {
    let text = match result {
        ToolResult::Text(text) => text.clone(),
        ToolResult::Json(value) => value.to_string(),
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut out = String::new();
    for line in lines.iter().take(FAILURE_LINES) {
        let line = truncate_width(&strip_controls(line), options.width.saturating_sub(8).max(20));
        append_fmt(&mut out, format_args!("      {}\n", options.paint(Style::Bad, line.trim_end())));
    }
    if lines.len() > FAILURE_LINES {
        let more = format!("… {}", count_of((lines.len() - FAILURE_LINES) as u64, "more line"));
        append_fmt(&mut out, format_args!("      {}\n", options.paint(Style::Dim, &more)));
    }
    out
}

/// Arguments to show for a call, most informative first.
const INFORMATIVE_ARGS: &[&str] = &[
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
];

pub(crate) fn summarize_args(args: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    INFORMATIVE_ARGS.iter().find_map(|name| args.get(name)).map_or_else(|| text(args), text)
}

fn render_shared(shared: &SharedMessage, options: &RenderOptions) -> String {
    let places: Vec<String> = shared.refs.iter().map(|at| format!("[{}]", at.chat_idx + 1)).collect();
    let width = options.width.saturating_sub(24).max(20);
    let line = truncate_width(&one_line(&shared.content), width);
    format!("  {}  {line}  {}\n", shared.role, options.paint(Style::Dim, &places.join(" ")))
}

fn render_notes(notes: &[String], options: &RenderOptions) -> String {
    let line =
        |note: &String| format!("{}\n", options.paint(Style::Dim, &format!("note: {}", one_line(note))));
    let lines: String = notes.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::gather_chats::Tools;
    use api::search::TimeRange;
    use record::{Clock, Stamp};
    use serde_json::json;

    #[test]
    fn a_session_is_rendered_in_order() {
        let at = Stamp::parse(b"2026-11-14T10:00:00Z").0;
        let call = |tool: &str, args: Value, status: Option<&str>| ToolCall {
            server: String::new(),
            tool: tool.into(),
            args,
            status: status.map(String::from),
        };
        let message = |role: &str, kind: Option<&str>, content: &str, calls: Vec<ToolCall>| ChatMessage {
            message_id: "m".into(),
            created_at: Some(at),
            role: role.into(),
            content: content.into(),
            kind: kind.map(String::from),
            tools: (!calls.is_empty()).then(|| Tools { calls, results: vec![ToolResult::Text("x".into())] }),
        };
        let chat = OneChat {
            chat: Chat {
                id: "aaaa1111-2222".into(),
                title: "Fix it".into(),
                message_count: 3,
                time_range: TimeRange { from: Some(at), to: Some(at) },
                source: "codex".into(),
                project: Some("/home/ada/loci".into()),
                resume: Some("codex resume aaaa1111-2222".into()),
                archived: false,
                device: None,
                subagents: vec!["ace01".into()],
            },
            messages: vec![
                message("user", Some("context"), "1\n2\n3\n4\n5", vec![]),
                message("user", None, "Fix\x1b it\n\nplease", vec![]),
                message(
                    "assistant",
                    None,
                    "Done.",
                    vec![
                        call("Bash", json!({"command": "cargo test\n--all"}), Some("error")),
                        call("shell", json!({"command": ["ls", "-a"]}), Some("pending")),
                        call("Read", json!({"file_path": "/x/y.rs", "limit": 3}), None),
                    ],
                ),
                message("assistant", None, "", vec![call("odd", json!({"n": 1}), None)]),
            ],
            partial: false,
            notes: vec!["a note".into()],
        };
        let options = RenderOptions::plain(Clock::At(Stamp(at + 7_200_000)), "/home/ada");
        let text = Gathered::One(Box::new(chat)).render(&options);
        let expected = "Fix it
  2 hours ago, 14 Nov 10:00 · codex · ~/loci · 3 messages · aaaa1111-2222
  subagent sessions: ace01
  resume: codex resume aaaa1111-2222

context  14 Nov 10:00
  1
  2
  3
  … 2 more lines (--json shows all)

user  14 Nov 10:00
  Fix it

  please

assistant  14 Nov 10:00
  Done.
  · Bash cargo test --all  error
      x
  · shell ls -a  (no result)
  · Read /x/y.rs
  · odd {\"n\":1}

note: a note
";
        assert_eq!(text.replace("  \n", "\n"), expected);
    }
}
