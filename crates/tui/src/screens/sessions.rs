//! Sessions, newest first, grouped by day.
//!
//! Does not know the messages of a session.

use super::{ListScreen, Subject, missing_note, push_facts};
use crate::clean_text::clean_line;
use crate::document::Document;
use crate::filters::Filters;
use crate::ink::Ink;
use crate::page::Page;
use crate::request::{Answer, Query};
use crate::rows::{Choosable, Order, Rows};
use crate::times;
use api::sessions::SessionLine;
use record::Clock;
use render::RenderOptions;
use render::format::count_of;

const FIRST_LIMIT: u64 = 200;

pub(crate) struct SessionList {
    pub(crate) rows: Rows<SessionLine>,
    preview: Document,
    page: Page,
    notes: Vec<String>,
}

impl Default for SessionList {
    fn default() -> SessionList {
        let (rows, preview, notes) = (Rows::default(), Document::default(), Vec::new());
        SessionList { rows, preview, page: Page::new(FIRST_LIMIT, u64::MAX), notes }
    }
}

fn order(clock: Clock) -> Order<SessionLine> {
    let heading = move |line: &SessionLine| Some(times::day_heading(clock, line.time_range.to));
    Order { key: |line| &line.chat_id, heading: Box::new(heading) }
}

impl ListScreen for SessionList {
    fn request(&self, filters: &Filters) -> Option<Query> {
        Some(Query::Sessions { filters: filters.clone(), limit: self.page.limit })
    }

    fn accept(&mut self, _: &Query, answer: Answer, options: &RenderOptions) {
        let Answer::Sessions(found) = answer else { return };
        self.rows.replace(found.sessions, &order(options.clock));
        (self.page.total, self.notes) = (found.total, found.notes);
    }

    fn list(&mut self) -> &mut dyn Choosable {
        &mut self.rows
    }

    fn show_detail(&mut self, _: &Filters, options: &RenderOptions) -> Option<Query> {
        self.preview = self.rows.selected().map_or_else(Document::default, |line| preview(line, options));
        None
    }

    fn detail(&self) -> &Document {
        &self.preview
    }

    fn detail_mut(&mut self) -> &mut Document {
        &mut self.preview
    }

    fn subject(&self) -> Option<Subject> {
        let line = self.rows.selected()?;
        let (id, title, resume) = (line.chat_id.clone(), line.title.clone(), line.resume.clone());
        Some(Subject { id, title, resume, message: None })
    }

    fn extend(&mut self) -> bool {
        self.page.extend(&self.rows)
    }

    fn summary(&self) -> String {
        self.page.describe(&self.rows, "session")
    }

    fn empty_text(&self) -> String {
        self.notes.first().map_or_else(|| "no sessions".to_string(), |note| clean_line(note))
    }
}

fn preview(line: &SessionLine, options: &RenderOptions) -> Document {
    let mut document = Document::default();
    document.push(vec![(clean_line(&line.title), Ink::Bold)]);
    let counts = [(line.turns, "turn"), (line.tool_calls, "tool call"), (line.errors, "error")];
    let counts: Vec<String> = counts.iter().map(|(n, word)| count_of(*n, word)).collect();
    let project = line.project.as_deref().map_or_else(String::new, |path| options.display_path(path));
    let range = times::range(options.clock, line.time_range);
    let (counts, models) = (counts.join(", "), line.models.join(", "));
    let missing = missing_note(&line.chat_id, line.archived, line.device.as_deref());
    push_facts(&mut document, &[&line.source, &project, &range, &counts, &models, &line.chat_id, &missing]);
    document
}
