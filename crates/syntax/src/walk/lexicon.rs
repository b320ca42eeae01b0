//! The words that a file uses and the paths it makes of them, each known by its number.
//!
//! Does not know what they name.

use crate::facts::{FileFacts, Path};
use rustc_hash::FxHashMap;

/// What a file's facts have so far.
#[derive(Default)]
pub(crate) struct Lexicon<'a> {
    words: FxHashMap<&'a str, u32>,
    paths: FxHashMap<Path, u32>,
}

impl<'a> Lexicon<'a> {
    pub(crate) fn word(&mut self, facts: &mut FileFacts, text: &'a str) -> u32 {
        *self.words.entry(text).or_insert_with(|| {
            facts.words.push(text.into());
            facts.words.len() as u32 - 1
        })
    }

    pub(crate) fn path(&mut self, facts: &mut FileFacts, path: Path) -> u32 {
        if let Some(known) = self.paths.get(&path) {
            return *known;
        }
        facts.paths.push(path.clone());
        let at = facts.paths.len() as u32 - 1;
        self.paths.insert(path, at);
        at
    }

    /// The word of a number.
    pub(crate) fn text(&self, word: u32) -> Option<&'a str> {
        self.words.iter().find(|(_, known)| **known == word).map(|(text, _)| *text)
    }
}
