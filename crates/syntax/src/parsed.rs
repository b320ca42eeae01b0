//! A parsed text that is asked more than once, and parsed again after an edit.
//!
//! Does not keep the text, and does not extract facts.

use crate::language::Extraction;
use crate::preprocessor::Symbols;
use crate::reader::{Reader, advance};
use crate::token::{PreparedText, Token, TokenKind};
use crate::walk::gaps::count_gaps;
use facts::Span;
use tree_sitter::{InputEdit, Point, Tree};

/// A text with its syntax tree.
pub struct ParsedText {
    pub(crate) language: &'static str,
    pub(crate) prepared: PreparedText,
    pub(crate) tree: Tree,
    /// Where the grammar sees only spaces.
    left_out: Vec<Span>,
}

/// A range of a text that was replaced, and the length of what replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    pub span: Span,
    pub length: u32,
}

impl Reader {
    /// Parses a text, with a set of defined preprocessor symbols.
    pub fn parse(&mut self, text: &str, symbols: &Symbols) -> Option<ParsedText> {
        let prepared = self.prepare(text, symbols);
        let tree = self.parse_tree(&prepared)?;
        Some(ParsedText { language: self.language.name, prepared, tree, left_out: Vec::new() })
    }

    /// Parses a text without comments and without what is inside of these bodies, where they are in braces. Most of the time goes
    /// into them.
    pub fn parse_around(&mut self, text: &str, symbols: &Symbols, bodies: &[Span]) -> Option<ParsedText> {
        let mut prepared = self.prepare(text, symbols);
        let bodies = bodies.iter().filter_map(|body| inside_of_braces(text, *body));
        let left_out = outermost(bodies.chain(prepared.comments()).collect());
        prepared.leave_out(&left_out);
        let tree = self.parse_outside(&prepared, &left_out, None)?;
        Some(ParsedText { language: self.language.name, prepared, tree, left_out })
    }

    /// Parses an edited text, reusing what the edits did not touch. They are sorted and do not overlap.
    pub fn parse_edited(
        &mut self,
        before: (&ParsedText, &str),
        edits: &[Replaced],
        text: &str,
        symbols: &Symbols,
    ) -> Option<ParsedText> {
        let (parsed, old) = before;
        let left_out: Vec<Span> =
            parsed.left_out.iter().filter_map(|span| span_after(*span, edits)).collect();
        let mut prepared = self.prepare(text, symbols);
        prepared.leave_out(&left_out);
        // what the grammar sees may differ in other places too: a directive decides about the lines below it
        let tree = if is_equal_outside(&parsed.prepared.bytes, &prepared.bytes, edits) {
            let mut known = parsed.tree.clone();
            // from the end, so that the offsets of the others stay
            edits.iter().rev().for_each(|edit| known.edit(&input_edit(old, *edit, text, edits)));
            self.parse_outside(&prepared, &left_out, Some(&known))?
        } else {
            self.parse_outside(&prepared, &left_out, None)?
        };
        Some(ParsedText { language: parsed.language, prepared, tree, left_out })
    }

    fn prepare(&self, text: &str, symbols: &Symbols) -> PreparedText {
        match &self.language.extraction {
            Extraction::Table(reading) => reading.prepare_text(text),
            Extraction::Custom { prepare, .. } => prepare(text, symbols),
        }
    }
}

impl ParsedText {
    /// The number of places that do not parse.
    pub fn gap_count(&self) -> usize {
        count_gaps(self.tree.root_node())
    }
}

/// Whether two texts are equal outside of what was replaced.
fn is_equal_outside(before: &[u8], after: &[u8], edits: &[Replaced]) -> bool {
    let (mut old, mut new) = (0, 0);
    for edit in edits {
        let kept = (edit.span.from as usize).saturating_sub(old);
        if before.get(old..old + kept) != after.get(new..new + kept) {
            return false;
        }
        old = edit.span.to as usize;
        new += kept + edit.length as usize;
    }
    before.get(old..) == after.get(new..)
}

/// One edit as the parser takes it, while the edits before it have not been made.
fn input_edit(old: &str, edit: Replaced, new: &str, all: &[Replaced]) -> InputEdit {
    let (from, to) = (edit.span.from as usize, edit.span.to as usize);
    let start = (from as i64 + growth_before(edit.span.from, all)) as usize;
    let inserted = new.get(start..start + edit.length as usize).unwrap_or_default();
    let start_position = point_at(old, from);
    InputEdit {
        start_byte: from,
        old_end_byte: to,
        new_end_byte: from + edit.length as usize,
        start_position,
        old_end_position: point_at(old, to),
        new_end_position: advance(start_position, inserted.as_bytes()),
    }
}

/// By how much the edits before a place move it.
fn growth_before(at: u32, edits: &[Replaced]) -> i64 {
    let before = edits.iter().take_while(|it| it.span.from < at);
    before.map(|it| i64::from(it.length) - i64::from(it.span.to - it.span.from)).sum()
}

/// Where a range is afterwards; `None` if an edit touches it: a comment may be code then, and text at its end a part of it.
fn span_after(span: Span, edits: &[Replaced]) -> Option<Span> {
    let (before, after) = edits.split_at(edits.partition_point(|it| it.span.to < span.from));
    if after.first().is_some_and(|it| it.span.from <= span.to) {
        return None;
    }
    let growth: i64 =
        before.iter().map(|it| i64::from(it.length) - i64::from(it.span.to - it.span.from)).sum();
    let moved = |at: u32| (i64::from(at) + growth) as u32;
    Some(Span { from: moved(span.from), to: moved(span.to) })
}

/// What is inside of a body; `None` if it has no braces, or a directive that decides about text behind it.
fn inside_of_braces(text: &str, body: Span) -> Option<Span> {
    let inside = body.text_in(text).strip_prefix('{')?.strip_suffix('}')?;
    let has_directive = inside.lines().any(|line| line.trim_start().starts_with('#'));
    (!has_directive).then_some(Span { from: body.from + 1, to: body.to - 1 })
}

/// Spans by position, without those inside of others.
fn outermost(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable_by_key(|span| (span.from, std::cmp::Reverse(span.to)));
    let mut end = 0;
    spans.retain(|span| {
        let is_outer = span.from >= end;
        end = end.max(span.to);
        is_outer
    });
    spans
}

impl PreparedText {
    /// The comments, in a language with tokens of its own.
    fn comments(&self) -> impl Iterator<Item = Span> {
        let is_comment = |token: &&Token| matches!(token.kind, TokenKind::Comment | TokenKind::Doc);
        self.tokens.iter().filter(is_comment).map(|token| token.span)
    }

    fn leave_out(&mut self, spans: &[Span]) {
        for span in spans {
            let Some(bytes) = self.bytes.get_mut(span.from as usize..span.to as usize) else { continue };
            bytes.iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
        }
    }
}

fn point_at(text: &str, at: usize) -> Point {
    advance(Point { row: 0, column: 0 }, text.get(..at).unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::LANGUAGES;

    const SAMPLES: &[(&str, &str)] = &[
        ("C#", "#if A\nclass B { int name; }\n#endif\nclass C {\n  int name = 1;\n  int Get() => name;\n}\n"),
        ("Python", "class A:\n    def name(self):\n        return [name for name in self.b]\n\nname = 1\n"),
        ("TypeScript", "const name = 1;\nexport const b = { name, c: `${name}` };\n"),
        ("Rust", "fn name() -> u32 { let x = 1; x }\nmod a { use super::name; }\n"),
        ("Go", "package a\n\nvar name = 1\n\nfunc b() int { return name }\n"),
        ("Java", "class A { int name; int b() { return this.name; } }\n"),
    ];

    /// A text with every occurrence of a word replaced.
    fn replace(text: &str, name: &str, by: &str) -> (String, Vec<Replaced>) {
        let edits = crate::whole_words(text, name).into_iter();
        (text.replace(name, by), edits.map(|span| Replaced { span, length: by.len() as u32 }).collect())
    }

    #[test]
    fn an_edited_text_parses_as_if_it_were_new() {
        let symbols = Symbols::default();
        for (language, text) in SAMPLES {
            let language = LANGUAGES.iter().find(|it| it.name == *language).unwrap();
            let mut reader = Reader::new(language).unwrap();
            let before = reader.parse(text, &symbols).unwrap();
            for by in ["renamed", "a\n+ b", "(", "", "#endif\n"] {
                let (after, edits) = replace(text, "name", by);
                let reused = reader.parse_edited((&before, text), &edits, &after, &symbols).unwrap();
                let fresh = reader.parse(&after, &symbols).unwrap();
                let place = format!("{} with {by:?}", language.name);
                assert_eq!(reused.gap_count(), fresh.gap_count(), "{place}");
                if fresh.gap_count() == 0 {
                    assert_eq!(reused.nodes(), fresh.nodes(), "{place}");
                }
            }
        }
    }

    #[test]
    fn occurrences_outside_of_bodies_do_not_depend_on_the_bodies() {
        let java = LANGUAGES.iter().find(|it| it.name == "Java").unwrap();
        let mut reader = Reader::new(java).unwrap();
        let text = "class A { int name; int b() { return 1 + 2; } int c(int d) { return name + d; } }";
        let at = text.find("{ return 1").unwrap();
        let body = Span::new(at, at + "{ return 1 + 2; }".len());
        let whole = reader.parse(text, &Symbols::default()).unwrap();
        let part = reader.parse_around(text, &Symbols::default(), &[body]).unwrap();
        assert!(part.nodes().len() < whole.nodes().len());
        assert_eq!(part.occurrences(text, "name"), whole.occurrences(text, "name"));
        let (after, edits) = replace(text, "name", "other");
        let edited = reader.parse_edited((&part, text), &edits, &after, &Symbols::default()).unwrap();
        let fresh = reader.parse(&after, &Symbols::default()).unwrap();
        assert_eq!(
            (edited.gap_count(), edited.occurrences(&after, "other")),
            (0, fresh.occurrences(&after, "other"))
        );
    }

    #[test]
    fn occurrences_do_not_depend_on_comments_that_are_left_out() {
        let csharp = LANGUAGES.iter().find(|it| it.name == "C#").unwrap();
        let mut reader = Reader::new(csharp).unwrap();
        let symbols = Symbols::default();
        let text = "/// <see cref=\"name\"/>\n// a\nclass/* name */name // { name\n{\n  int b/**/= 1; int c() { return 1; /* } */ }\n}\n#if A\nname\n#endif\n";
        let whole = reader.parse(text, &symbols).unwrap();
        let part = reader.parse_around(text, &symbols, &[]).unwrap();
        assert_eq!((part.gap_count(), whole.gap_count()), (0, 0));
        assert!(!part.left_out.is_empty());
        let found = whole.occurrences(text, "name");
        assert_eq!(found.all.len(), 5);
        assert_eq!(part.occurrences(text, "name"), found);
        for by in ["x", "renamed"] {
            let (after, edits) = replace(text, "name", by);
            let edited = reader.parse_edited((&part, text), &edits, &after, &symbols).unwrap();
            let fresh = reader.parse(&after, &symbols).unwrap();
            assert_eq!(
                (edited.gap_count(), edited.occurrences(&after, by)),
                (0, fresh.occurrences(&after, by))
            );
        }
    }

    #[test]
    fn a_deletion_across_what_is_left_out_parses_as_if_it_were_new() {
        let symbols = Symbols::default();
        for (language, text) in [
            ("C#", "// a\nclass A\n{\n  /* b */ int C() { return 1; } // d\n  int e; /// f\n}\n"),
            ("Java", "/** a */ class A { int b() { return 1; /* c */ } int d; } // e\n"),
        ] {
            let language = LANGUAGES.iter().find(|it| it.name == language).unwrap();
            let mut reader = Reader::new(language).unwrap();
            let before = reader.parse_around(text, &symbols, &[]).unwrap();
            for from in 0..text.len() {
                for (to, by) in (from..=text.len()).flat_map(|to| [(to, ""), (to, "x;\n")]) {
                    let after = format!("{}{by}{}", &text[..from], &text[to..]);
                    let edit = Replaced { span: Span::new(from, to), length: by.len() as u32 };
                    let reused = reader.parse_edited((&before, text), &[edit], &after, &symbols).unwrap();
                    let fresh = reader.parse(&after, &symbols).unwrap();
                    let (reused, fresh) = (reused.gap_count() > 0, fresh.gap_count() > 0);
                    assert_eq!(reused, fresh, "{by:?} at {from}..{to}: {after}");
                }
            }
        }
    }

    #[test]
    fn words_of_the_grammar_are_keywords_also_where_they_are_names() {
        for (language, word) in
            [("C#", "record"), ("Python", "match"), ("TypeScript", "type"), ("Go", "func")]
        {
            let language = LANGUAGES.iter().find(|it| it.name == language).unwrap();
            let reader = Reader::new(language).unwrap();
            assert!(reader.is_keyword(word), "{word}");
            assert!(["Ledger", "_x", "identifier", "name"].iter().all(|name| !reader.is_keyword(name)));
        }
    }

    #[test]
    fn a_body_with_a_directive_is_parsed() {
        let text = "{\n#if A\n}\n#endif\n}";
        assert_eq!(inside_of_braces(text, Span::new(0, text.len())), None);
    }

    #[test]
    fn a_text_that_does_not_parse_has_gaps() {
        let java = LANGUAGES.iter().find(|it| it.name == "Java").unwrap();
        let mut reader = Reader::new(java).unwrap();
        let text = "class A { int b; }";
        let before = reader.parse(text, &Symbols::default()).unwrap();
        assert_eq!(before.gap_count(), 0);
        let (after, edits) = replace(text, "b", "}{");
        let parsed = reader.parse_edited((&before, text), &edits, &after, &Symbols::default());
        assert!(parsed.unwrap().gap_count() > 0);
    }
}
