//! Module paths for languages that derive them from file paths: `src/a/b.rs` is the module `a::b`.
//!
//! Does not know the contents of the file. Facts are extracted without the module path, so a moved file need not be parsed again.

use facts::{FileFacts, Path, Scope, Segment, TypeKind, TypePart};

/// The prefixes of the names in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModulePath {
    /// The module of the file, or the package that contains it.
    pub(crate) module: Vec<String>,
    /// The folder against which relative imports are resolved.
    pub(crate) folder: Vec<String>,
    /// The root of the project, such as a crate.
    pub(crate) root: Vec<String>,
    pub(crate) reach: Reach,
}

/// Which names of a file its module path qualifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    #[default]
    All,
    /// Those outside of any namespace: two C files may each have a `struct entry`.
    OutsideNamespaces,
    /// Free functions and values outside of any namespace. Types are known to the whole project, and may be extended there.
    FreeItems,
}

/// The module path of a file in a language whose source does not name it: folder and file.
pub(crate) fn path_of_file(path: &str, reach: Reach) -> ModulePath {
    ModulePath { module: path_segments(path), reach, ..ModulePath::default() }
}

/// Resolves the root that a path starts with (`crate`, `self`, `.`), and drops one word for each `super` or `..`.
fn resolve_root<'h>(home: &'h ModulePath, alias: &str) -> Option<&'h [String]> {
    let climbs = |step: &str, between: &str| {
        alias.split(between).all(|it| it == step).then(|| alias.split(between).count())
    };
    let (words, ups) = match alias {
        "crate" => (&home.root, 0),
        "self" => (&home.module, 0),
        "." => (&home.folder, 0),
        _ => match (climbs("super", "::"), climbs("..", "/")) {
            (Some(ups), _) => (&home.module, ups),
            (_, Some(ups)) => (&home.folder, ups),
            (None, None) => return None,
        },
    };
    Some(&words[..words.len().saturating_sub(ups)])
}

/// Name of the module part of a file that has no module name.
const UNNAMED_MODULE: &str = "module";

/// Qualifies the facts of a file with its module path, for `path` in `project`. `aliases` are the project's own names for other
/// projects. Repeated calls have no effect.
pub(crate) fn apply_module_path(
    facts: &mut FileFacts,
    home: fn(&str, &str) -> ModulePath,
    project: &str,
    path: &str,
    aliases: &[(String, String)],
) {
    if std::mem::replace(&mut facts.has_module_path, true) {
        return;
    }
    qualify_names(facts, &home(project, path));
    for (ours, theirs) in aliases {
        replace_alias(facts, &home(ours, "").root, &home(theirs, "").root);
    }
}

/// Replaces a project's alias for another project with that project's own name, at the start of paths.
fn replace_alias(facts: &mut FileFacts, ours: &[String], theirs: &[String]) {
    let ([ours], false) = (ours, theirs.is_empty()) else { return };
    for at in 0..facts.paths.len() {
        let path = &facts.paths[at];
        let first = path.segments.first().map(|first| facts.word_text(first.word) == ours);
        if path.alias.is_none() && first == Some(true) {
            let rest = path.segments[1..].to_vec();
            let words: Vec<u32> = theirs.iter().map(|word| intern_word(facts, word)).collect();
            let global = intern_word(facts, "global");
            let before = words.into_iter().map(|word| Segment { word, arity: 0 });
            facts.paths[at] = Path { alias: Some(global), segments: before.chain(rest).collect() };
        }
    }
}

fn qualify_names(facts: &mut FileFacts, home: &ModulePath) {
    let module: Vec<u32> = home.module.iter().map(|word| intern_word(facts, word)).collect();
    if home.reach == Reach::OutsideNamespaces {
        detach_namespaces(facts);
    }
    // the first scope is the file
    let qualified = match home.reach {
        Reach::All => facts.scopes.len(),
        Reach::OutsideNamespaces => 1,
        Reach::FreeItems => 0,
    };
    for scope in facts.scopes.iter_mut().take(qualified) {
        scope.namespace.splice(0..0, module.iter().copied());
    }
    for at in 0..facts.paths.len() {
        facts.paths[at] = absolute_path(facts, at, home);
    }
    let around = module.split_last().map_or_else(Vec::new, |(_, around)| around.to_vec());
    let outside = facts.scopes.len() as u32;
    let name = home.module.last().map_or(UNNAMED_MODULE, String::as_str);
    let own = facts.types.iter_mut().find(|part| part.kind == TypeKind::Module && part.name.is_empty());
    if let Some(own) = own {
        name.clone_into(&mut own.name);
        own.scope = outside;
        facts.scopes.push(Scope { parent: None, namespace: around, imports: Vec::new() });
    }
}

/// Puts the modules of namespaces into a scope of their own, because the scope of the file will be qualified.
fn detach_namespaces(facts: &mut FileFacts) {
    let outside = facts.scopes.len() as u32;
    let FileFacts { types, scopes, .. } = facts;
    let is_namespace = |part: &TypePart| part.kind == TypeKind::Module && !part.name.is_empty();
    let in_file = |part: &TypePart| scopes[part.scope as usize].namespace.is_empty();
    let mut found = false;
    for part in types.iter_mut().filter(|part| is_namespace(part) && in_file(part)) {
        part.scope = outside;
        found = true;
    }
    if found {
        scopes.push(Scope::default());
    }
}

fn intern_word(facts: &mut FileFacts, word: &str) -> u32 {
    let known = facts.words.iter().position(|it| **it == *word);
    known.unwrap_or_else(|| {
        facts.words.push(word.into());
        facts.words.len() - 1
    }) as u32
}

/// Converts a relative path to one from the global namespace; other paths stay as they are.
fn absolute_path(facts: &mut FileFacts, at: usize, home: &ModulePath) -> Path {
    let path = facts.paths[at].clone();
    let alias = path.alias.map(|alias| facts.word_text(alias).to_owned());
    let Some(words) = alias.and_then(|alias| resolve_root(home, &alias)) else { return path };
    let before: Vec<Segment> =
        words.iter().map(|word| Segment { word: intern_word(facts, word), arity: 0 }).collect();
    let global = intern_word(facts, "global");
    Path { alias: Some(global), segments: before.iter().chain(&path.segments).copied().collect() }
}

/// The folders and the file name of a path, without its extension.
pub(crate) fn path_segments(path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    // of `a.ts`, `a.test.ts` and `a.d.ts`, the second is a different module, the third the same as the first
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = stem.strip_suffix(".d").unwrap_or(stem);
    folder.split('/').chain([stem]).filter(|step| !step.is_empty()).map(str::to_owned).collect()
}

/// The segments of a project name that is itself a path: `@my/web`, `example.com/shop`.
pub(crate) fn name_segments(project: &str) -> Vec<String> {
    project.split('/').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
