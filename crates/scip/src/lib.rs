//! Reads SCIP indexes, which compilers and indexers write: an `index.scip` lists every definition and reference. Builds tables
//! that answer where a symbol is defined, where it is used, and which symbol is at a position.
//!
//! Does not know our own types, nor whether the index still matches the sources, and does not create indexes.

mod descriptor;
mod positions;
mod wire;

pub use descriptor::{SymbolKind, describe_symbol, is_local, symbol_package, symbol_path};
pub use positions::{ColumnEncoding, Lines};

use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::{DecodeError, Fields, Stream, Value};

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
    pub columns: ColumnEncoding,
    /// Sorted by position.
    pub occurrences: Vec<Occurrence>,
}

/// Refers to an occurrence by the numbers of its document and of itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OccurrenceId {
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
    offsets: Vec<u32>,
    occurrences: Vec<OccurrenceId>,
}

/// Indexers that do not declare their column encoding and use that of their implementation language. Others use UTF-8.
const DEFAULT_COLUMNS: &[(&str, ColumnEncoding)] = &[
    ("scip-typescript", ColumnEncoding::Utf16),
    ("scip-python", ColumnEncoding::Utf16),
    ("scip-java", ColumnEncoding::Utf16),
    ("scip-dotnet", ColumnEncoding::Utf16),
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
        let mut reading = IndexBuilder::default();
        let mut stream = Stream::new(source);
        while let Some(field) = stream.next_field(|field| field <= 2)? {
            match field {
                Ok(1) => reading.read_metadata(&stream.buffer),
                Ok(2) if reading.read_document(&stream.buffer).is_err() => {
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

    pub fn symbol_count(&self) -> u32 {
        self.names.len() as u32
    }

    /// The SCIP string of a symbol.
    pub fn symbol_name(&self, symbol: u32) -> &str {
        self.names.get(symbol as usize).map_or("", |name| name)
    }

    /// Finds a symbol by its SCIP string; local symbols cannot be found, because their strings are not unique.
    pub fn find_symbol(&self, name: &str) -> Option<u32> {
        self.known.get(name).copied()
    }

    pub fn find_document(&self, path: &str) -> Option<u32> {
        self.documents.binary_search_by(|document| document.path.as_str().cmp(path)).ok().map(|at| at as u32)
    }

    pub fn occurrence(&self, place: OccurrenceId) -> &Occurrence {
        &self.documents[place.document as usize].occurrences[place.at as usize]
    }

    /// All occurrences of a symbol, including definitions, by path and position.
    pub fn occurrences_of(&self, symbol: u32) -> &[OccurrenceId] {
        let bound = |at: usize| self.offsets.get(at).map_or(self.occurrences.len(), |first| *first as usize);
        &self.occurrences[bound(symbol as usize)..bound(symbol as usize + 1)]
    }

    /// The definitions of a symbol: usually one, and none if its source is not indexed.
    pub fn definitions_of(&self, symbol: u32) -> impl Iterator<Item = OccurrenceId> {
        self.occurrences_of(symbol)
            .iter()
            .copied()
            .filter(|place| self.occurrence(*place).roles.is_definition())
    }

    /// The occurrences of a symbol that are not definitions.
    pub fn references_to(&self, symbol: u32) -> impl Iterator<Item = OccurrenceId> {
        self.occurrences_of(symbol)
            .iter()
            .copied()
            .filter(|place| !self.occurrence(*place).roles.is_definition())
    }

    /// The symbols at a line and column of a document, both from 0, innermost first.
    pub fn symbols_at(&self, document: u32, place: (u32, u32)) -> Vec<u32> {
        let Some(document) = self.documents.get(document as usize) else { return Vec::new() };
        let begun = document.occurrences.partition_point(|it| it.from <= place);
        let here = document.occurrences[..begun].iter().rev().filter(|it| it.to > place);
        here.map(|it| it.symbol).collect()
    }
}

/// A partially read index.
#[derive(Default)]
struct IndexBuilder {
    index: Index,
    /// The declared column encoding of each document.
    columns: Vec<Option<ColumnEncoding>>,
    /// Interned strings of local symbols, which most documents share.
    local: FxHashSet<Arc<str>>,
}

impl IndexBuilder {
    fn read_metadata(&mut self, message: &[u8]) {
        let tool = Fields::new(message).flatten().find(|(field, _)| *field == 2);
        let Some((_, Value::Bytes(tool))) = tool else { return };
        for (field, value) in Fields::new(tool).flatten() {
            match (field, value.expect_text()) {
                (1, Ok(name)) => name.clone_into(&mut self.index.tool),
                (2, Ok(version)) => version.clone_into(&mut self.index.version),
                _ => {}
            }
        }
    }

    fn read_document(&mut self, message: &[u8]) -> Result<(), DecodeError> {
        let (mut path, mut columns) = ("", None);
        for field in Fields::new(message) {
            match field? {
                (1, value) => path = value.expect_text()?,
                (6, value) => columns = column_encoding(value.expect_number()?),
                _ => {}
            }
        }
        if !is_inside_folder(path) {
            self.index.damage.push(Damage::Outside { path: path.to_owned() });
            return Ok(());
        }
        let (mut occurrences, mut broken) = (Vec::new(), 0);
        let mut local = FxHashMap::default();
        for (field, value) in Fields::new(message).flatten() {
            let (2, Value::Bytes(bytes)) = (field, value) else { continue };
            match decode_occurrence(bytes) {
                Ok(Some(raw)) => occurrences.push(self.intern_occurrence(&raw, &mut local)),
                Ok(None) => {}
                Err(_) => broken += 1,
            }
        }
        if broken > 0 {
            self.index.damage.push(Damage::Occurrences { path: path.to_owned(), count: broken });
        }
        occurrences.shrink_to_fit();
        self.columns.push(columns);
        let document = Document { path: path.to_owned(), columns: ColumnEncoding::default(), occurrences };
        self.index.documents.push(document);
        Ok(())
    }

    fn intern_occurrence(&mut self, raw: &RawOccurrence, local: &mut FxHashMap<Arc<str>, u32>) -> Occurrence {
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
        let usual = DEFAULT_COLUMNS
            .iter()
            .find(|(tool, _)| *tool == index.tool)
            .map_or(ColumnEncoding::Utf8, |row| row.1);
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
        index.build_symbol_table();
        index
    }
}

impl Index {
    /// Builds the table from symbols to occurrences: counts first, then fills.
    fn build_symbol_table(&mut self) {
        let mut firsts = vec![0_u32; self.names.len() + 1];
        for it in self.documents.iter().flat_map(|document| &document.occurrences) {
            firsts[it.symbol as usize + 1] += 1;
        }
        for at in 1..firsts.len() {
            firsts[at] += firsts[at - 1];
        }
        let mut next = firsts.clone();
        self.occurrences = vec![OccurrenceId { document: 0, at: 0 }; firsts[firsts.len() - 1] as usize];
        for (document, all) in self.documents.iter().enumerate() {
            for (at, it) in all.occurrences.iter().enumerate() {
                let slot = &mut next[it.symbol as usize];
                self.occurrences[*slot as usize] = OccurrenceId { document: document as u32, at: at as u32 };
                *slot += 1;
            }
        }
        self.offsets = firsts;
    }
}

fn column_encoding(encoding: u64) -> Option<ColumnEncoding> {
    match encoding {
        1 => Some(ColumnEncoding::Utf8),
        2 => Some(ColumnEncoding::Utf16),
        3 => Some(ColumnEncoding::Utf32),
        _ => None,
    }
}

/// Whether a path stays within the indexed folder, as the format requires.
fn is_inside_folder(path: &str) -> bool {
    path.split('/').all(|step| !matches!(step, "" | "." | ".."))
}

/// An occurrence before its symbol is interned.
struct RawOccurrence<'a> {
    /// Start line and column, end line and column.
    range: [u32; 4],
    symbol: &'a str,
    roles: u32,
}

/// The fields that encode a range: three or four packed numbers, or a message with them.
const RANGE_FIELD: u64 = 1;
const SINGLE_LINE_FIELD: u64 = 8;
const MULTI_LINE_FIELD: u64 = 9;

/// `None` if the occurrence has no symbol: some indexers use that for syntax highlighting.
fn decode_occurrence(message: &[u8]) -> Result<Option<RawOccurrence<'_>>, DecodeError> {
    let (mut numbers, mut symbol, mut roles) = (RangeNumbers::default(), "", 0);
    for field in Fields::new(message) {
        match field? {
            (RANGE_FIELD, Value::Number(number)) => numbers.push(number),
            (RANGE_FIELD, value) => {
                wire::decode_packed(value.expect_bytes()?, |number| numbers.push(number))?;
            }
            (2, value) => symbol = value.expect_text()?,
            (3, value) => roles = value.expect_number()? as u32,
            (SINGLE_LINE_FIELD, value) => numbers = RangeNumbers::from_fields(value.expect_bytes()?, 3)?,
            (MULTI_LINE_FIELD, value) => numbers = RangeNumbers::from_fields(value.expect_bytes()?, 4)?,
            _ => {}
        }
    }
    if symbol.is_empty() {
        return Ok(None);
    }
    Ok(Some(RawOccurrence { range: numbers.to_range()?, symbol, roles }))
}

#[derive(Default)]
struct RangeNumbers {
    first: [u64; 4],
    count: usize,
}

impl RangeNumbers {
    fn push(&mut self, number: u64) {
        if let Some(slot) = self.first.get_mut(self.count) {
            *slot = number;
        }
        self.count += 1;
    }

    /// The numbers in a message's fields; zeros are omitted in the encoding.
    fn from_fields(message: &[u8], count: usize) -> Result<RangeNumbers, DecodeError> {
        let mut numbers = RangeNumbers { count, ..RangeNumbers::default() };
        for field in Fields::new(message) {
            let (field, value) = field?;
            if let Some(slot) = numbers.first.get_mut(field.wrapping_sub(1) as usize) {
                *slot = value.expect_number()?;
            }
        }
        Ok(numbers)
    }

    fn to_range(&self) -> Result<[u32; 4], DecodeError> {
        let [line, column, third, fourth] = self.first;
        let range = match self.count {
            3 => [line, column, line, third],
            4 => [line, column, third, fourth],
            _ => return Err(DecodeError::Short),
        };
        let fits = |number: u64| i32::try_from(number).map_or(Err(DecodeError::Number), |it| Ok(it as u32));
        let [line, column, end_line, end_column] = range;
        let range = [fits(line)?, fits(column)?, fits(end_line)?, fits(end_column)?];
        if (range[0], range[1]) > (range[2], range[3]) { Err(DecodeError::Number) } else { Ok(range) }
    }
}
