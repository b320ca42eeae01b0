//! The description of a supported language.
//!
//! Does not know a particular language; `reader` lists them.

use crate::effort::EffortLimit;
use crate::module_path::{self, ModulePath};
use crate::preprocessor::Symbols;
use crate::token::{PreparedText, Source};
use crate::walk::LazyDialect;
use facts::FileFacts;
use tree_sitter::Tree;

/// A supported programming language.
pub struct Language {
    pub name: &'static str,
    pub level: Level,
    /// File name extensions, without the dot.
    pub extensions: &'static [&'static str],
    pub(crate) grammar: fn() -> tree_sitter::Language,
    pub(crate) extraction: Extraction,
    /// Derives the module path of a file from the name of its project and its path there; `None` if the file declares it.
    pub(crate) module_path: Option<fn(&str, &str) -> ModulePath>,
}

/// How much of a language is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Declarations, and references that are resolved by the rules of the language.
    Resolved,
    /// Declarations. References are names in the text: a usage is never more than possible.
    Declarations,
}

/// Languages that can use each other's declarations.
const INTEROPERABLE: &[&[&str]] = &[&["C", "C++"], &["Java", "Kotlin"]];

/// How facts are extracted from a text.
pub(crate) enum Extraction {
    /// By the shared tree walk, driven by a table.
    Table(&'static LazyDialect),
    /// By code specific to the language.
    Custom {
        /// Rewrites constructs that the grammar rejects, without moving any byte, and returns the tokens.
        prepare: fn(&str, &Symbols) -> PreparedText,
        extract: for<'a> fn(&'a Tree, &'a Source<'a>, &'a EffortLimit<'a>) -> FileFacts,
    },
}

impl Language {
    /// Whether a name in a file of another language may mean a declaration in this one. Only textual references are restricted:
    /// in a Python package with C sources, each `run` in C would be a possible usage of a method `run`.
    pub fn may_be_named_in(&self, other: &Language) -> bool {
        let is_textual = self.level == Level::Declarations || other.level == Level::Declarations;
        let together = |group: &&[&str]| group.contains(&self.name) && group.contains(&other.name);
        !is_textual || self.name == other.name || INTEROPERABLE.iter().any(together)
    }

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
