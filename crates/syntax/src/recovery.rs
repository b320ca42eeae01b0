//! Recovers from an error that swallows the declarations after it: hides the damaged text from the grammar, so that the rest is
//! parsed. Used where a grammar ends at its first error, such as a Kotlin class whose constructor is on the line after its name.
//!
//! Does not repair anything: what is hidden is a gap, and its words are textual references.

use crate::token::PreparedText;
use facts::Span;
use facts::{FileFacts, Gap, GapKind};
use tree_sitter::Tree;

/// How often a file is parsed again. Each time costs a parse, and a file with more damage than this is hardly source.
const MAX_ATTEMPTS: usize = 12;

/// Parses a text, and again without its damage while that helps; returns what was hidden.
pub(crate) fn parse_recovering(
    mut parse: impl FnMut(&PreparedText) -> Option<Tree>,
    prepared: &mut PreparedText,
) -> (Option<Tree>, Vec<Span>) {
    let mut skipped = Vec::new();
    let mut tree = parse(prepared);
    for _ in 0..MAX_ATTEMPTS {
        let Some(from) = tree.as_ref().and_then(first_error) else { break };
        // a head that the grammar does not know, whose body may still be read; otherwise the whole declaration
        let damaged = &prepared.bytes[from..];
        let next = paragraph_end(damaged);
        let head = head_end(&damaged[..next.unwrap_or(damaged.len())]);
        let lengths = [head, next];
        let helps = lengths.into_iter().flatten().find_map(|length| {
            let span = Span::new(from, from + length);
            let next = parse(&prepared.without(span))?;
            first_error(&next).is_none_or(|at| at > from).then_some((next, span))
        });
        let Some((next, span)) = helps else { break };
        tree = Some(next);
        skipped.push(span);
        prepared.hidden.push(span);
        prepared.blank_hidden();
    }
    (tree, skipped)
}

impl PreparedText {
    fn without(&self, span: Span) -> PreparedText {
        let mut less = PreparedText { bytes: self.bytes.clone(), tokens: Vec::new(), hidden: vec![span] };
        less.blank_hidden();
        less
    }
}

/// Where the first error outside of all declarations starts.
fn first_error(tree: &Tree) -> Option<usize> {
    let root = tree.root_node();
    let mut cursor = root.walk();
    // below a root that is an error itself, what was not understood is loose tokens
    let mut errors =
        root.children(&mut cursor).filter(|it| it.is_error() || root.is_error() && !it.is_named());
    errors.next().map(|it| it.start_byte())
}

/// Where the next paragraph starts that is not indented.
fn paragraph_end(bytes: &[u8]) -> Option<usize> {
    let text: Vec<usize> = memchr::memchr_iter(b'\n', bytes).collect();
    let is_blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
    let starts =
        |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphabetic() || b"@_".contains(byte));
    text.windows(2)
        .find(|ends| is_blank(&bytes[ends[0]..ends[1]]) && starts(ends[1] + 1))
        .map(|ends| ends[1] + 1)
}

/// The length of a head before the brace at the end of a line.
fn head_end(bytes: &[u8]) -> Option<usize> {
    let brace = memchr::memmem::find(bytes, b"{\n").or_else(|| memchr::memmem::find(bytes, b"{\r\n"))?;
    Some(brace).filter(|length| *length > 0)
}

/// Records what was hidden as gaps.
pub(crate) fn record_skipped(facts: &mut FileFacts, text: &str, skipped: &[Span]) {
    for span in skipped {
        let before = &text.as_bytes()[..span.from as usize];
        let line = memchr::memchr_iter(b'\n', before).count() as u32 + 1;
        facts.gaps.push(Gap { span: *span, line, kind: GapKind::Unexpected });
        for part in facts.types.iter_mut().filter(|part| part.span.overlaps(*span)) {
            part.degraded = true;
        }
    }
    facts.gaps.sort_by_key(|gap| gap.span);
}
