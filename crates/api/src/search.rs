//! `search_conversations`: find sessions by what was discussed in them.
//!
//! Does not know how sessions are ranked. Suggestions for the next step are computed in [`crate::guidance`].

use crate::operation::{Operation, Response};
use crate::params::{DEVICE, MINE, PROJECT, SOURCE, check_origin};
use crate::{Code, Error, Shape, fields};
use record::{Clock, Stamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Declares an enum together with its words; the first variant is the default.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $first:ident = $word:literal $(, $more:ident = $words:literal)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { #[default] $first $(, $more)* }

        impl fields::Value for $name {
            fn read(&mut self, given: &Value) -> Result<(), String> {
                *self = $name::deserialize(given)
                    .map_err(|_| ["one of: ", $word $(, ", ", $words)*].concat())?;
                Ok(())
            }

            fn write(&self) -> Value {
                Value::from(match self {
                    $name::$first => $word,
                    $($name::$more => $words,)*
                })
            }
        }

        impl fields::Kind for $name {
            const SHAPE: Shape = Shape::Choice(&[$word $(, $words)*]);

            fn schema() -> Value {
                json!({"type": "string", "enum": [$word $(, $words)*]})
            }
        }
    };
}
choice!(Precision { Basic = "basic", Fuzzy = "fuzzy" });
choice!(Expand { Off = "off", Auto = "auto" });
choice!(
    /// Where a match may be.
    Part { Both = "both", Content = "content", Title = "title" }
);
choice!(Match { Any = "any", All = "all" });
choice!(Mode { Json = "json", Text = "text" });
choice!(
    /// Where a passage was found.
    Origin { Content = "content", Title = "title", Tool = "tool" }
);
choice!(Status { Ok = "ok", Error = "error" });

/// Search conversations
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "search_conversations",
    command = "search",
    answer = "sessions, best match first, each with matching snippets and its resume command; then suggested next steps",
    example = "loci search why does the daemon lose its socket --since 60d --limit 5",
    returns = SearchFound,
    read_only,
    rows("results"),
    stats("source"),
    words(Sentence, "WORDS", "What to search for, in your own words", into("intent_query")),
    check,
)]
pub struct SearchConversations {
    /// What to search for (repeatable, OR)
    #[param(
        value = "TEXT",
        required = "search text",
        flag("also", Names, "TEXT", "Also match this phrase (repeatable, OR)")
    )]
    pub intent_query: Intent,
    /// Time range: 7d, 12h, today, all; in JSON also {start,end} in milliseconds [default: all]
    #[param(
        value = "SPAN",
        flag(
            "since",
            Start,
            "TIME",
            "Earliest time: 7d, 12h, today, 2026-11-01 (local time), or an RFC 3339 time"
        ),
        flag("until", End, "TIME", "Latest time (same formats as `--since`; dates include the whole day)")
    )]
    pub time_window: TimeWindow,
    /// basic: exact words; fuzzy: also typos, prefixes and inflections
    #[param(
        value = "MODE",
        default = Precision::Basic,
        flag("fuzzy", Is("fuzzy"), "", "Also match typos, prefixes and inflections (same as --precision-mode fuzzy)"),
    )]
    pub precision_mode: Precision,
    /// auto: also search for related words and list them in the response
    #[param(value = "MODE", default = Expand::Off)]
    pub expand: Expand,
    /// Search tool input and output too
    #[param(
        default = true,
        flag(
            "no-tools",
            Is("false"),
            "",
            "Do not search tool inputs and outputs (same as --include-tools-in-search=false)"
        )
    )]
    pub include_tools_in_search: bool,
    /// Search message text (content), session titles (title) or both
    #[param(value = "PART", default = Part::Both)]
    pub scope: Part,
    /// Only these roles: user, assistant, system
    #[param(value = "ROLES", check = check_role)]
    pub role_filter: Vec<String>,
    /// Exclude sessions with these words
    #[param(value = "WORDS")]
    pub exclude_terms: Vec<String>,
    /// Match any of the words, or require all of them
    #[param(
        name = "match",
        value = "HOW",
        default = Match::Any,
        flag("all", Is("all"), "", "Require all of the words (same as --match all)"),
    )]
    pub matching: Match,
    /// Maximum number of sessions
    #[param(
        value = "N",
        default = 10,
        flag("limit", Names, "N", "Maximum number of sessions (same as --limit-chats) [default: 10]"),
        range = 1..=MOST_CHATS,
    )]
    pub limit_chats: u32,
    /// Maximum number of snippets per session
    #[param(default = 3, program, range = 0..=MOST_SNIPPETS)]
    pub limit_snippets_per_chat: u32,
    /// Characters on each side of a match
    #[param(default = 64, program, range = 0..=WIDEST)]
    pub snippet_window: u32,
    /// text: add a readable version to the JSON response
    #[param(value = "MODE", default = Mode::Json, program)]
    pub response_mode: Mode,
    /// Suggest what to try next
    #[param(default = true, program)]
    pub include_guidance: bool,
    #[param(like = SOURCE)]
    pub source: Vec<String>,
    #[param(like = PROJECT)]
    pub project: Option<String>,
    #[param(like = DEVICE)]
    pub device: Option<String>,
    #[param(like = MINE)]
    pub mine: bool,
    /// Include the calling session; and Loci's own output in other sessions
    #[param(program)]
    pub include_own: bool,
    /// Number of this search attempt, from 1; echoed in the response
    #[param(default = 1, program)]
    pub iteration: u32,
}

fn check_role(_: &str, role: &str) -> Result<(), Error> {
    if ROLES.contains(&role) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("unknown role `{role}`"))
        .hint(format!("one of: {}", ROLES.join(", "))))
}

impl SearchConversations {
    fn check(&self) -> Result<(), Error> {
        check_origin(self.device.as_deref(), self.mine)?;
        let length: usize = self.intent_query.0.iter().chain(&self.exclude_terms).map(String::len).sum();
        if length > LONGEST {
            return Err(Error::new(Code::InvalidArgument, format!("the search text has {length} bytes"))
                .hint(format!("at most {LONGEST}")));
        }
        self.time_window.bounds(Clock::At(Stamp(0))).map(|_| ())
    }
}

/// Limits of a request: each word may be compared with every word of the index, and each passage is read again.
const LONGEST: usize = 4096; // bytes of all texts together
pub const MOST_CHATS: u64 = 1000;
const MOST_SNIPPETS: u64 = 100;
const WIDEST: u64 = 10_000;

pub const ROLES: &[&str] = &["user", "assistant", "system"];

/// One search text or several alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent(pub Vec<String>);

impl fields::Value for Intent {
    fn read(&mut self, given: &Value) -> Result<(), String> {
        fields::Value::read(&mut self.0, given).map_err(|_| "a text or a list of texts".to_owned())
    }

    fn write(&self) -> Value {
        match &self.0[..] {
            [one] => Value::from(one.as_str()),
            several => Value::from(several),
        }
    }
}

impl fields::Kind for Intent {
    const SHAPE: Shape = Shape::Texts;

    fn schema() -> Value {
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
    }
}

/// A time range: `all`, a number of days or hours before now, or an explicit start and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeWindow {
    Word(String),
    /// Milliseconds since 1970, both inclusive.
    Span {
        start: Option<i64>,
        end: Option<i64>,
    },
}

impl Default for TimeWindow {
    fn default() -> TimeWindow {
        TimeWindow::Word("all".to_string())
    }
}

impl TimeWindow {
    /// The first and the last timestamp of the range.
    pub fn bounds(&self, clock: Clock) -> Result<(Stamp, Stamp), Error> {
        let (open, end) = (Stamp(i64::MIN), Stamp(i64::MAX));
        match self {
            TimeWindow::Word(word) if word == "all" => Ok((open, end)),
            TimeWindow::Word(word) => match clock.parse_time(word) {
                Some(start) => Ok((start, end)),
                None => Err(Error::new(Code::InvalidArgument, format!("invalid `time_window`: `{word}`"))
                    .hint("7d, 30d, 60d, 90d, 12h, today, all, or {\"start\":…,\"end\":…} in milliseconds")),
            },
            TimeWindow::Span { start: Some(start), end: Some(end) } if start > end => {
                Err(Error::new(Code::InvalidArgument, "`time_window` ends before it starts")
                    .hint("swap start and end"))
            }
            TimeWindow::Span { start, end: last } => Ok((start.map_or(open, Stamp), last.map_or(end, Stamp))),
        }
    }
}

impl fields::Value for TimeWindow {
    fn read(&mut self, given: &Value) -> Result<(), String> {
        const WANTED: &str = "a text such as `30d`, or {start, end} in milliseconds";
        *self = match given {
            Value::String(word) => TimeWindow::Word(word.clone()),
            Value::Object(span)
                if !span.is_empty() && span.keys().all(|key| key == "start" || key == "end") =>
            {
                let ms = |end: &str| span.get(end).map(|ms| as_whole_ms(ms).ok_or(WANTED)).transpose();
                TimeWindow::Span { start: ms("start")?, end: ms("end")? }
            }
            _ => return Err(WANTED.to_owned()),
        };
        Ok(())
    }

    fn write(&self) -> Value {
        match self {
            TimeWindow::Word(word) => Value::from(word.as_str()),
            TimeWindow::Span { start, end } => {
                let ends = [("start", start), ("end", end)];
                ends.into_iter()
                    .filter_map(|(name, ms)| Some((name.to_owned(), Value::from((*ms)?))))
                    .collect()
            }
        }
    }
}

impl fields::Kind for TimeWindow {
    const SHAPE: Shape = Shape::Text;

    fn schema() -> Value {
        let ms = json!({"type": "integer"});
        json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"start": ms, "end": ms}}]})
    }
}

/// Accepts floats as well: models often write milliseconds as `1.7e12`.
fn as_whole_ms(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().filter(|n| n.is_finite()).map(|n| n as i64))
}

// ---- the response

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SearchFound {
    pub status: Status,
    #[serde(rename = "iterations_used")]
    pub iterations_used: u32,
    /// Probability that the first session is the intended one, from 0 to 1.
    pub confidence: f64,
    pub top_chat_ids: Vec<String>,
    pub results: Vec<ChatFound>,
    /// The number of sessions with a match, listed or not.
    pub total_chats: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<Guidance>,
    /// The time up to which the history is indexed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<i64>,
    /// Part of the history could not be searched; the notes say which.
    #[serde(skip_serializing_if = "is_false")]
    pub partial: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The response as readable text, if `response_mode` is `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Response for SearchFound {
    fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    fn is_incomplete(&self) -> bool {
        self.partial
    }

    /// Without highlights and resume commands, which only a screen needs: they are a fifth of a search response.
    fn to_agent(&self) -> Value {
        let mut response = serde_json::to_value(self).unwrap_or_default();
        remove_fields(&mut response, &["highlights", "resume"]);
        response
    }
}

fn remove_fields(value: &mut Value, names: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| remove_fields(item, names)),
        Value::Object(map) => {
            map.retain(|name, _| !names.contains(&name.as_str()));
            map.values_mut().for_each(|item| remove_fields(item, names));
        }
        _ => {}
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands over a reference
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChatFound {
    pub chat_id: String,
    pub title: String,
    pub hits: u64,
    pub time_range: TimeRange,
    pub snippets: Vec<Snippet>,
    /// The agent, by the name of its source.
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The agent has deleted the transcript: the session comes from the archive and cannot be resumed.
    #[serde(skip_serializing_if = "is_false")]
    pub archived: bool,
    /// The other device that the session came from. It cannot be resumed here; `loci handoff` continues it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Milliseconds since 1970; null if the transcript has no timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeRange {
    pub from: Option<i64>,
    pub to: Option<i64>,
}

impl TimeRange {
    pub fn new(from: Stamp, to: Stamp) -> TimeRange {
        TimeRange { from: stamp_to_ms(from), to: stamp_to_ms(to) }
    }
}

/// A timestamp as responses contain it.
pub fn stamp_to_ms(at: Stamp) -> Option<i64> {
    at.is_some().then_some(at.0)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Snippet {
    pub message_id: String,
    pub role: String,
    pub created_at: Option<i64>,
    pub text: String,
    pub source: Origin,
    /// The matches in the text: start and end, counted in characters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub highlights: Vec<[u32; 2]>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Guidance {
    /// When to stop searching.
    pub stop_if: String,
    pub next_actions: Vec<NextAction>,
    pub state: State,
}

/// A tool call, ready to run unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NextAction {
    pub tool: String,
    pub args: Map<String, Value>,
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// Words added to the search, by the word that they extend.
    pub expanded_terms: BTreeMap<String, Vec<String>>,
    pub excludes: Vec<String>,
    pub iteration: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The documented JSON survives reading and writing, key by key.
    #[test]
    fn the_response_keeps_its_documented_keys() {
        let promised = json!({
            "status": "ok", "iterations_used": 1, "confidence": 0.5, "topChatIds": ["a"],
            "results": [{
                "chatId": "a", "title": "t", "hits": 2, "timeRange": {"from": 1, "to": 2},
                "snippets": [{
                    "messageId": "m", "role": "user", "createdAt": 1, "text": "x", "source": "tool", "highlights": [[0, 1]],
                }],
                "source": "codex", "project": "/p", "resume": "codex resume a", "archived": true, "device": "work",
            }],
            "totalChats": 520,
            "guidance": {
                "stopIf": "s",
                "nextActions": [{"tool": "gather_chats", "args": {"chatIds": ["a"]}, "why": "w"}],
                "state": {"expandedTerms": {"a": ["b"]}, "excludes": ["c"], "iteration": 1},
            },
            "asOf": 5, "partial": true, "notes": ["n"], "text": "x",
        });
        let read: SearchFound = serde_json::from_value(promised.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap().to_string(), promised.to_string());
        let keys = |found: &SearchFound| serde_json::to_value(found).unwrap().as_object().unwrap().len();
        assert_eq!(keys(&SearchFound::default()), 6, "unknown fields are omitted");
    }

    #[test]
    fn a_time_window_has_a_start_and_an_end() {
        let clock = Clock::At(Stamp(100 * 86_400_000));
        let (open, end) = (Stamp(i64::MIN), Stamp(i64::MAX));
        for (window, bounds) in [
            (json!("all"), (open, end)),
            (json!("30d"), (Stamp(70 * 86_400_000), end)),
            (json!({"start": 5}), (Stamp(5), end)),
            (json!({"end": 7}), (open, Stamp(7))),
            (json!({"start": 5, "end": 7}), (Stamp(5), Stamp(7))),
        ] {
            let mut read = TimeWindow::default();
            fields::Value::read(&mut read, &window).unwrap();
            assert_eq!(read.bounds(clock), Ok(bounds));
        }
    }
}
