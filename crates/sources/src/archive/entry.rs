//! How rows, records and the rest of a survey's result are stored, each as one line of JSON: a row is one
//! line and its record the next, so that a survey skips texts without parsing them.
//!
//! Kinds and states are stored as words, not as numbers, since a copy outlives the version that wrote it.
//! Does not know how lines are compressed.

use memchr::memchr;
use record::{Call, Coverage, Kind, Message, Row, RowKind, Session, Stamp, Status, TitleOrigin, Tokens};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Splits decompressed lines into entries: the offset of each, the line of its row and the line of its
/// record.
pub(super) fn split_entries(raw: &[u8]) -> impl Iterator<Item = (u64, &[u8], &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let head = line_at(raw, at).filter(|head| !head.is_empty())?;
        let record = line_at(raw, at + head.len() + 1)?;
        at += head.len() + record.len() + 2;
        Some((start as u64, head, record))
    })
}

fn line_at(raw: &[u8], at: usize) -> Option<&[u8]> {
    let rest = raw.get(at..)?;
    Some(&rest[..memchr(b'\n', rest)?])
}

type Text<'a> = Cow<'a, str>;

/// A row without its positions.
#[derive(Serialize, Deserialize)]
pub(super) struct RowLine<'a> {
    #[serde(rename = "n")]
    pub(super) ordinal: u32,
    #[serde(borrow)]
    pub(super) row: Text<'a>,
    /// The kind of a message or the status of a call.
    #[serde(borrow)]
    is: Text<'a>,
    pub(super) key: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) session: u32,
    turn: u32,
    #[serde(rename = "seq")]
    sequence: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Text<'a>>,
    lines: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<[u32; 5]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Text<'a>>,
    /// An ID that was truncated inside a character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id_bytes: Option<Vec<u8>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    flags: u32,
    /// A call without a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    open: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_zero(n: &u32) -> bool {
    *n == 0
}

const ROW_WORDS: [(RowKind, &str); 3] =
    [(RowKind::Message, "message"), (RowKind::Call, "call"), (RowKind::Result, "result")];

impl<'a> RowLine<'a> {
    pub(super) fn new(ordinal: u32, row: &'a Row, name: &'a str) -> RowLine<'a> {
        let word = ROW_WORDS.iter().find(|(kind, _)| *kind == row.row).map_or("message", |(_, word)| word);
        let is = if row.row == RowKind::Message { row.kind().as_str() } else { row.status().as_str() };
        let cut = row.id.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        let id = std::str::from_utf8(&row.id[..cut]);
        let t = row.tokens;
        RowLine {
            ordinal,
            row: word.into(),
            is: is.into(),
            key: row.key,
            at: stamp_to_millis(row.at),
            until: stamp_to_millis(row.until),
            session: row.session,
            turn: row.turn,
            sequence: row.sequence,
            name: (row.name != u32::MAX && row.row != RowKind::Result).then_some(name.into()),
            lines: row.lines,
            tokens: (!t.is_zero()).then_some([
                t.input,
                t.output,
                t.cache_read,
                t.cache_write,
                t.cache_write_1h,
            ]),
            id: id.ok().filter(|id| !id.is_empty()).map(Cow::from),
            id_bytes: id.is_err().then(|| row.id[..cut].to_vec()),
            flags: u32::from(row.flags),
            open: row.end == Row::NO_END,
        }
    }

    /// The row at a position of the decompressed text. Its name has no index yet.
    pub(super) fn to_row(&self, place: u64) -> Row {
        let kind = self.row_kind();
        let detail = match kind {
            RowKind::Message => {
                Kind::ALL.iter().find(|k| k.as_str() == self.is).copied().unwrap_or(Kind::Meta) as u8
            }
            _ => Status::from_name(&self.is).unwrap_or(Status::Unknown) as u8,
        };
        let [input, output, cache_read, cache_write, cache_write_1h] = self.tokens.unwrap_or_default();
        Row {
            key: self.key,
            at: millis_to_stamp(self.at),
            until: millis_to_stamp(self.until),
            start: place,
            end: if self.open { Row::NO_END } else { place },
            session: self.session,
            turn: self.turn,
            sequence: self.sequence,
            name: u32::MAX,
            lines: self.lines,
            tokens: Tokens { input, output, cache_read, cache_write, cache_write_1h },
            id: self.id_head(),
            row: kind,
            detail,
            flags: self.flags as u8,
            ..Row::default()
        }
    }

    pub(super) fn row_kind(&self) -> RowKind {
        ROW_WORDS.iter().find(|(_, word)| *word == self.row).map_or(RowKind::Message, |(kind, _)| *kind)
    }

    pub(super) fn is_reply(&self) -> bool {
        self.is == Kind::Reply.as_str()
    }

    pub(super) fn id_head(&self) -> [u8; 24] {
        let text = self.id.as_deref().unwrap_or("").as_bytes();
        Row::id_head(self.id_bytes.as_deref().unwrap_or(text))
    }
}

fn stamp_to_millis(at: Stamp) -> Option<i64> {
    at.is_some().then_some(at.0)
}

fn millis_to_stamp(at: Option<i64>) -> Stamp {
    at.map_or(Stamp::NONE, Stamp)
}

#[derive(Serialize, Deserialize)]
pub(super) struct MessageLine<'a> {
    pub(super) id: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_id: Option<Text<'a>>,
    pub(super) text: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    tool_calls: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
}

impl<'a> From<&'a Message> for MessageLine<'a> {
    fn from(message: &'a Message) -> MessageLine<'a> {
        MessageLine {
            id: Cow::from(&message.id),
            parent_id: message.parent_id.as_ref().map(Cow::from),
            text: Cow::from(&message.text),
            model: message.model.as_ref().map(Cow::from),
            tool_calls: message.tool_calls,
            at: message.at.map(|at| at.0),
        }
    }
}

impl From<MessageLine<'_>> for Message {
    fn from(line: MessageLine<'_>) -> Message {
        Message {
            id: line.id.into_owned(),
            parent_id: line.parent_id.map(Cow::into_owned),
            text: line.text.into_owned(),
            model: line.model.map(Cow::into_owned),
            tool_calls: line.tool_calls,
            at: line.at.map(Stamp),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CallLine<'a> {
    id: Text<'a>,
    pub(super) tool: Text<'a>,
    pub(super) input: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Text<'a>>,
    status: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<Text<'a>>,
}

impl<'a> From<&'a Call> for CallLine<'a> {
    fn from(call: &'a Call) -> CallLine<'a> {
        CallLine {
            id: Cow::from(&call.id),
            tool: Cow::from(&call.tool),
            input: Cow::from(&call.input),
            output: call.output.as_ref().map(Cow::from),
            status: call.status.as_str().into(),
            error: call.error.as_ref().map(Cow::from),
            duration_ms: call.duration_ms,
            exit_code: call.exit_code,
            file: call.file.as_ref().map(Cow::from),
        }
    }
}

impl From<CallLine<'_>> for Call {
    fn from(line: CallLine<'_>) -> Call {
        Call {
            id: line.id.into_owned(),
            tool: line.tool.into_owned(),
            input: line.input.into_owned(),
            output: line.output.map(Cow::into_owned),
            status: Status::from_name(&line.status).unwrap_or(Status::Unknown),
            error: line.error.map(Cow::into_owned),
            duration_ms: line.duration_ms,
            exit_code: line.exit_code,
            file: line.file.map(Cow::into_owned),
        }
    }
}

/// All properties of a session; its agent is stored once per file.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionLine {
    pub(super) session_id: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    git_branch: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    title: Option<(String, String)>,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    #[serde(default)]
    turns: u32,
    #[serde(default)]
    tool_calls: u32,
    #[serde(default)]
    errors: u32,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    parent_session_id: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
    /// How many of its entries the transcript no longer has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) kept: u32,
}

const ORIGINS: [TitleOrigin; 3] = [TitleOrigin::Custom, TitleOrigin::Agent, TitleOrigin::FirstPrompt];

impl From<&Session> for SessionLine {
    fn from(session: &Session) -> SessionLine {
        SessionLine {
            session_id: session.session_id.to_string(),
            project: session.project.to_string(),
            cwd: session.cwd.to_string(),
            git_branch: session.git_branch.to_string(),
            version: session.version.to_string(),
            title: session
                .title
                .as_ref()
                .map(|(text, origin)| (text.to_string(), origin.as_str().to_string())),
            started_at: stamp_to_millis(session.started_at),
            ended_at: stamp_to_millis(session.ended_at),
            turns: session.turns,
            tool_calls: session.tool_calls,
            errors: session.errors,
            models: session.models.iter().map(ToString::to_string).collect(),
            parent_session_id: session.parent_session_id.as_ref().map(ToString::to_string),
            agent_id: session.agent_id.as_ref().map(ToString::to_string),
            kept: 0,
        }
    }
}

impl SessionLine {
    /// Subagents have the ID of their session.
    pub(super) fn is_same_session(&self, other: &SessionLine) -> bool {
        (&self.session_id, &self.agent_id) == (&other.session_id, &other.agent_id)
    }

    pub(super) fn with_kept(self, kept: u32) -> SessionLine {
        SessionLine { kept, ..self }
    }

    /// What distinguishes it from others of the copy.
    pub(super) fn identity(&self) -> String {
        [self.session_id.as_str(), "\0", self.agent_id.as_deref().unwrap_or_default()].concat()
    }

    /// What two copies say of one session: where they contradict each other, the first.
    pub(super) fn completed_by(mut self, other: SessionLine) -> SessionLine {
        let fill = |text: &mut String, other: String| {
            if text.is_empty() {
                *text = other;
            }
        };
        fill(&mut self.project, other.project);
        fill(&mut self.cwd, other.cwd);
        fill(&mut self.git_branch, other.git_branch);
        fill(&mut self.version, other.version);
        self.title = self.title.or(other.title);
        self.parent_session_id = self.parent_session_id.or(other.parent_session_id);
        self.started_at = self.started_at.into_iter().chain(other.started_at).min();
        self.ended_at = self.ended_at.max(other.ended_at);
        self.turns = self.turns.max(other.turns);
        self.tool_calls = self.tool_calls.max(other.tool_calls);
        self.errors = self.errors.max(other.errors);
        let new: Vec<String> =
            other.models.into_iter().filter(|model| !self.models.contains(model)).collect();
        self.models.extend(new);
        self
    }

    /// The same whichever of the two copies was here first.
    pub(super) fn united(self, other: SessionLine) -> SessionLine {
        let rank = |line: &SessionLine| (line.ended_at, line.title.clone(), line.models.clone());
        if rank(&other) > rank(&self) { other.completed_by(self) } else { self.completed_by(other) }
    }

    pub(super) fn into_session(self, source: &'static str) -> Session {
        let origin = |word: &str| {
            ORIGINS.into_iter().find(|origin| origin.as_str() == word).unwrap_or(TitleOrigin::FirstPrompt)
        };
        Session {
            session_id: self.session_id.into(),
            source,
            project: self.project.into(),
            cwd: self.cwd.into(),
            git_branch: self.git_branch.into(),
            version: self.version.into(),
            title: self.title.map(|(text, word)| (text.into(), origin(&word))),
            started_at: millis_to_stamp(self.started_at),
            ended_at: millis_to_stamp(self.ended_at),
            turns: self.turns,
            tool_calls: self.tool_calls,
            errors: self.errors,
            models: self.models.into_iter().map(Arc::from).collect(),
            parent_session_id: self.parent_session_id.map(Arc::from),
            agent_id: self.agent_id.map(Arc::from),
        }
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CoverageLine {
    pub(super) version: String,
    files: u64,
    bytes: u64,
    lines: u64,
    understood: u64,
    ignored: u64,
    blank: u64,
    bad: u64,
    salvaged: u64,
    unfinished: u64,
    lossy_utf8: u64,
    unknown_types: BTreeMap<String, u64>,
    unknown_fields: BTreeMap<String, u64>,
}

impl CoverageLine {
    pub(super) fn new(version: &str, of: &Coverage) -> CoverageLine {
        CoverageLine {
            version: version.to_string(),
            files: of.files,
            bytes: of.bytes,
            lines: of.lines,
            understood: of.understood,
            ignored: of.ignored,
            blank: of.blank,
            bad: of.bad,
            salvaged: of.salvaged,
            unfinished: of.unfinished,
            lossy_utf8: of.lossy_utf8,
            unknown_types: of.unknown_types.clone(),
            unknown_fields: of.unknown_fields.clone(),
        }
    }

    pub(super) fn into_coverage(self) -> (Arc<str>, Coverage) {
        let coverage = Coverage {
            files: self.files,
            bytes: self.bytes,
            lines: self.lines,
            understood: self.understood,
            ignored: self.ignored,
            blank: self.blank,
            bad: self.bad,
            salvaged: self.salvaged,
            unfinished: self.unfinished,
            lossy_utf8: self.lossy_utf8,
            unknown_types: self.unknown_types,
            unknown_fields: self.unknown_fields,
        };
        (Arc::from(self.version.as_str()), coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_row() -> impl Strategy<Value = Row> {
        let kinds = prop::sample::select(vec![RowKind::Message, RowKind::Call, RowKind::Result]);
        let stamps = (any::<i64>(), any::<i64>(), any::<bool>());
        let counts = (any::<[u32; 4]>(), any::<[u32; 5]>());
        (any::<u64>(), stamps, counts, any::<[u8; 24]>(), 0..25_usize, kinds, 0..4_u8, any::<u8>()).prop_map(
            |(key, (at, until, open), ([session, turn, sequence, lines], t), id, cut, row, detail, flags)| {
                Row {
                    key,
                    at: Stamp(at),
                    until: if open { Stamp::NONE } else { Stamp(until) },
                    start: 7,
                    end: if open { Row::NO_END } else { 7 },
                    session,
                    turn,
                    sequence,
                    name: u32::MAX,
                    lines,
                    tokens: Tokens {
                        input: t[0],
                        output: t[1],
                        cache_read: t[2],
                        cache_write: t[3],
                        cache_write_1h: t[4],
                    },
                    id: Row::id_head(&id[..cut]),
                    row,
                    detail,
                    flags,
                    ..Row::default()
                }
            },
        )
    }

    proptest! {
        /// Law: an archived row equals the original.
        #[test]
        fn a_row_survives_archiving(row in any_row(), ordinal: u32, name in any::<Option<String>>()) {
            let given = Row { name: if name.is_some() { 3 } else { u32::MAX }, ..row };
            let line = serde_json::to_vec(&RowLine::new(ordinal, &given, name.as_deref().unwrap_or(""))).unwrap();
            prop_assert!(!line.contains(&b'\n'));
            let head: RowLine<'_> = serde_json::from_slice(&line).unwrap();
            prop_assert_eq!((head.to_row(7), head.ordinal), (row, ordinal));
            let named = name.filter(|_| row.row != RowKind::Result);
            prop_assert_eq!(head.name.as_deref(), named.as_deref());
        }

        /// Law: so does an archived record, for any text.
        #[test]
        fn a_record_survives_archiving(text in ".*", other in any::<Option<String>>(), n in any::<Option<i64>>(), count: u32, status in 0..4_u8) {
            let message = Message { id: text.clone(), parent_id: other.clone(), text: text.clone(), model: other.clone(), tool_calls: count, at: n.map(Stamp) };
            let line = serde_json::to_vec(&MessageLine::from(&message)).unwrap();
            prop_assert!(!line.contains(&b'\n'));
            let back: Message = serde_json::from_slice::<MessageLine<'_>>(&line).unwrap().into();
            prop_assert_eq!(format!("{back:?}"), format!("{message:?}"));
            let call = Call { id: text.clone(), tool: text.clone(), input: text, output: other.clone(), status: Status::from_byte(status), error: other.clone(), duration_ms: n, exit_code: n, file: other };
            let line = serde_json::to_vec(&CallLine::from(&call)).unwrap();
            prop_assert!(!line.contains(&b'\n'));
            let back: Call = serde_json::from_slice::<CallLine<'_>>(&line).unwrap().into();
            prop_assert_eq!(format!("{back:?}"), format!("{call:?}"));
        }
    }

    #[test]
    fn unknown_words_of_a_later_version_fall_back_to_a_known_kind() {
        let line =
            br#"{"n":0,"row":"message","is":"hologram","key":1,"turn":1,"seq":1,"lines":1,"mood":"calm"}"#;
        let head: RowLine<'_> = serde_json::from_slice(line).unwrap();
        assert_eq!(head.to_row(0).kind(), Kind::Meta);
    }
}
