//! Questions about the code base: the tree is read as it is now, and the answer says how much of it was understood. What was asked
//! for is remembered in the tree's own folder `.loci/`, if it has one.
//!
//! Does not know how source is read: `desk.rs` is the one place that does.

mod access;
mod desk;
mod focus;
mod graph;
mod names;
mod notes;
mod outline;
mod pack;
mod status;
mod usages;
mod window;

pub(crate) use focus::{code_context, dismiss, pin, unpin};
pub(crate) use graph::code_graph;
pub(crate) use names::{resolve_symbol, search_symbols};
pub(crate) use notes::get_semantic;
pub(crate) use outline::{get_member_outline, get_outline};
pub(crate) use pack::{build_pack, list_packs};
pub(crate) use status::code_status;
pub(crate) use usages::find_usages;
pub(crate) use window::get_prompt_window;
