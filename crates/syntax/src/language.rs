//! The description of a supported language.
//!
//! Does not know a particular language; `reader` lists them.

use crate::facts::FileFacts;
use crate::module_path::{self, ModulePath};
use crate::preprocessor::Symbols;
use crate::token::{PreparedText, Source};
use crate::walk::LazyDialect;
use tree_sitter::Tree;

/// A supported programming language.
pub struct Language {
    pub name: &'static str,
    /// File name extensions, without the dot.
    pub extensions: &'static [&'static str],
    pub(crate) grammar: fn() -> tree_sitter::Language,
    pub(crate) extraction: Extraction,
    /// Derives the module path of a file from the name of its project and its path there; `None` if the file declares it.
    pub(crate) module_path: Option<fn(&str, &str) -> ModulePath>,
}

/// How facts are extracted from a text.
pub(crate) enum Extraction {
    /// By the shared tree walk, driven by a table.
    Table(&'static LazyDialect),
    /// By code specific to the language.
    Custom {
        /// Rewrites constructs that the grammar rejects, without moving any byte, and returns the tokens.
        prepare: fn(&str, &Symbols) -> PreparedText,
        extract: for<'a> fn(&'a Tree, &'a Source<'a>) -> FileFacts,
    },
}

impl Language {
    /// Qualifies the facts of a file with its module path, for `path` in `project`. `aliases` are the project's own names for
    /// other projects. Repeated calls have no effect.
    pub fn apply_module_path(
        &self,
        facts: &mut FileFacts,
        project: &str,
        path: &str,
        aliases: &[(String, String)],
    ) {
        if let Some(home) = self.module_path {
            module_path::apply_module_path(facts, home, project, path, aliases);
        }
    }
}
