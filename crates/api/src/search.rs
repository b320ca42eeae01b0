//! `search_conversations`: find sessions by what was discussed in them.
//!
//! Does not know how sessions are ranked. Suggestions for the next step are computed in [`crate::guidance`].

use crate::operation::{FlagMeaning, Number, Operation, Positional, Request, Response, ShortFlag};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use record::{Clock, Stamp};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

pub const OPERATION: Operation = Operation {
    name: "search_conversations",
    command: "search",
    about: "Search conversations",
    answer: "sessions, best match first, each with matching snippets and its resume command; then suggested next \
             steps",
    example: "loci search why does the daemon lose its socket --since 60d --limit 5",
    words: Some(Positional {
        value: "WORDS",
        about: "What to search for, in your own words",
        into: &["intent_query"],
        number: Number::Sentence,
    }),
    params: &[
        param("intent_query", Shape::Texts, "TEXT", "What to search for (repeatable, OR)"),
        param(
            "time_window",
            Shape::Text,
            "SPAN",
            "Time range: 7d, 12h, today, all; in JSON also {start,end} in milliseconds [default: all]",
        ),
        param(
            "precision_mode",
            Shape::Choice(&["basic", "fuzzy"]),
            "MODE",
            "basic: exact words; fuzzy: also typos, prefixes and inflections [default: basic]",
        ),
        param(
            "expand",
            Shape::Choice(&["off", "auto"]),
            "MODE",
            "auto: also search for related words and list them in the response [default: off]",
        ),
        param(
            "include_tools_in_search",
            Shape::Switch,
            "",
            "Search tool input and output too [default: true]",
        ),
        param(
            "scope",
            Shape::Choice(&["both", "content", "title"]),
            "PART",
            "Search message text (content), session titles (title) or both [default: both]",
        ),
        param("role_filter", Shape::List, "ROLES", "Only these roles: user, assistant, system"),
        param("exclude_terms", Shape::List, "WORDS", "Exclude sessions with these words"),
        param(
            "match",
            Shape::Choice(&["any", "all"]),
            "HOW",
            "Match any of the words, or require all of them [default: any]",
        ),
        param("limit_chats", Shape::Count, "N", "Maximum number of sessions [default: 10]"),
        param(
            "limit_snippets_per_chat",
            Shape::Count,
            "N",
            "Maximum number of snippets per session [default: 3]",
        ),
        param("snippet_window", Shape::Count, "N", "Characters on each side of a match [default: 64]"),
        param(
            "response_mode",
            Shape::Choice(&["json", "text"]),
            "MODE",
            "text: add a readable version to the JSON response [default: json]",
        ),
        param("include_guidance", Shape::Switch, "", "Suggest what to try next [default: true]"),
        crate::params::SOURCE,
        crate::params::PROJECT,
        crate::params::DEVICE,
        crate::params::MINE,
        param(
            "include_own",
            Shape::Flag,
            "",
            "Include the calling session; and Loci's own output in other sessions",
        ),
        param(
            "iteration",
            Shape::Count,
            "N",
            "Number of this search attempt, from 1; echoed in the response [default: 1]",
        ),
    ],
    required: &["intent_query"],
    shapes: schema_properties::<SearchConversations>,
    handy: &[
        ShortFlag {
            flag: "also",
            value: "TEXT",
            means: FlagMeaning::Names("intent_query"),
            about: "Also match this phrase (repeatable, OR)",
        },
        ShortFlag {
            flag: "fuzzy",
            value: "",
            means: FlagMeaning::Is("precision_mode", "fuzzy"),
            about: "Also match typos, prefixes and inflections (same as --precision-mode fuzzy)",
        },
        ShortFlag {
            flag: "all",
            value: "",
            means: FlagMeaning::Is("match", "all"),
            about: "Require all of the words (same as --match all)",
        },
        ShortFlag {
            flag: "no-tools",
            value: "",
            means: FlagMeaning::Is("include_tools_in_search", "false"),
            about: "Do not search tool inputs and outputs (same as --include-tools-in-search=false)",
        },
        ShortFlag {
            flag: "limit",
            value: "N",
            means: FlagMeaning::Names("limit_chats"),
            about: "Maximum number of sessions (same as --limit-chats) [default: 10]",
        },
        ShortFlag {
            flag: "since",
            value: "TIME",
            means: FlagMeaning::Start("time_window"),
            about: "Earliest time: 7d, 12h, today, 2026-11-01 (local time), or an RFC 3339 time",
        },
        ShortFlag {
            flag: "until",
            value: "TIME",
            means: FlagMeaning::End("time_window"),
            about: "Latest time (same formats as `--since`; dates include the whole day)",
        },
    ],
    read_only: true,
    rows: &["results"],
    stats: &["source"],
};

/// Declares an enum together with its words; the first variant is the default.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $first:ident $(, $more:ident)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { #[default] $first $(, $more)* }
    };
}
choice!(Precision { Basic, Fuzzy });
choice!(Expand { Off, Auto });
choice!(
    /// Where a match may be.
    Part { Both, Content, Title }
);
choice!(Match { Any, All });
choice!(Mode { Json, Text });
choice!(
    /// Where a passage was found.
    Origin { Content, Title, Tool }
);
choice!(Status { Ok, Error });

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConversations {
    #[schemars(with = "OneOrSeveral")]
    pub intent_query: Intent,
    #[schemars(with = "WordOrSpan")]
    pub time_window: TimeWindow,
    pub precision_mode: Precision,
    pub expand: Expand,
    pub include_tools_in_search: bool,
    pub scope: Part,
    pub role_filter: Vec<String>,
    pub exclude_terms: Vec<String>,
    #[serde(rename = "match")]
    pub matching: Match,
    pub limit_chats: u32,
    pub limit_snippets_per_chat: u32,
    pub snippet_window: u32,
    pub response_mode: Mode,
    pub include_guidance: bool,
    pub source: Vec<String>,
    pub project: Option<String>,
    pub device: Option<String>,
    pub mine: bool,
    pub include_own: bool,
    pub iteration: u32,
}

impl Default for SearchConversations {
    fn default() -> SearchConversations {
        SearchConversations {
            intent_query: Intent::default(),
            time_window: TimeWindow::default(),
            precision_mode: Precision::Basic,
            expand: Expand::Off,
            include_tools_in_search: true,
            scope: Part::Both,
            role_filter: Vec::new(),
            exclude_terms: Vec::new(),
            matching: Match::Any,
            limit_chats: 10,
            limit_snippets_per_chat: 3,
            snippet_window: 64,
            response_mode: Mode::Json,
            include_guidance: true,
            source: Vec::new(),
            project: None,
            device: None,
            mine: false,
            include_own: false,
            iteration: 1,
        }
    }
}

/// Limits of a request: each word may be compared with every word of the index, and each passage is read again.
const LONGEST: u64 = 4096; // bytes of all texts together
pub const MOST_CHATS: u64 = 1000;
const MOST_SNIPPETS: u64 = 100;
const WIDEST: u64 = 10_000;

pub const ROLES: &[&str] = &["user", "assistant", "system"];

impl Request for SearchConversations {
    const OPERATION: &'static Operation = &OPERATION;
    type Response = SearchFound;

    fn check_params(&self) -> Result<(), Error> {
        let invalid =
            |message: String, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.intent_query.0.iter().all(|text| text.trim().is_empty()) {
            return invalid("missing search text".to_string(), OPERATION.example);
        }
        if let Some(role) = self.role_filter.iter().find(|role| !ROLES.contains(&role.as_str())) {
            return invalid(format!("unknown role `{role}`"), "one of: user, assistant, system");
        }
        crate::params::check_origin(self.device.as_deref(), self.mine)?;
        if self.limit_chats == 0 {
            return invalid("`limit_chats` must be at least 1".to_string(), "for example 10");
        }
        let length: usize = self.intent_query.0.iter().chain(&self.exclude_terms).map(String::len).sum();
        for (name, given, most) in [
            ("intent_query", length as u64, LONGEST),
            ("limit_chats", u64::from(self.limit_chats), MOST_CHATS),
            ("limit_snippets_per_chat", u64::from(self.limit_snippets_per_chat), MOST_SNIPPETS),
            ("snippet_window", u64::from(self.snippet_window), WIDEST),
        ] {
            if given > most {
                return invalid(format!("`{name}` is {given}"), &format!("at most {most}"));
            }
        }
        self.time_window.bounds(Clock::At(Stamp(0))).map(|_| ())
    }
}

/// The shapes that `Intent` and `TimeWindow` are read from.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only its schema is used
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only its schema is used
enum WordOrSpan {
    Word(String),
    Span { start: Option<i64>, end: Option<i64> },
}

/// One search text or several alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent(pub Vec<String>);

impl Serialize for Intent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => to.serialize_str(one),
            several => several.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Intent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Intent, D::Error> {
        let wrong = || de::Error::custom("`intent_query` must be a string or a list of strings");
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            _ => Err(wrong()),
        };
        match Value::deserialize(from)? {
            Value::Array(items) => Ok(Intent(items.into_iter().map(text).collect::<Result<_, _>>()?)),
            one => Ok(Intent(vec![text(one)?])),
        }
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

impl Serialize for TimeWindow {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            TimeWindow::Word(word) => to.serialize_str(word),
            TimeWindow::Span { start, end } => {
                let ends = [("start", start), ("end", end)];
                let known = ends.into_iter().filter_map(|(name, ms)| Some((name, (*ms)?)));
                known.collect::<BTreeMap<_, _>>().serialize(to)
            }
        }
    }
}

impl<'de> Deserialize<'de> for TimeWindow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<TimeWindow, D::Error> {
        let wrong = || {
            de::Error::custom("`time_window` must be a string such as `30d`, or {start, end} in milliseconds")
        };
        match Value::deserialize(from)? {
            Value::String(word) => Ok(TimeWindow::Word(word)),
            Value::Object(mut span) => {
                let (start, end) = (span.shift_remove("start"), span.shift_remove("end"));
                if !span.is_empty() || (start.is_none() && end.is_none()) {
                    return Err(wrong());
                }
                let ms = |value: Option<Value>| value.map(|v| as_whole_ms(&v).ok_or_else(wrong)).transpose();
                Ok(TimeWindow::Span { start: ms(start)?, end: ms(end)? })
            }
            _ => Err(wrong()),
        }
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
            let read: TimeWindow = serde_json::from_value(window).unwrap();
            assert_eq!(read.bounds(clock), Ok(bounds));
        }
    }
}
