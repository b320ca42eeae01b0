//! Finds module cycles within a crate: two children of one module must not depend on each other, directly or
//! indirectly.
//!
//! Reads paths (`use` trees and `crate::…`, `self::…`, `super::…` in code) from the source text; does not expand macros
//! and does not know types, so a method call creates no edge. Test modules are not part of the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module's path below the crate root; empty for `lib.rs` and `main.rs`.
type ModulePath = Vec<String>;
/// A path in source code, split at `::`.
type CodePath = Vec<String>;

/// Which module refers to which.
type Edges = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// Cycles in every crate below `root`, one line for each.
pub(crate) fn find_cycles(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut crates: Vec<_> = list_dir(&root.join("crates"))?;
    crates.push(root.join("xtask"));
    for folder in crates {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let source = folder.join("src");
        if source.is_dir() {
            let modules = read_modules(&source, &mut Vec::new())?;
            found.extend(describe_cycles(&name, &modules));
        }
    }
    Ok(found)
}

fn list_dir(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Every module below a folder with its source text.
fn read_modules(folder: &Path, parents: &mut ModulePath) -> Result<BTreeMap<ModulePath, String>, String> {
    let mut modules = BTreeMap::new();
    for path in list_dir(folder)? {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && stem != "bin" {
            parents.push(stem);
            modules.extend(read_modules(&path, parents)?);
            parents.pop();
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let mut module = parents.clone();
            if !matches!(stem.as_str(), "lib" | "main" | "mod") {
                module.push(stem);
            }
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            modules.insert(module, text);
        }
    }
    Ok(modules)
}

fn describe_cycles(name: &str, modules: &BTreeMap<ModulePath, String>) -> Vec<String> {
    let edges = collect_edges(modules);
    let parents: BTreeSet<&[String]> =
        modules.keys().filter_map(|module| module.split_last().map(|(_, parent)| parent)).collect();
    let mut found = Vec::new();
    for parent in parents {
        for cycle in sibling_cycles(parent, &edges) {
            let place = [&[name.to_owned()], parent].concat().join("::");
            found.push(format!("{place}: module cycle between {}", cycle.join(", ")));
        }
    }
    found
}

/// Groups of children of `parent` that reach each other.
fn sibling_cycles(parent: &[String], edges: &Edges) -> Vec<Vec<String>> {
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, targets) in edges {
        for to in targets {
            if let (Some(from), Some(to)) = (child_of(parent, from), child_of(parent, to))
                && from != to
            {
                graph.entry(from).or_default().insert(to);
            }
        }
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|node| (*node, reachable(node, &graph))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (node, reached) in reach.iter().filter(|(node, reached)| reached.contains(**node)) {
        let mutual = reached.iter().filter(|other| reach.get(**other).is_some_and(|r| r.contains(node)));
        groups.insert(mutual.map(|other| (*other).to_owned()).collect());
    }
    groups.into_iter().collect()
}

fn child_of<'a>(parent: &[String], module: &'a [String]) -> Option<&'a str> {
    module.strip_prefix(parent)?.first().map(String::as_str)
}

fn reachable<'a>(start: &str, graph: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut queue) = (BTreeSet::new(), vec![start]);
    while let Some(node) = queue.pop() {
        for next in graph.get(node).into_iter().flatten() {
            if seen.insert(*next) {
                queue.push(next);
            }
        }
    }
    seen
}

fn collect_edges(modules: &BTreeMap<ModulePath, String>) -> Edges {
    let paths: BTreeMap<&ModulePath, Vec<CodePath>> =
        modules.iter().map(|(module, text)| (module, referenced_paths(text))).collect();
    let graph = Graph { paths };
    let mut edges = Edges::new();
    for (module, paths) in &graph.paths {
        let targets = paths.iter().filter_map(|path| graph.defining_module(module, path, 0));
        edges.entry((*module).clone()).or_default().extend(targets.filter(|target| target != *module));
    }
    edges
}

struct Graph<'a> {
    paths: BTreeMap<&'a ModulePath, Vec<CodePath>>,
}

impl Graph<'_> {
    /// The module that defines the target of a path in `module`, following re-exports.
    fn defining_module(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        let (target, rest) = self.split_path(module, path)?;
        let Some(name) = rest.first() else { return Some(target) };
        // A name that the target only imports is defined elsewhere. No re-export takes more than eight steps.
        if target != *module && depth < 8 {
            let import = self.paths[&target].iter().find(|path| path.len() > 1 && path.last() == Some(name));
            let origin = import.and_then(|import| self.defining_module(&target, import, depth + 1));
            if let Some(origin) = origin {
                return Some(origin);
            }
        }
        Some(target)
    }

    /// The longest prefix that is a module, and the rest. None for paths into other crates.
    fn split_path(&self, module: &ModulePath, path: &[String]) -> Option<(ModulePath, Vec<String>)> {
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (ModulePath::new(), &path[1..]),
            "self" => (module.clone(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                (module[..module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            _ => (module.clone(), path),
        };
        let (target, rest) = self.descend(base, rest);
        let is_foreign = rest.len() == path.len();
        (!is_foreign).then_some((target, rest))
    }

    fn descend(&self, mut base: ModulePath, mut rest: &[String]) -> (ModulePath, Vec<String>) {
        while let Some((first, others)) = rest.split_first() {
            base.push(first.clone());
            if !self.paths.contains_key(&base) {
                base.pop();
                break;
            }
            rest = others;
        }
        (base, rest.to_vec())
    }
}

// ---- paths in source text

/// Every path of a file: `use` trees expanded, others as they are written.
fn referenced_paths(text: &str) -> Vec<CodePath> {
    let tokens = drop_test_modules(&tokenize(text));
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(tokens.len() - at);
            expand_use(&tokens[at + 1..end], &[], &mut paths);
            at = end;
        } else if is_identifier(&tokens[at]) && (at == 0 || tokens[at - 1] != "::") {
            let path = read_path(&tokens[at..]);
            at += path.len() * 2 - 1;
            if path.len() > 1 {
                paths.push(path);
            }
        } else {
            at += 1;
        }
    }
    paths
}

fn is_identifier(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// `a::b::c` at the beginning of the tokens.
fn read_path(tokens: &[String]) -> CodePath {
    let mut path = vec![tokens[0].clone()];
    let mut rest = &tokens[1..];
    while let [colons, name, others @ ..] = rest
        && colons == "::"
        && is_identifier(name)
    {
        path.push(name.clone());
        rest = others;
    }
    path
}

/// `a::{b, c::{d as e, self}}` becomes `a::b`, `a::c::d` and `a::c`.
fn expand_use(tokens: &[String], prefix: &[String], paths: &mut Vec<CodePath>) {
    let mut path = prefix.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => {
                let end = matching_brace(tokens, at);
                for branch in split_branches(&tokens[at + 1..end]) {
                    expand_use(branch, &path, paths);
                }
                return;
            }
            "as" => break,
            "::" | "*" => {}
            "self" if !path.is_empty() => {}
            name if is_identifier(name) => path.push(name.to_owned()),
            _ => {}
        }
        at += 1;
    }
    paths.push(path);
}

fn matching_brace(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return at,
            "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

fn split_branches(tokens: &[String]) -> Vec<&[String]> {
    let (mut branches, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                branches.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&tokens[start..]);
    branches.into_iter().filter(|branch| !branch.is_empty()).collect()
}

/// Removes `#[cfg(test)] mod …`, whose imports are not part of the layering.
fn drop_test_modules(tokens: &[String]) -> Vec<String> {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let item = at + CFG_TEST.len();
        let is_test = tokens[at..].iter().map(String::as_str).take(CFG_TEST.len()).eq(CFG_TEST);
        if is_test && tokens.get(item).is_some_and(|token| token == "mod") {
            let braced = tokens.get(item + 2).is_some_and(|token| token == "{");
            at = if braced { matching_brace(tokens, item + 2) } else { item + 2 } + 1;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Splits source text into identifiers, `::` and single characters, without comments and literals.
fn tokenize(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let raw = literal_length(rest);
            if raw == 0 {
                tokens.push(rest[..end].to_owned());
            }
            raw.max(end)
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            let literal = literal_length(rest);
            if literal == 0 && !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            literal.max(first.len_utf8())
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of the comment, string or character that the text begins with; 0 if it begins with none.
fn literal_length(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    let raw = text.trim_start_matches(['b', 'c']);
    if let Some(hashes) = raw.strip_prefix('r').map(|rest| rest.len() - rest.trim_start_matches('#').len())
        && text.len() - raw.len() <= 1
        && raw[1 + hashes..].starts_with('"')
    {
        let open = text.len() - raw.len() + 2 + hashes;
        let close = format!("\"{}", "#".repeat(hashes));
        return text[open..].find(&close).map_or(text.len(), |end| open + end + close.len());
    }
    match raw.as_bytes() {
        [b'"', ..] if text.len() - raw.len() <= 1 => text.len() - raw.len() + quoted_length(raw),
        [b'\'', b'\\', ..] => raw[2..].find('\'').map_or(raw.len(), |end| end + 3),
        [b'\'', ..] => {
            let mut chars = raw[1..].char_indices();
            let (_, after) = (chars.next(), chars.next());
            after.filter(|(_, c)| *c == '\'').map_or(0, |(end, _)| end + 2)
        }
        _ => 0,
    }
}

fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let path = |name: &str| name.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let modules = files.iter().map(|(name, text)| (path(name), (*text).to_owned())).collect();
        describe_cycles("sample", &modules)
    }

    #[test]
    fn a_cycle_between_siblings_is_found() {
        let found =
            cycles(&[("", "mod a; mod b;"), ("a", "use crate::b::B;"), ("b", "fn f() { super::a::f() }")]);
        assert_eq!(found, ["sample: module cycle between a, b"]);
    }

    #[test]
    fn a_cycle_through_a_re_export_is_found() {
        let root = "mod a; mod b; pub use b::{B, other::C as D};";
        let found = cycles(&[("", root), ("a", "use crate::{B, x::Y};"), ("b", "use crate::a::{self, A};")]);
        assert_eq!(found, ["sample: module cycle between a, b"]);
    }

    #[test]
    fn a_cycle_below_a_module_is_found() {
        let files =
            [("p", "mod a; mod b;"), ("p/a", "use super::b::B;"), ("p/b", "use super::a::A;"), ("", "")];
        assert_eq!(cycles(&files), ["sample::p: module cycle between a, b"]);
    }

    #[test]
    fn parents_children_tests_and_comments_make_no_cycle() {
        let a = "use crate::Shared; /* crate::b */ // crate::b::B\nconst S: &str = \"crate::b\"; \
                 #[cfg(test)] mod tests { use crate::b::B; }";
        let files = [
            ("", "mod a; mod b; pub struct Shared;"),
            ("a", a),
            ("b", "use crate::a::A; 'x' '\\'' r#\"\"\"#"),
        ];
        assert_eq!(cycles(&files), [""; 0]);
    }
}
