//! Text that is safe to print: without control sequences, on one line, truncated to a width that counts wide characters
//! as two.
//!
//! Does not know colours.

use std::fmt::{Arguments, Write as _};
use unicode_width::UnicodeWidthChar;

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
        && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}

/// The text as content or attribute of an HTML page, without control characters.
pub fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(c),
            c if is_printable(c) => out.push(c),
            _ => {}
        }
    }
    out
}

/// The text on one line, with runs of white space collapsed.
pub fn one_line(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(strip_controls).collect();
    words.join(" ")
}

/// The number of columns a character takes. Control characters count as one: they are printed as a substitute.
pub fn char_width(c: char) -> usize {
    c.width().unwrap_or(1)
}

/// The number of columns a text takes. The sum over its characters, so that truncation and wrapping, which go character
/// by character, agree with it.
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
    let head: String = id.chars().take(same + 8).collect();
    let is_random = |text: &str| {
        text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic())
    };
    let is_uuid = id.is_ascii() && id.len() == 36 && id.as_bytes()[8] == b'-';
    match () {
        // One of version 7 begins with its time.
        () if is_uuid && (id.as_bytes()[14] == b'7' || !is_random(&head)) => id[..13].to_owned(),
        // A date, a time or a word is not enough: `2026-11-`, `17947934`, `session_`.
        () if !is_random(&head[same..]) => id,
        () => head,
    }
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
            ("12345678-e2bb-4255-8caf-4136c566a962", "12345678-e2bb"),
            ("2026-11-16T10-00-00-fix", "2026-11-16T10-00-00-fix"),
            ("session_1794793412", "session_1794793412"),
            ("1794793412345", "1794793412345"),
        ] {
            assert_eq!(short_id(id), shown);
        }
    }

    #[test]
    fn nothing_is_left_of_markup() {
        let text = "</script>\u{1b}[1m\u{202e}\u{061c}\0 \"&\n";
        assert_eq!(escape_html(text), "&lt;/script&gt;[1m &quot;&amp;\n");
    }

    #[test]
    fn control_sequences_are_removed() {
        assert_eq!(strip_controls("\x1b[31mred\x1b[0m\u{202e}x\ty"), "[31mred[0mx y");
        assert_eq!(one_line(" a\n\tb \u{7}c "), "a b c");
    }
}
