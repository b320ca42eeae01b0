//! A source tree as an edit sees it: its codebase, or as much of it as the edit needs, and the text of its files.
//!
//! Does not know what an edit does to them.

use crate::error::EditError;
use crate::shape::Nodes;
use crate::sources::{Sources, language_family};
use crate::text::SourceText;
use code::{Codebase, Layout, NameReport, Resolver, UsageFinder, read_tree};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use syntax::Occurrences;

/// A source tree.
pub struct Tree {
    pub sources: Rc<Sources>,
    pub code: Codebase,
    /// The files of the codebase, by path.
    numbers: FxHashMap<String, u32>,
    /// Files that were needed and are not in the codebase.
    missing: RefCell<BTreeSet<String>>,
    /// What names refer to, by family of languages and name.
    reports: RefCell<FxHashMap<(&'static str, String), Rc<NameReport>>>,
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
        Tree::new(Rc::new(Sources::of_codebase(root, &code)), code)
    }

    /// A codebase of some of the sources.
    pub fn new(sources: Rc<Sources>, code: Codebase) -> Tree {
        let numbers =
            code.files.iter().enumerate().map(|(at, file)| (file.path.clone(), at as u32)).collect();
        Tree { sources, code, numbers, missing: RefCell::default(), reports: RefCell::default() }
    }

    pub fn root(&self) -> &Path {
        &self.sources.root
    }

    /// The files that were needed and are not in the codebase.
    pub fn missing_files(&self) -> BTreeSet<String> {
        self.missing.borrow().clone()
    }

    pub fn file_number(&self, path: &str) -> Option<u32> {
        let found = self.numbers.get(path).copied();
        if found.is_none() && self.sources.contains(path) {
            self.missing.borrow_mut().insert(path.to_owned());
        }
        found
    }

    pub fn path(&self, file: u32) -> &str {
        &self.code.files[file as usize].path
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Result<&SourceText, EditError> {
        self.sources.text(path)
    }

    /// The digest of a file's content.
    pub fn digest(&self, path: &str) -> Result<u64, EditError> {
        self.sources.digest(path)
    }

    /// The occurrences of a name in a file.
    pub fn occurrences(&self, file: u32, name: &str) -> Result<Rc<Occurrences>, EditError> {
        self.sources.occurrences(self.path(file), name, &self.code.files[file as usize].facts)
    }

    /// The syntax nodes of a file.
    pub(crate) fn nodes(&self, file: u32) -> Result<Nodes, EditError> {
        self.sources.nodes(self.path(file))
    }

    /// The files that may mention a name and are in the same language as a file, by number.
    pub(crate) fn files_mentioning(&self, name: &str, like: u32) -> Vec<u32> {
        let paths = self.sources.mentioning(name, language_family(self.path(like)));
        let mut files: Vec<u32> = paths.iter().filter_map(|path| self.file_number(path)).collect();
        files.sort_unstable();
        files
    }

    /// What a name refers to in the files in the language of a file.
    pub(crate) fn report_name(&self, name: &str, like: u32) -> Rc<NameReport> {
        let key = (language_family(self.path(like)), name.to_owned());
        if let Some(known) = self.reports.borrow().get(&key) {
            return known.clone();
        }
        // the codebase has to have all of them
        self.files_mentioning(name, like);
        let resolver = Resolver::new(&self.code);
        let found = Rc::new(UsageFinder::new(&self.code, &resolver).report_name(name));
        self.reports.borrow_mut().insert(key, found.clone());
        found
    }
}
