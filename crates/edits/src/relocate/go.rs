//! Moves a Go declaration to another file of its package: names of the package stay visible, so only imports change.
//!
//! Does not move between packages: what a package exports, and cycles between packages, are its design.

use super::{Draft, Moved, append_at_end, folder_of};
use crate::edit::Place;
use crate::error::EditError;
use crate::go_imports::{GoImport, read_imports, unused_without};
use syntax::Span;

pub(super) fn plan(moved: &Moved<'_>, draft: &mut Draft) -> Result<(), EditError> {
    check_package(moved)?;
    let text = moved.text()?;
    let imports = read_imports(&moved.nodes, text);
    if imports.iter().any(|it| it.path == "C" || it.alias == ".") {
        return moved.refuse("a file with `import \"C\"` or `import .` cannot be taken apart");
    }
    let mut needed = Vec::new();
    for import in imports.iter().filter(|it| it.alias != "_") {
        for name in import.names_in(&moved.nodes, text) {
            if moved.mentions(&name)? {
                needed.push(import);
                break;
            }
        }
    }
    for lines in unused_without(moved.tree, moved.file, moved.nodes.get(moved.item).span)? {
        draft.replace(moved.from, lines, "");
    }
    let cut = moved.removal()?;
    draft.replace(moved.from, Span { from: cut.from, to: cut.to }, "");
    place_declaration(moved, &needed, draft)
}

fn check_package(moved: &Moved<'_>) -> Result<(), EditError> {
    let is_plain = match moved.item_kind() {
        "function_declaration" | "method_declaration" => true,
        "type_declaration" | "const_declaration" => {
            !moved.nodes.children(moved.item).any(|it| moved.nodes.get(it).kind == "(")
        }
        _ => false,
    };
    if !is_plain {
        return moved
            .refuse("only a function, a method, a type or a constant outside of parentheses can be moved");
    }
    if folder_of(moved.from) != folder_of(moved.to) {
        return moved.refuse(
            "a Go declaration can only be moved inside of its package, to a file in the same folder",
        );
    }
    if moved.from.ends_with("_test.go") != moved.to.ends_with("_test.go") {
        return moved.refuse("tests and other files are not compiled together");
    }
    let constrained = |path: &str, text: &str| text.contains("//go:build") || has_platform(path);
    if constrained(moved.from, moved.text()?) || constrained(moved.to, moved.target_text()?) {
        return moved.refuse("one of the files is not part of every build");
    }
    let target = moved.target_text()?;
    if moved.to_file.is_some() && package_clause(target) != package_clause(moved.text()?) {
        return moved.refuse("the files are of two packages");
    }
    Ok(())
}

/// Whether the name of a file says for which systems it is compiled.
fn has_platform(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".go").trim_end_matches("_test");
    name.split('_').skip(1).any(|part| PLATFORMS.contains(&part))
}

const PLATFORMS: &[&str] = &[
    "linux",
    "windows",
    "darwin",
    "freebsd",
    "netbsd",
    "openbsd",
    "js",
    "wasm",
    "amd64",
    "arm64",
    "arm",
    "386",
    "android",
    "ios",
    "plan9",
    "solaris",
    "unix",
    "aix",
    "dragonfly",
    "illumos",
    "wasip1",
    "riscv64",
    "ppc64le",
    "s390x",
    "mips64",
    "appengine",
];

fn package_clause(text: &str) -> Option<&str> {
    text.lines()
        .find(|line| line.starts_with("package "))
        .map(|line| line.split("//").next().unwrap_or(line).trim())
}

/// Puts the declaration and its imports into the other file.
fn place_declaration(moved: &Moved<'_>, needed: &[&GoImport], draft: &mut Draft) -> Result<(), EditError> {
    let declaration = moved.moved_text()?;
    let written = |it: &&GoImport| {
        if it.alias.is_empty() { format!("\"{}\"", it.path) } else { format!("{} \"{}\"", it.alias, it.path) }
    };
    let Some(file) = moved.to_file else {
        let package = package_clause(moved.text()?).unwrap_or_default();
        let block = import_block(&needed.iter().map(written).collect::<Vec<_>>());
        draft.insert(moved.to, 0, format!("{package}\n{block}\n{declaration}\n"));
        return Ok(());
    };
    let text = moved.target_text()?;
    let nodes = moved.tree.nodes(file)?;
    let known = read_imports(&nodes, text);
    check_names(moved, needed, &known)?;
    let missing: Vec<String> =
        needed.iter().filter(|it| !known.iter().any(|one| one.path == it.path)).map(written).collect();
    let group = known.iter().rev().find(|it| nodes.get(it.declaration).span.text_in(text).contains('('));
    if let Some(last) = group.filter(|_| !missing.is_empty()) {
        let lines = missing.iter().map(|it| format!("\n\t{it}")).collect::<Vec<_>>().concat();
        draft.insert(moved.to, last.spec.to, lines);
    } else if !missing.is_empty() {
        let clause = nodes.children(0).find(|it| nodes.get(*it).kind == "package_clause");
        let at = clause.map_or(0, |it| nodes.get(it).span.to);
        draft.insert(moved.to, at, format!("\n{}", import_block(&missing).trim_end()));
    }
    let (at, text) = append_at_end(text, &declaration, 1);
    draft.insert(moved.to, at, text);
    Ok(())
}

fn import_block(specs: &[String]) -> String {
    match specs {
        [] => String::new(),
        [one] => format!("\nimport {one}\n"),
        several => format!("\nimport (\n\t{}\n)\n", several.join("\n\t")),
    }
}

/// Refuses a file in which the names of the declaration would mean something else.
fn check_names(moved: &Moved<'_>, needed: &[&GoImport], known: &[GoImport]) -> Result<(), EditError> {
    let text = moved.target_text()?;
    let captured = |it: &GoImport, reason: String| {
        let places = vec![Place::new(moved.to, text, it.spec.from, reason)];
        Err(EditError::Captured { name: it.path.clone(), places })
    };
    for it in known.iter().filter(|it| it.alias != "_") {
        if it.alias == "." {
            return captured(it, "makes names of another package visible".to_owned());
        }
        let same = needed.iter().find(|other| other.path == it.path);
        match same {
            Some(other) if other.alias != it.alias => {
                return captured(it, "imported under another name".to_owned());
            }
            Some(_) => {}
            None => {
                let last = it.path.rsplit('/').next().unwrap_or(&it.path);
                let name = if it.alias.is_empty() { last } else { &it.alias };
                if moved.mentions(name)? {
                    return captured(it, format!("`{name}` means something else in the declaration"));
                }
            }
        }
    }
    Ok(())
}
