//! `report`: the numbers of a period: cost, activity, failures, files, sessions and decisions. The command line draws them as a page.
//!
//! Does not know how the page looks, nor how a number is counted: `usage`, `stats`, `analyze` and `sessions` count.

use crate::operation::{Operation, Response};
use crate::params::{PROJECT, SOURCE, UNTIL, check_time};
use crate::sessions::SessionLine;
use record::Stamp;
use serde::{Deserialize, Deserializer, Serialize};

/// Write an HTML report: cost, activity, failures, sessions, decisions
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "report",
    command = "report",
    answer = "the numbers as JSON, a summary as text; with `--file` or `-o html` one page that needs no network",
    example = "loci report --since 30d --file report.html",
    returns = Report,
    read_only,
    page,
)]
pub struct ReportRequest {
    /// Earliest time: 30d, today, 2026-11-01
    #[param(value = "TIME", default = "30d", check = check_time)]
    pub since: String,
    #[param(like = UNTIL)]
    pub until: Option<String>,
    #[param(like = PROJECT)]
    pub project: Option<String>,
    #[param(like = SOURCE)]
    pub source: Vec<String>,
}

/// The lists have the keys of the views they come from, so that a filter for one fits the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Milliseconds; the end is now unless the request says otherwise.
    pub from: i64,
    pub to: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    /// As `stats`.
    pub counts: Counts,
    /// As `usage --by total`.
    pub usage: UsageLine,
    /// As `usage`, newest first.
    pub days: Vec<UsageLine>,
    pub models: Vec<UsageLine>,
    pub projects: Vec<UsageLine>,
    /// Tool calls by weekday, Monday first, and by hour, in local time.
    pub activity: Vec<[u64; 24]>,
    /// Failures that occurred at least twice, as `analyze errors`.
    pub failures: Listed<FailureLine>,
    /// As `analyze file-churn`.
    pub files: Listed<FileLine>,
    /// As `sessions`: newest first.
    pub sessions: Listed<SessionEntry>,
    /// Decisions, rules, preferences and constraints of memory, in force or superseded, newest first.
    pub decisions: Listed<FactLine>,
    /// What was left undone or undecided, newest first.
    pub open: Listed<FactLine>,
    /// Places of the history that could not be read.
    pub unread: u64,
    /// Why the report is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for Report {
    fn is_empty(&self) -> bool {
        self.counts.sessions == 0 && self.sessions.total == 0
    }

    fn is_incomplete(&self) -> bool {
        self.unread > 0
    }
}

/// The first of many: what is left out is counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listed<T> {
    pub total: u64,
    pub listed: Vec<T>,
}

impl<T> Listed<T> {
    /// Keeps the first `most`.
    pub fn first_of(mut all: Vec<T>, most: usize) -> Listed<T> {
        let total = all.len() as u64;
        all.truncate(most);
        Listed { total, listed: all }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    pub sessions: u64,
    pub turns: u64,
    pub messages: u64,
    pub tool_calls: u64,
    pub errors: u64,
    pub error_rate: f64,
    pub tools: Vec<ToolLine>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolLine {
    pub tool: String,
    pub count: u64,
    pub success: u64,
    pub errors: u64,
    pub pending: u64,
    pub unknown: u64,
    pub error_rate: f64,
    pub sessions: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageLine {
    /// The day, model or project.
    #[serde(alias = "total", alias = "day", alias = "model", alias = "project")]
    pub name: String,
    pub messages: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cost_usd: f64,
    /// Replies of models without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpriced: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureLine {
    pub signature: String,
    pub tool: String,
    pub count: u64,
    pub sessions: u64,
    #[serde(deserialize_with = "read_time")]
    pub first_at: Option<i64>,
    #[serde(deserialize_with = "read_time")]
    pub last_at: Option<i64>,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileLine {
    pub file: String,
    pub reads: u64,
    pub edits: u64,
    pub writes: u64,
    pub errors: u64,
    pub total: u64,
    pub sessions: u64,
    #[serde(deserialize_with = "read_time")]
    pub last_at: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionEntry {
    pub session_id: String,
    pub title: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub turns: u64,
    pub tool_calls: u64,
    pub errors: u64,
}

impl From<SessionLine> for SessionEntry {
    fn from(session: SessionLine) -> SessionEntry {
        SessionEntry {
            session_id: session.chat_id,
            title: session.title,
            source: session.source,
            project: session.project,
            started_at: session.time_range.from,
            ended_at: session.time_range.to,
            turns: session.turns,
            tool_calls: session.tool_calls,
            errors: session.errors,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FactLine {
    pub id: String,
    pub kind: String,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub at: Option<i64>,
    /// The text of the fact that replaced it, or its ID if it was forgotten since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// Views print times as text, operations as milliseconds.
fn read_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Time {
        Millis(i64),
        Text(String),
    }
    Ok(match Option::<Time>::deserialize(from)? {
        Some(Time::Millis(at)) => Some(at),
        Some(Time::Text(text)) => {
            Some(Stamp::parse(text.as_bytes())).filter(|at| at.is_some()).map(|at| at.0)
        }
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_view_is_read_and_sent_on() {
        let record = r#"{"signature":"Bash-1","tool":"Bash","count":2,"sessions":1,"first_at":"1970-01-01T00:00:01Z","last_at":null,"pattern":"x","message":"m"}"#;
        let line: FailureLine = serde_json::from_str(record).unwrap();
        assert_eq!((line.first_at, line.last_at, line.count), (Some(1000), None, 2));
        let sent = serde_json::to_string(&line).unwrap();
        assert_eq!(serde_json::from_str::<FailureLine>(&sent).unwrap(), line);
        let usage: UsageLine = serde_json::from_str(r#"{"model":"m","messages":3,"unpriced":null}"#).unwrap();
        assert_eq!((usage.name.as_str(), usage.messages, usage.unpriced), ("m", 3, None));
    }
}
