//! What a change of one file can mean for others: which names may mean something else now, and whose bases or members are different.
//!
//! Does not know the other files. It names words; whoever mentions one of them is looked at again. A changed body means nothing to
//! others and names nothing.

use crate::codebase::{ATTRIBUTE, full_names};
use std::collections::{BTreeMap, BTreeSet};
use syntax::{FileFacts, Import, ImportKind, MemberKind, Path, TypePart};

#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Delta {
    /// These may mean something else wherever they are mentioned.
    pub(crate) names: BTreeSet<String>,
    /// Members that came, went or became something else, with the simple name of their type.
    pub(crate) members: BTreeSet<(String, String)>,
    /// Types whose bases are others, by full name: what is derived from them has other names in sight.
    pub(crate) bases: BTreeSet<String>,
    /// Namespaces that a file declares and did not before, or no longer does; others may declare them as well.
    pub(crate) spaces: BTreeSet<Vec<String>>,
    /// Names under which a module has something, with the name it has where it comes from.
    pub(crate) aliases: BTreeSet<(String, String)>,
    /// Modules that another one imports as a whole, and did not before, or no longer does: it passes their names on.
    pub(crate) wholes: BTreeSet<Vec<String>>,
    /// What holds for every file of the project is different.
    pub(crate) project: bool,
}

impl Delta {
    pub(crate) fn add(&mut self, old: &FileFacts, new: &FileFacts) {
        let (before, after) = (faces(old), faces(new));
        for (name, face) in &before {
            match after.get(name) {
                Some(other) => self.compare(name, face, other),
                None => self.name(&face.simple),
            }
        }
        let come = after.iter().filter(|(name, _)| !before.contains_key(*name));
        come.for_each(|(_, face)| self.name(&face.simple));
        let (before, after) = (spaces(old), spaces(new));
        self.spaces.extend(before.symmetric_difference(&after).cloned());
        if imports(old) != imports(new) {
            self.retype(new);
        }
        self.project |= globals(old) != globals(new);
        let (before, after) = (passed_on(old), passed_on(new));
        for (alias, path) in before.symmetric_difference(&after) {
            match alias {
                Some(alias) => {
                    let last = path.last().unwrap_or(alias);
                    self.aliases.insert((alias.clone(), last.clone()));
                }
                None => drop(self.wholes.insert(path.clone())),
            }
        }
    }

    /// What members are declared with may mean something else under other imports.
    fn retype(&mut self, facts: &FileFacts) {
        for part in &facts.types {
            let typed = part.members.iter().filter(|member| member.value_type.is_some());
            self.members.extend(typed.map(|member| (part.name.clone(), member.name.clone())));
        }
    }

    fn compare(&mut self, name: &str, before: &Face, after: &Face) {
        if before.says != after.says {
            self.name(&before.simple);
        }
        if before.bases != after.bases {
            self.bases.insert(name.to_owned());
        }
        for (member, _) in before.members.symmetric_difference(&after.members) {
            self.members.insert((before.simple.clone(), member.clone()));
        }
    }

    fn name(&mut self, simple: &str) {
        self.names.insert(simple.to_owned());
        // `[Fact]` may be `FactAttribute`
        self.names.extend(simple.strip_suffix(ATTRIBUTE).filter(|it| !it.is_empty()).map(str::to_owned));
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Delta::default()
    }
}

/// What others can tell of a type when they look names up.
#[derive(Default, PartialEq, Eq)]
struct Face {
    simple: String,
    says: BTreeSet<String>,
    bases: BTreeSet<String>,
    members: BTreeSet<(String, String)>,
}

fn faces(facts: &FileFacts) -> BTreeMap<String, Face> {
    let mut found: BTreeMap<String, Face> = BTreeMap::new();
    for (part, name) in facts.types.iter().zip(full_names(facts)) {
        let face = found.entry(name).or_default();
        face.simple.clone_from(&part.name);
        face.says.insert(format!("{:?} {:?} {:?}", part.kind, part.visibility, part.extends.is_some()));
        face.bases.extend(part.base_names.iter().map(|at| path(facts, *at)));
        face.members.extend(members(facts, part));
    }
    found
}

fn members(facts: &FileFacts, part: &TypePart) -> Vec<(String, String)> {
    let told = |member: &syntax::Member| {
        let called = matches!(member.kind, MemberKind::Constructor | MemberKind::Destructor);
        let typed = member.value_type.map(|at| path(facts, at)).unwrap_or_default();
        (member.name.clone(), format!("{} {called} {typed}", member.is_static))
    };
    part.members.iter().map(told).collect()
}

fn path(facts: &FileFacts, reference: u32) -> String {
    let Path { alias, segments } = facts.path(&facts.references[reference as usize]);
    let word = |at: u32| facts.word(at);
    let segments = segments.iter().map(|it| format!("{}`{}", word(it.word), it.arity)).collect::<Vec<_>>();
    format!("{:?}::{}", alias.map(word), segments.join("."))
}

/// Everything that a file imports.
fn imports(facts: &FileFacts) -> BTreeSet<(Option<String>, Vec<String>)> {
    let all = facts.scopes.iter().flat_map(|scope| &scope.imports);
    all.filter_map(|import| imported(facts, import)).collect()
}

/// What a module imports, others may have from it: under a name, or as a whole.
pub(crate) fn passed_on(facts: &FileFacts) -> BTreeSet<(Option<String>, Vec<String>)> {
    let mut found = BTreeSet::new();
    for scope in facts.scopes.iter().filter(|_| facts.placed) {
        let around: Vec<String> = scope.namespace.iter().map(|word| facts.word(*word).to_owned()).collect();
        for import in &scope.imports {
            let Some((alias, path)) = imported(facts, import) else { continue };
            // what is not said from the root on may begin in any of the modules around
            let said_whole = alias.is_some() || facts.paths[import.path as usize].alias.is_some();
            let starts = if said_whole { 0..=0 } else { 0..=around.len() };
            found.extend(starts.map(|n| (alias.clone(), [&around[..n], &path[..]].concat())));
        }
    }
    found
}

/// The name and the path of an import; none for one that brings no names of types.
fn imported(facts: &FileFacts, import: &Import) -> Option<(Option<String>, Vec<String>)> {
    let path = facts.paths[import.path as usize].segments.iter().map(|it| facts.word(it.word).to_owned());
    match import.kind {
        ImportKind::Alias(word) => Some((Some(facts.word(word).to_owned()), path.collect())),
        ImportKind::Namespace => Some((None, path.collect())),
        ImportKind::Static => None,
    }
}

/// The names under which a file has what is called one of `names` where it comes from.
pub(crate) fn renamed(facts: &FileFacts, names: &BTreeSet<String>) -> Vec<String> {
    let imports = facts.scopes.iter().flat_map(|scope| &scope.imports);
    let fits = |path: &[String]| path.last().is_some_and(|last| names.contains(last));
    let told = imports.filter_map(|import| imported(facts, import)).filter(|(_, path)| fits(path));
    told.filter_map(|(alias, _)| alias).collect()
}

/// Every namespace that a file declares, with those around it.
pub(crate) fn spaces(facts: &FileFacts) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for scope in &facts.scopes {
        let words = scope.namespace.iter().take(DEEPEST).map(|word| facts.word(*word).to_owned());
        let words: Vec<String> = words.collect();
        for n in (1..=words.len()).rev() {
            if !found.insert(words[..n].to_vec()) {
                break;
            }
        }
    }
    found
}

/// Nobody's namespaces are nested so deep; five thousand of them would be a hundred million words.
const DEEPEST: usize = 100;

fn globals(facts: &FileFacts) -> Vec<String> {
    let imports = facts.scopes.iter().flat_map(|scope| &scope.imports).filter(|import| import.global);
    let told = |import: &Import| {
        let alias = match import.kind {
            ImportKind::Alias(word) => facts.word(word),
            _ => "",
        };
        let path = &facts.paths[import.path as usize];
        let words: Vec<&str> = path.segments.iter().map(|it| facts.word(it.word)).collect();
        format!("{:?} {alias} {}", std::mem::discriminant(&import.kind), words.join("."))
    };
    imports.map(told).collect()
}

/// Whether a file says something that holds for all files of its project.
pub(crate) fn is_global(facts: &FileFacts) -> bool {
    facts.scopes.iter().flat_map(|scope| &scope.imports).any(|import| import.global)
}

/// Whether a file has something under another name than its own.
pub(crate) fn is_renaming(facts: &FileFacts) -> bool {
    let mut imports = facts.scopes.iter().flat_map(|scope| &scope.imports);
    imports.any(|import| match imported(facts, import) {
        Some((Some(alias), path)) => path.last() != Some(&alias),
        _ => false,
    })
}

/// Whether a file is a namespace itself, or has it in it, and does not only lie within.
pub(crate) fn is_module(facts: &FileFacts, space: &[String]) -> bool {
    let same = |namespace: &[u32]| {
        namespace.iter().map(|word| facts.word(*word)).eq(space.iter().map(String::as_str))
    };
    facts.scopes.iter().any(|scope| same(&scope.namespace))
}
