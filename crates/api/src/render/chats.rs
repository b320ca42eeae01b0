//! Whole conversations as transcripts: who said what and when, each call of a tool on one line.
//!
//! Does not shorten what a person or an agent said; what a client said in their name is shown by its first lines.

use super::search::resume;
use super::{Ink, Look, Render, plural};
use crate::chats::{Chat, ChatMessage, Gathered, OneChat, SeveralChats, Shared, Told, ToolCall};
use crate::plain::{clean, cut, one_line, put};
use serde_json::Value;

impl Render for Gathered {
    fn render(&self, look: &Look) -> String {
        match self {
            Gathered::One(one) => one.render(look),
            Gathered::Several(several) => several.render(look),
        }
    }
}

impl Render for OneChat {
    fn render(&self, look: &Look) -> String {
        let mut out = head(&self.chat, "", look);
        let mut before = None;
        for message in &self.messages {
            out += &said(message, before, "", look);
            before = Some(message);
        }
        out + &notes(&self.notes, look)
    }
}

impl Render for SeveralChats {
    fn render(&self, look: &Look) -> String {
        let label = |n: usize| format!("[{}] ", n + 1);
        let mut out: String =
            self.meta.iter().map(|meta| head(&meta.chat, &label(meta.chat_idx), look)).collect();
        let mut before: Option<&Told> = None;
        for told in &self.narrative {
            let same = before.filter(|last| last.chat_idx == told.chat_idx).map(|last| &last.message);
            out += &said(&told.message, same, &label(told.chat_idx), look);
            before = Some(told);
        }
        if !self.common_alignment.is_empty() {
            put(&mut out, format_args!("\n{}\n", look.paint(Ink::Bold, "Said in several of them:")));
            out.extend(self.common_alignment.iter().map(|shared| common(shared, look)));
        }
        out + &notes(&self.notes, look)
    }
}

fn head(chat: &Chat, label: &str, look: &Look) -> String {
    let title = one_line(&chat.title);
    let title = if title.is_empty() { "(no title)" } else { &title };
    let facts = [
        look.when(chat.time_range.from),
        one_line(&chat.source),
        chat.project.as_deref().map_or(String::new(), |path| look.path(path)),
        plural(chat.message_count, "message"),
        one_line(&chat.id),
    ];
    let mut out =
        format!("{}\n  {}\n", look.paint(Ink::Bold, &format!("{label}{title}")), look.facts(&facts));
    if !chat.subagents.is_empty() {
        let ids: Vec<String> = chat.subagents.iter().map(|id| one_line(id)).collect();
        let line = format!("subagents, in conversations of their own: {}", ids.join(", "));
        put(&mut out, format_args!("  {}\n", look.paint(Ink::Dim, &line)));
    }
    out + &resume(chat.resume.as_deref(), chat.archived, look)
}

/// Lines shown of what nobody typed.
const HEAD: usize = 3;

/// A message below the one before it. A reply that only calls tools goes on with the reply before.
fn said(message: &ChatMessage, before: Option<&ChatMessage>, label: &str, look: &Look) -> String {
    let goes_on = message.content.is_empty() && before.is_some_and(|last| last.role == message.role);
    let mut out = if goes_on { String::new() } else { speaker(message, label, look) };
    let lines: Vec<&str> = message.content.lines().collect();
    let shown = if message.kind.is_some() { lines.len().min(HEAD) } else { lines.len() };
    for line in &lines[..shown] {
        put(&mut out, format_args!("  {}\n", clean(line).trim_end()));
    }
    if shown < lines.len() {
        let more = format!("… {} (all of it with --json)", plural((lines.len() - shown) as u64, "more line"));
        put(&mut out, format_args!("  {}\n", look.paint(Ink::Dim, &more)));
    }
    for call in message.tools.iter().flat_map(|tools| &tools.calls) {
        put(&mut out, format_args!("  {}\n", called(call, look)));
    }
    out
}

fn speaker(message: &ChatMessage, label: &str, look: &Look) -> String {
    let ink = if message.kind.is_none() { Ink::Role } else { Ink::Dim };
    let who = one_line(&format!("{label}{}", message.kind.as_deref().unwrap_or(&message.role)));
    format!("\n{}  {}\n", look.paint(ink, &who), look.paint(Ink::Dim, &look.date(message.created_at)))
}

fn called(call: &ToolCall, look: &Look) -> String {
    let server = if call.server.is_empty() { String::new() } else { format!("{}: ", call.server) };
    let line = format!("· {server}{} {}", call.tool, about(&call.args));
    let line = cut(one_line(&line).trim_end(), look.width.saturating_sub(14).max(20));
    match call.status.as_deref() {
        Some("pending") => look.paint(Ink::Dim, &format!("{line}  (no result)")),
        Some(status) => format!("{}  {}", look.paint(Ink::Dim, &line), look.paint(Ink::Bad, status)),
        None => look.paint(Ink::Dim, &line),
    }
}

/// Which argument says best what a call is about.
const TELLING: &[&str] = &[
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

fn about(args: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    TELLING.iter().find_map(|name| args.get(name)).map_or_else(|| text(args), text)
}

fn common(shared: &Shared, look: &Look) -> String {
    let places: Vec<String> = shared.refs.iter().map(|at| format!("[{}]", at.chat_idx + 1)).collect();
    let width = look.width.saturating_sub(24).max(20);
    let line = cut(&one_line(&shared.content), width);
    format!("  {}  {line}  {}\n", shared.role, look.paint(Ink::Dim, &places.join(" ")))
}

fn notes(notes: &[String], look: &Look) -> String {
    let line = |note: &String| format!("{}\n", look.paint(Ink::Dim, &format!("note: {}", one_line(note))));
    let lines: String = notes.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chats::{ToolResult, Tools};
    use crate::search::TimeRange;
    use record::{Clock, Stamp};
    use serde_json::json;

    #[test]
    fn a_transcript_is_read_from_top_to_bottom() {
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
        let look = Look::plain(Clock::At(Stamp(at + 7_200_000)), "/home/ada");
        let text = Gathered::One(Box::new(chat)).render(&look);
        let expected = "Fix it
  2 hours ago, 14 Nov 10:00 · codex · ~/loci · 3 messages · aaaa1111-2222
  subagents, in conversations of their own: ace01
  resume: codex resume aaaa1111-2222

context  14 Nov 10:00
  1
  2
  3
  … 2 more lines (all of it with --json)

user  14 Nov 10:00
  Fix it

  please

assistant  14 Nov 10:00
  Done.
  · Bash cargo test --all  error
  · shell ls -a  (no result)
  · Read /x/y.rs
  · odd {\"n\":1}

note: a note
";
        assert_eq!(text.replace("  \n", "\n"), expected);
    }
}
