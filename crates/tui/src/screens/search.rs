//! Search as you type, with the passages of the selected session; without words, the newest sessions.
//!
//! Does not know how sessions are ranked.

use super::{ListScreen, Subject, missing_note, push_facts, split_words};
use crate::clean_text::clean_line;
use crate::document::{Document, mark_ranges};
use crate::filters::Filters;
use crate::ink::Ink;
use crate::line_input::LineInput;
use crate::page::Page;
use crate::request::{Answer, Query};
use crate::rows::{Choosable, Order, Rows};
use crate::times;
use api::search::{ChatFound, MOST_CHATS, Snippet};
use render::RenderOptions;

const FIRST_LIMIT: u64 = 30;
/// Passages of each session. Reading and masking them is most of the cost of a search: while someone types, one has to do.
const PASSAGES: u32 = 6;
const FIRST_PASSAGES: u32 = 1;

pub(crate) struct Search {
    pub(crate) input: LineInput,
    pub(crate) rows: Rows<ChatFound>,
    preview: Document,
    page: Page,
    notes: Vec<String>,
    /// The words and filters of the list that is shown.
    shown: Option<(String, Filters)>,
    /// The list has only the first passage of each session.
    is_preliminary: bool,
}

impl Search {
    pub(crate) fn new(words: &str) -> Search {
        Search {
            input: LineInput::new(words),
            rows: Rows::default(),
            preview: Document::default(),
            page: Page::new(FIRST_LIMIT, MOST_CHATS),
            notes: Vec::new(),
            shown: None,
            is_preliminary: false,
        }
    }

    /// Whether more passages should be read once nobody types.
    pub(crate) fn is_preliminary(&self) -> bool {
        self.is_preliminary
    }

    pub(crate) fn words(&self) -> Vec<String> {
        split_words(self.input.text())
    }
}

fn order() -> Order<ChatFound> {
    Order { key: |found| &found.chat_id, heading: Box::new(|_| None) }
}

impl ListScreen for Search {
    fn request(&self, filters: &Filters) -> Option<Query> {
        let words = self.input.text().trim().to_string();
        let now = (words, filters.clone());
        let passages = if self.shown.as_ref() == Some(&now) { PASSAGES } else { FIRST_PASSAGES };
        Some(Query::Search { words: now.0, filters: now.1, limit: self.page.limit, passages })
    }

    fn accept(&mut self, query: &Query, answer: Answer, _: &RenderOptions) {
        let (Query::Search { words, filters, passages, .. }, Answer::Search(found)) = (query, answer) else {
            return;
        };
        self.is_preliminary = *passages == FIRST_PASSAGES && !words.is_empty() && !found.results.is_empty();
        let now = (words.clone(), filters.clone());
        if self.shown.as_ref() == Some(&now) {
            self.rows.replace(found.results, &order());
        } else {
            self.rows.reset(found.results, &order());
            self.page.restart();
        }
        (self.page.total, self.notes, self.shown) = (found.total_chats, found.notes, Some(now));
    }

    fn list(&mut self) -> &mut dyn Choosable {
        &mut self.rows
    }

    fn show_detail(&mut self, _: &Filters, options: &RenderOptions) -> Option<Query> {
        self.preview = self.rows.selected().map_or_else(Document::default, |found| preview(found, options));
        None
    }

    fn detail(&self) -> &Document {
        &self.preview
    }

    fn detail_mut(&mut self) -> &mut Document {
        &mut self.preview
    }

    fn input(&mut self) -> Option<&mut LineInput> {
        Some(&mut self.input)
    }

    fn subject(&self) -> Option<Subject> {
        let found = self.rows.selected()?;
        Some(Subject {
            id: found.chat_id.clone(),
            title: found.title.clone(),
            resume: found.resume.clone(),
            message: found.snippets.first().map(|snippet| snippet.message_id.clone()),
        })
    }

    fn extend(&mut self) -> bool {
        self.page.extend(&self.rows)
    }

    fn summary(&self) -> String {
        self.page.describe(&self.rows, "session")
    }

    fn empty_text(&self) -> String {
        let note = self.notes.first().map(|note| clean_line(note));
        note.unwrap_or_else(|| "no session has these words".to_string())
    }
}

/// The passages of a session, with the matches marked.
fn preview(found: &ChatFound, options: &RenderOptions) -> Document {
    let mut document = Document::default();
    document.push(vec![(clean_line(&found.title), Ink::Bold)]);
    let range = times::range(options.clock, found.time_range);
    let project = found.project.as_deref().map_or_else(String::new, |path| options.display_path(path));
    let missing = missing_note(&found.chat_id, found.archived, found.device.as_deref());
    push_facts(&mut document, &[&found.source, &project, &range, &found.chat_id, &missing]);
    for snippet in &found.snippets {
        document.push(Vec::new());
        let when = times::minute(options.clock, snippet.created_at);
        document.push(vec![(clean_line(&snippet.role), Ink::Role), (format!("  {when}"), Ink::Dim)]);
        push_snippet(&mut document, snippet);
    }
    document
}

/// Highlights are counted in characters of the text as it was found, so each piece is cleaned by itself.
fn push_snippet(document: &mut Document, snippet: &Snippet) {
    let mut line = String::new();
    let mut ranges = Vec::new();
    let chars: Vec<char> = snippet.text.chars().collect();
    let mut at = 0;
    for [start, end] in &snippet.highlights {
        let (start, end) = ((*start as usize).clamp(at, chars.len()), (*end as usize).clamp(at, chars.len()));
        line.push_str(&clean_piece(&chars[at..start]));
        let from = line.len();
        line.push_str(&clean_piece(&chars[start..end]));
        ranges.push(from..line.len());
        at = end;
    }
    line.push_str(&clean_piece(&chars[at..]));
    document.push(mark_ranges(&line, Ink::Plain, &ranges));
}

fn clean_piece(chars: &[char]) -> String {
    let text: String = chars.iter().collect();
    crate::clean_text::clean_block(&text).replace('\n', " ")
}
