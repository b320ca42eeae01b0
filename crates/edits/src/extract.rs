//! Plans a new interface of a C#, Java or TypeScript type, or a new trait of a Rust type, from members that it has.
//!
//! Does not change a member or a use: the type implements the interface with what is there, in Rust by methods that call those of
//! the type. A member that cannot be written in an interface is refused.

mod clike;
mod rust;

use crate::edit::{Place, TextEdit};
use crate::error::EditError;
use crate::mentions::Mentions;
use crate::naming::check_name;
use crate::plan::{Plan, Uncertain, check_syntax};
use crate::shape::Nodes;
use crate::sources::{SymbolPlace, language_family};
use crate::tree::Tree;
use std::collections::BTreeMap;
use syntax::{Role, Span, TypeKind, TypePart};

/// Languages with interfaces that a type names.
const LANGUAGES: &[&str] = &["C#", "Java", "TypeScript", "Rust"];

/// Plans the interface `new_name` with these members of the type at a place, or all its public ones.
pub fn plan_extraction(
    tree: &Tree,
    place: &SymbolPlace,
    new_name: &str,
    members: &[String],
) -> Result<Plan, EditError> {
    let language = language_family(&place.file);
    if !LANGUAGES.contains(&language) {
        let message = format!("{language} has no interface that a type declares to implement");
        return Err(EditError::invalid(message, format!("languages: {}", LANGUAGES.join(", "))));
    }
    check_name(new_name, &place.name, language)?;
    let file = tree.file_number(&place.file).ok_or_else(|| EditError::NotFound(place.file.clone()))?;
    if tree.code.files[file as usize].generated {
        return Err(EditError::Generated(place.file.clone()));
    }
    let part = find_part(tree, file, place)?;
    check_unused(tree, file, new_name)?;
    let source = Source { tree, file, path: &place.file, part, nodes: tree.nodes(file)?, new_name, members };
    let (edits, unsure) =
        if language == "Rust" { rust::extract(&source)? } else { clike::extract(&source, language)? };
    let title = format!("extract {new_name} from {}", place.name);
    let mut plan = Plan::build(tree, title, edits)?;
    plan.unsure = unsure;
    check_syntax(&tree.sources, &plan)?;
    Ok(plan)
}

/// Edits by path, and what only a compiler knows.
type Extracted = (BTreeMap<String, Vec<TextEdit>>, Vec<Uncertain>);

/// A type and what is made of it.
struct Source<'a> {
    tree: &'a Tree,
    file: u32,
    path: &'a str,
    part: &'a TypePart,
    nodes: Nodes,
    new_name: &'a str,
    /// The members that are wanted; empty for all public ones.
    members: &'a [String],
}

/// A member as the interface declares it.
struct Declared {
    name: String,
    /// What the interface declares, or why it cannot.
    written: Result<String, &'static str>,
}

impl Source<'_> {
    fn text(&self) -> Result<&str, EditError> {
        Ok(&self.tree.text(self.path)?.text)
    }

    /// The node of the type: the innermost of these kinds around the end of its head.
    fn type_node(&self, is_it: impl Fn(&str) -> bool) -> Option<u32> {
        let end = self.part.signature.to;
        node_of(&self.nodes, Span { from: end.saturating_sub(1), to: end }, is_it)
    }

    fn doubt(&self, at: u32, reason: String) -> Result<Uncertain, EditError> {
        let place = Place::new(self.path, self.text()?, at, reason);
        Ok(Uncertain { place, edit: None, likely: false, can_be_compiled: true })
    }

    /// The declarations that are wanted. Refuses a member that is not there or cannot be declared in an interface.
    fn choose(&self, all: &[Declared]) -> Result<Vec<String>, EditError> {
        let count = |name: &str| all.iter().filter(|it| it.name == name).count();
        let usable: Vec<&str> =
            all.iter().filter(|it| it.written.is_ok()).map(|it| it.name.as_str()).collect();
        let hint = || {
            let mut names = usable.clone();
            names.retain(|name| all.iter().filter(|it| it.name == *name).all(|it| it.written.is_ok()));
            names.dedup();
            format!("--members {}", names.join(","))
        };
        if let Some(missing) = self.members.iter().find(|it| count(it) == 0) {
            return Err(EditError::invalid(format!("no public member `{missing}`"), hint()));
        }
        let is_wanted = |it: &&Declared| self.members.is_empty() || self.members.contains(&it.name);
        let mut found = Vec::new();
        for it in all.iter().filter(is_wanted) {
            match &it.written {
                Ok(written) => found.push(written.clone()),
                Err(reason) => return Err(EditError::invalid(format!("`{}` {reason}", it.name), hint())),
            }
        }
        if found.is_empty() {
            return Err(EditError::invalid(
                "the type has no public member for an interface",
                "name another type",
            ));
        }
        Ok(found)
    }
}

/// The innermost type with the name at a place.
fn find_part<'t>(tree: &'t Tree, file: u32, place: &SymbolPlace) -> Result<&'t TypePart, EditError> {
    let parts = tree.code.files[file as usize].facts.types.iter();
    let fits = |it: &&TypePart| {
        it.name == place.name
            && !matches!(it.kind, TypeKind::Impl | TypeKind::Module)
            && (it.span.from..it.span.to).contains(&place.at)
    };
    let found = parts.filter(fits).min_by_key(|it| it.span.to - it.span.from);
    let found = found.ok_or_else(|| EditError::NotFound(place.name.clone()))?;
    match found.kind {
        TypeKind::Class | TypeKind::Struct | TypeKind::Record | TypeKind::RecordStruct | TypeKind::Enum => {
            Ok(found)
        }
        kind => {
            let message = format!("an interface cannot be extracted from {} `{}`", kind.name(), place.name);
            Err(EditError::invalid(message, "name a class or a struct"))
        }
    }
}

/// Refuses a name that means something in the file or is declared in its language.
fn check_unused(tree: &Tree, file: u32, name: &str) -> Result<(), EditError> {
    let mut places = Vec::new();
    let language = language_family(tree.path(file));
    for it in &Mentions::find(tree, name, file).report.declarations {
        let path = tree.path(it.file);
        if language_family(path) == language {
            places.push(Place::new(path, &tree.text(path)?.text, it.signature.from, "declares the new name"));
        }
    }
    let text = &tree.text(tree.path(file))?.text;
    let means = |role: Role| !matches!(role, Role::Comment | Role::Text | Role::Label);
    for it in tree.occurrences(file, name)?.all.iter().filter(|it| means(it.role)) {
        places.push(Place::new(tree.path(file), text, it.span.from, "already has the new name"));
    }
    if places.is_empty() { Ok(()) } else { Err(EditError::Captured { name: name.to_owned(), places }) }
}

/// The node of a declaration: the outermost with its span, or the innermost around it.
fn node_of(nodes: &Nodes, span: Span, is_it: impl Fn(&str) -> bool) -> Option<u32> {
    let fits = |it: &u32| {
        let node = nodes.get(*it);
        is_it(node.kind) && node.span.from <= span.from && span.to <= node.span.to
    };
    (0..nodes.0.len() as u32).filter(fits).last()
}

/// The names of type parameters: `<T extends A, U>` as `<T, U>`.
fn parameter_names(written: &str) -> String {
    let inner = written.trim().trim_start_matches('<').trim_end_matches('>');
    let (mut depth, mut names, mut current) = (0i32, Vec::new(), String::new());
    for c in inner.chars() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(std::mem::take(&mut current));
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    names.push(current);
    let first = |it: &String| {
        let it = it
            .trim()
            .trim_start_matches("const ")
            .trim_start_matches("in ")
            .trim_start_matches("out ")
            .trim();
        let end = it.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'' || c == '$'));
        it[..end.unwrap_or(it.len())].to_owned()
    };
    let names: Vec<String> = names.iter().map(first).filter(|it| !it.is_empty()).collect();
    if names.is_empty() { String::new() } else { format!("<{}>", names.join(", ")) }
}
