//! The screens: each has a list, the detail of the selected item, and the requests that fill both.
//!
//! Does not know keys or cells.

mod errors;
mod memory;
mod search;
mod session;
mod sessions;
mod usage;
mod why;

pub(crate) use errors::Errors;
pub(crate) use memory::Memory;
pub(crate) use search::Search;
pub(crate) use session::SessionView;
pub(crate) use sessions::SessionList;
pub(crate) use usage::{Usage, total_tokens};
pub(crate) use why::WhyScreen;

use crate::clean_text::clean_line;
use crate::document::Document;
use crate::filters::Filters;
use crate::ink::Ink;
use crate::line_input::LineInput;
use crate::request::{Answer, Query};
use crate::rows::Choosable;
use render::RenderOptions;

/// The session that keys act on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) id: String,
    pub(crate) title: String,
    /// None if its agent cannot resume it.
    pub(crate) resume: Option<String>,
    /// The message to go to in the session.
    pub(crate) message: Option<String>,
}

/// A screen with a list.
pub(crate) trait ListScreen {
    /// The request that fills the list.
    fn request(&self, filters: &Filters) -> Option<Query>;

    /// Takes the answer to one of its requests.
    fn accept(&mut self, query: &Query, answer: Answer, options: &RenderOptions);

    fn list(&mut self) -> &mut dyn Choosable;

    /// Fills the detail of the selected item as far as it is known; returns the request for the rest.
    fn show_detail(&mut self, filters: &Filters, options: &RenderOptions) -> Option<Query>;

    fn detail(&self) -> &Document;
    fn detail_mut(&mut self) -> &mut Document;

    /// The input of the screen, if it has one.
    fn input(&mut self) -> Option<&mut LineInput> {
        None
    }

    /// The session of the selected item.
    fn subject(&self) -> Option<Subject> {
        None
    }

    /// The ID of the selected item.
    fn id(&self) -> Option<String> {
        self.subject().map(|subject| subject.id)
    }

    /// Requests more items when the selection is near the end; returns whether there are more.
    fn extend(&mut self) -> bool {
        false
    }

    /// Switches to the next state or grouping; returns whether there is one.
    fn next_variant(&mut self) -> bool {
        false
    }

    /// What the list contains, for the status line.
    fn summary(&self) -> String;

    /// Why the list is empty.
    fn empty_text(&self) -> String {
        "nothing found".to_string()
    }
}

/// Appends what is known of a session, a line each.
fn push_facts(document: &mut Document, facts: &[&str]) {
    for fact in facts.iter().filter(|fact| !fact.is_empty()) {
        document.push_text(fact, Ink::Dim);
    }
}

/// Why a session cannot be resumed here; empty if it can.
fn missing_note(id: &str, is_archived: bool, device: Option<&str>) -> String {
    api::resume::missing_note(id, is_archived, device).map_or_else(String::new, |note| clean_line(&note))
}

/// The words of a search, to mark them in texts.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 1)
        .map(String::from)
        .collect()
}
