//! Reads one record again, in full, with its secrets masked: the one way from a transcript's text to anything that is
//! printed or stored. As it stands it is read only to be searched.
//!
//! Does not choose which records.

use crate::gather::{self, Library};
use crate::lines::Failure;
use crate::ops::memory::Deed;
use crate::{Service, home};
use mask::Masker;
use record::{Call, Message, Problem, Row, RowKind, Session};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Masks texts. The key that placeholders are made with is looked up, and made, only when there is a secret: a question
/// about a history without any leaves nothing behind.
pub(crate) struct Veil {
    finds: Masker,
    home: Option<home::Home>,
    masks: OnceLock<Masker>,
}

impl Veil {
    fn new(home: Option<home::Home>) -> Veil {
        Veil { finds: Masker::new([0; 32]), home, masks: OnceLock::new() }
    }

    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.finds.text(text) {
            Cow::Owned(_) => self.masks().text(text),
            clean @ Cow::Borrowed(_) => clean,
        }
    }

    fn json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        match self.finds.json(json) {
            Cow::Owned(_) => self.masks().json(json),
            clean @ Cow::Borrowed(_) => clean,
        }
    }

    fn masks(&self) -> &Masker {
        self.masks.get_or_init(|| Masker::new(home::mask_key(self.home.as_ref())))
    }
}

/// A record as it stands in its transcript, secrets and all: for those who look for what must not be shown.
pub(crate) enum Raw {
    Message(Message),
    Call(Box<Call>),
}

pub(crate) fn raw(library: &Library, row: &Row) -> Result<Raw, Problem> {
    match row.row {
        RowKind::Message => raw_message(library, row).map(Raw::Message),
        _ => raw_call(library, row).map(|call| Raw::Call(Box::new(call))),
    }
}

fn raw_message(library: &Library, row: &Row) -> Result<Message, Problem> {
    let transcript = &library.transcripts[row.file as usize];
    sources::message(transcript, row).map_err(|e| gather::problem(transcript, &e))
}

fn raw_call(library: &Library, row: &Row) -> Result<Call, Problem> {
    let (transcript, result) =
        (&library.transcripts[row.file as usize], &library.transcripts[row.end_file as usize]);
    sources::call(transcript, result, row).map_err(|e| gather::problem(transcript, &e))
}

impl Service {
    /// None where the person at the terminal asked to see the text as it stands.
    pub(crate) fn masker(&self) -> Option<&Veil> {
        self.masked.then(|| self.veil.get_or_init(|| Veil::new(self.home())))
    }

    /// A text as it may be shown or kept.
    pub(crate) fn veiled(&self, text: &str) -> String {
        self.masker().map_or_else(|| text.to_string(), |veil| veil.text(text).into_owned())
    }

    /// The same on one line, without what a terminal obeys.
    pub(crate) fn veiled_line(&self, text: &str) -> String {
        self.veiled(&api::terminal_text::one_line(text))
    }

    pub(crate) fn home(&self) -> Option<home::Home> {
        home::Home::of(&self.places)
    }

    pub(crate) fn read_call(&self, library: &Library, row: &Row) -> Result<Call, Problem> {
        raw_call(library, row).map(|call| self.masked_call(call))
    }

    /// What a call did, without what it gave back: masking that would cost more than all the rest.
    pub(crate) fn read_deed(&self, library: &Library, row: &Row) -> Result<Deed, Problem> {
        let mut deed = Deed::of(&raw_call(library, row)?);
        if let Some(masker) = self.masker() {
            deed.command
                .iter_mut()
                .chain(&mut deed.file)
                .for_each(|text| replace(text, |text| masker.text(text)));
        }
        Ok(deed)
    }

    pub(crate) fn read_message(&self, library: &Library, row: &Row) -> Result<Message, Problem> {
        raw_message(library, row).map(|message| self.masked_message(message))
    }

    pub(crate) fn read_failure(&self, library: &Library, row: &Row) -> Result<Failure, Problem> {
        match row.row {
            RowKind::Call => {
                self.read_call(library, row).map(|call| Failure::of_call(library.name(row), call))
            }
            _ => self.read_message(library, row).map(Failure::of_provider),
        }
    }

    pub(crate) fn masked_call(&self, mut call: Call) -> Call {
        let Some(masker) = self.masker() else { return call };
        replace(&mut call.input, |text| masker.json(text));
        if let Some(output) = &mut call.output {
            replace(output, |text| masker.json(text));
        }
        for text in call.error.iter_mut().chain(&mut call.file) {
            replace(text, |text| masker.text(text));
        }
        call
    }

    pub(crate) fn masked_message(&self, mut message: Message) -> Message {
        if let Some(masker) = self.masker() {
            replace(&mut message.text, |text| masker.text(text));
        }
        message
    }

    pub(crate) fn mask_title(&self, session: &mut Session) {
        let (Some(masker), Some((title, _))) = (self.masker(), &mut session.title) else { return };
        if let Cow::Owned(masked) = masker.text(title) {
            *title = Arc::from(masked);
        }
    }
}

fn replace(text: &mut String, masked: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(new) = masked(text) {
        *text = new;
    }
}
