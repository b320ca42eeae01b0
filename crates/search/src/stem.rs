//! What is a word without its ending? `caching`, `caches` and `cached` are one.
//!
//! Does not know which words have endings: it is asked about plain English letters alone.

use frostem::{Algorithm, Stemmer};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Words repeat, and a stem costs more than a comparison: the last word of each slot is remembered.
const SLOTS: usize = 4096;

pub(crate) struct Stems {
    stemmer: Stemmer,
    seen: Vec<(String, String)>,
}

impl Default for Stems {
    fn default() -> Stems {
        Stems { stemmer: Stemmer::new(Algorithm::English), seen: Vec::new() }
    }
}

impl Clone for Stems {
    /// What was seen is not worth copying.
    fn clone(&self) -> Stems {
        Stems::default()
    }
}

impl Stems {
    pub(crate) fn push(&mut self, word: &str, into: &mut String) {
        if self.seen.is_empty() {
            self.seen.resize(SLOTS, Default::default());
        }
        let slot = FxBuildHasher.hash_one(word) as usize % SLOTS;
        let (known, stem) = &mut self.seen[slot];
        if known != word {
            known.clear();
            known.push_str(word);
            stem.clear();
            stem.push_str(&self.stemmer.stem(word));
        }
        into.push_str(stem);
    }
}
