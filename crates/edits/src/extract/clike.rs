//! Interfaces of C#, Java and TypeScript: which members they can declare, how, and where the type names them.
//!
//! Does not know types: what a name in another file means is for the compiler.

use super::{Declared, Extracted, Source, parameter_names};
use crate::edit::TextEdit;
use crate::error::EditError;
use crate::insert::{indent_at, indent_unit, start_with_comments, with_line_ends};
use crate::plan::Uncertain;
use std::collections::BTreeMap;
use syntax::{Span, TypePart, Visibility, whole_words};

pub(super) fn extract(source: &Source<'_>, language: &'static str) -> Result<Extracted, EditError> {
    let is_type = |kind: &str| kind.ends_with("_declaration") && CLASSES.iter().any(|it| kind.contains(it));
    let node = source.type_node(is_type);
    let node = node.ok_or_else(|| EditError::NotFound(source.part.name.clone()))?;
    let class = Class { source, node, language, text: source.text()? };
    let members = source.choose(&class.members())?;
    let (mut edits, mut unsure) = (BTreeMap::new(), Vec::new());
    let head = class.name_interface();
    let own = edits.entry(source.path.to_owned()).or_insert_with(Vec::new);
    own.push(head);
    if language == "Java" && source.part.outer.is_none() {
        let path = class.new_path()?;
        let file = class.java_file(&members, &mut unsure)?;
        edits.insert(path, vec![TextEdit { from: 0, to: 0, text: file }]);
    } else {
        class.check_outer_parameters(&members)?;
        own.push(class.interface_before(&members)?);
    }
    Ok((edits, unsure))
}

const CLASSES: &[&str] = &["class", "struct", "record", "enum"];

struct Class<'a> {
    source: &'a Source<'a>,
    node: u32,
    language: &'static str,
    text: &'a str,
}

impl Class<'_> {
    fn span_of(&self, node: u32) -> Span {
        self.source.nodes.get(node).span
    }

    fn kind(&self, node: u32) -> &'static str {
        self.source.nodes.get(node).kind
    }

    fn written(&self, node: u32) -> &str {
        self.span_of(node).text_in(self.text)
    }

    fn child_of_kind(&self, of: u32, kind: &str) -> Option<u32> {
        self.source.nodes.children(of).find(|it| self.kind(*it) == kind)
    }

    // ---- members

    fn members(&self) -> Vec<Declared> {
        let nodes = &self.source.nodes;
        let body =
            nodes.child(self.node, "body").or_else(|| self.child_of_kind(self.node, "declaration_list"));
        let Some(body) = body else { return Vec::new() };
        let mut found = Vec::new();
        for member in nodes.children(body) {
            let declared = match self.language {
                "Java" => self.java_member(member),
                "C#" => self.csharp_member(member),
                _ => self.script_member(member),
            };
            found.extend(declared);
        }
        found
    }

    /// The words before the declaration proper: modifiers, without attributes.
    fn has_modifier(&self, member: u32, word: &str) -> bool {
        let is_it = |it: u32| {
            let kind = self.kind(it);
            matches!(
                kind,
                "modifiers"
                    | "modifier"
                    | "accessibility_modifier"
                    | "override_modifier"
                    | "static"
                    | "readonly"
                    | "async"
                    | "get"
                    | "set"
                    | "abstract"
            ) && self.written(it).split_whitespace().any(|it| it == word)
        };
        self.source.nodes.children(member).any(is_it)
    }

    fn name_of(&self, member: u32) -> Option<String> {
        Some(self.written(self.source.nodes.child(member, "name")?).to_owned())
    }

    fn java_member(&self, member: u32) -> Option<Declared> {
        let is_method = self.kind(member) == "method_declaration";
        if !is_method || !self.has_modifier(member, "public") || self.has_modifier(member, "static") {
            return None;
        }
        let name = self.name_of(member)?;
        let modifiers = self.child_of_kind(member, "modifiers");
        let from = modifiers.map_or(self.span_of(member).from, |it| self.span_of(it).to);
        let body = self.source.nodes.child(member, "body");
        let to = body.map_or(self.span_of(member).to, |it| self.span_of(it).from);
        let text = Span { from, to }.text_in(self.text).trim().trim_end_matches(';').trim_end();
        Some(Declared { name, written: Ok(format!("{};", join_lines(text))) })
    }

    fn csharp_member(&self, member: u32) -> Option<Declared> {
        let is_left_out = || {
            self.has_modifier(member, "static")
                || self.child_of_kind(member, "explicit_interface_specifier").is_some()
        };
        let kind = self.kind(member);
        if !matches!(kind, "method_declaration" | "property_declaration")
            || !self.has_modifier(member, "public")
            || is_left_out()
        {
            return None;
        }
        let nodes = &self.source.nodes;
        let name = self.name_of(member)?;
        let from = nodes.child(member, "returns").or_else(|| nodes.child(member, "type"))?;
        let from = self.span_of(from).from;
        if kind == "property_declaration" {
            let end = self.span_of(nodes.child(member, "name")?).to;
            let head = Span { from, to: end }.text_in(self.text);
            return Some(Declared {
                name,
                written: Ok(format!("{} {}", join_lines(head), self.accessors(member))),
            });
        }
        let body =
            nodes.child(member, "body").or_else(|| self.child_of_kind(member, "arrow_expression_clause"));
        let to = body.map_or(self.span_of(member).to, |it| self.span_of(it).from);
        let text = Span { from, to }.text_in(self.text).trim().trim_end_matches(';').trim_end();
        Some(Declared { name, written: Ok(format!("{};", join_lines(text))) })
    }

    /// The accessors of a property that everyone may use.
    fn accessors(&self, member: u32) -> String {
        let nodes = &self.source.nodes;
        let Some(list) = self.child_of_kind(member, "accessor_list") else { return "{ get; }".to_owned() };
        let mut words = Vec::new();
        for accessor in nodes.children(list).filter(|it| self.kind(*it) == "accessor_declaration") {
            let is_public = !nodes.children(accessor).any(|it| self.kind(it) == "modifier");
            let word = nodes
                .children(accessor)
                .map(|it| self.written(it))
                .find(|it| matches!(*it, "get" | "set" | "init"));
            words.extend(word.filter(|_| is_public).map(|it| format!("{it};")));
        }
        format!("{{ {} }}", words.join(" "))
    }

    fn script_member(&self, member: u32) -> Option<Declared> {
        let kind = self.kind(member);
        let is_method = kind == "method_definition";
        if !is_method && kind != "public_field_definition" {
            return None;
        }
        let name_node = self.source.nodes.child(member, "name")?;
        let name = self.written(name_node).to_owned();
        let is_hidden = self.kind(name_node) != "property_identifier"
            || name == "constructor"
            || ["private", "protected", "static"].iter().any(|it| self.has_modifier(member, it));
        if is_hidden {
            return None;
        }
        let written =
            if is_method { self.script_method(member, &name) } else { self.script_field(member, &name) };
        let written = match written {
            Ok(text) if names_own_member(&text) => Err("has a type that names a member of `this`"),
            other => other,
        };
        Some(Declared { name, written })
    }

    fn script_field(&self, member: u32, name: &str) -> Result<String, &'static str> {
        let nodes = &self.source.nodes;
        let written = nodes.child(member, "type").ok_or("has no written type")?;
        let lead = if self.has_modifier(member, "readonly") { "readonly " } else { "" };
        let between = Span {
            from: self.span_of(nodes.child(member, "name").ok_or("has no name")?).to,
            to: self.span_of(written).from,
        };
        let mark = if between.text_in(self.text).contains('?') { "?" } else { "" };
        Ok(format!("{lead}{name}{mark}{};", join_lines(self.written(written))))
    }

    fn script_method(&self, member: u32, name: &str) -> Result<String, &'static str> {
        let nodes = &self.source.nodes;
        let result = nodes.child(member, "return_type");
        let head = Span {
            from: self.span_of(member).from,
            to: self.span_of(nodes.child(member, "name").ok_or("has no name")?).from,
        };
        let words: Vec<&str> = head.text_in(self.text).split_whitespace().collect();
        if words.contains(&"set") {
            return Err("is a setter");
        }
        let result = join_lines(self.written(result.ok_or("has no written type")?));
        if words.contains(&"get") {
            return Ok(format!("readonly {name}{result};"));
        }
        if words.contains(&"*") {
            return Err("is a generator");
        }
        if result.starts_with(": asserts ") || result.contains(" is ") {
            return Err("narrows a type");
        }
        let list = nodes.child(member, "parameters").ok_or("has no list of parameters")?;
        let mut parameters = Vec::new();
        for it in nodes.children(list) {
            if matches!(self.kind(it), "required_parameter" | "optional_parameter") {
                parameters.push(self.script_parameter(it)?);
            }
        }
        let generics = nodes.child(member, "type_parameters").map_or("", |it| self.written(it));
        Ok(format!("{name}{}({}){result};", join_lines(generics), parameters.join(", ")))
    }

    fn script_parameter(&self, it: u32) -> Result<String, &'static str> {
        let nodes = &self.source.nodes;
        let pattern = nodes.child(it, "pattern").ok_or("has a parameter that is not understood")?;
        let written = nodes.child(it, "type").ok_or("has a parameter without a written type")?;
        if !matches!(self.kind(pattern), "identifier" | "rest_pattern" | "this") {
            return Err("takes a parameter apart");
        }
        let is_optional = self.kind(it) == "optional_parameter" || nodes.child(it, "value").is_some();
        let mark = if is_optional { "?" } else { "" };
        Ok(format!("{}{mark}{}", self.written(pattern), join_lines(self.written(written))))
    }

    // ---- the type

    /// The type parameters as written.
    fn parameters(&self) -> &str {
        let nodes = &self.source.nodes;
        let found = nodes.child(self.node, "type_parameters");
        found
            .or_else(|| self.child_of_kind(self.node, "type_parameter_list"))
            .map_or("", |it| self.written(it))
    }

    /// Adds the interface to those that the type implements.
    fn name_interface(&self) -> TextEdit {
        let nodes = &self.source.nodes;
        let name = format!("{}{}", self.source.new_name, parameter_names(self.parameters()));
        let after = |node: u32, text: String| {
            let at = self.span_of(node).to;
            TextEdit { from: at, to: at, text }
        };
        let last = |kinds: &[&str]| {
            nodes
                .children(self.node)
                .filter(|it| kinds.contains(&self.kind(*it)) || nodes.get(*it).field == "name")
                .last()
        };
        let of_kind = |kind: &str| self.child_of_kind(self.node, kind);
        match self.language {
            "C#" => match of_kind("base_list") {
                Some(list) => after(list, format!(", {name}")),
                None => after(
                    last(&["type_parameter_list", "parameter_list"]).unwrap_or(self.node),
                    format!(" : {name}"),
                ),
            },
            "Java" => match nodes.child(self.node, "interfaces") {
                Some(list) => after(list, format!(", {name}")),
                None => after(
                    last(&["type_parameters", "formal_parameters", "superclass"]).unwrap_or(self.node),
                    format!(" implements {name}"),
                ),
            },
            _ => {
                let heritage = of_kind("class_heritage");
                let list = heritage.and_then(|it| self.child_of_kind(it, "implements_clause"));
                match (list, heritage) {
                    (Some(list), _) => after(list, format!(", {name}")),
                    (None, Some(heritage)) => after(heritage, format!(" implements {name}")),
                    _ => {
                        after(last(&["type_parameters"]).unwrap_or(self.node), format!(" implements {name}"))
                    }
                }
            }
        }
    }

    /// The modifier that says who sees the type.
    fn visibility(&self) -> String {
        let nodes = &self.source.nodes;
        if self.language == "TypeScript" {
            let is_exported = self.kind(nodes.get(self.node).parent) == "export_statement";
            return if is_exported { "export ".to_owned() } else { String::new() };
        }
        let of_kind =
            nodes.children(self.node).filter(|it| matches!(self.kind(*it), "modifier" | "modifiers"));
        let words: Vec<&str> = of_kind.flat_map(|it| self.written(it).split_whitespace()).collect();
        let known = ["public", "internal", "protected", "private"];
        let words: Vec<&str> = words.into_iter().filter(|it| known.contains(it)).collect();
        words.iter().flat_map(|it| [*it, " "]).collect()
    }

    /// The interface, without indentation.
    fn interface(&self, members: &[String], unit: &str) -> String {
        let is_constraint = |it: &u32| self.kind(*it) == "type_parameter_constraints_clause";
        let constraints = self.source.nodes.children(self.node).filter(is_constraint);
        let constraints: Vec<String> =
            constraints.map(|it| format!(" {}", join_lines(self.written(it)))).collect();
        let constraints = constraints.concat();
        let brace = if self.language == "C#" { "\n{" } else { " {" };
        let body: String = members.iter().flat_map(|it| [unit, it.as_str(), "\n"]).collect();
        let (name, parameters) = (self.source.new_name, join_lines(self.parameters()));
        format!("{}interface {name}{parameters}{constraints}{brace}\n{body}}}", self.visibility())
    }

    /// In Java, an interface in a type does not see the type parameters of that type.
    fn check_outer_parameters(&self, members: &[String]) -> Result<(), EditError> {
        let facts = &self.source.tree.code.files[self.source.file as usize].facts;
        let mut outer = self.source.part.outer.filter(|_| self.language == "Java");
        while let Some(part) = outer.map(|at| &facts.types[at as usize]) {
            let names = parameter_names(&part.parameters);
            for name in names.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()) {
                let is_own = !whole_words(self.parameters(), name).is_empty();
                if !is_own && members.iter().any(|it| !whole_words(it, name).is_empty()) {
                    let message = format!("a member has the type parameter `{name}` of `{}`", part.name);
                    return Err(EditError::invalid(message, "leave it out with --members"));
                }
            }
            outer = part.outer;
        }
        Ok(())
    }

    fn interface_before(&self, members: &[String]) -> Result<TextEdit, EditError> {
        let nodes = &self.source.nodes;
        let parent = nodes.get(self.node).parent;
        let item = if self.kind(parent) == "export_statement" { parent } else { self.node };
        let from = self.span_of(item).from;
        let base = indent_at(self.text, from);
        let lines = self.interface(members, &indent_unit(self.text, self.language));
        let indented: Vec<String> = lines
            .lines()
            .map(|line| if line.is_empty() { String::new() } else { format!("{base}{line}") })
            .collect();
        let at = start_with_comments(self.text, from);
        let source = self.source.tree.text(self.source.path)?;
        let text = with_line_ends(source, at, &format!("{}\n\n", indented.join("\n")));
        Ok(TextEdit { from: at, to: at, text })
    }

    // ---- Java: a file of its own

    fn new_path(&self) -> Result<String, EditError> {
        let path = self.source.path;
        let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let new = format!("{folder}{}.java", self.source.new_name);
        if self.source.tree.root().join(&new).exists() {
            return Err(EditError::invalid(format!("{new} exists"), "give another name"));
        }
        Ok(new)
    }

    fn java_file(&self, members: &[String], unsure: &mut Vec<Uncertain>) -> Result<String, EditError> {
        let nodes = &self.source.nodes;
        let (members, has_bases) = self.qualify_nested(members)?;
        let all = members.join("\n") + self.parameters();
        let mut head = String::new();
        let mut imports = String::new();
        let mut known: Vec<String> = Vec::new();
        for it in nodes.children(0) {
            match self.kind(it) {
                "package_declaration" => head = format!("{}\n\n", self.written(it)),
                "import_declaration" => {
                    let written = self.written(it);
                    let last = written.trim_end_matches(';').rsplit('.').next().unwrap_or_default().trim();
                    if !written.contains(" static ") && (last == "*" || !whole_words(&all, last).is_empty()) {
                        imports.extend([written, "\n"]);
                        known.push(last.to_owned());
                    }
                }
                _ => {}
            }
        }
        if has_bases && let Some(name) = self.unknown_name(&members, &known) {
            let reason = format!("`{name}` may be a type that it inherits");
            unsure.push(self.source.doubt(self.span_of(self.node).from, reason)?);
        }
        let gap = if imports.is_empty() { "" } else { "\n" };
        Ok(format!("{head}{imports}{gap}{}\n", self.interface(&members, &indent_unit(self.text, "Java"))))
    }

    /// A name in the interface that may be a nested type of a base.
    fn unknown_name(&self, members: &[String], imported: &[String]) -> Option<String> {
        let tree = self.source.tree;
        let folder =
            |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        let own = folder(self.source.path);
        let is_declared = |name: &str, is_nested: bool| {
            let files = tree.code.files.iter().filter(|it| is_nested || folder(&it.path) == own);
            let mut parts = files.flat_map(|it| &it.facts.types);
            parts.any(|it| it.name == name && it.outer.is_some() == is_nested)
        };
        let parameters = self.parameters();
        let is_known = |name: &str| {
            let is_visible = imported.iter().any(|it| it == name)
                || JAVA_LANG.contains(&name)
                || !whole_words(parameters, name).is_empty()
                || is_declared(name, false);
            is_visible && !is_declared(name, true)
        };
        let all = members.join("\n");
        let words = all.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let types =
            words.filter_map(|it| it.split('.').next()).filter(|it| it.starts_with(char::is_uppercase));
        types.into_iter().find(|it| *it != self.source.part.name && !is_known(it)).map(str::to_owned)
    }

    /// Names the nested types of the class through it. Also returns whether a base may have nested types.
    fn qualify_nested(&self, members: &[String]) -> Result<(Vec<String>, bool), EditError> {
        let facts = &self.source.tree.code.files[self.source.file as usize].facts;
        let own = |it: &&TypePart| {
            it.outer.is_some_and(|outer| facts.types[outer as usize].span == self.source.part.span)
        };
        let mut out = members.to_vec();
        for nested in facts.types.iter().filter(own) {
            for text in &mut out {
                let places = whole_words(text, &nested.name);
                let is_free = |it: &&Span| !text[..it.from as usize].ends_with('.');
                let places: Vec<Span> = places.iter().filter(is_free).copied().collect();
                if !places.is_empty() && nested.visibility == Some(Visibility::Private) {
                    let message = format!("a member has the private type `{}`", nested.name);
                    return Err(EditError::invalid(message, "leave it out with --members"));
                }
                for it in places.iter().rev() {
                    text.insert_str(it.from as usize, &format!("{}.", self.source.part.name));
                }
            }
        }
        Ok((out, !self.source.part.bases.is_empty()))
    }
}

/// Whether a type is taken from `this`, as in `this["_output"]`: the interface may not declare that member.
fn names_own_member(text: &str) -> bool {
    whole_words(text, "this").iter().any(|it| text[it.to as usize..].trim_start().starts_with('['))
}

/// A signature of several lines as one.
fn join_lines(text: &str) -> String {
    let without = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    without.collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")").trim().to_owned()
}

/// Types that Java knows without an import.
const JAVA_LANG: &[&str] = &[
    "Object",
    "String",
    "Class",
    "Iterable",
    "Number",
    "Integer",
    "Long",
    "Short",
    "Byte",
    "Character",
    "Boolean",
    "Double",
    "Float",
    "Void",
    "Exception",
    "RuntimeException",
    "Throwable",
    "Error",
    "Comparable",
    "CharSequence",
    "Appendable",
    "Runnable",
    "Thread",
    "StringBuilder",
    "AutoCloseable",
    "Enum",
    "Override",
    "Deprecated",
];
