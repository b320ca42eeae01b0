//! What one source file states: its declarations, imports and references, with positions, and the stable IDs of types and members.
//!
//! Does not parse (`syntax` does), and does not know what a name refers to (`code` does).

mod base32;
mod digest;
mod file;
mod id;
mod span;

pub use digest::Digest;
pub use file::{
    Doc, FileFacts, Gap, GapKind, Import, ImportKind, Member, MemberKind, MemberReference, ParameterCount,
    Path, Position, ReceiverExpr, Reference, Scope, Segment, Shape, TypeKind, TypePart, Visibility,
    WrittenType,
};
pub use id::{MemberId, TypeId, matches_prefix};
pub use span::Span;
