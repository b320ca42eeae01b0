//! Here is a source tree: outlines, what changed and how deep, who depends on whom, and what a name means.
//!
//! Does not know sessions, the network or terminals.

mod classify;
mod codebase;
mod csharp;
mod file;
mod go;
mod hash;
mod home;
mod id;
mod java;
mod language;
mod outline;
mod project;
mod python;
mod read;
mod resolve;
mod rust;
#[doc(hidden)]
pub mod specimen;
mod syntax;
mod token;
mod typescript;

pub use classify::{Change, ChangeClass, Fate, MemberChange, classify};
pub use codebase::{Codebase, SourceFile, Type};
pub use csharp::symbols::Symbols;
pub use file::{
    Doc, FileFacts, Gap, GapKind, Import, ImportKind, Member, MemberKind, Path, Position, Reference, Scope,
    Segment, Shape, TypeKind, TypePart, Visibility,
};
pub use hash::{Digest, HASH_VERSION, Hashes, MemberHashes, TypeHashes, hashes};
pub use id::{MemberId, TypeId, is_prefix};
pub use language::{GrammarError, LANGUAGES, Language, Reader, decode, language_of};
pub use outline::{Cost, Outliner, count_tokens};
pub use project::{Layout, LayoutError, Project, Solution, discover, is_generated};
pub use read::read_tree;
pub use resolve::{Certainty, Edge, Mention, Resolver};
pub use token::Span;
