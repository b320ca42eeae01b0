//! Name resolution: applies each language's lookup rules as far as the source alone decides them, or takes a compiler's answer
//! from an index, and rates the certainty of the result.
//!
//! Does not know library metadata: a name that no source file declares stays unresolved, and where an unseen base class may have
//! a member of that name, the result is only likely.

use crate::codebase::{
    ATTRIBUTE_SUFFIX, Codebase, Container, GLOBAL_NAMESPACE, NAMESPACE_FILE, SOURCE_FOLDER, SourceFile,
};
use crate::scip::{IndexedOccurrence, TreeIndexes};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use syntax::csharp::well_known;
use syntax::{FileFacts, Import, ImportKind, MemberKind, Path, Position, Reference, Segment, TypeKind};

/// The certainty of a resolved reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Certainty {
    /// A compiler resolved it, in an index that still matches the source.
    Exact,
    /// The language's rules leave one interpretation.
    Certain,
    /// Another interpretation is possible: a member of a base class that is not in the source, or another overload.
    Likely,
    /// Only the name matches. Separate from `Likely`, because for a name like `Count` most such places refer to something else.
    Possible,
}

impl Certainty {
    pub fn name(self) -> &'static str {
        match self {
            Certainty::Exact => "exact",
            Certainty::Certain => "certain",
            Certainty::Likely => "likely",
            Certainty::Possible => "possible",
        }
    }
}

/// One type refers to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// The best certainty among the references.
    pub certainty: Certainty,
    /// The number of references.
    pub references: u32,
    /// Whether it is one of the base types.
    pub base: bool,
}

/// A segment of a reference, resolved to a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResolvedReference {
    /// Index of the segment.
    pub segment: u32,
    pub to: u32,
    pub certainty: Certainty,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TypeOrNamespace {
    Type(u32),
    Namespace(u32),
}

/// The result of looking up a name in one container.
pub(crate) enum LookupResult {
    Symbol(TypeOrNamespace),
    /// A value, or several types: the lookup ends without a result.
    Ends,
    Nothing,
}

/// Resolves names in a codebase. Imports and bases are resolved lazily, so that the cost of a lookup does not depend on the size
/// of the codebase.
pub struct Resolver<'a> {
    code: &'a Codebase,
    /// For each file, the resolved imports of its scopes after each pass.
    imports: Vec<[OnceCell<Vec<ResolvedImports>>; MAX_PASSES + 1]>,
    /// For each project, its global imports.
    global: Vec<OnceCell<ResolvedImports>>,
    /// For each project, the files with global imports.
    global_import_files: Vec<Vec<u32>>,
    /// The bases of each type, in two rounds: without knowing the bases of other types, and with that knowledge.
    bases: [Vec<OnceCell<Vec<u32>>>; 2],
    /// Whether a type has a direct or indirect base that is not in the source.
    unseen_base: Vec<OnceCell<bool>>,
    depth: Cell<BaseRound>,
    /// How many passes of import resolution a lookup may use; `None`: no imports.
    round: Cell<Option<usize>>,
    no_imports: ResolvedImports,
    /// For each project, the projects whose types it can refer to; empty means all.
    visible: Vec<Vec<bool>>,
    /// For each indexed file, its occurrences.
    indexed: FxHashMap<u32, Vec<IndexedOccurrence>>,
    /// For each module, its scopes: what they import can be named as if the module declared it.
    modules: FxHashMap<u32, Vec<(u32, u32)>>,
}

/// Which bases are known during a lookup. A base may be nested in a base of another type, so bases are resolved in two rounds;
/// this way the result does not depend on the order of lookups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BaseRound {
    None,
    First,
    All,
}

/// How many modules may re-export a name on its way. The longest chain in tokio, zod and typeorm was four.
const MAX_PASSES: usize = 6;

#[derive(Default, Clone)]
struct ResolvedImports {
    aliases: FxHashMap<u32, Option<TypeOrNamespace>>,
    namespaces: Vec<u32>,
    statics: Vec<u32>,
    /// Imported namespaces that are not in the source, as written.
    unseen: Vec<String>,
}

/// Where a name is looked up.
#[derive(Clone, Copy)]
pub(crate) struct LookupPlace {
    pub(crate) file: u32,
    pub(crate) scope: u32,
    pub(crate) owner: Option<u32>,
}

impl<'a> Resolver<'a> {
    pub fn new(code: &'a Codebase) -> Resolver<'a> {
        fn empty_cells<T>(count: usize) -> Vec<OnceCell<T>> {
            (0..count).map(|_| OnceCell::new()).collect()
        }
        let mut says_global = vec![Vec::new(); code.projects.len()];
        for (at, file) in code.files.iter().enumerate() {
            let mut imports = file.facts.scopes.iter().flat_map(|scope| &scope.imports);
            if let Some(files) = says_global.get_mut(file.project as usize)
                && imports.any(|import| import.global)
            {
                files.push(at as u32);
            }
        }
        Resolver {
            code,
            imports: code.files.iter().map(|_| Default::default()).collect(),
            global: empty_cells(code.projects.len()),
            global_import_files: says_global,
            bases: [empty_cells(code.types.len()), empty_cells(code.types.len())],
            unseen_base: empty_cells(code.types.len()),
            depth: Cell::new(BaseRound::All),
            visible: visible_projects(code),
            indexed: FxHashMap::default(),
            modules: module_scopes(code),
            round: Cell::new(Some(MAX_PASSES)),
            no_imports: ResolvedImports::default(),
        }
    }

    /// Like `new`, but prefers index data over lookup rules wherever an index covers a reference. Hash inputs do not use index
    /// data: a type must not change because someone ran an indexer.
    pub fn with_indexes(code: &'a Codebase, exact: &TreeIndexes) -> Resolver<'a> {
        Resolver { indexed: exact.indexed_occurrences(), ..Resolver::new(code) }
    }

    /// The types that the segments of a reference resolve to.
    pub fn resolve_reference(&self, file: u32, reference: &Reference) -> Vec<ResolvedReference> {
        self.resolve_by_index(file, reference).unwrap_or_else(|| self.resolve_by_rules(file, reference))
    }

    /// Resolves a reference from index data; `None` if the index has nothing there (code that was not compiled) or is out of
    /// date.
    fn resolve_by_index(&self, file: u32, reference: &Reference) -> Option<Vec<ResolvedReference>> {
        let all = self.indexed.get(&file)?;
        let from = all.partition_point(|it| it.span.from < reference.at);
        let here = all[from..].iter().take_while(|it| it.span.to <= reference.name_end);
        let path = self.code.files[file as usize].facts.reference_path(reference);
        let (mut found, mut silent) = (Vec::new(), true);
        for it in here {
            if !it.is_current {
                return None;
            }
            silent = false;
            let is_it = |segment: &Segment| Some(self.code.tables.word_name(file, segment.word)) == it.name;
            let segment = path.segments.iter().rposition(is_it);
            if let (Some(to), Some(segment)) = (it.to, segment) {
                found.push(ResolvedReference { segment: segment as u32, to, certainty: Certainty::Exact });
            }
        }
        // report a module only if nothing inside it is referenced
        let is_module = |it: &ResolvedReference| self.code.types[it.to as usize].kind == TypeKind::Module;
        let last = found.last().map(|it| it.segment);
        found.retain(|it| !is_module(it) || Some(it.segment) == last);
        (!silent).then_some(found)
    }

    /// Resolves a reference by the language's lookup rules.
    fn resolve_by_rules(&self, file: u32, reference: &Reference) -> Vec<ResolvedReference> {
        let facts = &self.code.files[file as usize].facts;
        let path = facts.reference_path(reference);
        let owner = reference.owner.map(|part| self.code.tables.type_of(file, part));
        let place = LookupPlace { file, scope: reference.scope, owner };
        if reference.position == Position::Attribute {
            return self.resolve_attribute(place, path);
        }
        let mut mentions = self.follow_path(place, path, reference.position, reference.is_shadowed);
        let unsure = matches!(reference.position, Position::Value | Position::Called | Position::Bare);
        if unsure && path.alias.is_none() && self.encloser_has_unseen_base(owner) {
            for mention in &mut mentions {
                mention.certainty = Certainty::Likely;
            }
        }
        mentions
    }

    /// The type whose declaration contains a reference, or the module whose statement contains it.
    pub fn owner_of(&self, file: u32, reference: &Reference) -> Option<u32> {
        let tables = &self.code.tables;
        let around = || {
            let modules =
                tables.modules_of(tables.enclosing_namespaces(file, reference.scope)[0]).iter().copied();
            let here = |of: &u32| self.code.types[*of as usize].parts.iter().any(|(at, _)| *at == file);
            modules.into_iter().find(here)
        };
        reference.owner.map(|part| tables.type_of(file, part)).or_else(around)
    }

    /// The type that the whole reference names.
    pub fn target_type(&self, file: u32, reference: &Reference) -> Option<u32> {
        let last = self.code.files[file as usize].facts.reference_path(reference).segments.len() as u32 - 1;
        self.resolve_by_rules(file, reference)
            .last()
            .filter(|mention| mention.segment == last)
            .map(|mention| mention.to)
    }

    /// The bases of a type that are in the source.
    pub fn bases(&self, of: u32) -> &[u32] {
        match self.depth.get() {
            BaseRound::None => &[],
            BaseRound::First => self.known_bases(0, of, BaseRound::None),
            BaseRound::All => self.known_bases(1, of, BaseRound::First),
        }
    }

    fn known_bases(&self, round: usize, of: u32, depth: BaseRound) -> &[u32] {
        self.bases[round][of as usize].get_or_init(|| self.with_bases(depth, || self.resolve_bases(of).0))
    }

    /// Runs a lookup with a given knowledge of bases.
    fn with_bases<T>(&self, depth: BaseRound, lookup: impl FnOnce() -> T) -> T {
        let before = self.depth.replace(depth);
        let found = lookup();
        self.depth.set(before);
        found
    }

    /// The resolved imports of a scope. A module may re-export what it imports, so imports are resolved in passes, each based on
    /// the previous one; this way the result does not depend on the order of lookups.
    fn scope_imports(&self, file: u32, scope: u32) -> &ResolvedImports {
        let Some(round) = self.round.get() else { return &self.no_imports };
        // a file that is not a module does not re-export anything
        let round = if self.code.files[file as usize].facts.has_module_path { round } else { 0 };
        let found = self.imports[file as usize][round]
            .get_or_init(|| self.with_imports(round.checked_sub(1), || self.resolve_imports(file)));
        &found[scope as usize]
    }

    /// Runs a lookup with the imports of an earlier pass, and without bases.
    fn with_imports<T>(&self, round: Option<usize>, lookup: impl FnOnce() -> T) -> T {
        let known = self.round.replace(round);
        let found = self.with_bases(BaseRound::None, lookup);
        self.round.set(known);
        found
    }

    /// The imports that apply to all files of a project.
    fn global_imports(&self, project: u32) -> Option<&ResolvedImports> {
        let found = self.global.get(project as usize)?;
        Some(found.get_or_init(|| self.with_imports(None, || self.resolve_global_imports(project as usize))))
    }

    /// Whether a type has a direct or indirect base that is not in the source. Unknown, and therefore false, until all bases are
    /// resolved.
    fn has_unseen_base(&self, of: u32) -> bool {
        if self.depth.get() != BaseRound::All {
            return false;
        }
        *self.unseen_base[of as usize].get_or_init(|| {
            let (mut open, mut seen) = (vec![of], FxHashSet::default());
            while let Some(at) = open.pop() {
                if !seen.insert(at) {
                    continue;
                }
                if !self.resolve_bases(at).1 {
                    return true;
                }
                open.extend(self.bases(at));
            }
            false
        })
    }

    /// All edges between types, each pair once, sorted.
    pub fn all_edges(&self) -> Vec<Edge> {
        self.edges_from(&|_| true)
    }

    /// The edges from some types.
    pub(crate) fn edges_from(&self, wanted: &dyn Fn(u32) -> bool) -> Vec<Edge> {
        let mut edges: BTreeMap<(u32, u32), Edge> = BTreeMap::new();
        for (file, source) in self.code.files.iter().enumerate() {
            for reference in &source.facts.references {
                let Some(from) = self.owner_of(file as u32, reference) else { continue };
                if !wanted(from) {
                    continue;
                }
                for mention in self.resolve_reference(file as u32, reference) {
                    if mention.to == from {
                        continue;
                    }
                    let ResolvedReference { to, certainty, .. } = mention;
                    let new = Edge { from, to, certainty, references: 0, base: false };
                    let edge = edges.entry((from, to)).or_insert(new);
                    edge.references += 1;
                    edge.certainty = edge.certainty.min(certainty);
                    edge.base |= reference.position == Position::Base;
                }
            }
        }
        edges.into_values().collect()
    }

    /// The canonical spelling of a reference: the full name of a type in the source; otherwise the name as written, qualified
    /// with its namespace if that is known, or followed by all unknown namespaces it may come from.
    pub(crate) fn canonical_name(&self, file: u32, reference: u32) -> String {
        let facts = &self.code.files[file as usize].facts;
        let reference = &facts.references[reference as usize];
        if let Some(target) = self.target_type(file, reference) {
            return self.code.types[target as usize].name.clone();
        }
        let path = facts.reference_path(reference);
        let written = path_as_written(facts, path);
        let Some(first) = path.segments.first().filter(|_| path.alias.is_none()) else { return written };
        if let Some(alias) = self.alias_as_written(file, reference.scope, first.word) {
            return alias;
        }
        let imported = self.unseen_namespaces(file, reference.scope);
        if let Some(home) = well_known::namespace_of(facts.word_text(first.word), &imported) {
            return format!("{home}.{written}");
        }
        if written.rsplit_once('.').is_some_and(|(namespace, _)| well_known::is_known_namespace(namespace)) {
            return written;
        }
        let unknown: Vec<&str> =
            imported.into_iter().filter(|namespace| !well_known::is_known_namespace(namespace)).collect();
        format!("{written}@{}", unknown.join(","))
    }

    /// The target of an alias as written, if it is not in the source.
    fn alias_as_written(&self, file: u32, scope: u32, word: u32) -> Option<String> {
        let facts = &self.code.files[file as usize].facts;
        let mut imports = self
            .enclosing_scopes(LookupPlace { file, scope, owner: None })
            .flat_map(|scope| &facts.scopes[scope as usize].imports);
        let alias = imports.find(|import| import.kind == ImportKind::Alias(word))?;
        Some(path_as_written(facts, &facts.paths[alias.path as usize]))
    }

    /// The namespaces that a scope imports and that are not in the source, sorted.
    fn unseen_namespaces(&self, file: u32, scope: u32) -> Vec<&str> {
        let project = self.code.files[file as usize].project;
        let own = self.enclosing_scopes(LookupPlace { file, scope, owner: None });
        let own = own.flat_map(|scope| &self.scope_imports(file, scope).unseen);
        let shared = self.global_imports(project).into_iter().flat_map(|global| &global.unseen);
        let mut found: Vec<&str> = own.chain(shared).map(String::as_str).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The types whose members can be named without qualification at this place.
    pub(crate) fn static_imports(&self, place: LookupPlace) -> impl Iterator<Item = u32> {
        self.imports_at(place).flat_map(|imports| imports.statics.iter().copied())
    }

    /// Whether members of a namespace can be named without qualification at this place.
    pub(crate) fn can_see_namespace(&self, place: LookupPlace, namespace: u32) -> bool {
        self.code.tables.enclosing_namespaces(place.file, place.scope).contains(&namespace)
            || self.imports_at(place).any(|imports| imports.namespaces.contains(&namespace))
    }

    fn imports_at(&self, place: LookupPlace) -> impl Iterator<Item = &ResolvedImports> {
        let project = self.code.files[place.file as usize].project;
        let own = self.enclosing_scopes(place).map(move |scope| self.scope_imports(place.file, scope));
        own.chain(self.global_imports(project))
    }

    fn encloser_has_unseen_base(&self, owner: Option<u32>) -> bool {
        let mut at = owner;
        while let Some(of) = at {
            if self.has_unseen_base(of) {
                return true;
            }
            at = self.code.types[of as usize].outer;
        }
        false
    }

    /// `[Fact]` is `FactAttribute` if that exists, otherwise `Fact` if that is an attribute.
    fn resolve_attribute(&self, place: LookupPlace, path: &Path) -> Vec<ResolvedReference> {
        let facts = &self.code.files[place.file as usize].facts;
        let Some(last) = path.segments.last() else { return Vec::new() };
        let longer = facts.word_text(last.word).to_owned() + ATTRIBUTE_SUFFIX;
        if let Some(name) = self.code.tables.name_id(&longer) {
            let found = self.follow_segments(place, path, Position::Attribute, false, Some(name));
            if found.last().is_some_and(|mention| mention.segment as usize + 1 == path.segments.len()) {
                return found;
            }
        }
        let found = self.follow_path(place, path, Position::Type, false);
        let is_one = found.last().is_some_and(|mention| self.is_attribute(mention.to, 0));
        if is_one { found } else { Vec::new() }
    }

    /// Whether a type derives from `Attribute`.
    fn is_attribute(&self, of: u32, depth: u32) -> bool {
        let each = &self.code.types[of as usize];
        let named_so = each.parts.iter().any(|(file, part)| {
            let facts = &self.code.files[*file as usize].facts;
            let names = &facts.types[*part as usize].base_references;
            names.iter().any(|at| {
                let path = facts.reference_path(&facts.references[*at as usize]);
                path.segments.last().is_some_and(|last| facts.word_text(last.word).ends_with("Attribute"))
            })
        });
        named_so || (depth < 16 && self.bases(of).iter().any(|base| self.is_attribute(*base, depth + 1)))
    }

    pub(crate) fn follow_path(
        &self,
        place: LookupPlace,
        path: &Path,
        position: Position,
        veiled: bool,
    ) -> Vec<ResolvedReference> {
        self.follow_segments(place, path, position, veiled, None)
    }

    /// Follows a path from its first segment; `last` replaces the word of its last segment.
    fn follow_segments(
        &self,
        place: LookupPlace,
        path: &Path,
        position: Position,
        veiled: bool,
        last: Option<u32>,
    ) -> Vec<ResolvedReference> {
        let tables = &self.code.tables;
        let count = path.segments.len();
        let word = |at: usize| match last {
            Some(name) if at + 1 == count => name,
            _ => tables.word_name(place.file, path.segments[at].word),
        };
        let arity = |at: usize| path.segments[at].arity;
        let next = (count > 1).then(|| word(1));
        let (mut symbol, mut at): (TypeOrNamespace, usize) = match path.alias {
            Some(alias) => match self.resolve_alias(place, alias) {
                Some(symbol) => (symbol, 0),
                None => return Vec::new(),
            },
            None => match self.first_segment(place, word(0), arity(0), next, position, veiled) {
                Some(symbol) => (symbol, 1),
                None => return Vec::new(),
            },
        };
        // the last segment of a call is a method
        let end = if position == Position::Called { count - 1 } else { count };
        let mut found = Vec::new();
        loop {
            if let (TypeOrNamespace::Type(to), Some(segment)) = (symbol, at.checked_sub(1)) {
                found.push(ResolvedReference { segment: segment as u32, to, certainty: Certainty::Certain });
            }
            if at >= end {
                return found;
            }
            let inner = match symbol {
                TypeOrNamespace::Namespace(of) => self.in_namespace(place.file, of, word(at), arity(at)),
                TypeOrNamespace::Type(of) => {
                    self.nested_type(place.file, of, word(at), arity(at), 0).map(TypeOrNamespace::Type)
                }
            };
            let Some(inner) = inner else {
                found.extend(self.module_reference(place.file, symbol, at));
                return found;
            };
            symbol = inner;
            at += 1;
        }
    }

    /// The module, if the next segment is neither a type nor a module but one of its functions or values.
    fn module_reference(&self, file: u32, symbol: TypeOrNamespace, at: usize) -> Option<ResolvedReference> {
        let (TypeOrNamespace::Namespace(of), Some(segment)) = (symbol, at.checked_sub(1)) else {
            return None;
        };
        let LookupResult::Symbol(TypeOrNamespace::Type(to)) =
            self.pick_visible(file, self.code.tables.modules_of(of))
        else {
            return None;
        };
        Some(ResolvedReference { segment: segment as u32, to, certainty: Certainty::Certain })
    }

    /// Resolves the alias before `::`.
    fn resolve_alias(&self, place: LookupPlace, alias: u32) -> Option<TypeOrNamespace> {
        if self.code.files[place.file as usize].facts.word_text(alias) == "global" {
            return Some(TypeOrNamespace::Namespace(GLOBAL_NAMESPACE));
        }
        let name = self.code.tables.word_name(place.file, alias);
        self.enclosing_scopes(place)
            .find_map(|scope| self.scope_imports(place.file, scope).aliases.get(&name))?
            .to_owned()
    }

    pub(crate) fn enclosing_scopes(&self, place: LookupPlace) -> impl Iterator<Item = u32> {
        let facts = &self.code.files[place.file as usize].facts;
        std::iter::successors(Some(place.scope), |scope| facts.scopes[*scope as usize].parent)
    }

    pub(crate) fn in_namespace(&self, file: u32, of: u32, name: u32, arity: u16) -> Option<TypeOrNamespace> {
        match self.pick_visible(file, self.code.tables.types_named(Container::Namespace(of), name, arity)) {
            LookupResult::Symbol(symbol) => Some(symbol),
            LookupResult::Ends => None,
            LookupResult::Nothing => self.in_module(file, of, name, arity, 0).or_else(|| {
                let inner = self.source_root(of)?;
                self.in_namespace(file, inner, name, arity)
            }),
        }
    }

    /// The source folder of a package that has no module of its own.
    pub(crate) fn source_root(&self, of: u32) -> Option<u32> {
        let imports = |(file, scope): &(u32, u32)| {
            &self.code.files[*file as usize].facts.scopes[*scope as usize].imports
        };
        let mut scopes = self.scopes_of_module(of).iter();
        let is_package =
            self.code.tables.modules_of(of).is_empty() && scopes.all(|scope| imports(scope).is_empty());
        let name =
            self.code.tables.name_id(SOURCE_FOLDER).filter(|_| is_package && of != GLOBAL_NAMESPACE)?;
        self.code.tables.child_namespace(of, name)
    }

    /// Like `in_namespace`, for a segment of an import other than the last: folders and files come before re-exports.
    fn in_import_path(&self, file: u32, of: u32, name: u32, arity: u16) -> Option<TypeOrNamespace> {
        let declared =
            self.pick_visible(file, self.code.tables.types_named(Container::Namespace(of), name, arity));
        let inner =
            self.code.tables.child_namespace(of, name).filter(|_| matches!(declared, LookupResult::Nothing));
        inner.map_or_else(
            || self.in_namespace(file, of, name, arity),
            |inner| Some(TypeOrNamespace::Namespace(inner)),
        )
    }

    /// Looks up a name that a module does not declare: a re-exported type before a submodule, so that `NotFound` in
    /// `error/index.ts` is the type from `error/NotFound.ts` and not that file.
    fn in_module(&self, file: u32, of: u32, name: u32, arity: u16, depth: usize) -> Option<TypeOrNamespace> {
        let passed = self.re_exported(file, of, name, arity, depth);
        if matches!(passed, Some(TypeOrNamespace::Type(_))) {
            return passed;
        }
        self.code.tables.child_namespace(of, name).map(TypeOrNamespace::Namespace).or(passed)
    }

    /// Looks up a name among the imports of a module, which it re-exports.
    fn re_exported(
        &self,
        file: u32,
        of: u32,
        name: u32,
        arity: u16,
        depth: usize,
    ) -> Option<TypeOrNamespace> {
        let scopes = self.modules.get(&of).filter(|_| depth < MAX_PASSES)?;
        let imports = || scopes.iter().map(|(file, scope)| self.scope_imports(*file, *scope));
        if let Some(found) = imports().find_map(|imports| imports.aliases.get(&name).copied().flatten()) {
            return Some(found);
        }
        let mut wholes = imports().flat_map(|imports| &imports.namespaces).filter(|whole| **whole != of);
        wholes.find_map(|whole| {
            match self
                .pick_visible(file, self.code.tables.types_named(Container::Namespace(*whole), name, arity))
            {
                LookupResult::Symbol(symbol) => Some(symbol),
                LookupResult::Ends => None,
                LookupResult::Nothing => self.in_module(file, *whole, name, arity, depth + 1),
            }
        })
    }

    /// Of several types with the same full name, picks the one in the file's own project, or the only visible one.
    fn pick_visible(&self, file: u32, candidates: &[u32]) -> LookupResult {
        let own = self.code.files[file as usize].project;
        let visible = self.visible.get(own as usize).filter(|visible| !visible.is_empty());
        let seen = |at: &&u32| {
            let project = self.code.types[**at as usize].project;
            project == own || visible.is_none_or(|visible| visible[project as usize])
        };
        let mut seen = candidates.iter().filter(seen);
        let (first, second) = (seen.next(), seen.next());
        let home = candidates.iter().find(|at| self.code.types[**at as usize].project == own);
        match (home, first, second) {
            (Some(home), ..) => LookupResult::Symbol(TypeOrNamespace::Type(*home)),
            (None, Some(only), None) => LookupResult::Symbol(TypeOrNamespace::Type(*only)),
            (None, Some(_), Some(_)) => LookupResult::Ends,
            (None, None, _) => LookupResult::Nothing,
        }
    }

    /// A type nested in another type or in one of its bases.
    pub(crate) fn nested_type(&self, file: u32, of: u32, name: u32, arity: u16, depth: u32) -> Option<u32> {
        if let LookupResult::Symbol(TypeOrNamespace::Type(found)) =
            self.pick_visible(file, self.code.tables.types_named(Container::Type(of), name, arity))
        {
            return Some(found);
        }
        let bases = self.bases(of).iter();
        if depth > 32 {
            return None;
        }
        bases
            .filter(|base| **base != of)
            .find_map(|base| self.nested_type(file, *base, name, arity, depth + 1))
    }

    /// Resolves the first segment of a path: enclosing types, then namespaces and imports, from the inside out.
    fn first_segment(
        &self,
        place: LookupPlace,
        name: u32,
        arity: u16,
        next: Option<u32>,
        position: Position,
        veiled: bool,
    ) -> Option<TypeOrNamespace> {
        let value = matches!(position, Position::Value | Position::Called | Position::Bare);
        if veiled && !self.is_color_color_variable(place, name, next) {
            return None;
        }
        match self.in_enclosing_types(place, name, arity, next, position, value && arity == 0) {
            LookupResult::Symbol(symbol) => return Some(symbol),
            LookupResult::Ends => return None,
            LookupResult::Nothing => {}
        }
        match self.in_namespaces(place, name, arity, next.is_some()) {
            LookupResult::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn in_enclosing_types(
        &self,
        place: LookupPlace,
        name: u32,
        arity: u16,
        next: Option<u32>,
        position: Position,
        value: bool,
    ) -> LookupResult {
        let mut at = place.owner;
        if position == Position::Base {
            at = at.and_then(|of| self.code.types[of as usize].outer);
        }
        while let Some(of) = at {
            if value && let Some(member) = self.find_member(of, name, 0) {
                let type_too = next.is_some() && self.is_color_color(member, name, next);
                if !type_too {
                    return LookupResult::Ends;
                }
            }
            if let Some(nested) = self.nested_type(place.file, of, name, arity, 0) {
                return LookupResult::Symbol(TypeOrNamespace::Type(nested));
            }
            at = self.code.types[of as usize].outer;
        }
        LookupResult::Nothing
    }

    /// A member of a type or of one of its bases.
    fn find_member(&self, of: u32, name: u32, depth: u32) -> Option<(u32, u32, u32)> {
        if let Some(found) = self.code.tables.members_named(of, name).first() {
            // a constructor has the name of its type and is not a value
            let is_value =
                !matches!(self.code.member(*found).kind, MemberKind::Constructor | MemberKind::Destructor);
            if is_value {
                return Some(*found);
            }
        }
        if depth > 32 {
            return None;
        }
        self.bases(of)
            .iter()
            .filter(|base| **base != of)
            .find_map(|base| self.find_member(*base, name, depth + 1))
    }

    /// Whether a member has the name of its type, as in `Encoding Encoding`, and the next segment is a static member: then the
    /// path refers to the type.
    fn is_color_color(&self, (file, part, member): (u32, u32, u32), name: u32, next: Option<u32>) -> bool {
        let declared = self.code.member((file, part, member)).value_type;
        let facts = &self.code.files[file as usize].facts;
        let Some(reference) = declared.map(|at| facts.references[at as usize]) else { return false };
        let named = facts.reference_path(&reference).segments.last();
        if named.is_none_or(|last| self.code.tables.word_name(file, last.word) != name) {
            return false;
        }
        let Some(target) = self.target_type(file, &reference) else { return false };
        next.is_some_and(|next| self.is_static(target, next))
    }

    /// Like `is_color_color` for a variable, whose type is looked up where the variable is used.
    fn is_color_color_variable(&self, place: LookupPlace, name: u32, next: Option<u32>) -> bool {
        let Some(TypeOrNamespace::Type(target)) =
            self.first_segment(place, name, 0, next, Position::Type, false)
        else {
            return false;
        };
        next.is_some_and(|next| self.is_static(target, next))
    }

    fn is_static(&self, of: u32, name: u32) -> bool {
        match self.find_member(of, name, 0) {
            Some(member) => self.code.member(member).is_static,
            None => self.has_unseen_base(of),
        }
    }

    pub(crate) fn in_namespaces(
        &self,
        place: LookupPlace,
        name: u32,
        arity: u16,
        more: bool,
    ) -> LookupResult {
        let tables = &self.code.tables;
        let facts = &self.code.files[place.file as usize].facts;
        for scope in self.enclosing_scopes(place) {
            let around = tables.enclosing_namespaces(place.file, scope);
            let parent = facts.scopes[scope as usize].parent;
            let outer = parent.filter(|_| !facts.requires_imports);
            let levels = around.len()
                - outer.map_or(0, |parent| tables.enclosing_namespaces(place.file, parent).len());
            for (level, namespace) in around.iter().take(levels).enumerate() {
                match self.pick_visible(
                    place.file,
                    tables.types_named(Container::Namespace(*namespace), name, arity),
                ) {
                    LookupResult::Nothing => {}
                    // an `impl` for `Arc` does not declare an `Arc`; an import may provide it
                    found if level == 0 && self.is_only_impl(&found) => {
                        let imported = self.find_imported(place.file, scope, name, arity, more);
                        return if matches!(imported, LookupResult::Nothing) { found } else { imported };
                    }
                    found => return found,
                }
                if more
                    && arity == 0
                    && let Some(inner) = tables.child_namespace(*namespace, name)
                {
                    return LookupResult::Symbol(TypeOrNamespace::Namespace(inner));
                }
                if level == 0 {
                    match self.find_imported(place.file, scope, name, arity, more) {
                        LookupResult::Nothing => {}
                        found => return found,
                    }
                }
            }
        }
        LookupResult::Nothing
    }

    /// Whether the source contains only `impl` blocks of a type.
    fn is_only_impl(&self, found: &LookupResult) -> bool {
        matches!(found, LookupResult::Symbol(TypeOrNamespace::Type(of)) if self.code.types[*of as usize].kind == TypeKind::Impl)
    }

    /// Looks up a name in the imports of a scope and, at file level, in the global imports of the project.
    fn find_imported(&self, file: u32, scope: u32, name: u32, arity: u16, more: bool) -> LookupResult {
        let own = self.scope_imports(file, scope);
        let shared = self.global_imports(self.code.files[file as usize].project).filter(|_| scope == 0);
        for imports in std::iter::once(own).chain(shared) {
            match imports.aliases.get(&name).filter(|_| arity == 0) {
                Some(Some(symbol @ TypeOrNamespace::Type(_))) => return LookupResult::Symbol(*symbol),
                Some(Some(symbol)) if more => return LookupResult::Symbol(*symbol),
                // an alias of something that is not in the source
                Some(None) => return LookupResult::Ends,
                _ => {}
            }
        }
        let mut only = None;
        for imports in std::iter::once(own).chain(shared) {
            let in_namespaces = imports.namespaces.iter().map(|of| Container::Namespace(*of));
            let in_types = imports.statics.iter().map(|of| Container::Type(*of));
            for container in in_namespaces.chain(in_types) {
                match self.pick_visible(file, self.code.tables.types_named(container, name, arity)) {
                    LookupResult::Symbol(symbol) if only.is_none_or(|known| known == symbol) => {
                        only = Some(symbol);
                    }
                    LookupResult::Nothing => {
                        only = only.or_else(|| self.re_exported_by(file, container, name, arity, more));
                    }
                    _ => return LookupResult::Ends,
                }
            }
        }
        only.map_or(LookupResult::Nothing, LookupResult::Symbol)
    }

    /// Looks up a name in the re-exports of a module that is imported as a whole.
    fn re_exported_by(
        &self,
        file: u32,
        from: Container,
        name: u32,
        arity: u16,
        more: bool,
    ) -> Option<TypeOrNamespace> {
        let Container::Namespace(of) = from else { return None };
        let found = self.re_exported(file, of, name, arity, 1)?;
        Some(found).filter(|found| more || matches!(found, TypeOrNamespace::Type(_)))
    }

    fn resolve_imports(&self, file: u32) -> Vec<ResolvedImports> {
        let source = &self.code.files[file as usize];
        let has_project = self.global.get(source.project as usize).is_some();
        let own = |import: &&Import| !(import.global && has_project);
        let mut found = vec![ResolvedImports::default(); source.facts.scopes.len()];
        for (scope, imports) in found.iter_mut().enumerate() {
            for import in source.facts.scopes[scope].imports.iter().filter(own) {
                self.add_import(file, scope as u32, import, imports);
            }
        }
        found
    }

    fn resolve_global_imports(&self, project: usize) -> ResolvedImports {
        let mut found = ResolvedImports::default();
        for file in &self.global_import_files[project] {
            for (at, scope) in self.code.files[*file as usize].facts.scopes.iter().enumerate() {
                for import in scope.imports.iter().filter(|import| import.global) {
                    self.add_import(*file, at as u32, import, &mut found);
                }
            }
        }
        for namespace in &self.code.projects[project].usings {
            let mut words = namespace.split('.').map(|word| self.code.tables.name_id(word));
            match words.try_fold(GLOBAL_NAMESPACE, |of, word| self.code.tables.child_namespace(of, word?)) {
                Some(of) => found.namespaces.push(of),
                None => found.unseen.push(namespace.clone()),
            }
        }
        found
    }

    /// Adds a resolved import.
    fn add_import(&self, file: u32, scope: u32, import: &Import, imports: &mut ResolvedImports) {
        let symbol = self.imported_symbol(file, scope, import);
        if symbol.is_none() && import.kind == ImportKind::Namespace {
            let facts = &self.code.files[file as usize].facts;
            imports.unseen.push(path_as_written(facts, &facts.paths[import.path as usize]));
        }
        insert_import(imports, import.kind, symbol, |word| self.code.tables.word_name(file, word));
    }

    /// Resolves an import: looked up from its own namespace outwards, without the help of other imports.
    fn imported_symbol(&self, file: u32, scope: u32, import: &Import) -> Option<TypeOrNamespace> {
        let facts = &self.code.files[file as usize].facts;
        let path = &facts.paths[import.path as usize];
        let tables = &self.code.tables;
        let from: &[u32] =
            if path.alias.is_some() { &[GLOBAL_NAMESPACE] } else { tables.enclosing_namespaces(file, scope) };
        // a whole import refers to a module rather than to an item with the same name in it
        let whole = import.kind == ImportKind::Namespace;
        let last = path.segments.len().saturating_sub(1);
        from.iter().find_map(|namespace| {
            path.segments.iter().enumerate().try_fold(
                TypeOrNamespace::Namespace(*namespace),
                |symbol, (at, segment)| {
                    let name = tables.word_name(file, segment.word);
                    match symbol {
                        TypeOrNamespace::Namespace(of) if at < last || whole => {
                            self.in_import_path(file, of, name, segment.arity)
                        }
                        TypeOrNamespace::Namespace(of) => self.in_namespace(file, of, name, segment.arity),
                        TypeOrNamespace::Type(of) => {
                            self.nested_type(file, of, name, segment.arity, 0).map(TypeOrNamespace::Type)
                        }
                    }
                },
            )
        })
    }

    /// What the first `count` segments of an import refer to; none of them is the root of its path.
    pub(crate) fn import_prefix(
        &self,
        file: u32,
        scope: u32,
        import: &Import,
        count: usize,
    ) -> Option<TypeOrNamespace> {
        let path = &self.code.files[file as usize].facts.paths[import.path as usize];
        let tables = &self.code.tables;
        let from: &[u32] =
            if path.alias.is_some() { &[GLOBAL_NAMESPACE] } else { tables.enclosing_namespaces(file, scope) };
        let step = |symbol: TypeOrNamespace, segment: &Segment| {
            let name = tables.word_name(file, segment.word);
            match symbol {
                TypeOrNamespace::Namespace(of) => self.in_import_path(file, of, name, segment.arity),
                TypeOrNamespace::Type(of) => {
                    self.nested_type(file, of, name, segment.arity, 0).map(TypeOrNamespace::Type)
                }
            }
        };
        from.iter().find_map(|namespace| {
            path.segments.iter().take(count).try_fold(TypeOrNamespace::Namespace(*namespace), step)
        })
    }

    /// The modules that a scope imports as a whole.
    pub(crate) fn imported_namespaces(&self, file: u32, scope: u32) -> &[u32] {
        &self.scope_imports(file, scope).namespaces
    }

    /// The scopes of a module, as file and scope.
    pub(crate) fn scopes_of_module(&self, namespace: u32) -> &[(u32, u32)] {
        self.modules.get(&namespace).map_or(&[], Vec::as_slice)
    }

    /// The namespace that a whole path names.
    pub(crate) fn namespace_of_path(&self, place: LookupPlace, path: &Path) -> Option<u32> {
        let tables = &self.code.tables;
        let word = |at: usize| tables.word_name(place.file, path.segments[at].word);
        let (mut symbol, from) = match path.alias {
            Some(alias) => (self.resolve_alias(place, alias)?, 0),
            None => match self.in_namespaces(place, word(0), 0, true) {
                LookupResult::Symbol(symbol) => (symbol, 1),
                _ => return None,
            },
        };
        for at in from..path.segments.len() {
            let TypeOrNamespace::Namespace(of) = symbol else { return None };
            symbol = self.in_namespace(place.file, of, word(at), 0)?;
        }
        match symbol {
            TypeOrNamespace::Namespace(of) => Some(of),
            TypeOrNamespace::Type(_) => None,
        }
    }

    /// The bases of a type, and whether all of them are in the source.
    fn resolve_bases(&self, at: u32) -> (Vec<u32>, bool) {
        let (mut found, mut complete) = (Vec::new(), true);
        for (file, part) in &self.code.types[at as usize].parts {
            let facts = &self.code.files[*file as usize].facts;
            for name in &facts.types[*part as usize].base_references {
                match self.target_type(*file, &facts.references[*name as usize]) {
                    Some(base) if !found.contains(&base) => found.push(base),
                    Some(_) => {}
                    None => complete = false,
                }
            }
        }
        (found, complete)
    }
}

/// A path as written, without type arguments.
fn path_as_written(facts: &FileFacts, path: &Path) -> String {
    let words: Vec<&str> = path.segments.iter().map(|segment| facts.word_text(segment.word)).collect();
    words.join(".")
}

fn insert_import(
    imports: &mut ResolvedImports,
    kind: ImportKind,
    symbol: Option<TypeOrNamespace>,
    name: impl Fn(u32) -> u32,
) {
    match (kind, symbol) {
        // of two conditional imports, the one that is in the source
        (ImportKind::Alias(word), symbol) => {
            let known = imports.aliases.entry(name(word)).or_default();
            *known = symbol.or(*known);
        }
        (ImportKind::Namespace, Some(TypeOrNamespace::Namespace(of))) => imports.namespaces.push(of),
        (ImportKind::Static, Some(TypeOrNamespace::Type(of))) => imports.statics.push(of),
        _ => {}
    }
}

/// The scopes of each module, in languages where a file is a module.
fn module_scopes(code: &Codebase) -> FxHashMap<u32, Vec<(u32, u32)>> {
    let mut found: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
    let is_module = |source: &SourceFile| source.facts.has_module_path && source.path != NAMESPACE_FILE;
    for (file, source) in code.files.iter().enumerate().filter(|(_, source)| is_module(source)) {
        for scope in 0..source.facts.scopes.len() as u32 {
            let module = code.tables.enclosing_namespaces(file as u32, scope)[0];
            found.entry(module).or_default().push((file as u32, scope));
        }
    }
    found
}

/// The projects that each project can refer to, directly or indirectly.
fn visible_projects(code: &Codebase) -> Vec<Vec<bool>> {
    let reach = |from: usize| {
        let mut seen = vec![false; code.projects.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                open.extend(code.projects[at].references.iter().map(|to| *to as usize));
            }
        }
        seen
    };
    (0..code.projects.len()).map(reach).collect()
}
