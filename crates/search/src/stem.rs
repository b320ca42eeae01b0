//! Stems English words: `caching`, `caches` and `cached` share one stem.
//!
//! Does not know which words have endings: the caller passes plain English letters only.

use frostem::{Algorithm, Stemmer};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Words repeat, and stemming costs more than a comparison: each slot caches its last word.
const CACHE_SLOTS: usize = 4096;

pub(crate) struct StemCache {
    stemmer: Stemmer,
    seen: Vec<(String, String)>,
}

impl Default for StemCache {
    fn default() -> StemCache {
        StemCache { stemmer: Stemmer::new(Algorithm::English), seen: Vec::new() }
    }
}

impl Clone for StemCache {
    /// The cache is not worth copying.
    fn clone(&self) -> StemCache {
        StemCache::default()
    }
}

impl StemCache {
    pub(crate) fn push_stem(&mut self, word: &str, into: &mut String) {
        if self.seen.is_empty() {
            self.seen.resize(CACHE_SLOTS, Default::default());
        }
        let slot = FxBuildHasher.hash_one(word) as usize % CACHE_SLOTS;
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
