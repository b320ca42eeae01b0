//! A session as a document that stands alone: Markdown, or one HTML file that needs no network.
//!
//! Does not know where the document goes, nor how a session is read.

mod html;
mod markdown;

pub use html::to_html;
pub use markdown::to_markdown;

use crate::RenderOptions;
use api::gather_chats::{ChatMessage, OneChat, ToolCall, ToolResult};

/// What the head of a document says, in order: name and value.
fn head_facts(session: &OneChat, options: &RenderOptions) -> Vec<(&'static str, String)> {
    let chat = &session.chat;
    let mut facts = vec![
        ("Agent", chat.source.clone()),
        ("Project", chat.project.as_deref().map_or(String::new(), |path| options.display_path(path))),
        ("Started", options.format_date(chat.time_range.from)),
        ("Ended", options.format_date(chat.time_range.to)),
        ("Messages", chat.message_count.to_string()),
        ("Session", chat.id.clone()),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

fn title_of(session: &OneChat) -> &str {
    let title = session.chat.title.trim();
    if title.is_empty() { "Session without a title" } else { title }
}

fn speaker_of(message: &ChatMessage) -> &str {
    message.kind.as_deref().unwrap_or(&message.role)
}

/// The calls of a message, each with its result; a pending call has none.
fn calls_of(message: &ChatMessage) -> Vec<(&ToolCall, Option<String>)> {
    let Some(tools) = &message.tools else { return Vec::new() };
    let mut results = tools.results.iter();
    let mut result_of = |call: &ToolCall| {
        if call.status.as_deref() == Some("pending") { None } else { results.next().map(result_text) }
    };
    tools.calls.iter().map(|call| (call, result_of(call))).collect()
}

fn result_text(result: &ToolResult) -> String {
    match result {
        ToolResult::Text(text) => text.clone(),
        ToolResult::Json(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}

/// The name of a tool with its server and, unless the call succeeded, its status.
fn call_title(call: &ToolCall) -> String {
    let server = if call.server.is_empty() { String::new() } else { format!("{}: ", call.server) };
    let status = call.status.as_ref().map_or(String::new(), |status| format!(" ({status})"));
    format!("{server}{}{status}", call.tool)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use api::gather_chats::{Chat, Tools};
    use api::search::TimeRange;
    use record::{Clock, Stamp};
    use serde_json::json;

    pub(crate) fn sample() -> (OneChat, RenderOptions) {
        let at = Stamp::parse(b"2026-11-14T10:00:00Z").0;
        let call = ToolCall {
            server: String::new(),
            tool: "Bash".into(),
            args: json!({"command": "echo '<b>```'"}),
            status: Some("error".into()),
        };
        let message = |role: &str, content: &str, calls: Vec<ToolCall>| ChatMessage {
            message_id: "m".into(),
            created_at: Some(at),
            role: role.into(),
            content: content.into(),
            kind: None,
            tools: (!calls.is_empty())
                .then(|| Tools { calls, results: vec![ToolResult::Text("````\n</pre><script>".into())] }),
        };
        let chat = OneChat {
            chat: Chat {
                id: "aaaa1111".into(),
                title: "Fix <it> & more".into(),
                message_count: 2,
                time_range: TimeRange { from: Some(at), to: Some(at) },
                source: "codex".into(),
                project: Some("/home/ada/loci".into()),
                ..Chat::default()
            },
            messages: vec![
                message("user", "Why?\n```rust\nlet x = 1 < 2;\n```\nnow", vec![]),
                message("assistant", "Because.", vec![call]),
            ],
            partial: false,
            notes: vec!["a note".into()],
        };
        (chat, RenderOptions::plain(Clock::At(Stamp(at)), "/home/ada"))
    }
}
