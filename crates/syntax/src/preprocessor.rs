//! Evaluates `#if` directives against the symbols that a project defines.
//!
//! Does not know where the symbols are defined.

use std::collections::BTreeSet;

/// The preprocessor symbols defined for a file, such as `DEBUG` or `NET8_0_OR_GREATER`.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Symbols(BTreeSet<String>);

impl Symbols {
    pub fn from_names(names: &[&str]) -> Symbols {
        names.iter().copied().collect()
    }

    pub fn insert(&mut self, name: &str) {
        self.0.insert(name.to_owned());
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<'a> FromIterator<&'a str> for Symbols {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Symbols {
        Symbols(names.into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }
}

/// The stack of `#if` branches that are open at the current position.
pub(crate) struct ConditionStack {
    defined: Symbols,
    branches: Vec<Branch>,
}

struct Branch {
    /// Whether a branch of this `#if` has already been active.
    taken: bool,
    active: bool,
    /// Whether the code around the `#if` is active.
    outer: bool,
}

impl ConditionStack {
    pub(crate) fn new(symbols: &Symbols) -> ConditionStack {
        ConditionStack { defined: symbols.clone(), branches: Vec::new() }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.branches.last().is_none_or(|branch| branch.active)
    }

    /// Processes one directive, starting at its `#`.
    pub(crate) fn process_directive(&mut self, line: &str) {
        let line = line.trim_start_matches('#').trim();
        let (word, rest) = line.split_at(line.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(line.len()));
        let rest = rest.split("//").next().unwrap_or_default().trim();
        match word {
            "if" => {
                let outer = self.is_active();
                let active = outer && self.evaluate_condition(rest);
                self.branches.push(Branch { taken: active, active, outer });
            }
            "elif" => {
                let holds = self.evaluate_condition(rest);
                self.switch_branch(holds);
            }
            "else" => self.switch_branch(true),
            "endif" => drop(self.branches.pop()),
            "define" if self.is_active() => self.defined.insert(rest),
            "undef" if self.is_active() => drop(self.defined.0.remove(rest)),
            _ => {}
        }
    }

    fn switch_branch(&mut self, holds: bool) {
        if let Some(branch) = self.branches.last_mut() {
            branch.active = branch.outer && !branch.taken && holds;
            branch.taken |= branch.active;
        }
    }

    fn evaluate_condition(&self, condition: &str) -> bool {
        ConditionParser { text: condition.as_bytes(), at: 0, open: 0, defined: &self.defined }.parse_or()
    }
}

/// A recursive descent evaluator for conditions such as `A && (!B || C == true)`.
struct ConditionParser<'a> {
    text: &'a [u8],
    at: usize,
    /// How many parentheses are open.
    open: usize,
    defined: &'a Symbols,
}

/// A condition with more open parentheses does not hold.
const MAX_OPEN: usize = 100;

impl ConditionParser<'_> {
    fn parse_or(&mut self) -> bool {
        let mut holds = self.parse_and();
        while self.consume_operator(b"||") {
            holds |= self.parse_and();
        }
        holds
    }

    fn parse_and(&mut self) -> bool {
        let mut holds = self.parse_equality();
        while self.consume_operator(b"&&") {
            holds &= self.parse_equality();
        }
        holds
    }

    fn parse_equality(&mut self) -> bool {
        let mut holds = self.parse_unary();
        loop {
            if self.consume_operator(b"==") {
                holds = holds == self.parse_unary();
            } else if self.consume_operator(b"!=") {
                holds = holds != self.parse_unary();
            } else {
                return holds;
            }
        }
    }

    fn parse_unary(&mut self) -> bool {
        let mut negated = false;
        while self.consume_operator(b"!") {
            negated = !negated;
        }
        let holds = if self.consume_operator(b"(") {
            if self.open == MAX_OPEN {
                self.at = self.text.len();
                return false;
            }
            self.open += 1;
            let inner = self.parse_or();
            self.open -= 1;
            self.consume_operator(b")");
            inner
        } else {
            self.parse_operand()
        };
        holds != negated
    }

    fn parse_operand(&mut self) -> bool {
        self.skip_whitespace();
        let rest = &self.text[self.at..];
        let length =
            rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | 0x80..)).count();
        self.at += length;
        match std::str::from_utf8(&rest[..length]).unwrap_or_default() {
            "true" => true,
            name => self.defined.0.contains(name),
        }
    }

    fn skip_whitespace(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn consume_operator(&mut self, mark: &[u8]) -> bool {
        self.skip_whitespace();
        let found = self.text[self.at..].starts_with(mark);
        self.at += if found { mark.len() } else { 0 };
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_evaluated_like_in_the_compiler() {
        let conditions = ConditionStack::new(&Symbols::from_names(&["A", "B"]));
        for (text, holds) in [
            ("A", true),
            ("!A", false),
            ("A && C", false),
            ("A && !C", true),
            ("C || A && B", true),
            ("!(C || A) || B", true),
            ("A == true", true),
            ("C != A", true),
            ("false", false),
            ("( ", false),
        ] {
            assert_eq!(conditions.evaluate_condition(text), holds, "{text}");
        }
    }

    #[test]
    fn a_file_may_define_symbols() {
        let mut conditions = ConditionStack::new(&Symbols::default());
        for (line, active) in [
            ("#define X", true),
            ("# if X // why", true),
            ("#else", false),
            ("#define Y", false),
            ("#endif", true),
            ("#if Y", false),
            ("#elif X", true),
            ("#elif X", false),
            ("#endif", true),
            ("#endif", true),
        ] {
            conditions.process_directive(line);
            assert_eq!(conditions.is_active(), active, "{line}");
        }
    }
}
