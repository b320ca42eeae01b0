//! Matches names against wildcard patterns.
//!
//! Does not know folders: `/` is an ordinary character.

/// `*` matches any text, `?` one byte. Backtracks only to the last `*`, so matching time is bounded by the product of both
/// lengths.
pub fn wildcard_matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match &mut star {
                Some((after, from)) => {
                    *from += 1;
                    (p, t) = (*after, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pattern_backtracks_exponentially() {
        let text = "a".repeat(5000);
        assert!(!wildcard_matches(format!("{}b", "*a".repeat(200)).as_bytes(), text.as_bytes()));
        assert!(
            wildcard_matches(b"a*b?d", b"axxbcd")
                && !wildcard_matches(b"a?", b"a")
                && wildcard_matches(b"*", b"")
        );
    }
}
