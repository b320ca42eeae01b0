//! The imports of a Go file: which names they bring, and which of them nothing uses any more once text is gone, since the compiler
//! refuses those.
//!
//! Does not know packages: the last part of a path need not be the name of the package.

use crate::error::EditError;
use crate::shape::Nodes;
use crate::text::whole_lines;
use crate::tree::Tree;
use syntax::{Role, Span};

/// An import of a file.
pub(crate) struct GoImport {
    /// The name before the path; empty if there is none.
    pub(crate) alias: String,
    pub(crate) path: String,
    pub(crate) spec: Span,
    /// The whole `import` with everything in its parentheses.
    pub(crate) declaration: u32,
}

impl GoImport {
    /// Whether files may call the package so. The last part of a path need not be the name of the package.
    fn may_be(&self, name: &str) -> bool {
        if !self.alias.is_empty() {
            return self.alias == name;
        }
        let is_version =
            |part: &&str| part.starts_with('v') && part[1..].bytes().all(|it| it.is_ascii_digit());
        let part = self.path.rsplit('/').find(|part| !is_version(part)).unwrap_or(&self.path);
        part.split(['.', '-']).any(|word| word == name)
    }

    /// The words before a dot in a file that may mean it.
    pub(crate) fn names_in(&self, nodes: &Nodes, text: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for it in 0..nodes.0.len() as u32 {
            let node = nodes.get(it);
            let is_root = match node.kind {
                "package_identifier" => true,
                "identifier" => {
                    nodes.get(node.parent).kind == "selector_expression" && node.field == "operand"
                }
                _ => false,
            };
            let word = node.span.text_in(text);
            if is_root && self.may_be(word) && !found.iter().any(|it| it == word) {
                found.push(word.to_owned());
            }
        }
        found
    }
}

pub(crate) fn read_imports(nodes: &Nodes, text: &str) -> Vec<GoImport> {
    let mut found = Vec::new();
    for declaration in nodes.children(0).filter(|it| nodes.get(*it).kind == "import_declaration") {
        for spec in nodes.below(declaration).filter(|it| nodes.get(*it).kind == "import_spec") {
            let part = |field| nodes.child(spec, field).map_or("", |it| nodes.get(it).span.text_in(text));
            let path = part("path").trim_matches(['"', '`']).to_owned();
            found.push(GoImport {
                alias: part("name").to_owned(),
                path,
                spec: nodes.get(spec).span,
                declaration,
            });
        }
    }
    found
}

/// The lines of the imports of a file that only a text in it uses.
pub(crate) fn unused_without(tree: &Tree, file: u32, gone: Span) -> Result<Vec<Span>, EditError> {
    let text = &tree.text(tree.path(file))?.text;
    let nodes = tree.nodes(file)?;
    let imports = read_imports(&nodes, text);
    let mut unused: Vec<&GoImport> = Vec::new();
    for import in imports.iter().filter(|it| it.alias != "_" && it.alias != ".") {
        let (mut was_used, mut is_used) = (false, false);
        for name in import.names_in(&nodes, text) {
            for it in tree.occurrences(file, &name)?.all.iter().filter(|it| may_mean_import(it.role)) {
                let is_gone = gone.from <= it.span.from && it.span.to <= gone.to;
                was_used |= is_gone;
                is_used |= !is_gone;
            }
        }
        if was_used && !is_used {
            unused.push(import);
        }
    }
    let is_unused = |it: &&GoImport| unused.iter().any(|other| other.spec == it.spec);
    let mut lines: Vec<Span> = Vec::new();
    for import in &unused {
        let of_same = || imports.iter().filter(|it| it.declaration == import.declaration);
        let all_go = of_same().all(|it| is_unused(&it));
        let span = if all_go { nodes.get(import.declaration).span } else { import.spec };
        lines.push(whole_lines(text, span));
    }
    lines.dedup();
    Ok(lines)
}

fn may_mean_import(role: Role) -> bool {
    matches!(role, Role::Name | Role::Unparsed | Role::Inactive)
}
