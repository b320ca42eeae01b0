//! A source tree as an edit sees it: its codebase, and the text of its files as they are on disk, read once.
//!
//! Does not know what an edit does to them.

use crate::error::EditError;
use crate::shape::Nodes;
use crate::text::{SourceText, byte_at};
use code::{Codebase, Layout, read_tree};
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syntax::{Digest, Occurrences, Reader, Symbols, language_of};

/// A source tree.
pub struct Tree {
    pub root: PathBuf,
    pub code: Codebase,
    /// The files of the codebase, by path.
    numbers: FxHashMap<String, u32>,
    files: Vec<OnceCell<(u64, Option<SourceText>)>>,
    readers: RefCell<Vec<(&'static str, Reader)>>,
}

/// A declaration, or a place inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolPlace {
    pub file: String,
    /// A byte of the declared name, of its signature, or of any mention of a local variable.
    pub at: u32,
    pub name: String,
}

impl Tree {
    /// Reads a whole tree.
    pub fn open(root: &Path, threads: usize) -> Result<Tree, EditError> {
        let layout = code::discover(root).map_err(|error| {
            EditError::io(root.to_string_lossy(), std::io::Error::other(error.to_string()))
        })?;
        Ok(Tree::with_layout(root, &layout, threads))
    }

    pub fn with_layout(root: &Path, layout: &Layout, threads: usize) -> Tree {
        Tree::with_codebase(root, read_tree(root, layout, threads).0)
    }

    pub fn with_codebase(root: &Path, code: Codebase) -> Tree {
        let numbers =
            code.files.iter().enumerate().map(|(at, file)| (file.path.clone(), at as u32)).collect();
        let files = code.files.iter().map(|_| OnceCell::new()).collect();
        Tree { root: root.to_path_buf(), code, numbers, files, readers: RefCell::default() }
    }

    pub fn file_number(&self, path: &str) -> Option<u32> {
        self.numbers.get(path).copied()
    }

    pub fn path(&self, file: u32) -> &str {
        &self.code.files[file as usize].path
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Result<&SourceText, EditError> {
        let (_, text) = self.read(path)?;
        text.as_ref().ok_or_else(|| EditError::Encoding(path.to_owned()))
    }

    /// The digest of a file's content.
    pub fn digest(&self, path: &str) -> Result<u64, EditError> {
        Ok(self.read(path)?.0)
    }

    /// The digests of the files that were read so far: what was planned rests on them.
    pub(crate) fn digests_read(&self) -> BTreeMap<String, u64> {
        let read = self.code.files.iter().zip(&self.files);
        read.filter_map(|(file, cell)| Some((file.path.clone(), cell.get()?.0))).collect()
    }

    fn read(&self, path: &str) -> Result<&(u64, Option<SourceText>), EditError> {
        let number = self.file_number(path).ok_or_else(|| EditError::Outside(path.to_owned()))?;
        let cell = &self.files[number as usize];
        if let Some(known) = cell.get() {
            return Ok(known);
        }
        let bytes = project::read_source(&self.root, path).map_err(|error| EditError::io(path, error))?;
        Ok(cell.get_or_init(|| (Digest::of_bytes(&bytes).0, SourceText::decode(&bytes))))
    }

    /// The occurrences of a name in a file.
    pub fn occurrences(&self, file: u32, name: &str) -> Result<Occurrences, EditError> {
        let source = self.text(self.path(file))?;
        Ok(self.occurrences_in(file, &source.text, name))
    }

    /// The occurrences of a name in another text of a file.
    pub(crate) fn occurrences_in(&self, file: u32, text: &str, name: &str) -> Occurrences {
        let find = |reader: &mut Reader, symbols: &Symbols| reader.occurrences(text, symbols, name);
        self.with_reader(self.path(file), find).unwrap_or_default()
    }

    /// The number of places in a text of a file, which need not exist, that do not parse.
    pub(crate) fn gap_count(&self, path: &str, text: &str) -> usize {
        self.with_reader(path, |reader, symbols| reader.read(text, symbols).gaps.len()).unwrap_or(0)
    }

    /// The syntax nodes of a file.
    pub(crate) fn nodes(&self, file: u32) -> Result<Nodes, EditError> {
        let source = self.text(self.path(file))?;
        let read = |reader: &mut Reader, symbols: &Symbols| reader.nodes(&source.text, symbols);
        Ok(Nodes(self.with_reader(self.path(file), read).unwrap_or_default()))
    }

    fn with_reader<T>(&self, path: &str, work: impl FnOnce(&mut Reader, &Symbols) -> T) -> Option<T> {
        let language = language_of(path.as_ref())?;
        let mut readers = self.readers.borrow_mut();
        if !readers.iter().any(|(name, _)| *name == language.name) {
            readers.push((language.name, Reader::new(language).ok()?));
        }
        let (_, reader) = readers.iter_mut().find(|(name, _)| *name == language.name)?;
        let none = Symbols::default();
        let source = self.file_number(path).map(|file| &self.code.files[file as usize]);
        let project = source.and_then(|source| self.code.projects.get(source.project as usize));
        let symbols = project.map_or(&none, |it| &it.symbols);
        Some(work(reader, symbols))
    }

    /// The files that may mention a name and are in the same language as a file, by number.
    pub(crate) fn files_mentioning(&self, name: &str, like: u32) -> Vec<u32> {
        let family = language_family(self.path(like));
        let mentions = |path: &str| match self.read(path) {
            Ok((_, Some(source))) => !syntax::whole_words(&source.text, name).is_empty(),
            _ => false,
        };
        let files =
            self.code.files.iter().enumerate().filter(|(_, file)| language_family(&file.path) == family);
        files.filter(|(_, file)| mentions(&file.path)).map(|(at, _)| at as u32).collect()
    }

    /// `src/a.rs:12:5` as a place; `None` for a text that does not end in a line and a column.
    pub fn parse_place(&self, text: &str) -> Option<Result<SymbolPlace, EditError>> {
        let mut parts = text.trim().rsplitn(3, ':');
        let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(self.place_at(file, line.parse().ok()?, column.parse().ok()?))
    }

    /// The place at a line and a column, with the name that is there.
    pub fn place_at(&self, file: &str, line: u32, column: u32) -> Result<SymbolPlace, EditError> {
        let text = &self.text(file)?.text;
        let nowhere = || EditError::NotFound(format!("{file}:{line}:{column}"));
        let at = byte_at(text, line.max(1), column.max(1)).ok_or_else(nowhere)?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let from = text[..at]
            .rfind(|c: char| !is_word(c))
            .map_or(0, |end| end + text[end..].chars().next().map_or(1, char::len_utf8));
        let to = text[at..].find(|c: char| !is_word(c)).map_or(text.len(), |end| at + end);
        let name = text[from..to].to_owned();
        if name.is_empty() {
            return Err(nowhere());
        }
        Ok(SymbolPlace { file: file.to_owned(), at: from as u32, name })
    }
}

/// Languages whose files can name each other's symbols.
pub(crate) fn language_family(path: &str) -> &'static str {
    match language_of(path.as_ref()).map_or("", |language| language.name) {
        "JavaScript" => "TypeScript",
        name => name,
    }
}
