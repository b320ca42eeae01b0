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
    detector: Masker,
    home: Option<home::Home>,
    keyed: OnceLock<Masker>,
}

impl LazyMasker {
    pub fn new(home: Option<home::Home>) -> LazyMasker {
        LazyMasker { detector: Masker::new([0; 32]), home, keyed: OnceLock::new() }
    }

    pub fn mask_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.detector.mask_text(text) {
            Cow::Owned(_) => self.keyed_masker().mask_text(text),
            clean @ Cow::Borrowed(_) => clean,
        }
    }

    pub fn mask_json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        match self.detector.mask_json(json) {
            Cow::Owned(_) => self.keyed_masker().mask_json(json),
            clean @ Cow::Borrowed(_) => clean,
        }
    }

    fn keyed_masker(&self) -> &Masker {
        self.keyed.get_or_init(|| Masker::new(home::mask_key(self.home.as_ref())))
    }
}

impl<'a> History<'a> {
    /// None if unmasked text was requested.
    pub fn masker(&self) -> Option<&'a LazyMasker> {
        self.masked.then(|| self.masker.get_or_init(|| LazyMasker::new(self.home())))
    }

    /// Masks a text for display or storage.
    pub fn mask_text(&self, text: &str) -> String {
        self.masker().map_or_else(|| text.to_string(), |masker| masker.mask_text(text).into_owned())
    }

    /// Masks what was masked and stored before, perhaps with older rules.
    pub(crate) fn mask_again(&self, text: &str) -> String {
        let Some(masker) = self.masker() else { return text.to_string() };
        let is_json = text.starts_with(['{', '[']);
        if is_json { masker.mask_json(text).into_owned() } else { masker.mask_text(text).into_owned() }
    }

    /// The same on one line, without terminal control sequences.
    pub fn mask_line(&self, text: &str) -> String {
        self.mask_text(&api::terminal_text::one_line(text))
    }

    pub(crate) fn mask_call(&self, mut call: Call) -> Call {
        let Some(masker) = self.masker() else { return call };
        replace_masked(&mut call.input, |text| masker.mask_json(text));
        if let Some(output) = &mut call.output {
            replace_masked(output, |text| masker.mask_json(text));
        }
        for text in call.error.iter_mut().chain(&mut call.file).chain([&mut call.tool, &mut call.id]) {
            replace_masked(text, |text| masker.mask_text(text));
        }
        call
    }

    pub(crate) fn mask_message(&self, mut message: Message) -> Message {
        if let Some(masker) = self.masker() {
            let Message { text, id, parent_id, model, .. } = &mut message;
            for text in [text, id].into_iter().chain(parent_id).chain(model) {
                replace_masked(text, |text| masker.mask_text(text));
            }
        }
        message
    }

    /// Masks everything in a session that an agent or a person may have put a secret into: a title, a branch, a folder, the name of a
    /// file that is its ID. Every session passes here when it is read, before it is stored or shown.
    pub(crate) fn mask_session(&self, session: &mut Session) {
        let Session {
            session_id,
            project,
            cwd,
            git_branch,
            version,
            title,
            models,
            parent_session_id,
            agent_id,
            ..
        } = session;
        let title = title.as_mut().map(|(title, _)| title);
        let texts = [session_id, project, cwd, git_branch, version].into_iter().chain(title).chain(models);
        let texts = texts.chain(parent_session_id).chain(agent_id);
        texts.for_each(|text| self.mask_shared(text));
    }

    pub(crate) fn mask_shared(&self, text: &mut Arc<str>) {
        if let Some(Cow::Owned(masked)) = self.masker().map(|masker| masker.mask_text(text)) {
            *text = Arc::from(masked);
        }
    }
}

pub(crate) fn replace_masked(text: &mut String, masked: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(new) = masked(text) {
        *text = new;
    }
}
