//! Questions about the code base: what is known of the tree is brought up to date first, and the answer says how much of it was
//! understood. What was asked for is remembered in the tree's own folder `.loci/`, if it has one.
//!
//! Does not know how source is read: `tree.rs` and `code_query.rs` are the places that ask for it.

mod access;
mod code_query;
mod focus;
mod graph;
mod index;
mod investigate;
mod names;
mod notes;
mod outline;
mod pack;
mod status;
pub(crate) mod tree;
mod usages;
mod window;

pub(crate) use notes::write_waiting;
