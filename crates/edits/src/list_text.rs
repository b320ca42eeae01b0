//! Writes the text of a list again: separators, line breaks and a trailing comma stay where their items stay.
//!
//! Does not know what the items are.

use crate::edit::TextEdit;
use crate::shape::List;
use crate::text::apply_edits;
use syntax::Span;

/// The edits of one file while they are collected: an edit of a list takes in the edits inside of it.
#[derive(Default)]
pub(crate) struct Rewriter {
    pub(crate) edits: Vec<TextEdit>,
}

impl Rewriter {
    /// The text of a span after the edits in it.
    pub(crate) fn text_of(&self, text: &str, span: Span) -> String {
        let is_inside = |it: &&TextEdit| span.from <= it.from && it.to <= span.to;
        let moved = |it: &TextEdit| TextEdit {
            from: it.from - span.from,
            to: it.to - span.from,
            text: it.text.clone(),
        };
        let mut inside: Vec<TextEdit> = self.edits.iter().filter(is_inside).map(moved).collect();
        inside.sort();
        inside.dedup();
        let own = span.text_in(text);
        apply_edits(own, &inside).unwrap_or_else(|| own.to_owned())
    }

    /// Replaces a span by its new text, instead of all edits in it; only what differs is changed.
    pub(crate) fn replace(&mut self, text: &str, span: Span, new: &str) {
        self.edits.retain(|it| it.from < span.from || span.to < it.to);
        let old = span.text_in(text);
        if old == new {
            return;
        }
        let start = common_prefix(old, new);
        let end = common_suffix(&old[start..], &new[start..]);
        let (from, to) = (span.from + start as u32, span.to - end as u32);
        self.edits.push(TextEdit { from, to, text: new[start..new.len() - end].to_owned() });
    }
}

fn common_prefix(one: &str, other: &str) -> usize {
    let equal = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    equal.last().map_or(0, |((at, c), _)| at + c.len_utf8())
}

fn common_suffix(one: &str, other: &str) -> usize {
    let equal = one.chars().rev().zip(other.chars().rev()).take_while(|(a, b)| a == b);
    equal.map(|(c, _)| c.len_utf8()).sum()
}

/// The text between the parentheses of a list with new items: each with its index in the list before, if it was there.
pub(crate) fn join_items(list: &List, text: &str, items: &[(Option<usize>, String)]) -> String {
    let (Some(first), Some(last)) = (list.items.first(), list.items.last()) else {
        return items.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ");
    };
    if items.is_empty() {
        return String::new();
    }
    let between = |from: u32, to: u32| Span { from, to }.text_in(text);
    let separator = |at: usize| between(list.items[at].span.to, list.items[at + 1].span.from);
    let is_bare = |it: &&str| it.trim() == ",";
    let usual = (0..list.items.len() - 1).map(separator).find(is_bare);
    let lead = between(list.inner.from, first.span.from);
    let alone =
        if list.has_trailing_comma && lead.contains('\n') { format!(",{lead}") } else { ", ".to_owned() };
    let usual = usual.map_or(alone, str::to_owned);
    let mut out = lead.to_owned();
    for (at, (index, written)) in items.iter().enumerate() {
        if at > 0 {
            let before = items[at - 1].0;
            let was_next = before.is_some_and(|before| Some(before + 1) == *index);
            out.push_str(if was_next { separator(index.unwrap_or(1) - 1) } else { &usual });
        }
        out.push_str(written);
    }
    out.push_str(between(last.span.to, list.inner.to));
    out
}
