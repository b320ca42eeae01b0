//! Folds letters: removes case and accents, and distinguishes CJK from other scripts.
//!
//! Does not know where a word ends.

/// U+00C0 to U+017F without accents; `.` marks characters without a plain letter.
const LATIN: &str = "\
AAAAAAACEEEEIIIIDNOOOOO.OUUUUYTsaaaaaaaceeeeiiiidnooooo.ouuuuyty\
AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";

/// Scripts without spaces between words: Han, kana, hangul.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c as u32,
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x2_0000..=0x2_ffff)
        && c.is_alphanumeric()
}

/// Appends the text in lower case and without accents.
pub(crate) fn push_folded(text: &str, into: &mut String) {
    if text.is_ascii() {
        let from = into.len();
        into.push_str(text);
        into[from..].make_ascii_lowercase();
        return;
    }
    for c in text.chars() {
        match fold_accent(c) {
            Some(letter) => into.push(letter.to_ascii_lowercase()),
            None => into.extend(c.to_lowercase().filter(|c| c.is_alphanumeric())),
        }
    }
}

fn fold_accent(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    let at = (c as usize).checked_sub(0xc0)?;
    LATIN.as_bytes().get(at).filter(|byte| **byte != b'.').map(|byte| char::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_folded() {
        assert_eq!(LATIN.len(), 0x180 - 0xc0);
        for (text, folded) in
            [("É", "e"), ("ß", "s"), ("ÿ", "y"), ("Ż", "z"), ("ž", "z"), ("Ж", "ж"), ("Ā", "a")]
        {
            let mut into = String::new();
            push_folded(text, &mut into);
            assert_eq!(into, folded, "{text}");
        }
    }
}
