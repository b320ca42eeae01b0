//! The compiled patterns of the rules.
//!
//! Does not know where in a text a pattern is tried (`hunt`).

use crate::plausible;
use crate::rules::{Anchor, RULES, Rule};
use regex::{Regex, RegexBuilder};
use std::sync::{LazyLock, OnceLock};

/// Each is compiled on first use; most are never needed.
static PATTERNS: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| RULES.iter().map(|_| OnceLock::new()).collect());

/// The pattern of the rule with this index.
pub(crate) fn rule_pattern(at: usize) -> Option<&'static Regex> {
    let compile = || {
        let rule = &RULES[at];
        let pattern = match rule.anchor {
            Anchor::AtStart => format!("^(?:{})", rule.pattern),
            Anchor::ByName => format!("^(?:{})$", rule.pattern),
            _ => rule.pattern.to_owned(),
        };
        // A test compiles every rule, so none is silently lost here.
        RegexBuilder::new(&pattern).unicode(false).build().ok()
    };
    PATTERNS[at].get_or_init(compile).as_ref()
}

/// The kind of an assigned value, if a rule matches the name and the format of the value.
pub(crate) fn match_named(context: &str, value: &str) -> Option<&'static str> {
    let fits = |(at, rule): (usize, &Rule)| {
        let applies = rule.anchor == Anchor::ByName && rule.words.iter().any(|word| context.contains(word));
        applies && rule_pattern(at).is_some_and(|pattern| pattern.is_match(value))
    };
    let at = (0..RULES.len()).find(|&at| fits((at, &RULES[at])))?;
    (!plausible::is_documented(value) && !plausible::is_placeholder(value)).then_some(RULES[at].kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for (at, rule) in RULES.iter().enumerate() {
            assert!(rule_pattern(at).is_some(), "{}", rule.kind);
        }
    }
}
