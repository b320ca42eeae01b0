//! The description of a supported language.
//!
//! Does not know a particular language; `reader` lists them.

use crate::facts::FileFacts;
use crate::module_path::{self, Home};
use crate::preprocessor::Symbols;
use crate::token::{Prepared, Source};
use crate::walk::Reading;
use tree_sitter::Tree;

/// A supported programming language.
pub struct Language {
    pub name: &'static str,
    /// File name extensions, without the dot.
    pub endings: &'static [&'static str],
    pub(crate) grammar: fn() -> tree_sitter::Language,
    pub(crate) manner: Manner,
    /// Derives the module path of a file from the name of its project and its path there; `None` if the file declares it.
    pub(crate) home: Option<fn(&str, &str) -> Home>,
}

/// How facts are extracted from a text.
pub(crate) enum Manner {
    /// By the shared tree walk, driven by a table.
    Table(&'static Reading),
    /// By code specific to the language.
    Own {
        /// Rewrites constructs that the grammar rejects, without moving any byte, and returns the tokens.
        prepare: fn(&str, &Symbols) -> Prepared,
        extract: for<'a> fn(&'a Tree, &'a Source<'a>) -> FileFacts,
    },
}

impl Language {
    /// Qualifies the facts of a file with its module path, for `path` in `project`. `aliases` are the project's own names for
    /// other projects. Repeated calls have no effect.
    pub fn place(&self, facts: &mut FileFacts, project: &str, path: &str, aliases: &[(String, String)]) {
        if let Some(home) = self.home {
            module_path::place(facts, home, project, path, aliases);
        }
    }
}
