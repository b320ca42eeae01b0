//! Exchanges archive, memory and tombstones with the other devices of a person, through a space of `sync`.
//!
//! A round compares what is here with what was exchanged before, stages the differences, and stores what arrives. `document` has the
//! form of memory in documents and records. Does not know how records travel, and does not know terminals.

mod copies;
pub mod document;
mod known;
mod memory_records;
mod round;
mod settings;
mod status;
mod tombstone_records;

pub use round::{preview, run_round};
pub use settings::{SpaceSettings, exclude_project, open_space, settings_of, store_settings, sync_error};
pub use status::{find_members, keep_failure, read_status};
