//! What a type offers, in as few lines as can be: what members have in common is said once, and what a base says already is said by
//! its name.
//!
//! Does not know any language: it looks for the name in a signature, and for what stands before and behind it.

use std::borrow::Cow;
use std::fmt::Write as _;
use syntax::{Member, MemberKind, Visibility};

/// A line ends behind the first signature that goes beyond this, so that a person can read it too.
const WIDTH: usize = 110;

/// Words before the type of a field or property.
const MODIFIERS: &[&str] = &[
    "abstract",
    "const",
    "declare",
    "final",
    "let",
    "new",
    "override",
    "readonly",
    "required",
    "sealed",
    "static",
    "transient",
    "var",
    "virtual",
    "volatile",
];

/// Writes members of the type `of`, and nested types as kinds with names.
pub(super) fn write(out: &mut String, of: &str, nested: &[(&'static str, &str)], members: &[&Member]) {
    let mut lines: Vec<Line> = Vec::new();
    for (kind, name) in nested {
        let key = Key { head: format!("{kind} "), ..Key::default() };
        add(&mut lines, key, Entry { name, ..Entry::default() });
    }
    let (again, own): (Vec<&Member>, Vec<&Member>) = members.iter().partition(|it| overrides(it));
    let (data, functions): (Vec<&Member>, Vec<&Member>) = own.into_iter().partition(|it| is_data(it.kind));
    for member in data {
        add_data(&mut lines, member);
    }
    for member in functions {
        add_function(&mut lines, of, member);
    }
    for member in again {
        add_override(&mut lines, member);
    }
    for line in lines {
        line.write(out);
    }
}

/// A signature, with its visibility unless that is public.
pub(super) fn signature(member: &Member) -> String {
    unless_public(member.visibility) + &member.shown
}

fn unless_public(visibility: Visibility) -> String {
    if visibility == Visibility::Public { String::new() } else { format!("{} ", visibility.name()) }
}

fn is_data(kind: MemberKind) -> bool {
    matches!(kind, MemberKind::Field | MemberKind::Constant | MemberKind::Property | MemberKind::Event)
}

fn overrides(member: &Member) -> bool {
    let before = cut(member).before;
    before.split(' ').any(|word| word == "override")
}

/// What members have in common that share a line.
#[derive(Default, PartialEq)]
struct Key {
    /// Visibility and modifiers; of functions also what they return.
    head: String,
    /// The accessors of properties.
    tail: String,
    /// Fields, properties and constants are never on a line with functions, nor with each other.
    data: Option<MemberKind>,
}

/// A member without what its line says for all.
#[derive(Clone, Copy, Default)]
struct Entry<'a> {
    /// The type of a field, in languages that begin with it.
    before: &'a str,
    name: &'a str,
    /// Parameters, or the type in languages that end with it.
    after: &'a str,
}

struct Line<'a> {
    key: Key,
    entries: Vec<Entry<'a>>,
}

fn add<'a>(lines: &mut Vec<Line<'a>>, key: Key, entry: Entry<'a>) {
    match lines.iter_mut().find(|line| line.key == key) {
        Some(line) => line.entries.push(entry),
        None => lines.push(Line { key, entries: vec![entry] }),
    }
}

/// Fields and properties differ in type and name alone: a type of twenty of them costs half.
fn add_data<'a>(lines: &mut Vec<Line<'a>>, member: &'a Member) {
    let mut entry = cut(member);
    let words = modifiers(entry.before);
    entry.before = &entry.before[words.len()..];
    let (after, accessors) = entry.after.split_at(entry.after.find(" {").unwrap_or(entry.after.len()));
    entry.after = after;
    let head = unless_public(member.visibility) + words;
    add(lines, Key { head, tail: accessors.to_owned(), data: Some(member.kind) }, entry);
}

fn modifiers(text: &str) -> &str {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once(' ').filter(|(word, _)| MODIFIERS.contains(word)) {
        rest = behind;
    }
    &text[..text.len() - rest.len()]
}

/// A constructor has the name of its type, which is said already and may be long.
fn add_function<'a>(lines: &mut Vec<Line<'a>>, of: &str, member: &'a Member) {
    let Entry { before, name, after } = cut(member);
    let name = if member.kind == MemberKind::Constructor && name == of { "new" } else { name };
    let head = unless_public(member.visibility) + before;
    add(lines, Key { head, ..Key::default() }, Entry { before: "", name, after });
}

/// What it takes and returns stands with the base that has it first.
fn add_override<'a>(lines: &mut Vec<Line<'a>>, member: &'a Member) {
    let entry = cut(member);
    let words = entry.before.split(' ').filter(|word| MODIFIERS.contains(word));
    let words: Vec<&str> = words.collect();
    let key =
        Key { head: format!("{}{} ", unless_public(member.visibility), words.join(" ")), ..Key::default() };
    let known =
        lines.iter().any(|line| line.key == key && line.entries.iter().any(|it| it.name == entry.name));
    if !known {
        add(lines, key, Entry { name: entry.name, ..Entry::default() });
    }
}

/// A signature as what stands before its name, the name, and what stands behind.
fn cut(member: &Member) -> Entry<'_> {
    let (shown, name) = (member.shown.as_str(), member.name.as_str());
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    let alone = |at: &usize| {
        let (before, after) = (&shown[..*at], &shown[*at + name.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    };
    // a name may also be that of a type before it: `Color Color { get; }`
    let places: Vec<usize> = shown.match_indices(name).map(|(at, _)| at).filter(alone).collect();
    let called = places.iter().find(|at| shown[**at + name.len()..].starts_with(['(', '<', '[', '?']));
    let place = if is_data(member.kind) {
        places.iter().find(|at| begins_rest(shown, **at + name.len()))
    } else {
        called
    };
    match place.or(places.first()).filter(|_| !name.is_empty()) {
        Some(at) => Entry { before: &shown[..*at], name, after: &shown[*at + name.len()..] },
        None => Entry { before: "", name: "", after: shown },
    }
}

/// Whether what follows a name of a field is its end, its type or its value, and not the name itself again.
fn begins_rest(shown: &str, at: usize) -> bool {
    let rest = &shown[at..];
    rest.is_empty()
        || rest.starts_with([':', '?', '!'])
        || [" {", " =", " :"].iter().any(|it| rest.starts_with(it))
}

impl Line<'_> {
    fn write(mut self, out: &mut String) {
        self.sort();
        let mut width = 0;
        let _ = write!(out, "+ {}", self.key.head);
        for (at, entry) in self.entries.iter().enumerate() {
            let piece = self.piece(at, entry);
            if at > 0 {
                out.push_str(if width > WIDTH { ",\n  " } else { ", " });
                width = if width > WIDTH { 0 } else { width };
            }
            width += piece.len();
            out.push_str(&piece);
        }
        let _ = writeln!(out, "{}", self.key.tail);
    }

    /// Puts entries of one type beside each other, in the order in which each type comes first.
    fn sort(&mut self) {
        let entries = self.entries.clone();
        let first = |it: &Entry| {
            entries.iter().position(|other| (other.before, type_of(other)) == (it.before, type_of(it)))
        };
        self.entries.sort_by_key(first);
    }

    /// An entry without what its neighbour says: the type of the one before, the name of an overload, the type of the one behind.
    fn piece(&self, at: usize, entry: &Entry) -> String {
        let previous = at.checked_sub(1).map(|at| &self.entries[at]);
        let before = if previous.is_some_and(|it| it.before == entry.before) { "" } else { entry.before };
        let overload = entry.after.starts_with('(') && previous.is_some_and(|it| it.name == entry.name);
        let name = if overload { "" } else { entry.name };
        let next = self.entries.get(at + 1);
        let shared = !type_of(entry).is_empty() && next.is_some_and(|it| type_of(it) == type_of(entry));
        let after = if shared { Cow::Borrowed("") } else { shortened(&self.key.head, entry.after) };
        format!("{before}{name}{after}")
    }
}

/// The type behind a name: `: string`, ` string`; empty for parameters and for values.
fn type_of<'a>(entry: &Entry<'a>) -> &'a str {
    let is_type = !entry.after.contains('=') && entry.after.starts_with([':', ' ']);
    if is_type { entry.after } else { "" }
}

/// Parameters as short as they can be; `head` is what stands before the name.
fn shortened<'a>(head: &str, after: &'a str) -> Cow<'a, str> {
    let (Some(open), Some(close)) = (after.find('('), after.rfind(')')) else { return Cow::Borrowed(after) };
    if close < open {
        return Cow::Borrowed(after);
    }
    // in Python every method takes the object it is called on; in Rust that says how, and stays
    let says_nothing = |it: &&str| head.ends_with("def ") && matches!(*it, "self" | "cls");
    let parameters = listed(&after[open + 1..close]).into_iter().filter(|it| !says_nothing(it));
    let parameters: Vec<String> = parameters.map(without_said_name).collect();
    Cow::Owned(format!("{}{}{}", &after[..=open], parameters.join(", "), &after[close..]))
}

/// The elements of a list, whatever commas stand inside of them.
fn listed(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut from) = (Vec::new(), 0_i32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[from..].trim());
    found
}

/// Without a name that the type says: `JsonReader reader` is `JsonReader`. Only where a type comes first and begins with a
/// capital, its name with a small letter: in other languages the name comes first.
fn without_said_name(parameter: &str) -> String {
    let (declared, default) = parameter.split_at(parameter.find(" =").unwrap_or(parameter.len()));
    let Some((of, name)) = declared.rsplit_once(' ') else { return parameter.to_owned() };
    let plain = of.split(['<', '[', '?']).next().unwrap_or_default();
    let simple = plain.rsplit(['.', ' ']).next().unwrap_or_default();
    let cased = simple.starts_with(char::is_uppercase) && name.starts_with(char::is_lowercase);
    if cased && simple.to_lowercase().ends_with(&name.to_lowercase()) {
        format!("{of}{default}")
    } else {
        parameter.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_has_its_name_unless_the_type_says_it() {
        for (head, signature, shown) in [
            ("void ", "(JsonReader reader)", "(JsonReader)"),
            ("void ", "<T>(IList<T> list, int count)", "<T>(IList<T>, int count)"),
            ("void ", "(Token token = default)", "(Token = default)"),
            ("void ", "(out JToken value, Map<string, int> all)", "(out JToken value, Map<string, int> all)"),
            ("func ", "(reader Reader, n int) error", "(reader Reader, n int) error"),
            ("fn ", "(self, reader: &Reader) -> usize", "(self, reader: &Reader) -> usize"),
            ("async def ", "(self, a: int = 1) -> B", "(a: int = 1) -> B"),
            ("", ": string", ": string"),
            ("void ", "()", "()"),
        ] {
            assert_eq!(shortened(head, signature), shown);
        }
    }
}
