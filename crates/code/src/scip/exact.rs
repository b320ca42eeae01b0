//! Where one of our types or members is defined and used, exactly: its definition is found in an index by its place, and what the
//! index says of that symbol is told in places of our files.
//!
//! Does not guess. A file that was changed and no longer spells what the index has in it is named as stale, and whoever asks
//! falls back to names there.

use super::positions::Lines;
use super::{Document, Index, Occurrence, Roles, ScipError, SymbolKind, described};
use crate::codebase::Codebase;
use crate::symbol;
use project::Project;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use syntax::{Span, TypeKind, decode};

/// What an index is called, wherever it lies.
const NAME: &str = "index.scip";

/// What constructors are called. An index has them where `new` stands before a type's name, and not the type.
const CONSTRUCTORS: &[&str] = &["<constructor>", "<init>"];

/// Whether what an index has of a file still holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Freshness {
    /// The file is older than the index.
    Unchanged,
    /// It is younger, and every definition still stands where it stood.
    Fits,
    /// Something else stands where a definition stood.
    Stale,
    /// No index has it.
    Unknown,
}

/// A place where a symbol stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Usage {
    pub file: u32,
    pub span: Span,
    /// From 1, the column in characters.
    pub line: u32,
    pub column: u32,
    pub roles: Roles,
}

/// All places of a symbol that indexes know of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Usages {
    /// By file and place, definitions included.
    pub places: Vec<Usage>,
    /// Files that have some and are stale: what is in them has to be found by name.
    pub stale: Vec<u32>,
}

/// What an index has at a place, for whoever looks names up.
pub(crate) struct Told {
    pub(crate) span: Span,
    /// The word that is written there, if a name of the code base is spelled so.
    pub(crate) name: Option<u32>,
    /// The type of ours that is meant, if one is; none where something is defined.
    pub(crate) to: Option<u32>,
    /// Whether what is written there is still what was indexed.
    pub(crate) sure: bool,
}

/// A type, or a member of one, by where it is declared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Declared {
    pub of: u32,
    /// File, part and index of the member's declaration.
    pub member: Option<(u32, u32, u32)>,
}

impl Declared {
    /// What a name of all types of a code base means.
    pub fn of(code: &Codebase, symbol: symbol::Symbol) -> Declared {
        let each = &code.types[symbol.of as usize];
        let member = symbol.member.and_then(|at| symbol::members(code, each).get(at as usize).copied());
        let member = member.and_then(|(file, wanted)| {
            each.parts.iter().filter(|(at, _)| *at == file).find_map(|(_, part)| {
                let members = &code.part((file, *part)).members;
                let at = members.iter().position(|it| std::ptr::eq(it, wanted))?;
                Some((file, *part, at as u32))
            })
        });
        Declared { of: symbol.of, member }
    }
}

/// Our symbols by those of indexes: which index, which symbol.
pub type Ours = FxHashMap<(u32, u32), Declared>;

/// The indexes of a tree beside what we read of it ourselves.
pub struct Exact<'a> {
    code: &'a Codebase,
    root: &'a Path,
    indexes: Vec<Placed>,
    /// The document of each file: which index, which document.
    documents: BTreeMap<u32, (u32, u32)>,
    files: FxHashMap<(u32, u32), u32>,
}

/// An index and where it lies.
struct Placed {
    index: Index,
    /// The folder it is about, from the root of the tree, empty or with a `/` behind it.
    folder: String,
    /// When it was written, if the file system knows.
    written: Option<SystemTime>,
}

/// A file as it is now, with the document that an index has of it.
struct Page<'x> {
    file: u32,
    index: &'x Index,
    document: &'x Document,
    lines: Lines<'x>,
    freshness: Freshness,
    /// What is defined in it and can be seen from outside, by place.
    defined: Vec<Defined>,
}

struct Defined {
    span: Span,
    symbol: u32,
    kind: SymbolKind,
}

/// What a symbol of ours can be to an index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Type,
    Module,
    Member,
}

/// Whether a tree has an index, at its root or in the folder of a project.
pub fn is_indexed(root: &Path, projects: &[Project]) -> bool {
    !placed(root, projects).is_empty()
}

/// The indexes of a tree, from the root downwards, each with the folder it lies in.
fn placed(root: &Path, projects: &[Project]) -> Vec<(String, PathBuf)> {
    let folder = |manifest: &str| manifest.rfind('/').map_or("", |at| &manifest[..=at]).to_owned();
    let folders: BTreeSet<String> =
        projects.iter().map(|project| folder(&project.path)).chain([String::new()]).collect();
    let placed = folders.into_iter().map(|folder| (root.join(&folder).join(NAME), folder));
    placed.filter(|(path, _)| path.is_file()).map(|(path, folder)| (folder, path)).collect()
}

impl<'a> Exact<'a> {
    /// Opens the indexes at the root of a tree and in the folders of its projects. One that cannot be read costs itself alone.
    pub fn find(code: &'a Codebase, root: &'a Path) -> (Exact<'a>, Vec<ScipError>) {
        let (mut indexes, mut problems) = (Vec::new(), Vec::new());
        for (folder, path) in placed(root, &code.projects) {
            match Index::open(&path) {
                Ok(index) => indexes.push((index, folder, path)),
                Err(problem) => problems.push(problem),
            }
        }
        let mut exact = Exact::none(code, root);
        for (index, folder, path) in indexes {
            exact.add(index, folder, written(&path));
        }
        (exact, problems)
    }

    /// One index, wherever it came from, about a folder of the tree.
    pub fn with(
        code: &'a Codebase,
        root: &'a Path,
        index: Index,
        folder: &str,
        written: Option<SystemTime>,
    ) -> Exact<'a> {
        let mut exact = Exact::none(code, root);
        let folder = folder.trim_end_matches('/');
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        exact.add(index, folder, written);
        exact
    }

    fn none(code: &'a Codebase, root: &'a Path) -> Exact<'a> {
        Exact { code, root, indexes: Vec::new(), documents: BTreeMap::new(), files: FxHashMap::default() }
    }

    /// The index that lies nearest to a file has the last word on it; they come from the root downwards.
    fn add(&mut self, index: Index, folder: String, written: Option<SystemTime>) {
        let which = self.indexes.len() as u32;
        for (file, source) in self.code.files.iter().enumerate() {
            let inside = source.path.strip_prefix(&folder);
            if let Some(document) = inside.and_then(|path| index.document(path)) {
                let before = self.documents.insert(file as u32, (which, document));
                before.and_then(|before| self.files.remove(&before));
                self.files.insert((which, document), file as u32);
            }
        }
        self.indexes.push(Placed { index, folder, written });
    }

    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// What was found, each index with the folder it is about.
    pub fn indexes(&self) -> impl Iterator<Item = (&str, &Index)> {
        self.indexes.iter().map(|placed| (placed.folder.as_str(), &placed.index))
    }

    /// Whether what an index says of a file can be relied upon.
    pub fn freshness(&self, file: u32) -> Freshness {
        self.text(file)
            .and_then(|text| self.page(file, &text).map(|page| page.freshness))
            .unwrap_or(Freshness::Unknown)
    }

    /// Files of which no index can say everything: it does not have them, or they were changed since and may have got more.
    pub fn incomplete(&self) -> Vec<u32> {
        let is_whole =
            |file: &u32| self.documents.get(file).is_some_and(|(which, _)| !self.is_younger(*file, *which));
        (0..self.code.files.len() as u32).filter(|file| !is_whole(file)).collect()
    }

    fn is_younger(&self, file: u32, which: u32) -> bool {
        let index = self.indexes[which as usize].written;
        index.is_none() || written(&self.path(file)) > index
    }

    /// Where a symbol is defined; none if no index knows.
    pub fn definition(&self, symbol: Declared) -> Option<Vec<Usage>> {
        let mut usages = self.usages(symbol)?;
        usages.places.retain(|it| it.roles.is_definition());
        Some(usages.places)
    }

    /// Everywhere a symbol stands, but for what came to the files that are `incomplete`; none if no index knows it, or if the
    /// file that declares it is stale.
    pub fn usages(&self, symbol: Declared) -> Option<Usages> {
        let known = self.known(symbol);
        if known.is_empty() {
            return None;
        }
        let mut by_file: FxHashMap<u32, Vec<Occurrence>> = FxHashMap::default();
        for (which, known) in known {
            let index = &self.indexes[which as usize].index;
            let own = index.places(known).iter().copied();
            let made = constructors(index, known).flat_map(|of| index.references(of));
            for place in own.chain(made.filter(|_| symbol.member.is_none())) {
                if let Some(file) = self.files.get(&(which, place.document)) {
                    by_file.entry(*file).or_default().push(*index.occurrence(place));
                }
            }
        }
        let mut usages = Usages::default();
        for (file, occurrences) in by_file {
            let text = self.text(file).unwrap_or_default();
            let told = self.page(file, &text).and_then(|page| page.told(&occurrences));
            match told {
                Some(told) => usages.places.extend(told),
                None => usages.stale.push(file),
            }
        }
        usages.places.sort_unstable();
        usages.places.dedup_by_key(|it| (it.file, it.span));
        usages.stale.sort_unstable();
        Some(usages)
    }

    /// The one of our symbols whose name a definition of an index is, for every symbol that the index defines in a file that it
    /// still fits.
    pub fn ours(&self) -> Ours {
        self.linked().0
    }

    /// The same, and the documents that still fit: which index, which document.
    fn linked(&self) -> (Ours, FxHashSet<(u32, u32)>) {
        let (mut found, mut fitting) = (FxHashMap::default(), FxHashSet::default());
        for (file, (which, document)) in &self.documents {
            let text = self.text(*file).unwrap_or_default();
            let Some(page) = self.page(*file, &text).filter(Page::holds) else { continue };
            fitting.insert((*which, *document));
            for symbol in self.declared(*file) {
                for known in page.named(self.stretch(symbol, *file), self.simple(symbol), self.sort(symbol)) {
                    for known in self.everywhere(*which, known) {
                        found.entry(known).or_insert(symbol);
                    }
                }
            }
        }
        (found, fitting)
    }

    /// What a file mentions of ours, by place; none if no index has it, or if it is stale.
    pub fn mentions(&self, file: u32, ours: &Ours) -> Option<Vec<(Usage, Declared)>> {
        let (which, _) = self.documents.get(&file)?;
        let text = self.text(file)?;
        let page = self.page(file, &text).filter(Page::holds)?;
        let one = |it: &Occurrence| {
            let symbol = *ours.get(&(*which, it.symbol))?;
            let usage = page.told(&[*it])?.pop()?;
            Some([
                Some((usage, symbol)),
                page.makes(it).then_some((usage, Declared { member: None, ..symbol })),
            ])
        };
        Some(page.document.occurrences.iter().filter_map(one).flatten().flatten().collect())
    }

    /// What stands where, for each file that an index has and still fits.
    pub(crate) fn told(&self) -> FxHashMap<u32, Vec<Told>> {
        let (ours, fitting) = self.linked();
        // where a symbol was defined in a file that has changed, names have to say what became of it
        let lost = |which: u32, symbol: u32| {
            let mut known = self.everywhere(which, symbol);
            known.any(|(which, symbol)| {
                let mut places = self.indexes[which as usize].index.definitions(symbol);
                places.any(|place| !fitting.contains(&(which, place.document)))
            })
        };
        let mut found = FxHashMap::default();
        for (file, (which, _)) in &self.documents {
            let text = self.text(*file).unwrap_or_default();
            let Some(page) = self.page(*file, &text).filter(Page::holds) else { continue };
            let one = |it: &Occurrence| {
                let span = page.span(it)?;
                let symbol = ours.get(&(*which, it.symbol)).filter(|_| !it.roles.is_definition());
                let to = symbol.filter(|symbol| symbol.member.is_none() || page.makes(it));
                let stands = page.freshness == Freshness::Unchanged || page.stands(it, span);
                let sure = stands && (to.is_some() || !lost(*which, it.symbol));
                Some(Told {
                    span,
                    name: self.code.tables.name(span.of(&text)),
                    to: to.map(|symbol| symbol.of),
                    sure,
                })
            };
            let all = page.document.occurrences.iter();
            found.insert(*file, all.filter_map(one).collect());
        }
        found
    }

    /// The types and members that a file declares, the outer before the inner.
    fn declared(&self, file: u32) -> Vec<Declared> {
        let mut found = Vec::new();
        for (part, declared) in self.code.files[file as usize].facts.types.iter().enumerate() {
            let of = self.code.tables.type_of(file, part as u32);
            found.push(Declared { of, member: None });
            let members = 0..declared.members.len() as u32;
            found.extend(members.map(|at| Declared { of, member: Some((file, part as u32, at)) }));
        }
        found
    }

    /// What indexes call a symbol: which index, which symbol.
    fn known(&self, symbol: Declared) -> BTreeSet<(u32, u32)> {
        let files: BTreeSet<u32> = match symbol.member {
            Some((file, ..)) => [file].into(),
            None => self.code.types[symbol.of as usize].parts.iter().map(|(file, _)| *file).collect(),
        };
        let mut found = BTreeSet::new();
        for file in files {
            let text = self.text(file).unwrap_or_default();
            let (Some(page), Some((which, _))) = (self.page(file, &text), self.documents.get(&file)) else {
                continue;
            };
            if page.holds() {
                let named = page.named(self.stretch(symbol, file), self.simple(symbol), self.sort(symbol));
                found.extend(named.into_iter().flat_map(|known| self.everywhere(*which, known)));
            }
        }
        found
    }

    /// A symbol in every index that has it: what one project declares, another's index names in the same way.
    fn everywhere(&self, which: u32, known: u32) -> impl Iterator<Item = (u32, u32)> {
        let name = self.indexes[which as usize].index.name(known);
        let indexes = self.indexes.iter().enumerate();
        indexes.filter_map(move |(at, placed)| Some((at as u32, placed.index.symbol(name)?)))
    }

    fn simple(&self, symbol: Declared) -> &str {
        match symbol.member {
            Some(at) => &self.code.member(at).name,
            None => self.code.simple_name(symbol.of),
        }
    }

    fn sort(&self, symbol: Declared) -> Sort {
        match self.code.types[symbol.of as usize].kind {
            _ if symbol.member.is_some() => Sort::Member,
            TypeKind::Module => Sort::Module,
            _ => Sort::Type,
        }
    }

    /// Where in a file the declarations of a symbol stand.
    fn stretch(&self, symbol: Declared, file: u32) -> Vec<Span> {
        if let Some(at) = symbol.member {
            return vec![self.code.member(at).span];
        }
        let parts = self.code.types[symbol.of as usize].parts.iter();
        parts.filter(|(of, _)| *of == file).map(|at| self.code.part(*at).span).collect()
    }

    fn path(&self, file: u32) -> PathBuf {
        self.root.join(&self.code.files[file as usize].path)
    }

    fn text(&self, file: u32) -> Option<String> {
        self.documents.get(&file)?;
        fs::read(self.path(file)).ok().map(|bytes| decode(&bytes).into_owned())
    }

    fn page<'x>(&'x self, file: u32, text: &'x str) -> Option<Page<'x>> {
        let (which, document) = self.documents.get(&file)?;
        let placed = &self.indexes[*which as usize];
        let document = &placed.index.documents[*document as usize];
        let (lines, freshness) = (Lines::new(text), Freshness::Unchanged);
        let mut page = Page { file, index: &placed.index, document, lines, freshness, defined: Vec::new() };
        page.defined = page.shared();
        page.freshness = page.judged(self.is_younger(file, *which));
        Some(page)
    }
}

/// The constructors of a type, the second one and those after it by number.
fn constructors(index: &Index, of: u32) -> impl Iterator<Item = u32> {
    let named = move |name: &'static str| {
        let numbers = std::iter::once(String::new()).chain((1..).map(|at| format!("+{at}")));
        numbers.map_while(move |at| index.symbol(&format!("{}`{name}`({at}).", index.name(of))))
    };
    CONSTRUCTORS.iter().flat_map(move |name| named(name))
}

fn is_constructor(symbol: &str) -> bool {
    described(symbol).is_some_and(|(name, _)| CONSTRUCTORS.contains(&&*name))
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

impl Page<'_> {
    /// Whether a type is named here because one is made: the index has the constructor.
    fn makes(&self, it: &Occurrence) -> bool {
        !it.roles.is_definition() && is_constructor(self.index.name(it.symbol))
    }

    fn holds(&self) -> bool {
        self.freshness <= Freshness::Fits
    }

    /// A file that is not younger may be another all the same: an index that was fetched is as young as its fetching. There,
    /// most definitions have moved; where few have, the indexer has its own idea of their places.
    fn judged(&self, younger: bool) -> Freshness {
        let (right, wrong) = self.spelled();
        match (younger, wrong) {
            (true, 0) => Freshness::Fits,
            (true, _) => Freshness::Stale,
            (false, _) if wrong > right => Freshness::Stale,
            (false, _) => Freshness::Unchanged,
        }
    }

    /// How many definitions are spelled like their symbols, and how many are not.
    fn spelled(&self) -> (u32, u32) {
        let (mut right, mut wrong) = (0, 0);
        for it in self.document.occurrences.iter().filter(|it| it.roles.is_definition()) {
            match self.spells(it) {
                Some(true) => right += 1,
                Some(false) => wrong += 1,
                None => {}
            }
        }
        (right, wrong)
    }

    /// Whether the text at a place is the name of the symbol there; none if that symbol's name is not what is written.
    fn spells(&self, it: &Occurrence) -> Option<bool> {
        let Some(span) = self.span(it) else { return Some(false) };
        let (name, kind) = described(self.index.name(it.symbol))?;
        let is_written = !matches!(kind, SymbolKind::Local | SymbolKind::Meta | SymbolKind::Namespace);
        // what stands in angle brackets has no name of its own: `<constructor>`, `<get>size`
        if !is_written || name.starts_with('<') {
            return None;
        }
        Some(plain(span.of(self.lines.text)) == plain(&name))
    }

    /// Definitions that can be seen outside the document; parameters cannot.
    fn shared(&self) -> Vec<Defined> {
        let one = |it: &Occurrence| {
            let (_, kind) = described(self.index.name(it.symbol))?;
            let is_shared =
                !matches!(kind, SymbolKind::Local | SymbolKind::Parameter | SymbolKind::TypeParameter);
            Some(Defined { span: self.span(it).filter(|_| is_shared)?, symbol: it.symbol, kind })
        };
        self.document.occurrences.iter().filter(|it| it.roles.is_definition()).filter_map(one).collect()
    }

    /// The symbols defined in stretches of the file under a name: in each those at the first place that spells it.
    fn named(&self, stretches: Vec<Span>, name: &str, sort: Sort) -> Vec<u32> {
        let mut found = Vec::new();
        for stretch in stretches {
            let from = self.defined.partition_point(|it| it.span.from < stretch.from);
            let inside = self.defined[from..].iter().take_while(|it| it.span.from < stretch.to.max(1));
            let mut fitting = inside.filter(|it| self.is_named(it, name, sort)).peekable();
            let first = fitting.peek().map(|it| it.span);
            found.extend(fitting.take_while(|it| Some(it.span) == first).map(|it| it.symbol));
        }
        found
    }

    fn is_named(&self, it: &Defined, name: &str, sort: Sort) -> bool {
        let fits = match sort {
            Sort::Type => it.kind == SymbolKind::Type,
            Sort::Module => it.kind == SymbolKind::Namespace,
            Sort::Member => it.kind != SymbolKind::Namespace,
        };
        // a file that is a module is defined as a whole, or before its first letter
        let whole = sort == Sort::Module && it.span.from == 0;
        fits && (whole || plain(it.span.of(self.lines.text)) == plain(name))
    }

    fn span(&self, it: &Occurrence) -> Option<Span> {
        let byte = |(line, column): (u32, u32)| self.lines.byte(line, column, self.document.columns);
        Some(Span { from: byte(it.from)?, to: byte(it.to)? })
    }

    /// Whether a symbol may still stand at a place of a file that was changed: its name does, or another name that it has there
    /// more than once, as what is imported under another name has.
    fn stands(&self, it: &Occurrence, at: Span) -> bool {
        let written = |span: Span| span.of(self.lines.text);
        let again = |other: &Occurrence| {
            other.symbol == it.symbol
                && self.span(other).is_some_and(|span| span != at && written(span) == written(at))
        };
        self.spells(it) != Some(false) || self.document.occurrences.iter().any(again)
    }

    /// Occurrences as places of the file; none if the file is stale, or one of them is not spelled like its symbol in a file that
    /// was changed.
    fn told(&self, occurrences: &[Occurrence]) -> Option<Vec<Usage>> {
        let one = |it: &Occurrence| {
            let span = self.span(it)?;
            if self.freshness == Freshness::Fits && !self.stands(it, span) {
                return None;
            }
            let (line, column) = self.lines.place(span.from);
            Some(Usage { file: self.file, span, line, column, roles: it.roles })
        };
        if self.holds() { occurrences.iter().map(one).collect() } else { None }
    }
}

/// A name without what marks it as one: quotes, `r#`, `#` of a private member.
fn plain(name: &str) -> &str {
    name.trim_matches(['"', '\'', '`']).trim_start_matches("r#").trim_start_matches('#')
}
