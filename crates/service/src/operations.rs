//! The operations and views, one module each.
//!
//! Does not know the interfaces that call them.

mod about;
mod archive;
pub(crate) mod code;
mod digest;
mod doctor;
mod edits;
mod forget;
mod gather_chats;
mod import;
mod index;
mod interrupted_edits;
pub(crate) mod mailbox;
pub(crate) mod memory;
mod projects;
mod recommend;
mod report;
mod resolve_ids;
mod saved_results;
pub(crate) mod search_conversations;
mod secrets;
mod sessions;
mod setup;
pub(crate) mod spending;
mod status;
mod sync;
mod why;
