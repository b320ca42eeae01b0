//! What of a prompt a person wrote in sentences: without pasted code, logs and quotes, the client's own remarks and
//! pictures; cut into sentences, in languages with blanks and without.
//!
//! Does not judge what a sentence says.

use crate::words::{MACHINE_LINES, MACHINE_TAGS, PASTED};

/// From here on a prompt is what was referred to.
const REFERRED: &str = "--- Content from referenced files ---";

/// The lines a person wrote, each trimmed; an empty one between paragraphs.
pub(crate) fn prose(text: &str) -> String {
    let text = text.split(REFERRED).next().unwrap_or(text);
    let text = without_tags(text);
    let mut out = String::new();
    let mut fenced = false;
    for line in text.lines() {
        let line = line.trim_end();
        if is_fence(line) {
            fenced = !fenced;
            continue;
        }
        if !fenced && !is_machine(line.trim_start()) && !is_pasted(line) {
            out.push_str(line.trim());
            out.push('\n');
        }
    }
    out
}

/// Where a block begins or ends.
pub(crate) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

fn is_machine(line: &str) -> bool {
    MACHINE_LINES.iter().any(|begin| line.starts_with(begin))
}

/// Without what the client said in the person's name.
pub(crate) fn without_tags(text: &str) -> String {
    let mut text = text.to_string();
    for tag in MACHINE_TAGS {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let behind = text[start..].find(&close).map(|end| start + end + close.len());
            // One that is never closed is the rest of the text.
            text.replace_range(start..behind.unwrap_or(text.len()), "\n");
        }
    }
    text
}

/// Whether a line was more likely copied from somewhere than written.
fn is_pasted(line: &str) -> bool {
    let (inner, indent) = (line.trim_start(), line.len() - line.trim_start().len());
    if inner.is_empty() {
        return false;
    }
    // `at` and `let` also begin sentences; a trace's line is indented, a line of code ends like one.
    let begins = PASTED.iter().any(|begin| inner.starts_with(begin));
    let spoken = ["at ", "let ", "using ", "import ", "from ", "error:", "Error:", "package "];
    let may_be_spoken = spoken.iter().any(|begin| inner.starts_with(begin)) && indent < 2;
    (begins && (!may_be_spoken || ends_like_code(inner)))
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

/// A word no person types: a key, a picture, minified code.
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

/// Each sentence without the blanks around it; its end stays with it.
pub(crate) fn sentences(prose: &str) -> Vec<&str> {
    prose.lines().flat_map(of_line).filter(|sentence| !sentence.is_empty()).collect()
}

fn of_line(line: &str) -> Vec<&str> {
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
        // A dot within a name or a number is followed by something.
        '.' | '!' | '?' => {
            after.starts_with(char::is_whitespace) && !SHORT.iter().any(|word| ends_with_word(before, word))
        }
        _ => false,
    }
}

/// What ends in a dot and ends no sentence.
const SHORT: &[&str] =
    &["e.g", "i.e", "etc", "vs", "cf", "approx", "no", "Mr", "Dr", "z.B", "bzw", "1", "2", "3", "4", "5"];

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|rest| rest.chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
}

/// Characters that stand for a word or a part of one, in languages without blanks.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{20000}'..='\u{3fffd}')
}

/// Columns a text takes, wide characters as two.
pub(crate) fn width(text: &str) -> usize {
    let wide = |c: char| is_han(c) || matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff60}');
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

/// On one line, without the marks of markup: `**bold**`, `code`, `[text](address)`, `# heading`, `- item`, `<tag>`.
pub(crate) fn plain(text: &str) -> String {
    let text = text.trim_start_matches(|c: char| "#>*+•".contains(c) || c.is_whitespace());
    let text = text.strip_prefix("- ").unwrap_or(text);
    let text = unlinked(text);
    let mut out = String::new();
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '<' if is_tag(&text[at..]) => inside = true,
            '>' if inside => inside = false,
            '`'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {}
            '*' if text[at..].starts_with("**") || text[..at].ends_with('*') => {}
            c if inside || (c.is_control() && !c.is_whitespace()) => {}
            c => out.push(c),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_tag(text: &str) -> bool {
    let name = text[1..].trim_start_matches('/');
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.find('>').is_some_and(|end| end < 40 && !name[..end].contains("  "))
}

/// `[text](address)` is its text.
fn unlinked(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((open, close, end)) = link(rest) {
        out.push_str(&rest[..open]);
        out.push_str(&rest[open + 1..close]);
        rest = &rest[end..];
    }
    out + rest
}

fn link(text: &str) -> Option<(usize, usize, usize)> {
    let close = text.find("](")?;
    let open = text[..close].rfind('[')?;
    let end = close + 2 + text[close + 2..].find(')')? + 1;
    Some((open, close, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_wrote_is_left() {
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
            assert_eq!(prose(text), left, "{text}");
        }
    }

    #[test]
    fn sentences_end_where_a_reader_would_say() {
        for (text, parts) in [
            ("Fix a.rs. Then test!", vec!["Fix a.rs.", "Then test!"]),
            ("Use e.g. serde 1.0 for it", vec!["Use e.g. serde 1.0 for it"]),
            ("先看日志。再修复！", vec!["先看日志。", "再修复！"]),
            ("one\n\ntwo", vec!["one", "two"]),
        ] {
            assert_eq!(sentences(text), parts, "{text}");
        }
    }

    #[test]
    fn markup_is_taken_off() {
        for (text, shown) in [
            ("## **Add** `x` to [the docs](http://a/b)", "Add x to the docs"),
            ("- item <b>two</b>", "item two"),
            ("a < b and b > c", "a < b and b > c"),
            ("x\u{202e}y\u{7}z", "xyz"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }
}
