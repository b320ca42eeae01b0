//! Why a symbol, a file, lines or a commit are as they are: the edits that made them, with prompt, reasoning and outcome.
//!
//! Does not know how lines are matched with edits.

use super::{ListScreen, Subject};
use crate::clean_text::clean_line;
use crate::document::Document;
use crate::filters::Filters;
use crate::ink::Ink;
use crate::line_input::LineInput;
use crate::request::{Answer, Query};
use crate::rows::{Choosable, Order, Rows};
use crate::times::minute;
use api::why::WhyStep;
use render::RenderOptions;
use render::format::count_of;

#[derive(Default)]
pub(crate) struct WhyScreen {
    pub(crate) input: LineInput,
    pub(crate) rows: Rows<WhyStep>,
    detail: Document,
    /// The answer in one line.
    answer: String,
    notes: Vec<String>,
}

fn order() -> Order<WhyStep> {
    Order { key: |step| step.calls.first().map_or("", String::as_str), heading: Box::new(|_| None) }
}

impl WhyScreen {
    pub(crate) fn answer(&self) -> &str {
        &self.answer
    }
}

impl ListScreen for WhyScreen {
    fn request(&self, _: &Filters) -> Option<Query> {
        let target = self.input.text().trim().to_string();
        (!target.is_empty()).then_some(Query::Why { target })
    }

    fn accept(&mut self, _: &Query, answer: Answer, _: &RenderOptions) {
        let Answer::Why(found) = answer else { return };
        self.rows.reset(found.steps, &order());
        (self.answer, self.notes) = (clean_line(&found.summary), found.notes);
    }

    fn list(&mut self) -> &mut dyn Choosable {
        &mut self.rows
    }

    fn show_detail(&mut self, _: &Filters, options: &RenderOptions) -> Option<Query> {
        let mut document =
            self.rows.selected().map_or_else(Document::default, |step| describe(step, options));
        for note in &self.notes {
            document.push_text(note, Ink::Warn);
        }
        self.detail = document;
        None
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

    fn subject(&self) -> Option<Subject> {
        let step = self.rows.selected()?;
        let (id, title) = (step.session_id.clone()?, clean_line(&step.prompt));
        Some(Subject { id, title, ..Subject::default() })
    }

    fn summary(&self) -> String {
        count_of(self.rows.len() as u64, "step")
    }

    fn empty_text(&self) -> String {
        match self.answer.as_str() {
            "" => "type a symbol, a file, file:line or a commit, then Enter".to_string(),
            answer => answer.to_string(),
        }
    }
}

fn describe(step: &WhyStep, options: &RenderOptions) -> Document {
    let mut document = Document::default();
    let source = step.source.as_deref().unwrap_or("no session");
    let head = format!("{} · {source} · {}", minute(options.clock, step.at), step.evidence.as_str());
    document.push(vec![(head, Ink::Bold)]);
    if let Some(commit) = &step.commit {
        document.push_text(&format!("commit {} {}", commit.hash, clean_line(&commit.subject)), Ink::Dim);
    }
    if step.undone {
        document.push_text("taken back in the same session", Ink::Warn);
    }
    for (name, text) in [("prompt", &step.prompt), ("reasoning", &step.reasoning)] {
        if !text.is_empty() {
            document.push(vec![(name.to_string(), Ink::Role)]);
            document.push_marked(text, Ink::Plain, &[]);
        }
    }
    push_diff(&mut document, &step.diff);
    if let Some(run) = &step.outcome {
        let ink = if run.status == "error" { Ink::Bad } else { Ink::Good };
        document.push(vec![(format!("{}: ", run.status), ink), (clean_line(&run.command), Ink::Plain)]);
    }
    document
}

fn push_diff(document: &mut Document, diff: &str) {
    if diff.is_empty() {
        return;
    }
    document.push(vec![("diff".to_string(), Ink::Role)]);
    for line in diff.lines() {
        let ink = match line.as_bytes().first() {
            Some(b'+') => Ink::Good,
            Some(b'-') => Ink::Bad,
            _ => Ink::Plain,
        };
        document.push_text(line, ink);
    }
}
