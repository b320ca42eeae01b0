//! C#: prepares its text for the grammar and extracts facts from the tree.
//!
//! Does not know projects or other files.

mod declarations;
mod kinds;
mod lex;
mod member_access;
mod members;
mod normalize;
mod prepare;
mod references;
mod walk;
pub mod well_known;

use crate::language::{Extraction, Language, Level};
use crate::preprocessor::Symbols;
use crate::token::{PreparedText, Source};
#[doc(hidden)] // for tests that edit source token by token
pub use lex::tokenize;

pub(crate) const LANGUAGE: Language = Language {
    name: "C#",
    level: Level::Resolved,
    extensions: &["cs"],
    grammar: || grammars::c_sharp().into(),
    extraction: Extraction::Custom { prepare: prepare_source, extract: declarations::extract_facts },
    module_path: None,
};

fn prepare_source(text: &str, symbols: &Symbols) -> PreparedText {
    let tokens = tokenize(text, symbols);
    let bytes = prepare::prepare_bytes(&Source { text, tokens: &tokens });
    PreparedText { bytes, tokens, hidden: Vec::new() }
}
