//! What is open above a screen: the keys, a menu of a filter, a question.
//!
//! Does not know what happens with the answer.

use crate::document::Document;
use crate::filters::{Facet, KINDS, TIMES};
use crate::ink::Ink;
use crate::keys;
use crate::line_input::LineInput;
use crate::request::Choices;
use crate::rows::{Choosable, Order, Rows};
use crate::screens::Subject;
use render::RenderOptions;

pub(crate) enum Dialog {
    Help(Document),
    Menu(Menu),
    Prompt(Prompt),
    /// Resume this session?
    Confirm(Subject),
}

/// The values of a filter.
pub(crate) struct Menu {
    pub(crate) facet: Facet,
    pub(crate) rows: Rows<Choice>,
    /// Whether the values are still being read.
    pub(crate) is_loading: bool,
}

/// A value of a filter, and its label.
pub(crate) struct Choice {
    /// `None` removes the filter.
    pub(crate) value: Option<String>,
    pub(crate) label: String,
}

pub(crate) enum PromptFor {
    Export(String),
    Edit { id: String, is_fact: bool },
}

/// A question that is answered with a line of text.
pub(crate) struct Prompt {
    pub(crate) purpose: PromptFor,
    pub(crate) input: LineInput,
}

impl Prompt {
    pub(crate) fn new(purpose: PromptFor, text: &str) -> Prompt {
        Prompt { purpose, input: LineInput::new(text) }
    }

    pub(crate) fn title(&self) -> &'static str {
        match self.purpose {
            PromptFor::Export(_) => "Export to a new file (.md, .html or .json)",
            PromptFor::Edit { is_fact: true, .. } => "Text of the fact",
            PromptFor::Edit { is_fact: false, .. } => "Name of the session",
        }
    }
}

impl Menu {
    pub(crate) fn new(facet: Facet, choices: Option<&Choices>, options: &RenderOptions) -> Menu {
        let fixed = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(value, label)| ((*value).to_string(), (*label).to_string())).collect()
        };
        let known = |values: fn(&Choices) -> &Vec<String>| -> Vec<(String, String)> {
            let all = choices.map(values).into_iter().flatten();
            all.map(|value| (value.clone(), options.display_path(value))).collect()
        };
        let pairs = match facet {
            Facet::Agent => known(|choices| &choices.agents),
            Facet::Project => known(|choices| &choices.projects),
            Facet::Time => fixed(TIMES),
            Facet::Kind => fixed(KINDS),
        };
        let everything = Choice { value: None, label: "everything".to_string() };
        let values = pairs.into_iter().map(|(value, label)| Choice { value: Some(value), label });
        let mut rows = Rows::default();
        let order = Order { key: |choice: &Choice| choice.label.as_str(), heading: Box::new(|_| None) };
        rows.replace(std::iter::once(everything).chain(values).collect(), &order);
        let is_loading = choices.is_none() && matches!(facet, Facet::Agent | Facet::Project);
        Menu { facet, rows, is_loading }
    }

    pub(crate) fn title(&self) -> &'static str {
        match self.facet {
            Facet::Agent => "Agent",
            Facet::Project => "Project",
            Facet::Time => "Time",
            Facet::Kind => "Kind of text",
        }
    }

    pub(crate) fn chosen(&self) -> Option<&Choice> {
        self.rows.selected()
    }
}

impl Dialog {
    /// The keys and what they do, from their table.
    pub(crate) fn help() -> Dialog {
        let mut document = Document::default();
        for (names, help) in keys::help_lines() {
            document.push(vec![(format!("{names:<18}"), Ink::Role), (help.to_string(), Ink::Plain)]);
        }
        document.push_text("Mouse: click a screen, a row or a tool call; the wheel scrolls", Ink::Dim);
        Dialog::Help(document)
    }

    pub(super) fn fit(&mut self, width: usize, height: usize) {
        match self {
            Dialog::Help(document) => document.fit(width, height),
            Dialog::Menu(menu) => menu.rows.fit(height),
            Dialog::Prompt(_) | Dialog::Confirm(_) => {}
        }
    }

    pub(super) fn move_by(&mut self, by: isize) {
        match self {
            Dialog::Help(document) => document.scroll(by),
            Dialog::Menu(menu) => menu.rows.move_by(by),
            Dialog::Prompt(_) | Dialog::Confirm(_) => {}
        }
    }
}
