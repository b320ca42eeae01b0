//! Text with emphasis that is wrapped to a width once and then scrolled: a session, a preview, the evidence of a fact.
//!
//! Does not know what the text says. The cost of a frame depends on the visible lines only.

use crate::clean_text::{clean_block, find_words, wrap_line};
use crate::ink::Ink;

/// A piece of a line with one emphasis.
pub(crate) type Span = (String, Ink);

/// A line before wrapping, and the block of the document that it belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Paragraph {
    spans: Vec<Span>,
    block: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Document {
    paragraphs: Vec<Paragraph>,
    lines: Vec<Paragraph>,
    width: usize,
    top: usize,
    /// The current line, for documents in which lines are chosen.
    cursor: usize,
    block: usize,
}

impl Document {
    /// Begins the next block; lines that are added from now on belong to it.
    pub(crate) fn start_block(&mut self, block: usize) {
        self.block = block;
    }

    pub(crate) fn push(&mut self, spans: Vec<Span>) {
        self.paragraphs.push(Paragraph { spans, block: self.block });
    }

    pub(crate) fn push_text(&mut self, text: &str, ink: Ink) {
        self.push(vec![(clean_block(text), ink)]);
    }

    /// Adds text of a transcript line by line, with the words of a search marked.
    pub(crate) fn push_marked(&mut self, text: &str, ink: Ink, words: &[String]) {
        for line in clean_block(text).lines() {
            self.push(mark_ranges(line, ink, &find_words(line, words)));
        }
    }

    /// Replaces the content and keeps the position.
    pub(crate) fn replace(&mut self, other: Document) {
        (self.paragraphs, self.lines, self.width) = (other.paragraphs, Vec::new(), 0);
    }

    /// Wraps to the width if it has changed, and keeps the window and the cursor inside the text.
    pub(crate) fn fit(&mut self, width: usize, height: usize) {
        if self.width != width {
            let at = self.lines.get(self.cursor).map(|line| line.block);
            self.wrap(width);
            if let Some(block) = at {
                self.keep_in_block(block);
            }
        }
        self.cursor = self.cursor.min(self.lines.len().saturating_sub(1));
        self.top = self.top.min(self.lines.len().saturating_sub(height));
    }

    /// Like [`Document::fit`], with the cursor in the window.
    pub(crate) fn fit_cursor(&mut self, width: usize, height: usize) {
        self.fit(width, height);
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height.max(1)));
    }

    fn wrap(&mut self, width: usize) {
        self.width = width;
        self.lines = self.paragraphs.iter().flat_map(|paragraph| wrap_paragraph(paragraph, width)).collect();
    }

    fn keep_in_block(&mut self, block: usize) {
        if self.lines.get(self.cursor).is_none_or(|line| line.block != block) {
            self.go_to_block(block);
        }
    }

    pub(crate) fn go_to_block(&mut self, block: usize) {
        let found = self.lines.iter().position(|line| line.block >= block);
        self.cursor = found.unwrap_or(self.lines.len().saturating_sub(1));
        self.top = self.cursor;
    }

    pub(crate) fn scroll(&mut self, by: isize) {
        self.top = self.top.saturating_add_signed(by).min(self.lines.len().saturating_sub(1));
    }

    pub(crate) fn move_cursor(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.lines.len().saturating_sub(1));
    }

    /// Moves the cursor to a visible line; returns whether it was there already.
    pub(crate) fn click(&mut self, offset: usize) -> bool {
        let before = self.cursor;
        self.cursor = (self.top + offset).min(self.lines.len().saturating_sub(1));
        self.cursor == before
    }

    /// The block of the current line.
    pub(crate) fn current_block(&self) -> Option<usize> {
        self.lines.get(self.cursor).map(|line| line.block)
    }

    /// The visible lines, and which of them is the current one.
    pub(crate) fn visible(&self, height: usize) -> (impl Iterator<Item = &[Span]>, usize) {
        let end = (self.top + height).min(self.lines.len());
        let lines = self.lines[self.top.min(end)..end].iter().map(|line| &line.spans[..]);
        (lines, self.cursor.saturating_sub(self.top))
    }

    /// The first visible line and the number of lines, for a position in percent.
    pub(crate) fn position(&self) -> (usize, usize) {
        (self.top, self.lines.len())
    }
}

/// Splits a line at the ranges that match.
pub(crate) fn mark_ranges(line: &str, ink: Ink, ranges: &[std::ops::Range<usize>]) -> Vec<Span> {
    let (mut spans, mut at) = (Vec::new(), 0);
    for range in ranges {
        spans.push((line[at..range.start].to_string(), ink));
        spans.push((line[range.clone()].to_string(), Ink::Match));
        at = range.end;
    }
    spans.push((line[at..].to_string(), ink));
    spans.retain(|(text, _)| !text.is_empty());
    spans
}

fn wrap_paragraph(paragraph: &Paragraph, width: usize) -> Vec<Paragraph> {
    let text: String = paragraph.spans.iter().map(|(text, _)| text.as_str()).collect();
    let ranges = wrap_line(&text, width);
    if ranges.len() == 1 {
        return vec![paragraph.clone()];
    }
    let cut = |range| Paragraph { spans: cut_spans(&paragraph.spans, &range), block: paragraph.block };
    ranges.into_iter().map(cut).collect()
}

/// The spans inside a byte range of their joined text.
fn cut_spans(spans: &[Span], range: &std::ops::Range<usize>) -> Vec<Span> {
    let mut at = 0;
    let mut cut = Vec::new();
    for (text, ink) in spans {
        let (start, end) = (range.start.max(at), range.end.min(at + text.len()));
        if start < end {
            cut.push((text[start - at..end - at].to_string(), *ink));
        }
        at += text.len();
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &Document, height: usize) -> Vec<String> {
        document
            .visible(height)
            .0
            .map(|spans| spans.iter().map(|(text, _)| text.as_str()).collect())
            .collect()
    }

    #[test]
    fn emphasis_survives_wrapping() {
        let mut document = Document::default();
        document.push_marked("the socket is lost", Ink::Plain, &["socket".to_string()]);
        document.fit(8, 9);
        assert_eq!(shown(&document, 9), ["the ", "socket ", "is lost"]);
        let marked: Vec<Span> = document
            .lines
            .iter()
            .flat_map(|line| line.spans.clone())
            .filter(|(_, ink)| *ink == Ink::Match)
            .collect();
        assert_eq!(marked, [("socket".to_string(), Ink::Match)]);
    }

    #[test]
    fn a_narrower_window_stays_in_its_block() {
        let mut document = Document::default();
        for block in 0..20 {
            document.start_block(block);
            document.push_text("some words in a row", Ink::Plain);
        }
        document.fit_cursor(40, 5);
        document.move_cursor(10);
        document.fit_cursor(40, 5);
        assert_eq!(document.current_block(), Some(10));
        document.fit_cursor(10, 5);
        assert_eq!(document.current_block(), Some(10));
    }

    #[test]
    fn scrolling_stops_at_both_ends() {
        let mut document = Document::default();
        document.push_marked("a\nb\nc", Ink::Plain, &[]);
        document.fit(10, 2);
        document.scroll(50);
        document.fit(10, 2);
        assert_eq!(shown(&document, 2), ["b", "c"]);
        document.scroll(-50);
        assert_eq!(shown(&document, 2), ["a", "b"]);
    }
}
