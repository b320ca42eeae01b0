//! Plans edits of one declaration: a new body or declaration, text before, after or inside of it, its removal.
//!
//! Does not check that the new text means something: only that the file still parses, and who uses what a new declaration takes away.

use crate::edit::TextEdit;
use crate::error::EditError;
use crate::go_imports::unused_without;
use crate::mentions::Mentions;
use crate::naming::RenameOptions;
use crate::plan::{Plan, check_syntax};
use crate::rename::find_uses;
use crate::replaced::add_users_of_lost;
use crate::sources::{SymbolPlace, language_family};
use crate::text::{SourceText, line_start};
use crate::tree::Tree;
use serde::Deserialize;
use std::collections::BTreeMap;
use syntax::Span;

/// Where text is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Position {
    Before,
    After,
    /// At the end of the body of a type.
    Inside,
}

impl From<String> for Position {
    /// `before` or `inside`; anything else is `after`.
    fn from(name: String) -> Position {
        match name.as_str() {
            "before" => Position::Before,
            "inside" => Position::Inside,
            _ => Position::After,
        }
    }
}

/// The spans of the declaration at a place.
struct Declared {
    span: Span,
    body: Option<Span>,
    is_type: bool,
}

/// Plans to replace the body of a member, or with `whole` its declaration.
pub fn plan_replacement(tree: &Tree, place: &SymbolPlace, new: &str, whole: bool) -> Result<Plan, EditError> {
    let source = editable(tree, place)?;
    let declared = find_declared(tree, place)?;
    let (span, new) = if whole {
        let base = indent_at(&source.text, declared.span.from);
        (declared.span, indent_after_first(&dedent(new), base))
    } else {
        let body = declared.body.ok_or_else(|| EditError::NoBody(place.name.clone()))?;
        (body, format_body(source, declared.span, body, new))
    };
    let edit = TextEdit { from: span.from, to: span.to, text: with_line_ends(source, span.from, &new) };
    let what = if whole { "declaration" } else { "body" };
    let mut plan = build(tree, place, format!("replace the {what} of {}", place.name), vec![edit.clone()])?;
    if whole {
        add_users_of_lost(tree, &mut plan, (&place.file, span), &edit)?;
    }
    Ok(plan)
}

/// Plans to insert text next to a declaration, or at the end of a type.
pub fn plan_insertion(
    tree: &Tree,
    place: &SymbolPlace,
    position: Position,
    new: &str,
) -> Result<Plan, EditError> {
    let source = editable(tree, place)?;
    let declared = find_declared(tree, place)?;
    let text = &source.text;
    let base = indent_at(text, declared.span.from);
    let (at, new) = match position {
        Position::Before => {
            let at = start_with_comments(text, declared.span.from);
            (at, format!("{}\n\n", indent_all(&dedent(new), base)))
        }
        Position::After => {
            let at = line_end(text, declared.span.to);
            (at, format!("\n\n{}", indent_all(&dedent(new), base)))
        }
        Position::Inside => {
            if !declared.is_type {
                return Err(EditError::NoBody(place.name.clone()));
            }
            let inner = format!("{base}{}", indent_unit(text, language_family(&place.file)));
            place_inside(text, declared.span, &indent_all(&dedent(new), &inner), base)
        }
    };
    let edit = TextEdit { from: at, to: at, text: with_line_ends(source, at, &new) };
    build(tree, place, format!("insert text at {}", place.name), vec![edit])
}

/// The text of a declaration that is deleted: its file, and where it is.
pub(crate) type Gone = (String, Span);

/// Where a declaration is.
pub(crate) fn declared_text(tree: &Tree, place: &SymbolPlace) -> Result<Gone, EditError> {
    Ok((place.file.clone(), find_declared(tree, place)?.span))
}

/// Plans to delete a declaration. Refused while it is used, unless `force` is set.
pub fn plan_deletion(tree: &Tree, place: &SymbolPlace, force: bool) -> Result<Plan, EditError> {
    plan_deletion_with(tree, place, force, &[])
}

/// The same, while other texts go too.
pub(crate) fn plan_deletion_with(
    tree: &Tree,
    place: &SymbolPlace,
    force: bool,
    gone: &[Gone],
) -> Result<Plan, EditError> {
    let source = editable(tree, place)?;
    let declared = find_declared(tree, place)?;
    let not_found = || EditError::NotFound(place.name.clone());
    let file = tree.file_number(&place.file).ok_or_else(not_found)?;
    let mentions = Mentions::find(tree, &place.name, file);
    let own = (place.file.clone(), declared.span);
    let gone: Vec<Gone> = gone.iter().cloned().chain([own]).collect();
    let (used, unsure) = find_uses(tree, &mentions, place, &gone, RenameOptions::default())?;
    if !used.is_empty() && !force {
        return Err(EditError::StillUsed { name: place.name.clone(), places: used });
    }
    let mut edits = vec![removal_of(&source.text, declared.span)];
    let file = Some(file).filter(|_| language_family(&place.file) == "Go");
    for it in file.map_or(Ok(Vec::new()), |file| unused_without(tree, file, declared.span))? {
        edits.push(TextEdit { from: it.from, to: it.to, text: String::new() });
    }
    let mut plan = build(tree, place, format!("delete {}", place.name), edits)?;
    if force {
        let doubtful = unsure.into_iter().map(|it| it.place);
        plan.still_used = used.into_iter().chain(doubtful).collect();
    } else {
        plan.unsure = unsure;
    }
    Ok(plan)
}

/// Takes a declaration out of a text, with its comments and attributes and as many blank lines after it as before it.
pub(crate) fn removal_of(text: &str, declaration: Span) -> TextEdit {
    let from = start_with_comments(text, declaration.from);
    let mut to = line_end(text, declaration.to);
    let before = text[..from as usize].trim_end_matches(['\n', '\r', ' ', '\t']);
    let is_first = before.trim_start_matches('\u{feff}').is_empty();
    let blank_lines = text[before.len()..from as usize].matches('\n').count().saturating_sub(1).max(1);
    for _ in 0..=if is_first { text.len() } else { blank_lines } {
        let rest = &text[to as usize..];
        let end = if rest.starts_with("\r\n") { 2 } else { u32::from(rest.starts_with('\n')) };
        to += end;
        let next = &text[to as usize..];
        if !(next.starts_with('\n') || next.starts_with("\r\n")) {
            break;
        }
    }
    TextEdit { from, to, text: String::new() }
}

fn editable<'t>(tree: &'t Tree, place: &SymbolPlace) -> Result<&'t SourceText, EditError> {
    let file = tree.file_number(&place.file).ok_or_else(|| EditError::NotFound(place.file.clone()))?;
    if tree.code.files[file as usize].generated {
        return Err(EditError::Generated(place.file.clone()));
    }
    tree.text(&place.file)
}

fn build(tree: &Tree, place: &SymbolPlace, title: String, edits: Vec<TextEdit>) -> Result<Plan, EditError> {
    let plan = Plan::build(tree, title, BTreeMap::from([(place.file.clone(), edits)]))?;
    check_syntax(&tree.sources, &plan)?;
    Ok(plan)
}

/// The innermost declaration with this name at a place.
fn find_declared(tree: &Tree, place: &SymbolPlace) -> Result<Declared, EditError> {
    let not_found = || EditError::NotFound(place.name.clone());
    let file = tree.file_number(&place.file).ok_or_else(not_found)?;
    let mut found: Option<Declared> = None;
    let mut offer = |declared: Declared| {
        let size = |it: &Declared| it.span.to - it.span.from;
        let is_around = (declared.span.from..declared.span.to).contains(&place.at);
        if is_around && found.as_ref().is_none_or(|known| size(&declared) < size(known)) {
            found = Some(declared);
        }
    };
    for part in &tree.code.files[file as usize].facts.types {
        if part.name == place.name {
            offer(Declared { span: part.span, body: None, is_type: true });
        }
        for member in part.members.iter().filter(|it| it.name == place.name) {
            offer(Declared { span: member.span, body: member.body_span, is_type: false });
        }
    }
    found.ok_or_else(not_found)
}

// ---- layout

/// The white space at the start of the line that contains a byte.
pub(crate) fn indent_at(text: &str, at: u32) -> &str {
    let start = text[..at as usize].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The end of the line that contains a byte, before its line end.
fn line_end(text: &str, at: u32) -> u32 {
    let rest = &text[at as usize..];
    let end = rest.find('\n').unwrap_or(rest.len());
    at + rest[..end].trim_end_matches('\r').len() as u32
}

/// The start of the lines with comments and attributes directly above a declaration.
pub(crate) fn start_with_comments(text: &str, at: u32) -> u32 {
    let mut start = line_start(text, at as usize);
    while start > line_start(text, 0).max(1) && text[..start].ends_with('\n') {
        let before = line_start(text, start - 1);
        let line = text[before..start].trim();
        let belongs = ["//", "#", "@", "*", "/*", "["].iter().any(|mark| line.starts_with(mark));
        if !belongs || line.starts_with("#!") || line.starts_with("#include") || line.starts_with("#region") {
            break;
        }
        start = before;
    }
    start as u32
}

/// The lines from the comments and attributes above a declaration to a byte in it.
pub(crate) fn head_with_attributes(text: &str, declaration: Span, to: u32) -> &str {
    let from = start_with_comments(text, declaration.from);
    Span { from, to: to.max(from) }.text_in(text)
}

/// One level of indentation in a file.
pub(crate) fn indent_unit(text: &str, language: &str) -> String {
    let indents = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]);
    let smallest = indents.filter(|indent| !indent.is_empty()).min_by_key(|indent| indent.len());
    let default = if language == "Go" { "\t" } else { "    " };
    match smallest {
        Some(indent) if indent.starts_with('\t') => "\t".to_owned(),
        Some(indent) if (2..=8).contains(&indent.len()) => indent.to_owned(),
        _ => default.to_owned(),
    }
}

/// Removes the indentation that all lines share, and blank lines at both ends.
fn dedent(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.trim_matches('\n').lines().collect();
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let filled = || lines.iter().filter(|line| !line.trim().is_empty());
    // text that was cut from its line starts without the indentation of the others
    let first = filled().next().map_or(0, indent);
    let others = filled().skip(1).map(indent).min().unwrap_or(first);
    let cut = |at: usize, line: &str| {
        let count = if at == 0 { first } else { others.min(first.max(others)) };
        let count = if at > 0 && first > 0 { first.min(count) } else { count };
        let count = if at > 0 && first == 0 { 0 } else { count };
        line.get(count.min(line.len())..).unwrap_or_default().trim_end().to_owned()
    };
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| cut(at, line))
        .collect::<Vec<_>>()
        .join("\n")
        .trim_end()
        .to_owned()
}

fn indent_all(text: &str, indent: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}{line}") };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn indent_after_first(text: &str, indent: &str) -> String {
    indent_all(text, indent).get(indent.len()..).unwrap_or_default().to_owned()
}

/// A new body, with the braces and the indentation of the old one.
fn format_body(source: &SourceText, declaration: Span, body: Span, new: &str) -> String {
    let text = &source.text;
    let base = indent_at(text, declaration.from);
    let old = body.text_in(text);
    let new = dedent(new);
    if !old.trim_start().starts_with('{') {
        let inner = indent_at(text, body.from);
        let is_block = text[..body.from as usize].ends_with(inner) && !inner.is_empty();
        return if is_block { indent_after_first(&new, inner) } else { indent_after_first(&new, base) };
    }
    if new.trim_start().starts_with('{') && new.trim_end().ends_with('}') {
        return indent_after_first(&new, base);
    }
    let first_line = old.lines().skip(1).find(|line| !line.trim().is_empty() && line.trim() != "}");
    let inner = first_line.map_or_else(
        || format!("{base}{}", indent_unit(text, "")),
        |line| line[..line.len() - line.trim_start().len()].to_owned(),
    );
    format!("{{\n{}\n{base}}}", indent_all(&new, &inner))
}

/// The place at the end of a type's body, and the text with the blank line before it.
fn place_inside(text: &str, span: Span, new: &str, base: &str) -> (u32, String) {
    let declaration = span.text_in(text);
    let Some(brace) = declaration.rfind('}') else {
        return (line_end(text, span.to), format!("\n\n{new}"));
    };
    let brace = span.from as usize + brace;
    let before = text[..brace].trim_end_matches([' ', '\t']);
    if before.ends_with('\n') {
        let is_empty = before.trim_end().ends_with('{');
        let gap = if is_empty { "" } else { "\n" };
        return (before.len() as u32, format!("{gap}{new}\n"));
    }
    (brace as u32, format!("\n{new}\n{base}"))
}

/// Text with the line ends of its surroundings.
pub(crate) fn with_line_ends(source: &SourceText, at: u32, text: &str) -> String {
    text.replace('\n', source.line_end_near(at as usize))
}
