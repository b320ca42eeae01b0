//! Messages between agents: an agent is a name for a working directory; a message is stored until it has been answered.
//!
//! Does not know what runs an agent, or when.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Exit, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The programs that can run an agent.
pub const CLIENTS: &[&str] = &["claude", "codex"];
pub const STATES: &[&str] = &["waiting", "running", "answered", "failed"];
/// A message is a request, not a document.
pub const LONGEST: usize = 256 << 10;

const AGENT: Param = param("agent", Shape::Text, "AGENT", "The agent's name, as listed by `loci agent list`");

pub const DISPATCH: Operation = Operation {
    name: "dispatch",
    command: "dispatch",
    about: "Send a message to a named agent",
    answer: "the message ID and state, and the reply if it has arrived",
    example: "loci dispatch reviewer 'look at the last commit' --wait-seconds 120",
    words: Some(Positional {
        value: "AGENT MESSAGE",
        about: "The receiving agent and the message",
        into: &["agent", "message"],
        number: Number::InTurn,
    }),
    params: &[
        AGENT,
        param("message", Shape::Text, "TEXT", "The message text"),
        param(
            "key",
            Shape::Text,
            "KEY",
            "Idempotency key: a repeated key does not send the message again [default: a new key]",
        ),
        param("from", Shape::Text, "NAME", "Name of the sender [default: the calling agent, if any]"),
        param("wait_seconds", Shape::Count, "N", "Seconds to wait for the reply [default: 0]"),
    ],
    required: &["agent", "message"],
    shapes: schema_properties::<Dispatch>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const MESSAGES: Operation = Operation {
    name: "list_messages",
    command: "agent messages",
    about: "List messages sent to named agents, with state and reply",
    answer: "messages, newest first",
    example: "loci agent messages --agent reviewer --state answered --limit 5",
    words: Some(Positional {
        value: "ID",
        about: "Only these messages, by ID",
        into: &["ids"],
        number: Number::Several,
    }),
    params: &[
        param("ids", Shape::List, "ID", "Only these messages, by ID"),
        param("agent", Shape::Text, "AGENT", "Only messages to this agent"),
        param("state", Shape::Choice(STATES), "STATE", "Only messages in this state"),
        param("limit", Shape::Count, "N", "Maximum number of messages [default: 20]"),
    ],
    required: &[],
    shapes: schema_properties::<ListMessages>,
    handy: &[],
    read_only: true,
    rows: &["messages"],
    stats: &["agent", "state"],
};

pub const ADD: Operation = Operation {
    name: "add_agent",
    command: "agent add",
    about: "Add a named agent: a working directory and the program to run in it",
    answer: "the added agent",
    example: "loci agent add reviewer ~/work/review",
    words: Some(Positional {
        value: "NAME DIRECTORY",
        about: "The agent's name and working directory",
        into: &["name", "directory"],
        number: Number::InTurn,
    }),
    params: &[
        param("name", Shape::Text, "NAME", "The agent's name: lowercase letters, digits, - and _"),
        param(
            "directory",
            Shape::Text,
            "DIR",
            "Working directory of the agent [default: the current directory]",
        ),
        param(
            "client",
            Shape::Choice(CLIENTS),
            "CLIENT",
            "The program that runs the agent [default: claude]",
        ),
    ],
    required: &["name"],
    shapes: schema_properties::<AddAgent>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const LIST: Operation = Operation {
    name: "list_agents",
    command: "agent list",
    about: "List named agents that can receive messages",
    answer: "agents by name",
    example: "loci agent list --json",
    words: None,
    params: &[],
    required: &[],
    shapes: schema_properties::<ListAgents>,
    handy: &[],
    read_only: true,
    rows: &["agents"],
    stats: &["client"],
};

pub const REMOVE: Operation = Operation {
    name: "remove_agent",
    command: "agent remove",
    about: "Remove a named agent and its messages",
    answer: "the number of messages removed with the agent",
    example: "loci agent remove reviewer",
    words: Some(Positional {
        value: "NAME",
        about: "The agent's name",
        into: &["name"],
        number: Number::One,
    }),
    params: &[param("name", Shape::Text, "NAME", "The agent's name")],
    required: &["name"],
    shapes: schema_properties::<RemoveAgent>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dispatch {
    pub agent: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub wait_seconds: u64,
}

impl Request for Dispatch {
    const OPERATION: &'static Operation = &DISPATCH;
    type Response = MessageLine;

    fn check_params(&self) -> Result<(), Error> {
        check_name("agent", &self.agent)?;
        let wrong = |message: &str, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        match self.message.len() {
            0 => wrong("missing message", DISPATCH.example),
            n if n > LONGEST => {
                wrong("the message is longer than 256 kB", "write it to a file and send the path")
            }
            _ if self.message.trim().is_empty() => wrong("the message is empty", DISPATCH.example),
            _ if self.wait_seconds > 86_400 => {
                wrong("`wait_seconds` must be at most 86400 (one day)", DISPATCH.example)
            }
            _ if self.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > 200) => {
                wrong("`key` must have 1 to 200 bytes", "omit it to generate one")
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListMessages {
    pub ids: Vec<String>,
    pub agent: Option<String>,
    pub state: Option<String>,
    pub limit: u64,
}

impl Default for ListMessages {
    fn default() -> ListMessages {
        ListMessages { ids: Vec::new(), agent: None, state: None, limit: 20 }
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

impl Request for ListMessages {
    const OPERATION: &'static Operation = &MESSAGES;
    type Response = Messages;

    fn check_params(&self) -> Result<(), Error> {
        self.message_ids()?;
        let known = self.state.as_ref().is_none_or(|state| STATES.contains(&state.as_str()));
        if known { Ok(()) } else { Err(choice_error("state", STATES)) }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AddAgent {
    pub name: String,
    pub directory: Option<String>,
    pub client: Option<String>,
}

impl Request for AddAgent {
    const OPERATION: &'static Operation = &ADD;
    type Response = AgentLine;

    fn check_params(&self) -> Result<(), Error> {
        check_name("name", &self.name)?;
        let known = self.client.as_ref().is_none_or(|client| CLIENTS.contains(&client.as_str()));
        if known { Ok(()) } else { Err(choice_error("client", CLIENTS)) }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListAgents {}

impl Request for ListAgents {
    const OPERATION: &'static Operation = &LIST;
    type Response = Agents;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RemoveAgent {
    pub name: String,
}

impl Request for RemoveAgent {
    const OPERATION: &'static Operation = &REMOVE;
    type Response = Removed;

    fn check_params(&self) -> Result<(), Error> {
        check_name("name", &self.name)
    }
}

fn choice_error(name: &str, words: &[&str]) -> Error {
    Error::new(Code::InvalidArgument, format!("`{name}` must be one of: {}", words.join(", ")))
}

/// Validates a name: easy to type, and impossible to mistake for a flag or a path.
fn check_name(what: &str, name: &str) -> Result<(), Error> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if begins && name.len() <= 40 && name.chars().all(fine) {
        return Ok(());
    }
    let message = format!("invalid `{what}`: `{name}` (use up to 40 lowercase letters, digits, - and _)");
    Err(Error::new(Code::InvalidArgument, message).hint(ADD.example))
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
