//! The effect of a file's change on other files: which names may resolve differently, and whose bases or members changed.
//!
//! Does not know the other files: it lists names, and every file that mentions one of them is resolved again. A changed body
//! affects no other file and lists nothing.

use code::{ATTRIBUTE_SUFFIX, full_names};
use std::collections::{BTreeMap, BTreeSet};
use syntax::{FileFacts, Import, ImportKind, MemberKind, Path, TypePart};

#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Delta {
    /// Names that may resolve differently wherever they are mentioned.
    pub(crate) names: BTreeSet<String>,
    /// Added, removed or changed members, with the simple name of their type.
    pub(crate) members: BTreeSet<(String, String)>,
    /// Types with changed bases, by full name: different names are in scope in their derived types.
    pub(crate) bases: BTreeSet<String>,
    /// Namespaces that a file started or stopped declaring; other files may declare them as well.
    pub(crate) spaces: BTreeSet<Vec<String>>,
    /// Names under which a module exports something, with the original name.
    pub(crate) aliases: BTreeSet<(String, String)>,
    /// Modules that another module started or stopped importing as a whole, and therefore re-exports.
    pub(crate) whole_modules: BTreeSet<Vec<String>>,
    /// A setting that applies to every file of the project changed.
    pub(crate) project: bool,
}

impl Delta {
    pub(crate) fn add_file(&mut self, old: &FileFacts, new: &FileFacts) {
        let (before, after) = (type_interfaces(old), type_interfaces(new));
        for (name, face) in &before {
            match after.get(name) {
                Some(other) => self.compare_faces(name, face, other),
                None => self.add_name(&face.simple),
            }
        }
        let added = after.iter().filter(|(name, _)| !before.contains_key(*name));
        added.for_each(|(_, face)| self.add_name(&face.simple));
        let (before, after) = (declared_namespaces(old), declared_namespaces(new));
        self.spaces.extend(before.symmetric_difference(&after).cloned());
        if all_imports(old) != all_imports(new) {
            self.add_typed_members(new);
        }
        self.project |= global_imports(old) != global_imports(new);
        let (before, after) = (re_exports(old), re_exports(new));
        for (alias, path) in before.symmetric_difference(&after) {
            match alias {
                Some(alias) => {
                    let last = path.last().unwrap_or(alias);
                    self.aliases.insert((alias.clone(), last.clone()));
                }
                None => drop(self.whole_modules.insert(path.clone())),
            }
        }
    }

    /// Under different imports, the declared types of members may resolve differently.
    fn add_typed_members(&mut self, facts: &FileFacts) {
        for part in &facts.types {
            let typed = part.members.iter().filter(|member| member.value_type.is_some());
            self.members.extend(typed.map(|member| (part.name.clone(), member.name.clone())));
        }
    }

    fn compare_faces(&mut self, name: &str, before: &TypeInterface, after: &TypeInterface) {
        if before.properties != after.properties {
            self.add_name(&before.simple);
        }
        if before.bases != after.bases {
            self.bases.insert(name.to_owned());
        }
        for (member, _) in before.members.symmetric_difference(&after.members) {
            self.members.insert((before.simple.clone(), member.clone()));
        }
    }

    fn add_name(&mut self, simple: &str) {
        self.names.insert(simple.to_owned());
        // `[Fact]` may be `FactAttribute`
        self.names
            .extend(simple.strip_suffix(ATTRIBUTE_SUFFIX).filter(|it| !it.is_empty()).map(str::to_owned));
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Delta::default()
    }
}

/// The properties of a type that affect name resolution elsewhere.
#[derive(Default, PartialEq, Eq)]
struct TypeInterface {
    simple: String,
    properties: BTreeSet<String>,
    bases: BTreeSet<String>,
    members: BTreeSet<(String, String)>,
}

fn type_interfaces(facts: &FileFacts) -> BTreeMap<String, TypeInterface> {
    let mut found: BTreeMap<String, TypeInterface> = BTreeMap::new();
    for (part, name) in facts.types.iter().zip(full_names(facts)) {
        let face = found.entry(name).or_default();
        face.simple.clone_from(&part.name);
        face.properties.insert(format!(
            "{:?} {:?} {:?}",
            part.kind,
            part.visibility,
            part.extended_type.is_some()
        ));
        face.bases.extend(part.base_references.iter().map(|at| reference_path(facts, *at)));
        face.members.extend(member_signatures(facts, part));
    }
    found
}

fn member_signatures(facts: &FileFacts, part: &TypePart) -> Vec<(String, String)> {
    let describe = |member: &syntax::Member| {
        let called = matches!(member.kind, MemberKind::Constructor | MemberKind::Destructor);
        let typed = member.value_type.map(|at| reference_path(facts, at)).unwrap_or_default();
        (member.name.clone(), format!("{} {called} {typed}", member.is_static))
    };
    part.members.iter().map(describe).collect()
}

fn reference_path(facts: &FileFacts, reference: u32) -> String {
    let Path { alias, segments } = facts.reference_path(&facts.references[reference as usize]);
    let word = |at: u32| facts.word_text(at);
    let segments = segments.iter().map(|it| format!("{}`{}", word(it.word), it.arity)).collect::<Vec<_>>();
    format!("{:?}::{}", alias.map(word), segments.join("."))
}

/// All imports of a file.
fn all_imports(facts: &FileFacts) -> BTreeSet<(Option<String>, Vec<String>)> {
    let all = facts.scopes.iter().flat_map(|scope| &scope.imports);
    all.filter_map(|import| import_parts(facts, import)).collect()
}

/// What a module re-exports: under a name, or as a whole module.
pub(crate) fn re_exports(facts: &FileFacts) -> BTreeSet<(Option<String>, Vec<String>)> {
    let mut found = BTreeSet::new();
    for scope in facts.scopes.iter().filter(|_| facts.has_module_path) {
        let around: Vec<String> =
            scope.namespace.iter().map(|word| facts.word_text(*word).to_owned()).collect();
        for import in &scope.imports {
            let Some((alias, path)) = import_parts(facts, import) else { continue };
            // a path that is not absolute may start in any enclosing module
            let is_absolute = alias.is_some() || facts.paths[import.path as usize].alias.is_some();
            let starts = if is_absolute { 0..=0 } else { 0..=around.len() };
            found.extend(starts.map(|n| (alias.clone(), [&around[..n], &path[..]].concat())));
        }
    }
    found
}

/// The alias and the path of an import; `None` if it does not import type names.
fn import_parts(facts: &FileFacts, import: &Import) -> Option<(Option<String>, Vec<String>)> {
    let path =
        facts.paths[import.path as usize].segments.iter().map(|it| facts.word_text(it.word).to_owned());
    match import.kind {
        ImportKind::Alias(word) => Some((Some(facts.word_text(word).to_owned()), path.collect())),
        ImportKind::Namespace => Some((None, path.collect())),
        ImportKind::Static => None,
    }
}

/// The aliases that a file gives to any of `names`.
pub(crate) fn aliases_of(facts: &FileFacts, names: &BTreeSet<String>) -> Vec<String> {
    let imports = facts.scopes.iter().flat_map(|scope| &scope.imports);
    let fits = |path: &[String]| path.last().is_some_and(|last| names.contains(last));
    let matching = imports.filter_map(|import| import_parts(facts, import)).filter(|(_, path)| fits(path));
    matching.filter_map(|(alias, _)| alias).collect()
}

/// Every namespace that a file declares, with its parents.
pub(crate) fn declared_namespaces(facts: &FileFacts) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for scope in &facts.scopes {
        let words =
            scope.namespace.iter().take(MAX_NAMESPACE_DEPTH).map(|word| facts.word_text(*word).to_owned());
        let words: Vec<String> = words.collect();
        for n in (1..=words.len()).rev() {
            if !found.insert(words[..n].to_vec()) {
                break;
            }
        }
    }
    found
}

/// Real namespaces are never nested this deep; five thousand levels would be a hundred million words.
const MAX_NAMESPACE_DEPTH: usize = 100;

fn global_imports(facts: &FileFacts) -> Vec<String> {
    let imports = facts.scopes.iter().flat_map(|scope| &scope.imports).filter(|import| import.global);
    let describe = |import: &Import| {
        let alias = match import.kind {
            ImportKind::Alias(word) => facts.word_text(word),
            _ => "",
        };
        let path = &facts.paths[import.path as usize];
        let words: Vec<&str> = path.segments.iter().map(|it| facts.word_text(it.word)).collect();
        format!("{:?} {alias} {}", std::mem::discriminant(&import.kind), words.join("."))
    };
    imports.map(describe).collect()
}

/// Whether a file has imports that apply to its whole project.
pub(crate) fn has_global_imports(facts: &FileFacts) -> bool {
    facts.scopes.iter().flat_map(|scope| &scope.imports).any(|import| import.global)
}

/// Whether a file imports something under a different name.
pub(crate) fn has_renaming_import(facts: &FileFacts) -> bool {
    let mut imports = facts.scopes.iter().flat_map(|scope| &scope.imports);
    imports.any(|import| match import_parts(facts, import) {
        Some((Some(alias), path)) => path.last() != Some(&alias),
        _ => false,
    })
}

/// Whether a file is this module or contains it, and is not only nested within it.
pub(crate) fn is_module(facts: &FileFacts, space: &[String]) -> bool {
    let same = |namespace: &[u32]| {
        namespace.iter().map(|word| facts.word_text(*word)).eq(space.iter().map(String::as_str))
    };
    facts.scopes.iter().any(|scope| same(&scope.namespace))
}
