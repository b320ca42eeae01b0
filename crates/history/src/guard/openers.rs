//! Where a tag or a marker may begin: brackets in all their forms, and what may stand between a bracket and a name.
//!
//! Does not decide whether it is one.

use super::names::{first_letter, read_char};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Angle,
    /// A way to write `<` or `[` that a reader of the text, or a second decoding, turns into one.
    Encoded,
    Bracket,
    /// `]` before `~`.
    Ending,
    /// A bracket that looks like an angle bracket.
    Lookalike,
}

const LOOKALIKES: &[char] =
    &['‹', '«', '⟨', '〈', '《', '❬', '❮', '❰', 'ᐸ', '˂', '≺', '⧼', '\u{2329}', '◁', '✿'];

/// Where something may begin: position, length and sign.
pub(super) fn openers(text: &str) -> impl Iterator<Item = (usize, usize, Sign)> {
    let bytes = text.as_bytes();
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < bytes.len() {
            let Some(skipped) = bytes[next..].iter().position(|byte| BEGINS[usize::from(*byte)]) else {
                next = bytes.len();
                break;
            };
            let at = next + skipped;
            let byte = bytes[at];
            next = at + 1;
            match byte {
                b'<' => return Some((at, 1, Sign::Angle)),
                b'[' => return Some((at, 1, Sign::Bracket)),
                b']' if bytes.get(next) == Some(&b'~') => return Some((at, 1, Sign::Ending)),
                b'&' | b'\\' | b'%' => {
                    let Some(length) = encoded_length(&text[at..]) else { continue };
                    return Some((at, length, Sign::Encoded));
                }
                // Of the other characters only a few look like a bracket: these bytes begin them.
                0xc2 | 0xcb | 0xe1 | 0xe3 | 0xef | 0xe2
                    if byte != 0xe2
                        || matches!(bytes[next], 0x80 | 0x89 | 0x8c | 0x97 | 0x9c | 0x9d | 0x9f | 0xa7) =>
                {
                    let Some(c) = text[at..].chars().next() else { continue };
                    next = at + c.len_utf8();
                    if LOOKALIKES.contains(&c) {
                        return Some((at, c.len_utf8(), Sign::Lookalike));
                    }
                    if !matches!(c, '\u{226e}' | '\u{fe47}' | '\u{fe64}' | '\u{ff1c}' | '\u{ff3b}') {
                        continue;
                    }
                    match first_letter(c) {
                        Some('<') => return Some((at, c.len_utf8(), Sign::Angle)),
                        Some('[') => return Some((at, c.len_utf8(), Sign::Bracket)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        None
    })
}

/// Bytes with which something may begin.
static BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let all = [b'<', b'[', b']', b'&', b'\\', b'%', 0xc2, 0xcb, 0xe1, 0xe3, 0xef, 0xe2];
    let mut at = 0;
    while at < all.len() {
        begins[all[at] as usize] = true;
        at += 1;
    }
    begins
};

/// The length of `&lt;`, `&#60;`, `%3C`, `\u003c`, `\x3c` and the like at the begin.
fn encoded_length(text: &str) -> Option<usize> {
    let hex = |skip: usize, digits: usize| {
        let code = text.get(skip..skip + digits)?;
        (u32::from_str_radix(code, 16).ok()? == 0x3c).then_some(skip + digits)
    };
    match text.as_bytes()[0] {
        b'&' => {
            let (length, c) = read_char(text)?;
            (length > 1 && matches!(c, '<' | '[')).then_some(length)
        }
        b'%' => hex(1, 2),
        _ => match text.as_bytes().get(1)? {
            b'u' => hex(2, 4),
            b'x' => hex(2, 2),
            _ => None,
        },
    }
}

/// Splits off what may stand between the bracket and the name.
pub(super) fn split_lead(text: &str) -> (&str, &str) {
    let is_lead = |c: char| {
        c.is_whitespace() || matches!(c, '/' | '!' | '?' | '\\' | '／' | '＼' | '∕' | '⁄') || fold_is_empty(c)
    };
    let rest = text.trim_start_matches(is_lead);
    text.split_at(text.len() - rest.len())
}

fn fold_is_empty(c: char) -> bool {
    !c.is_ascii() && first_letter(c).is_none()
}

/// The bar at the begin, in any of its forms, and the text after it.
pub(super) fn after_bar(rest: &str) -> Option<(char, &str)> {
    let first = *rest.as_bytes().first()?;
    if first.is_ascii() && !matches!(first, b'|' | b'&') {
        return None;
    }
    let (length, c) = read_char(rest)?;
    let is_bar = matches!(
        c,
        '|' | '\u{ff5c}'
            | '\u{ffe8}'
            | '\u{2223}'
            | '\u{2502}'
            | '\u{23d0}'
            | '\u{01c0}'
            | '\u{00a6}'
            | '\u{2758}'
    );
    is_bar.then(|| (c, &rest[length..]))
}
