//! Tells places that assign a field or a property from those that read it, by the text around the name.
//!
//! Does not know changes of what a value contains: `a.list[0] = b` and `a.list.add(b)` read `list`.

use syntax::{MemberKind, language_of};

/// Operators that assign, longest first.
const OPERATORS: &[&str] = &[
    ">>>=", "??=", "||=", "&&=", "<<=", ">>=", "**=", "//=", "&^=", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", ":=", "++", "--",
];
/// Longer initialisers are not searched for their end.
const MAX_INITIALISER: usize = 20_000;

/// Whether members of a kind have a value that can be assigned.
pub fn is_assignable(kind: MemberKind) -> bool {
    matches!(kind, MemberKind::Field | MemberKind::Property | MemberKind::Constant | MemberKind::Event)
}

/// Whether the name at a byte range of a file is assigned there.
pub fn is_assigned(file: &str, text: &str, (at, end): (u32, u32)) -> bool {
    let (Some(before), Some(after)) = (text.get(..at as usize), text.get(end as usize..)) else {
        return false;
    };
    let next = after.trim_start_matches([' ', '\t']);
    let around = before.trim_end_matches(|c: char| c.is_alphanumeric() || "_.#@$!?".contains(c));
    let around = around.trim_end_matches(['*', '(', ' ']);
    starts_assignment(next)
        || ["++", "--", "&mut"].iter().any(|sign| around.ends_with(sign))
        || is_in_list(before, next)
        || !is_python(file) && is_initialised(before, next)
}

/// A key of a dictionary is a value there, not a name.
fn is_python(file: &str) -> bool {
    language_of(file.as_ref()).is_some_and(|language| language.name == "Python")
}

fn starts_assignment(next: &str) -> bool {
    let is_plain = next.starts_with('=') && !next.starts_with("==") && !next.starts_with("=>");
    is_plain || OPERATORS.iter().any(|operator| next.starts_with(operator))
}

/// `a.x, b.y = 1, 2`: the line has nothing but names up to the sign.
fn is_in_list(before: &str, next: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || " \t_.,*()[]".contains(c);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let sign = next.trim_start_matches(is_name);
    let listed = &next[..next.len() - sign.len()];
    let is_list = listed.starts_with(',') || line.contains(',');
    is_list && balances(line) && balances(listed) && line.chars().all(is_name) && starts_assignment(sign)
}

fn balances(text: &str) -> bool {
    text.matches('(').count() == text.matches(')').count()
}

/// `T { x: 1 }`, but not the pattern in `let T { x: a } = b`.
fn is_initialised(before: &str, next: &str) -> bool {
    let is_key = next.starts_with(':') && !next.starts_with("::");
    is_key && before.trim_end().ends_with(['{', ',']) && !is_pattern(next)
}

/// Whether a value follows the end of the braces around a text, or a body: then they take apart.
fn is_pattern(text: &str) -> bool {
    let mut depth = 0;
    for (at, c) in text.char_indices().take(MAX_INITIALISER) {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                let rest = text[at + 1..].trim_start();
                let outer = rest.trim_start_matches([')', ' ']);
                let is_parameter = outer.len() < rest.len() && outer.starts_with('{');
                return outer.starts_with('=') && !outer.starts_with("==") || is_parameter;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name is `x`, in the first place where it is a word of its own.
    fn is_write(file: &str, text: &str) -> bool {
        let at = syntax::whole_words(text, "x")[0].from;
        is_assigned(file, text, (at, at + 1))
    }

    #[test]
    fn assignments_are_told_from_reads() {
        for text in [
            "a.x = 1;",
            "x = 1",
            "this.x += 1;",
            "a.x++;",
            "++a.x;",
            "--this.x;",
            "&mut self.x",
            "a.x, b.y = 1, 2\n",
            "b.y, a.x = f()\n",
            "T{x: 1}",
            "return T { y: 2, x: 1 };",
            "a.x ??= {}",
        ] {
            assert!(is_write("a.go", text), "{text}");
        }
        for text in [
            "a.x == 1",
            "a.x => 1",
            "f(a.x)",
            "a.x[0] = 1",
            "a.x.y = 1",
            "if a.x <= 1",
            "let T { x: a } = b;",
            "({ x: a }) => 1",
            "function f({ x: a }) { }",
            "case a.x:",
            "b ? a.x : c",
            "f(a.x, b) == 1",
            "g(a.x, c = 1)",
            "y - a.x",
        ] {
            assert!(!is_write("a.ts", text), "{text}");
        }
        assert!(!is_write("a.py", "{x: 1}"), "a key of a dictionary is a value");
    }
}
