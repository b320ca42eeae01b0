//! Moves a C# type to another file: the directives of its file go with it, and where the namespace changes, files that use it
//! get a directive for the new one.
//!
//! Does not move to another project, and does not take apart files with conditional text.

use super::{Draft, Moved, append_at_end};
use crate::edit::Place;
use crate::error::EditError;
use crate::shape::Nodes;
use crate::text::whole_lines;
use std::collections::BTreeMap;
use std::path::Path;
use syntax::{Role, Span};

pub(super) fn plan(moved: &Moved<'_>, draft: &mut Draft) -> Result<(), EditError> {
    check_files(moved)?;
    let text = moved.text()?;
    let old = namespace_at(&moved.nodes, text, moved.item);
    let new = match moved.to_file {
        Some(file) => only_namespace(&moved.tree.nodes(file)?, moved.target_text()?),
        None => Some(old.clone()),
    };
    let Some(new) = new else {
        return moved.refuse(format!("{} has several namespaces", moved.to));
    };
    let cut = moved.removal()?;
    draft.replace(moved.from, Span { from: cut.from, to: cut.to }, "");
    let directives = directives_of(&moved.nodes, text);
    match moved.to_file {
        None => place_in_new_file(moved, draft, &old, &directives),
        Some(file) => place_in_file(moved, draft, file, (&old, &new), &directives),
    }?;
    draft.follows_uses = old != new;
    if old != new {
        follow_uses(moved, draft, &old, &new)?;
    }
    Ok(())
}

fn check_files(moved: &Moved<'_>) -> Result<(), EditError> {
    const TYPES: &[&str] = &[
        "class_declaration",
        "struct_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "delegate_declaration",
        "record_struct_declaration",
    ];
    if !TYPES.contains(&moved.item_kind()) {
        return moved.refuse("only a type that is not inside of another one can be moved");
    }
    let head: &str =
        moved.nodes.get(moved.item).span.text_in(moved.text()?).split('{').next().unwrap_or_default();
    if head.split_whitespace().any(|word| matches!(word, "partial" | "file")) {
        return moved.refuse("a `partial` or `file` type cannot be moved");
    }
    for (path, text) in [(moved.from, moved.text()?), (moved.to, moved.target_text()?)] {
        let has_directive =
            |line: &str| line.trim_start().starts_with('#') && !line.trim_start().starts_with("#nullable");
        if text.lines().any(has_directive) {
            return moved.refuse(format!("{path} has `#if` or another directive"));
        }
    }
    let nullable = |text: &str| {
        text.lines().find(|line| line.trim_start().starts_with("#nullable")).map(|it| it.trim().to_owned())
    };
    if moved.to_file.is_some() && nullable(moved.text()?) != nullable(moved.target_text()?) {
        return moved.refuse("the files do not have the same `#nullable`");
    }
    let (one, other) = (project_of(moved.tree.root(), moved.from), project_of(moved.tree.root(), moved.to));
    if one != other {
        return moved.refuse("the files are of two projects");
    }
    let lists_files =
        one.is_some_and(|it| std::fs::read_to_string(it).is_ok_and(|it| it.contains("<Compile Include")));
    if lists_files && moved.to_file.is_none() {
        return moved.refuse("the project lists its files: add the new one there first");
    }
    Ok(())
}

/// The project file of a file: the one in the nearest folder.
fn project_of(root: &Path, path: &str) -> Option<std::path::PathBuf> {
    let mut folder = root.join(path).parent()?.to_path_buf();
    while folder.starts_with(root) {
        let mut entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|it| it.path());
        let found = entries.find(|it| it.extension().is_some_and(|it| it == "csproj"));
        if found.is_some() {
            return found;
        }
        folder = folder.parent()?.to_path_buf();
    }
    None
}

// ---- namespaces and directives

const NAMESPACES: &[&str] = &["namespace_declaration", "file_scoped_namespace_declaration"];

/// The namespace around an item.
fn namespace_at(nodes: &Nodes, text: &str, item: u32) -> String {
    let is_namespace = |it: &u32| NAMESPACES.contains(&nodes.get(*it).kind);
    let around: Vec<u32> = nodes.ancestors(item).filter(is_namespace).collect();
    let scoped = nodes.children(0).find(|it| nodes.get(*it).kind == "file_scoped_namespace_declaration");
    let all = around.iter().rev().copied().chain(scoped.filter(|_| around.is_empty()));
    let names =
        all.filter_map(|it| nodes.child(it, "name")).map(|it| nodes.get(it).span.text_in(text).to_owned());
    names.collect::<Vec<_>>().join(".")
}

/// The namespace of a file; `None` if it has several.
fn only_namespace(nodes: &Nodes, text: &str) -> Option<String> {
    let all: Vec<u32> =
        (0..nodes.0.len() as u32).filter(|it| NAMESPACES.contains(&nodes.get(*it).kind)).collect();
    match all.as_slice() {
        [] => Some(String::new()),
        [one] => nodes.child(*one, "name").map(|it| nodes.get(it).span.text_in(text).to_owned()),
        _ => None,
    }
}

/// The `using` directives of a file, as written.
fn directives_of(nodes: &Nodes, text: &str) -> Vec<(String, Span)> {
    let all = (0..nodes.0.len() as u32).filter(|it| nodes.get(*it).kind == "using_directive");
    let mut found: Vec<(String, Span)> = all
        .map(|it| nodes.get(it).span)
        .map(|it| (it.text_in(text).split_whitespace().collect::<Vec<_>>().join(" "), it))
        .collect();
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

fn place_in_new_file(
    moved: &Moved<'_>,
    draft: &mut Draft,
    namespace: &str,
    directives: &[(String, Span)],
) -> Result<(), EditError> {
    let text = moved.text()?;
    let declaration = moved.moved_text()?;
    let mut out = String::new();
    let header =
        text.lines().map(str::trim).find(|line| line.trim_start_matches('\u{feff}').starts_with("#nullable"));
    if let Some(line) = header {
        out.extend([line, "\n"]);
    }
    for (directive, _) in directives.iter().filter(|(it, _)| !it.starts_with("global ")) {
        out.extend([directive.as_str(), "\n"]);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let is_scoped =
        moved.nodes.children(0).any(|it| moved.nodes.get(it).kind == "file_scoped_namespace_declaration");
    let body = match (namespace.is_empty(), is_scoped) {
        (true, _) => format!("{declaration}\n"),
        (false, true) => format!("namespace {namespace};\n\n{declaration}\n"),
        (false, false) => format!("namespace {namespace}\n{{\n{declaration}\n}}\n"),
    };
    out.push_str(&body);
    draft.insert(moved.to, 0, out);
    Ok(())
}

fn place_in_file(
    moved: &Moved<'_>,
    draft: &mut Draft,
    file: u32,
    (old, new): (&str, &str),
    directives: &[(String, Span)],
) -> Result<(), EditError> {
    let (text, nodes) = (moved.target_text()?, moved.tree.nodes(file)?);
    let known = directives_of(&nodes, text);
    let mut missing: Vec<String> = directives.iter().map(|(it, _)| it.clone()).collect();
    if old != new && !old.is_empty() && !new.starts_with(&format!("{old}.")) {
        missing.push(format!("using {old};"));
    }
    missing.retain(|it| !it.starts_with("global ") && !known.iter().any(|(other, _)| other == it));
    missing.dedup();
    if !missing.is_empty() {
        let at = known.last().map_or(0, |(_, span)| whole_lines(text, *span).to);
        let lines: String = missing.iter().flat_map(|it| [it.as_str(), "\n"]).collect();
        draft.insert(moved.to, at, lines);
        draft.doubt(
            moved,
            (moved.to, at.saturating_sub(1)),
            "new directives may make names ambiguous",
            true,
        )?;
    }
    let block = (0..nodes.0.len() as u32).find(|it| nodes.get(*it).kind == "namespace_declaration");
    let body = block.and_then(|it| nodes.child(it, "body"));
    let declaration = moved.moved_text()?;
    let is_nested_here = body.is_some();
    let was_nested =
        moved.nodes.ancestors(moved.item).any(|it| moved.nodes.get(it).kind == "namespace_declaration");
    let declaration = match (was_nested, is_nested_here) {
        (false, true) => declaration
            .lines()
            .map(|line| if line.is_empty() { String::new() } else { format!("    {line}") })
            .collect::<Vec<_>>()
            .join("\n"),
        _ => declaration,
    };
    if let Some(it) = body {
        let end = nodes.get(it).span.to as usize - 1;
        let at = text[..end].trim_end().len();
        draft.insert(moved.to, at as u32, format!("\n\n{declaration}"));
    } else {
        let (at, new) = append_at_end(text, &declaration, 1);
        draft.insert(moved.to, at, new);
    }
    Ok(())
}

/// Requalifies uses, and adds a directive for the new namespace where the name is used alone.
fn follow_uses(moved: &Moved<'_>, draft: &mut Draft, old: &str, new: &str) -> Result<(), EditError> {
    if new.is_empty() || old.is_empty() {
        return moved.refuse("one of the files has no namespace");
    }
    let mut simple: BTreeMap<&str, Span> = BTreeMap::new();
    let prefix = format!("{old}.");
    for (path, span) in moved.uses().filter(|(path, _)| *path != moved.to) {
        let text = &moved.tree.text(path)?.text;
        let before = &text[..span.from as usize];
        if before.ends_with(&prefix) {
            draft.replace(
                path,
                Span { from: span.from - prefix.len() as u32, to: span.from },
                format!("{new}."),
            );
        } else if before.trim_end().ends_with('.') {
            draft.doubt(moved, (path, span.from), "qualified by part of its namespace", true)?;
        } else {
            simple.entry(path).or_insert(span);
        }
    }
    for (path, span) in simple {
        let Some(file) = moved.tree.file_number(path) else { continue };
        let text = &moved.tree.text(path)?.text;
        let nodes = moved.tree.nodes(file)?;
        let Some(own) = only_namespace(&nodes, text) else {
            draft.doubt(moved, (path, span.from), "its file has several namespaces", true)?;
            continue;
        };
        let known = directives_of(&nodes, text);
        let is_visible = own == new
            || own.starts_with(&format!("{new}."))
            || known.iter().any(|(it, _)| *it == format!("using {new};"));
        if is_visible {
            continue;
        }
        let at = known.last().map_or(0, |(_, it)| whole_lines(text, *it).to);
        draft.insert(path, at, format!("using {new};\n"));
        doubt_ambiguous(moved, draft, file, new)?;
    }
    Ok(())
}

/// Types of the new namespace whose names a file uses for something else.
fn doubt_ambiguous(moved: &Moved<'_>, draft: &mut Draft, file: u32, new: &str) -> Result<(), EditError> {
    let tree = moved.tree;
    let path = tree.path(file).to_owned();
    for of in &tree.code.types {
        let Some(name) = of.name.strip_prefix(new).and_then(|it| it.strip_prefix('.')) else { continue };
        if name == moved.name || name.contains('.') {
            continue;
        }
        let is_code = |role: Role| !matches!(role, Role::Comment | Role::Text | Role::Label | Role::Member);
        if let Some(it) = tree.occurrences(file, name)?.all.iter().find(|it| is_code(it.role)) {
            let place = Place::new(&path, &tree.text(&path)?.text, it.span.from, "may mean another type now");
            draft.unsure.push(crate::plan::Uncertain {
                place,
                edit: None,
                likely: false,
                can_be_compiled: true,
            });
        }
    }
    Ok(())
}
