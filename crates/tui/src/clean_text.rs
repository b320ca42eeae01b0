//! Text of transcripts made safe for cells of a terminal: no control sequences, no reordering of the line, every character as
//! wide as each terminal draws it. Also breaks text into lines.
//!
//! Does not know what the text means.

use api::terminal_text::{char_width, is_printable};

/// More combining marks on one character are noise that overlaps the lines above and below.
const MAX_MARKS: usize = 4;

/// The text on one line. White space is collapsed to single blanks.
pub(crate) fn clean_line(text: &str) -> String {
    clean_block(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with its lines. A tab becomes two blanks.
pub(crate) fn clean_block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        marks = if char_width(c) == 0 { marks + 1 } else { 0 };
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push_str("  "),
            c if is_shown(c) && marks <= MAX_MARKS => out.push(c),
            _ => {}
        }
    }
    out
}

/// Whether a character keeps its width in every terminal. Joiners, variation selectors and skin tones are dropped: terminals
/// disagree on the width of what they build, and the columns after it would shift.
fn is_shown(c: char) -> bool {
    is_printable(c)
        && !matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        && !matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{20e3}')
        && !matches!(c, '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Byte ranges of the lines that a line of text takes in `width` columns, broken after a blank where one is near.
pub(crate) fn wrap_line(text: &str, width: usize) -> Vec<std::ops::Range<usize>> {
    let width = width.max(2);
    let (mut lines, mut start, mut taken, mut blank) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        let wide = char_width(c);
        if taken + wide > width && c != ' ' && at > start {
            let cut = blank.filter(|cut| *cut > start).unwrap_or(at);
            lines.push(start..cut);
            (start, blank) = (cut, None);
            taken = text[start..at].chars().map(char_width).sum();
        }
        taken += wide;
        if c == ' ' {
            blank = Some(at + 1);
        }
    }
    lines.push(start..text.len());
    lines
}

/// The byte ranges in which one of the words begins a word of the text, without regard to case.
pub(crate) fn find_words(text: &str, words: &[String]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut rest = 0;
    for (at, c) in text.char_indices() {
        let starts_word = at == 0 || !text[..at].ends_with(char::is_alphanumeric) || !c.is_ascii();
        if at < rest || !starts_word {
            continue;
        }
        if let Some(length) = words.iter().filter_map(|word| prefix_length(&text[at..], word)).max() {
            found.push(at..at + length);
            rest = at + length;
        }
    }
    found
}

/// The bytes of the text that the word takes at its start.
fn prefix_length(text: &str, word: &str) -> Option<usize> {
    let mut length = 0;
    let mut rest = text.chars();
    for wanted in word.chars() {
        let c = rest.next()?;
        if !c.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
        length += c.len_utf8();
    }
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::terminal_text::display_width;

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_execute_or_reorder() {
        for (text, shown) in [
            ("\x1b[31mred\x1b]0;title\x07", "[31mred]0;title"),
            ("a\u{202e}b\u{2066}c\u{200f}", "abc"),
            ("\u{9b}31mx\0\u{7f}", "31mx"),
            ("👨\u{200d}👩\u{200d}👧 👍\u{1f3fd} ❤\u{fe0f}", "👨👩👧 👍 ❤"),
            ("e\u{301}", "e\u{301}"),
            ("a\tb", "a  b"),
            ("soft\u{ad}hyphen\u{feff}", "softhyphen"),
        ] {
            assert_eq!(clean_block(text), shown);
        }
        assert_eq!(clean_line(" a\n\tb \u{7}c "), "a b c");
        let noise = format!("e{}", "\u{301}".repeat(50));
        assert_eq!(clean_block(&noise).chars().count(), 1 + MAX_MARKS);
    }

    #[test]
    fn wrapped_lines_fit_and_lose_nothing() {
        for (text, width, lines) in [
            ("one two three", 8, vec!["one two ", "three"]),
            ("虚拟列表滚动", 8, vec!["虚拟列表", "滚动"]),
            ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
            ("", 8, vec![""]),
            ("a 虚拟", 3, vec!["a ", "虚", "拟"]),
        ] {
            let got: Vec<&str> = wrap_line(text, width).into_iter().map(|range| &text[range]).collect();
            assert_eq!(got, lines);
            assert!(got.iter().all(|line| display_width(line.trim_end()) <= width));
            assert_eq!(got.concat(), text);
        }
    }

    #[test]
    fn words_are_found_at_word_starts() {
        let words = vec!["socket".to_string(), "列表".to_string()];
        let text = "Sockets, websocket 虚拟列表";
        let got: Vec<&str> = find_words(text, &words).into_iter().map(|range| &text[range]).collect();
        assert_eq!(got, ["Socket", "列表"]);
        assert!(find_words("x", &[String::new()]).is_empty());
    }
}
