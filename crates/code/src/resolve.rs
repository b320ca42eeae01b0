//! Name resolution: applies each language's lookup rules as far as the source alone decides them, or takes a compiler's answer
//! from an index, and rates the certainty of the result.
//!
//! Does not know library metadata: a name that no source file declares stays unresolved, and where an unseen base class may have
//! a member of that name, the result is only likely.

mod bases;
mod canonical;
mod imports;
mod lookup;

use crate::codebase::{Codebase, NAMESPACE_FILE, SourceFile};
use crate::scip::{IndexedOccurrence, TreeIndexes};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use syntax::{FileFacts, Path, Position, Reference, Segment, TypeKind};

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

impl Edge {
    pub fn ends(&self) -> (u32, u32) {
        (self.from, self.to)
    }
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
        // the rules of a language that is read at the level of declarations are not known
        if facts.is_textual {
            for mention in &mut mentions {
                mention.certainty = Certainty::Possible;
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

    /// All edges between types, each pair once, sorted.
    pub fn all_edges(&self) -> Vec<Edge> {
        self.edges_from(&|_| true)
    }

    /// The edges from some types.
    pub fn edges_from(&self, wanted: &dyn Fn(u32) -> bool) -> Vec<Edge> {
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
}

/// A path as written, without type arguments.
fn path_as_written(facts: &FileFacts, path: &Path) -> String {
    let words: Vec<&str> = path.segments.iter().map(|segment| facts.word_text(segment.word)).collect();
    words.join(".")
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
