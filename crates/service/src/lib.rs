//! Implements the operations declared in `api` by combining the engines.
//!
//! [`history`] reads transcripts, `search`, `memory`, `code`, `recommend` and `llm` do one job each; here are the operations
//! over them, the background jobs of the daemon, hooks, message delivery, and responses too large to inline.
//!
//! Does not know terminals or protocols.

mod background;
mod daemon_paths;
mod delivery;
mod hook;
mod index_stages;
mod ledger;
mod losses;
mod memory_store;
mod model_run;
mod operations;
mod reply;
mod session_names;
mod suggestion;

pub use ::config;
pub use code::edit_distance as letters_apart;
pub use config::env;
pub use daemon_paths::DaemonPaths;
pub use delivery::Deliveries;
pub use history::guard::defuse_answer;
pub use history::home::{random_token, report_waiting};
pub use history::outcome::{Outcome, OutcomeSummary};
pub use history::scope::enclosing_project;
pub use history::standing_problems::StandingProblem;
pub use history::{SnapshotCache, WatchedList};
pub use hook::EVENTS as HOOK_EVENTS;
pub use llm::NESTED_CALL_VAR;
pub use losses::describe_losses;
pub use query::child::{COMMAND as JQ_COMMAND, LIMITS as JQ_LIMITS, run_child as jq_work};
pub use query::program::INPUT_RULE as JQ_RULE;
pub use subprocess::{COMMAND as GUARD_COMMAND, run_supervisor as run_guard};
pub use views::{Format, Take};

use api::{Error, Progress, View, ViewRequest};
use history::History;
use history::home::Home;
use history::masker::LazyMasker;
use history::saved_results::{self, SavedResults};
use record::Clock;
pub use sources::Environment;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Everything a request depends on besides its parameters.
pub struct Service {
    pub places: Environment,
    pub clock: Clock,
    pub cwd: PathBuf,
    /// The path of this executable, for the jq subprocess and the supervisor.
    pub exe: PathBuf,
    pub threads: usize,
    /// Mask secrets in all output. Only a person at a terminal may turn this off.
    pub masked: bool,
    /// Set in the daemon, which accepts mailbox messages directly; other processes only spool them. Calling it wakes the
    /// delivery loop.
    pub wake_delivery: Option<Arc<dyn Fn() + Send + Sync>>,
    /// This process outlives its responses: long operations run in the background and the client polls for their progress.
    pub is_long_running: bool,
    /// Returns the daemon's status; set if the process can reach a daemon.
    pub daemon: Option<Arc<dyn Fn() -> serde_json::Value + Send + Sync>>,
    /// The list of transcripts, if this process watches their folders.
    pub watched: Option<Arc<WatchedList>>,
    /// The snapshot of the last search, if this process counts the changes in those folders.
    pub snapshots: Option<Arc<SnapshotCache>>,
    /// Progress and cancellation of a long read.
    pub progress: Arc<Progress>,
    masker: OnceLock<LazyMasker>,
}

impl Service {
    pub fn new(places: Environment, clock: Clock, cwd: PathBuf, exe: PathBuf, threads: usize) -> Service {
        let (progress, masker) = (Arc::new(Progress::default()), OnceLock::new());
        Service {
            places,
            clock,
            cwd,
            exe,
            threads,
            masked: true,
            wake_delivery: None,
            is_long_running: false,
            daemon: None,
            watched: None,
            snapshots: None,
            progress,
            masker,
        }
    }

    /// The parts of this service that reading the history depends on.
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
            watched: self.watched.as_deref(),
            also: &[],
            snapshots: self.snapshots.as_deref(),
        }
    }

    /// None without a home directory.
    pub(crate) fn home(&self) -> Option<Home> {
        Home::from_places(&self.places)
    }

    pub(crate) fn saved_results(&self) -> SavedResults {
        SavedResults::new(&self.places, self.clock)
    }

    /// Runs a view and passes its records to `take`.
    pub fn run_view(
        &self,
        view: &View,
        request: &ViewRequest,
        format: Format,
        take: Take<'_>,
    ) -> Result<Outcome, Error> {
        let load_names = || session_names::SessionNames::load(self).into_naming();
        let (history, saved_results) = (&self.history(), self.saved_results());
        let views = views::Views { history, exe: &self.exe, saved_results, load_names: &load_names };
        views::run_view(&views, view, request, format, take)
    }
}

/// Removes sessions from everything that is stored besides catalogue, index and archive.
fn forget_elsewhere(home: &Home, doomed: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    memory_store::forget_sessions(home, doomed)?;
    ledger::forget_sessions(home, doomed)?;
    exchange::forget_origins(home, doomed)?;
    saved_results::remove_all(home)?;
    let of_any_source = |id: &str| sources::SOURCES.iter().any(|source| doomed(source.name(), id));
    let cards = recommend::cards::Cards::new(home.cards(), history::home::create_private_dir);
    cards.forget_sessions(&of_any_source).map_err(|error| history::home::unwritable(&home.cards(), &error))
}
