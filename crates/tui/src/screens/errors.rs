//! Errors of tool calls, grouped by signature, with the latest occurrences of the selected one.
//!
//! Does not know how a signature is made.

use super::{ListScreen, Subject};
use crate::clean_text::clean_line;
use crate::document::Document;
use crate::filters::Filters;
use crate::ink::Ink;
use crate::request::{Answer, ErrorGroup, Occurrence, Query};
use crate::rows::{Choosable, Order, Rows};
use crate::times::{minute, parse_ms};
use record::Clock;
use render::RenderOptions;
use render::format::count_of;

#[derive(Default)]
pub(crate) struct Errors {
    pub(crate) rows: Rows<ErrorGroup>,
    detail: Document,
    /// The occurrences of a signature.
    found: Option<(String, Vec<Occurrence>)>,
}

impl Errors {
    fn occurrences(&self) -> Option<&[Occurrence]> {
        let signature = &self.rows.selected()?.signature;
        self.found.as_ref().filter(|(of, _)| of == signature).map(|(_, found)| &found[..])
    }
}

fn order() -> Order<ErrorGroup> {
    Order { key: |group| &group.signature, heading: Box::new(|_| None) }
}

impl ListScreen for Errors {
    fn request(&self, filters: &Filters) -> Option<Query> {
        Some(Query::Errors { filters: filters.clone() })
    }

    fn accept(&mut self, query: &Query, answer: Answer, _: &RenderOptions) {
        match (query, answer) {
            (_, Answer::Errors(groups)) => {
                self.rows.replace(groups, &order());
                self.found = None;
            }
            (Query::Occurrences { signature, .. }, Answer::Occurrences(found)) => {
                self.found = Some((signature.clone(), found));
            }
            _ => {}
        }
    }

    fn list(&mut self) -> &mut dyn Choosable {
        &mut self.rows
    }

    fn show_detail(&mut self, filters: &Filters, options: &RenderOptions) -> Option<Query> {
        let Some(group) = self.rows.selected() else {
            self.detail = Document::default();
            return None;
        };
        let mut document = describe(group, options.clock);
        let missing = self.occurrences().is_none();
        for occurrence in self.occurrences().unwrap_or_default() {
            push_occurrence(&mut document, occurrence, options);
        }
        let signature = group.signature.clone();
        self.detail = document;
        missing.then(|| Query::Occurrences { signature, filters: filters.clone() })
    }

    fn detail(&self) -> &Document {
        &self.detail
    }

    fn detail_mut(&mut self) -> &mut Document {
        &mut self.detail
    }

    /// The session of the latest occurrence.
    fn subject(&self) -> Option<Subject> {
        let latest = self.occurrences()?.first()?;
        let title = clean_line(latest.message.as_deref().unwrap_or_default());
        Some(Subject { id: latest.session_id.clone(), title, ..Subject::default() })
    }

    fn id(&self) -> Option<String> {
        self.rows.selected().map(|group| group.signature.clone())
    }

    fn summary(&self) -> String {
        count_of(self.rows.len() as u64, "signature")
    }

    fn empty_text(&self) -> String {
        "no failed tool calls".to_string()
    }
}

fn describe(group: &ErrorGroup, clock: Clock) -> Document {
    let mut document = Document::default();
    document.push(vec![(clean_line(&group.signature), Ink::Bold)]);
    let (count, sessions) = (count_of(group.count, "time"), count_of(group.sessions, "session"));
    let at = |text: &Option<String>| minute(clock, parse_ms(text.as_deref()));
    document.push_text(
        &format!("{count} in {sessions}, {} – {}", at(&group.first_at), at(&group.last_at)),
        Ink::Dim,
    );
    document.push(Vec::new());
    document.push_marked(&group.message, Ink::Bad, &[]);
    document
}

fn push_occurrence(document: &mut Document, occurrence: &Occurrence, options: &RenderOptions) {
    let when = minute(options.clock, parse_ms(occurrence.timestamp.as_deref()));
    let project = occurrence.project.as_deref().map_or_else(String::new, |path| options.display_path(path));
    document.push(Vec::new());
    let session = api::terminal_text::short_id(&occurrence.session_id);
    document
        .push(vec![(when, Ink::Role), (format!("  {} {session} {project}", occurrence.source), Ink::Dim)]);
    document.push_text(&clean_line(&occurrence.input.to_string()), Ink::Plain);
}
