//! Here is a source tree: outlines, what changed and how deep, who depends on whom, and what a name means.
//!
//! Does not know sessions, the network or terminals.

mod alias;
mod classify;
mod codebase;
mod csharp;
mod file;
mod filter;
pub mod folder;
mod go;
mod graph;
mod hash;
mod home;
mod id;
pub mod inquiry;
mod java;
mod language;
pub mod note;
mod outline;
mod pack;
mod picture;
mod project;
mod python;
mod read;
mod resolve;
mod rust;
pub mod scip;
#[doc(hidden)]
pub mod specimen;
mod state;
mod store;
mod symbol;
mod syntax;
mod token;
mod typescript;
mod usage;
mod window;

pub use alias::{Alias, Conflict, Known, aliases, bodies};
pub use classify::{Change, ChangeClass, Fate, MemberChange, classify};
pub use codebase::{Codebase, SourceFile, Type};
pub use csharp::symbols::Symbols;
pub use file::{
    Doc, FileFacts, Gap, GapKind, Import, ImportKind, Member, MemberKind, On, Path, Position, Reference,
    Scope, Segment, Shape, Takes, TypeKind, TypePart, Use, Visibility, Written,
};
pub use filter::{FIELDS, Field, Filter, FilterError};
pub use graph::Graph;
pub use hash::{Digest, HASH_VERSION, Hashes, MemberHashes, TypeHashes, hashes};
pub use id::{MemberId, TypeId, is_prefix};
pub use language::{GrammarError, LANGUAGES, Language, Reader, decode, language_of};
pub use outline::{Cost, Outliner, count_tokens};
pub use pack::{Pack, Price, pack};
pub use picture::{FORMS, Form, picture};
pub use project::{Layout, LayoutError, Project, Solution, discover, is_generated};
pub use read::{read_source, read_tree};
pub use resolve::{Certainty, Edge, Mention, Resolver};
pub use state::{BATCH, Drift, Note, State, WINDOW, settle, urgency};
pub use store::{
    Card, Changed, Doubt, Extent, KeepError, Kept, Look, Mentioned, Mentions, Moment, Offered, Place,
    Refreshed, Renamed, Store, StoreError,
};
pub use symbol::{Fit, Meant, Named, NamedMember, Names, Symbol, distance, last_word, wild};
pub use token::Span;
pub use usage::{Usage, Usages};
pub use window::{Entry, Region, Shown, Window, fill, worth};
