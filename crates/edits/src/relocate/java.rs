//! Moves a top-level Java type with its file to another package: imports and qualified names follow, and files that saw it without
//! an import get one.
//!
//! Does not know who may access what: members that only a package sees, and names that could mean another type in the new
//! package, are for the compiler.

use super::{Draft, Moved, folder_of};
use crate::error::EditError;
use crate::shape::Nodes;
use crate::sources::language_family;
use crate::text::whole_lines;
use crate::tree::Tree;
use std::collections::BTreeMap;
use syntax::{Role, Span, Visibility, whole_words};

pub(super) fn plan(moved: &Moved<'_>, draft: &mut Draft) -> Result<(), EditError> {
    check_file(moved)?;
    let old = package_of(moved.text()?);
    let Some(new) = target_package(moved, &old)? else {
        return moved.refuse("the package of that folder is not known");
    };
    if old.is_empty() || new.is_empty() {
        return moved.refuse("a type in the default package cannot be imported");
    }
    draft.follows_uses = true;
    draft.moved_file = Some(moved.to.to_owned());
    if old == new {
        // a file without a change is not part of a plan
        return moved.refuse("the package of that folder is its own");
    }
    let mover = JavaMove { moved, old, new };
    mover.change_own_file(draft)?;
    mover.follow_uses(draft)?;
    mover.doubt_access(draft)?;
    mover.doubt_new_neighbours(draft)
}

fn check_file(moved: &Moved<'_>) -> Result<(), EditError> {
    let is_type = |kind: &str| {
        kind.ends_with("_declaration")
            && !matches!(kind, "package_declaration" | "import_declaration" | "module_declaration")
    };
    if !is_type(moved.item_kind()) {
        return moved.refuse("only a type that is not inside of another one can be moved");
    }
    if moved.nodes.children(0).filter(|it| is_type(moved.nodes.get(*it).kind)).count() > 1 {
        return moved.refuse("its file declares another type");
    }
    let stem = |path: &str| path.rsplit('/').next().unwrap_or(path).trim_end_matches(".java").to_owned();
    if stem(moved.to) != moved.name || stem(moved.from) != moved.name {
        return moved
            .refuse(format!("a Java type has a file of its own: move it to FOLDER/{}.java", moved.name));
    }
    if moved.to_file.is_some() {
        return moved.refuse(format!("{} exists", moved.to));
    }
    Ok(())
}

fn package_of(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| line.starts_with("package "));
    line.and_then(|line| line["package ".len()..].split(';').next()).unwrap_or_default().trim().to_owned()
}

/// The package of the folder that the file goes to: that of a file there, or what the folders say.
fn target_package(moved: &Moved<'_>, old: &str) -> Result<Option<String>, EditError> {
    let folder = folder_of(moved.to);
    let in_folder = |path: &str| folder_of(path) == folder && language_family(path) == "Java";
    if let Some(file) = moved.tree.code.files.iter().find(|it| in_folder(&it.path)) {
        return Ok(Some(package_of(&moved.tree.text(&file.path)?.text)));
    }
    let root = folder_of(moved.from).strip_suffix(&old.replace('.', "/"));
    Ok(root.and_then(|root| folder.strip_prefix(root)).map(|rest| rest.replace('/', ".")))
}

struct JavaMove<'a, 'b> {
    moved: &'a Moved<'b>,
    old: String,
    new: String,
}

impl JavaMove<'_, '_> {
    /// The Java files of a package, without the one that moves.
    fn files_of(&self, package: &str) -> Vec<(u32, &str)> {
        let tree = self.moved.tree;
        let mut found = Vec::new();
        for (number, file) in tree.code.files.iter().enumerate() {
            let is_java = language_family(&file.path) == "Java" && number as u32 != self.moved.file;
            if is_java && tree.text(&file.path).is_ok_and(|it| package_of(&it.text) == package) {
                found.push((number as u32, file.path.as_str()));
            }
        }
        found
    }

    /// The names of the top-level types of a package.
    fn types_of(&self, package: &str) -> Vec<String> {
        let tree = self.moved.tree;
        let mut found = Vec::new();
        for (file, _) in self.files_of(package) {
            let parts = tree.code.files[file as usize].facts.types.iter();
            found.extend(parts.filter(|it| it.outer.is_none()).map(|it| it.name.clone()));
        }
        found.sort();
        found.dedup();
        found
    }

    fn change_own_file(&self, draft: &mut Draft) -> Result<(), EditError> {
        let moved = self.moved;
        let text = moved.text()?;
        let clause = moved.nodes.children(0).find(|it| moved.nodes.get(*it).kind == "package_declaration");
        let Some(clause) = clause.map(|it| moved.nodes.get(it).span) else {
            return moved.refuse("its file has no package");
        };
        let at = whole_words(clause.text_in(text), self.old.split('.').next().unwrap_or_default());
        let from = clause.from + at.first().map_or(0, |it| it.from);
        draft.replace(moved.from, Span { from, to: from + self.old.len() as u32 }, self.new.clone());
        let mut imports: Vec<String> = Vec::new();
        let nested: Vec<&str> = moved.tree.code.files[moved.file as usize]
            .facts
            .types
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        for name in self.types_of(&self.old) {
            if nested.contains(&name.as_str())
                || imports_name(&moved.nodes, text, &name)
                || !is_mentioned(moved.tree, moved.file, &name)?
            {
                continue;
            }
            imports.push(format!("import {}.{name};\n", self.old));
        }
        if !imports.is_empty() {
            let (at, lead) = import_place(&moved.nodes, text);
            draft.insert(moved.from, at, format!("{lead}{}", imports.concat()));
        }
        for word in ["getResource", "getResourceAsStream"] {
            if let Some(it) = whole_words(text, word).first() {
                draft.doubt(moved, (moved.from, it.from), "may look for files beside its package", false)?;
            }
        }
        Ok(())
    }

    fn follow_uses(&self, draft: &mut Draft) -> Result<(), EditError> {
        let moved = self.moved;
        let mut simple: BTreeMap<&str, Span> = BTreeMap::new();
        let prefix = format!("{}.", self.old);
        for (path, span) in moved.uses().filter(|(path, _)| *path != moved.from) {
            let text = &moved.tree.text(path)?.text;
            let before = &text[..span.from as usize];
            if before.ends_with(&prefix) {
                draft.replace(
                    path,
                    Span { from: span.from - prefix.len() as u32, to: span.from },
                    format!("{}.", self.new),
                );
            } else if before.trim_end().ends_with('.') {
                draft.doubt(moved, (path, span.from), "qualified by something else", true)?;
            } else {
                simple.entry(path).or_insert(span);
            }
        }
        for path in simple.into_keys() {
            let Some(file) = moved.tree.file_number(path) else { continue };
            let text = &moved.tree.text(path)?.text;
            let nodes = moved.tree.nodes(file)?;
            if !imports_name(&nodes, text, moved.name) && package_of(text) != self.new {
                let (at, lead) = import_place(&nodes, text);
                draft.insert(path, at, format!("{lead}import {}.{};\n", self.new, moved.name));
            }
        }
        self.doubt_strings(draft)
    }

    /// Its full name in a string is for reflection.
    fn doubt_strings(&self, draft: &mut Draft) -> Result<(), EditError> {
        let moved = self.moved;
        let full = format!("{}.{}", self.old, moved.name);
        for (number, file) in moved.tree.code.files.iter().enumerate() {
            let Ok(source) = moved.tree.text(&file.path) else { continue };
            if language_family(&file.path) != "Java" || !source.text.contains(&full) {
                continue;
            }
            for it in &moved.tree.occurrences(number as u32, moved.name)?.all {
                let is_full = source.text[..it.span.to as usize].ends_with(&full);
                if it.role == Role::Text && is_full {
                    draft.doubt(moved, (&file.path, it.span.from), "a string with its name", false)?;
                }
            }
        }
        Ok(())
    }

    /// What only the old package could see, on either side.
    fn doubt_access(&self, draft: &mut Draft) -> Result<(), EditError> {
        let moved = self.moved;
        let tree = moved.tree;
        let own = &tree.code.files[moved.file as usize].facts.types;
        let neighbours = self.files_of(&self.old);
        for (name, at) in restricted_names(own) {
            for (file, _) in &neighbours {
                if is_mentioned(tree, *file, &name)? {
                    draft.doubt(
                        moved,
                        (moved.from, at),
                        format!("`{name}` may be used by its old package"),
                        true,
                    )?;
                    break;
                }
            }
        }
        for (file, path) in &neighbours {
            for (name, at) in restricted_names(&tree.code.files[*file as usize].facts.types) {
                if is_mentioned(tree, moved.file, &name)? {
                    draft.doubt(
                        moved,
                        (path, at),
                        format!("`{name}` may not be visible from the new package"),
                        true,
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Names that the new package has: in the moved file they may mean something else now, and there the moved type may.
    fn doubt_new_neighbours(&self, draft: &mut Draft) -> Result<(), EditError> {
        let moved = self.moved;
        let text = moved.text()?;
        let old_types = self.types_of(&self.old);
        for name in self.types_of(&self.new) {
            if name == moved.name {
                return moved.refuse(format!("the package {} has a `{name}`", self.new));
            }
            let is_bound = old_types.contains(&name) || imports_name(&moved.nodes, text, &name);
            if !is_bound && is_mentioned(moved.tree, moved.file, &name)? {
                draft.doubt(
                    moved,
                    (moved.from, 0),
                    format!("`{name}` is a type of the new package"),
                    true,
                )?;
            }
        }
        for (file, path) in self.files_of(&self.new) {
            let uses: Vec<Span> = moved.uses().filter(|it| it.0 == path).map(|it| it.1).collect();
            for it in &moved.tree.occurrences(file, moved.name)?.all {
                if is_code(it.role) && !uses.contains(&it.span) {
                    draft.doubt(moved, (path, it.span.from), "may mean the moved type now", true)?;
                }
            }
        }
        Ok(())
    }
}

/// The names that only a package or its subclasses see, and where they are declared.
fn restricted_names(parts: &[syntax::TypePart]) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for part in parts {
        if part.visibility.is_none_or(|it| it > Visibility::Public && it < Visibility::Private) {
            found.push((part.name.clone(), part.signature.from));
        }
        let members = part.members.iter();
        let restricted =
            members.filter(|it| it.visibility > Visibility::Public && it.visibility < Visibility::Private);
        found.extend(restricted.map(|it| (it.name.clone(), it.signature.from)));
    }
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

fn is_code(role: Role) -> bool {
    !matches!(role, Role::Comment | Role::Text | Role::Label)
}

fn is_mentioned(tree: &Tree, file: u32, name: &str) -> Result<bool, EditError> {
    Ok(tree.occurrences(file, name)?.all.iter().any(|it| is_code(it.role)))
}

/// Whether a file imports a type by its name.
fn imports_name(nodes: &Nodes, text: &str, name: &str) -> bool {
    let imports = nodes.children(0).filter(|it| nodes.get(*it).kind == "import_declaration");
    imports.map(|it| nodes.get(it).span.text_in(text)).any(|it| {
        it.trim_end_matches([';', ' ']).rsplit('.').next().is_some_and(|last| last.trim() == name)
            && !it.contains(" static ")
    })
}

/// Where an import is added, and the lines before it.
fn import_place(nodes: &Nodes, text: &str) -> (u32, &'static str) {
    let find = |kind: &str| {
        nodes.children(0).filter(|it| nodes.get(*it).kind == kind).last().map(|it| nodes.get(it).span)
    };
    match (find("import_declaration"), find("package_declaration")) {
        (Some(span), _) => (whole_lines(text, span).to, ""),
        (None, Some(span)) => (whole_lines(text, span).to, "\n"),
        (None, None) => (0, ""),
    }
}
