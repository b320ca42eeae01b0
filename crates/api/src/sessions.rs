//! `list_sessions`: recent sessions with their resume commands.
//!
//! Does not search messages: that is `search`.

use crate::Error;
use crate::operation::{Operation, Response};
use crate::params::{DEVICE, MINE, OFFSET, PROJECT, REVERSE, SINCE, SOURCE, UNTIL, check_origin};
use crate::search::TimeRange;
use serde::{Deserialize, Serialize};

/// List sessions, newest first, with their resume commands
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "list_sessions",
    command = "sessions",
    answer = "sessions by end time, newest first, then by ID, and how many there are",
    example = "loci sessions --since 7d --source claude-code --limit 5",
    returns = Sessions,
    read_only,
    rows("sessions"),
    stats("source", "project"),
    check,
)]
pub struct ListSessions {
    #[param(like = SOURCE)]
    pub source: Vec<String>,
    #[param(like = PROJECT)]
    pub project: Option<String>,
    #[param(like = SINCE)]
    pub since: Option<String>,
    #[param(like = UNTIL)]
    pub until: Option<String>,
    #[param(like = DEVICE)]
    pub device: Option<String>,
    #[param(like = MINE)]
    pub mine: bool,
    /// Maximum number of sessions
    #[param(default = 20)]
    pub limit: u64,
    #[param(like = OFFSET)]
    pub offset: u64,
    #[param(like = REVERSE)]
    pub reverse: bool,
}

impl ListSessions {
    fn check(&self) -> Result<(), Error> {
        check_origin(self.device.as_deref(), self.mine)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sessions {
    pub sessions: Vec<SessionLine>,
    /// The number of sessions that match, on this page or not.
    pub total: u64,
    /// The time up to which the history is indexed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<i64>,
    /// Part of the listed history could not be read: sessions may be missing or incomplete.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub partial: bool,
    /// What the list may miss, or why it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for Sessions {
    fn is_incomplete(&self) -> bool {
        self.partial
    }

    fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionLine {
    pub chat_id: String,
    pub title: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub time_range: TimeRange,
    pub turns: u64,
    pub tool_calls: u64,
    pub errors: u64,
    pub models: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The agent has deleted the transcript: the session comes from the archive and cannot be resumed.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub archived: bool,
    /// The other device that the session came from. It cannot be resumed here; `loci handoff` continues it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}
