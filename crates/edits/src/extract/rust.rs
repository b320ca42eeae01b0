//! A trait of a Rust type: its implementation calls the methods that the type has, so that no caller needs the trait.
//!
//! Does not take methods of several `impl` blocks: their parameters may differ.

use super::{Declared, Extracted, Source, parameter_names};
use crate::edit::TextEdit;
use crate::error::EditError;
use crate::insert::{indent_at, start_with_comments, with_line_ends};
use std::collections::BTreeMap;
use syntax::Span;

pub(super) fn extract(source: &Source<'_>) -> Result<Extracted, EditError> {
    let text = source.text()?;
    let blocks = Blocks { source, text };
    let Some((block, members)) = blocks.choose_block() else {
        return Err(EditError::invalid("the type has no public method in its file", "name another type"));
    };
    let signatures = source.choose(&members.iter().map(Method::declare).collect::<Vec<_>>())?;
    let is_chosen = |it: &&Method| it.written.as_ref().is_ok_and(|it| signatures.contains(&format!("{it};")));
    let calls: Vec<&Method> = members.iter().filter(is_chosen).collect();
    let (before, after) = blocks.write(block, &signatures, &calls);
    let from = source.part.span.from;
    let base = indent_at(text, from);
    let indent = |text: &str| {
        let lines =
            text.lines().map(|line| if line.is_empty() { String::new() } else { format!("{base}{line}") });
        lines.collect::<Vec<_>>().join("\n")
    };
    let file = source.tree.text(source.path)?;
    let at = start_with_comments(text, from);
    let end = source.nodes.get(block).span.to;
    let edits = vec![
        TextEdit { from: at, to: at, text: with_line_ends(file, at, &format!("{}\n\n", indent(&before))) },
        TextEdit { from: end, to: end, text: with_line_ends(file, end, &format!("\n\n{}", indent(&after))) },
    ];
    Ok((BTreeMap::from([(source.path.to_owned(), edits)]), Vec::new()))
}

struct Method {
    name: String,
    written: Result<String, &'static str>,
    /// The call of the type's own method.
    call: String,
}

impl Method {
    fn declare(&self) -> Declared {
        Declared { name: self.name.clone(), written: self.written.clone().map(|it| format!("{it};")) }
    }
}

struct Blocks<'a> {
    source: &'a Source<'a>,
    text: &'a str,
}

impl Blocks<'_> {
    fn written(&self, node: u32) -> &str {
        self.source.nodes.get(node).span.text_in(self.text)
    }

    /// The `impl` block with the members that are wanted, or the most public methods.
    fn choose_block(&self) -> Option<(u32, Vec<Method>)> {
        let nodes = &self.source.nodes;
        let own = self.source.type_node(is_type)?;
        let siblings = nodes.get(own).parent;
        let is_own = |it: &u32| {
            let of = nodes.child(*it, "type").map(|it| self.written(it)).unwrap_or_default();
            let name = of.split('<').next().unwrap_or_default().trim();
            nodes.get(*it).kind == "impl_item"
                && nodes.child(*it, "trait").is_none()
                && name == self.source.part.name
        };
        let blocks = nodes.children(siblings).filter(is_own).map(|it| (it, self.methods(it)));
        let wanted =
            |methods: &[Method]| methods.iter().filter(|it| self.source.members.contains(&it.name)).count();
        blocks
            .filter(|(_, all)| !all.is_empty())
            .max_by_key(|(_, all)| (wanted(all), all.iter().filter(|it| it.written.is_ok()).count()))
    }

    fn methods(&self, block: u32) -> Vec<Method> {
        let nodes = &self.source.nodes;
        let Some(body) = nodes.child(block, "body") else { return Vec::new() };
        let mut found = Vec::new();
        let mut has_attribute = false;
        for it in nodes.children(body) {
            match nodes.get(it).kind {
                "attribute_item" => has_attribute |= self.written(it).contains("cfg"),
                "function_item" => {
                    found.extend(self.method(it, has_attribute));
                    has_attribute = false;
                }
                _ => {}
            }
        }
        found
    }

    fn method(&self, it: u32, has_attribute: bool) -> Option<Method> {
        let nodes = &self.source.nodes;
        let visibility = nodes.children(it).find(|it| nodes.get(*it).kind == "visibility_modifier");
        let visibility = visibility.map(|it| self.written(it))?;
        let list = nodes.child(it, "parameters")?;
        let takes_self = nodes.children(list).any(|it| {
            let written = self.written(it);
            nodes.get(it).kind == "self_parameter"
                || written.starts_with("self:")
                || written.starts_with("mut self:")
        });
        if visibility != "pub" || !takes_self {
            return None;
        }
        let name = self.written(nodes.child(it, "name")?).to_owned();
        let written =
            if has_attribute { Err("is compiled under a condition") } else { self.signature(it, list) };
        let call = self.call(it, list, &name);
        Some(Method { name, written, call })
    }

    fn signature(&self, it: u32, list: u32) -> Result<String, &'static str> {
        let nodes = &self.source.nodes;
        let body = nodes.child(it, "body").ok_or("has no body")?;
        let modifiers = nodes.children(it).find(|it| nodes.get(*it).kind == "function_modifiers");
        let modifiers = modifiers.map_or("", |it| self.written(it));
        let name = nodes.child(it, "name").ok_or("has no name")?;
        let head = Span { from: nodes.get(name).span.from, to: nodes.get(list).span.from }.text_in(self.text);
        let tail = Span { from: nodes.get(list).span.to, to: nodes.get(body).span.from }.text_in(self.text);
        let words: Vec<&str> = modifiers.split_whitespace().collect();
        if words.iter().any(|it| matches!(*it, "async" | "extern")) {
            return Err("is `async` or `extern`");
        }
        let mut parameters = Vec::new();
        for it in nodes.children(list) {
            match nodes.get(it).kind {
                "self_parameter" => parameters.push(self.written(it).trim_start_matches("mut ").to_owned()),
                "parameter" => {
                    let pattern = nodes.child(it, "pattern").ok_or("has a parameter without a name")?;
                    let of = nodes.child(it, "type").ok_or("has a parameter without a type")?;
                    if !matches!(nodes.get(pattern).kind, "identifier" | "self") {
                        return Err("takes a parameter apart");
                    }
                    parameters.push(format!("{}: {}", self.written(pattern), self.written(of)));
                }
                "(" | ")" | "," | "line_comment" | "block_comment" | "mutable_specifier" => {}
                _ => return Err("has a parameter that is not understood"),
            }
        }
        let all = format!("{head}({}){tail}", parameters.join(", "));
        let has_impl = all.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "impl");
        if has_impl {
            return Err("has a type that is written `impl`");
        }
        let lead = if words.contains(&"unsafe") { "unsafe fn " } else { "fn " };
        let tail = tail.split_whitespace().collect::<Vec<_>>().join(" ");
        let tail = if tail.is_empty() { String::new() } else { format!(" {tail}") };
        Ok(format!("{lead}{head}({}){tail}", parameters.join(", ")))
    }

    fn call(&self, it: u32, list: u32, name: &str) -> String {
        let nodes = &self.source.nodes;
        let patterns = nodes.children(list).filter_map(|it| nodes.child(it, "pattern"));
        let arguments: Vec<&str> = patterns.map(|it| self.written(it)).filter(|it| *it != "self").collect();
        let rest = arguments.iter().flat_map(|it| [", ", *it]).collect::<String>();
        let call = format!("Self::{name}(self{rest})");
        let modifiers = nodes.children(it).find(|it| nodes.get(*it).kind == "function_modifiers");
        let is_unsafe = modifiers.is_some_and(|it| self.written(it).contains("unsafe"));
        if is_unsafe { format!("unsafe {{ {call} }}") } else { call }
    }

    /// The trait, and its implementation.
    fn write(&self, block: u32, signatures: &[String], calls: &[&Method]) -> (String, String) {
        let nodes = &self.source.nodes;
        let part = |field| nodes.child(block, field).map_or(String::new(), |it| self.written(it).to_owned());
        let parameters = part("type_parameters");
        let condition = nodes.children(block).find(|it| nodes.get(*it).kind == "where_clause");
        let condition = condition.map_or(String::new(), |it| {
            format!(" {}", self.written(it).split_whitespace().collect::<Vec<_>>().join(" "))
        });
        let own = self.source.type_node(is_type);
        let visibility =
            own.and_then(|it| nodes.children(it).find(|it| nodes.get(*it).kind == "visibility_modifier"));
        let visibility = visibility.map_or(String::new(), |it| format!("{} ", self.written(it)));
        let name = self.source.new_name;
        let declared: String = signatures.iter().flat_map(|it| ["    ", it.as_str(), "\n"]).collect();
        let before = format!("{visibility}trait {name}{parameters}{condition} {{\n{declared}}}");
        let body: Vec<String> = calls
            .iter()
            .map(|it| {
                format!("    {} {{\n        {}\n    }}\n", it.written.clone().unwrap_or_default(), it.call)
            })
            .collect();
        let names = parameter_names(&parameters);
        let after = format!(
            "impl{parameters} {name}{names} for {}{condition} {{\n{}}}",
            part("type"),
            body.join("\n")
        );
        (before, after)
    }
}

fn is_type(kind: &str) -> bool {
    matches!(kind, "struct_item" | "enum_item" | "union_item")
}
