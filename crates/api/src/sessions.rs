//! `list_sessions`: recent sessions with their resume commands.
//!
//! Does not search messages: that is `search`.

use crate::operation::{Operation, Request, Response};
use crate::params::{DEVICE, MINE, PROJECT, SINCE, SOURCE, UNTIL, check_origin, check_time, param};
use crate::schema::schema_properties;
use crate::search::TimeRange;
use crate::{Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const OPERATION: Operation = Operation {
    name: "list_sessions",
    command: "sessions",
    about: "List sessions, newest first, with their resume commands",
    answer: "sessions by end time, newest first, then by ID, and how many there are",
    example: "loci sessions --since 7d --source claude-code --limit 5",
    words: None,
    params: &[
        SOURCE,
        PROJECT,
        SINCE,
        UNTIL,
        DEVICE,
        MINE,
        param("limit", Shape::Count, "N", "Maximum number of sessions [default: 20]"),
        param("offset", Shape::Count, "N", "Skip the first N"),
        param("reverse", Shape::Flag, "", "Oldest first"),
    ],
    required: &[],
    shapes: schema_properties::<ListSessions>,
    handy: &[],
    read_only: true,
    rows: &["sessions"],
    stats: &["source", "project"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListSessions {
    pub source: Vec<String>,
    pub project: Option<String>,
    pub since: Option<String>,
    pub until: Option<String>,
    pub device: Option<String>,
    pub mine: bool,
    pub limit: u64,
    pub offset: u64,
    pub reverse: bool,
}

impl Default for ListSessions {
    fn default() -> ListSessions {
        ListSessions {
            source: Vec::new(),
            project: None,
            since: None,
            until: None,
            device: None,
            mine: false,
            limit: 20,
            offset: 0,
            reverse: false,
        }
    }
}

impl Request for ListSessions {
    const OPERATION: &'static Operation = &OPERATION;
    type Response = Sessions;

    fn check_params(&self) -> Result<(), Error> {
        check_origin(self.device.as_deref(), self.mine)?;
        check_time("since", self.since.as_deref())?;
        check_time("until", self.until.as_deref())
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
