//! Edits of whole files with a known effect, to check hashes against: layout, comments, documentation, bodies, signatures. Used by
//! tests and by the example that runs them over real code.
//!
//! Does not know how hashes are computed.

use syntax::csharp;
use syntax::{
    FileFacts, Member, MemberKind, Reader, Span, Symbols, Token, TokenKind, TypeKind, TypePart, Visibility,
};

/// How a text is reformatted, token by token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// As few lines as possible.
    Dense,
    /// One line per token, with irregular indentation and CRLF line endings.
    Airy,
    /// Braces on separate lines, indented with tabs.
    Braces,
}

pub(crate) const STYLES: &[Style] = &[Style::Dense, Style::Airy, Style::Braces];

/// Reformats C#: the same tokens with different whitespace. Adjacent punctuation stays adjacent, because `> >` is not `>>`.
pub(crate) fn reformat_csharp(text: &str, symbols: &Symbols, style: Style) -> String {
    let tokens = csharp::tokenize(text, symbols);
    let mut out = String::new();
    let mut before: Option<&Token> = None;
    for (at, token) in tokens.iter().enumerate() {
        let touching = before.is_some_and(|before| {
            before.kind == TokenKind::Punctuation
                && token.kind == TokenKind::Punctuation
                && before.span.to == token.span.from
        });
        if !touching {
            out.push_str(whitespace_between(before, token, text, style, at));
        }
        out.push_str(token.span.text_in(text).trim_end_matches(['\r', '\n']));
        before = Some(token);
    }
    out.push('\n');
    out
}

/// The whitespace between two tokens.
fn whitespace_between(
    before: Option<&Token>,
    token: &Token,
    text: &str,
    style: Style,
    at: usize,
) -> &'static str {
    let Some(before) = before else { return "" };
    let line = |kind| {
        matches!(kind, TokenKind::Directive | TokenKind::Inactive | TokenKind::Comment | TokenKind::Doc)
    };
    if line(before.kind) || line(token.kind) {
        return "\n";
    }
    let brace = |token: &Token| matches!(token.span.text_in(text), "{" | "}");
    match style {
        Style::Airy => ["\r\n", "\r\n   ", "\r\n\t\t"][at % 3],
        Style::Braces if brace(before) || brace(token) || before.span.text_in(text) == ";" => "\n\t",
        Style::Dense | Style::Braces => " ",
    }
}

/// Reformats a text in a table-driven language. Line breaks and indentation levels stay, because they are significant in most of
/// these languages; spaces, empty lines and line endings (CRLF) change.
pub(crate) fn reformat_whitespace(reader: &mut Reader, text: &str, style: Style) -> String {
    let tokens = reader.read_tokens(text);
    let (mut out, mut end, mut after_comment) = (String::new(), 0, false);
    for token in tokens.iter().filter(|token| token.span.from < token.span.to) {
        let between = text.get(end..token.span.from as usize).unwrap_or_default();
        let close = after_comment || !token.kind.is_significant();
        // stylistic punctuation is not a token, so it appears in the text between tokens
        let mut rest = between;
        while let Some(at) = rest.find(|letter: char| !letter.is_ascii_whitespace()) {
            out.push_str(&change_whitespace(&out, &rest[..at], style, close));
            let mark =
                rest[at..].find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len() - at);
            out.push_str(&rest[at..at + mark]);
            rest = &rest[at + mark..];
        }
        out.push_str(&change_whitespace(&out, rest, style, close));
        out.push_str(token.span.text_in(text));
        end = end.max(token.span.to as usize);
        after_comment = !token.kind.is_significant();
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

/// Changes the form of whitespace. Text adjacent to a comment (`close`) stays adjacent, because the comment may document it.
fn change_whitespace(before: &str, between: &str, style: Style, close: bool) -> String {
    // nothing may follow the backslash of a continued line
    if between.is_empty() || before.ends_with('\\') {
        return between.to_owned();
    }
    let Some((_, indent)) = between.rsplit_once('\n') else {
        return if style == Style::Dense { " ".to_owned() } else { "   ".to_owned() };
    };
    let lines = between.matches('\n').count();
    match style {
        Style::Dense if close => between.to_owned(),
        Style::Dense => format!("\n{indent}"),
        Style::Airy => "\r\n".repeat(if close { lines } else { lines + 1 }) + &indent.repeat(2),
        Style::Braces => "\n".repeat(lines) + &indent.repeat(3),
    }
}

/// Adds a comment after each semicolon.
pub(crate) fn add_comments(text: &str, symbols: &Symbols) -> String {
    replace_tokens(text, symbols, |token| token == ";", "; /* a word */")
}

fn replace_tokens(text: &str, symbols: &Symbols, is: impl Fn(&str) -> bool, instead: &str) -> String {
    let tokens = csharp::tokenize(text, symbols);
    let places = tokens.iter().filter(|token| token.kind.is_significant() && is(token.span.text_in(text)));
    replace_ranges(
        text,
        places.map(|token| (token.span.from as usize, token.span.to as usize, instead.to_owned())),
    )
}

/// Adds a word to each line of documentation.
pub(crate) fn extend_docs(text: &str, symbols: &Symbols) -> String {
    let tokens = csharp::tokenize(text, symbols);
    let lines = tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Doc && token.span.text_in(text).starts_with("///"));
    replace_ranges(
        text,
        lines.map(|token| {
            (token.span.from as usize + 3, token.span.from as usize + 3, " moreover ".to_owned())
        }),
    )
}

/// Adds a statement to the body of each method that `of` selects; returns the text and the number of methods.
pub(crate) fn add_statements(text: &str, facts: &FileFacts, of: impl Fn(&Member) -> bool) -> (String, usize) {
    let functions = |member: &&Member| matches!(member.kind, MemberKind::Method | MemberKind::Constructor);
    let members = facts.types.iter().flat_map(|part| &part.members).filter(functions);
    let blocks = members.filter(|member| of(member)).filter_map(|member| member.body_span);
    let places: Vec<usize> =
        blocks.map(|body| body.from as usize).filter(|at| text[*at..].starts_with('{')).collect();
    let count = places.len();
    (
        replace_ranges(text, places.into_iter().map(|at| (at + 1, at + 1, " SomethingElse(); ".to_owned()))),
        count,
    )
}

/// Adds an attribute to each public method; returns the text and the number of methods.
pub(crate) fn add_attributes(text: &str, facts: &FileFacts) -> (String, usize) {
    let members = facts.types.iter().flat_map(|part| &part.members);
    let methods = members.filter(|it| it.kind == MemberKind::Method && it.visibility == Visibility::Public);
    let places: Vec<usize> = methods.map(|member| member.signature.from as usize).collect();
    let count = places.len();
    (replace_ranges(text, places.into_iter().map(|at| (at, at, "[Noted] ".to_owned()))), count)
}

/// Splits a file in two, and each type with at least two members into two partial types: the second file gets the last member, the
/// first file all others. Returns both texts and the number of types split.
pub(crate) fn split_types(text: &str, symbols: &Symbols, facts: &FileFacts) -> (String, String, usize) {
    let tokens = csharp::tokenize(text, symbols);
    // a condition could begin in one half and end in the other
    let directives: Vec<Span> =
        tokens.iter().filter(|token| token.kind == TokenKind::Directive).map(|token| token.span).collect();
    let can = |part: &TypePart| is_splittable(part) && !directives.iter().any(|it| it.overlaps(part.span));
    let (mut first, mut second, mut kept, mut count) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for part in facts.types.iter().filter(|part| part.outer.is_none()) {
        let body = part.signature.to;
        let members: Vec<Span> = part.members.iter().map(|it| it.span).filter(|it| it.from > body).collect();
        let Some(last) = members.last().filter(|last| can(part) && members.iter().any(|it| it != *last))
        else {
            second.push(part.span);
            continue;
        };
        count += 1;
        let before =
            tokens.iter().rev().find(|token| token.kind.is_significant() && token.span.to <= last.from);
        let whole = Span { from: before.map_or(last.from, |token| token.span.to), to: last.to };
        first.push(whole);
        kept.push(whole);
        second
            .extend([Span { from: body + 1, to: whole.from }, Span { from: whole.to, to: part.span.to - 1 }]);
    }
    let docs = tokens.iter().filter(|token| token.kind == TokenKind::Doc).map(|token| token.span);
    let outside = |span: &Span| !kept.iter().chain(&second).any(|other| other.overlaps(*span));
    let docs: Vec<Span> = docs.filter(outside).collect();
    let cut = |spans: Vec<Span>| {
        let words = facts.types.iter().filter(|part| part.outer.is_none() && can(part)).filter_map(|part| {
            let word = tokens
                .iter()
                .find(|it| it.span.from >= part.signature.from && is_keyword(it.span.text_in(text)))?;
            Some((word.span.from as usize, word.span.from as usize, "partial ".to_owned()))
        });
        let inside =
            |at: usize| spans.iter().any(|span| (span.from as usize..span.to as usize).contains(&at));
        let words: Vec<_> = words.filter(|(at, ..)| !inside(*at)).collect();
        let cuts = spans.iter().map(|span| (span.from as usize, span.to as usize, " ".to_owned()));
        replace_ranges(text, cuts.chain(words))
    };
    second.extend(docs);
    (cut(first), cut(second), count)
}

/// Whether a declaration has a body, is not partial already, and does not fix the memory layout of its fields.
fn is_splittable(part: &TypePart) -> bool {
    let kind = !matches!(part.kind, TypeKind::Enum | TypeKind::Delegate);
    kind && part.header_behaviour.0 == 0
        && !part.partial
        && !part.has_explicit_layout
        && part.signature.to < part.span.to
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "class" | "struct" | "interface" | "record")
}

/// Replaces ranges of the text; they may be in any order and must not overlap.
fn replace_ranges(text: &str, places: impl Iterator<Item = (usize, usize, String)>) -> String {
    let mut places: Vec<_> = places.collect();
    places.sort();
    let (mut out, mut at) = (String::new(), 0);
    for (from, to, instead) in places {
        out.push_str(&text[at..from]);
        out.push_str(&instead);
        at = to;
    }
    out + &text[at..]
}
