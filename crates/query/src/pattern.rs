//! `--pattern`: a regular expression with limits, so that neither a typo nor a model's ambition costs more than reading
//! the text.
//!
//! Does not know which text it is matched against.

use crate::Error;
use regex::{Regex, RegexBuilder};

/// Longer than any pattern a person types.
const MAX_PATTERN_BYTES: usize = 512;

pub struct Pattern(Regex);

impl Pattern {
    pub fn new(pattern: &str) -> Result<Pattern, Error> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(Error::Pattern(format!(
                "{} bytes exceed the limit of {MAX_PATTERN_BYTES}",
                pattern.len()
            )));
        }
        let built =
            RegexBuilder::new(pattern).size_limit(1 << 20).dfa_size_limit(1 << 20).nest_limit(50).build();
        built.map(Pattern).map_err(|e| Error::Pattern(e.to_string()))
    }

    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_patterns_are_refused_or_cheap() {
        for bad in ["(", &"a".repeat(600), "(a{1000}){1000}", &"(".repeat(60)] {
            assert!(Pattern::new(bad).is_err(), "{bad:.20}");
        }
        let slow = Pattern::new("(a+)+$").unwrap();
        assert!(!slow.matches(&("a".repeat(100_000) + "!")));
    }
}
