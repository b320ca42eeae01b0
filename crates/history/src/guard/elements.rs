//! The tags of a text and how they are nested, as far as that can be told from their names.
//!
//! Does not know which of them count.

use super::names::{Meaning, Name, is_pair_word, is_role};
use super::openers::{Sign, openers, split_lead};
use rustc_hash::{FxHashMap, FxHashSet};

/// Elements of pages, which a wrapper may stand in: they say nothing about what is in them.
#[rustfmt::skip]
const PAGE: &[&str] = &[
    "html", "body", "div", "span", "p", "details", "summary", "pre", "code", "blockquote", "table", "tbody", "tr", "td", "th", "ul", "ol",
    "li", "b", "i", "em", "strong", "section", "article", "main", "center", "font", "a", "u", "s", "h1", "h2", "h3", "h4", "h5", "h6",
];

/// Open elements that are looked at to find the begin of one, so that no text makes this slow.
const MAX_OPEN: usize = 64;

pub(super) struct Elements {
    /// The names of closing tags.
    closed: FxHashSet<String>,
    /// For each tag, by the position of its bracket: whether it is in an element of a document.
    in_document: FxHashMap<usize, bool>,
    is_document: bool,
}

struct Open {
    squashed: String,
    is_document: bool,
}

impl Elements {
    pub(super) fn read(text: &str) -> Elements {
        let mut tags = Vec::new();
        let mut closed = FxHashSet::default();
        for (at, length, sign) in openers(text) {
            if sign != Sign::Angle {
                continue;
            }
            let (lead, rest) = split_lead(&text[at + length..]);
            let name = Name::read(rest);
            if name.squashed.is_empty() || lead.contains(['!', '?']) {
                continue;
            }
            let is_closing = lead.contains(['/', '\\', '∕', '⁄', '／', '＼']);
            if is_closing {
                closed.insert(name.all_words().0);
                closed.insert(name.squashed.clone());
            }
            let speaks = name.meaning() != Meaning::Other
                || name.words.len() == 1 && (is_role(&name.squashed) || is_pair_word(&name.squashed));
            let is_page = PAGE.contains(&name.squashed.as_str());
            tags.push((at, name.squashed.clone(), is_closing, name.closes_itself(), !speaks && !is_page));
        }
        let mut open: Vec<Open> = Vec::new();
        let mut in_document = FxHashMap::default();
        for (at, squashed, is_closing, is_empty, is_document) in tags {
            if is_closing {
                let recent = open.len().saturating_sub(MAX_OPEN);
                if let Some(found) = open[recent..].iter().rposition(|it| it.squashed == squashed) {
                    open.truncate(recent + found);
                }
            }
            let around = open.last().is_some_and(|it| it.is_document);
            in_document.insert(at, around);
            if !is_closing && !is_empty && closed.contains(&squashed) {
                open.push(Open { squashed, is_document: around || is_document });
            }
        }
        let is_document = ["<?xml", "xmlns", "<!DOCTYPE", "<!doctype"].iter().any(|mark| text.contains(mark));
        Elements { closed, in_document, is_document }
    }

    /// Whether the text contains the closing tag of this name.
    pub(super) fn is_closed(&self, name: &str) -> bool {
        self.closed.contains(name)
    }

    /// Whether the tag at this position belongs to a document of another format.
    pub(super) fn is_in_document(&self, text: &str, at: usize) -> bool {
        let near = &text[text.floor_char_boundary(at.saturating_sub(80))..at];
        let comment = near.rsplit('\n').next().unwrap_or_default().trim_start();
        self.is_document
            || self.in_document.get(&at).copied().unwrap_or_default()
            || comment.starts_with("///")
    }
}
