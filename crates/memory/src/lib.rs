//! Memory: names, tags, summaries and facts derived from sessions, with their evidence.
//!
//! Receives digests of sessions; never reads a transcript and never calls a model. It builds the prompt for a model and
//! decides which parts of the response to accept.

mod command;
mod decision;
mod derive;
mod digest;
mod entry;
mod facts;
mod forgetting;
mod instruction;
mod merge;
mod name;
mod pasted;
mod phrases;
mod prompt;
mod prose;
mod response;
mod store;
mod summary;
mod tags;

pub use command::{committed, slash};
pub use db::durable::find_damage;
pub use derive::{DerivedMemory, derive_memory};
pub use digest::{Digest, DigestMessage};
pub use entry::{
    AttributedText, By, Evidence, Fact, Finding, NotedFact, Origin, SessionMemory, State, fact_id,
    normalise_text,
};
pub use instruction::is_instruction;
pub use prompt::{ModelPrompt, build_prompt};
pub use response::{ClaimedFact, ModelResponse, Rejection, parse_response};
pub use store::{ApplyOutcome, DerivedUpTo, Edit, Error, GivenName, ImportOutcome, Store, preview_first};
pub use tags::normalise_tag;
