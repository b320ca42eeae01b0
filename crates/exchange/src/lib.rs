//! Exchanges archive, memory and tombstones with the other devices of a person, through a space of `sync`.
//!
//! With a team, only what a person shares leaves, and what others share is a suggestion until it is accepted.
//!
//! A round compares what is here with what was exchanged before, stages the differences, and stores what arrives. `document` has the
//! form of memory in documents and records, `operations` what a person can do. Does not know how records travel, and does not know
//! terminals.

mod caller;
mod copies;
mod copy_name;
pub mod document;
mod earlier_names;
mod growth;
mod known;
mod lost;
mod memory_records;
mod open_error;
pub mod operations;
mod origins;
mod part;
mod returned;
mod round;
mod settings;
mod shared_fact;
mod shared_session;
mod status;
mod team_round;
mod team_store;
pub mod teams;
mod tombstone_records;

pub use caller::Caller;
pub use known::databases;
pub use origins::{OriginFilter, Origins, forget_origins};
