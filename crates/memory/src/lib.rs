//! Memory: names, tags, summaries and facts derived from sessions, with their evidence.
//!
//! Receives digests of sessions; never reads a transcript and never calls a model. It builds the prompt for a model and
//! decides which parts of the response to accept.

mod answer;
mod ask;
mod command;
mod decision;
mod derive;
mod digest;
mod entry;
mod facts;
mod merge;
mod name;
mod order;
mod pasted;
mod prose;
mod store;
mod summary;
mod tags;
mod unsaid;
mod words;

pub use answer::{Answer, Claim, Why, read_answer};
pub use ask::{Ask, ask};
pub use command::{committed, slash};
pub use derive::{Derived, derive};
pub use digest::{Digest, Said};
pub use entry::{By, Evidence, Fact, Finding, Noted, Origin, Remembered, State, Worded, fact_id, normal};
pub use order::is_order;
pub use store::{Applied, Called, Edit, Error, Imported, MadeFrom, Store, first};
pub use tags::tag_of;
