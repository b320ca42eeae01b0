//! Formats the members of a type in as few lines as possible: common parts of signatures are written once, and an override is
//! written as its name alone.
//!
//! Does not know any language: it finds the name in a signature, and the text before and after it.

use std::borrow::Cow;
use std::fmt::Write as _;
use syntax::{Member, MemberKind, Visibility};

/// A line ends after the first signature that crosses this width, so that people can read it too.
const LINE_WIDTH: usize = 110;

/// Keywords before the type of a field or property.
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

/// Writes the members of the type `of`, and its nested types as kind and name.
pub(super) fn write_members(
    out: &mut String,
    of: &str,
    nested: &[(&'static str, &str)],
    members: &[&Member],
) {
    let mut lines: Vec<Line> = Vec::new();
    for (kind, name) in nested {
        let key = Key { head: format!("{kind} "), ..Key::default() };
        add_entry(&mut lines, key, Entry { name, ..Entry::default() });
    }
    let (overriding, own): (Vec<&Member>, Vec<&Member>) = members.iter().partition(|it| is_override(it));
    let (data, functions): (Vec<&Member>, Vec<&Member>) = own.into_iter().partition(|it| is_data(it.kind));
    for member in data {
        add_data(&mut lines, member);
    }
    for member in functions {
        add_function(&mut lines, of, member);
    }
    for member in overriding {
        add_override(&mut lines, member);
    }
    for line in lines {
        line.write_to(out);
    }
}

/// The signature of a member, with its visibility unless that is public.
pub(super) fn format_signature(member: &Member) -> String {
    visibility_prefix(member.visibility) + &member.signature_text
}

fn visibility_prefix(visibility: Visibility) -> String {
    if visibility == Visibility::Public { String::new() } else { format!("{} ", visibility.name()) }
}

fn is_data(kind: MemberKind) -> bool {
    matches!(kind, MemberKind::Field | MemberKind::Constant | MemberKind::Property | MemberKind::Event)
}

fn is_override(member: &Member) -> bool {
    let before = split_signature(member).before;
    before.split(' ').any(|word| word == "override")
}

/// The common parts of the members that share a line.
#[derive(Default, PartialEq)]
struct Key {
    /// Visibility and modifiers; for functions also the return type.
    head: String,
    /// The accessors of properties.
    tail: String,
    /// Fields, properties and constants never share a line with functions or with each other.
    data: Option<MemberKind>,
}

/// A member without the parts that its line has in common.
#[derive(Clone, Copy, Default)]
struct Entry<'a> {
    /// The type of a field, in languages that write it first.
    before: &'a str,
    name: &'a str,
    /// Parameters, or the type in languages that write it last.
    after: &'a str,
}

struct Line<'a> {
    key: Key,
    entries: Vec<Entry<'a>>,
}

fn add_entry<'a>(lines: &mut Vec<Line<'a>>, key: Key, entry: Entry<'a>) {
    match lines.iter_mut().find(|line| line.key == key) {
        Some(line) => line.entries.push(entry),
        None => lines.push(Line { key, entries: vec![entry] }),
    }
}

/// Fields and properties differ only in type and name: for a type with twenty of them, grouping halves the cost.
fn add_data<'a>(lines: &mut Vec<Line<'a>>, member: &'a Member) {
    let mut entry = split_signature(member);
    let words = leading_modifiers(entry.before);
    entry.before = &entry.before[words.len()..];
    let (after, accessors) = entry.after.split_at(entry.after.find(" {").unwrap_or(entry.after.len()));
    entry.after = after;
    let head = visibility_prefix(member.visibility) + words;
    add_entry(lines, Key { head, tail: accessors.to_owned(), data: Some(member.kind) }, entry);
}

fn leading_modifiers(text: &str) -> &str {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once(' ').filter(|(word, _)| MODIFIERS.contains(word)) {
        rest = behind;
    }
    &text[..text.len() - rest.len()]
}

/// A constructor has the name of its type, which is already in the outline and may be long.
fn add_function<'a>(lines: &mut Vec<Line<'a>>, of: &str, member: &'a Member) {
    let Entry { before, name, after } = split_signature(member);
    let name = if member.kind == MemberKind::Constructor && name == of { "new" } else { name };
    let head = visibility_prefix(member.visibility) + before;
    add_entry(lines, Key { head, ..Key::default() }, Entry { before: "", name, after });
}

/// Parameters and return type are listed with the base that declares the member.
fn add_override<'a>(lines: &mut Vec<Line<'a>>, member: &'a Member) {
    let entry = split_signature(member);
    let words = entry.before.split(' ').filter(|word| MODIFIERS.contains(word));
    let words: Vec<&str> = words.collect();
    let key = Key {
        head: format!("{}{} ", visibility_prefix(member.visibility), words.join(" ")),
        ..Key::default()
    };
    let known =
        lines.iter().any(|line| line.key == key && line.entries.iter().any(|it| it.name == entry.name));
    if !known {
        add_entry(lines, key, Entry { name: entry.name, ..Entry::default() });
    }
}

/// Splits a signature into the text before the name, the name, and the text after it.
fn split_signature(member: &Member) -> Entry<'_> {
    let (shown, name) = (member.signature_text.as_str(), member.name.as_str());
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    let alone = |at: &usize| {
        let (before, after) = (&shown[..*at], &shown[*at + name.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    };
    // the type before a name may have the same name: `Color Color { get; }`
    let places: Vec<usize> = shown.match_indices(name).map(|(at, _)| at).filter(alone).collect();
    let called = places.iter().find(|at| shown[**at + name.len()..].starts_with(['(', '<', '[', '?']));
    let place = if is_data(member.kind) {
        places.iter().find(|at| is_end_of_name(shown, **at + name.len()))
    } else {
        called
    };
    match place.or(places.first()).filter(|_| !name.is_empty()) {
        Some(at) => Entry { before: &shown[..*at], name, after: &shown[*at + name.len()..] },
        None => Entry { before: "", name: "", after: shown },
    }
}

/// Whether the text after a field's name is empty, a type or a value, and not the name again.
fn is_end_of_name(shown: &str, at: usize) -> bool {
    let rest = &shown[at..];
    rest.is_empty()
        || rest.starts_with([':', '?', '!'])
        || [" {", " =", " :"].iter().any(|it| rest.starts_with(it))
}

impl Line<'_> {
    fn write_to(mut self, out: &mut String) {
        self.group_by_type();
        let mut width = 0;
        let _ = write!(out, "+ {}", self.key.head);
        for (at, entry) in self.entries.iter().enumerate() {
            let piece = self.format_entry(at, entry);
            if at > 0 {
                out.push_str(if width > LINE_WIDTH { ",\n  " } else { ", " });
                width = if width > LINE_WIDTH { 0 } else { width };
            }
            width += piece.len();
            out.push_str(&piece);
        }
        let _ = writeln!(out, "{}", self.key.tail);
    }

    /// Moves entries with the same type next to each other, in the order in which each type first occurs.
    fn group_by_type(&mut self) {
        let entries = self.entries.clone();
        let first = |it: &Entry| {
            entries
                .iter()
                .position(|other| (other.before, trailing_type(other)) == (it.before, trailing_type(it)))
        };
        self.entries.sort_by_key(first);
    }

    /// Formats an entry without what its neighbours share: the type of the previous one, the name of an overload, the type of the
    /// next one.
    fn format_entry(&self, at: usize, entry: &Entry) -> String {
        let previous = at.checked_sub(1).map(|at| &self.entries[at]);
        let before = if previous.is_some_and(|it| it.before == entry.before) { "" } else { entry.before };
        let overload = entry.after.starts_with('(') && previous.is_some_and(|it| it.name == entry.name);
        let name = if overload { "" } else { entry.name };
        let next = self.entries.get(at + 1);
        let shared = !trailing_type(entry).is_empty()
            && next.is_some_and(|it| trailing_type(it) == trailing_type(entry));
        let after = if shared { Cow::Borrowed("") } else { shorten_parameters(&self.key.head, entry.after) };
        format!("{before}{name}{after}")
    }
}

/// The type after a name: `: string`, ` string`; empty for parameters and values.
fn trailing_type<'a>(entry: &Entry<'a>) -> &'a str {
    let is_type = !entry.after.contains('=') && entry.after.starts_with([':', ' ']);
    if is_type { entry.after } else { "" }
}

/// Shortens a parameter list; `head` is the text before the name.
fn shorten_parameters<'a>(head: &str, after: &'a str) -> Cow<'a, str> {
    let (Some(open), Some(close)) = (after.find('('), after.rfind(')')) else { return Cow::Borrowed(after) };
    if close < open {
        return Cow::Borrowed(after);
    }
    // in Python every method takes `self`; in Rust the form of `self` carries information, and stays
    let says_nothing = |it: &&str| head.ends_with("def ") && matches!(*it, "self" | "cls");
    let parameters = split_top_level(&after[open + 1..close]).into_iter().filter(|it| !says_nothing(it));
    let parameters: Vec<String> = parameters.map(drop_redundant_name).collect();
    Cow::Owned(format!("{}{}{}", &after[..=open], parameters.join(", "), &after[close..]))
}

/// Splits a list at its top-level commas.
fn split_top_level(text: &str) -> Vec<&str> {
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

/// Drops a parameter name that repeats its type: `JsonReader reader` becomes `JsonReader`. Only if the type comes first and
/// begins with a capital, and the name with a small letter: in other languages the name comes first.
fn drop_redundant_name(parameter: &str) -> String {
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
    fn a_parameter_name_that_repeats_its_type_is_dropped() {
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
            assert_eq!(shorten_parameters(head, signature), shown);
        }
    }
}
