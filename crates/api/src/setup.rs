//! Configuring agents on this machine to use Loci: the agents, each change as a diff, and checks of the result.
//!
//! Does not know how any agent is configured.

use crate::operation::{Operation, Response};
use crate::params::AGENT_NAMES;
use crate::toolsets::Set;
use crate::{Code, Error, Exit};
use serde::{Deserialize, Serialize};

/// Every agent that can be configured, by its name throughout Loci.
pub const AGENTS: &[&str] = &[
    "claude-code",
    "codex",
    "gemini-cli",
    "opencode",
    "kilo",
    "qwen",
    "copilot",
    "droid",
    "cline",
    "kimi",
    "cursor",
    "vscode-copilot",
    "zed",
    "crush",
];

/// Configure agents to use Loci (MCP server and hooks), or undo it
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "setup",
    command = "setup",
    answer = "for each agent, the exact changes to its files, whether they were made, and checks of the result",
    example = "loci setup claude-code --dry-run",
    returns = SetupDone,
    local,
    confirm("setup changes your agents' files", "Make these changes?"),
    words(Several, "AGENT", "Agents to configure: claude-code, codex, gemini-cli, opencode, kilo, qwen, copilot, droid, cline, kimi, cursor, vscode-copilot, zed, crush", into("agents")),
    check,
)]
pub struct SetupRequest {
    /// Agents to configure, even if not found on this machine [default: all found]
    #[param(value = "AGENTS", spelled = AGENT_NAMES, check = check_agent)]
    pub agents: Vec<String>,
    /// Toolsets to offer to all agents, comma-separated: chat, history, code, edit, agents, memory, core; stored as the
    /// setting mcp.toolsets [default: chat,history,core, or the setting]
    #[param(value = "SETS", check = check_toolset)]
    pub toolsets: Vec<String>,
    /// Undo the changes made by setup, byte for byte
    pub remove: bool,
    /// Show the changes without making them
    pub dry_run: bool,
}

fn check_toolset(_: &str, name: &str) -> Result<(), Error> {
    if Set::from_name(name).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = Set::ALL.iter().map(|(_, name, _)| *name).collect();
    Err(Error::new(Code::InvalidArgument, format!("there is no toolset `{name}`"))
        .hint(format!("toolsets: {}", known.join(", "))))
}

fn check_agent(_: &str, name: &str) -> Result<(), Error> {
    if AGENTS.contains(&name) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("unsupported agent `{name}`"))
        .hint(format!("supported: {}", AGENTS.join(", "))))
}

impl SetupRequest {
    fn check(&self) -> Result<(), Error> {
        if self.remove && !self.toolsets.is_empty() {
            return Err(Error::new(Code::InvalidArgument, "--toolsets and --remove cannot be combined")
                .hint("loci config unset mcp.toolsets"));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetupDone {
    pub agents: Vec<AgentSetup>,
    /// The tools that agents get; none for a removal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolsets: Option<ToolsetChoice>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub remove: bool,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for SetupDone {
    /// Neither an agent nor anything that Loci installed was found.
    fn is_empty(&self) -> bool {
        self.agents.iter().all(|agent| agent.found.is_none() && agent.changes.is_empty())
    }

    fn exit(&self) -> Exit {
        match (self.has_failed(), self.is_empty()) {
            (true, _) => Exit::Failed,
            (_, true) => Exit::Nothing,
            _ => Exit::Found,
        }
    }

    fn is_pending(&self) -> bool {
        self.change_count() > 0
    }
}

/// The toolsets that `loci mcp` offers, and what each would cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolsetChoice {
    pub chosen: Vec<String>,
    pub tools: u64,
    /// Tokens that the list of tools takes in every session of an agent, about.
    pub tokens: u64,
    pub known: Vec<Toolset>,
    /// The change of the setting `mcp.toolsets`, if it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toolset {
    pub name: String,
    pub about: String,
    pub tools: u64,
    pub tokens: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSetup {
    pub agent: String,
    pub title: String,
    /// The directory or program by which the agent was found; none if it was not found.
    pub found: Option<String>,
    /// Empty if nothing has to change.
    pub changes: Vec<Change>,
    /// Checks of the result, without network access.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Why some or all changes were not made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<SetupProblem>,
    /// How to verify that it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub path: String,
    pub does: ChangeKind,
    /// The change as a unified diff; none for a file that Loci ships whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The size of the file afterwards.
    pub bytes: u64,
    pub made: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Create,
    Edit,
    Remove,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub what: String,
    pub holds: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupProblem {
    pub message: String,
    /// Instructions for making the change by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

impl SetupDone {
    pub fn has_failed(&self) -> bool {
        self.agents.iter().any(|agent| !agent.problems.is_empty() || agent.checks.iter().any(|c| !c.holds))
    }

    pub fn change_count(&self) -> usize {
        let setting = self.toolsets.iter().filter(|choice| choice.change.is_some()).count();
        setting + self.agents.iter().map(|agent| agent.changes.len()).sum::<usize>()
    }
}
