//! Plans the rename of a local variable, a parameter or a type parameter: its scope is in one file, and only named arguments at
//! call sites can mention it elsewhere.
//!
//! Does not know types and members.

use crate::edit::{Place, TextEdit};
use crate::error::EditError;
use crate::mentions::Mentions;
use crate::naming::{RenameOptions, check_name};
use crate::plan::{Plan, Uncertain, check_syntax};
use crate::sources::{SymbolPlace, language_family};
use crate::tree::Tree;
use std::collections::BTreeMap;
use syntax::{Member, MemberKind, Occurrence, Role, Span, VariableKind};

/// Plans to rename the variable that is declared or used at a place.
pub fn plan_local_rename(
    tree: &Tree,
    place: &SymbolPlace,
    new_name: &str,
    options: RenameOptions,
) -> Result<Plan, EditError> {
    check_name(new_name, &place.name, language_family(&place.file))?;
    let not_found = || EditError::NotFound(place.name.clone());
    let file = tree.file_number(&place.file).ok_or_else(not_found)?;
    if tree.code.files[file as usize].generated {
        return Err(EditError::Generated(place.file.clone()));
    }
    let found = tree.occurrences(file, &place.name)?;
    let at = found
        .all
        .iter()
        .find(|it| it.span.from == place.at)
        .and_then(|it| it.variable)
        .ok_or_else(not_found)?;
    let variable = &found.variables[at as usize];
    let text = &tree.text(&place.file)?.text;
    let (mut edits, mut unsure) = (Vec::new(), Vec::new());
    for it in &found.all {
        let doubt = doubt_about(it, variable.within, variable.visible, at);
        match (it.variable == Some(at), doubt) {
            (true, None) => edits.push(edit_for(it, &place.name, new_name)),
            (_, Some(reason)) => unsure.push(Uncertain {
                place: Place::new(&place.file, text, it.span.from, reason),
                edit: Some(edit_for(it, &place.name, new_name)),
                likely: false,
                can_be_compiled: it.role != Role::Inactive,
            }),
            (false, None) => {}
        }
        let is_comment = options.in_comments && matches!(it.role, Role::Comment | Role::Text);
        if is_comment && contains(variable.within, it.span.from) {
            edits.push(TextEdit { from: it.span.from, to: it.span.to, text: new_name.to_owned() });
        }
    }
    check_capture(tree, file, place, new_name, variable.within)?;
    let mut all = BTreeMap::from([(place.file.clone(), edits)]);
    if variable.kind == VariableKind::Parameter && matches!(language_family(&place.file), "Python" | "C#") {
        let arguments = named_arguments(tree, file, place, variable.within)?;
        for (path, it) in arguments.0 {
            all.entry(path).or_default().push(edit_for(&it, &place.name, new_name));
        }
        unsure.extend(arguments.1.into_iter().map(|(path, it, reason)| Uncertain {
            place: Place::new(&path, tree.text(&path).map_or("", |text| &text.text), it.span.from, reason),
            edit: Some(edit_for(&it, &place.name, new_name)),
            likely: false,
            can_be_compiled: true,
        }));
    }
    let title = format!("rename {} to {new_name} in {}", place.name, place.file);
    let mut plan = Plan::build(tree, title, all)?;
    plan.unsure = unsure;
    check_syntax(&tree.sources, &plan)?;
    Ok(plan)
}

fn contains(span: Span, at: u32) -> bool {
    (span.from..span.to).contains(&at)
}

/// Why an occurrence in the scope of the variable may or may not be it.
fn doubt_about(it: &Occurrence, within: Span, visible: Span, variable: u32) -> Option<&'static str> {
    let is_near = contains(within, it.span.from) || contains(visible, it.span.from);
    match it.role {
        _ if !is_near => None,
        Role::Unparsed => Some("in a construct that is not understood"),
        Role::Inactive => Some("excluded by the preprocessor"),
        Role::Text if it.in_macro => None,
        // in Go, the key of a literal may be a field or a variable
        Role::Key if it.variable == Some(variable) => Some("a key that may be the variable"),
        _ => None,
    }
}

fn edit_for(it: &Occurrence, old: &str, new_name: &str) -> TextEdit {
    let text = match it.role {
        Role::Shorthand | Role::ShorthandBinding => format!("{old}: {new_name}"),
        _ => new_name.to_owned(),
    };
    TextEdit { from: it.span.from, to: it.span.to, text }
}

/// Refuses a new name that already means something in the declaration around the variable.
fn check_capture(
    tree: &Tree,
    file: u32,
    place: &SymbolPlace,
    new_name: &str,
    within: Span,
) -> Result<(), EditError> {
    let text = &tree.text(&place.file)?.text;
    let others = tree.occurrences(file, new_name)?;
    let means = |it: &&Occurrence| {
        contains(within, it.span.from)
            && !matches!(it.role, Role::Comment | Role::Text | Role::Label | Role::Member | Role::Key)
    };
    let places: Vec<Place> = others
        .all
        .iter()
        .filter(means)
        .map(|it| Place::new(&place.file, text, it.span.from, "already has the new name"))
        .collect();
    if places.is_empty() { Ok(()) } else { Err(EditError::Captured { name: new_name.to_owned(), places }) }
}

type Arguments = (Vec<(String, Occurrence)>, Vec<(String, Occurrence, &'static str)>);

/// The named arguments that pass this parameter, and those that may.
fn named_arguments(
    tree: &Tree,
    file: u32,
    place: &SymbolPlace,
    within: Span,
) -> Result<Arguments, EditError> {
    let mut found: Arguments = (Vec::new(), Vec::new());
    let function = function_around(tree, file, within);
    let names: Vec<String> = function.map_or_else(Vec::new, |(member, of)| {
        let is_constructor = member.kind == MemberKind::Constructor || member.name == "__init__";
        let name = if is_constructor { tree.code.simple_name(of).to_owned() } else { member.name.clone() };
        // a subclass may call it as `super().__init__(name=…)`
        vec![name, member.name.clone()]
    });
    let is_only = names.first().is_some_and(|name| declared_once(tree, name, file));
    for other in tree.files_mentioning(&place.name, file) {
        let path = tree.path(other).to_owned();
        for it in tree.occurrences(other, &place.name)?.all.iter().filter(|it| it.role == Role::Key) {
            match &it.owner {
                Some(owner) if names.contains(owner) && is_only => found.0.push((path.clone(), it.clone())),
                Some(owner) if names.contains(owner) => {
                    found.1.push((path.clone(), it.clone(), "a named argument of one of several functions"));
                }
                // a local function, or one behind another name
                _ if names.is_empty() => found.1.push((path.clone(), it.clone(), "a named argument")),
                _ => {}
            }
        }
    }
    Ok(found)
}

/// The innermost member around a parameter's function, and its type.
fn function_around(tree: &Tree, file: u32, within: Span) -> Option<(&Member, u32)> {
    let facts = &tree.code.files[file as usize].facts;
    let parts = facts.types.iter().enumerate();
    let members = parts.flat_map(|(at, part)| part.members.iter().map(move |member| (at as u32, member)));
    let around = members.filter(|(_, it)| it.span.from <= within.from && within.to <= it.span.to);
    let (part, member) = around.min_by_key(|(_, it)| it.span.to - it.span.from)?;
    let of = tree.code.types.iter().position(|each| each.parts.contains(&(file, part)))?;
    Some((member, of as u32))
}

fn declared_once(tree: &Tree, name: &str, like: u32) -> bool {
    let report = &Mentions::find(tree, name, like).report;
    let mut families: Vec<u32> = report.declarations.iter().map(|it| it.family).collect();
    families.dedup();
    report.declarations.len() == 1
        || families.len() == 1 && report.declarations.iter().all(|it| it.member.is_none())
}
