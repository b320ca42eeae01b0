//! Finds lists of codes that open an account once: groups of letters and digits below a line that announces them.
//!
//! Codes on the line of their name are found by `context`.

use std::ops::Range;

type Secret = (Range<usize>, &'static str);

const KIND: &str = "recovery-code";
/// Lines below the name, and bytes in which they are looked for.
const MAX_LINES: usize = 24;
const MAX_BYTES: usize = 2 << 10;

/// The begin of the names of such codes, in the languages that people write.
pub(crate) const WORDS: &[&str] = &[
    "ecovery code",
    "ackup code",
    "ackup-code",
    "scratch code",
    "rescue code",
    "emergency code",
    "one-time code",
    "wiederherstellungscode",
    "notfallcode",
    "codes de secours",
    "codes de récup",
    "códigos de",
    "codici di",
    "恢复代码",
    "备用码",
    "バックアップコード",
    "リカバリーコード",
];

/// Every code on the lines below the word, if these lines hold nothing else.
pub(crate) fn find_codes(text: &str, word: &Range<usize>) -> Vec<Secret> {
    let to = text.floor_char_boundary((word.end + MAX_BYTES).min(text.len()));
    let Some(first) = memchr::memchr(b'\n', &text.as_bytes()[word.end..to]).map(|at| word.end + at + 1)
    else {
        return Vec::new();
    };
    let (mut found, mut at) = (Vec::new(), first);
    for line in text[first..to].split_inclusive('\n').take(MAX_LINES) {
        let codes: Option<Vec<Range<usize>>> = read_codes(line, at);
        at += line.len();
        match codes {
            Some(codes) => found.extend(codes.into_iter().map(|at| (at, KIND))),
            None if found.is_empty() && line.trim().split(' ').count() > 3 => {}
            None => break,
        }
    }
    // One alone may be anything.
    if found.len() < 2 { Vec::new() } else { found }
}

/// The codes of a line, without the number or the sign before each. None: there is something else.
fn read_codes(line: &str, start: usize) -> Option<Vec<Range<usize>>> {
    let mut codes = Vec::new();
    for word in line.split([' ', '\t', '\n', '\r', ',', '|', ';']).filter(|word| !word.is_empty()) {
        let bare =
            word.trim_matches(['"', '\'', '`', '*', '•', '-', '[', ']', '(', ')', '.', ':', '#', '☐', '□']);
        let is_number = bare.len() <= 2 && bare.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || bare.is_empty() {
            continue;
        }
        if !is_code(bare) {
            return None;
        }
        let from = start + (bare.as_ptr() as usize - line.as_ptr() as usize);
        codes.push(from..from + bare.len());
    }
    Some(codes)
}

/// Groups of four to twelve letters and digits, with a digit in most of them.
fn is_code(word: &str) -> bool {
    let groups: Vec<&str> = word.split(['-', '_']).collect();
    let is_group = |group: &&str| {
        (3..=12).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let letters = word.bytes().filter(u8::is_ascii_alphanumeric).count();
    groups.iter().all(is_group)
        && (6..=32).contains(&letters)
        && word.bytes().filter(u8::is_ascii_digit).count() >= 2
}

#[cfg(test)]
mod tests {
    use crate::Masker;

    #[test]
    fn every_code_of_a_list_is_masked_and_prose_is_not() {
        let text = "GitHub recovery codes — keep them safe:\n\na855d-667a3  b5cdd-aac0a\n3. a9f95-15e9d\n54595-00606\nBye\n";
        let masked = Masker::new([1; 32]).mask_text(text).into_owned();
        for code in ["a855d", "aac0a", "15e9d", "54595"] {
            assert!(!masked.contains(code), "{masked}");
        }
        assert!(masked.ends_with("\nBye\n"));
        for text in [
            "Print your recovery codes first.\nThen go to step-2 of chapter-3.\n",
            "Recovery codes are stored in table v2\n\n2024-11-20 deploy\n",
            "backup codes\nusers_2024 has 12 rows\n",
        ] {
            assert_eq!(Masker::new([1; 32]).mask_text(text), text);
        }
    }
}
