//! One session: its messages, with tool calls folded to one line each.
//!
//! Does not know which screen opened it.

use super::Subject;
use crate::clean_text::clean_line;
use crate::document::Document;
use crate::ink::Ink;
use crate::times;
use api::gather_chats::{ChatMessage, OneChat, ToolCall, ToolResult};
use record::Clock;
use render::RenderOptions;
use std::collections::BTreeSet;

/// Lines of a call or a result that are shown; `loci show` prints the rest.
const MAX_TOOL_LINES: usize = 200;
/// Columns of the input in the line of a folded call.
const FOLDED_INPUT: usize = 160;

pub(crate) struct SessionView {
    pub(crate) subject: Subject,
    /// Words to mark.
    words: Vec<String>,
    session: Option<Box<OneChat>>,
    pub(crate) document: Document,
    unfolded: BTreeSet<usize>,
    /// The block of each call.
    calls: BTreeSet<usize>,
}

impl SessionView {
    pub(crate) fn open(subject: Subject, words: Vec<String>) -> SessionView {
        let (session, document) = (None, Document::default());
        SessionView { subject, words, session, document, unfolded: BTreeSet::new(), calls: BTreeSet::new() }
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.session.is_some()
    }

    pub(crate) fn accept(&mut self, session: Box<OneChat>, options: &RenderOptions, width: usize) {
        let is_first = self.session.is_none();
        self.subject.title.clone_from(&session.chat.title);
        self.subject.resume.clone_from(&session.chat.resume);
        self.subject.id.clone_from(&session.chat.id);
        self.session = Some(session);
        let wanted = self.lay_out(options);
        if is_first && let Some(block) = wanted {
            self.document.fit(width, 1);
            self.document.go_to_block(block);
        }
    }

    /// Unfolds or folds the call of the current line.
    pub(crate) fn toggle_fold(&mut self, options: &RenderOptions) {
        let current = self.document.current_block().filter(|block| self.calls.contains(block));
        let Some(block) = current else { return };
        if !self.unfolded.remove(&block) {
            self.unfolded.insert(block);
        }
        self.lay_out(options);
    }

    pub(crate) fn toggle_all(&mut self, options: &RenderOptions) {
        self.unfolded = if self.unfolded.is_empty() { self.calls.clone() } else { BTreeSet::new() };
        self.lay_out(options);
    }

    /// Fills the document; returns the block of the message to go to.
    fn lay_out(&mut self, options: &RenderOptions) -> Option<usize> {
        let session = self.session.take()?;
        let mut page = Page { document: Document::default(), block: 0, calls: BTreeSet::new() };
        let mut wanted = None;
        for message in &session.messages {
            if self.subject.message.as_ref() == Some(&message.message_id) {
                wanted = Some(page.block + 1);
            }
            page.add_message(message, &self.words, &self.unfolded, options.clock);
        }
        for note in &session.notes {
            page.document.push_text(note, Ink::Warn);
        }
        self.document.replace(page.document);
        (self.calls, self.session) = (page.calls, Some(session));
        wanted
    }
}

/// A document under construction.
struct Page {
    document: Document,
    block: usize,
    calls: BTreeSet<usize>,
}

impl Page {
    fn start_block(&mut self) {
        self.block += 1;
        self.document.start_block(self.block);
    }

    fn add_message(
        &mut self,
        message: &ChatMessage,
        words: &[String],
        unfolded: &BTreeSet<usize>,
        clock: Clock,
    ) {
        self.start_block();
        let speaker = message.kind.as_deref().unwrap_or(&message.role);
        let when = times::minute(clock, message.created_at);
        self.document.push(vec![(clean_line(speaker), Ink::Role), (format!("  {when}"), Ink::Dim)]);
        self.document.push_marked(message.content.trim_end(), Ink::Plain, words);
        let Some(tools) = &message.tools else { return self.document.push(Vec::new()) };
        let mut results = tools.results.iter();
        for call in &tools.calls {
            let result = if call.status.as_deref() == Some("pending") { None } else { results.next() };
            self.add_call(call, result, unfolded, words);
        }
        self.document.push(Vec::new());
    }

    fn add_call(
        &mut self,
        call: &ToolCall,
        result: Option<&ToolResult>,
        unfolded: &BTreeSet<usize>,
        words: &[String],
    ) {
        self.start_block();
        self.calls.insert(self.block);
        let is_open = unfolded.contains(&self.block);
        self.document.push(call_line(call, is_open));
        if is_open {
            self.push_lines(&pretty(&call.args), words);
            if let Some(result) = result {
                self.push_lines(&result_text(result), words);
            }
        }
    }

    /// Adds lines with a margin; says how many are left out.
    fn push_lines(&mut self, text: &str, words: &[String]) {
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(MAX_TOOL_LINES) {
            self.document.push_marked(&format!("  │ {line}"), Ink::Plain, words);
        }
        if lines.len() > MAX_TOOL_LINES {
            let more = format!("  │ … {} more lines: `loci show`", lines.len() - MAX_TOOL_LINES);
            self.document.push_text(&more, Ink::Dim);
        }
    }
}

fn call_line(call: &ToolCall, is_open: bool) -> Vec<(String, Ink)> {
    let sign = if is_open { "▾" } else { "▸" };
    let server =
        if call.server.is_empty() { String::new() } else { format!("{}:", clean_line(&call.server)) };
    let input = api::terminal_text::truncate_width(&clean_line(&main_input(&call.args)), FOLDED_INPUT);
    let mut spans =
        vec![(format!("{sign} {server}{} ", clean_line(&call.tool)), Ink::Bold), (input, Ink::Dim)];
    match call.status.as_deref() {
        Some("error") => spans.push((" ✗ error".to_string(), Ink::Bad)),
        Some(other) => spans.push((format!(" ({})", clean_line(other)), Ink::Warn)),
        None => {}
    }
    spans
}

/// The part of the input that says what the call does.
fn main_input(args: &serde_json::Value) -> String {
    const TELLING: &[&str] =
        &["command", "cmd", "file_path", "path", "pattern", "query", "url", "description"];
    let text = TELLING.iter().find_map(|name| args.get(name)).and_then(|value| value.as_str());
    text.map_or_else(|| args.to_string(), str::to_string)
}

fn pretty(args: &serde_json::Value) -> String {
    serde_json::to_string_pretty(args).unwrap_or_default()
}

fn result_text(result: &ToolResult) -> String {
    match result {
        ToolResult::Text(text) => text.clone(),
        ToolResult::Json(value) => pretty(value),
    }
}
