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

use crate::language::{Language, Manner};
use crate::preprocessor::Symbols;
use crate::token::{Prepared, Source};
pub(crate) use lex::lex;

pub(crate) const LANGUAGE: Language = Language {
    name: "C#",
    endings: &["cs"],
    grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
    manner: Manner::Own { prepare: prepare, extract: declarations::extract },
    home: None,
};

fn prepare(text: &str, symbols: &Symbols) -> Prepared {
    let tokens = lex(text, symbols);
    let bytes = prepare::prepare(&Source { text, tokens: &tokens });
    Prepared { bytes, tokens }
}
