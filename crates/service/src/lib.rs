//! Does it: joins the readers, the catalogue and the questions behind the operations of `api`.
//!
//! One question goes one way: scope → transcripts → survey → copies joined → rows in order → records read
//! again from their places → printed. Knows nothing of terminals or protocols.

mod asking;
pub mod config;
mod deliver;
pub mod env;
mod gather;
mod home;
mod hook;
mod idle;
mod ingest;
mod kept;
mod lines;
mod look;
mod meant;
mod model;
mod news;
mod ops;
mod prices;
mod printer;
mod reading;
mod recommend;
mod remembered;
mod reply;
mod scope;
mod shelf;
mod stay;
mod tombstones;
mod words;

pub use code::distance as letters_apart;
pub use deliver::Runs;
pub use home::token;
pub use hook::EVENTS as HOOK_EVENTS;
pub use llm::WITHIN;
pub use printer::Format;
pub use query::child::{COMMAND as JQ_COMMAND, LIMITS as JQ_LIMITS, work as jq_work};
pub use query::program::RULE as JQ_RULE;
pub use stay::Whereabouts;
pub use subprocess::{COMMAND as GUARD_COMMAND, guard as run_guard};

use api::{Code, Error, Progress, View, ViewRequest};
use record::{Clock, Problem, ProblemKind};
use serde::{Deserialize, Serialize};
pub use sources::Places;
use std::collections::BTreeSet;
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
    veil: OnceLock<reading::Veil>,
}

/// Operations that need a process that stays: whoever asks them starts one.
pub const STARTS: &[&str] = &["dispatch"];

/// How a question ended, besides its records.
#[derive(Debug, Default)]
pub struct Outcome {
    pub printed: u64,
    /// What could not be read; of one file, the first of many.
    pub problems: Vec<Problem>,
    /// Damaged lines, all of them.
    pub bad_lines: u64,
    /// Files that were read.
    pub files: u64,
    /// Sessions that the files hold, before the question narrowed them.
    pub sessions: u64,
    /// The project the question was about, if it was about one.
    pub project: Option<PathBuf>,
    /// Where histories were looked for: agent, place, whether anything is there.
    pub looked: Vec<(&'static str, PathBuf, bool)>,
}

/// The same as whoever printed the records is told it, from one process to another if need be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ending {
    pub printed: u64,
    /// In how many places something was lost, and in how many files.
    pub lost: usize,
    pub lost_files: usize,
    pub files: u64,
    pub sessions: u64,
    pub project: Option<PathBuf>,
    pub looked: Vec<(String, PathBuf, bool)>,
}

impl Outcome {
    pub fn ending(&self) -> Ending {
        let lost: BTreeSet<_> = self.problems.iter().filter(|p| p.kind.is_loss()).map(|p| &p.file).collect();
        let looked =
            self.looked.iter().map(|(name, path, there)| ((*name).to_string(), path.clone(), *there));
        Ending {
            printed: self.printed,
            lost: self.lost(),
            lost_files: lost.len(),
            files: self.files,
            sessions: self.sessions,
            project: self.project.clone(),
            looked: looked.collect(),
        }
    }

    /// In how many places something was lost.
    pub fn lost(&self) -> usize {
        let line = |p: &&Problem| matches!(p.kind, ProblemKind::BadLine | ProblemKind::LineTooLong);
        let others = self.problems.iter().filter(|p| p.kind.is_loss() && !line(p)).count();
        others + self.bad_lines as usize
    }
}

/// Takes one printed line, its end included. False: no more is wanted (a closed pipe).
pub type Take<'a> = &'a mut dyn FnMut(&[u8]) -> bool;

impl Service {
    pub fn new(places: Places, clock: Clock, cwd: PathBuf, exe: PathBuf, threads: usize) -> Service {
        let (progress, veil) = (Arc::new(Progress::default()), OnceLock::new());
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
            veil,
        }
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

pub(crate) fn read_error(error: impl std::fmt::Display) -> Error {
    Error::new(Code::ReadError, error.to_string())
}
