//! Removes what a reader does not see but a model reads: escape sequences, control characters, characters that Unicode calls
//! default-ignorable. What spells ordinary text is kept: emoji, and the joiners of scripts that need them.
//!
//! Does not know tags.

use icu_properties::props::DefaultIgnorableCodePoint;
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};
use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

static DEFAULT_IGNORABLE: CodePointSetDataBorrowed<'static> =
    CodePointSetData::new::<DefaultIgnorableCodePoint>();

pub(super) fn is_default_ignorable(c: char) -> bool {
    !is_in_plain_block(c) && DEFAULT_IGNORABLE.contains(c)
}

/// Blocks without such characters, in which nearly all text is: the lookup costs more than everything else. A test compares them with Unicode.
fn is_in_plain_block(c: char) -> bool {
    matches!(c, '\0'..='\u{ac}' | '\u{ae}'..='\u{34e}' | '\u{350}'..='\u{61b}' | '\u{61d}'..='\u{115e}'
        | '\u{2070}'..='\u{3163}' | '\u{3165}'..='\u{fdff}' | '\u{1e000}'..='\u{1ffff}')
}

/// Whether a character is removed or replaced, unless its neighbours make it part of ordinary text.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => false,
        // Controls, line separators, a blank braille cell, annotations, hieroglyph controls and a note head that nothing shows.
        '\0'..='\u{9f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2800}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{13430}'..='\u{1345f}'
        | '\u{1d159}' => true,
        c => is_default_ignorable(c),
    }
}

pub(super) fn strip_invisible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(_, c)| is_hidden(*c)).map(|(at, _)| at) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut chars = text[first..].chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if !is_hidden(c) => out.push(c),
            '\u{1b}' => skip_escape(&mut chars),
            // A line break of Windows stays; any other character that breaks a line becomes one that everybody sees.
            '\r' if chars.peek() == Some(&'\n') => out.push(c),
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\u{2800}' => out.push(' '),
            '\u{ad}' if divides_long_word(&out, chars.clone()) => out.push(c),
            c if is_direction(c) && is_written_leftwards(&out, chars.clone()) => out.push(c),
            c if spells_text(c, &out, chars.peek()) => out.push(c),
            '\u{e0020}'..='\u{e007e}' if out.ends_with('\u{1f3f4}') => push_flag(c, &mut chars, &mut out),
            _ => {}
        }
    }
    Cow::Owned(out)
}

/// Whether a joiner or a variation selector belongs to the characters beside it.
fn spells_text(c: char, before: &str, after: Option<&char>) -> bool {
    let before = before.chars().next_back().unwrap_or(' ');
    let is_spelling = |c: char| !c.is_ascii() && !is_hidden(c);
    match c {
        '\u{200c}' | '\u{200d}' => {
            let is_emoji_style = before == '\u{fe0f}';
            // Behind a virama a joiner gives the letter its form, also at the end of a word.
            (is_spelling(before) || is_emoji_style) && after.is_some_and(|c| is_spelling(*c))
                || is_virama(before)
        }
        // `❤️`, `1️⃣`: one selector after a character that has two styles.
        '\u{fe0e}' | '\u{fe0f}' => {
            is_spelling(before) && has_two_styles(before)
                || matches!(before, '0'..='9' | '#' | '*') && after == Some(&'\u{20e3}')
        }
        // The variant of a character in a name.
        '\u{e0100}'..='\u{e010f}' => matches!(before, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{323af}'),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => matches!(before, '\u{1820}'..='\u{18aa}'),
        _ => false,
    }
}

/// The sign of Indic scripts that takes the vowel from a consonant.
fn is_virama(c: char) -> bool {
    matches!(
        c,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{a4d}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{ccd}'
            | '\u{d4d}'
            | '\u{dca}'
    )
}

/// Marks and isolates of writing directions. Embeddings and overrides are not needed beside them.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2066}'..='\u{2069}')
}

/// Whether a mark of direction stands on a line with letters of a script that is written to the left, and not within a Latin word or tag.
fn is_written_leftwards(out: &str, after: Peekable<Chars<'_>>) -> bool {
    let is_leftward =
        |c: char| matches!(c, '\u{5d0}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    let is_of_name = |c: Option<char>| {
        c.is_some_and(|c| {
            c.is_ascii_alphanumeric() || matches!(c, '<' | '>' | '[' | ']' | '|' | '-' | '_' | '/')
        })
    };
    let next = after.clone().next();
    if is_of_name(out.chars().next_back()) && is_of_name(next) || next.is_some_and(is_direction) {
        return false;
    }
    let on_line = |c: &char| *c != '\n';
    out.chars().rev().take_while(on_line).take(MAX_LINE).any(is_leftward)
        || after.take_while(on_line).take(MAX_LINE).any(is_leftward)
}

/// Characters of a line that are looked at.
const MAX_LINE: usize = 120;

/// Whether a soft hyphen divides a word as long as only compounds of ordinary text are.
fn divides_long_word(out: &str, after: Peekable<Chars<'_>>) -> bool {
    let is_part = |c: &char| c.is_alphabetic() || *c == '\u{ad}';
    let letters = |c: &char| c.is_alphabetic();
    let head: Vec<char> = out.chars().rev().take(MAX_LINE).take_while(is_part).collect();
    let tail: Vec<char> = after.take(MAX_LINE).take_while(is_part).collect();
    let count = head.iter().chain(&tail).filter(|c| letters(c)).count();
    let outside = out.chars().rev().nth(head.len());
    head.first().is_some_and(letters)
        && tail.first().is_some_and(letters)
        && count >= 14
        && outside.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '"' | '„' | '“'))
}

/// Symbols and pictures: not a letter of any script.
fn has_two_styles(c: char) -> bool {
    matches!(c, '©' | '®' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// The flags of England, Scotland and Wales are spelled with tag characters, and no other text is.
fn push_flag(first: char, chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    const FLAGS: &[&str] = &["gbeng", "gbsct", "gbwls"];
    let ahead: String = std::iter::once(first).chain(chars.clone()).take(6).filter_map(tag_letter).collect();
    let Some(flag) = FLAGS.iter().find(|flag| ahead.strip_suffix('\u{7f}') == Some(**flag)) else { return };
    out.push(first);
    out.extend(chars.by_ref().take(flag.len()));
}

fn tag_letter(c: char) -> Option<char> {
    let code = (c as u32).checked_sub(0xe0000)?;
    char::from_u32(code).filter(char::is_ascii)
}

/// Skips the rest of `ESC [ … letter`, `ESC ] … BEL` or `ESC ] … ESC \`.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.peek().is_some_and(|c| matches!(c, ' '..='?')) {
                chars.next();
            }
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']') => {
            // Up to the terminator, or to the end of the line if there is none.
            while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {}
            if chars.next_if_eq(&'\u{1b}').is_some() {
                chars.next_if_eq(&'\\');
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_is_left() {
        for code in 0..=0x0010_ffff_u32 {
            let Some(c) = char::from_u32(code).filter(|c| is_hidden(*c)) else { continue };
            let stripped = strip_invisible(&format!("a{c}b")).into_owned();
            assert!(["ab", "a b", "a\nb"].contains(&stripped.as_str()), "{code:x}: {stripped:?}");
        }
    }

    #[test]
    fn plain_blocks_hold_nothing_that_unicode_calls_ignorable() {
        let all = (0..=0x0010_ffff_u32).filter_map(char::from_u32);
        assert!(all.filter(|c| is_in_plain_block(*c)).all(|c| !DEFAULT_IGNORABLE.contains(c)));
    }

    #[test]
    fn text_that_needs_joiners_and_selectors_is_unchanged() {
        for text in [
            "👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم",
            "❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} ☎\u{fe0e} ⚠\u{fe0f}",
            "क्\u{200d}ष ශ්\u{200d}රී",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} won",
            "ᠠ\u{180b}ᠪ",
            "line\r\nline",
        ] {
            assert_eq!(strip_invisible(text), text);
        }
    }

    #[test]
    fn a_message_in_selectors_or_tag_characters_is_removed() {
        for (text, left) in [
            ("😀\u{fe00}\u{fe01}\u{e0100}\u{fe0f}", "😀\u{fe0f}"),
            ("😀\u{fe0f}\u{fe0f}\u{fe0f}", "😀\u{fe0f}"),
            ("\u{1f3f4}\u{e0069}\u{e0067}\u{e006e}\u{e006f}", "\u{1f3f4}"),
            ("x\u{2028}y\rz\u{85}w", "x\ny\nz\nw"),
        ] {
            assert_eq!(strip_invisible(text), left);
        }
    }
}
