//! Memory with review: facts and session names, the evidence of the selected one, and the changes a person makes.
//!
//! Does not know how facts are derived.

use super::{ListScreen, Subject, split_words};
use crate::document::Document;
use crate::filters::Filters;
use crate::ink::Ink;
use crate::line_input::LineInput;
use crate::page::Page;
use crate::request::{Answer, Change, Query};
use crate::rows::{Choosable, Order, Rows};
use api::memory::{MemoryLine, MemoryShown};
use render::format::count_of;
use render::{Render, RenderOptions};

const FIRST_LIMIT: u64 = 200;

/// The lists that a person switches between; `None` is what holds now.
const STATES: &[Option<&str>] = &[None, Some("review"), Some("stale"), Some("superseded"), Some("retired")];

pub(crate) struct Memory {
    pub(crate) input: LineInput,
    pub(crate) rows: Rows<MemoryLine>,
    detail: Document,
    /// The detail of a memory, and the ID it was requested with.
    shown: Option<(String, Box<MemoryShown>)>,
    state: usize,
    page: Page,
    in_review: u64,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            input: LineInput::default(),
            rows: Rows::default(),
            detail: Document::default(),
            shown: None,
            state: 0,
            page: Page::new(FIRST_LIMIT, u64::MAX),
            in_review: 0,
        }
    }
}

impl Memory {
    pub(crate) fn state_name(&self) -> &'static str {
        STATES[self.state].unwrap_or("current")
    }

    /// The text that a person may edit, and whether it is a fact.
    pub(crate) fn editable(&self) -> Option<(&MemoryLine, bool)> {
        self.rows.selected().map(|line| (line, line.kind == "fact"))
    }

    /// Requests the detail again: a change has made it out of date.
    pub(crate) fn forget_detail(&mut self) {
        self.shown = None;
    }

    pub(crate) fn pin_change(&self) -> Option<Change> {
        self.rows.selected().map(|line| Change::Pin { id: line.id.clone(), off: line.pinned })
    }

    /// The change for a fact; a session's name has no state.
    pub(crate) fn fact_change(&self, change: fn(String) -> Change) -> Option<Change> {
        self.rows.selected().filter(|line| line.kind == "fact").map(|line| change(line.id.clone()))
    }
}

fn order() -> Order<MemoryLine> {
    Order { key: |line| &line.id, heading: Box::new(|_| None) }
}

impl ListScreen for Memory {
    fn request(&self, filters: &Filters) -> Option<Query> {
        let state = STATES[self.state].map(String::from);
        let (words, project) = (self.input.text().to_string(), filters.project.clone());
        Some(Query::Memories { words, state, project, limit: self.page.limit })
    }

    fn accept(&mut self, query: &Query, answer: Answer, _: &RenderOptions) {
        match (query, answer) {
            (_, Answer::Memories(found)) => {
                self.rows.replace(found.memories, &order());
                (self.page.total, self.in_review) = (found.total, found.in_review);
            }
            (Query::Memory { id }, Answer::Memory(shown)) if self.id().as_ref() == Some(id) => {
                self.shown = Some((id.clone(), shown));
            }
            _ => {}
        }
    }

    fn list(&mut self) -> &mut dyn Choosable {
        &mut self.rows
    }

    fn show_detail(&mut self, _: &Filters, options: &RenderOptions) -> Option<Query> {
        let id = self.id();
        let is_shown = self.shown.as_ref().is_some_and(|(of, _)| Some(of) == id.as_ref());
        let mut document = Document::default();
        match &self.shown {
            Some((_, shown)) if is_shown => {
                document.push_marked(&shown.render(options), Ink::Plain, &split_words(self.input.text()));
            }
            _ => document.push_text(self.rows.selected().map_or("", |line| &line.text), Ink::Plain),
        }
        self.detail = document;
        id.filter(|_| !is_shown).map(|id| Query::Memory { id })
    }

    fn detail(&self) -> &Document {
        &self.detail
    }

    fn detail_mut(&mut self) -> &mut Document {
        &mut self.detail
    }

    fn input(&mut self) -> Option<&mut LineInput> {
        Some(&mut self.input)
    }

    /// The session that a name belongs to, or that supports a fact.
    fn subject(&self) -> Option<Subject> {
        let line = self.rows.selected()?;
        let shown = self.shown.as_ref().filter(|(of, _)| *of == line.id).map(|(_, shown)| shown);
        let title = line.text.clone();
        if line.kind == "session" {
            let resume = shown.and_then(|shown| shown.resume.clone());
            return Some(Subject { id: line.id.clone(), title, resume, message: None });
        }
        let quote = shown?.evidence.first()?;
        let message = Some(quote.message_id.clone());
        Some(Subject { id: quote.chat_id.clone(), title, resume: None, message })
    }

    fn id(&self) -> Option<String> {
        self.rows.selected().map(|line| line.id.clone())
    }

    fn extend(&mut self) -> bool {
        self.page.extend(&self.rows)
    }

    fn next_variant(&mut self) -> bool {
        self.state = (self.state + 1) % STATES.len();
        self.shown = None;
        true
    }

    fn summary(&self) -> String {
        let total = self.page.total;
        let memories = if total == 1 { "1 memory".to_string() } else { format!("{total} memories") };
        format!("{memories} ({}) · {} to review", self.state_name(), count_of(self.in_review, "fact"))
    }

    fn empty_text(&self) -> String {
        match STATES[self.state] {
            None => {
                "nothing is remembered yet; `loci memory consolidate` derives facts from sessions".to_string()
            }
            Some(state) => format!("no facts in the state `{state}`; `v` shows the next state"),
        }
    }
}
