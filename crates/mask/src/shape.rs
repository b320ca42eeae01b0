//! Describes the text of a value: which characters it has, how they alternate, which known form it takes.
//!
//! Does not know what stands around the value.

use crate::bigrams::RARITY;
use crate::plausible;

/// Counts of the characters of a value.
#[derive(Default)]
pub(crate) struct Shape {
    pub(crate) digits: u8,
    pub(crate) upper: u8,
    pub(crate) lower: u8,
    pub(crate) signs: u8,
    pub(crate) separators: u8,
    pub(crate) slashes: u8,
    pub(crate) other: u8,
    pub(crate) transitions: u8,
    pub(crate) distinct: u8,
    pub(crate) wordy: u8,
    pub(crate) bigrams: u8,
}

impl Shape {
    pub(crate) fn of(value: &str) -> Shape {
        let mut shape = Shape::default();
        let (mut seen, mut before, mut run) = (0_u128, 0_u8, 0_u8);
        for byte in value.bytes().take(96) {
            let (count, class) = match byte {
                b'0'..=b'9' => (&mut shape.digits, 1),
                b'A'..=b'Z' => (&mut shape.upper, 2),
                b'a'..=b'z' => (&mut shape.lower, 3),
                b'_' | b'-' | b'.' => (&mut shape.separators, 4),
                b'/' | b'\\' | b':' => (&mut shape.slashes, 5),
                128.. => (&mut shape.other, 6),
                _ => (&mut shape.signs, 7),
            };
            *count += 1;
            // A capital before small letters begins a word.
            shape.transitions += u8::from(class != before && !(before == 2 && class == 3));
            run = if class == 3 && (before == 3 || before == 2) { run + 1 } else { u8::from(class == 3) };
            shape.wordy = shape.wordy.max(run);
            before = class;
            seen |= 1 << (byte & 127);
        }
        shape.distinct = seen.count_ones() as u8;
        shape.bigrams = rarity(value);
        shape
    }
}

/// The mean rarity of the pairs of letters, ten times the negative logarithm; of what has no pair, a middle value.
fn rarity(value: &str) -> u8 {
    let letter = |byte: u8| byte.is_ascii_alphabetic().then(|| usize::from(byte.to_ascii_lowercase() - b'a'));
    let (mut sum, mut pairs) = (0_u32, 0_u32);
    for two in value.as_bytes().windows(2).take(96) {
        if let (Some(first), Some(second)) = (letter(two[0]), letter(two[1])) {
            sum += u32::from(RARITY[first].as_bytes()[second] - b'0');
            pairs += 1;
        }
    }
    (sum * 10).checked_div(pairs).map_or(45, |mean| mean.min(90) as u8)
}

/// The form of a value that is not a secret by itself.
pub(crate) fn format_class(value: &str, shape: &Shape) -> u8 {
    let length = value.len();
    let all = |test: fn(u8) -> bool| value.bytes().all(test);
    let letters = usize::from(shape.upper) + usize::from(shape.lower);
    if plausible::is_uuid(value) {
        return 1;
    }
    if letters == 0 && all(|byte| byte.is_ascii_digit()) {
        return 2;
    }
    if length >= 6 && all(|byte| byte.is_ascii_hexdigit()) {
        return match length {
            32 => 3,
            40 => 4,
            64 => 5,
            7..=12 => 6,
            _ => 7,
        };
    }
    if all(|byte| byte.is_ascii_digit() || b".:-/,T Z+".contains(&byte)) {
        return 8;
    }
    if value.contains("://") {
        return 9;
    }
    if value.contains(['$', '{', '<', '%']) && value.contains(['{', '<', '(']) {
        return 10;
    }
    if value.starts_with(['/', '~']) || value.starts_with("./") || value.starts_with("../") {
        return 11;
    }
    if value.contains('@') && value.contains('.') && shape.signs == 1 {
        return 12;
    }
    if plausible::reads_like_code(value) {
        return 13;
    }
    if plausible::is_words(value) {
        return 14;
    }
    if shape.digits == 0 && shape.separators == 0 && shape.signs == 0 {
        return if shape.upper == 0 {
            15
        } else if shape.lower == 0 {
            16
        } else {
            17
        };
    }
    if shape.slashes > 0 && shape.signs == 0 {
        return 18;
    }
    if value.starts_with('v') && all(|byte| byte.is_ascii_digit() || b"v.-rcbetalph".contains(&byte)) {
        return 19;
    }
    if length >= 16
        && shape.separators == 0
        && shape.signs == 0
        && shape.upper > 0
        && shape.lower > 0
        && shape.digits > 0
    {
        return 20;
    }
    if value.ends_with('=') {
        return 21;
    }
    if shape.upper == 0 && shape.signs == 0 && shape.separators == 0 {
        return 22;
    }
    0
}
