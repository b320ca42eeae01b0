//! What we decided to remember (names, tags, summaries, facts), on what evidence.
//!
//! Is handed digests of sessions and never reads a transcript; asks no model, but knows how one is asked and what of its
//! answer may be believed.

mod answer;
mod ask;
mod command;
mod derive;
mod digest;
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
pub use facts::Noted;
pub use merge::{By, Evidence, Fact, Finding, Origin, Remembered, State, Worded, fact_id, normal};
pub use order::is_order;
pub use store::{Applied, Called, Edit, Error, Imported, MadeFrom, Store, first};
pub use tags::tag_of;
