//! The table of supported languages, and the reader that parses a file of any of them.
//!
//! Does not know a particular language: each row supplies the grammar, the preparation of the text and the extraction of facts.

use crate::effort::{EffortLimit, PIECE};
use crate::language::{Extraction, Language};
use crate::preprocessor::Symbols;
use crate::token::{PreparedText, Source, Token, count_lines};
use crate::walk::LazyDialect;
use crate::{
    c, cpp, csharp, go, java, kotlin, php, python, recovery, ruby, rust, shell, swift, typescript, walk,
};
use facts::{FileFacts, Gap, GapKind, Scope, Span};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use tree_sitter::{ParseOptions, ParseState, Parser, Point, Range, Tree};

pub const LANGUAGES: &[Language] = &[
    csharp::LANGUAGE,
    rust::LANGUAGE,
    typescript::LANGUAGE,
    typescript::JAVASCRIPT,
    python::LANGUAGE,
    go::LANGUAGE,
    java::LANGUAGE,
    c::LANGUAGE,
    cpp::LANGUAGE,
    kotlin::LANGUAGE,
    php::LANGUAGE,
    ruby::LANGUAGE,
    swift::LANGUAGE,
    shell::LANGUAGE,
];

/// Determines the language of a file by its extension.
pub fn language_of(path: &Path) -> Option<&'static Language> {
    let ending = path.extension()?.to_str()?;
    LANGUAGES.iter().find(|language| language.extensions.contains(&ending))
}

/// Extracts facts from files of one language; reuses one parser.
pub struct Reader {
    pub(crate) language: &'static Language,
    parser: Parser,
}

/// The version of a grammar is incompatible with the tree-sitter library.
#[derive(Debug, thiserror::Error)]
#[error("grammar for {language} is incompatible with the parser: {reason}")]
pub struct GrammarError {
    pub language: &'static str,
    pub reason: String,
}

impl Reader {
    pub fn new(language: &'static Language) -> Result<Reader, GrammarError> {
        let mut parser = Parser::new();
        let refused = |error: tree_sitter::LanguageError| GrammarError {
            language: language.name,
            reason: error.to_string(),
        };
        parser.set_language(&(language.grammar)()).map_err(refused)?;
        Ok(Reader { language, parser })
    }

    /// Whether a word is a token of the grammar: a keyword, also where it can be a name.
    pub fn is_keyword(&self, word: &str) -> bool {
        self.parser.language().is_none_or(|grammar| grammar.id_for_node_kind(word, false) != 0)
    }

    /// Extracts the facts of one file, with a set of defined preprocessor symbols. Of a file that would cost more than its size
    /// allows, nothing is known but a gap.
    pub fn read(&mut self, text: &str, symbols: &Symbols) -> FileFacts {
        self.read_while(text, symbols, &|| true).unwrap_or_default()
    }

    /// The same, as long as the caller wants it. `None` if it does not any more.
    pub fn read_while(
        &mut self,
        text: &str,
        symbols: &Symbols,
        is_wanted: &(dyn Fn() -> bool + Sync),
    ) -> Option<FileFacts> {
        let budget = EffortLimit::new(text.len(), is_wanted);
        let facts = match &self.language.extraction {
            Extraction::Table(reading) => {
                let mut prepared = reading.prepare_text(text);
                let (tree, skipped) = self.parse_table(reading, &mut prepared, &budget);
                tree.and_then(|tree| {
                    let extract = |budget: &EffortLimit| {
                        walk::extract_facts(reading, &tree, text, &prepared.hidden, budget)
                    };
                    let mut facts = extract_on_stack(&tree, &budget, is_wanted, &extract)?;
                    recovery::record_skipped(&mut facts, text, &skipped);
                    Some(facts)
                })
            }
            Extraction::Custom { prepare, extract } => {
                let prepared = prepare(text, symbols);
                let source = Source { text, tokens: &prepared.tokens };
                self.parse_in_budget(&prepared, &budget).and_then(|tree| {
                    let extract = |budget: &EffortLimit| extract(&tree, &source, budget);
                    extract_on_stack(&tree, &budget, is_wanted, &extract)
                })
            }
        };
        if budget.is_cancelled() {
            return None;
        }
        Some(facts.unwrap_or_else(|| unread_facts(text, &self.language.extraction)))
    }

    /// The tokens of a text in a table-driven language, in source order.
    #[doc(hidden)] // for tests that edit source token by token
    pub fn read_tokens(&mut self, text: &str) -> Vec<Token> {
        let Extraction::Table(reading) = &self.language.extraction else { return Vec::new() };
        let mut prepared = reading.prepare_text(text);
        let budget = EffortLimit::new(text.len(), &|| true);
        let (tree, _) = self.parse_table(reading, &mut prepared, &budget);
        tree.map_or_else(Vec::new, |tree| walk::tokenize(reading, &tree, text, &budget))
    }

    /// Parses a text of a table-driven language; returns what was hidden from the grammar because it is damaged.
    fn parse_table(
        &mut self,
        reading: &LazyDialect,
        prepared: &mut PreparedText,
        budget: &EffortLimit,
    ) -> (Option<Tree>, Vec<Span>) {
        if reading.skips_damage() {
            recovery::parse_recovering(|prepared| self.parse_in_budget(prepared, budget), prepared)
        } else {
            (self.parse_in_budget(prepared, budget), Vec::new())
        }
    }

    /// `None` if the text takes more than its budget.
    pub(crate) fn parse_tree(&mut self, prepared: &PreparedText) -> Option<Tree> {
        self.parse_in_budget(prepared, &EffortLimit::new(prepared.bytes.len(), &|| true))
    }

    fn parse_in_budget(&mut self, prepared: &PreparedText, budget: &EffortLimit) -> Option<Tree> {
        self.parse_reusing(prepared, None, budget)
    }

    fn parse_reusing(
        &mut self,
        prepared: &PreparedText,
        known: Option<&Tree>,
        budget: &EffortLimit,
    ) -> Option<Tree> {
        budget.begin_parse();
        let bytes = &prepared.bytes;
        let mut report = |_: &ParseState| {
            if budget.spend_report() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut report);
        let tree = self.parser.parse_with_options(
            &mut |at, _| {
                bytes.get(at..piece_end(bytes, at)).filter(|_| budget.spend_read()).unwrap_or_default()
            },
            known,
            Some(options),
        );
        // a parser that got no more text took what it had for the whole
        let tree = tree.filter(|_| budget.can_read());
        if tree.is_none() {
            // otherwise the next parse would go on with this one
            self.parser.reset();
        }
        tree
    }

    /// Parses what is outside of some spans, reusing a tree that was edited as the text was. The lexer is not shown the spans: with
    /// spaces instead, a fifth of the time of a rename in efcore went into skipping them.
    pub(crate) fn parse_outside(
        &mut self,
        prepared: &PreparedText,
        left_out: &[Span],
        known: Option<&Tree>,
    ) -> Option<Tree> {
        self.parser.set_included_ranges(&ranges_outside(&prepared.bytes, left_out)).ok()?;
        let tree = self.parse_reusing(prepared, known, &EffortLimit::new(prepared.bytes.len(), &|| true));
        self.parser.set_included_ranges(&[]).ok()?;
        tree
    }
}

/// Where a piece of text for the parser ends. Not within a character: of that, tree-sitter would decode the rest in the next piece, also
/// if there is none because the limit is reached, and end the process.
fn piece_end(bytes: &[u8], at: usize) -> usize {
    let most = bytes.len().min(at + PIECE);
    let is_inside = |end: &usize| bytes.get(*end).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at + 1..=most).rev().find(|end| !is_inside(end)).unwrap_or(most)
}

/// Up to this depth, a tree is walked on the stack of the caller.
/// The deepest of eleven thousand real files reaches 190.
const SHALLOW: usize = 300;

/// That of the threads that read a tree. Unused stack costs nothing.
const STACK_BYTES: usize = 16 << 20;

/// Walks a tree, a deep one on a thread with a larger stack. `None` if that takes more than the budget.
fn extract_on_stack(
    tree: &Tree,
    budget: &EffortLimit,
    is_wanted: &(dyn Fn() -> bool + Sync),
    extract: &(dyn Fn(&EffortLimit) -> FileFacts + Sync),
) -> Option<FileFacts> {
    if !is_deeper_than(tree, SHALLOW) {
        let facts = extract(budget);
        return (!budget.is_spent()).then_some(facts);
    }
    let bytes = tree.root_node().end_byte();
    let walk = || {
        let budget = EffortLimit::new(bytes, is_wanted);
        let facts = extract(&budget);
        ((!budget.is_spent()).then_some(facts), budget.is_cancelled())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, walk);
        // without a thread, the file counts as over its budget
        let (facts, is_cancelled) =
            thread.ok()?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if is_cancelled {
            budget.cancel();
        }
        facts
    })
}

fn is_deeper_than(tree: &Tree, most: usize) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > most {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

/// What is known of a file that is over its budget: that it is.
fn unread_facts(text: &str, extraction: &Extraction) -> FileFacts {
    let (is_textual, requires_imports) = match extraction {
        Extraction::Table(reading) => (reading.is_textual(), true),
        Extraction::Custom { .. } => (false, false),
    };
    FileFacts {
        scopes: vec![Scope::default()],
        bytes: text.len() as u32,
        lines: count_lines(text),
        is_textual,
        requires_imports,
        gaps: vec![Gap { span: Span::new(0, text.len()), line: 1, kind: GapKind::OverBudget }],
        ..FileFacts::default()
    }
}

/// The ranges outside of some sorted spans; none if there are no spans. The last byte of a span, a space, stays: it separates what
/// is around the span.
fn ranges_outside(bytes: &[u8], spans: &[Span]) -> Vec<Range> {
    let mut ranges = Vec::new();
    let (mut from, mut start) = (0, Point { row: 0, column: 0 });
    for span in spans.iter().filter(|span| span.to > span.from + 1) {
        let (at, end) = (span.from as usize, span.to as usize - 1);
        let point = advance(start, &bytes[from..at]);
        ranges.push(Range { start_byte: from, end_byte: at, start_point: start, end_point: point });
        (from, start) = (end, advance(point, &bytes[at..end]));
    }
    if !ranges.is_empty() {
        let end_point = advance(start, &bytes[from..]);
        ranges.push(Range { start_byte: from, end_byte: bytes.len(), start_point: start, end_point });
    }
    ranges
}

/// Where a text ends that starts at a point.
pub(crate) fn advance(from: Point, text: &[u8]) -> Point {
    let rows = memchr::memchr_iter(b'\n', text).count();
    match memchr::memrchr(b'\n', text) {
        Some(last) => Point { row: from.row + rows, column: text.len() - last - 1 },
        None => Point { row: from.row, column: from.column + text.len() },
    }
}

/// Decodes a file as UTF-16 if it starts with a byte order mark, as UTF-8 if it is valid, and otherwise as Latin-1, which accepts
/// any bytes.
pub fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |of: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| of([pair[0], pair[1]]));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>()
    };
    match bytes {
        [0xff, 0xfe, ..] => Cow::Owned(wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Cow::Owned(wide(u16::from_be_bytes)),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: the scanner for comments reads to the end of the file from each of them, until it gets no more text.
    #[test]
    fn the_limit_may_be_reached_within_a_character() {
        let mut reader = Reader::new(language_of(Path::new("a.swift")).unwrap()).unwrap();
        for prefix in ["", " ", "  "] {
            let text = format!("{prefix}{}{}", "/*".repeat(2_000), "€".repeat(20_000));
            assert!(reader.read(&text, &Symbols::default()).is_over_budget());
        }
    }

    #[test]
    fn any_bytes_can_be_decoded() {
        assert_eq!(decode_text("ä".as_bytes()), "ä");
        assert_eq!(decode_text(&[0xe4]), "ä");
        assert_eq!(decode_text(&[0xff, 0xfe, 0xe4, 0]), "ä");
        assert_eq!(decode_text(&[0xfe, 0xff, 0, 0xe4]), "ä");
        assert_eq!(decode_text(&[0xff, 0xfe, 0xe4]), "");
    }

    #[test]
    fn every_grammar_is_compatible_with_the_parser() {
        for language in LANGUAGES {
            Reader::new(language).unwrap();
        }
    }
}
