//! What a grammar cannot read, left out of the text that is parsed, every byte in its place. Tokens are cut from the text as it is,
//! so that what is left out of a signature still counts.
//!
//! Does not know what is left out: it says nothing about what is declared, or the rest of its line says it again.

use crate::token::Prepared;
use std::ops::Range;

/// Where a text may have to be spelled otherwise.
pub(crate) struct Rule {
    /// What such a place has.
    pub(crate) mark: &'static str,
    /// What of the text before the mark, and of the text from it on, becomes blank.
    pub(crate) blank: fn(&str, &str) -> Option<Blank>,
}

/// Bytes to be blanked, counted from the mark; those before it are negative.
pub(crate) type Blank = Range<isize>;

/// A text without what the rules leave out.
pub(super) fn respelled(text: &str, rules: &[Rule]) -> Prepared {
    let mut bytes = text.as_bytes().to_vec();
    for rule in rules {
        for (at, _) in text.match_indices(rule.mark) {
            let Some(blank) = (rule.blank)(&text[..at], &text[at..]) else { continue };
            let place = |offset: isize| at.saturating_add_signed(offset).min(text.len());
            let bytes = &mut bytes[place(blank.start)..place(blank.end)];
            bytes.iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
        }
    }
    Prepared { bytes, tokens: Vec::new() }
}

pub(crate) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}
