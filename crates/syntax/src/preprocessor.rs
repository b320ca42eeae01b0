//! Evaluates `#if` directives against the symbols that a project defines.
//!
//! Does not know where the symbols are defined.

use std::collections::BTreeSet;

/// The preprocessor symbols defined for a file, such as `DEBUG` or `NET8_0_OR_GREATER`.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Symbols(BTreeSet<String>);

impl Symbols {
    pub fn of(names: &[&str]) -> Symbols {
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
pub(crate) struct Conditions {
    defined: Symbols,
    open: Vec<Branch>,
}

struct Branch {
    /// Whether a branch of this `#if` has already been active.
    taken: bool,
    active: bool,
    /// Whether the code around the `#if` is active.
    outer: bool,
}

impl Conditions {
    pub(crate) fn new(symbols: &Symbols) -> Conditions {
        Conditions { defined: symbols.clone(), open: Vec::new() }
    }

    pub(crate) fn active(&self) -> bool {
        self.open.last().is_none_or(|branch| branch.active)
    }

    /// Processes one directive, starting at its `#`.
    pub(crate) fn line(&mut self, line: &str) {
        let line = line.trim_start_matches('#').trim();
        let (word, rest) = line.split_at(line.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(line.len()));
        let rest = rest.split("//").next().unwrap_or_default().trim();
        match word {
            "if" => {
                let outer = self.active();
                let active = outer && self.holds(rest);
                self.open.push(Branch { taken: active, active, outer });
            }
            "elif" => {
                let holds = self.holds(rest);
                self.turn(holds);
            }
            "else" => self.turn(true),
            "endif" => drop(self.open.pop()),
            "define" if self.active() => self.defined.insert(rest),
            "undef" if self.active() => drop(self.defined.0.remove(rest)),
            _ => {}
        }
    }

    fn turn(&mut self, holds: bool) {
        if let Some(branch) = self.open.last_mut() {
            branch.active = branch.outer && !branch.taken && holds;
            branch.taken |= branch.active;
        }
    }

    fn holds(&self, condition: &str) -> bool {
        Condition { text: condition.as_bytes(), at: 0, defined: &self.defined }.either()
    }
}

/// A recursive descent evaluator for conditions such as `A && (!B || C == true)`.
struct Condition<'a> {
    text: &'a [u8],
    at: usize,
    defined: &'a Symbols,
}

impl Condition<'_> {
    fn either(&mut self) -> bool {
        let mut holds = self.both();
        while self.takes(b"||") {
            holds |= self.both();
        }
        holds
    }

    fn both(&mut self) -> bool {
        let mut holds = self.equal();
        while self.takes(b"&&") {
            holds &= self.equal();
        }
        holds
    }

    fn equal(&mut self) -> bool {
        let mut holds = self.one();
        loop {
            if self.takes(b"==") {
                holds = holds == self.one();
            } else if self.takes(b"!=") {
                holds = holds != self.one();
            } else {
                return holds;
            }
        }
    }

    fn one(&mut self) -> bool {
        let mut negated = false;
        while self.takes(b"!") {
            negated = !negated;
        }
        let holds = if self.takes(b"(") {
            let inner = self.either();
            self.takes(b")");
            inner
        } else {
            self.name()
        };
        holds != negated
    }

    fn name(&mut self) -> bool {
        self.blanks();
        let rest = &self.text[self.at..];
        let length =
            rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | 0x80..)).count();
        self.at += length;
        match std::str::from_utf8(&rest[..length]).unwrap_or_default() {
            "true" => true,
            name => self.defined.0.contains(name),
        }
    }

    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn takes(&mut self, mark: &[u8]) -> bool {
        self.blanks();
        let found = self.text[self.at..].starts_with(mark);
        self.at += if found { mark.len() } else { 0 };
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_the_compiler_reads_them() {
        let conditions = Conditions::new(&Symbols::of(&["A", "B"]));
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
            assert_eq!(conditions.holds(text), holds, "{text}");
        }
    }

    #[test]
    fn a_file_may_define_for_itself() {
        let mut conditions = Conditions::new(&Symbols::default());
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
            conditions.line(line);
            assert_eq!(conditions.active(), active, "{line}");
        }
    }
}
