//! Finds values of YAML that span lines: `signing_key: >-` and the lines below it that are indented.
//!
//! Values on the line of their name are found by `assignment`.

use crate::{assignment, plausible};
use std::ops::Range;

type Secret = (Range<usize>, &'static str);

/// Lines of a value, and bytes in which they are looked for.
const MAX_LINES: usize = 32;
const MAX_BYTES: usize = 4 << 10;

/// Each line of the value that is a part of a secret, if the name before the sign names one.
pub(crate) fn find_lines(text: &str, sign: &Range<usize>) -> Vec<Secret> {
    let bytes = text.as_bytes();
    let head = memchr::memchr(b'\n', &bytes[sign.end..bytes.len().min(sign.end + 8)]);
    let Some(first) =
        head.filter(|at| is_scalar_head(&text[sign.end..sign.end + at])).map(|at| sign.end + at + 1)
    else {
        return Vec::new();
    };
    let from = sign.start.saturating_sub(160);
    let line = memchr::memrchr(b'\n', &bytes[from..sign.start]).map_or(from, |at| from + at + 1);
    let line = text.ceil_char_boundary(line);
    let name = &text[line..sign.start];
    let indent = name.len() - name.trim_start_matches([' ', '-']).len();
    let Some(kind) = assignment::kind_of_name(name.trim().trim_start_matches("- ").trim_matches(['"', '\'']))
    else {
        return Vec::new();
    };
    let to = text.floor_char_boundary((first + MAX_BYTES).min(text.len()));
    let mut found = Vec::new();
    let mut at = first;
    for line in text[first..to].split_inclusive('\n').take(MAX_LINES) {
        let value = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        if value.is_empty() {
            continue;
        }
        if line.len() - line.trim_start().len() <= indent {
            break;
        }
        // The last line is what is left over: shorter than the others.
        let is_part = plausible::is_random_value(value)
            || !found.is_empty() && value.len() >= 8 && !value.contains(' ');
        if !is_part {
            break;
        }
        found.push((start..start + value.len(), kind));
    }
    found
}

/// `>`, `>-`, `|`, `|+2`, without the first sign.
fn is_scalar_head(rest: &str) -> bool {
    rest.trim_end().chars().all(|c| matches!(c, '-' | '+' | '1'..='9'))
}

#[cfg(test)]
mod tests {
    use crate::Masker;

    #[test]
    fn every_line_of_a_folded_secret_is_masked() {
        let text = "app:\n  signing_key: >-\n    Of4FiMvlgf741NV5XTP4V0Z8vpdaXHeueSvoNcT4tPRQnt1t\n    ErZNLBk4wdHtlOJE4a5evwg4OBJbep2noVcH6CROVEq9Kf4v\n    DmIMMRHp66f2b7W92Z4f\n  issuer: courier\n";
        let masked = Masker::new([1; 32]).mask_text(text).into_owned();
        for part in ["Of4FiMvl", "ErZNLBk4", "DmIMMRHp"] {
            assert!(!masked.contains(part), "{masked}");
        }
        assert!(masked.ends_with("  issuer: courier\n"), "{masked}");
        let prose = "secret_rules: |\n  Never print a password.\n  Rotate keys every 30 days.\n";
        assert_eq!(Masker::new([1; 32]).mask_text(prose), prose);
    }
}
