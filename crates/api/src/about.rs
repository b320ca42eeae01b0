//! `about`: what one should know before touching a piece of code. `handoff`: what another agent needs to continue a session.
//!
//! Does not know where facts and edits come from.

use crate::operation::{Operation, Response};
use crate::params::ROOT;
use crate::why::{CheckRun, WhyStep};
use serde::{Deserialize, Serialize};

const MAX_BUDGET: u64 = 100_000;

/// Context for code you are about to change: outline, facts, sessions, failures
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "recall",
    command = "about",
    answer = "outline, facts that hold and facts under which the code has changed, what people said, the last sessions that changed it, and what failed then",
    example = "loci about src/store.rs",
    returns = AboutFound,
    read_only,
)]
pub struct About {
    /// Symbol, file:line-line or file
    #[param(value = "TARGET", required = "symbol or file", word)]
    pub target: String,
    /// Tokens of the sessions
    #[param(value = "TOKENS", default = 800, range = 100..=MAX_BUDGET)]
    pub budget: u64,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AboutFound {
    pub target: String,
    pub file: String,
    pub outline: String,
    /// Facts that hold, newest first.
    pub facts: Vec<StatedFact>,
    /// Facts under which the code has changed since, newest first: history, not advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<StaleFact>,
    /// What people said about it in sessions, best first: history, not advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Remark>,
    /// The last sessions that changed it, oldest first.
    pub sessions: Vec<WhyStep>,
    /// Attempts that were undone, and edits after which a build or test failed, oldest first.
    pub failed: Vec<WhyStep>,
    /// Why facts were not compared with the code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for AboutFound {
    fn is_empty(&self) -> bool {
        self.outline.is_empty()
            && self.facts.is_empty()
            && self.stale.is_empty()
            && self.said.is_empty()
            && self.sessions.is_empty()
            && self.failed.is_empty()
    }
}

/// A current fact of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatedFact {
    pub id: String,
    pub text: String,
    pub kind: String,
    pub at: Option<i64>,
}

/// A message of a person about a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Remark {
    pub text: String,
    pub session_id: String,
    pub at: Option<i64>,
}

/// A fact about code that has changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StaleFact {
    #[serde(flatten)]
    pub fact: StatedFact,
    /// The symbol that changed.
    pub symbol: String,
    /// `Structure`, `PublicBehavior` or `Removed`.
    pub change_class: String,
    /// The commit that the fact was true of.
    pub since: String,
}

/// The agents that a session can be handed to, with the command that starts each with a prompt.
pub const RECEIVERS: &[(&str, &str)] =
    &[("claude", "claude"), ("codex", "codex"), ("gemini", "gemini -i"), ("opencode", "opencode --prompt")];
const RECEIVER_NAMES: &[&str] = &["claude", "codex", "gemini", "opencode"];

/// Write what another agent needs to continue a session
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "handoff",
    command = "handoff",
    answer = "the task in the person's words, decisions, files, the last failure, what is open, and the command to go on",
    example = "loci handoff 7f3a --to codex",
    returns = HandoffMade,
    read_only,
)]
pub struct Handoff {
    /// Session ID or a prefix of it
    #[param(value = "SESSION", required = "session", word)]
    pub session: String,
    /// The agent that continues [default: the same one]
    #[param(value = "AGENT", choice = RECEIVER_NAMES)]
    pub to: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HandoffMade {
    #[serde(rename = "session_id")]
    pub session_id: String,
    pub source: String,
    pub project: String,
    pub ended_at: Option<i64>,
    /// The first prompt, and the last ones, oldest first.
    pub task: String,
    pub prompts: Vec<String>,
    /// The files it edited, the latest last.
    pub files: Vec<String>,
    /// The last build or test, if it failed, with the end of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<CheckRun>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// What the agent said last.
    pub last_reply: String,
    pub decisions: Vec<StatedFact>,
    pub open: Vec<StatedFact>,
    /// The command that continues the session, or starts the other agent with this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Response for HandoffMade {}
