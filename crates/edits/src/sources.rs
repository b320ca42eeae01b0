//! The source files of a tree as they are on disk, each read once and parsed as rarely as possible, whichever plan asks.
//!
//! Does not know what is declared in them.

use crate::edit::TextEdit;
use crate::error::EditError;
use crate::shape::Nodes;
use crate::text::{SourceText, apply_edits, byte_at};
use code::{Codebase, Project};
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use syntax::{Digest, FileFacts, Occurrences, ParsedText, Reader, Replaced, Span, Symbols, language_of};

/// Syntax trees are kept while their texts are smaller than this together. A tree is about fifteen times as large as its text.
const KEPT_TREES: usize = 8 << 20;

/// The source files of a tree.
pub struct Sources {
    pub root: PathBuf,
    projects: Vec<Project>,
    /// By path.
    files: BTreeMap<String, SourceOnDisk>,
    readers: RefCell<FxHashMap<&'static str, Reader>>,
    trees: RefCell<KeptTrees>,
    occurrences: RefCell<FxHashMap<(String, String), Rc<Occurrences>>>,
    /// Whether some edits of a file break it.
    broken: RefCell<FxHashMap<(String, Vec<TextEdit>), bool>>,
    /// The files that contain a name, by family of languages and name.
    searches: RefCell<FxHashMap<NameInFamily, Rc<Vec<String>>>>,
}

/// A name in a family of languages.
type NameInFamily = (&'static str, String);

fn keep_content<'a>(file: &'a SourceOnDisk, bytes: &[u8]) -> &'a Content {
    file.content.get_or_init(|| Content { digest: OnceCell::new(), text: SourceText::decode(bytes) })
}

/// A declaration, or a place inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolPlace {
    pub file: String,
    /// A byte of the declared name, of its signature, or of any mention of a local variable.
    pub at: u32,
    pub name: String,
}

/// A source file: where it belongs, and what was read of it.
struct SourceOnDisk {
    project: u32,
    /// The digest of the content that was indexed.
    indexed: Option<u64>,
    content: OnceCell<Content>,
}

struct Content {
    /// Computed when it is asked for: most texts are read to see that they lack a name.
    digest: OnceCell<u64>,
    /// `None` if encoding the text again would not give the same bytes.
    text: Option<SourceText>,
}

#[derive(Default)]
struct KeptTrees {
    bytes: usize,
    /// By path, and the name that a tree is around; no name for a whole tree.
    by_path: FxHashMap<(String, String), Rc<ParsedText>>,
}

impl Sources {
    /// The files with these paths, projects and digests.
    pub fn new(
        root: &Path,
        projects: Vec<Project>,
        files: impl IntoIterator<Item = (String, u32, Option<u64>)>,
    ) -> Sources {
        let to_file =
            |(path, project, indexed)| (path, SourceOnDisk { project, indexed, content: OnceCell::new() });
        Sources {
            root: root.to_path_buf(),
            projects,
            files: files.into_iter().map(to_file).collect(),
            readers: RefCell::default(),
            trees: RefCell::default(),
            occurrences: RefCell::default(),
            broken: RefCell::default(),
            searches: RefCell::default(),
        }
    }

    /// The files of a whole codebase.
    pub fn of_codebase(root: &Path, code: &Codebase) -> Sources {
        let files = code.files.iter().map(|file| (file.path.clone(), file.project, None));
        Sources::new(root, code.projects.clone(), files)
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether a folder has source files of the tree, at any depth.
    pub(crate) fn has_files_below(&self, folder: &str) -> bool {
        let start = format!("{folder}/");
        self.files.range(start.clone()..).next().is_some_and(|(path, _)| path.starts_with(&start))
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Result<&SourceText, EditError> {
        self.content(path)?.text.as_ref().ok_or_else(|| EditError::Encoding(path.to_owned()))
    }

    /// The digest of a file's content.
    pub(crate) fn digest(&self, path: &str) -> Result<u64, EditError> {
        let content = self.content(path)?;
        if let Some(known) = content.digest.get() {
            return Ok(*known);
        }
        let bytes = match &content.text {
            Some(source) => {
                source.encode(&source.text).ok_or_else(|| EditError::Encoding(path.to_owned()))?
            }
            None => self.read(path)?,
        };
        Ok(*content.digest.get_or_init(|| Digest::of_bytes(&bytes).0))
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

    /// The digests of the files that a plan rests on: those that were read, and those that were searched for a name.
    pub(crate) fn digests_read(&self) -> BTreeMap<String, u64> {
        let searched: BTreeSet<&str> = self.searches.borrow().keys().map(|(family, _)| *family).collect();
        let is_read = |(path, file): &(&String, &SourceOnDisk)| {
            file.content.get().is_some() || searched.contains(language_family(path))
        };
        let digest = |(path, file): (&String, &SourceOnDisk)| {
            let read = file.content.get().and_then(|it| it.digest.get().copied());
            Some((path.clone(), read.or(file.indexed).or_else(|| self.digest(path).ok())?))
        };
        self.files.iter().filter(is_read).filter_map(digest).collect()
    }

    fn content(&self, path: &str) -> Result<&Content, EditError> {
        let file = self.files.get(path).ok_or_else(|| EditError::Outside(path.to_owned()))?;
        match file.content.get() {
            Some(known) => Ok(known),
            None => Ok(keep_content(file, &self.read(path)?)),
        }
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, EditError> {
        project::read_source(&self.root, path).map_err(|error| EditError::io(path, error))
    }

    /// The files that contain a name as a whole word, in one family of languages.
    pub(crate) fn mentioning(&self, name: &str, family: &'static str) -> Rc<Vec<String>> {
        let key = (family, name.to_owned());
        if let Some(known) = self.searches.borrow().get(&key) {
            return known.clone();
        }
        let files = self.files.iter().filter(|(path, _)| language_family(path) == family);
        let found = files.filter(|(path, file)| self.mentions(path, file, name));
        let found = Rc::new(found.map(|(path, _)| path.clone()).collect::<Vec<_>>());
        self.searches.borrow_mut().insert(key, found.clone());
        found
    }

    fn mentions(&self, path: &str, file: &SourceOnDisk, name: &str) -> bool {
        let has_word = |content: &Content| {
            content.text.as_ref().is_some_and(|it| !syntax::whole_words(&it.text, name).is_empty())
        };
        if let Some(known) = file.content.get() {
            return has_word(known);
        }
        let Ok(bytes) = self.read(path) else { return false };
        // most files do not have it: they are neither decoded nor kept
        let is_wide = matches!(bytes.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let may_have = || memchr::memmem::find(&bytes, name.as_bytes()).is_some() || !name.is_ascii();
        let is_kept = file.indexed.is_none() || is_wide || may_have();
        is_kept && has_word(keep_content(file, &bytes))
    }

    /// The occurrences of a name in a file with these facts.
    pub(crate) fn occurrences(
        &self,
        path: &str,
        name: &str,
        facts: &FileFacts,
    ) -> Result<Rc<Occurrences>, EditError> {
        let key = (path.to_owned(), name.to_owned());
        if let Some(known) = self.occurrences.borrow().get(&key) {
            return Ok(known.clone());
        }
        let text = &self.text(path)?.text;
        let places = syntax::whole_words(text, name);
        let parsed = if places.is_empty() { None } else { self.parsed_around(path, name, &places, facts)? };
        let found = Rc::new(parsed.map_or_else(Occurrences::default, |it| it.occurrences(text, name)));
        self.occurrences.borrow_mut().insert(key, found.clone());
        Ok(found)
    }

    /// A file with a syntax tree that may lack the bodies without the name.
    fn parsed_around(
        &self,
        path: &str,
        name: &str,
        places: &[Span],
        facts: &FileFacts,
    ) -> Result<Option<Rc<ParsedText>>, EditError> {
        let whole = (path.to_owned(), String::new());
        if let Some(known) = self.trees.borrow().by_path.get(&whole) {
            return Ok(Some(known.clone()));
        }
        let has_name = |body: &Span| {
            let next = places.partition_point(|place| place.from < body.from);
            places.get(next).is_some_and(|place| place.from < body.to)
        };
        let members = facts.types.iter().flat_map(|part| &part.members);
        let mut bodies: Vec<Span> =
            members.filter_map(|it| it.body_span).filter(|it| !has_name(it)).collect();
        if !self.has_facts(path, facts)? {
            bodies.clear();
        }
        self.parse_once((path.to_owned(), name.to_owned()), &bodies)
    }

    /// Whether facts are those of the text that was read.
    fn has_facts(&self, path: &str, facts: &FileFacts) -> Result<bool, EditError> {
        let text = &self.text(path)?.text;
        let indexed = self.files.get(path).and_then(|file| file.indexed);
        let is_same = indexed.map_or(Ok(true), |indexed| Ok(self.digest(path)? == indexed));
        is_same.map(|is_same| is_same && facts.bytes as usize == text.len())
    }

    /// The syntax nodes of a file.
    pub(crate) fn nodes(&self, path: &str) -> Result<Nodes, EditError> {
        Ok(Nodes(self.parsed(path)?.map(|it| it.nodes()).unwrap_or_default()))
    }

    /// A file with its syntax tree; `None` for a language that cannot be parsed.
    fn parsed(&self, path: &str) -> Result<Option<Rc<ParsedText>>, EditError> {
        self.parse_once((path.to_owned(), String::new()), &[])
    }

    fn parse_once(
        &self,
        key: (String, String),
        without: &[Span],
    ) -> Result<Option<Rc<ParsedText>>, EditError> {
        if let Some(known) = self.trees.borrow().by_path.get(&key) {
            return Ok(Some(known.clone()));
        }
        let text = &self.text(&key.0)?.text;
        let parse = |reader: &mut Reader, symbols: &Symbols| reader.parse_around(text, symbols, without);
        let parsed = self.with_reader(&key.0, parse).flatten().map(Rc::new);
        let mut trees = self.trees.borrow_mut();
        if let Some(parsed) = parsed.as_ref().filter(|_| trees.bytes + text.len() <= KEPT_TREES) {
            trees.bytes += text.len();
            trees.by_path.insert(key, parsed.clone());
        }
        Ok(parsed)
    }

    /// The tree that shows whether a file still parses after some edits: where they only replace a name, the one around that name.
    fn parsed_for(&self, path: &str, edits: &[TextEdit]) -> Result<Option<Rc<ParsedText>>, EditError> {
        if let Some((name, _)) = self.renamed_word(path, edits)?
            && let Some(known) = self.trees.borrow().by_path.get(&(path.to_owned(), name.to_owned()))
        {
            return Ok(Some(known.clone()));
        }
        self.parsed(path)
    }

    /// The old and the new word, if that is all that edits replace.
    fn renamed_word<'e>(
        &'e self,
        path: &str,
        edits: &'e [TextEdit],
    ) -> Result<Option<(&'e str, &'e str)>, EditError> {
        let Some(first) = edits.first() else { return Ok(None) };
        let text = &self.text(path)?.text;
        let replaced = |edit: &TextEdit| text.get(edit.from as usize..edit.to as usize).unwrap_or_default();
        let both = (replaced(first), first.text.as_str());
        let are_words = is_word(both.0) && is_word(both.1);
        let is_same = |edit: &TextEdit| (replaced(edit), edit.text.as_str()) == both;
        Ok((are_words && edits.iter().all(is_same)).then_some(both))
    }

    /// Whether edits only give a name another name. A file parses afterwards as it did before.
    fn replaces_a_name(&self, path: &str, edits: &[TextEdit]) -> Result<bool, EditError> {
        let Some((old, new)) = self.renamed_word(path, edits)? else { return Ok(false) };
        let are_names = |reader: &mut Reader, _: &Symbols| !reader.is_keyword(old) && !reader.is_keyword(new);
        Ok(self.with_reader(path, are_names).unwrap_or(false))
    }

    /// Whether more of a file does not parse after some edits than before. The file need not exist.
    pub(crate) fn is_broken_by(&self, path: &str, edits: &[TextEdit]) -> Result<bool, EditError> {
        let key = (path.to_owned(), edits.to_vec());
        if let Some(known) = self.broken.borrow().get(&key) {
            return Ok(*known);
        }
        let is_broken = self.check_edited(path, edits)?;
        self.broken.borrow_mut().insert(key, is_broken);
        Ok(is_broken)
    }

    fn check_edited(&self, path: &str, edits: &[TextEdit]) -> Result<bool, EditError> {
        let is_new = !self.contains(path);
        if !is_new && self.replaces_a_name(path, edits)? {
            return Ok(false);
        }
        let text = if is_new { "" } else { &self.text(path)?.text };
        let after = apply_edits(text, edits).ok_or_else(|| EditError::Encoding(path.to_owned()))?;
        let before = if is_new { None } else { self.parsed_for(path, edits)? };
        let replaced: Vec<Replaced> = edits.iter().map(TextEdit::to_replaced).collect();
        let parse = |reader: &mut Reader, symbols: &Symbols| match &before {
            Some(before) => reader.parse_edited((before, text), &replaced, &after, symbols),
            None => reader.parse(&after, symbols),
        };
        let gaps = self.with_reader(path, parse).flatten().map_or(0, |it| it.gap_count());
        Ok(gaps > before.map_or(0, |it| it.gap_count()))
    }

    /// A file with some edits, and what it declares then.
    pub(crate) fn read_edited(
        &self,
        path: &str,
        edits: &[TextEdit],
    ) -> Result<(String, FileFacts), EditError> {
        let text = apply_edits(&self.text(path)?.text, edits);
        let text = text.ok_or_else(|| EditError::Encoding(path.to_owned()))?;
        let facts = self.with_reader(path, |reader, symbols| reader.read(&text, symbols));
        Ok((text, facts.unwrap_or_default()))
    }

    fn with_reader<T>(&self, path: &str, work: impl FnOnce(&mut Reader, &Symbols) -> T) -> Option<T> {
        let language = language_of(path.as_ref())?;
        let mut readers = self.readers.borrow_mut();
        if !readers.contains_key(language.name) {
            readers.insert(language.name, Reader::new(language).ok()?);
        }
        let none = Symbols::default();
        let project = self.files.get(path).and_then(|file| self.projects.get(file.project as usize));
        Some(work(readers.get_mut(language.name)?, project.map_or(&none, |it| &it.symbols)))
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl TextEdit {
    fn to_replaced(&self) -> Replaced {
        Replaced { span: Span { from: self.from, to: self.to }, length: self.text.len() as u32 }
    }
}

/// Languages whose files can name each other's symbols.
pub(crate) fn language_family(path: &str) -> &'static str {
    match language_of(path.as_ref()).map_or("", |language| language.name) {
        "JavaScript" => "TypeScript",
        name => name,
    }
}
