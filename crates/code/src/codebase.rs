//! Joins parsed files into one codebase: merges partial declarations into types and builds the symbol tables.
//!
//! Does not know how a name is resolved (`resolve` does), and does not access the file system.

use project::Project;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use syntax::{
    FileFacts, ImportKind, Member, Path, Position, TypeId, TypeKind, TypePart, Visibility, language_of,
};

/// A parsed file of a project.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Relative to the root of the tree, with `/`.
    pub path: String,
    /// Index of the project.
    pub project: u32,
    /// Generated code, judging by file name and content: parsed like any other file, but never worth a note.
    pub generated: bool,
    pub facts: FileFacts,
}

/// A type, merged from all its declarations in one project.
#[derive(Clone, Debug)]
pub struct Type {
    pub id: TypeId,
    pub project: u32,
    /// `Namespace.Outer+Inner`, with `` `n `` after a name that has n type parameters.
    pub name: String,
    pub kind: TypeKind,
    pub visibility: Visibility,
    pub outer: Option<u32>,
    /// File and index of each declaration, by path.
    pub parts: Vec<(u32, u32)>,
}

/// All files of a source tree, with their types joined.
pub struct Codebase {
    pub projects: Vec<Project>,
    /// Sorted by project and path.
    pub files: Vec<SourceFile>,
    /// Sorted by name and project.
    pub types: Vec<Type>,
    pub tables: Tables,
}

/// The suffix that a use of an attribute may leave out.
pub const ATTRIBUTE_SUFFIX: &str = "Attribute";

/// The folder that a package name refers to, where the package itself has no module: `import "pkg/a"` is `pkg/src/a.ts`.
pub(crate) const SOURCE_FOLDER: &str = "src";

/// A synthetic file for namespaces that no loaded file declares; no real file has this path.
pub const NAMESPACE_FILE: &str = "\u{0}namespaces";

/// What a type can be declared in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Container {
    Namespace(u32),
    Type(u32),
}

/// Where a member is declared: file, part, index of the member.
pub type MemberLocation = (u32, u32, u32);

/// The global namespace.
pub(crate) const GLOBAL_NAMESPACE: u32 = 0;

#[derive(Default)]
pub struct Tables {
    names: FxHashMap<Box<str>, u32>,
    /// For each file, the interned name of each of its words.
    words: Vec<Vec<u32>>,
    namespaces: FxHashMap<(u32, u32), u32>,
    types: FxHashMap<(Container, u32, u16), Vec<u32>>,
    /// The modules that are also a namespace.
    modules: FxHashMap<u32, Vec<u32>>,
    /// The declarations of the members of a type, by name.
    members: FxHashMap<(u32, u32), Vec<MemberLocation>>,
    /// For each file, the type that each of its declarations belongs to.
    part_types: Vec<Vec<u32>>,
    /// For each scope of each file, its namespace and the enclosing ones, innermost first.
    scopes: Vec<Vec<Vec<u32>>>,
    /// The names that have been looked up, whether found or not. A partial codebase loads the declarations of these.
    looked_up: Vec<AtomicBool>,
    /// Names that have been looked up and occur in no file.
    absent: Mutex<BTreeSet<String>>,
    /// The types whose subtypes have been asked for. A partial codebase loads these.
    extended: Vec<AtomicBool>,
}

impl Tables {
    pub fn name_id(&self, text: &str) -> Option<u32> {
        self.names.get(text).copied()
    }

    /// Records that a name is being looked up.
    pub(crate) fn record_lookup(&self, name: u32) {
        if let Some(flag) = self.looked_up.get(name as usize) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// The names looked up since the codebase was joined.
    pub fn looked_up_names(&self) -> BTreeSet<String> {
        let is_set =
            |at: u32| self.looked_up.get(at as usize).is_some_and(|flag| flag.load(Ordering::Relaxed));
        let mut found = self.absent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        found.extend(self.names.iter().filter(|(_, at)| is_set(**at)).map(|(name, _)| name.to_string()));
        found
    }

    /// Records that all subtypes of a type are being looked for.
    pub fn record_subtypes(&self, of: u32) {
        if let Some(flag) = self.extended.get(of as usize) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    fn intern(&mut self, text: &str) -> u32 {
        if let Some(known) = self.names.get(text) {
            return *known;
        }
        let next = self.names.len() as u32;
        self.names.insert(text.into(), next);
        next
    }

    pub(crate) fn word_name(&self, file: u32, word: u32) -> u32 {
        self.words[file as usize][word as usize]
    }

    /// Whether a name occurs in a file.
    pub(crate) fn has_word(&self, file: u32, name: u32) -> bool {
        self.words[file as usize].contains(&name)
    }

    pub(crate) fn child_namespace(&self, parent: u32, name: u32) -> Option<u32> {
        self.record_lookup(name);
        self.namespaces.get(&(parent, name)).copied()
    }

    pub(crate) fn types_named(&self, container: Container, name: u32, arity: u16) -> &[u32] {
        self.record_lookup(name);
        self.types.get(&(container, name, arity)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn members_named(&self, of: u32, name: u32) -> &[MemberLocation] {
        self.members.get(&(of, name)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn modules_of(&self, of: u32) -> &[u32] {
        self.modules.get(&of).map_or(&[], Vec::as_slice)
    }

    pub fn type_of(&self, file: u32, part: u32) -> u32 {
        self.part_types[file as usize][part as usize]
    }

    /// The namespaces around a scope of a file, from its own to the global one.
    pub(crate) fn enclosing_namespaces(&self, file: u32, scope: u32) -> &[u32] {
        &self.scopes[file as usize][scope as usize]
    }

    fn intern_namespace(&mut self, parent: u32, name: u32) -> u32 {
        let next = self.namespaces.len() as u32 + 1;
        *self.namespaces.entry((parent, name)).or_insert(next)
    }

    fn add_file(&mut self, facts: &FileFacts) {
        let words: Vec<u32> = facts.words.iter().map(|word| self.intern(word)).collect();
        let mut scopes = Vec::new();
        for scope in &facts.scopes {
            let mut around = vec![GLOBAL_NAMESPACE];
            for word in &scope.namespace {
                let inner = self.intern_namespace(around[around.len() - 1], words[*word as usize]);
                around.push(inner);
            }
            around.reverse();
            if facts.requires_imports && around.len() > 1 {
                around.drain(1..around.len() - 1);
            }
            scopes.push(around);
        }
        // an attribute is looked up under its long name first
        for reference in facts.references.iter().filter(|it| it.position == Position::Attribute) {
            if let Some(last) = facts.reference_path(reference).segments.last() {
                self.intern(&(facts.word_text(last.word).to_owned() + ATTRIBUTE_SUFFIX));
            }
        }
        self.words.push(words);
        self.scopes.push(scopes);
    }
}

/// Sets the module path of a file's facts, for languages that derive names from paths. Has no effect the second time.
pub fn place_in_project(projects: &[Project], file: &mut SourceFile) {
    let Some(language) = language_of(file.path.as_ref()) else { return };
    let project = projects.get(file.project as usize);
    let (name, manifest) = project.map_or(("", ""), |project| (project.name.as_str(), project.path.as_str()));
    // two projects with the same name are distinguished by ` (path)`, which no import contains
    let name = name.split(" (").next().unwrap_or_default();
    let folder = manifest.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = file.path.strip_prefix(folder).unwrap_or(&file.path).trim_start_matches('/');
    let aliases = project.map_or(&[][..], |project| &project.aliases);
    let root = project.map_or("", |project| &project.source_root);
    let inner =
        path.strip_prefix(root).and_then(|inner| inner.strip_prefix('/')).filter(|_| !root.is_empty());
    let path = inner.map_or_else(|| path.to_owned(), |inner| format!("{SOURCE_FOLDER}/{inner}"));
    language.apply_module_path(&mut file.facts, name, &path, aliases);
}

impl Codebase {
    /// Joins files. The result does not depend on their order.
    pub fn new(projects: Vec<Project>, files: Vec<SourceFile>) -> Codebase {
        Codebase::with_known_ids(projects, files, &mut KnownIds::default())
    }

    /// Joins files again, of which some have been joined before.
    pub fn with_known_ids(
        projects: Vec<Project>,
        mut files: Vec<SourceFile>,
        ids: &mut KnownIds,
    ) -> Codebase {
        for file in &mut files {
            place_in_project(&projects, file);
        }
        files.sort_by(|one, other| (one.project, &one.path).cmp(&(other.project, &other.path)));
        let mut tables = Tables::default();
        for file in &files {
            tables.add_file(&file.facts);
        }
        let mut types = join_types(&projects, &files, ids);
        fill_tables(&mut types, &files, &mut tables);
        for word in projects.iter().flat_map(|project| &project.usings).flat_map(|it| it.split('.')) {
            tables.intern(word);
        }
        tables.intern(SOURCE_FOLDER);
        tables.looked_up = (0..tables.names.len()).map(|_| AtomicBool::new(false)).collect();
        tables.extended = types.iter().map(|_| AtomicBool::new(false)).collect();
        Codebase { projects, files, types, tables }
    }

    pub fn part(&self, at: (u32, u32)) -> &TypePart {
        &self.files[at.0 as usize].facts.types[at.1 as usize]
    }

    pub fn parts(&self, of: &Type) -> impl Iterator<Item = &TypePart> {
        of.parts.iter().map(|at| self.part(*at))
    }

    pub fn member(&self, at: MemberLocation) -> &Member {
        &self.part((at.0, at.1)).members[at.2 as usize]
    }

    /// The types with a simple name.
    pub fn types_called(&self, simple: &str) -> Vec<u32> {
        if let Some(name) = self.tables.name_id(simple) {
            self.tables.record_lookup(name);
        } else {
            let mut absent = self.tables.absent.lock().unwrap_or_else(PoisonError::into_inner);
            absent.insert(simple.to_owned());
        }
        (0..self.types.len() as u32).filter(|of| self.simple_name(*of) == simple).collect()
    }

    /// The types whose subtypes have been looked for since the codebase was joined.
    pub fn types_with_wanted_subtypes(&self) -> impl Iterator<Item = TypeId> {
        let flags = self.tables.extended.iter().zip(&self.types);
        flags.filter(|(flag, _)| flag.load(Ordering::Relaxed)).map(|(_, each)| each.id)
    }

    /// The types nested directly in a type, by name.
    pub fn nested_types(&self, of: u32) -> impl Iterator<Item = u32> {
        // a nested type's name begins with the outer type's name and a `+`, so it follows closely in sorted order
        let outer = &self.types[of as usize].name;
        let from = self.types.partition_point(|each| each.name.as_str() < outer.as_str());
        let range = self.types[from..].iter().take_while(move |each| each.name.starts_with(outer.as_str()));
        let found = range.enumerate().filter(move |(_, each)| each.outer == Some(of));
        found.map(move |(at, _)| (from + at) as u32)
    }

    /// The number of declared members, over all parts.
    pub fn declared_member_count(&self, of: &Type) -> u32 {
        self.parts(of).map(|part| part.declaration_count).sum()
    }

    /// The last part of a type's name: `Inner` for `A.Outer+Inner`.
    pub fn simple_name(&self, of: u32) -> &str {
        self.types[of as usize].parts.first().map_or("", |at| &self.part(*at).name)
    }
}

/// The IDs of types that were joined before, by project and name. Hashing the names of 10,000 types takes as long as joining them.
#[derive(Default)]
pub struct KnownIds(FxHashMap<(u32, String), (TypeKind, TypeId)>);

impl KnownIds {
    /// Remembers the IDs of a codebase that is taken apart.
    pub fn remember(&mut self, types: Vec<Type>) {
        self.0.extend(types.into_iter().map(|each| ((each.project, each.name), (each.kind, each.id))));
    }

    /// Takes the ID of a type, if its kind is the same.
    fn take(&mut self, of: &mut Type) -> Option<TypeId> {
        let key = (of.project, std::mem::take(&mut of.name));
        let known = self.0.remove(&key);
        of.name = key.1;
        known.filter(|(kind, _)| *kind == of.kind).map(|(_, id)| id)
    }
}

/// All types, sorted by name and project.
fn join_types(projects: &[Project], files: &[SourceFile], ids: &mut KnownIds) -> Vec<Type> {
    let mut known: FxHashMap<(u32, String), u32> = FxHashMap::default();
    let mut types: Vec<Type> = Vec::new();
    let parents = ImplTargets::new(files);
    for (at, file) in files.iter().enumerate() {
        let names = adopt_impl_names(&parents, file, full_names(&file.facts));
        for (index, (part, name)) in file.facts.types.iter().zip(names).enumerate() {
            let next = types.len() as u32;
            let found = *known.entry((file.project, name.clone())).or_insert(next);
            if found == next {
                types.push(Type {
                    id: TypeId(0),
                    project: file.project,
                    name,
                    kind: part.kind,
                    visibility: Visibility::Private,
                    outer: None,
                    parts: Vec::new(),
                });
            }
            types[found as usize].parts.push((at as u32, index as u32));
        }
    }
    for each in &mut types {
        // the declaration comes before its `impl` blocks, and determines the kind of the type
        each.parts.sort_by_key(|(file, part)| is_impl(&files[*file as usize].facts.types[*part as usize]));
        let (file, part) = each.parts[0];
        each.kind = files[file as usize].facts.types[part as usize].kind;
        let project = projects.get(each.project as usize).map_or("", |project| &project.name);
        each.id = ids.take(each).unwrap_or_else(|| TypeId::new(project, &each.name, each.kind));
    }
    types.sort_by(|one, other| (&one.name, one.project).cmp(&(&other.name, other.project)));
    types
}

fn is_impl(part: &TypePart) -> bool {
    part.kind == TypeKind::Impl
}

/// The types that `impl` blocks may add to, by project and full name, and by project and simple name where that is unique.
struct ImplTargets {
    full: FxHashSet<(u32, String)>,
    simple: FxHashMap<(u32, String), Option<String>>,
}

impl ImplTargets {
    fn new(files: &[SourceFile]) -> ImplTargets {
        let mut found = ImplTargets { full: FxHashSet::default(), simple: FxHashMap::default() };
        // only needed for languages with `impl` blocks
        let adding: Vec<bool> = files.iter().map(|file| file.facts.types.iter().any(is_impl)).collect();
        if !adding.contains(&true) {
            return found;
        }
        for file in files {
            let names = full_names(&file.facts);
            let declared = file.facts.types.iter().zip(names).filter(|(part, _)| !is_impl(part));
            for (part, name) in declared.filter(|(part, _)| part.kind != TypeKind::Module) {
                let simple = found.simple.entry((file.project, part.name.clone()));
                simple.and_modify(|known| *known = None).or_insert_with(|| Some(name.clone()));
                found.full.insert((file.project, name));
            }
        }
        found
    }
}

/// The names of a file's declarations; an `impl` block gets the name of its type, in whichever file that is declared.
fn adopt_impl_names(parents: &ImplTargets, file: &SourceFile, mut names: Vec<String>) -> Vec<String> {
    for (part, name) in file.facts.types.iter().zip(&mut names).filter(|(part, _)| is_impl(part)) {
        let here = parents.full.contains(&(file.project, name.clone()));
        let Some(reference) = part.extended_type.filter(|_| !here) else { continue };
        let written = spelled_full_name(&file.facts, reference)
            .filter(|it| parents.full.contains(&(file.project, it.clone())));
        let only = || parents.simple.get(&(file.project, part.name.clone())).cloned().flatten();
        if let Some(parent) = written.or_else(only) {
            *name = parent;
        }
    }
    names
}

/// The full name that a reference spells out, after expanding the file's import aliases.
pub fn spelled_full_name(facts: &FileFacts, reference: u32) -> Option<String> {
    let reference = &facts.references[reference as usize];
    let path = facts.reference_path(reference);
    let spelled =
        |path: &Path| path.segments.iter().map(|it| facts.word_text(it.word).to_owned()).collect::<Vec<_>>();
    let words = spelled(path);
    if path.alias.is_some() {
        return Some(words.join("."));
    }
    let first = path.segments.first()?.word;
    let imports = &facts.scopes[reference.scope as usize].imports;
    let import = imports.iter().find(|import| import.kind == ImportKind::Alias(first))?;
    let target = spelled(&facts.paths[import.path as usize]);
    Some([&target[..], &words[1..]].concat().join("."))
}

/// The full name of each declaration of a file.
pub fn full_names(facts: &FileFacts) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(facts.types.len());
    for part in &facts.types {
        let mut name = part.outer.map_or_else(
            || {
                facts.scopes[part.scope as usize]
                    .namespace
                    .iter()
                    .map(|it| facts.word_text(*it).to_owned() + ".")
                    .collect()
            },
            |outer| names[outer as usize].clone() + "+",
        );
        name.push_str(&part.name);
        if part.arity > 0 {
            name.extend(["`", &part.arity.to_string()]);
        }
        names.push(name);
    }
    names
}

/// Fills the tables, and sets each type's outer type and visibility.
fn fill_tables(types: &mut [Type], files: &[SourceFile], tables: &mut Tables) {
    tables.part_types = files.iter().map(|file| vec![0; file.facts.types.len()]).collect();
    for (at, each) in types.iter().enumerate() {
        for (file, part) in &each.parts {
            tables.part_types[*file as usize][*part as usize] = at as u32;
        }
    }
    for at in 0..types.len() as u32 {
        let each = &types[at as usize];
        let (file, index) = each.parts[0];
        let part = |place: &(u32, u32)| &files[place.0 as usize].facts.types[place.1 as usize];
        let first = part(&(file, index));
        let outer = first.outer.map(|outer| tables.type_of(file, outer));
        let container = match outer {
            Some(outer) => Container::Type(outer),
            None => Container::Namespace(tables.enclosing_namespaces(file, first.scope)[0]),
        };
        // one partial declaration with a modifier decides for all
        let explicit = each.parts.iter().filter_map(|place| part(place).visibility).min();
        let enclosed = outer.map(|outer| types[outer as usize].kind);
        let default = match enclosed {
            Some(TypeKind::Interface) => Visibility::Public,
            Some(_) => Visibility::Private,
            None => Visibility::Internal,
        };
        let name = tables.intern(&first.name);
        match (each.kind, container) {
            // name lookup treats a module as a namespace
            (TypeKind::Module, Container::Namespace(of)) => {
                let inner = tables.intern_namespace(of, name);
                tables.modules.entry(inner).or_default().push(at);
            }
            _ => tables.types.entry((container, name, first.arity)).or_default().push(at),
        }
        for place in each.parts.clone() {
            for (index, member) in part(&place).members.iter().enumerate() {
                let name = tables.intern(&member.name);
                tables.members.entry((at, name)).or_default().push((place.0, place.1, index as u32));
            }
        }
        types[at as usize].outer = outer;
        types[at as usize].visibility = explicit.unwrap_or(default);
    }
}
