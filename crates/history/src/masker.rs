//! Masks secrets in texts, calls, messages and titles.
//!
//! Does not know which transcript they come from.

use crate::{History, home};
use mask::Masker;
use record::{Call, Message, Session};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Masks texts. The key for placeholders is read, or created, only when the first secret is found: a request over a
/// history without secrets writes no file.
pub struct LazyMasker {
    finds: Masker,
    home: Option<home::Home>,
    masks: OnceLock<Masker>,
}

impl LazyMasker {
    fn new(home: Option<home::Home>) -> LazyMasker {
        LazyMasker { finds: Masker::new([0; 32]), home, masks: OnceLock::new() }
    }

    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
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

impl<'a> History<'a> {
    /// None if unmasked text was requested.
    pub fn masker(&self) -> Option<&'a LazyMasker> {
        self.masked.then(|| self.masker.get_or_init(|| LazyMasker::new(self.home())))
    }

    /// Masks a text for display or storage.
    pub fn veiled(&self, text: &str) -> String {
        self.masker().map_or_else(|| text.to_string(), |masker| masker.text(text).into_owned())
    }

    /// The same on one line, without terminal control sequences.
    pub fn veiled_line(&self, text: &str) -> String {
        self.veiled(&api::terminal_text::one_line(text))
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

pub(crate) fn replace(text: &mut String, masked: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(new) = masked(text) {
        *text = new;
    }
}
