//! Blanks text that a grammar rejects before parsing, with every byte offset unchanged. Tokens come from the original text, so the
//! blanked parts of a signature still affect its hash.
//!
//! Does not know the meaning of blanked text: it does not affect declarations, or the rest of its line repeats it.

use crate::token::PreparedText;
use facts::Span;
use std::ops::Range;

/// Finds text to blank.
pub(crate) struct BlankRule {
    /// The substring to search for.
    pub(crate) mark: &'static str,
    /// Returns the range to blank, given the text before the mark and the text from the mark on.
    pub(crate) range: fn(&str, &str) -> Option<BlankRange>,
}

/// Byte offsets to blank, relative to the mark; negative before it.
pub(crate) type BlankRange = Range<isize>;

/// A rule looks no further around a mark: in a line of 8 MB, each of a million marks would read all of it.
const CONTEXT: usize = 4096;

/// The last boundary of a character up to a place.
fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Applies blanking rules to a text.
pub(super) fn blank_text(text: &str, rules: &[BlankRule]) -> PreparedText {
    let mut hidden = Vec::new();
    for rule in rules {
        for (at, _) in text.match_indices(rule.mark) {
            let (from, to) = (boundary(text, at.saturating_sub(CONTEXT)), boundary(text, at + CONTEXT));
            let Some(blank) = (rule.range)(&text[from..at], &text[at..to]) else { continue };
            let place = |offset: isize| at.saturating_add_signed(offset).min(text.len());
            hidden.push(Span::new(place(blank.start), place(blank.end)));
        }
    }
    let mut prepared = PreparedText { bytes: text.as_bytes().to_vec(), tokens: Vec::new(), hidden };
    prepared.blank_hidden();
    prepared
}

impl PreparedText {
    /// Replaces what is hidden by spaces.
    pub(crate) fn blank_hidden(&mut self) {
        for span in &self.hidden {
            let bytes = &mut self.bytes[span.from as usize..span.to as usize];
            bytes.iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
        }
    }
}

pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}
