//! Parses source text: the types, members, imports and references of one file, one module per language.
//!
//! Knows one file at a time. Does not know other files, projects, the file system, or what a name refers to.

mod ancestors;
mod c;
mod cpp;
pub mod csharp;
mod effort;
mod go;
mod java;
mod kotlin;
mod language;
mod module_path;
mod nodes;
mod occurrences;
mod parsed;
mod php;
mod preprocessor;
mod python;
mod reader;
mod recovery;
mod ruby;
mod rust;
mod shell;
mod swift;
mod thread_clock;
mod token;
mod typescript;
mod walk;

pub use facts::{
    Digest, Doc, FileFacts, Gap, GapKind, Import, ImportKind, Member, MemberId, MemberKind, MemberReference,
    ParameterCount, Path, Position, ReceiverExpr, Reference, Scope, Segment, Shape, Span, TypeId, TypeKind,
    TypePart, Visibility, WrittenType, matches_prefix,
};
pub use language::{Language, Level};
pub use nodes::SyntaxNode;
pub use occurrences::{Occurrence, Occurrences, Role, Variable, VariableKind, whole_words};
pub use parsed::{ParsedText, Replaced};
pub use preprocessor::Symbols;
pub use reader::{GrammarError, LANGUAGES, Reader, decode_text, language_of};
#[doc(hidden)] // for tests that edit source token by token
pub use token::{Token, TokenKind};
