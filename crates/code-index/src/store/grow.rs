//! A codebase of a few files of the index, which grows by what it is asked for: to plan an edit without joining the whole tree.
//!
//! Does not know what is planned.

use super::partial::PartialJoin;
use super::table::Table;
use super::{PROJECTS, Store, StoreError};
use code::Codebase;
use project::Project;
use std::collections::BTreeSet;
use syntax::TypeId;

/// A file of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedFile {
    pub path: String,
    /// Index of the project.
    pub project: u32,
    /// The digest of its content.
    pub digest: u64,
}

/// Part of a codebase. It is joined, asked, and grown until it resolves names as the whole would.
pub struct PartialCodebase<'a> {
    table: Table<'a>,
    partial: PartialJoin,
    /// Types whose subtypes have been loaded.
    extended: BTreeSet<TypeId>,
}

impl Store {
    /// All files of the index, by path.
    pub fn indexed_files(&self) -> Result<Vec<IndexedFile>, StoreError> {
        let files = Table::new(&self.db).files()?.into_iter();
        let to_file = |(path, row): (String, super::table::FileRow)| IndexedFile {
            path,
            project: row.project,
            digest: row.digest,
        };
        Ok(files.map(to_file).collect())
    }

    /// The codebase of some files.
    pub fn partial_codebase(&self, paths: &BTreeSet<String>) -> Result<PartialCodebase<'_>, StoreError> {
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let partial = PartialJoin::start(&mut table, &projects, Vec::new())?;
        let mut found = PartialCodebase { table, partial, extended: BTreeSet::new() };
        found.load_files(paths)?;
        Ok(found)
    }
}

impl PartialCodebase<'_> {
    pub fn join(&mut self) -> Codebase {
        self.partial.join()
    }

    /// Loads what a codebase was asked for and did not have, and some files; whether there was anything.
    pub fn load_missing(&mut self, code: &Codebase, paths: &BTreeSet<String>) -> Result<bool, StoreError> {
        let has_files = self.load_files(paths)?;
        let has_names = self.partial.load_declarations(&mut self.table, code.tables.looked_up_names())?;
        let has_subtypes = self.load_subtypes(code.types_with_wanted_subtypes().collect())?;
        Ok(has_files || has_names || has_subtypes)
    }

    /// Takes a codebase back, to join it with more.
    pub fn take_back(&mut self, code: Codebase) {
        self.partial.take_back(code);
    }

    fn load_files(&mut self, paths: &BTreeSet<String>) -> Result<bool, StoreError> {
        let mut files = Vec::new();
        for path in paths.iter().filter(|path| !self.partial.has_file(path)) {
            if let Some(row) = self.table.find_file(path)? {
                files.push(self.table.load_source(row.id)?);
            }
        }
        let has_any = !files.is_empty();
        self.partial.add_files(&mut self.table, files)?;
        Ok(has_any)
    }

    /// Loads the files that declare direct and indirect subtypes.
    fn load_subtypes(&mut self, mut of: Vec<TypeId>) -> Result<bool, StoreError> {
        let mut paths = BTreeSet::new();
        while let Some(next) = of.pop() {
            if !self.extended.insert(next) {
                continue;
            }
            for subtype in self.table.users_of(next, true)? {
                paths.extend(self.table.load_summary(subtype)?.into_iter().flat_map(|it| it.files));
                of.push(subtype);
            }
        }
        self.load_files(&paths)
    }
}
