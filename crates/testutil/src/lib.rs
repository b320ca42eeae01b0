//! Shared test support: temporary homes, made-up sessions in the agents' formats, running the binary, a scripted model
//! server, the synthetic corpus, and lookup of the material that some tests need (real clients, the recorded corpus, a
//! model).
//!
//! Does not know what any test asserts. Only tests depend on it.
//!
//! No function here returns "not available" to a test: missing material is a panic that says what to install. A test
//! that needs such material is `#[ignore = "needs …"]`, so that a plain `cargo nextest run` lists it as ignored.

// clippy.toml allows `unwrap` in tests only, and this crate is a library; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]
#![allow(clippy::new_without_default)] // a new home is a new folder

mod archived;
mod browser;
pub mod clients;
mod committed_rows;
pub mod corpus;
mod faulty_proxy;
mod garage;
mod git;
mod home;
pub mod made_up_stores;
mod mcp_client;
pub mod model_server;
pub mod needs;
mod object_storage;
pub mod old_stores;
mod older_archive;
mod rollout;
mod run;
mod sample;
mod screen;
mod session;
mod shifted_clock;
pub mod survey;
pub mod tracer;

pub use archived::archived_entries;
pub use browser::{check_accessibility, title_in_chromium};
pub use committed_rows::without_last_change;
pub use faulty_proxy::{FaultyProxy, SeenRequest, WireFault};
pub use garage::GarageCluster;
pub use git::git;
pub use home::{Home, copy_folder, write_file};
pub use mcp_client::McpClient;
pub use object_storage::StorageServer;
pub use older_archive::replace_in_archive;
pub use rollout::Rollout;
pub use run::{
    Finished, binary, can_run, command, peak_memory, run_command, run_line, run_loci, set_environment,
    split_words, wait_for_exit,
};
pub use sample::sample_home;
pub use screen::{Screen, VtCell, VtColor, VtScreen};
pub use session::{ALPHA, BETA, Session, millis};
pub use shifted_clock::ShiftedClock;
