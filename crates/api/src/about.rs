//! `about`: what one should know before touching a piece of code. `handoff`: what another agent needs to continue a session.
//!
//! Does not know where facts and edits come from.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::why::{CheckRun, WhyStep};
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const TARGET: &str = "Symbol, file:line-line or file";
const BUDGET: u64 = 800;
const MAX_BUDGET: u64 = 100_000;

pub const ABOUT: Operation = Operation {
    name: "recall",
    command: "about",
    about: "Show what to know before changing code: outline, facts, last sessions, failures",
    answer: "outline, facts that hold and facts under which the code has changed, what people said, the last sessions that changed it, and what failed then",
    example: "loci about src/store.rs",
    words: Some(Positional { value: "TARGET", about: TARGET, into: &["target"], number: Number::One }),
    params: &[
        param("target", Shape::Text, "TARGET", TARGET),
        param("budget", Shape::Count, "TOKENS", "Tokens of the sessions [default: 800]"),
        param(
            "root",
            Shape::Text,
            "DIR",
            "Source tree [default: the enclosing git repository, or the current directory]",
        ),
    ],
    required: &["target"],
    shapes: schema_properties::<About>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct About {
    pub target: String,
    pub budget: u64,
    pub root: Option<String>,
}

impl Default for About {
    fn default() -> About {
        About { target: String::new(), budget: BUDGET, root: None }
    }
}

impl Request for About {
    const OPERATION: &'static Operation = &ABOUT;
    type Response = AboutFound;

    fn check_params(&self) -> Result<(), Error> {
        if self.target.trim().is_empty() {
            return Err(Error::new(Code::InvalidArgument, "name a symbol or a file").hint(ABOUT.example));
        }
        if !(100..=MAX_BUDGET).contains(&self.budget) {
            let message = format!("`budget` must be from 100 to {MAX_BUDGET}");
            return Err(Error::new(Code::InvalidArgument, message).hint(ABOUT.example));
        }
        Ok(())
    }
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

pub const HANDOFF: Operation = Operation {
    name: "handoff",
    command: "handoff",
    about: "Write what another agent needs to continue a session",
    answer: "the task in the person's words, decisions, files, the last failure, what is open, and the command to go on",
    example: "loci handoff 7f3a --to codex",
    words: Some(Positional {
        value: "SESSION",
        about: "Session ID or a prefix of it",
        into: &["session"],
        number: Number::One,
    }),
    params: &[
        param("session", Shape::Text, "SESSION", "Session ID or a prefix of it"),
        param(
            "to",
            Shape::Choice(RECEIVER_NAMES),
            "AGENT",
            "The agent that continues [default: the same one]",
        ),
    ],
    required: &["session"],
    shapes: schema_properties::<Handoff>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Handoff {
    pub session: String,
    pub to: Option<String>,
}

impl Request for Handoff {
    const OPERATION: &'static Operation = &HANDOFF;
    type Response = HandoffMade;

    fn check_params(&self) -> Result<(), Error> {
        let refused = |message: String| Err(Error::new(Code::InvalidArgument, message).hint(HANDOFF.example));
        match &self.to {
            _ if self.session.trim().is_empty() => refused("name a session".to_string()),
            Some(to) if !RECEIVER_NAMES.contains(&to.as_str()) => {
                refused(format!("`{to}` is not one of {}", RECEIVER_NAMES.join(", ")))
            }
            _ => Ok(()),
        }
    }
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
