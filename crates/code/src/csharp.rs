//! C#: how its text is prepared, parsed and read.
//!
//! Does not know projects or other files.

mod ask;
mod declare;
mod kinds;
pub(crate) mod known;
mod lex;
mod member;
mod prepare;
mod refer;
mod shape;
pub(crate) mod symbols;

use crate::language::{Language, Manner, Prepared};
use crate::token::Source;
pub(crate) use lex::lex;
use symbols::Symbols;

pub(crate) const LANGUAGE: Language = Language {
    name: "C#",
    endings: &["cs"],
    grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
    manner: Manner::Own { prepare, extract: declare::extract },
    home: None,
};

fn prepare(text: &str, symbols: &Symbols) -> Prepared {
    let tokens = lex(text, symbols);
    let bytes = prepare::prepare(&Source { text, tokens: &tokens });
    Prepared { bytes, tokens }
}
