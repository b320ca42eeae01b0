//! Responses as text for people: grouped, with relative dates and marked matches. A pure function of the response and the
//! [`RenderOptions`], so that every interface shows the same text; nothing depends on colour.
//!
//! Does not know whether there is a terminal. Scripts read JSON; this text is never parsed.

mod about;
mod code;
mod costs;
mod digest;
mod edits;
pub mod export;
pub mod format;
mod gather_chats;
mod import;
mod mailbox;
mod maintenance;
mod markdown;
mod memory;
mod options;
mod project;
pub mod recommend;
mod report;
mod saved_results;
mod search;
mod setup;
mod status;
pub mod support_bundle;
mod sync;
mod why;

pub use options::RenderOptions;

use api::AnyResponse;

pub trait Render {
    /// Complete lines, each with its line ending.
    fn render(&self, options: &RenderOptions) -> String;
}

impl Render for AnyResponse {
    fn render(&self, options: &RenderOptions) -> String {
        api::with_response!(self, response => response.render(options))
    }
}
