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
mod standing;
mod store;
mod summary;
mod supersede;
mod tags;
pub mod talk;

pub use command::{committed, slash};
pub use db::durable::find_damage;
pub use db::sealed;
pub use derive::{DerivedMemory, derive_memory};
pub use digest::{Digest, DigestMessage, Reply};
pub use entry::{
    AttributedText, By, Evidence, Fact, Finding, Kind, NotedFact, Origin, SessionMemory, State, Subject,
    fact_id, normalise_text,
};
pub use facts::note_candidates;
pub use instruction::is_instruction;
pub use prompt::{ModelPrompt, build_prompt};
pub use response::{ClaimedFact, ModelResponse, Rejection, parse_response};
pub use standing::{SessionName, Standing, order_replacements};
pub use store::{
    ApplyOutcome, DerivedUpTo, Edit, Error, ForgottenEntry, GivenName, ImportOutcome, Store, Withdrawn,
};
pub use supersede::{Pair, describe_pairs, pair_feature_names};
pub use tags::normalise_tag;
