//! Joins the files of a source tree into a codebase: outlines, change classes, dependencies, name resolution and usages.
//!
//! Does not parse source text (`syntax` does) or read manifests (`project` does), and does not know sessions, the network or
//! terminals.

mod alias;
mod card;
mod classify;
mod codebase;
mod diagram;
mod filter;
pub mod folder;
mod graph;
mod hash;
pub mod investigation;
pub mod note;
mod note_state;
mod outline;
mod pack;
mod read;
mod resolve;
pub mod scip;
mod store;
mod symbol;
mod usage;
mod window;

pub use alias::{Alias, Conflict, Known, aliases, bodies};
pub use card::{Card, Offered, Place};
pub use classify::{Change, ChangeClass, Fate, MemberChange, classify};
pub use codebase::{Codebase, SourceFile, Type};
pub use diagram::{FORMS, Form, picture};
pub use filter::{FIELDS, Field, Filter, FilterError};
pub use graph::Graph;
pub use hash::{HASH_VERSION, Hashes, MemberHashes, TypeHashes, hashes};
pub use note_state::{BATCH, Drift, Note, State, WINDOW, settle, urgency};
pub use outline::{Cost, Outliner, count_tokens};
pub use pack::{Pack, Price, pack};
pub use project::{Layout, LayoutError, Project, discover, read_source, wild};
pub use read::{Moment, read_tree};
pub use resolve::{Certainty, Edge, Mention, Resolver};
pub use store::{
    Changed, Doubt, Extent, KeepError, Kept, Look, Mentioned, Mentions, Refreshed, Renamed, Store, StoreError,
};
pub use symbol::{Fit, Meant, Named, NamedMember, Names, Symbol, distance, last_word};
pub use syntax::{
    Digest, LANGUAGES, MemberId, MemberKind, Span, TypeId, TypeKind, Visibility, decode, language_of,
};
pub use usage::{Usage, Usages};
pub use window::{Entry, Region, Shown, Window, fill, worth};
