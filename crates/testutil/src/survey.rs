//! Surveys transcripts and reads every row back in full, as a query would.
//!
//! Does not know which agent wrote them.

use record::{Call, Kind, Message, Row, RowKind, Status, Tokens};
use sources::walk::TranscriptList;
use sources::{Names, Source, Survey, SurveyOptions, SurveyOutcome, Transcript};
use std::path::Path;

/// A surveyed transcript, with the message or call behind each row.
pub struct Surveyed {
    pub facts: SurveyOutcome,
    pub rows: Vec<Row>,
    pub messages: Vec<(Row, Message)>,
    pub calls: Vec<(Row, Call)>,
}

/// The transcripts below a root, sorted by path and part.
pub fn list_transcripts(source: &dyn Source, root: &Path) -> Vec<Transcript> {
    let mut found = TranscriptList::default();
    source.list_transcripts(root, &mut found);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    found.transcripts.sort_by(|a, b| (&a.path, &a.part).cmp(&(&b.path, &b.part)));
    found.transcripts
}

/// Surveys a transcript and fetches every row.
pub fn survey(source: &dyn Source, transcript: &Transcript) -> Surveyed {
    let (names, mut rows) = (Names::default(), Vec::new());
    let mut emit = |some: &mut Vec<Row>| rows.append(some);
    let want = SurveyOptions { messages: true, calls: true, fields: true };
    let mut survey = Survey::new(0, &transcript.path, &names, want, &mut emit);
    source.survey(transcript, &mut survey).unwrap();
    let facts = survey.finish();
    for (_, coverage) in &facts.coverage {
        assert!(coverage.adds_up(), "{coverage:?}");
    }
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    for row in &rows {
        match row.row {
            RowKind::Message => messages.push((*row, source.fetch_message(transcript, row).unwrap())),
            RowKind::Call => calls.push((*row, source.fetch_call(transcript, transcript, row).unwrap())),
            RowKind::Result => panic!("a result without its call"),
        }
    }
    let table = names.to_vec();
    for (row, call) in &calls {
        assert_eq!((&*table[row.name as usize], row.status()), (call.tool.as_str(), call.status));
        assert_eq!(call.output.is_some(), row.end != Row::NO_END);
    }
    Surveyed { facts, rows, messages, calls }
}

/// Surveys every transcript below a root, oldest first.
pub fn survey_all(source: &dyn Source, root: &Path) -> Vec<Surveyed> {
    let mut all: Vec<_> =
        list_transcripts(source, root).iter().map(|transcript| survey(source, transcript)).collect();
    all.sort_by_key(|one| one.facts.birth);
    all
}

impl Surveyed {
    pub fn session(&self) -> &record::Session {
        &self.facts.sessions[0]
    }

    /// The texts of all messages of one kind.
    pub fn of(&self, kind: Kind) -> Vec<&str> {
        self.messages.iter().filter(|(row, _)| row.kind() == kind).map(|(_, m)| m.text.as_str()).collect()
    }

    /// `tool status exit_code` of each call, without the status if it succeeded.
    pub fn calls(&self) -> Vec<String> {
        let one = |(_, call): &(Row, Call)| {
            let status = if call.status == Status::Success { "" } else { call.status.as_str() };
            let code = call.exit_code.map(|code| code.to_string()).unwrap_or_default();
            format!("{} {status} {code}", call.tool).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        self.calls.iter().map(one).collect()
    }

    /// The `n`th call of a tool, from 0.
    pub fn call(&self, tool: &str, n: usize) -> &Call {
        &self.calls.iter().filter(|(_, call)| call.tool == tool).nth(n).unwrap().1
    }

    /// Tokens: input, output, cache read, cache write.
    pub fn tokens(&self) -> [u32; 4] {
        let sum = |of: fn(&Tokens) -> u32| self.rows.iter().map(|row| of(&row.tokens)).sum();
        [sum(|t| t.input), sum(|t| t.output), sum(|t| t.cache_read), sum(|t| t.cache_write)]
    }

    /// The entry types and fields that the source does not know.
    pub fn unknown_names(&self) -> Vec<String> {
        let all = self.facts.coverage.iter();
        all.flat_map(|(_, c)| c.unknown_types.keys().chain(c.unknown_fields.keys())).cloned().collect()
    }
}
