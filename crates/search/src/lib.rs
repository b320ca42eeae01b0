//! Full-text search over conversations: tokens, index, ranking, snippets.
//!
//! Does not know where a text comes from: the caller supplies it for indexing, and again for quoting.
//!
//! A [`Writer`] indexes messages ([`Doc`]) and commits them under a sequence number of the caller's. An [`Index`] is
//! one commit, opened for reading. [`Index::find`] returns the chats that match a [`Query`], best first, each with its
//! best messages. The text of a message is not stored; to display a hit, the caller reads it again and extracts a
//! [`snippet`].
//!
//! - Chats should be numbered densely: ranking uses arrays indexed by chat. Events may be any number.
//! - Messages of a chat are added in order: a passage is a message with its neighbours.
//! - Messages that are not committed yet can be passed to `find` as `extra`; they must not be in the index as well.
//! - `Query::text` is called for about two dozen of the best messages. Without it, phrases are not verified, questions
//!   are not recognised, and `expand` uses the vocabulary alone.
//! - `Error::Damaged` and `Error::Version` require a rebuild: empty the folder and index everything again. `Error::Newer`
//!   forbids it: the index belongs to a newer Loci.
//!
//! | files | question they answer |
//! |---|---|
//! | `token`, `fold`, `stem` | which words a text contains |
//! | `schema`, `chats`, `writer`, `merge` | what is stored of a message, and how |
//! | `index`, `sweep` | where a word occurs |
//! | `query`, `near`, `related`, `date` | what a query looks for |
//! | `rank`, `verify`, `confidence`, `find` | which chat is meant, and with what confidence |
//! | `snippet` | what to display of it |

mod chats;
mod confidence;
mod date;
mod error;
mod find;
mod fold;
mod index;
mod merge;
mod occurrences;
mod query;
mod rank;
mod related;
#[doc(hidden)] // for benchmarks that use the same fields and tokens
pub mod schema;
mod similar;
mod snippet;
mod stem;
mod token;
mod verify;
mod writer;

pub use confidence::Evidence;
pub use error::Error;
pub use find::{ChatHit, EventHit, SearchResult, find_among};
pub use index::Index;
pub use query::{Parts, Query, Scope, Terms, content_words, fold_text, quoted_phrases};
#[doc(hidden)]
pub use rank::{TUNING, Tuning};
pub use schema::Part;
pub use snippet::{Snippet, snippet};
pub use token::{Kind, Scratch, Token, Tokens, find_written};
pub use writer::{Doc, Writer};
