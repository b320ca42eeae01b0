//! Hand-written JSON, with comments and trailing commas: finds where each member of an object and each element of a list
//! begins and ends, inserts one beside the others, and removes one.
//!
//! Does not know whose settings they are, and never rewrites a member that is not ours.

use crate::edit::{EditError, Insertion, is_blank, line_ending};
use crate::entry::{Entry, Location};
use serde_json::{Map, Value};

/// Deeper than any real settings, and far from exhausting the stack.
const MAX_DEPTH: usize = 100;

/// An object, or a list, whose members have no keys.
struct Container {
    /// Offsets of its brackets.
    open: usize,
    close: usize,
    members: Vec<Member>,
    /// The end of the last token inside that is not white space: a member, a comma or a comment.
    tail: usize,
}

struct Member {
    key: String,
    start: usize,
    end: usize,
    /// Offset of the comma after it.
    comma: Option<usize>,
    value: Node,
}

enum Node {
    Object(Container),
    Array(Container),
    Scalar(Value),
}

// ---- parsing

pub(crate) fn parse_tree(text: &str) -> Result<Value, EditError> {
    to_value(&parse_document(text)?)
}

fn to_value(node: &Node) -> Result<Value, EditError> {
    Ok(match node {
        Node::Scalar(value) => value.clone(),
        Node::Array(list) => {
            let elements = list.members.iter().map(|element| to_value(&element.value));
            Value::Array(elements.collect::<Result<_, _>>()?)
        }
        Node::Object(object) => {
            let mut map = Map::new();
            for member in &object.members {
                // Agents differ in which of two duplicate keys they use, so such a file is not edited.
                if map.insert(member.key.clone(), to_value(&member.value)?).is_some() {
                    return Err(EditError::Syntax(format!("duplicate key `{}`", member.key)));
                }
            }
            Value::Object(map)
        }
    })
}

fn parse_document(text: &str) -> Result<Node, EditError> {
    let mut reader = Parser { text, at: text.len() - text.trim_start_matches('\u{feff}').len() };
    reader.skip_space()?;
    let node = reader.parse_node(0)?;
    reader.skip_space()?;
    if reader.at == text.len() { Ok(node) } else { Err(reader.syntax_error()) }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn peek_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn syntax_error(&self) -> EditError {
        let line = self.text[..self.at.min(self.text.len())].matches('\n').count() + 1;
        EditError::Syntax(format!("line {line}"))
    }

    fn take_byte(&mut self, byte: u8) -> bool {
        let is = self.peek_byte() == Some(byte);
        self.at += usize::from(is);
        is
    }

    /// Skips white space and comments; returns the end of the last comment, if any.
    fn skip_space(&mut self) -> Result<Option<usize>, EditError> {
        let mut comment_end = None;
        loop {
            let rest = &self.text[self.at..];
            if matches!(self.peek_byte(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            } else if rest.starts_with("//") {
                let line = rest.find('\n').unwrap_or(rest.len());
                self.at += rest[..line].trim_end_matches('\r').len();
                comment_end = Some(self.at);
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").ok_or_else(|| self.syntax_error())? + 2;
                comment_end = Some(self.at);
            } else {
                return Ok(comment_end);
            }
        }
    }

    fn parse_node(&mut self, depth: usize) -> Result<Node, EditError> {
        match self.peek_byte() {
            _ if depth > MAX_DEPTH => Err(self.syntax_error()),
            Some(b'{') => self.parse_container(depth, b'}').map(Node::Object),
            Some(b'[') => self.parse_container(depth, b']').map(Node::Array),
            _ => self.parse_scalar().map(Node::Scalar),
        }
    }

    fn parse_scalar(&mut self) -> Result<Value, EditError> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with('"') { string_length(rest) } else { word_length(rest) };
        let value = serde_json::from_str(&rest[..length]).map_err(|_| self.syntax_error())?;
        self.at += length;
        Ok(value)
    }

    fn parse_container(&mut self, depth: usize, closing: u8) -> Result<Container, EditError> {
        let open = self.at;
        self.at += 1;
        let mut container = Container { open, close: open, members: Vec::new(), tail: self.at };
        loop {
            container.tail = self.skip_space()?.unwrap_or(container.tail);
            container.close = self.at;
            if self.take_byte(closing) {
                return Ok(container);
            }
            let mut member =
                if closing == b'}' { self.parse_member(depth)? } else { self.parse_element(depth)? };
            container.tail = self.skip_space()?.unwrap_or(member.end);
            if self.peek_byte() == Some(b',') {
                member.comma = Some(self.at);
                self.at += 1;
                container.tail = self.at;
            } else if self.peek_byte() != Some(closing) {
                return Err(self.syntax_error());
            }
            container.members.push(member);
        }
    }

    fn parse_element(&mut self, depth: usize) -> Result<Member, EditError> {
        let start = self.at;
        let value = self.parse_node(depth + 1)?;
        Ok(Member { key: String::new(), start, end: self.at, comma: None, value })
    }

    fn parse_member(&mut self, depth: usize) -> Result<Member, EditError> {
        let start = self.at;
        let Value::String(key) = self.parse_scalar()? else { return Err(self.syntax_error()) };
        self.skip_space()?;
        if !self.take_byte(b':') {
            return Err(self.syntax_error());
        }
        self.skip_space()?;
        let value = self.parse_node(depth + 1)?;
        Ok(Member { key, start, end: self.at, comma: None, value })
    }
}

/// Length up to and including the closing quote.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(text.len())
}

// ---- inserting

pub(crate) fn insert_entry(text: &str, entry: &Entry) -> Result<Vec<Insertion>, EditError> {
    let (keys, eol) = (&entry.location.keys, line_ending(text));
    let is_element = entry.location.mark.is_some();
    let value = if is_element { Value::Array(vec![entry.value.clone()]) } else { entry.value.clone() };
    if is_blank(text) {
        let whole = nest_value(keys, value);
        return Ok(vec![Insertion { at: text.len(), text: format_value(&whole, "", "  ", eol) + eol }]);
    }
    let root = parse_document(text)?;
    let mut node = &root;
    for (depth, key) in keys.iter().enumerate() {
        let Node::Object(object) = node else { return Err(shape_error(keys, depth)) };
        let Some(member) = object.members.iter().find(|member| member.key == *key) else {
            let name = format!("{}: ", Value::String(key.clone()));
            return Ok(insert_member(text, &root, object, &name, &nest_value(&keys[depth + 1..], value)));
        };
        node = &member.value;
    }
    match node {
        Node::Array(list) if is_element => Ok(insert_member(text, &root, list, "", &entry.value)),
        _ => Err(shape_error(keys, keys.len())),
    }
}

fn shape_error(keys: &[String], depth: usize) -> EditError {
    EditError::Shape(if depth == 0 { "the document".to_string() } else { keys[..depth].join(".") })
}

fn nest_value(keys: &[String], value: Value) -> Value {
    keys.iter().rev().fold(value, |inner, key| Value::Object(Map::from_iter([(key.clone(), inner)])))
}

/// Adds a member after the others, in the style of the file. `name` is its key with the colon, or empty in a list.
fn insert_member(text: &str, root: &Node, object: &Container, name: &str, value: &Value) -> Vec<Insertion> {
    let inside = &text[object.open + 1..object.close];
    let fresh = object.members.is_empty() && !inside.contains('\n');
    let lines = inside.contains('\n') || (fresh && (text.contains('\n') || is_empty_root(root)));
    let mut member = if lines {
        let (eol, unit) = (line_ending(text), indent_unit(text, root));
        let outer = line_indent(text, object.open);
        let inner = object.members.first().and_then(|first| own_line_indent(text, first.start));
        let inner = inner.map_or_else(|| format!("{outer}{unit}"), str::to_string);
        let end = if fresh { format!("{eol}{outer}") } else { String::new() };
        format!("{eol}{inner}{name}{}{end}", format_value(value, &inner, &unit, eol))
    } else {
        let gap = if object.members.is_empty() { "" } else { " " };
        format!("{gap}{name}{value}")
    };
    let Some(last) = object.members.last() else { return vec![Insertion { at: object.tail, text: member }] };
    if last.comma.is_some() {
        member.push(',');
        return vec![Insertion { at: object.tail, text: member }];
    }
    if last.end == object.tail {
        member.insert(0, ',');
        return vec![Insertion { at: last.end, text: member }];
    }
    // A comment after the last member stays with it.
    vec![Insertion { at: last.end, text: ",".to_string() }, Insertion { at: object.tail + 1, text: member }]
}

fn is_empty_root(root: &Node) -> bool {
    matches!(root, Node::Object(object) if object.members.is_empty())
}

/// The indentation of the line.
fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..];
    let line = line.trim_start_matches('\u{feff}');
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The indentation of a token that is the first on its line.
fn own_line_indent(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    let before = &text[start..at];
    before.trim_matches([' ', '\t']).is_empty().then_some(before)
}

/// The indentation unit of this file.
fn indent_unit(text: &str, root: &Node) -> String {
    let Node::Object(object) = root else { return "  ".to_string() };
    let first = object.members.first().and_then(|first| own_line_indent(text, first.start));
    first.filter(|spaces| !spaces.is_empty()).unwrap_or("  ").to_string()
}

fn format_value(value: &Value, indent: &str, unit: &str, eol: &str) -> String {
    let inner = format!("{indent}{unit}");
    let lines = |items: Vec<String>, open: char, close: char| {
        let items = items.join(&format!(",{eol}{inner}"));
        format!("{open}{eol}{inner}{items}{eol}{indent}{close}")
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::String(key.clone()), format_value(value, &inner, unit, eol))
            };
            lines(map.iter().map(member).collect(), '{', '}')
        }
        Value::Array(list) if list.iter().any(|item| item.is_object() || item.is_array()) => {
            lines(list.iter().map(|item| format_value(item, &inner, unit, eol)).collect(), '[', ']')
        }
        // Scalars on one line, as `["mcp"]`.
        Value::Array(list) => {
            format!("[{}]", list.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

// ---- removing

pub(crate) fn remove_entry(text: &str, spot: &Location, made: &[Vec<String>]) -> Result<String, EditError> {
    let mut now = text.to_string();
    let mut keys = &spot.keys[..];
    let mut is_element = spot.mark.is_some();
    loop {
        if std::mem::take(&mut is_element) {
            now = remove_element(&now, spot)?;
        } else {
            now = remove_key(&now, keys)?;
            keys = &keys[..keys.len() - 1];
        }
        let emptied = Location { keys: keys.to_vec(), mark: None };
        let hollow = emptied.find(&parse_tree(&now)?).is_some_and(crate::entry::is_empty_container);
        if keys.is_empty() || !hollow || !made.iter().any(|made| made == keys) {
            return Ok(now);
        }
    }
}

/// Removes the marked element of a list.
fn remove_element(text: &str, spot: &Location) -> Result<String, EditError> {
    let root = parse_document(text)?;
    let mut node = &root;
    for (depth, key) in spot.keys.iter().enumerate() {
        let Node::Object(object) = node else { return Err(shape_error(&spot.keys, depth)) };
        let Some(member) = object.members.iter().find(|member| member.key == *key) else {
            return Ok(text.to_string());
        };
        node = &member.value;
    }
    let Node::Array(list) = node else { return Err(shape_error(&spot.keys, spot.keys.len())) };
    for (at, element) in list.members.iter().enumerate() {
        if spot.is_marked(&to_value(&element.value)?) {
            return Ok(remove_member(text, list, at));
        }
    }
    Ok(text.to_string())
}

fn remove_key(text: &str, keys: &[String]) -> Result<String, EditError> {
    let root = parse_document(text)?;
    let mut node = &root;
    for (depth, key) in keys.iter().enumerate() {
        let Node::Object(object) = node else { return Err(shape_error(keys, depth)) };
        let Some(at) = object.members.iter().position(|member| member.key == *key) else {
            return Ok(text.to_string());
        };
        if depth + 1 == keys.len() {
            return Ok(remove_member(text, object, at));
        }
        node = &object.members[at].value;
    }
    Err(shape_error(keys, keys.len()))
}

fn remove_member(text: &str, object: &Container, at: usize) -> String {
    let member = &object.members[at];
    let start = text[..member.start].trim_end().len();
    let mut now = text.to_string();
    if let Some(comma) = member.comma {
        now.replace_range(comma..=comma, "");
    }
    now.replace_range(start..member.end, "");
    let before = at.checked_sub(1).map(|before| &object.members[before]);
    // Removing the last member removes the comma before it too. A trailing comma is the file's style and is kept.
    if let Some(comma) = before.and_then(|before| before.comma).filter(|_| member.comma.is_none()) {
        now.replace_range(comma..=comma, "");
    }
    let hollow = object.members.len() == 1 && now[object.open + 1..].trim_start().starts_with(['}', ']']);
    if hollow {
        let close = now.len() - now[object.open + 1..].trim_start().len();
        now.replace_range(object.open + 1..close, "");
    }
    now
}
