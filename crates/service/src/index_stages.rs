//! Runs single stages of indexing, for the benchmark in `xtask`.
//!
//! Does not index anything.

use crate::{Service, env};
use api::Error;
use history::ingest::Text;
use record::Clock;
use std::path::{Path, PathBuf};

impl Service {
    /// A service for the history that the environment selects.
    #[doc(hidden)]
    pub fn for_stages() -> Service {
        Service::new(env::read_places(), Clock::System, PathBuf::new(), PathBuf::new(), 1)
    }

    /// See [`history::History::stage`].
    #[doc(hidden)]
    pub fn stage(&self, stage: &str, archive: &Path) -> Result<[u64; 4], Error> {
        self.history().run_stage(stage, archive)
    }

    /// See [`history::History::texts`].
    #[doc(hidden)]
    pub fn texts(&self, each: &mut dyn FnMut(Text<'_>)) -> Result<(), Error> {
        self.history().each_indexed_text(each)
    }
}
