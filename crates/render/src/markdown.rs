//! Text of messages for a terminal: lines broken between words, headings and emphasis shown as such.
//!
//! Knows only as much Markdown as replies use. Without colour, every character is kept.

use crate::format::{Marked, wrap_text};
use crate::options::{RenderOptions, Style};
use api::terminal_text::{append_fmt, strip_controls};

/// The lines, indented by two spaces.
pub(crate) fn render_lines(lines: &[&str], options: &RenderOptions) -> String {
    let (mut out, mut is_code) = (String::new(), false);
    for line in lines {
        let line = strip_controls(line);
        let line = line.trim_end();
        let is_fence = line.trim_start().starts_with("```");
        if is_fence || is_code {
            append_fmt(&mut out, format_args!("  {}\n", options.paint(Style::Dim, line)));
        } else {
            for part in break_line(line, options) {
                append_fmt(&mut out, format_args!("  {part}\n"));
            }
        }
        is_code ^= is_fence;
    }
    out
}

/// One line of prose. A continuation of a list item is indented like its text.
fn break_line(line: &str, options: &RenderOptions) -> Vec<String> {
    let (style, line) = match heading(line) {
        Some(title) if options.colour => (Some(Style::Bold), title),
        _ => (None, line),
    };
    let marked =
        if options.colour { mark_emphasis(line) } else { line.chars().map(|c| (c, false)).collect() };
    if !options.wrap {
        return vec![paint_line(&marked, style, options)];
    }
    let indent = item_indent(line);
    let width = options.width.saturating_sub(2 + indent).max(20);
    let mut parts = wrap_text(&marked, width).into_iter();
    let mut out: Vec<String> =
        parts.next().map(|first| paint_line(&first, style, options)).into_iter().collect();
    out.extend(parts.map(|part| " ".repeat(indent) + &paint_line(&part, style, options)));
    out
}

/// The text of `## Title`.
fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level).then(|| rest.strip_prefix(' ')).flatten()
}

/// The width of `- `, `* ` or `12. ` with the blanks before it.
fn item_indent(line: &str) -> usize {
    let body = line.trim_start();
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match &body[digits..] {
        rest if digits == 0 && (rest.starts_with("- ") || rest.starts_with("* ")) => 2,
        rest if digits > 0 && digits < 4 && rest.starts_with(". ") => digits + 2,
        _ => 0,
    };
    (line.len() - body.len() + mark).min(12)
}

/// Marks the text between `**` or backticks, and removes the signs.
fn mark_emphasis(line: &str) -> Vec<Marked> {
    let (mut out, mut rest) = (Vec::new(), line);
    while let Some((before, inside, after)) = next_emphasis(rest) {
        out.extend(before.chars().map(|c| (c, false)));
        out.extend(inside.chars().map(|c| (c, true)));
        rest = after;
    }
    out.extend(rest.chars().map(|c| (c, false)));
    out
}

fn next_emphasis(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.find(['*', '`'])?;
    let sign = ["**", "`"].into_iter().find(|sign| text[at..].starts_with(sign));
    let closed = sign.and_then(|sign| {
        let start = at + sign.len();
        let length = text[start..].find(sign).filter(|length| *length > 0)?;
        Some((&text[..at], &text[start..start + length], &text[start + length + sign.len()..]))
    });
    closed.or_else(|| {
        let (skipped, rest) = (at + 1, &text[at + 1..]);
        let (before, inside, after) = next_emphasis(rest)?;
        Some((&text[..skipped + before.len()], inside, after))
    })
}

fn paint_line(line: &[Marked], style: Option<Style>, options: &RenderOptions) -> String {
    let mut out = String::new();
    for run in line.chunk_by(|a, b| a.1 == b.1) {
        let text: String = run.iter().map(|(c, _)| *c).collect();
        match (style, run[0].1) {
            (Some(style), _) => out += &options.paint(style, &text),
            (None, true) => out += &options.paint(Style::Bold, &text),
            (None, false) => out += &text,
        }
    }
    out.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Clock, Stamp};

    fn options(wrap: bool, colour: bool) -> RenderOptions {
        RenderOptions { width: 24, wrap, colour, ..RenderOptions::plain(Clock::At(Stamp(0)), "") }
    }

    #[test]
    fn prose_is_broken_and_code_is_not() {
        let lines = ["- one two three four five six", "```", "let x = 1234567890123456789012345;", "```"];
        let text = render_lines(&lines, &options(true, false));
        let expected =
            "  - one two three four\n    five six\n  ```\n  let x = 1234567890123456789012345;\n  ```\n";
        assert_eq!(text, expected);
        assert_eq!(render_lines(&lines[..1], &options(false, false)), format!("  {}\n", lines[0]));
    }

    #[test]
    fn emphasis_is_shown_only_in_colour() {
        let lines = ["## Why", "it is **the pool** and `x*y`, 2 * 3"];
        assert_eq!(
            render_lines(&lines, &options(false, false)),
            "  ## Why\n  it is **the pool** and `x*y`, 2 * 3\n"
        );
        let coloured = render_lines(&lines, &options(false, true));
        let bold = |text: &str| format!("\x1b[1m{text}\x1b[0m");
        assert_eq!(
            coloured,
            format!("  {}\n  it is {} and {}, 2 * 3\n", bold("Why"), bold("the pool"), bold("x*y"))
        );
    }
}
