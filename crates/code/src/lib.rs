//! Here is a source tree: outlines, what changed and how deep, who depends on whom, and what a name means.
//!
//! Does not know sessions, the network or terminals.

mod csharp;
mod file;
mod hash;
mod language;
mod token;

pub use csharp::symbols::Symbols;
pub use file::{
    Doc, FileFacts, Gap, GapKind, Import, ImportKind, Member, MemberKind, Path, Position, Reference, Scope,
    Segment, Shape, TypeKind, TypePart, Visibility,
};
pub use hash::Digest;
pub use language::{GrammarError, LANGUAGES, Language, Reader, decode, language_of};
pub use token::Span;
