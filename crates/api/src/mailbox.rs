//! Messages between agents: an agent is a name for a working directory; a message is stored until it has been answered.
//!
//! Does not know what runs an agent, or when.

use crate::operation::{Operation, Request, Response};
use crate::{Code, Error, Exit, Param};
use serde::{Deserialize, Serialize};

/// The programs that can run an agent.
pub const CLIENTS: &[&str] = &["claude", "codex"];
pub const STATES: &[&str] = &["waiting", "running", "answered", "failed"];
/// A message is a request, not a document.
pub const LONGEST: usize = 256 << 10;

const AGENT: Param = Param {
    check: Some(check_name),
    ..Param::text("agent", "AGENT", "The agent's name, as listed by `loci agent list`")
};

/// Send a message to a named agent
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "dispatch",
    command = "dispatch",
    answer = "the message ID and state, and the reply if it has arrived",
    example = "loci dispatch reviewer 'look at the last commit' --wait-seconds 120",
    returns = MessageLine,
    daemon,
    words(InTurn, "AGENT MESSAGE", "The receiving agent and the message", into("agent", "message")),
    check,
)]
pub struct Dispatch {
    #[param(like = AGENT, required = "agent")]
    pub agent: String,
    /// The message text
    #[param(value = "TEXT", required = "message")]
    pub message: String,
    /// Idempotency key: a repeated key does not send the message again [default: a new key]
    #[param(value = "KEY")]
    pub key: Option<String>,
    /// Name of the sender [default: the calling agent, if any]
    #[param(value = "NAME")]
    pub from: Option<String>,
    /// Seconds to wait for the reply [default: 0]
    #[param(range = 0..=86_400)]
    pub wait_seconds: u64,
}

impl Dispatch {
    fn check(&self) -> Result<(), Error> {
        let wrong = |message: &str, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        match self.message.len() {
            n if n > LONGEST => {
                wrong("the message is longer than 256 kB", "write it to a file and send the path")
            }
            _ if self.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > 200) => {
                wrong("`key` must have 1 to 200 bytes", "omit it to generate one")
            }
            _ => Ok(()),
        }
    }
}

/// List messages sent to named agents, with state and reply
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "list_messages",
    command = "agent messages",
    answer = "messages, newest first",
    example = "loci agent messages --agent reviewer --state answered --limit 5",
    returns = Messages,
    read_only,
    rows("messages"),
    stats("agent", "state"),
    words(Several, "ID", "Only these messages, by ID", into("ids")),
    check,
)]
pub struct ListMessages {
    /// Only these messages, by ID
    #[param(value = "ID")]
    pub ids: Vec<String>,
    /// Only messages to this agent
    #[param(value = "AGENT")]
    pub agent: Option<String>,
    /// Only messages in this state
    #[param(value = "STATE", choice = STATES)]
    pub state: Option<String>,
    /// Maximum number of messages
    #[param(default = 20)]
    pub limit: u64,
}

impl ListMessages {
    fn check(&self) -> Result<(), Error> {
        self.message_ids().map(|_| ())
    }
}

impl ListMessages {
    pub fn message_ids(&self) -> Result<Vec<i64>, Error> {
        let one = |id: &String| {
            id.trim().parse::<i64>().map_err(|_| {
                Error::new(Code::InvalidArgument, format!("`{id}` is not a message ID"))
                    .hint("loci agent messages")
            })
        };
        self.ids.iter().map(one).collect()
    }
}

/// Add a named agent: a working directory and the program to run in it
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "add_agent",
    command = "agent add",
    answer = "the added agent",
    example = "loci agent add reviewer ~/work/review",
    returns = AgentLine,
    words(InTurn, "NAME DIRECTORY", "The agent's name and working directory", into("name", "directory")),
)]
pub struct AddAgent {
    /// The agent's name: lowercase letters, digits, - and _
    #[param(value = "NAME", required = "name", check = check_name)]
    pub name: String,
    /// Working directory of the agent [default: the current directory]
    #[param(value = "DIR")]
    pub directory: Option<String>,
    /// The program that runs the agent [default: claude]
    #[param(value = "CLIENT", choice = CLIENTS)]
    pub client: Option<String>,
}

/// List named agents that can receive messages
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "list_agents",
    command = "agent list",
    answer = "agents by name",
    example = "loci agent list --json",
    returns = Agents,
    read_only,
    rows("agents"),
    stats("client"),
)]
pub struct ListAgents {}

/// Remove a named agent and its messages
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "remove_agent",
    command = "agent remove",
    answer = "the number of messages removed with the agent",
    example = "loci agent remove reviewer",
    returns = Removed,
)]
pub struct RemoveAgent {
    /// The agent's name
    #[param(value = "NAME", required = "name", word, check = check_name)]
    pub name: String,
}

/// Validates a name: easy to type, and impossible to mistake for a flag or a path.
fn check_name(what: &str, name: &str) -> Result<(), Error> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if begins && name.len() <= 40 && name.chars().all(fine) {
        return Ok(());
    }
    let message = format!("invalid `{what}`: `{name}` (use up to 40 lowercase letters, digits, - and _)");
    Err(Error::new(Code::InvalidArgument, message).hint(AddAgent::OPERATION.example))
}

/// A message and its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageLine {
    /// None until the daemon has accepted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    pub key: String,
    pub agent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// `spooled` while it waits for a daemon.
    pub state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<i64>,
    /// The number of delivery attempts.
    pub attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The command that shows more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Response for MessageLine {
    fn exit(&self) -> Exit {
        if self.state == "failed" { Exit::Failed } else { Exit::Found }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Messages {
    pub messages: Vec<MessageLine>,
    /// Spooled while no daemon was running.
    #[serde(skip_serializing_if = "crate::mailbox::is_zero")]
    pub spooled: u64,
}

impl Response for Messages {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.spooled == 0
    }
}

// serde requires a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentLine {
    pub name: String,
    pub directory: String,
    pub client: String,
    /// The session that is continued from message to message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it was last active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spoke: Option<i64>,
    /// Why it cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Response for AgentLine {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agents {
    pub agents: Vec<AgentLine>,
}

impl Response for Agents {
    fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Removed {
    pub name: String,
    pub messages: u64,
}

impl Response for Removed {}
