//! Numbers, times and lines as text.

use api::terminal_text::{char_width, short_id, strip_controls};

/// The units of relative times: name, milliseconds, and the number from which the next unit is used.
const UNITS: &[(&str, i64, i64)] = &[
    ("minute", 60_000, 60),
    ("hour", 3_600_000, 36),
    ("day", 86_400_000, 60),
    ("month", 30 * 86_400_000, 24),
    ("year", 365 * 86_400_000, i64::MAX),
];

/// None if the time is in the future.
pub(crate) fn relative_time(ms: i64) -> Option<String> {
    match ms {
        ..0 => None,
        0..60_000 => Some("just now".to_string()),
        _ => {
            let (name, unit, _) = UNITS.iter().find(|(_, unit, most)| ms / unit < *most)?;
            Some(format!("{} ago", count_of((ms / unit) as u64, name)))
        }
    }
}

pub fn count_of(n: u64, word: &str) -> String {
    format!("{} {word}{}", group_digits(n), if n == 1 { "" } else { "s" })
}

/// `5 of 24 sessions` if not all are shown.
pub(crate) fn count_of_total(shown: u64, total: u64, word: &str) -> String {
    if total > shown {
        format!("{} of {}", group_digits(shown), count_of(total, word))
    } else {
        count_of(shown, word)
    }
}

/// 1234567 as 1,234,567.
pub fn group_digits(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `$12.34`, of which `unpriced` replies have no price: `?` if nothing has one, `≥ $12.34` if the sum is a lower bound.
pub fn format_money(dollars: f64, unpriced: u64) -> String {
    let amount =
        if dollars > 0.0 && dollars < 0.005 { "< $0.01".to_string() } else { format!("${dollars:.2}") };
    match (unpriced > 0, dollars > 0.0) {
        (true, false) => "?".to_string(),
        (true, true) => format!("≥ {}", amount.trim_start_matches("< ")),
        _ => amount,
    }
}

/// `12.3 MB`, in units of 1024.
pub(crate) fn format_size(bytes: u64) -> String {
    let (mut n, mut unit) = (bytes as f64, "bytes");
    for next in ["KB", "MB", "GB", "TB"] {
        if n < 1024.0 {
            break;
        }
        (n, unit) = (n / 1024.0, next);
    }
    if unit == "bytes" { count_of(bytes, "byte") } else { format!("{n:.1} {unit}") }
}

/// The short ID, or the whole ID if another one has the same prefix.
pub(crate) fn shortest_id<'a>(id: &str, mut others: impl Iterator<Item = &'a str>) -> String {
    let head = short_id(id);
    if others.any(|other| other != id && other.starts_with(&head)) { strip_controls(id) } else { head }
}

/// A character, and whether it is part of a match.
pub(crate) type Marked = (char, bool);

/// Lines of at most `width` columns, broken between words if possible.
pub(crate) fn wrap_text(text: &[Marked], width: usize) -> Vec<Vec<Marked>> {
    let (mut lines, mut line, mut taken) = (Vec::new(), Vec::<Marked>::new(), 0);
    for &(c, marked) in text {
        let wide = char_width(c);
        // A trailing space is invisible: it may exceed the width.
        if c != ' ' && taken + wide > width && !line.is_empty() {
            let blank = line.iter().rposition(|(c, _)| *c == ' ').filter(|at| *at > line.len() / 2);
            let rest = blank.map_or_else(Vec::new, |at| line.split_off(at + 1));
            taken = rest.iter().map(|(c, _)| char_width(*c)).sum();
            lines.push(std::mem::replace(&mut line, rest));
        }
        taken += wide;
        line.push((c, marked));
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_says_what_has_no_price() {
        for (dollars, unpriced, text) in [
            (28.052, 0, "$28.05"),
            (28.052, 3, "≥ $28.05"),
            (0.0, 3, "?"),
            (0.0, 0, "$0.00"),
            (0.001, 0, "< $0.01"),
        ] {
            assert_eq!(format_money(dollars, unpriced), text);
        }
    }

    #[test]
    fn sizes_and_counts_have_units() {
        assert_eq!(
            (format_size(1), format_size(2048), format_size(5 << 30)),
            ("1 byte".into(), "2.0 KB".into(), "5.0 GB".into())
        );
        assert_eq!(count_of(1_234_567, "line"), "1,234,567 lines");
    }

    #[test]
    fn lines_are_broken_between_words_and_wide_characters_fit() {
        let text = |s: &str| s.chars().map(|c| (c, false)).collect::<Vec<_>>();
        let shown = |s: &str, width| -> Vec<String> {
            wrap_text(&text(s), width).iter().map(|l| l.iter().map(|(c, _)| *c).collect()).collect()
        };
        assert_eq!(shown("one two three", 8), ["one two ", "three"]);
        assert_eq!(shown("虚拟列表滚动", 8), ["虚拟列表", "滚动"]);
        assert_eq!(shown("abcdefgh ij", 8), ["abcdefgh ", "ij"]);
        assert_eq!(shown("", 8), [""]);
        assert_eq!(shortest_id("a1cdefghij", ["a1cdefghxx"].into_iter()), "a1cdefghij");
        assert_eq!(shortest_id("a1cdefghij", ["a1cdefgzxx"].into_iter()), "a1cdefgh");
    }
}
