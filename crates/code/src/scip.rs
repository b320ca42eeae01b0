//! Exact definitions and usages of our types and members: finds the definition in an index by its position, and maps the symbol's
//! occurrences back to our files.
//!
//! Does not guess. A changed file whose text no longer matches the index is reported as stale, and the caller falls back to name
//! resolution there.

mod placement;
mod verdict;

pub use placement::{IndexPlaces, has_index};
pub use verdict::{SymbolVerdicts, Verdict};

use crate::codebase::Codebase;
use crate::symbol;
use ::scip::Lines;
pub use ::scip::{
    ColumnEncoding, Damage, Document, Index, Occurrence, Roles, ScipError, SymbolKind, describe_symbol,
};
use placement::find_indexes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use syntax::{Span, TypeKind, decode_text};

/// The names of constructors. At `new` followed by a type's name, an index refers to the constructor, not the type.
const CONSTRUCTORS: &[&str] = &["<constructor>", "<init>"];

/// Whether the index data of a file is still valid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Freshness {
    /// The file is older than the index.
    Unchanged,
    /// The file is newer, and every definition is still at its indexed position.
    Fits,
    /// The text at a definition's position has changed.
    Stale,
    /// No index covers the file.
    Unknown,
}

/// A position where a symbol occurs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UsagePosition {
    pub file: u32,
    pub span: Span,
    /// From 1; columns in characters.
    pub line: u32,
    pub column: u32,
    pub roles: Roles,
}

/// All indexed positions of a symbol.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SymbolUsages {
    /// By file and position, including definitions.
    pub places: Vec<UsagePosition>,
    /// Stale files with occurrences: usages in them have to be found by name resolution.
    pub stale: Vec<u32>,
}

/// An indexed occurrence, for name resolution.
pub(crate) struct IndexedOccurrence {
    pub(crate) span: Span,
    /// The text at this position, if it is a name in the codebase.
    pub(crate) name: Option<u32>,
    /// Our type that it refers to, if any; `None` at definitions.
    pub(crate) to: Option<u32>,
    /// Whether the text still matches the index.
    pub(crate) is_current: bool,
}

/// A type or a member, identified by its declaration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Declaration {
    pub of: u32,
    /// File, part and index of the member's declaration.
    pub member: Option<(u32, u32, u32)>,
}

impl Declaration {
    /// Locates the declaration of a symbol; `symbol` was resolved against all types of the codebase.
    pub fn locate(code: &Codebase, symbol: symbol::Symbol) -> Declaration {
        let each = &code.types[symbol.of as usize];
        let member =
            symbol.member.and_then(|at| symbol::distinct_members(code, each).get(at as usize).copied());
        let member = member.and_then(|(file, wanted)| {
            each.parts.iter().filter(|(at, _)| *at == file).find_map(|(_, part)| {
                let members = &code.part((file, *part)).members;
                let at = members.iter().position(|it| std::ptr::eq(it, wanted))?;
                Some((file, *part, at as u32))
            })
        });
        Declaration { of: symbol.of, member }
    }
}

/// Maps index symbols (index number, symbol number) to our declarations.
pub type DeclarationMap = FxHashMap<(u32, u32), Declaration>;

/// The indexes of a tree, next to our own codebase.
pub struct TreeIndexes<'a> {
    code: &'a Codebase,
    root: &'a Path,
    indexes: Vec<LoadedIndex>,
    /// The document of each file: index number, document number.
    documents: BTreeMap<u32, (u32, u32)>,
    files: FxHashMap<(u32, u32), u32>,
}

/// An index and its location.
struct LoadedIndex {
    index: Index,
    /// The indexed folder, relative to the root of the tree; empty, or with a trailing `/`.
    folder: String,
    /// When the index was written, if the file system knows.
    written: Option<SystemTime>,
}

/// The current text of a file, with its index document.
struct IndexedFile<'x> {
    file: u32,
    index: &'x Index,
    document: &'x Document,
    lines: Lines<'x>,
    freshness: Freshness,
    /// The definitions in it that are visible outside, by position.
    defined: Vec<DefinitionSpan>,
}

struct DefinitionSpan {
    span: Span,
    symbol: u32,
    kind: SymbolKind,
}

/// What kind of index symbol a declaration corresponds to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeclarationKind {
    Type,
    Module,
    Member,
}

impl<'a> TreeIndexes<'a> {
    /// Opens the indexes of a tree. An unreadable one does not affect the others.
    pub fn load(code: &'a Codebase, places: IndexPlaces<'a>) -> (TreeIndexes<'a>, Vec<ScipError>) {
        let (mut exact, mut problems) = (TreeIndexes::none(code, places.root), Vec::new());
        for placed in find_indexes(places, &code.projects) {
            match Index::open(&placed.path) {
                Ok(index) => exact.add_index(index, placed.folder, placed.written),
                Err(problem) => problems.push(problem),
            }
        }
        (exact, problems)
    }

    /// Uses a single index of a folder of the tree.
    pub fn with_index(
        code: &'a Codebase,
        root: &'a Path,
        index: Index,
        folder: &str,
        written: Option<SystemTime>,
    ) -> TreeIndexes<'a> {
        let mut exact = TreeIndexes::none(code, root);
        let folder = folder.trim_end_matches('/');
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        exact.add_index(index, folder, written);
        exact
    }

    fn none(code: &'a Codebase, root: &'a Path) -> TreeIndexes<'a> {
        TreeIndexes {
            code,
            root,
            indexes: Vec::new(),
            documents: BTreeMap::new(),
            files: FxHashMap::default(),
        }
    }

    /// The index that was added last takes precedence for a file.
    fn add_index(&mut self, index: Index, folder: String, written: Option<SystemTime>) {
        let which = self.indexes.len() as u32;
        for (file, source) in self.code.files.iter().enumerate() {
            let inside = source.path.strip_prefix(&folder);
            if let Some(document) = inside.and_then(|path| index.find_document(path)) {
                let before = self.documents.insert(file as u32, (which, document));
                before.and_then(|before| self.files.remove(&before));
                self.files.insert((which, document), file as u32);
            }
        }
        self.indexes.push(LoadedIndex { index, folder, written });
    }

    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// The loaded indexes, each with its folder.
    pub fn indexes(&self) -> impl Iterator<Item = (&str, &Index)> {
        self.indexes.iter().map(|placed| (placed.folder.as_str(), &placed.index))
    }

    /// Whether the index data of a file is valid.
    pub fn freshness(&self, file: u32) -> Freshness {
        self.file_text(file)
            .and_then(|text| self.load_file(file, &text).map(|page| page.freshness))
            .unwrap_or(Freshness::Unknown)
    }

    /// The files whose index data may be incomplete: not indexed, or changed since.
    pub fn incomplete_files(&self) -> Vec<u32> {
        let is_whole =
            |file: &u32| self.documents.get(file).is_some_and(|(which, _)| !self.is_newer(*file, *which));
        (0..self.code.files.len() as u32).filter(|file| !is_whole(file)).collect()
    }

    fn is_newer(&self, file: u32, which: u32) -> bool {
        let index = self.indexes[which as usize].written;
        index.is_none() || modified_time(&self.file_path(file)) > index
    }

    /// The definitions of a symbol; `None` if no index has it.
    pub fn definition_of(&self, symbol: Declaration) -> Option<Vec<UsagePosition>> {
        let mut usages = self.usages_of(symbol)?;
        usages.places.retain(|it| it.roles.is_definition());
        Some(usages.places)
    }

    /// All usages of a symbol, except those added to the files in `incomplete_files` since; `None` if no index has the symbol, or if
    /// the file that declares it is stale.
    pub fn usages_of(&self, symbol: Declaration) -> Option<SymbolUsages> {
        let known = self.index_symbols(symbol);
        if known.is_empty() {
            return None;
        }
        let mut by_file: FxHashMap<u32, Vec<Occurrence>> = FxHashMap::default();
        for (which, known) in known {
            let index = &self.indexes[which as usize].index;
            let own = index.occurrences_of(known).iter().copied();
            let made = constructors_of(index, known).flat_map(|of| index.references_to(of));
            for place in own.chain(made.filter(|_| symbol.member.is_none())) {
                if let Some(file) = self.files.get(&(which, place.document)) {
                    by_file.entry(*file).or_default().push(*index.occurrence(place));
                }
            }
        }
        let mut usages = SymbolUsages::default();
        for (file, occurrences) in by_file {
            let text = self.file_text(file).unwrap_or_default();
            let positions = self.load_file(file, &text).and_then(|page| page.to_usages(&occurrences));
            match positions {
                Some(positions) => usages.places.extend(positions),
                None => usages.stale.push(file),
            }
        }
        usages.places.sort_unstable();
        usages.places.dedup_by_key(|it| (it.file, it.span));
        usages.stale.sort_unstable();
        Some(usages)
    }

    /// Maps each index symbol that is defined in a valid file to our declaration.
    pub fn link_declarations(&self) -> DeclarationMap {
        self.link_valid_documents().0
    }

    /// Like `link_declarations`, with the valid documents: index number, document number.
    fn link_valid_documents(&self) -> (DeclarationMap, FxHashSet<(u32, u32)>) {
        let (mut found, mut fitting) = (FxHashMap::default(), FxHashSet::default());
        for (file, (which, document)) in &self.documents {
            if self.freshness(*file) > Freshness::Fits {
                continue;
            }
            fitting.insert((*which, *document));
            for (known, symbol) in self.link_file(*file) {
                for known in self.same_symbol(*which, known) {
                    found.entry(known).or_insert(symbol);
                }
            }
        }
        (found, fitting)
    }

    /// The references of a file to our symbols, by position; `None` if the file is not indexed or stale.
    pub fn references_in(
        &self,
        file: u32,
        ours: &DeclarationMap,
    ) -> Option<Vec<(UsagePosition, Declaration)>> {
        let (which, _) = self.documents.get(&file)?;
        let text = self.file_text(file)?;
        let page = self.load_file(file, &text).filter(IndexedFile::is_valid)?;
        let one = |it: &Occurrence| {
            let symbol = *ours.get(&(*which, it.symbol))?;
            let usage = page.to_usages(&[*it])?.pop()?;
            Some([
                Some((usage, symbol)),
                page.is_construction(it).then_some((usage, Declaration { member: None, ..symbol })),
            ])
        };
        Some(page.document.occurrences.iter().filter_map(one).flatten().flatten().collect())
    }

    /// The indexed occurrences of each valid file.
    pub(crate) fn indexed_occurrences(&self) -> FxHashMap<u32, Vec<IndexedOccurrence>> {
        let (ours, fitting) = self.link_valid_documents();
        // a symbol whose defining file changed has to be resolved by name
        let lost = |which: u32, symbol: u32| {
            let mut known = self.same_symbol(which, symbol);
            known.any(|(which, symbol)| {
                let mut places = self.indexes[which as usize].index.definitions_of(symbol);
                places.any(|place| !fitting.contains(&(which, place.document)))
            })
        };
        let mut found = FxHashMap::default();
        for (file, (which, _)) in &self.documents {
            let text = self.file_text(*file).unwrap_or_default();
            let Some(page) = self.load_file(*file, &text).filter(IndexedFile::is_valid) else { continue };
            let one = |it: &Occurrence| {
                let span = page.byte_span(it)?;
                let symbol = ours.get(&(*which, it.symbol)).filter(|_| !it.roles.is_definition());
                let to = symbol.filter(|symbol| symbol.member.is_none() || page.is_construction(it));
                let sure = page.is_current(it, span) && (to.is_some() || !lost(*which, it.symbol));
                Some(IndexedOccurrence {
                    span,
                    name: self.code.tables.name_id(span.text_in(&text)),
                    to: to.map(|symbol| symbol.of),
                    is_current: sure,
                })
            };
            let all = page.document.occurrences.iter();
            found.insert(*file, all.filter_map(one).collect());
        }
        found
    }

    /// The types and members that a file declares, outer before inner.
    fn declarations_in(&self, file: u32) -> Vec<Declaration> {
        let mut found = Vec::new();
        for (part, declared) in self.code.files[file as usize].facts.types.iter().enumerate() {
            let of = self.code.tables.type_of(file, part as u32);
            found.push(Declaration { of, member: None });
            let members = 0..declared.members.len() as u32;
            found.extend(members.map(|at| Declaration { of, member: Some((file, part as u32, at)) }));
        }
        found
    }

    /// The index symbols of a declaration: index number, symbol number.
    fn index_symbols(&self, symbol: Declaration) -> BTreeSet<(u32, u32)> {
        let files: BTreeSet<u32> = match symbol.member {
            Some((file, ..)) => [file].into(),
            None => self.code.types[symbol.of as usize].parts.iter().map(|(file, _)| *file).collect(),
        };
        let mut found = BTreeSet::new();
        for file in files {
            let text = self.file_text(file).unwrap_or_default();
            let (Some(page), Some((which, _))) = (self.load_file(file, &text), self.documents.get(&file))
            else {
                continue;
            };
            if page.is_valid() {
                let named = self.symbols_of(&page, symbol, file);
                found.extend(named.into_iter().flat_map(|known| self.same_symbol(*which, known)));
            }
        }
        found
    }

    /// The index symbols that stand for a declaration: its own, and for a type its constructors.
    fn own_symbols(&self, symbol: Declaration) -> BTreeSet<(u32, u32)> {
        let mut own = self.index_symbols(symbol);
        for (which, known) in self.index_symbols(symbol).into_iter().filter(|_| symbol.member.is_none()) {
            own.extend(constructors_of(&self.indexes[which as usize].index, known).map(|made| (which, made)));
        }
        own
    }

    /// The index symbols that a file defines, with our declarations at those places.
    fn link_file(&self, file: u32) -> FxHashMap<u32, Declaration> {
        let mut found = FxHashMap::default();
        let text = self.file_text(file).unwrap_or_default();
        let Some(page) = self.load_file(file, &text).filter(IndexedFile::is_valid) else { return found };
        for symbol in self.declarations_in(file) {
            for known in self.symbols_of(&page, symbol, file) {
                found.entry(known).or_insert(symbol);
            }
        }
        found
    }

    /// The symbols that a file defines for a declaration.
    fn symbols_of(&self, page: &IndexedFile<'_>, symbol: Declaration, file: u32) -> Vec<u32> {
        page.symbols_named(
            self.declaration_spans(symbol, file),
            self.simple_name(symbol),
            self.declaration_kind(symbol),
        )
    }

    /// The same symbol in all indexes: the index of one project uses the same string for symbols of another.
    fn same_symbol(&self, which: u32, known: u32) -> impl Iterator<Item = (u32, u32)> {
        let name = self.indexes[which as usize].index.symbol_name(known);
        let indexes = self.indexes.iter().enumerate();
        indexes.filter_map(move |(at, placed)| Some((at as u32, placed.index.find_symbol(name)?)))
    }

    fn simple_name(&self, symbol: Declaration) -> &str {
        match symbol.member {
            Some(at) => &self.code.member(at).name,
            None => self.code.simple_name(symbol.of),
        }
    }

    fn declaration_kind(&self, symbol: Declaration) -> DeclarationKind {
        match self.code.types[symbol.of as usize].kind {
            _ if symbol.member.is_some() => DeclarationKind::Member,
            TypeKind::Module => DeclarationKind::Module,
            _ => DeclarationKind::Type,
        }
    }

    /// The ranges of a symbol's declarations in a file, without bodies: what is declared inside may have the same name.
    fn declaration_spans(&self, symbol: Declaration, file: u32) -> Vec<Span> {
        if let Some(at) = symbol.member {
            return vec![self.code.member(at).signature];
        }
        let is_module = self.declaration_kind(symbol) == DeclarationKind::Module;
        let parts = self.code.types[symbol.of as usize].parts.iter().filter(|(of, _)| *of == file);
        let parts = parts.map(|at| self.code.part(*at));
        parts.map(|part| if is_module { part.span } else { part.signature }).collect()
    }

    fn file_path(&self, file: u32) -> PathBuf {
        self.root.join(&self.code.files[file as usize].path)
    }

    fn file_text(&self, file: u32) -> Option<String> {
        self.documents.get(&file)?;
        fs::read(self.file_path(file)).ok().map(|bytes| decode_text(&bytes).into_owned())
    }

    fn load_file<'x>(&'x self, file: u32, text: &'x str) -> Option<IndexedFile<'x>> {
        let (which, document) = self.documents.get(&file)?;
        let placed = &self.indexes[*which as usize];
        let document = &placed.index.documents[*document as usize];
        let (lines, freshness) = (Lines::new(text), Freshness::Unchanged);
        let mut page =
            IndexedFile { file, index: &placed.index, document, lines, freshness, defined: Vec::new() };
        page.defined = page.visible_definitions();
        page.freshness = page.judge_freshness(self.is_newer(file, *which));
        Some(page)
    }
}

/// The constructors of a type; the second and later ones are numbered.
fn constructors_of(index: &Index, of: u32) -> impl Iterator<Item = u32> {
    let named = move |name: &'static str| {
        let numbers = std::iter::once(String::new()).chain((1..).map(|at| format!("+{at}")));
        numbers.map_while(move |at| index.find_symbol(&format!("{}`{name}`({at}).", index.symbol_name(of))))
    };
    CONSTRUCTORS.iter().flat_map(move |name| named(name))
}

fn is_constructor(symbol: &str) -> bool {
    describe_symbol(symbol).is_some_and(|(name, _)| CONSTRUCTORS.contains(&&*name))
}

fn modified_time(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

impl IndexedFile<'_> {
    /// Whether this refers to a type by calling its constructor.
    fn is_construction(&self, it: &Occurrence) -> bool {
        !it.roles.is_definition() && is_constructor(self.index.symbol_name(it.symbol))
    }

    fn is_valid(&self) -> bool {
        self.freshness <= Freshness::Fits
    }

    /// A file that is not newer may still differ: a downloaded index is as new as its download. In that case most definitions
    /// have moved; if only few have, the indexer has its own notion of their positions.
    fn judge_freshness(&self, younger: bool) -> Freshness {
        let (right, wrong) = self.count_matches();
        match (younger, wrong) {
            (true, 0) => Freshness::Fits,
            (true, _) => Freshness::Stale,
            (false, _) if wrong > right => Freshness::Stale,
            (false, _) => Freshness::Unchanged,
        }
    }

    /// The number of definitions whose text matches their symbol, and of those whose text does not.
    fn count_matches(&self) -> (u32, u32) {
        let (mut right, mut wrong) = (0, 0);
        for it in self.document.occurrences.iter().filter(|it| it.roles.is_definition()) {
            match self.matches_name(it) {
                Some(true) => right += 1,
                Some(false) => wrong += 1,
                None => {}
            }
        }
        (right, wrong)
    }

    /// Whether the text at an occurrence is the name of its symbol; `None` if the symbol's name does not appear in source text.
    fn matches_name(&self, it: &Occurrence) -> Option<bool> {
        let Some(span) = self.byte_span(it) else { return Some(false) };
        let (name, kind) = describe_symbol(self.index.symbol_name(it.symbol))?;
        let is_written = !matches!(kind, SymbolKind::Local | SymbolKind::Meta | SymbolKind::Namespace);
        // names in angle brackets are not source text: `<constructor>`, `<get>size`
        if !is_written || name.starts_with('<') {
            return None;
        }
        Some(strip_markers(span.text_in(self.lines.text)) == strip_markers(&name))
    }

    /// The definitions visible outside the document; parameters are not.
    fn visible_definitions(&self) -> Vec<DefinitionSpan> {
        let one = |it: &Occurrence| {
            let (_, kind) = describe_symbol(self.index.symbol_name(it.symbol))?;
            let is_shared =
                !matches!(kind, SymbolKind::Local | SymbolKind::Parameter | SymbolKind::TypeParameter);
            Some(DefinitionSpan { span: self.byte_span(it).filter(|_| is_shared)?, symbol: it.symbol, kind })
        };
        self.document.occurrences.iter().filter(|it| it.roles.is_definition()).filter_map(one).collect()
    }

    /// The symbols defined under a name in ranges of the file: in each range, those at the first position with that name.
    fn symbols_named(&self, stretches: Vec<Span>, name: &str, sort: DeclarationKind) -> Vec<u32> {
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

    fn is_named(&self, it: &DefinitionSpan, name: &str, sort: DeclarationKind) -> bool {
        let fits = match sort {
            DeclarationKind::Type => it.kind == SymbolKind::Type,
            // scip-python defines the module `a` as `a/__init__:`
            DeclarationKind::Module => matches!(it.kind, SymbolKind::Namespace | SymbolKind::Meta),
            DeclarationKind::Member => it.kind != SymbolKind::Namespace,
        };
        // a file module is defined as a whole, or before its first character
        let whole = sort == DeclarationKind::Module && it.span.from == 0;
        fits && (whole || strip_markers(it.span.text_in(self.lines.text)) == strip_markers(name))
    }

    fn byte_span(&self, it: &Occurrence) -> Option<Span> {
        let byte = |(line, column): (u32, u32)| self.lines.byte_offset(line, column, self.document.columns);
        let span = Span { from: byte(it.from)?, to: byte(it.to)? };
        // scip-python's occurrence of `a as b` is all of it
        let name = span.text_in(self.lines.text).find(" as ").map_or(span.to, |end| span.from + end as u32);
        Some(Span { to: name, ..span })
    }

    /// Whether the text at an occurrence has not changed since.
    fn is_current(&self, it: &Occurrence, at: Span) -> bool {
        self.freshness == Freshness::Unchanged || self.may_still_occur(it, at)
    }

    /// Whether a symbol may still be at a position of a changed file: its name is there, or another text under which it occurs
    /// more than once, as with import aliases.
    fn may_still_occur(&self, it: &Occurrence, at: Span) -> bool {
        let written = |span: Span| span.text_in(self.lines.text);
        let again = |other: &Occurrence| {
            other.symbol == it.symbol
                && self.byte_span(other).is_some_and(|span| span != at && written(span) == written(at))
        };
        self.matches_name(it) != Some(false) || self.document.occurrences.iter().any(again)
    }

    /// Maps occurrences to positions in the file; `None` if the file is stale, or if it changed and the text of an occurrence no
    /// longer matches its symbol.
    fn to_usages(&self, occurrences: &[Occurrence]) -> Option<Vec<UsagePosition>> {
        let one = |it: &Occurrence| {
            let span = self.byte_span(it)?;
            if !self.is_current(it, span) {
                return None;
            }
            let (line, column) = self.lines.line_and_column(span.from);
            Some(UsagePosition { file: self.file, span, line, column, roles: it.roles })
        };
        if self.is_valid() { occurrences.iter().map(one).collect() } else { None }
    }
}

/// A name without its markers: quotes, `r#`, and the `#` of a private member.
fn strip_markers(name: &str) -> &str {
    name.trim_matches(['"', '\'', '`']).trim_start_matches("r#").trim_start_matches('#')
}
