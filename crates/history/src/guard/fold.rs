//! The skeleton of a text: what is left of it for a reader who sees letters, not code points. Names are compared on it.
//!
//! Does not know which names matter.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

static NFKD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfkd();
static CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> =
    CodePointMapData::<GeneralCategory>::new();

/// Letters of other scripts that look like Latin ones, in lower case, and small capitals.
const LOOKALIKES: &[(&str, char)] = &[
    ("аαᴀɑ", 'a'),
    ("вʙ", 'b'),
    ("сϲᴄ", 'c'),
    ("ԁᴅ", 'd'),
    ("еєεᴇ", 'e'),
    ("ғꜰ", 'f'),
    ("ɡɢց", 'g'),
    ("нһʜհ", 'h'),
    ("іιıɪ", 'i'),
    ("јϳᴊ", 'j'),
    ("кκᴋ", 'k'),
    ("ӏʟ", 'l'),
    ("мμᴍ", 'm'),
    ("ոɴ", 'n'),
    ("оοօᴏ", 'o'),
    ("рρᴘ", 'p'),
    ("ԛզ", 'q'),
    ("ʀг", 'r'),
    ("ѕꜱ", 's'),
    ("тτᴛ", 't'),
    ("υսᴜ", 'u'),
    ("ѵνᴠ", 'v'),
    ("ԝᴡ", 'w'),
    ("хχ", 'x'),
    ("уүʏ", 'y'),
    ("ᴢ", 'z'),
];

/// Calls `take` with each letter that this character stands for: compatibility forms are resolved, marks and invisible characters
/// dropped, case folded, lookalikes replaced by Latin letters.
pub(super) fn fold_char(c: char, mut take: impl FnMut(char)) {
    if c.is_ascii() {
        if !c.is_ascii_control() || c.is_ascii_whitespace() {
            take(c.to_ascii_lowercase());
        }
        return;
    }
    for c in NFKD.normalize_iter(std::iter::once(c)).filter(|c| !is_silent(*c)) {
        // `ſ` has `S` as its capital, so that it becomes an `s`.
        let upper = c.to_uppercase().next().unwrap_or(c);
        let lower = upper.to_lowercase().next().unwrap_or(upper);
        let has_lookalikes =
            matches!(lower, '\u{250}'..='\u{58f}' | '\u{1d00}'..='\u{1d7f}' | '\u{a730}'..='\u{a77f}');
        let like = || LOOKALIKES.iter().find(|(like, _)| like.contains(lower)).map(|(_, latin)| *latin);
        take(has_lookalikes.then(like).flatten().unwrap_or(lower));
    }
}

/// The only letter that this character stands for, if there is one.
pub(super) fn fold_to_one(c: char) -> Option<char> {
    let (mut first, mut count) = (None, 0);
    fold_char(c, |letter| {
        first.get_or_insert(letter);
        count += 1;
    });
    first.filter(|_| count == 1)
}

/// Marks, invisible and private characters: nobody reads them as letters of a name.
fn is_silent(c: char) -> bool {
    let category = CATEGORIES.get(c);
    GeneralCategoryGroup::Mark.contains(category)
        || matches!(
            category,
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
        )
        || super::invisible::is_default_ignorable(c)
}

/// Letters of a tag that are neither blanks nor signs, folded.
pub(super) fn squash(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        fold_char(c, |letter| out.extend(letter.is_alphanumeric().then_some(letter)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_letter_fold_to_it() {
        for c in ['s', 'S', 'ｓ', 'ſ', 'ѕ', '𝐬', '𝔰', 'ⓢ', 'ꜱ', 'ś'] {
            assert_eq!(fold_to_one(c), Some('s'), "{c}");
        }
        for c in ['\u{200b}', '\u{fe0f}', '\u{34f}', '\u{e0041}', '\u{301}', '\u{e000}', '\u{1d173}'] {
            assert_eq!(fold_to_one(c), None, "{:x}", c as u32);
        }
        assert_eq!(fold_to_one('＜'), Some('<'));
        assert_eq!(fold_to_one('｜'), Some('|'));
        assert_eq!(fold_to_one('：'), Some(':'));
    }
}
