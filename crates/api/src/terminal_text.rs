//! Text that is safe to print: without control sequences, on one line, truncated to a width that counts wide characters
//! as two.
//!
//! Does not know colours.

use std::fmt::{Arguments, Write as _};

/// Appends formatted text.
pub fn append_fmt(out: &mut String, what: Arguments<'_>) {
    let _ = out.write_fmt(what); // writing to a String does not fail
}

/// Removes control characters: transcripts contain escape sequences that a terminal must not execute.
pub fn strip_controls(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| is_printable(*c)).collect()
}

/// Whether a character is neither a control character nor a bidirectional override.
pub fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// The text on one line, with runs of white space collapsed.
pub fn one_line(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(strip_controls).collect();
    words.join(" ")
}

/// Characters that take two columns: East Asian wide and fullwidth, and emoji.
const WIDE: &[(char, char)] = &[
    ('\u{1100}', '\u{115f}'),
    ('\u{231a}', '\u{231b}'),
    ('\u{2e80}', '\u{303e}'),
    ('\u{3041}', '\u{33ff}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{a4cf}'),
    ('\u{a960}', '\u{a97f}'),
    ('\u{ac00}', '\u{d7a3}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{fe30}', '\u{fe6f}'),
    ('\u{ff00}', '\u{ff60}'),
    ('\u{ffe0}', '\u{ffe6}'),
    ('\u{1f300}', '\u{1f64f}'),
    ('\u{1f680}', '\u{1f6ff}'),
    ('\u{1f900}', '\u{1f9ff}'),
    ('\u{20000}', '\u{3fffd}'),
];

/// Characters that take no column: combining marks and joiners.
const NARROW: &[(char, char)] = &[
    ('\u{300}', '\u{36f}'),
    ('\u{483}', '\u{489}'),
    ('\u{591}', '\u{5bd}'),
    ('\u{610}', '\u{61a}'),
    ('\u{64b}', '\u{65f}'),
    ('\u{e31}', '\u{e31}'),
    ('\u{e34}', '\u{e3a}'),
    ('\u{200b}', '\u{200d}'),
    ('\u{20d0}', '\u{20f0}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
];

pub fn char_width(c: char) -> usize {
    let among = |table: &[(char, char)]| table.iter().any(|(from, to)| (*from..=*to).contains(&c));
    match c {
        '\0'..'\u{300}' => 1,
        _ if among(NARROW) => 0,
        _ if among(WIDE) => 2,
        _ => 1,
    }
}

/// The number of columns a text takes.
pub fn display_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Truncates to at most this many columns; `…` marks the cut.
pub fn truncate_width(text: &str, most: usize) -> String {
    if display_width(text) <= most {
        return text.to_string();
    }
    let (mut out, mut taken) = (String::new(), 0);
    for c in text.chars() {
        taken += char_width(c);
        if taken > most.saturating_sub(1) {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// An ID prefix to display and type. Common prefixes such as `ses_` do not count. A UUID of version 7 begins with its
/// time: all that were created within the same 65 seconds share eight characters, within the same millisecond thirteen.
pub fn short_id(id: &str) -> String {
    let id = strip_controls(id);
    let same = id.find('_').filter(|at| *at < 5).map_or(0, |at| at + 1);
    let timed = id.len() == 36 && id.as_bytes()[14] == b'7' && id.as_bytes()[8] == b'-';
    id.chars().take(if timed { 13 } else { same + 8 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_text_fits_its_columns() {
        for (text, most, shown) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 4, "abc…"),
            ("虚拟列表", 8, "虚拟列表"),
            ("虚拟列表", 7, "虚拟列…"),
            ("虚拟列表", 6, "虚拟…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
        ] {
            assert_eq!(truncate_width(text, most), shown);
            assert!(display_width(&truncate_width(text, most)) <= most);
        }
    }

    #[test]
    fn short_ids_distinguish_sessions_of_one_minute() {
        for (id, shown) in [
            ("3b241101-e2bb-4255-8caf-4136c566a962", "3b241101"),
            ("01a1dc64-bdbc-7882-8f0c-530a70a99859", "01a1dc64-bdbc"),
            ("ses_e2391965cffezC6hpeD2eGWhYW", "ses_e2391965"),
            ("short", "short"),
        ] {
            assert_eq!(short_id(id), shown);
        }
    }

    #[test]
    fn control_sequences_are_removed() {
        assert_eq!(strip_controls("\x1b[31mred\x1b[0m\u{202e}x\ty"), "[31mred[0mx y");
        assert_eq!(one_line(" a\n\tb \u{7}c "), "a b c");
    }
}
