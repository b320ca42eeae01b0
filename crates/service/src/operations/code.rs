//! Operations on the codebase. Each brings the stored index of the tree up to date first, and its response states how much of
//! the tree was understood. Requested types are recorded in the tree's own folder `.loci/`, if it has one.
//!
//! Does not know how source is parsed: only `tree.rs` and `code_query.rs` call the `code` crate for that.

pub(crate) mod changes;
pub(crate) mod code_query;
mod focus;
mod graph;
mod index;
mod indexers;
mod investigate;
mod names;
mod notes;
mod outline;
mod pack;
mod status;
pub(crate) mod tree;
mod usages;
mod window;
pub(crate) mod workbench;

pub(crate) use notes::write_waiting;
