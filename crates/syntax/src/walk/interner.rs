//! Interns the words and paths of a file.
//!
//! Does not know what they refer to.

use facts::{FileFacts, Path};
use rustc_hash::FxHashMap;

/// Indices of the words and paths interned so far.
#[derive(Default)]
pub(crate) struct Interner<'a> {
    words: FxHashMap<&'a str, u32>,
    /// Each word by its index.
    texts: Vec<&'a str>,
    paths: FxHashMap<Path, u32>,
}

impl<'a> Interner<'a> {
    pub(crate) fn intern_word(&mut self, facts: &mut FileFacts, text: &'a str) -> u32 {
        let texts = &mut self.texts;
        *self.words.entry(text).or_insert_with(|| {
            facts.words.push(text.into());
            texts.push(text);
            facts.words.len() as u32 - 1
        })
    }

    pub(crate) fn intern_path(&mut self, facts: &mut FileFacts, path: Path) -> u32 {
        if let Some(known) = self.paths.get(&path) {
            return *known;
        }
        facts.paths.push(path.clone());
        let at = facts.paths.len() as u32 - 1;
        self.paths.insert(path, at);
        at
    }

    /// Looks up an interned word.
    pub(crate) fn word_text(&self, word: u32) -> Option<&'a str> {
        self.texts.get(word as usize).copied()
    }
}
