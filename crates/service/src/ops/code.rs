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

pub(crate) use focus::{code_context, dismiss, pin, unpin};
pub(crate) use graph::code_graph;
pub(crate) use index::index_code;
pub(crate) use investigate::{investigate, stream_op};
pub(crate) use names::{resolve_symbol, search_symbols};
pub(crate) use notes::{get_semantic, write_notes, write_waiting};
pub(crate) use outline::{get_member_outline, get_outline};
pub(crate) use pack::{build_pack, list_packs};
pub(crate) use status::code_status;
pub(crate) use usages::find_usages;
pub(crate) use window::get_prompt_window;
