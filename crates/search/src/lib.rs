//! Here are some words, give me the conversations.
//!
//! Does not know where a text came from: the caller hands it in to be found, and again to be quoted.
//!
//! A [`Writer`] is handed messages ([`Doc`]) and commits them under a number of the caller's. An [`Index`] is one
//! commit, opened to [`Index::find`] what a [`Query`] asks for: chats, best first, each with its best messages. The
//! text of a message is not kept; whoever shows a hit reads it again and cuts a [`snippet`] from it.

mod chats;
mod confidence;
mod date;
mod error;
mod find;
mod fold;
mod index;
mod merge;
mod near;
mod query;
mod rank;
mod related;
mod schema;
mod snippet;
mod stem;
mod sweep;
mod token;
mod verify;
mod writer;

pub use confidence::Evidence;
pub use error::Error;
pub use find::{ChatHit, EventHit, Found, find_among};
pub use index::Index;
pub use query::{Parts, Query, Scope, Terms};
#[doc(hidden)]
pub use rank::{TUNING, Tuning};
pub use schema::Part;
pub use snippet::{Snippet, snippet};
pub use token::{Kind, Scratch, Token, Tokens};
pub use writer::{Doc, Writer};
