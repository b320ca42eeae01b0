//! What a name means: the language's own rules for looking names up, as far as the source alone decides them, or the word of a
//! compiler where an index has it, and how sure the answer is.
//!
//! Does not know metadata of libraries: a name that no source declares stays unresolved, and where an unseen base class may have a
//! member of that name, the answer is only likely.

use crate::codebase::{ATTRIBUTE, Codebase, Container, GLOBAL};
use crate::scip::{Exact, Told};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use syntax::csharp::well_known;
use syntax::{FileFacts, Import, ImportKind, MemberKind, Path, Position, Reference, Segment, TypeKind};

/// How sure an edge is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Certainty {
    /// A compiler said so, in an index that still fits the source.
    Exact,
    /// The language's rules leave one reading.
    Certain,
    /// Another reading is left: a member of a base class that is not in the source, another overload.
    Likely,
    /// The name fits, and nothing else is known. Apart from `Likely`, since of a name like `Count` most such places are
    /// something else's.
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

/// One type mentions another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// That of the surest mention.
    pub certainty: Certainty,
    /// How often.
    pub mentions: u32,
    /// Whether it is one of the bases.
    pub base: bool,
}

/// A type that a part of a reference names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mention {
    /// Which part.
    pub segment: u32,
    pub to: u32,
    pub certainty: Certainty,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    Type(u32),
    Namespace(u32),
}

/// What looking a name up in one place gave.
pub(crate) enum Found {
    Symbol(Symbol),
    /// A value, or several types: the search ends without an answer.
    Ends,
    Nothing,
}

/// Looks names up in a code base. What an import or a base means is looked up when somebody needs it, so that a name costs what it
/// asks for, whatever else there is.
pub struct Resolver<'a> {
    code: &'a Codebase,
    /// For each file, what the imports of its scopes mean after each pass.
    imports: Vec<[OnceCell<Vec<Imports>>; PASSES + 1]>,
    /// For each project, what holds in all its files.
    global: Vec<OnceCell<Imports>>,
    /// For each project, the files that say something for all of it.
    says_global: Vec<Vec<u32>>,
    /// For each type its bases, as far as they are found without knowing those of others, and with that.
    bases: [Vec<OnceCell<Vec<u32>>>; 2],
    /// Whether a type has a base, near or far, that the source does not have.
    outside: Vec<OnceCell<bool>>,
    depth: Cell<Depth>,
    /// After how many passes imports are known while a name is looked up; none: not at all.
    round: Cell<Option<usize>>,
    nothing: Imports,
    /// For each project, the projects whose types it may name; empty means all.
    visible: Vec<Vec<bool>>,
    /// For each file that an index has, what stands where.
    exact: FxHashMap<u32, Vec<Told>>,
    /// For each module, the scopes that are it: what they import can be named as if it were theirs.
    modules: FxHashMap<u32, Vec<(u32, u32)>>,
}

/// Which bases are known while a name is looked up. A base may be nested in a base of another type, so bases are found in two
/// rounds, and the answer does not depend on who asks first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Depth {
    None,
    First,
    All,
}

/// How many modules may pass a name on before it is there. A chain of four was the longest in tokio, zod and typeorm.
const PASSES: usize = 6;

#[derive(Default, Clone)]
struct Imports {
    aliases: FxHashMap<u32, Option<Symbol>>,
    namespaces: Vec<u32>,
    statics: Vec<u32>,
    /// Namespaces that the source does not have, as written.
    unseen: Vec<String>,
}

/// Where a name is looked up.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) file: u32,
    pub(crate) scope: u32,
    pub(crate) owner: Option<u32>,
}

impl<'a> Resolver<'a> {
    pub fn new(code: &'a Codebase) -> Resolver<'a> {
        fn empty<T>(count: usize) -> Vec<OnceCell<T>> {
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
            global: empty(code.projects.len()),
            says_global,
            bases: [empty(code.types.len()), empty(code.types.len())],
            outside: empty(code.types.len()),
            depth: Cell::new(Depth::All),
            visible: visible(code),
            exact: FxHashMap::default(),
            modules: modules(code),
            round: Cell::new(Some(PASSES)),
            nothing: Imports::default(),
        }
    }

    /// The same, with what indexes say instead of what names mean, wherever they say anything. What hashes are taken over stays
    /// as it is: a type must not change because somebody ran an indexer.
    pub fn with_exact(code: &'a Codebase, exact: &Exact) -> Resolver<'a> {
        Resolver { exact: exact.told(), ..Resolver::new(code) }
    }

    /// The types among the parts of a reference.
    pub fn mentions(&self, file: u32, reference: &Reference) -> Vec<Mention> {
        self.told(file, reference).unwrap_or_else(|| self.meant(file, reference))
    }

    /// The same, as an index has it; none if it has nothing there, as in code that was not compiled, or something else.
    fn told(&self, file: u32, reference: &Reference) -> Option<Vec<Mention>> {
        let all = self.exact.get(&file)?;
        let from = all.partition_point(|it| it.span.from < reference.at);
        let here = all[from..].iter().take_while(|it| it.span.to <= reference.until);
        let path = self.code.files[file as usize].facts.path(reference);
        let (mut found, mut silent) = (Vec::new(), true);
        for it in here {
            if !it.sure {
                return None;
            }
            silent = false;
            let is_it = |segment: &Segment| Some(self.code.tables.word(file, segment.word)) == it.name;
            let segment = path.segments.iter().rposition(is_it);
            if let (Some(to), Some(segment)) = (it.to, segment) {
                found.push(Mention { segment: segment as u32, to, certainty: Certainty::Exact });
            }
        }
        // a module is worth a mention where nothing in it is
        let is_module = |it: &Mention| self.code.types[it.to as usize].kind == TypeKind::Module;
        let last = found.last().map(|it| it.segment);
        found.retain(|it| !is_module(it) || Some(it.segment) == last);
        (!silent).then_some(found)
    }

    /// The same, by what names mean.
    fn meant(&self, file: u32, reference: &Reference) -> Vec<Mention> {
        let facts = &self.code.files[file as usize].facts;
        let path = facts.path(reference);
        let owner = reference.owner.map(|part| self.code.tables.type_of(file, part));
        let place = Place { file, scope: reference.scope, owner };
        if reference.position == Position::Attribute {
            return self.attribute(place, path);
        }
        let mut mentions = self.follow(place, path, reference.position, reference.veiled);
        let unsure = matches!(reference.position, Position::Value | Position::Called | Position::Bare);
        if unsure && path.alias.is_none() && self.has_outside(owner) {
            for mention in &mut mentions {
                mention.certainty = Certainty::Likely;
            }
        }
        mentions
    }

    /// The type in whose declaration a reference stands, or the module whose statement it is part of.
    pub fn owner(&self, file: u32, reference: &Reference) -> Option<u32> {
        let tables = &self.code.tables;
        let around = || {
            let modules = tables.modules(tables.around(file, reference.scope)[0]).iter().copied();
            let here = |of: &u32| self.code.types[*of as usize].parts.iter().any(|(at, _)| *at == file);
            modules.into_iter().find(here)
        };
        reference.owner.map(|part| tables.type_of(file, part)).or_else(around)
    }

    /// The type that a whole reference names.
    pub fn target(&self, file: u32, reference: &Reference) -> Option<u32> {
        let last = self.code.files[file as usize].facts.path(reference).segments.len() as u32 - 1;
        self.meant(file, reference).last().filter(|mention| mention.segment == last).map(|mention| mention.to)
    }

    /// The bases of a type that the source has.
    pub fn bases(&self, of: u32) -> &[u32] {
        match self.depth.get() {
            Depth::None => &[],
            Depth::First => self.known_bases(0, of, Depth::None),
            Depth::All => self.known_bases(1, of, Depth::First),
        }
    }

    fn known_bases(&self, round: usize, of: u32, depth: Depth) -> &[u32] {
        self.bases[round][of as usize].get_or_init(|| self.at(depth, || self.bases_of(of).0))
    }

    /// Looks something up while only so much is known.
    fn at<T>(&self, depth: Depth, look: impl FnOnce() -> T) -> T {
        let before = self.depth.replace(depth);
        let found = look();
        self.depth.set(before);
        found
    }

    /// What the imports of a scope mean. A module may have from another what it passes on, so imports are found in rounds, each
    /// with what the one before knew, and the answer does not depend on who asks first.
    fn imports(&self, file: u32, scope: u32) -> &Imports {
        let Some(round) = self.round.get() else { return &self.nothing };
        // where a file is no module, nothing is passed on
        let round = if self.code.files[file as usize].facts.placed { round } else { 0 };
        let found = self.imports[file as usize][round]
            .get_or_init(|| self.before(round.checked_sub(1), || self.imports_of(file)));
        &found[scope as usize]
    }

    /// Looks an import up with what a pass has found, and without any bases.
    fn before<T>(&self, round: Option<usize>, look: impl FnOnce() -> T) -> T {
        let known = self.round.replace(round);
        let found = self.at(Depth::None, look);
        self.round.set(known);
        found
    }

    /// What holds in all files of a project.
    fn global(&self, project: u32) -> Option<&Imports> {
        let found = self.global.get(project as usize)?;
        Some(found.get_or_init(|| self.before(None, || self.global_of(project as usize))))
    }

    /// Whether a type has a base, near or far, that the source does not have. Nobody knows before the bases are known.
    fn is_outside(&self, of: u32) -> bool {
        if self.depth.get() != Depth::All {
            return false;
        }
        *self.outside[of as usize].get_or_init(|| {
            let (mut open, mut seen) = (vec![of], FxHashSet::default());
            while let Some(at) = open.pop() {
                if !seen.insert(at) {
                    continue;
                }
                if !self.bases_of(at).1 {
                    return true;
                }
                open.extend(self.bases(at));
            }
            false
        })
    }

    /// Who mentions whom, each pair once, by name.
    pub fn edges(&self) -> Vec<Edge> {
        self.edges_from(&|_| true)
    }

    /// Whom some types mention.
    pub(crate) fn edges_from(&self, wanted: &dyn Fn(u32) -> bool) -> Vec<Edge> {
        let mut edges: BTreeMap<(u32, u32), Edge> = BTreeMap::new();
        for (file, source) in self.code.files.iter().enumerate() {
            for reference in &source.facts.references {
                let Some(from) = self.owner(file as u32, reference) else { continue };
                if !wanted(from) {
                    continue;
                }
                for mention in self.mentions(file as u32, reference) {
                    if mention.to == from {
                        continue;
                    }
                    let Mention { to, certainty, .. } = mention;
                    let new = Edge { from, to, certainty, mentions: 0, base: false };
                    let edge = edges.entry((from, to)).or_insert(new);
                    edge.mentions += 1;
                    edge.certainty = edge.certainty.min(certainty);
                    edge.base |= reference.position == Position::Base;
                }
            }
        }
        edges.into_values().collect()
    }

    /// What a reference means, in one spelling: the full name of a type of the source; otherwise the name as written, after the
    /// namespace it comes from if that is known, or with a mark of all namespaces it may come from.
    pub(crate) fn meaning(&self, file: u32, reference: u32) -> String {
        let facts = &self.code.files[file as usize].facts;
        let reference = &facts.references[reference as usize];
        if let Some(target) = self.target(file, reference) {
            return self.code.types[target as usize].name.clone();
        }
        let path = facts.path(reference);
        let written = spelled(facts, path);
        let Some(first) = path.segments.first().filter(|_| path.alias.is_none()) else { return written };
        if let Some(alias) = self.alias_as_written(file, reference.scope, first.word) {
            return alias;
        }
        let imported = self.unseen(file, reference.scope);
        if let Some(home) = well_known::home(facts.word(first.word), &imported) {
            return format!("{home}.{written}");
        }
        if written.rsplit_once('.').is_some_and(|(namespace, _)| well_known::is_known(namespace)) {
            return written;
        }
        let unknown: Vec<&str> =
            imported.into_iter().filter(|namespace| !well_known::is_known(namespace)).collect();
        format!("{written}@{}", unknown.join(","))
    }

    /// What an alias stands for, if the source does not have it.
    fn alias_as_written(&self, file: u32, scope: u32, word: u32) -> Option<String> {
        let facts = &self.code.files[file as usize].facts;
        let mut imports = self
            .scopes(Place { file, scope, owner: None })
            .flat_map(|scope| &facts.scopes[scope as usize].imports);
        let alias = imports.find(|import| import.kind == ImportKind::Alias(word))?;
        Some(spelled(facts, &facts.paths[alias.path as usize]))
    }

    /// The namespaces that a scope imports and the source does not have, sorted.
    fn unseen(&self, file: u32, scope: u32) -> Vec<&str> {
        let project = self.code.files[file as usize].project;
        let own = self.scopes(Place { file, scope, owner: None });
        let own = own.flat_map(|scope| &self.imports(file, scope).unseen);
        let shared = self.global(project).into_iter().flat_map(|global| &global.unseen);
        let mut found: Vec<&str> = own.chain(shared).map(String::as_str).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The types whose members a place may name alone.
    pub(crate) fn statics(&self, place: Place) -> impl Iterator<Item = u32> {
        self.imports_at(place).flat_map(|imports| imports.statics.iter().copied())
    }

    /// Whether what stands in a namespace may be named alone at a place.
    pub(crate) fn sees(&self, place: Place, namespace: u32) -> bool {
        self.code.tables.around(place.file, place.scope).contains(&namespace)
            || self.imports_at(place).any(|imports| imports.namespaces.contains(&namespace))
    }

    fn imports_at(&self, place: Place) -> impl Iterator<Item = &Imports> {
        let project = self.code.files[place.file as usize].project;
        let own = self.scopes(place).map(move |scope| self.imports(place.file, scope));
        own.chain(self.global(project))
    }

    fn has_outside(&self, owner: Option<u32>) -> bool {
        let mut at = owner;
        while let Some(of) = at {
            if self.is_outside(of) {
                return true;
            }
            at = self.code.types[of as usize].outer;
        }
        false
    }

    /// `[Fact]` is `FactAttribute` if there is one, and otherwise `Fact` if that is an attribute.
    fn attribute(&self, place: Place, path: &Path) -> Vec<Mention> {
        let facts = &self.code.files[place.file as usize].facts;
        let Some(last) = path.segments.last() else { return Vec::new() };
        let longer = facts.word(last.word).to_owned() + ATTRIBUTE;
        if let Some(name) = self.code.tables.name(&longer) {
            let found = self.chain(place, path, Position::Attribute, false, Some(name));
            if found.last().is_some_and(|mention| mention.segment as usize + 1 == path.segments.len()) {
                return found;
            }
        }
        let found = self.follow(place, path, Position::Type, false);
        let is_one = found.last().is_some_and(|mention| self.is_attribute(mention.to, 0));
        if is_one { found } else { Vec::new() }
    }

    /// Whether the bases of a type lead to `Attribute`.
    fn is_attribute(&self, of: u32, depth: u32) -> bool {
        let each = &self.code.types[of as usize];
        let said = each.parts.iter().any(|(file, part)| {
            let facts = &self.code.files[*file as usize].facts;
            let names = &facts.types[*part as usize].base_names;
            names.iter().any(|at| {
                let path = facts.path(&facts.references[*at as usize]);
                path.segments.last().is_some_and(|last| facts.word(last.word).ends_with("Attribute"))
            })
        });
        said || (depth < 16 && self.bases(of).iter().any(|base| self.is_attribute(*base, depth + 1)))
    }

    pub(crate) fn follow(&self, place: Place, path: &Path, position: Position, veiled: bool) -> Vec<Mention> {
        self.chain(place, path, position, veiled, None)
    }

    /// Follows a path from its first part; `last` stands for the word of its last.
    fn chain(
        &self,
        place: Place,
        path: &Path,
        position: Position,
        veiled: bool,
        last: Option<u32>,
    ) -> Vec<Mention> {
        let tables = &self.code.tables;
        let count = path.segments.len();
        let word = |at: usize| match last {
            Some(name) if at + 1 == count => name,
            _ => tables.word(place.file, path.segments[at].word),
        };
        let arity = |at: usize| path.segments[at].arity;
        let next = (count > 1).then(|| word(1));
        let (mut symbol, mut at): (Symbol, usize) = match path.alias {
            Some(alias) => match self.aliased(place, alias) {
                Some(symbol) => (symbol, 0),
                None => return Vec::new(),
            },
            None => match self.simple(place, word(0), arity(0), next, position, veiled) {
                Some(symbol) => (symbol, 1),
                None => return Vec::new(),
            },
        };
        // what is called is a method
        let end = if position == Position::Called { count - 1 } else { count };
        let mut found = Vec::new();
        loop {
            if let (Symbol::Type(to), Some(segment)) = (symbol, at.checked_sub(1)) {
                found.push(Mention { segment: segment as u32, to, certainty: Certainty::Certain });
            }
            if at >= end {
                return found;
            }
            let inner = match symbol {
                Symbol::Namespace(of) => self.in_namespace(place.file, of, word(at), arity(at)),
                Symbol::Type(of) => self.nested(place.file, of, word(at), arity(at), 0).map(Symbol::Type),
            };
            let Some(inner) = inner else {
                found.extend(self.of_module(place.file, symbol, at));
                return found;
            };
            symbol = inner;
            at += 1;
        }
    }

    /// A module, if what follows it is neither a type nor a module: a function or a value of it.
    fn of_module(&self, file: u32, symbol: Symbol, at: usize) -> Option<Mention> {
        let (Symbol::Namespace(of), Some(segment)) = (symbol, at.checked_sub(1)) else { return None };
        let Found::Symbol(Symbol::Type(to)) = self.pick(file, self.code.tables.modules(of)) else {
            return None;
        };
        Some(Mention { segment: segment as u32, to, certainty: Certainty::Certain })
    }

    /// What stands before `::`.
    fn aliased(&self, place: Place, alias: u32) -> Option<Symbol> {
        if self.code.files[place.file as usize].facts.word(alias) == "global" {
            return Some(Symbol::Namespace(GLOBAL));
        }
        let name = self.code.tables.word(place.file, alias);
        self.scopes(place).find_map(|scope| self.imports(place.file, scope).aliases.get(&name))?.to_owned()
    }

    fn scopes(&self, place: Place) -> impl Iterator<Item = u32> {
        let facts = &self.code.files[place.file as usize].facts;
        std::iter::successors(Some(place.scope), |scope| facts.scopes[*scope as usize].parent)
    }

    pub(crate) fn in_namespace(&self, file: u32, of: u32, name: u32, arity: u16) -> Option<Symbol> {
        match self.pick(file, self.code.tables.types(Container::Namespace(of), name, arity)) {
            Found::Symbol(symbol) => Some(symbol),
            Found::Ends => None,
            Found::Nothing => self.inside(file, of, name, arity, 0),
        }
    }

    /// The same for a part of an import that is not its last: folders and files, before anything they pass on.
    fn on_the_way(&self, file: u32, of: u32, name: u32, arity: u16) -> Option<Symbol> {
        let declared = self.pick(file, self.code.tables.types(Container::Namespace(of), name, arity));
        let inner = self.code.tables.namespace(of, name).filter(|_| matches!(declared, Found::Nothing));
        inner.map_or_else(|| self.in_namespace(file, of, name, arity), |inner| Some(Symbol::Namespace(inner)))
    }

    /// What a module has under a name that it does not declare: a type it passes on before a module in it, as `error/index.ts`
    /// has the type `NotFound` of `error/NotFound.ts` and not that file.
    fn inside(&self, file: u32, of: u32, name: u32, arity: u16, depth: usize) -> Option<Symbol> {
        let passed = self.passed_on(file, of, name, arity, depth);
        if matches!(passed, Some(Symbol::Type(_))) {
            return passed;
        }
        self.code.tables.namespace(of, name).map(Symbol::Namespace).or(passed)
    }

    /// What a module has under a name because it imports it.
    fn passed_on(&self, file: u32, of: u32, name: u32, arity: u16, depth: usize) -> Option<Symbol> {
        let scopes = self.modules.get(&of).filter(|_| depth < PASSES)?;
        let imports = || scopes.iter().map(|(file, scope)| self.imports(*file, *scope));
        if let Some(found) = imports().find_map(|imports| imports.aliases.get(&name).copied().flatten()) {
            return Some(found);
        }
        let mut wholes = imports().flat_map(|imports| &imports.namespaces).filter(|whole| **whole != of);
        wholes.find_map(|whole| {
            match self.pick(file, self.code.tables.types(Container::Namespace(*whole), name, arity)) {
                Found::Symbol(symbol) => Some(symbol),
                Found::Ends => None,
                Found::Nothing => self.inside(file, *whole, name, arity, depth + 1),
            }
        })
    }

    /// The one of several types of the same full name that a file may mean: that of its own project, or the only one.
    fn pick(&self, file: u32, candidates: &[u32]) -> Found {
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
            (Some(home), ..) => Found::Symbol(Symbol::Type(*home)),
            (None, Some(only), None) => Found::Symbol(Symbol::Type(*only)),
            (None, Some(_), Some(_)) => Found::Ends,
            (None, None, _) => Found::Nothing,
        }
    }

    /// A type nested in another or in one of its bases.
    pub(crate) fn nested(&self, file: u32, of: u32, name: u32, arity: u16, depth: u32) -> Option<u32> {
        if let Found::Symbol(Symbol::Type(found)) =
            self.pick(file, self.code.tables.types(Container::Type(of), name, arity))
        {
            return Some(found);
        }
        let bases = self.bases(of).iter();
        if depth > 32 {
            return None;
        }
        bases.filter(|base| **base != of).find_map(|base| self.nested(file, *base, name, arity, depth + 1))
    }

    /// The first part of a path: types around, then namespaces and imports, from the inside out.
    fn simple(
        &self,
        place: Place,
        name: u32,
        arity: u16,
        next: Option<u32>,
        position: Position,
        veiled: bool,
    ) -> Option<Symbol> {
        let value = matches!(position, Position::Value | Position::Called | Position::Bare);
        if veiled && !self.names_type_too(place, name, next) {
            return None;
        }
        match self.in_types(place, name, arity, next, position, value && arity == 0) {
            Found::Symbol(symbol) => return Some(symbol),
            Found::Ends => return None,
            Found::Nothing => {}
        }
        match self.in_namespaces(place, name, arity, next.is_some()) {
            Found::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn in_types(
        &self,
        place: Place,
        name: u32,
        arity: u16,
        next: Option<u32>,
        position: Position,
        value: bool,
    ) -> Found {
        let mut at = place.owner;
        if position == Position::Base {
            at = at.and_then(|of| self.code.types[of as usize].outer);
        }
        while let Some(of) = at {
            if value && let Some(member) = self.member(of, name, 0) {
                let type_too = next.is_some() && self.is_color_color(member, name, next);
                if !type_too {
                    return Found::Ends;
                }
            }
            if let Some(nested) = self.nested(place.file, of, name, arity, 0) {
                return Found::Symbol(Symbol::Type(nested));
            }
            at = self.code.types[of as usize].outer;
        }
        Found::Nothing
    }

    /// A member of a type or of one of its bases.
    fn member(&self, of: u32, name: u32, depth: u32) -> Option<(u32, u32, u32)> {
        if let Some(found) = self.code.tables.members(of, name).first() {
            // a constructor has the name of its type and is no value
            let is_value =
                !matches!(self.code.member(*found).kind, MemberKind::Constructor | MemberKind::Destructor);
            if is_value {
                return Some(*found);
            }
        }
        if depth > 32 {
            return None;
        }
        self.bases(of).iter().filter(|base| **base != of).find_map(|base| self.member(*base, name, depth + 1))
    }

    /// Whether a member's type has its name, as in `Encoding Encoding`, and the next part is static there: then the type is
    /// meant.
    fn is_color_color(&self, (file, part, member): (u32, u32, u32), name: u32, next: Option<u32>) -> bool {
        let declared = self.code.member((file, part, member)).value_type;
        let facts = &self.code.files[file as usize].facts;
        let Some(reference) = declared.map(|at| facts.references[at as usize]) else { return false };
        let named = facts.path(&reference).segments.last();
        if named.is_none_or(|last| self.code.tables.word(file, last.word) != name) {
            return false;
        }
        let Some(target) = self.target(file, &reference) else { return false };
        next.is_some_and(|next| self.is_static(target, next))
    }

    /// The same for a variable, whose type is looked up where the variable is used.
    fn names_type_too(&self, place: Place, name: u32, next: Option<u32>) -> bool {
        let Some(Symbol::Type(target)) = self.simple(place, name, 0, next, Position::Type, false) else {
            return false;
        };
        next.is_some_and(|next| self.is_static(target, next))
    }

    fn is_static(&self, of: u32, name: u32) -> bool {
        match self.member(of, name, 0) {
            Some(member) => self.code.member(member).is_static,
            None => self.is_outside(of),
        }
    }

    pub(crate) fn in_namespaces(&self, place: Place, name: u32, arity: u16, more: bool) -> Found {
        let tables = &self.code.tables;
        let facts = &self.code.files[place.file as usize].facts;
        for scope in self.scopes(place) {
            let around = tables.around(place.file, scope);
            let parent = facts.scopes[scope as usize].parent;
            let outer = parent.filter(|_| !facts.closed);
            let levels = around.len() - outer.map_or(0, |parent| tables.around(place.file, parent).len());
            for (level, namespace) in around.iter().take(levels).enumerate() {
                match self.pick(place.file, tables.types(Container::Namespace(*namespace), name, arity)) {
                    Found::Nothing => {}
                    // members for `Arc` do not declare an `Arc` that an import brings
                    found if level == 0 && self.is_added(&found) => {
                        let imported = self.imported(place.file, scope, name, arity, more);
                        return if matches!(imported, Found::Nothing) { found } else { imported };
                    }
                    found => return found,
                }
                if more
                    && arity == 0
                    && let Some(inner) = tables.namespace(*namespace, name)
                {
                    return Found::Symbol(Symbol::Namespace(inner));
                }
                if level == 0 {
                    match self.imported(place.file, scope, name, arity, more) {
                        Found::Nothing => {}
                        found => return found,
                    }
                }
            }
        }
        Found::Nothing
    }

    /// Whether all that the source has of a type is members that are added to it.
    fn is_added(&self, found: &Found) -> bool {
        matches!(found, Found::Symbol(Symbol::Type(of)) if self.code.types[*of as usize].kind == TypeKind::Impl)
    }

    /// What the imports of a scope, and for the file those of its project, bring under a name.
    fn imported(&self, file: u32, scope: u32, name: u32, arity: u16, more: bool) -> Found {
        let own = self.imports(file, scope);
        let shared = self.global(self.code.files[file as usize].project).filter(|_| scope == 0);
        for imports in std::iter::once(own).chain(shared) {
            match imports.aliases.get(&name).filter(|_| arity == 0) {
                Some(Some(symbol @ Symbol::Type(_))) => return Found::Symbol(*symbol),
                Some(Some(symbol)) if more => return Found::Symbol(*symbol),
                // an alias of something the source does not have
                Some(None) => return Found::Ends,
                _ => {}
            }
        }
        let mut only = None;
        for imports in std::iter::once(own).chain(shared) {
            let in_namespaces = imports.namespaces.iter().map(|of| Container::Namespace(*of));
            let in_types = imports.statics.iter().map(|of| Container::Type(*of));
            for container in in_namespaces.chain(in_types) {
                match self.pick(file, self.code.tables.types(container, name, arity)) {
                    Found::Symbol(symbol) if only.is_none_or(|known| known == symbol) => only = Some(symbol),
                    Found::Nothing => {
                        only = only.or_else(|| self.brought(file, container, name, arity, more));
                    }
                    _ => return Found::Ends,
                }
            }
        }
        only.map_or(Found::Nothing, Found::Symbol)
    }

    /// What a module brings that is imported as a whole, and has from another.
    fn brought(&self, file: u32, from: Container, name: u32, arity: u16, more: bool) -> Option<Symbol> {
        let Container::Namespace(of) = from else { return None };
        let found = self.passed_on(file, of, name, arity, 1)?;
        Some(found).filter(|found| more || matches!(found, Symbol::Type(_)))
    }

    fn imports_of(&self, file: u32) -> Vec<Imports> {
        let source = &self.code.files[file as usize];
        let has_project = self.global.get(source.project as usize).is_some();
        let own = |import: &&Import| !(import.global && has_project);
        let mut found = vec![Imports::default(); source.facts.scopes.len()];
        for (scope, imports) in found.iter_mut().enumerate() {
            for import in source.facts.scopes[scope].imports.iter().filter(own) {
                self.take(file, scope as u32, import, imports);
            }
        }
        found
    }

    fn global_of(&self, project: usize) -> Imports {
        let mut found = Imports::default();
        for file in &self.says_global[project] {
            for (at, scope) in self.code.files[*file as usize].facts.scopes.iter().enumerate() {
                for import in scope.imports.iter().filter(|import| import.global) {
                    self.take(*file, at as u32, import, &mut found);
                }
            }
        }
        for namespace in &self.code.projects[project].usings {
            let mut words = namespace.split('.').map(|word| self.code.tables.name(word));
            match words.try_fold(GLOBAL, |of, word| self.code.tables.namespace(of, word?)) {
                Some(of) => found.namespaces.push(of),
                None => found.unseen.push(namespace.clone()),
            }
        }
        found
    }

    /// Adds what one import means.
    fn take(&self, file: u32, scope: u32, import: &Import, imports: &mut Imports) {
        let symbol = self.imported_symbol(file, scope, import);
        if symbol.is_none() && import.kind == ImportKind::Namespace {
            let facts = &self.code.files[file as usize].facts;
            imports.unseen.push(spelled(facts, &facts.paths[import.path as usize]));
        }
        add(imports, import.kind, symbol, |word| self.code.tables.word(file, word));
    }

    /// What an import names: looked up from the namespace it stands in outwards, without the help of other imports.
    fn imported_symbol(&self, file: u32, scope: u32, import: &Import) -> Option<Symbol> {
        let facts = &self.code.files[file as usize].facts;
        let path = &facts.paths[import.path as usize];
        let tables = &self.code.tables;
        let from: &[u32] = if path.alias.is_some() { &[GLOBAL] } else { tables.around(file, scope) };
        // what is imported as a whole is a module rather than something of its name in it
        let whole = import.kind == ImportKind::Namespace;
        let last = path.segments.len().saturating_sub(1);
        from.iter().find_map(|namespace| {
            path.segments.iter().enumerate().try_fold(
                Symbol::Namespace(*namespace),
                |symbol, (at, segment)| {
                    let name = tables.word(file, segment.word);
                    match symbol {
                        Symbol::Namespace(of) if at < last || whole => {
                            self.on_the_way(file, of, name, segment.arity)
                        }
                        Symbol::Namespace(of) => self.in_namespace(file, of, name, segment.arity),
                        Symbol::Type(of) => self.nested(file, of, name, segment.arity, 0).map(Symbol::Type),
                    }
                },
            )
        })
    }

    /// The bases of a type, and whether all of them are in the source.
    fn bases_of(&self, at: u32) -> (Vec<u32>, bool) {
        let (mut found, mut complete) = (Vec::new(), true);
        for (file, part) in &self.code.types[at as usize].parts {
            let facts = &self.code.files[*file as usize].facts;
            for name in &facts.types[*part as usize].base_names {
                match self.target(*file, &facts.references[*name as usize]) {
                    Some(base) if !found.contains(&base) => found.push(base),
                    Some(_) => {}
                    None => complete = false,
                }
            }
        }
        (found, complete)
    }
}

/// A path as it is written, without type arguments.
fn spelled(facts: &FileFacts, path: &Path) -> String {
    let words: Vec<&str> = path.segments.iter().map(|segment| facts.word(segment.word)).collect();
    words.join(".")
}

fn add(imports: &mut Imports, kind: ImportKind, symbol: Option<Symbol>, name: impl Fn(u32) -> u32) {
    match (kind, symbol) {
        // of two that a build chooses between, the one that the source has
        (ImportKind::Alias(word), symbol) => {
            let known = imports.aliases.entry(name(word)).or_default();
            *known = symbol.or(*known);
        }
        (ImportKind::Namespace, Some(Symbol::Namespace(of))) => imports.namespaces.push(of),
        (ImportKind::Static, Some(Symbol::Type(of))) => imports.statics.push(of),
        _ => {}
    }
}

/// The scopes that are modules, in languages where a file is one.
fn modules(code: &Codebase) -> FxHashMap<u32, Vec<(u32, u32)>> {
    let mut found: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
    for (file, source) in code.files.iter().enumerate().filter(|(_, source)| source.facts.placed) {
        for scope in 0..source.facts.scopes.len() as u32 {
            let module = code.tables.around(file as u32, scope)[0];
            found.entry(module).or_default().push((file as u32, scope));
        }
    }
    found
}

/// Which projects each may name: those it refers to, and those they refer to.
fn visible(code: &Codebase) -> Vec<Vec<bool>> {
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
