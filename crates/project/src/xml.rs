//! Reads the elements of an XML manifest in the order of their start tags, each with its attributes, text and conditions.
//!
//! Does not know what the elements mean to `MSBuild` or Maven.

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::borrow::Cow;

/// An XML element with its direct text, its conditions and those of all enclosing elements.
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) conditions: Vec<String>,
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn attribute_value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Parses elements up to the first malformed tag: a manifest is read while someone edits it.
pub(crate) fn parse_elements(text: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    reader.config_mut().allow_dangling_amp = true;
    let mut elements = Elements::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => elements.start(&tag, true),
            Ok(Event::Empty(tag)) => elements.start(&tag, false),
            Ok(Event::End(_)) => elements.end(),
            Ok(Event::Text(text)) => elements.pending.push_str(&text),
            Ok(Event::CData(text)) => elements.pending.push_str(&text),
            Ok(Event::GeneralRef(entity)) => elements.pending.push_str(&resolve_entity(&entity)),
            Ok(Event::Eof) | Err(_) => return elements.found,
            Ok(_) => {}
        }
    }
}

/// The elements found so far and the path of open ones.
#[derive(Default)]
struct Elements {
    found: Vec<Element>,
    open: Vec<usize>,
    /// Text since the last tag. It arrives in pieces, split at entities.
    pending: String,
}

impl Elements {
    fn start(&mut self, tag: &BytesStart<'_>, has_content: bool) {
        self.flush_text();
        let mut conditions = self.open.last().map_or_else(Vec::new, |at| self.found[*at].conditions.clone());
        let attributes = read_attributes(tag);
        conditions
            .extend(attributes.iter().filter(|(key, _)| key == "Condition").map(|(_, value)| value.clone()));
        if has_content {
            self.open.push(self.found.len());
        }
        let name = tag.name().as_ref().to_owned();
        self.found.push(Element { name, attributes, conditions, text: String::new() });
    }

    fn end(&mut self) {
        self.flush_text();
        self.open.pop();
    }

    fn flush_text(&mut self) {
        if let Some(at) = self.open.last() {
            self.found[*at].text.push_str(self.pending.trim());
        }
        self.pending.clear();
    }
}

/// The well-formed attributes before the first malformed one.
fn read_attributes(tag: &BytesStart<'_>) -> Vec<(String, String)> {
    tag.attributes()
        .map_while(Result::ok)
        .map(|attribute| {
            let value =
                unescape(&attribute.value).map_or_else(|_| attribute.value.to_string(), Cow::into_owned);
            (attribute.key.as_ref().to_owned(), value)
        })
        .collect()
}

/// An unknown entity stays as it was written.
fn resolve_entity(entity: &BytesRef<'_>) -> String {
    if let Ok(Some(c)) = entity.resolve_char_ref() {
        return c.to_string();
    }
    resolve_predefined_entity(entity).map_or_else(|| format!("&{};", &**entity), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(xml: &str) -> Vec<(String, String)> {
        parse_elements(xml).into_iter().map(|element| (element.name, element.text)).collect()
    }

    #[test]
    fn text_is_unescaped_and_trimmed_between_tags() {
        let xml = "\u{feff}<?xml version='1.0'?><!DOCTYPE a><a> x &lt;&#65;&gt; <b><![CDATA[<raw>]]></b> y &other; </a>";
        let found = texts(xml);
        assert_eq!(found, [("a".into(), "x <A>y &other;".into()), ("b".into(), "<raw>".into())]);
    }

    #[test]
    fn a_bare_ampersand_is_text() {
        assert_eq!(
            texts("<a>Amp & Co</a><b>x&y</b>"),
            [("a".into(), "Amp & Co".into()), ("b".into(), "x&y".into())]
        );
    }

    #[test]
    fn conditions_are_inherited_and_attributes_unescaped() {
        let xml = "<a Condition=\"'x' == 'a > b'\"><b Condition='1 &amp; 2'/></a><c/>";
        let conditions: Vec<Vec<String>> = parse_elements(xml).into_iter().map(|it| it.conditions).collect();
        assert_eq!(conditions[1], ["'x' == 'a > b'", "1 & 2"]);
        assert!(conditions[2].is_empty());
    }

    #[test]
    fn reading_stops_at_a_malformed_tag_and_keeps_what_came_before() {
        for (xml, names) in
            [("<a><b>1</b><c", 2), ("<a></x></a><d/>", 2), ("</a><b/>", 1), ("<", 0), ("<!-- ", 0)]
        {
            assert_eq!(parse_elements(xml).len(), names, "{xml}");
        }
    }
}
