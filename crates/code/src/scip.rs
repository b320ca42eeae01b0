//! Reads SCIP indexes, which compilers and indexers write: an `index.scip` lists every definition and reference. Builds tables
//! that answer where a symbol is defined, where it is used, and which symbol is at a position.
//!
//! Does not know our own types, nor whether the index still matches the sources ([`Exact`] does), and does not create indexes.

mod descriptor;
mod exact;
mod positions;
mod wire;

pub use descriptor::{SymbolKind, described};
pub(crate) use exact::Told;
pub use exact::{Declared, Exact, Freshness, Ours, Usage, Usages, is_indexed};
pub use positions::Columns;

use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::{Broken, Fields, Stream, Value};

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScipError {
    #[error("cannot read the index `{path}`: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{path}` is not a SCIP index")]
    NotAnIndex { path: PathBuf },
}

/// A part of an index that could not be read; the rest was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    #[error("the index is truncated at byte {at}")]
    BreaksOff { at: u64 },
    #[error("cannot read the document that ends at byte {at}")]
    Document { at: u64 },
    #[error("cannot read {count} occurrences in `{path}`")]
    Occurrences { path: String, count: u32 },
    #[error("`{path}` is not a path within the indexed folder")]
    Outside { path: String },
}

/// A symbol at one position of a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Occurrence {
    /// Line and column, from 0, in the document's column encoding.
    pub from: (u32, u32),
    pub to: (u32, u32),
    /// Number of the symbol within the index.
    pub symbol: u32,
    pub roles: Roles,
}

/// The roles of an occurrence, as a bit set of the SCIP format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Roles(pub u32);

/// Each role with its bit, most specific first.
pub const ROLES: &[(u32, &str)] =
    &[(1, "definition"), (0x40, "declaration"), (2, "import"), (4, "write"), (8, "read")];

impl Roles {
    pub fn is_definition(self) -> bool {
        self.0 & 1 != 0
    }

    /// The most specific role. Most indexers only distinguish definitions.
    pub fn name(self) -> &'static str {
        ROLES.iter().find(|(bit, _)| self.0 & bit != 0).map_or("reference", |(_, name)| name)
    }
}

/// The index data of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Relative to the indexed folder, with `/`.
    pub path: String,
    pub columns: Columns,
    /// Sorted by position.
    pub occurrences: Vec<Occurrence>,
}

/// Refers to an occurrence by the numbers of its document and of itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    pub document: u32,
    pub at: u32,
}

/// The occurrences of an index. Documentation and signatures are skipped: outlines have their own.
#[derive(Debug, Default)]
pub struct Index {
    /// Name and version of the indexer.
    pub tool: String,
    pub version: String,
    /// Sorted by path.
    pub documents: Vec<Document>,
    pub damage: Vec<Damage>,
    names: Vec<Arc<str>>,
    known: FxHashMap<Arc<str>, u32>,
    /// For each symbol, where its entries in the list of occurrences begin; the last offset is the end of the list.
    firsts: Vec<u32>,
    places: Vec<Place>,
}

/// Indexers that do not declare their column encoding and use that of their implementation language. Others use UTF-8.
const COLUMNS: &[(&str, Columns)] = &[
    ("scip-typescript", Columns::Utf16),
    ("scip-python", Columns::Utf16),
    ("scip-java", Columns::Utf16),
    ("scip-dotnet", Columns::Utf16),
];

impl Index {
    /// Reads the index at a path, document by document.
    pub fn open(path: &Path) -> Result<Index, ScipError> {
        let unreadable = |source| ScipError::Unreadable { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(unreadable)?;
        let index = Index::read(BufReader::with_capacity(1 << 16, file)).map_err(unreadable)?;
        if index.documents.is_empty() && index.tool.is_empty() {
            return Err(ScipError::NotAnIndex { path: path.to_path_buf() });
        }
        Ok(index)
    }

    /// Reads an index from a stream. Only one document is fully in memory at a time.
    pub fn read(source: impl BufRead) -> io::Result<Index> {
        let mut reading = Reading::default();
        let mut stream = Stream::new(source);
        while let Some(field) = stream.next(|field| field <= 2)? {
            match field {
                Ok(1) => reading.metadata(&stream.buffer),
                Ok(2) if reading.document(&stream.buffer).is_err() => {
                    reading.index.damage.push(Damage::Document { at: stream.at });
                }
                Ok(_) => {}
                Err(_) => {
                    reading.index.damage.push(Damage::BreaksOff { at: stream.at });
                    break;
                }
            }
        }
        Ok(reading.finish())
    }

    pub fn symbols(&self) -> u32 {
        self.names.len() as u32
    }

    /// The SCIP string of a symbol.
    pub fn name(&self, symbol: u32) -> &str {
        self.names.get(symbol as usize).map_or("", |name| name)
    }

    /// Finds a symbol by its SCIP string; local symbols cannot be found, because their strings are not unique.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.known.get(name).copied()
    }

    pub fn document(&self, path: &str) -> Option<u32> {
        self.documents.binary_search_by(|document| document.path.as_str().cmp(path)).ok().map(|at| at as u32)
    }

    pub fn occurrence(&self, place: Place) -> &Occurrence {
        &self.documents[place.document as usize].occurrences[place.at as usize]
    }

    /// All occurrences of a symbol, including definitions, by path and position.
    pub fn places(&self, symbol: u32) -> &[Place] {
        let bound = |at: usize| self.firsts.get(at).map_or(self.places.len(), |first| *first as usize);
        &self.places[bound(symbol as usize)..bound(symbol as usize + 1)]
    }

    /// The definitions of a symbol: usually one, and none if its source is not indexed.
    pub fn definitions(&self, symbol: u32) -> impl Iterator<Item = Place> {
        self.places(symbol).iter().copied().filter(|place| self.occurrence(*place).roles.is_definition())
    }

    /// The occurrences of a symbol that are not definitions.
    pub fn references(&self, symbol: u32) -> impl Iterator<Item = Place> {
        self.places(symbol).iter().copied().filter(|place| !self.occurrence(*place).roles.is_definition())
    }

    /// The symbols at a line and column of a document, both from 0, innermost first.
    pub fn at(&self, document: u32, place: (u32, u32)) -> Vec<u32> {
        let Some(document) = self.documents.get(document as usize) else { return Vec::new() };
        let begun = document.occurrences.partition_point(|it| it.from <= place);
        let here = document.occurrences[..begun].iter().rev().filter(|it| it.to > place);
        here.map(|it| it.symbol).collect()
    }
}

/// A partially read index.
#[derive(Default)]
struct Reading {
    index: Index,
    /// The declared column encoding of each document.
    columns: Vec<Option<Columns>>,
    /// Interned strings of local symbols, which most documents share.
    local: FxHashSet<Arc<str>>,
}

impl Reading {
    fn metadata(&mut self, message: &[u8]) {
        let tool = Fields::new(message).flatten().find(|(field, _)| *field == 2);
        let Some((_, Value::Bytes(tool))) = tool else { return };
        for (field, value) in Fields::new(tool).flatten() {
            match (field, value.text()) {
                (1, Ok(name)) => name.clone_into(&mut self.index.tool),
                (2, Ok(version)) => version.clone_into(&mut self.index.version),
                _ => {}
            }
        }
    }

    fn document(&mut self, message: &[u8]) -> Result<(), Broken> {
        let (mut path, mut columns) = ("", None);
        for field in Fields::new(message) {
            match field? {
                (1, value) => path = value.text()?,
                (6, value) => columns = columns_of(value.number()?),
                _ => {}
            }
        }
        if !is_below(path) {
            self.index.damage.push(Damage::Outside { path: path.to_owned() });
            return Ok(());
        }
        let (mut occurrences, mut broken) = (Vec::new(), 0);
        let mut local = FxHashMap::default();
        for (field, value) in Fields::new(message).flatten() {
            let (2, Value::Bytes(bytes)) = (field, value) else { continue };
            match raw(bytes) {
                Ok(Some(raw)) => occurrences.push(self.named(&raw, &mut local)),
                Ok(None) => {}
                Err(_) => broken += 1,
            }
        }
        if broken > 0 {
            self.index.damage.push(Damage::Occurrences { path: path.to_owned(), count: broken });
        }
        occurrences.shrink_to_fit();
        self.columns.push(columns);
        let document = Document { path: path.to_owned(), columns: Columns::default(), occurrences };
        self.index.documents.push(document);
        Ok(())
    }

    fn named(&mut self, raw: &Raw, local: &mut FxHashMap<Arc<str>, u32>) -> Occurrence {
        let known = if raw.symbol.starts_with("local ") { local } else { &mut self.index.known };
        let symbol = known.get(raw.symbol).copied().unwrap_or_else(|| {
            let name = match self.local.get(raw.symbol) {
                Some(name) => Arc::clone(name),
                None => Arc::from(raw.symbol),
            };
            if raw.symbol.starts_with("local ") {
                self.local.insert(Arc::clone(&name));
            }
            let next = self.index.names.len() as u32;
            self.index.names.push(Arc::clone(&name));
            known.insert(name, next);
            next
        });
        let [line, column, end_line, end_column] = raw.range;
        Occurrence { from: (line, column), to: (end_line, end_column), symbol, roles: Roles(raw.roles) }
    }

    fn finish(self) -> Index {
        let mut index = self.index;
        let usual = COLUMNS.iter().find(|(tool, _)| *tool == index.tool).map_or(Columns::Utf8, |row| row.1);
        for (document, declared) in index.documents.iter_mut().zip(&self.columns) {
            document.columns = declared.unwrap_or(usual);
        }
        index.documents.sort_by(|one, other| one.path.cmp(&other.path));
        index.documents.dedup_by(|again, first| {
            let same = again.path == first.path;
            if same {
                first.occurrences.append(&mut again.occurrences);
            }
            same
        });
        for document in &mut index.documents {
            document.occurrences.sort_unstable();
        }
        index.invert();
        index
    }
}

impl Index {
    /// Builds the table from symbols to occurrences: counts first, then fills.
    fn invert(&mut self) {
        let mut firsts = vec![0_u32; self.names.len() + 1];
        for it in self.documents.iter().flat_map(|document| &document.occurrences) {
            firsts[it.symbol as usize + 1] += 1;
        }
        for at in 1..firsts.len() {
            firsts[at] += firsts[at - 1];
        }
        let mut next = firsts.clone();
        self.places = vec![Place { document: 0, at: 0 }; firsts[firsts.len() - 1] as usize];
        for (document, all) in self.documents.iter().enumerate() {
            for (at, it) in all.occurrences.iter().enumerate() {
                let slot = &mut next[it.symbol as usize];
                self.places[*slot as usize] = Place { document: document as u32, at: at as u32 };
                *slot += 1;
            }
        }
        self.firsts = firsts;
    }
}

fn columns_of(encoding: u64) -> Option<Columns> {
    match encoding {
        1 => Some(Columns::Utf8),
        2 => Some(Columns::Utf16),
        3 => Some(Columns::Utf32),
        _ => None,
    }
}

/// Whether a path stays within the indexed folder, as the format requires.
fn is_below(path: &str) -> bool {
    path.split('/').all(|step| !matches!(step, "" | "." | ".."))
}

/// An occurrence before its symbol is interned.
struct Raw<'a> {
    /// Start line and column, end line and column.
    range: [u32; 4],
    symbol: &'a str,
    roles: u32,
}

/// The fields that encode a range: three or four packed numbers, or a message with them.
const RANGE: u64 = 1;
const ONE_LINE: u64 = 8;
const MORE_LINES: u64 = 9;

/// `None` if the occurrence has no symbol: some indexers use that for syntax highlighting.
fn raw(message: &[u8]) -> Result<Option<Raw<'_>>, Broken> {
    let (mut numbers, mut symbol, mut roles) = (Numbers::default(), "", 0);
    for field in Fields::new(message) {
        match field? {
            (RANGE, Value::Number(number)) => numbers.push(number),
            (RANGE, value) => wire::numbers(value.bytes()?, |number| numbers.push(number))?,
            (2, value) => symbol = value.text()?,
            (3, value) => roles = value.number()? as u32,
            (ONE_LINE, value) => numbers = Numbers::from_fields(value.bytes()?, 3)?,
            (MORE_LINES, value) => numbers = Numbers::from_fields(value.bytes()?, 4)?,
            _ => {}
        }
    }
    if symbol.is_empty() {
        return Ok(None);
    }
    Ok(Some(Raw { range: numbers.range()?, symbol, roles }))
}

#[derive(Default)]
struct Numbers {
    first: [u64; 4],
    count: usize,
}

impl Numbers {
    fn push(&mut self, number: u64) {
        if let Some(slot) = self.first.get_mut(self.count) {
            *slot = number;
        }
        self.count += 1;
    }

    /// The numbers in a message's fields; zeros are omitted in the encoding.
    fn from_fields(message: &[u8], count: usize) -> Result<Numbers, Broken> {
        let mut numbers = Numbers { count, ..Numbers::default() };
        for field in Fields::new(message) {
            let (field, value) = field?;
            if let Some(slot) = numbers.first.get_mut(field.wrapping_sub(1) as usize) {
                *slot = value.number()?;
            }
        }
        Ok(numbers)
    }

    fn range(&self) -> Result<[u32; 4], Broken> {
        let [line, column, third, fourth] = self.first;
        let range = match self.count {
            3 => [line, column, line, third],
            4 => [line, column, third, fourth],
            _ => return Err(Broken::Short),
        };
        let fits = |number: u64| i32::try_from(number).map_or(Err(Broken::Number), |it| Ok(it as u32));
        let [line, column, end_line, end_column] = range;
        let range = [fits(line)?, fits(column)?, fits(end_line)?, fits(end_column)?];
        if (range[0], range[1]) > (range[2], range[3]) { Err(Broken::Number) } else { Ok(range) }
    }
}
