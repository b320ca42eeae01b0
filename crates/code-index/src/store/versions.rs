//! Other versions of some files of an index: their types, resolved against everything else in it.
//!
//! Does not know which version it is, or where it comes from.

use super::partial::{DeclarationSource, join_partial};
use super::table::Table;
use code::Outliner;
use code::SourceFile;
use code::TypeSummary;
use project::Project;
use std::collections::BTreeSet;
use syntax::{Reader, TypeId, decode_text, language_of};

/// Parses a version of a file; `None` if its language is unknown.
pub(super) fn parse_version(
    projects: &[Project],
    path: &str,
    project: u32,
    bytes: &[u8],
) -> Option<SourceFile> {
    let mut reader = Reader::new(language_of(path.as_ref())?).ok()?;
    let symbols = projects.get(project as usize).map(|it| it.symbols.clone()).unwrap_or_default();
    let facts = reader.read(&decode_text(bytes), &symbols);
    Some(SourceFile { path: path.to_owned(), project, generated: false, facts })
}

/// The declarations of an index, without those of some files.
pub(super) struct WithoutFiles<'a> {
    pub(super) table: Table<'a>,
    pub(super) files: &'a BTreeSet<String>,
}

impl WithoutFiles<'_> {
    /// Joins other versions of the files; returns the types in them, and the wanted ones.
    pub(super) fn summarize(
        &mut self,
        projects: &[Project],
        start: Vec<SourceFile>,
        wanted: &BTreeSet<TypeId>,
    ) -> Result<Vec<TypeSummary>, db::Error> {
        let files = self.files;
        let (_, found) = join_partial(self, projects, start, |code, resolver| {
            let outliner = Outliner::new(code, resolver);
            let is_wanted = |of: &u32| {
                let each = &code.types[*of as usize];
                let mut paths = each.parts.iter().map(|(file, _)| &code.files[*file as usize].path);
                wanted.contains(&each.id) || paths.any(|path| files.contains(path))
            };
            let wanted = (0..code.types.len() as u32).filter(is_wanted);
            wanted.map(|of| TypeSummary::build(code, resolver, &outliner, of)).collect::<Vec<_>>()
        })?;
        Ok(found)
    }
}

impl DeclarationSource for WithoutFiles<'_> {
    type Error = db::Error;

    fn files_declaring(
        &mut self,
        words: &BTreeSet<String>,
        had: &BTreeSet<String>,
    ) -> Result<(Vec<SourceFile>, Vec<Vec<String>>), db::Error> {
        let had = had.union(self.files).cloned().collect();
        self.table.files_declaring(words, &had)
    }
}
