//! `why`: which sessions made a piece of code what it is, with the prompt, the reasoning and the outcome of each edit.
//!
//! Does not know how lines are matched with edits.

use crate::operation::{Operation, Response};
use crate::params::ROOT;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

const MAX_BUDGET: u64 = 100_000;

/// The forms of an answer: Loci's own, and a record of Agent Trace 0.1.
pub const FORMATS: &[&str] = &["steps", AGENT_TRACE];
pub const AGENT_TRACE: &str = "agent-trace";

/// Show which sessions wrote this code, and why
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "why",
    command = "why",
    answer = "one line; then the edits, oldest first, each with its evidence, prompt, reasoning, diff, outcome and commit",
    example = "loci why src/store.rs:40-60",
    returns = WhyFound,
    read_only,
)]
pub struct Why {
    /// Symbol, file, file:lines or commit
    #[param(value = "TARGET", required = "symbol or file", word)]
    pub target: String,
    /// Tokens; decides how many of the latest steps, and how much of each
    #[param(value = "TOKENS", default = 1500, range = 100..=MAX_BUDGET)]
    pub budget: u64,
    /// Form of the answer [default: steps]
    #[param(value = "FORMAT", choice = FORMATS)]
    pub format: Option<String>,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Fewer tokens say nothing about a step.
const TOKENS_PER_STEP: u64 = 190;

impl Why {
    /// How many steps the budget has room for.
    pub fn max_steps(&self) -> usize {
        (self.budget / TOKENS_PER_STEP).max(1) as usize
    }
}

/// Why a piece of code is as it is. Written as its `trace` alone, if it has one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", default)]
pub struct WhyFound {
    /// The answer in one line.
    pub summary: String,
    /// What was asked about, as it was understood.
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitRef>,
    /// The lines asked about that say something, and how many of them a recorded edit explains.
    pub lines: u32,
    pub explained: u32,
    /// Oldest first.
    pub steps: Vec<WhyStep>,
    /// Earlier steps that the budget left out.
    #[serde(skip_serializing_if = "crate::why::is_zero")]
    pub omitted: u32,
    pub notes: Vec<String>,
    /// Which session's work each commit contains, also of steps that are omitted. For callers in this process.
    #[serde(skip)]
    pub landed: Vec<Landed>,
    /// Names that the symbol had before, latest first. For callers in this process.
    #[serde(skip)]
    pub former_names: Vec<String>,
    /// Which session wrote which line. For callers in this process.
    #[serde(skip)]
    pub owners: Vec<LineOwner>,
    /// The answer as a record of Agent Trace.
    #[serde(skip)]
    pub trace: Option<Value>,
}

impl Serialize for WhyFound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.trace {
            Some(trace) => trace.serialize(serializer),
            None => WhyFound::serialize(self, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WhyFound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WhyFound, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value["files"].is_array() {
            return Ok(WhyFound { trace: Some(value), ..WhyFound::default() });
        }
        WhyFound::deserialize(value).map_err(D::Error::custom)
    }
}

/// A line that a session wrote, in the file or in the commit that was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOwner {
    pub path: String,
    /// Counted from 1.
    pub line: u32,
    pub text: String,
    pub session_id: String,
    pub source: String,
    pub model: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Response for WhyFound {
    fn is_empty(&self) -> bool {
        match &self.trace {
            Some(trace) => trace["files"].as_array().is_none_or(Vec::is_empty),
            None => self.steps.iter().all(|step| step.evidence == Evidence::Unknown),
        }
    }
}

/// How certain it is that an edit wrote the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// No recorded edit has these lines.
    #[default]
    Unknown,
    /// The new text agrees; the text it replaced is not recorded.
    Likely,
    /// The text before and after agrees.
    Textual,
    /// A git-ai note names the session for the lines, an Entire checkpoint names it for the commit, or the text agrees and the tool's
    /// own output names the commit.
    Attested,
}

impl Evidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Evidence::Unknown => "unknown",
            Evidence::Likely => "likely",
            Evidence::Textual => "textual",
            Evidence::Attested => "attested",
        }
    }
}

/// A commit that contains edits of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    pub session_id: String,
    pub commit: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CommitRef {
    pub hash: String,
    pub subject: String,
    pub at: i64,
}

/// The edits of one turn, or a commit that no recorded edit explains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WhyStep {
    pub evidence: Evidence,
    /// What names the session, if it is attested: `git-ai note`, `Entire checkpoint` or `git commit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attested_by: Option<String>,
    pub at: Option<i64>,
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The model, if the repository names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The other device that the session came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The IDs of the tool calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Lines of the target, now or in the commit, that the step wrote.
    pub lines: u32,
    /// Taken back in the same session: an attempt, not a cause.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub undone: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The last thing the agent said before the edit.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub diff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CheckRun>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitRef>,
}

impl WhyStep {
    /// Whether it was taken back, or a build or test failed after it.
    pub fn is_failure(&self) -> bool {
        self.undone || self.outcome.as_ref().is_some_and(|outcome| outcome.status == "error")
    }
}

/// The next build or test after an edit, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckRun {
    pub command: String,
    /// `success`, `error`, `pending` or `unknown`.
    pub status: String,
}
