//! What a language has to bring to be read.
//!
//! Does not know any language; `reader` lists them.

use crate::facts::FileFacts;
use crate::module_path::{self, Home};
use crate::preprocessor::Symbols;
use crate::token::{Prepared, Source};
use crate::walk::Reading;
use tree_sitter::Tree;

/// What makes a language one that can be read.
pub struct Language {
    pub name: &'static str,
    /// How the names of its files end, without the dot.
    pub endings: &'static [&'static str],
    pub(crate) grammar: fn() -> tree_sitter::Language,
    pub(crate) manner: Manner,
    /// Where a file of it stands, by the name of its project and the path in it; none if the file itself says so.
    pub(crate) home: Option<fn(&str, &str) -> Home>,
}

/// How a text becomes facts.
pub(crate) enum Manner {
    /// As a table says that all such languages share.
    Table(&'static Reading),
    /// By rules of the language's own.
    Own {
        /// Text as the grammar can take it, every byte in its place, and the tokens it is made of.
        prepare: fn(&str, &Symbols) -> Prepared,
        extract: for<'a> fn(&'a Tree, &'a Source<'a>) -> FileFacts,
    },
}

impl Language {
    /// Tells the facts of a file where it is: at `path` in `project`, which has its own names for other projects. Once told, they
    /// keep it.
    pub fn place(&self, facts: &mut FileFacts, project: &str, path: &str, aliases: &[(String, String)]) {
        if let Some(home) = self.home {
            module_path::place(facts, home, project, path, aliases);
        }
    }
}
