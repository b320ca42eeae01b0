//! Plans to move a declaration to another file: takes it out of one file, puts it into the other, and lets each language say
//! which imports change.
//!
//! Does not guess: a place that no rule of the language covers is listed as unsure, and a language without rules is refused.

mod csharp;
mod go;
mod import_graph;
mod java;
mod python;
mod typescript;

use crate::edit::{Place, TextEdit};
use crate::error::EditError;
use crate::insert::{removal_of, with_line_ends};
use crate::plan::{Plan, Uncertain, check_syntax};
use crate::rename::{Family, find_family};
use crate::shape::Nodes;
use crate::sources::{SymbolPlace, language_family};
use crate::text::whole_lines;
use crate::tree::Tree;
use code::NamedDeclaration;
use std::collections::BTreeMap;
use syntax::{MemberKind, Occurrence, Role, Span, whole_words};

/// Languages whose declarations can be moved.
const LANGUAGES: &[&str] = &["C#", "Go", "Java", "Python", "TypeScript"];

/// Plans to move the declaration at a place to the file `to`, which may not exist yet.
pub fn plan_move(tree: &Tree, place: &SymbolPlace, to: &str) -> Result<Plan, EditError> {
    let language = language_family(&place.file);
    if !LANGUAGES.contains(&language) {
        let message = format!("{language} code cannot be moved");
        return Err(EditError::invalid(message, format!("languages: {}", LANGUAGES.join(", "))));
    }
    let to = to.trim().trim_start_matches("./");
    check_destination(tree, &place.file, to)?;
    let family = find_family(tree, place)?;
    let moved = Moved::read(tree, place, to, &family)?;
    let mut draft = Draft::default();
    match language {
        "Go" => go::plan(&moved, &mut draft)?,
        "Java" => java::plan(&moved, &mut draft)?,
        "Python" => python::plan(&moved, &mut draft)?,
        "TypeScript" => typescript::plan(&moved, &mut draft)?,
        _ => csharp::plan(&moved, &mut draft)?,
    }
    if draft.follows_uses {
        draft.unsure.extend(family.unsure.iter().map(|it| Uncertain { edit: None, ..it.clone() }));
    }
    draft.build(&moved)
}

fn check_destination(tree: &Tree, from: &str, to: &str) -> Result<(), EditError> {
    let refuse = |message: String| {
        let hint = format!("name a file of the tree, for example a new one beside {from}");
        Err(EditError::invalid(message, hint))
    };
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if to.is_empty() || !to.split('/').all(is_plain) {
        return refuse(format!("`{to}` is not a file of the tree"));
    }
    if to == from {
        return refuse("it is already in that file".to_owned());
    }
    if language_family(to) != language_family(from) {
        return refuse(format!("{to} is not a file of the same language"));
    }
    let path = tree.root().join(to);
    if tree.file_number(to).is_none() && path.exists() {
        return refuse(format!("{to} exists, but is not part of the code"));
    }
    if !path.parent().is_some_and(std::path::Path::is_dir) {
        return refuse(format!("the folder of {to} does not exist"));
    }
    match tree.file_number(to) {
        Some(file) if tree.code.files[file as usize].generated => Err(EditError::Generated(to.to_owned())),
        _ => Ok(()),
    }
}

/// A declaration on its way from one file to another.
struct Moved<'a> {
    tree: &'a Tree,
    name: &'a str,
    file: u32,
    from: &'a str,
    to: &'a str,
    to_file: Option<u32>,
    family: &'a Family,
    /// The nodes of the file that it leaves.
    nodes: Nodes,
    /// The node of the file, or of a namespace, that is the whole declaration.
    item: u32,
}

impl<'a> Moved<'a> {
    fn read(
        tree: &'a Tree,
        place: &'a SymbolPlace,
        to: &'a str,
        family: &'a Family,
    ) -> Result<Moved<'a>, EditError> {
        let declaration = &family.declarations[family.target];
        // constructors have the name of their type, and go with it
        let is_other =
            |it: &&NamedDeclaration| it.of == declaration.of && it.member != Some(MemberKind::Constructor);
        if family.declarations.iter().filter(is_other).count() > 1 {
            let message = format!("`{}` is declared in several places", place.name);
            return Err(EditError::invalid(message, "only a declaration that is in one place can be moved"));
        }
        let nodes = tree.nodes(declaration.file)?;
        let item = top_item(&nodes, declaration.span);
        let item = item.ok_or_else(|| EditError::NotFound(place.name.clone()))?;
        Ok(Moved {
            tree,
            name: &place.name,
            file: declaration.file,
            from: tree.path(declaration.file),
            to,
            to_file: tree.file_number(to),
            family,
            nodes,
            item,
        })
    }

    fn refuse<T>(&self, reason: impl std::fmt::Display) -> Result<T, EditError> {
        let message = format!("`{}` cannot be moved there: {reason}", self.name);
        Err(EditError::invalid(message, "move another declaration, or to another file"))
    }

    /// The file that it goes to has the name already.
    fn captured<T>(&self, name: &str) -> Result<T, EditError> {
        let text = self.target_text()?;
        let at = whole_words(text, name).first().map_or(0, |it| it.from);
        let places = vec![Place::new(self.to, text, at, "already has the name")];
        Err(EditError::Captured { name: name.to_owned(), places })
    }

    fn text(&self) -> Result<&'a str, EditError> {
        Ok(&self.tree.text(self.from)?.text)
    }

    /// The text of the file it goes to; empty for a new one.
    fn target_text(&self) -> Result<&'a str, EditError> {
        if self.to_file.is_none() { Ok("") } else { Ok(&self.tree.text(self.to)?.text) }
    }

    fn item_kind(&self) -> &'static str {
        self.nodes.get(self.item).kind
    }

    /// What is taken out: the declaration, its comments and attributes, and a blank line.
    fn removal(&self) -> Result<TextEdit, EditError> {
        Ok(removal_of(self.text()?, self.nodes.get(self.item).span))
    }

    /// The declaration with its comments and attributes.
    fn moved_text(&self) -> Result<String, EditError> {
        let edit = self.removal()?;
        let text = Span { from: edit.from, to: edit.to }.text_in(self.text()?);
        Ok(text.trim_matches(['\n', '\r']).trim_end().replace("\r\n", "\n"))
    }

    fn is_inside(&self, span: Span) -> bool {
        let own = self.nodes.get(self.item).span;
        own.from <= span.from && span.to <= own.to
    }

    /// The places that certainly mean the declaration and are not in it, by path.
    fn uses(&self) -> impl Iterator<Item = (&'a str, Span)> + '_ {
        let all = self.family.places.iter();
        let all = all.flat_map(|(path, spans)| spans.iter().map(move |span| (path.as_str(), *span)));
        all.filter(|(path, span)| *path != self.from || !self.is_inside(*span))
    }

    /// The role of a name at a place.
    fn role_at(&self, path: &str, span: Span, name: &str) -> Result<Option<Role>, EditError> {
        let Some(file) = self.tree.file_number(path) else { return Ok(None) };
        let all = self.tree.occurrences(file, name)?;
        Ok(all.all.iter().find(|it| it.span == span).map(|it| it.role))
    }

    /// Whether the declaration uses a name of its file: one that is not its own variable.
    fn mentions(&self, name: &str) -> Result<bool, EditError> {
        let own = self.nodes.get(self.item).span;
        if whole_words(own.text_in(self.text()?), name).is_empty() {
            return Ok(false);
        }
        let found = self.tree.occurrences(self.file, name)?;
        let is_own = |it: &Occurrence| {
            let within = it.variable.map(|at| found.variables[at as usize].within);
            within.is_some_and(|within| own.from <= within.from && within.to <= own.to)
        };
        let is_used = |it: &Occurrence| is_reference(it.role) && !is_own(it) && !self.is_builtin(it.span);
        Ok(found.all.iter().any(|it| self.is_inside(it.span) && is_used(it)))
    }

    /// Whether a word is a type of the language, which an import of the same name does not change: `string`.
    fn is_builtin(&self, span: Span) -> bool {
        let node = self.nodes.at(span);
        let mut around =
            node.into_iter().chain(node.into_iter().flat_map(|it| self.nodes.ancestors(it).take(1)));
        around.any(|it| self.nodes.get(it).kind == "predefined_type")
    }
}

/// Whether a name with this role may refer to something of its file.
fn is_reference(role: Role) -> bool {
    matches!(
        role,
        Role::Name | Role::Capture | Role::Shorthand | Role::Unparsed | Role::Inactive | Role::Binding
    )
}

/// The outermost declaration around a span: a child of the file or of a namespace.
fn top_item(nodes: &Nodes, span: Span) -> Option<u32> {
    let is_around = |it: u32| nodes.get(it).span.from <= span.from && span.to <= nodes.get(it).span.to;
    let mut within = 0;
    loop {
        let item = nodes.children(within).find(|it| is_around(*it))?;
        let is_namespace = matches!(
            nodes.get(item).kind,
            "namespace_declaration" | "declaration_list" | "file_scoped_namespace_declaration"
        );
        if !is_namespace {
            return Some(item);
        }
        within = item;
    }
}

/// The edits of a move while they are collected.
#[derive(Default)]
struct Draft {
    edits: BTreeMap<String, Vec<TextEdit>>,
    unsure: Vec<Uncertain>,
    moved_file: Option<String>,
    /// Whether a use has to change: not if its package or namespace stays the same.
    follows_uses: bool,
}

impl Draft {
    fn replace(&mut self, path: &str, span: Span, text: impl Into<String>) {
        let edit = TextEdit { from: span.from, to: span.to, text: text.into() };
        self.edits.entry(path.to_owned()).or_default().push(edit);
    }

    fn insert(&mut self, path: &str, at: u32, text: impl Into<String>) {
        self.replace(path, Span { from: at, to: at }, text);
    }

    /// Takes one of the names out of an import, or the whole import with its only name.
    fn cut_import(
        &mut self,
        moved: &Moved<'_>,
        (path, import): (&str, Span),
        names: &[Span],
        at: usize,
    ) -> Result<(), EditError> {
        let text = &moved.tree.text(path)?.text;
        let lines = whole_lines(text, import);
        let before = Span { from: lines.from, to: import.from }.text_in(text).trim();
        let after = Span { from: import.to, to: lines.to }.text_in(text).trim_start_matches(';').trim();
        let is_comment = ["#", "//"].iter().any(|mark| after.starts_with(mark));
        if !before.is_empty() || !(after.is_empty() || is_comment) {
            return self.doubt(moved, (path, import.from), "shares its line with something else", false);
        }
        match names {
            [_] => self.replace(path, lines, ""),
            _ => self.replace(path, cut_item(names, at), ""),
        }
        Ok(())
    }

    /// A place that no rule covers. A compiler can decide about it if it would fail there.
    fn doubt(
        &mut self,
        moved: &Moved<'_>,
        (path, at): (&str, u32),
        reason: impl Into<String>,
        can_be_compiled: bool,
    ) -> Result<(), EditError> {
        let place = Place::new(path, &moved.tree.text(path)?.text, at, reason);
        self.unsure.push(Uncertain { place, edit: None, likely: false, can_be_compiled });
        Ok(())
    }

    fn build(mut self, moved: &Moved<'_>) -> Result<Plan, EditError> {
        for (path, edits) in &mut self.edits {
            if moved.tree.file_number(path).is_some() {
                let source = moved.tree.text(path)?;
                for edit in edits.iter_mut() {
                    edit.text = with_line_ends(source, edit.from, &edit.text.replace("\r\n", "\n"));
                }
            }
            join_insertions(edits);
        }
        let title = format!("move {} to {}", moved.family.full_name, moved.to);
        let mut plan = Plan::build(moved.tree, title, self.edits)?;
        if let Some(to) = self.moved_file {
            plan.files
                .iter_mut()
                .filter(|it| it.path == moved.from)
                .for_each(|it| it.moved_to = Some(to.clone()));
            plan.refresh_diff(&moved.tree.sources)?;
        }
        self.unsure.sort_by(|one, other| one.place.cmp(&other.place));
        self.unsure.dedup_by(|one, other| one.place == other.place);
        plan.unsure = self.unsure;
        check_syntax(&moved.tree.sources, &plan)?;
        Ok(plan)
    }
}

/// Joins the texts that are inserted at one place, in the order in which they were added.
fn join_insertions(edits: &mut Vec<TextEdit>) {
    let mut joined: Vec<TextEdit> = Vec::new();
    for edit in edits.drain(..) {
        let same = joined.iter_mut().find(|it| it.from == it.to && (it.from, it.to) == (edit.from, edit.to));
        match same {
            Some(known) => known.text.push_str(&edit.text),
            None => joined.push(edit),
        }
    }
    *edits = joined;
}

/// Text at the end of a file, after a gap of so many blank lines.
fn append_at_end(text: &str, new: &str, blank_lines: usize) -> (u32, String) {
    let at = text.trim_end_matches(['\n', '\r', ' ', '\t']).len();
    if at == 0 {
        return (text.len() as u32, format!("{new}\n"));
    }
    let end = if text.len() > at { "" } else { "\n" };
    (at as u32, format!("{}{new}{end}", "\n".repeat(blank_lines + 1)))
}

/// The folder of a path.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Cuts an item out of a list whose items are in order.
fn cut_item(items: &[Span], at: usize) -> Span {
    match (items.get(at + 1), at.checked_sub(1).map(|before| items[before])) {
        (Some(next), _) => Span { from: items[at].from, to: next.from },
        (None, Some(before)) => Span { from: before.to, to: items[at].to },
        (None, None) => items[at],
    }
}
