//! Here are some words, give me the conversations.
//!
//! Does not know where a text came from: the caller hands it in to be found, and again to be quoted.
//!
//! A [`Writer`] is handed messages ([`Doc`]) and commits them under a number of the caller's. An [`Index`] is one
//! commit, opened to [`Index::find`] what a [`Query`] asks for: chats, best first, each with its best messages. The
//! text of a message is not kept; whoever shows a hit reads it again and cuts a [`snippet`] from it.
//!
//! - Chats should be numbered densely: ranking counts in arrays by chat. Events may be any number.
//! - Messages of a chat are handed in in their order: a passage is a message with those before and after it.
//! - What was appended a moment ago need not be committed to be found: it is handed to `find` as `extra`, and must
//!   then not be in the index as well.
//! - `Query::text` is called for about two dozen of the best messages. Without it words that stand together and
//!   questions are not told from others, and `expand` has the vocabulary alone.
//! - `Error::Damaged` and `Error::Version` ask for a rebuild: empty the folder and hand in everything again.
//!
//! | file | what it answers |
//! |---|---|
//! | `token`, `fold`, `stem` | which words a text holds |
//! | `schema`, `chats`, `writer`, `merge` | what is kept of a message, and how |
//! | `index`, `sweep` | where a word occurs |
//! | `query`, `near`, `related`, `date` | what is looked for |
//! | `rank`, `verify`, `confidence`, `find` | which chat is meant, and how surely |
//! | `snippet` | what is shown of it |

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
#[doc(hidden)] // for what is measured beside the index, with the same fields and words
pub mod schema;
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
pub use query::{Parts, Query, Scope, Terms, content_words};
#[doc(hidden)]
pub use rank::{TUNING, Tuning};
pub use schema::Part;
pub use snippet::{Snippet, snippet};
pub use token::{Kind, Scratch, Token, Tokens};
pub use writer::{Doc, Writer};
