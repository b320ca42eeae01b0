//! Extracts from a prompt the sentences that a person wrote: drops pasted code, logs, quotes, text inserted by the
//! client and images, then splits the rest into sentences, for languages with and without spaces.
//!
//! Does not interpret what a sentence says.

use crate::phrases::{MACHINE_LINES, MACHINE_TAGS, PASTED_PREFIXES};
use unicode_width::UnicodeWidthChar;

/// Everything after this marker is the content of referenced files.
const REFERENCED_FILES: &str = "--- Content from referenced files ---";

/// The lines a person wrote, each trimmed, with an empty line between paragraphs.
pub(crate) fn prose_lines(text: &str) -> String {
    classify_lines(text).into_iter().filter_map(|(line, is_own)| is_own.then_some(line + "\n")).collect()
}

/// The same lines as typed, joined into one line, with `…` where other lines were dropped. Only whitespace is changed;
/// control characters and other invisible characters are removed.
pub(crate) fn quote_verbatim(text: &str) -> String {
    let lines = classify_lines(text);
    let mut words: Vec<&str> = Vec::new();
    for (line, is_own) in &lines {
        if *is_own {
            words.extend(line.split_whitespace());
        } else if !words.is_empty() && words.last() != Some(&"…") {
            words.push("…");
        }
    }
    words.join(" ").chars().filter(|c| !is_hidden(*c)).collect()
}

/// Each line, trimmed, and whether a person wrote it.
fn classify_lines(text: &str) -> Vec<(String, bool)> {
    let text = without_tags(text.split(REFERENCED_FILES).next().unwrap_or(text));
    let mut fenced = false;
    let line = |line: &str| {
        let fence = is_fence(line);
        fenced ^= fence;
        let is_own = !fence && !fenced && !is_machine(line.trim_start()) && !is_pasted(line.trim_end());
        (line.trim().to_string(), is_own)
    };
    text.lines().map(line).collect()
}

/// Invisible characters and those that change text direction.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Whether the line opens or closes a fenced block.
pub(crate) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

fn is_machine(line: &str) -> bool {
    MACHINE_LINES.iter().any(|begin| line.starts_with(begin))
}

/// The text without the tags that the client inserts into the user's prompt.
pub(crate) fn without_tags(text: &str) -> String {
    let mut text = text.to_string();
    for tag in MACHINE_TAGS {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let behind = text[start..].find(&close).map(|end| start + end + close.len());
            // An unclosed tag extends to the end of the text.
            text.replace_range(start..behind.unwrap_or(text.len()), "\n");
        }
    }
    text
}

/// Whether a line was more likely pasted than typed.
fn is_pasted(line: &str) -> bool {
    let (inner, indent) = (line.trim_start(), line.len() - line.trim_start().len());
    if inner.is_empty() {
        return false;
    }
    // `at` and `let` also begin sentences; a line of a stack trace is indented, a line of code ends like one.
    let begins = PASTED_PREFIXES.iter().any(|begin| inner.starts_with(begin));
    let ambiguous = ["at ", "let ", "using ", "import ", "from ", "error:", "Error:", "package "];
    let may_be_sentence = ambiguous.iter().any(|begin| inner.starts_with(begin)) && indent < 2;
    (begins && (!may_be_sentence || ends_like_code(inner)))
        || is_dated(inner)
        || has_endless_word(inner)
        || (indent >= 4 && ends_like_code(inner))
        || is_mostly_signs(inner)
}

fn ends_like_code(line: &str) -> bool {
    line.ends_with([';', '{', '}', ')', ']', '>']) && !line.ends_with(":)")
}

/// `2026-11-12T10:00:07Z …`, `[12:30:01] …`.
fn is_dated(line: &str) -> bool {
    let head: Vec<char> = line.trim_start_matches('[').chars().take(10).collect();
    let shape: String = head.iter().map(|c| if c.is_ascii_digit() { '0' } else { *c }).collect();
    shape.starts_with("0000-00-00") || shape.starts_with("00:00:00")
}

/// A word that no person types: a key, an image, minified code.
fn has_endless_word(line: &str) -> bool {
    line.split_whitespace().any(|word| word.len() > 100 && word.is_ascii() && !word.contains("://"))
}

fn is_mostly_signs(line: &str) -> bool {
    let (mut signs, mut all) = (0, 0);
    for c in line.chars().filter(|c| !c.is_whitespace()) {
        all += 1;
        signs += usize::from(c.is_ascii_punctuation() && !"'\".,?!-/_`".contains(c));
    }
    // A short line such as "C++?" is a question.
    all >= 8 && signs * 10 >= all * 3
}

/// The sentences without surrounding whitespace, each with its final punctuation.
pub(crate) fn split_sentences(prose: &str) -> Vec<&str> {
    prose.lines().flat_map(sentences_of_line).filter(|sentence| !sentence.is_empty()).collect()
}

fn sentences_of_line(line: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, c) in line.char_indices() {
        let behind = at + c.len_utf8();
        if is_end(c, &line[..at], &line[behind..]) {
            found.push(line[from..behind].trim());
            from = behind;
        }
    }
    found.push(line[from..].trim());
    found
}

fn is_end(c: char, before: &str, after: &str) -> bool {
    match c {
        '。' | '！' | '？' => true,
        // A dot inside a name or a number is not followed by whitespace.
        '.' | '!' | '?' => {
            after.starts_with(char::is_whitespace)
                && !ABBREVIATIONS.iter().any(|word| ends_with_word(before, word))
        }
        _ => false,
    }
}

/// Abbreviations whose dot does not end a sentence.
const ABBREVIATIONS: &[&str] =
    &["e.g", "i.e", "etc", "vs", "cf", "approx", "no", "Mr", "Dr", "z.B", "bzw", "1", "2", "3", "4", "5"];

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|rest| rest.chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
}

/// Characters of scripts without spaces between words: Han, kana, hangul.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{20000}'..='\u{3fffd}')
}

/// Display width in columns; wide characters take two.
pub(crate) fn display_width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(1)).sum()
}

/// The text on one line without markup: `**bold**`, `code`, `[text](address)`, `# heading`, `- item`, `<tag>`.
pub(crate) fn strip_markup(text: &str) -> String {
    let text = text.trim_start_matches(|c: char| "#>*+•".contains(c) || c.is_whitespace());
    let text = text.strip_prefix("- ").unwrap_or(text);
    let text = replace_links(text);
    let mut out = String::new();
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '<' if is_tag(&text[at..]) => inside = true,
            '>' if inside => inside = false,
            '`' => {}
            '*' if text[at..].starts_with("**") || text[..at].ends_with('*') => {}
            c if inside || (is_hidden(c) && !c.is_whitespace()) => {}
            c => out.push(c),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The characters that are visible when the markup is rendered: without tags and link addresses.
pub(crate) fn visible_chars(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut inside, mut address) = (false, false);
    text.char_indices().filter(move |(at, c)| {
        match c {
            ']' if text[at + 1..].starts_with('(') => address = true,
            // A truncated address has no closing parenthesis.
            ')' | '…' => address = false,
            c if c.is_whitespace() => address = false,
            '<' if is_tag(&text[*at..]) => inside = true,
            '>' => inside = false,
            _ => {}
        }
        !inside && !address
    })
}

/// A sentence without its list marker: `1. `, `(2) `, `[ ] `.
pub(crate) fn strip_list_marker(sentence: &str) -> &str {
    let inner = sentence.trim_start().trim_start_matches("- ");
    let boxed = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| inner.strip_prefix(mark));
    let number = inner.trim_start_matches(['(', '（']);
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = rest.strip_prefix(['.', ')', '、', '）']);
    let item = item.filter(|_| (1..=2).contains(&(number.len() - rest.len())));
    let item = item.filter(|item| !item.starts_with(|c: char| c.is_ascii_digit()));
    boxed.or(item).map_or(sentence, str::trim_start)
}

fn is_tag(text: &str) -> bool {
    let name = text[1..].trim_start_matches('/');
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.find('>').is_some_and(|end| end < 40 && !name[..end].contains("  "))
}

/// Replaces `[text](address)` with its text.
fn replace_links(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((open, close, end)) = find_link(rest) {
        out.push_str(&rest[..open]);
        out.push_str(&rest[open + 1..close]);
        rest = &rest[end..];
    }
    out + rest
}

fn find_link(text: &str) -> Option<(usize, usize, usize)> {
    let close = text.find("](")?;
    let open = text[..close].rfind('[')?;
    let end = close + 2 + text[close + 2..].find(')')? + 1;
    Some((open, close, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_a_person_wrote_are_kept() {
        for (text, left) in [
            ("Fix this:\n```\nlet a = 1;\n```\nthanks", "Fix this:\nthanks\n"),
            ("<system-reminder>do x</system-reminder>Fix it", "\nFix it\n"),
            ("<ide_selection>a\nb", "\n"),
            ("It fails:\n  at foo (a.js:1)\n2026-11-12T10:00:00Z INFO up\nwhy", "It fails:\nwhy\n"),
            ("at the start it works", "at the start it works\n"),
            ("[Image #1]\nwhat is this", "what is this\n"),
            ("look at @pic.png\n--- Content from referenced files ---\nsecret", "look at @pic.png\n"),
            ("> you said x\nno", "no\n"),
            ("{\"a\":{\"b\":[1,2]}}\nparse that", "parse that\n"),
            ("让我们看看 `a.rs`", "让我们看看 `a.rs`\n"),
        ] {
            assert_eq!(prose_lines(text), left, "{text}");
        }
    }

    #[test]
    fn quoted_text_stays_as_it_was_typed() {
        for (text, quoted) in [
            (
                "ci is red:\n\nError: Cannot find module './dist/index.js'\n    at Module._load (a.js:1)\n\npls fix",
                "ci is red: Error: Cannot find module './dist/index.js' … pls fix",
            ),
            ("see https://example.com/x/y.html  and `a.b/c`", "see https://example.com/x/y.html and `a.b/c`"),
            ("```\nlog\n```\nwhy does **that** happen", "why does **that** happen"),
            ("why\n```\nlog\nlog\n```", "why …"),
            ("a\u{202e}b\u{1b}[31m", "ab[31m"),
        ] {
            assert_eq!(quote_verbatim(text), quoted, "{text}");
        }
    }

    #[test]
    fn list_markers_are_not_words() {
        for (line, left) in [
            ("1. rename it", "rename it"),
            ("(2) move it", "move it"),
            ("- [ ] test it", "test it"),
            ("3.5 is out", "3.5 is out"),
            ("2026. A year", "2026. A year"),
        ] {
            assert_eq!(strip_list_marker(line), left);
        }
    }

    #[test]
    fn sentences_end_where_a_reader_would_end_them() {
        for (text, parts) in [
            ("Fix a.rs. Then test!", vec!["Fix a.rs.", "Then test!"]),
            ("Use e.g. serde 1.0 for it", vec!["Use e.g. serde 1.0 for it"]),
            ("先看日志。再修复！", vec!["先看日志。", "再修复！"]),
            ("one\n\ntwo", vec!["one", "two"]),
        ] {
            assert_eq!(split_sentences(text), parts, "{text}");
        }
    }

    #[test]
    fn markup_is_removed() {
        for (text, shown) in [
            ("## **Add** `x` to [the docs](http://a/b)", "Add x to the docs"),
            ("- item <b>two</b>", "item two"),
            ("a < b and b > c", "a < b and b > c"),
            ("x\u{202e}y\u{7}z", "xyz"),
        ] {
            assert_eq!(strip_markup(text), shown);
        }
    }
}
