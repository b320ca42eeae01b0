//! Implements the operations declared in `api` by combining the engines.
//!
//! [`history`] reads transcripts, `search`, `memory`, `code`, `recommend` and `llm` do one job each; here are the operations
//! over them, the background jobs of the daemon, hooks, message delivery, and responses too large to inline.
//!
//! Does not know terminals or protocols.

mod background;
pub mod config;
mod daemon_paths;
mod delivery;
pub mod env;
mod hook;
mod index_stages;
mod ledger;
mod memory_store;
mod model_config;
mod model_run;
mod ops;
mod prices;
mod printer;
mod reply;
mod saved_results;
mod session_names;
mod suggestion;

pub use code::distance as letters_apart;
pub use daemon_paths::DaemonPaths;
pub use delivery::Runs;
pub use history::home::token;
pub use history::outcome::{Ending, Outcome};
pub use hook::EVENTS as HOOK_EVENTS;
pub use llm::WITHIN;
pub use printer::Format;
pub use query::child::{COMMAND as JQ_COMMAND, LIMITS as JQ_LIMITS, work as jq_work};
pub use query::program::RULE as JQ_RULE;
pub use subprocess::{COMMAND as GUARD_COMMAND, guard as run_guard};

use api::{ViewRequest, Code, Error, View, Progress};
use history::History;
use history::home::Home;
use history::masker::LazyMasker;
use record::Clock;
pub use sources::Places;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Everything a question may depend on besides its parameters.
pub struct Service {
    pub places: Places,
    pub clock: Clock,
    pub cwd: PathBuf,
    /// This very program, for the jq child.
    pub exe: PathBuf,
    pub threads: usize,
    /// Secrets are masked in everything that is printed. Only a person at the terminal may ask for the text as it is.
    pub masked: bool,
    /// This process stays: it takes messages in, where another could only leave them; called, it looks what waits.
    pub stays: Option<Arc<dyn Fn() + Send + Sync>>,
    /// This process goes on after it has answered: what takes long is begun, and followed by whoever asked.
    pub lasts: bool,
    /// Tells what can be said of the daemon, by whoever can reach it.
    pub daemon: Option<Arc<dyn Fn() -> serde_json::Value + Send + Sync>>,
    /// How far a long read has come, and whether it is still wanted.
    pub progress: Arc<Progress>,
    masker: OnceLock<LazyMasker>,
}

/// Operations that need a process that stays: whoever asks them starts one.
pub const STARTS: &[&str] = &["dispatch"];

/// Takes one printed line, its end included. False: no more is wanted (a closed pipe).
pub type Take<'a> = &'a mut dyn FnMut(&[u8]) -> bool;

impl Service {
    pub fn new(places: Places, clock: Clock, cwd: PathBuf, exe: PathBuf, threads: usize) -> Service {
        let (progress, masker) = (Arc::new(Progress::default()), OnceLock::new());
        Service {
            places,
            clock,
            cwd,
            exe,
            threads,
            masked: true,
            stays: None,
            lasts: false,
            daemon: None,
            progress,
            masker,
        }
    }

    /// What reading the history depends on.
    pub(crate) fn history(&self) -> History<'_> {
        History {
            places: &self.places,
            clock: self.clock,
            cwd: &self.cwd,
            threads: self.threads,
            masked: self.masked,
            progress: &self.progress,
            masker: &self.masker,
            forget_elsewhere,
        }
    }

    /// None without a home directory.
    pub(crate) fn home(&self) -> Option<Home> {
        Home::of(&self.places)
    }

    /// Answers one question.
    pub fn answer(
        &self,
        view: &View,
        ask: &ViewRequest,
        format: Format,
        take: Take<'_>,
    ) -> Result<Outcome, Error> {
        ops::answer(self, view, ask, format, take)
    }
}

/// Removes sessions from memory and from the ledger.
fn forget_elsewhere(home: &Home, doomed: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    memory_store::forget(home, doomed)?;
    ledger::forget(home, doomed)
}

pub(crate) fn query_error(error: &query::Error) -> Error {
    let code = match error {
        query::Error::Child(_) => Code::ReadError,
        _ => Code::FilterError,
    };
    let hint = match error {
        query::Error::Pattern(_) => {
            "patterns are Rust regular expressions; escape . ( ) [ ] * + ? with a backslash"
        }
        query::Error::Filter(_) => "`loci query tools --help` shows how filters get their records",
        query::Error::Failed(_) => "guard fields that may be missing: `.file // empty`, `.input.command?`",
        query::Error::Stopped(_) => "narrow the question with --since, --limit or --fields, or pipe into jq",
        query::Error::Child(_) => "the filter runs in a child process of loci; can this machine start one?",
    };
    Error::new(code, error.to_string()).hint(hint)
}
