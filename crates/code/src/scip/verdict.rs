//! What the indexes say of a single place: that it refers to a symbol, that it refers to another one, or nothing.
//!
//! Does not know which places name resolution finds. An index that has nothing at a place, or something it did not resolve
//! itself, refutes nothing there.

use super::{Declaration, Freshness, IndexedFile, TreeIndexes, UsagePosition};
use ::scip::{Index, is_local, symbol_package, symbol_path};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use syntax::Span;

/// What the indexes say of a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It refers to the symbol.
    Confirmed,
    /// It refers to the symbol or to one of others, as a key of an object does whose type is a union.
    Ambiguous,
    /// It refers to other symbols, of which these are declared in the tree.
    Other(Vec<Declaration>),
    /// No index has it, or not what it refers to, or the text there has changed.
    Silent,
}

/// What the indexes know about one symbol.
pub struct SymbolVerdicts<'x> {
    indexes: &'x TreeIndexes<'x>,
    /// Index number, symbol number.
    own: BTreeSet<(u32, u32)>,
    files: FxHashMap<u32, FilePlaces>,
    /// Our declarations of the symbols that a file defines.
    links: FxHashMap<u32, FxHashMap<u32, Declaration>>,
    /// Whether a document, by number of index and document, still matches its file.
    valid: FxHashMap<(u32, u32), bool>,
}

/// Where the indexes have something in a file.
#[derive(Default)]
struct FilePlaces {
    which: u32,
    /// By the first byte.
    places: FxHashMap<u32, Vec<IndexedPlace>>,
    /// The local symbols that the file defines.
    local: FxHashSet<u32>,
}

#[derive(Clone, Copy)]
struct IndexedPlace {
    end: u32,
    symbol: u32,
    /// Whether its text has not changed.
    is_current: bool,
}

impl<'x> SymbolVerdicts<'x> {
    /// Loads what the indexes know about a symbol, and its references, other than those that are silent; `None` if no index has it,
    /// or if the file that declares it is stale.
    pub fn load(
        indexes: &'x TreeIndexes<'x>,
        symbol: Declaration,
    ) -> Option<(SymbolVerdicts<'x>, Vec<(UsagePosition, Verdict)>)> {
        let places = indexes.usages_of(symbol)?.places;
        let own = indexes.own_symbols(symbol);
        let (files, links, valid) = Default::default();
        let mut verdicts = SymbolVerdicts { indexes, own, files, links, valid };
        let references = places.into_iter().filter(|it| !it.roles.is_definition());
        let judged = references.map(|it| (it, verdicts.verdict_at(it.file, it.span)));
        let judged = judged.filter(|(_, verdict)| *verdict != Verdict::Silent).collect();
        Some((verdicts, judged))
    }

    /// What the indexes say about a name at a place of a file.
    pub fn verdict_at(&mut self, file: u32, at: Span) -> Verdict {
        if !self.files.contains_key(&file) {
            let places = self.load_places(file).unwrap_or_default();
            self.files.insert(file, places);
        }
        let which = self.files[&file].which;
        let here = self.files[&file].places.get(&at.from).cloned().unwrap_or_default();
        let here: Vec<IndexedPlace> = here.into_iter().filter(|it| it.end == at.to).collect();
        let (own, others): (Vec<IndexedPlace>, Vec<IndexedPlace>) =
            here.iter().partition(|it| self.own.contains(&(which, it.symbol)));
        if own.iter().any(|it| it.is_current) {
            let others = others.iter().filter(|it| !self.is_unnamed(which, it.symbol));
            return self.rate_own(which, own[0].symbol, &others.map(|it| it.symbol).collect::<Vec<_>>());
        }
        if others.is_empty() || !others.iter().all(|it| it.is_current && self.is_resolved(file, *it)) {
            return Verdict::Silent;
        }
        Verdict::Other(others.iter().filter_map(|it| self.declaration_of(which, it.symbol)).collect())
    }

    /// A place with the symbol and others. In TypeScript, a type and a value may share a name, and an index has both at each of their
    /// places: then it does not say which is meant.
    fn rate_own(&self, which: u32, own: u32, others: &[u32]) -> Verdict {
        let index = &self.indexes.indexes[which as usize].index;
        let stem = |symbol: u32| {
            let name = index.symbol_name(symbol);
            name.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '`' && c != '_' && c != '$')
        };
        if others.is_empty() {
            Verdict::Confirmed
        } else if others.iter().all(|other| stem(*other) == stem(own)) {
            Verdict::Silent
        } else {
            Verdict::Ambiguous
        }
    }

    /// Whether a symbol is local, or a constructor, which stands for its type.
    fn is_unnamed(&self, which: u32, symbol: u32) -> bool {
        let name = self.indexes.indexes[which as usize].index.symbol_name(symbol);
        is_local(name) || super::is_constructor(name)
    }

    /// Our declaration of a symbol, by the place of its definition.
    fn declaration_of(&mut self, which: u32, symbol: u32) -> Option<Declaration> {
        let exact = self.indexes;
        let defined = exact.indexes[which as usize].index.definitions_of(symbol).next()?;
        let file = *exact.files.get(&(which, defined.document))?;
        let links = self.links.entry(file).or_insert_with(|| exact.link_file(file));
        links.get(&symbol).copied()
    }

    fn load_places(&self, file: u32) -> Option<FilePlaces> {
        let text = self.indexes.file_text(file)?;
        let page = self.indexes.load_file(file, &text).filter(IndexedFile::is_valid)?;
        let (which, _) = *self.indexes.documents.get(&file)?;
        let mut found = FilePlaces { which, ..FilePlaces::default() };
        for it in &page.document.occurrences {
            let Some(span) = page.byte_span(it) else { continue };
            let is_current = page.is_current(it, span);
            let place = IndexedPlace { end: span.to, symbol: it.symbol, is_current };
            found.places.entry(span.from).or_default().push(place);
            if it.roles.is_definition() && is_local(page.index.symbol_name(it.symbol)) {
                found.local.insert(it.symbol);
            }
        }
        Some(found)
    }

    /// Whether an indexer resolved an occurrence. What it did not resolve has a local symbol or one of the own package, neither of
    /// which is defined anywhere; and where the project is installed as a package, a symbol of that. A key of an object literal
    /// has a symbol of its own, which does not say whether it is also a member of a type.
    fn is_resolved(&mut self, file: u32, it: IndexedPlace) -> bool {
        let (which, exact) = (self.files[&file].which, self.indexes);
        let index = &exact.indexes[which as usize].index;
        if is_local(index.symbol_name(it.symbol)) {
            return self.files[&file].local.contains(&it.symbol);
        }
        if is_literal_key(index.symbol_name(it.symbol)) {
            return false;
        }
        let mut defined = index.definitions_of(it.symbol).peekable();
        if defined.peek().is_some() {
            return defined.all(|place| self.is_valid_document(which, place.document));
        }
        !self.own.iter().any(|own| self.may_be_same(*own, index, it.symbol))
    }

    fn is_valid_document(&mut self, which: u32, document: u32) -> bool {
        let exact = self.indexes;
        *self.valid.entry((which, document)).or_insert_with(|| {
            let file = exact.files.get(&(which, document));
            file.is_none_or(|file| exact.freshness(*file) <= Freshness::Fits)
        })
    }

    /// Whether a symbol that no document defines may be one of ours: it is of the same package, or of the installed package of this
    /// project.
    fn may_be_same(&self, (which, own): (u32, u32), index: &Index, other: u32) -> bool {
        let own = self.indexes.indexes[which as usize].index.symbol_name(own);
        let other = index.symbol_name(other);
        let package = symbol_package(other);
        if package.is_some() && package == symbol_package(own) {
            return true;
        }
        let (Some(own), Some(path), Some(package)) = (symbol_path(own), symbol_path(other), package) else {
            return false;
        };
        let first = path.split(['.', '/']).next().unwrap_or_default();
        first.eq_ignore_ascii_case(&package.replace('-', "_"))
            && own.strip_suffix(path.as_str()).is_some_and(|before| before.ends_with(['.', '/']))
    }
}

/// Whether a symbol is one that scip-typescript makes up for a key of an object literal: `width0:`.
fn is_literal_key(symbol: &str) -> bool {
    symbol.strip_suffix(':').is_some_and(|name| name.ends_with(|c: char| c.is_ascii_digit()))
}
