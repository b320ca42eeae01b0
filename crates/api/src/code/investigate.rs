//! Questions about the code base in a person's words: the evidence that is found for them, the answer that a model gives on it, and
//! what has happened so far.
//!
//! Does not know how a question is understood, nor who answers it.

use super::{Coverage, ROOT, SymbolRef, Usage, is_named};
use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::param;
use crate::schema::properties;
use crate::search::is_false;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const QUESTION: &str = "What to find out, in a sentence";

pub const INVESTIGATE: Operation = Operation {
    name: "investigate",
    command: "code investigate",
    about: "Answer a question about the code from outlines, notes and usages, by the model that you configured or as the evidence itself",
    answer: "an operation with what has happened so far and, when it is done, the answer with the symbols it rests on",
    example: "loci code investigate 'How are large batches processed?' --scope Memo.Core",
    words: Some(Words { value: "QUESTION", about: QUESTION, into: &["question"], number: Number::Sentence }),
    params: &[
        param("question", Shape::Text, "TEXT", QUESTION),
        param(
            "scope",
            Shape::Texts,
            "PATH",
            "Only these types, namespaces or folders of source; more than once for several [default: the whole tree]",
        ),
        ROOT,
    ],
    required: &["question"],
    shapes: properties::<Investigate>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Investigate {
    pub question: String,
    pub scope: Vec<String>,
    pub root: Option<String>,
}

/// A longer one is a document.
const LONGEST: usize = 1_000;

impl Request for Investigate {
    const OPERATION: &'static Operation = &INVESTIGATE;
    type Response = Investigation;

    fn check(&self) -> Result<(), Error> {
        let wrong =
            |message: String| Err(Error::new(Code::InvalidArgument, message).hint(INVESTIGATE.example));
        if self.question.trim().is_empty() {
            return wrong("what is to be found out? A question is missing".to_string());
        }
        if self.question.chars().count() > LONGEST {
            return wrong(format!("a question has at most {LONGEST} characters"));
        }
        self.scope.iter().try_for_each(|path| is_named(path, &INVESTIGATE))
    }
}

const OP: &str = "An investigation by its id or the beginning of it";

pub const STREAM: Operation = Operation {
    name: "stream_op",
    command: "code op",
    about: "Show what has happened in an investigation, and its answer when it is done",
    answer: "the operation with its steps from a number on, and the answer with the symbols it rests on",
    example: "loci code op O_5k2hv0qa --wait 30",
    words: Some(Words { value: "ID", about: OP, into: &["op"], number: Number::One }),
    params: &[
        param("op", Shape::Text, "ID", OP),
        param("from", Shape::Count, "N", "Only steps from this number on [default: 0]"),
        param(
            "wait",
            Shape::Count,
            "SECONDS",
            "So long for another step or the answer, at most 60 [default: 0]",
        ),
        ROOT,
    ],
    required: &["op"],
    shapes: properties::<StreamOp>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamOp {
    pub op: String,
    pub from: u64,
    pub wait: u64,
    pub root: Option<String>,
}

impl Request for StreamOp {
    const OPERATION: &'static Operation = &STREAM;
    type Response = Investigation;

    fn check(&self) -> Result<(), Error> {
        is_named(&self.op, &STREAM)?;
        if self.wait > 60 {
            return Err(Error::new(Code::InvalidArgument, "`wait` is at most 60 seconds")
                .hint("ask again: nothing is lost between two questions"));
        }
        Ok(())
    }
}

/// A question and what has become of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Investigation {
    pub op: String,
    /// `running`, `done`, `failed`, or `interrupted`: whoever looked into it was ended, and asking again begins anew.
    pub state: String,
    pub question: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// It was answered before, and nothing that the answer rests on has changed since.
    #[serde(skip_serializing_if = "is_false")]
    pub kept: bool,
    pub events: Vec<Step>,
    /// How many of them whoever asked was told as they happened: to read them again says nothing.
    #[serde(skip)]
    pub heard: usize,
    /// The number that the next step will have.
    pub next: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Found>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How to go on, where it is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Response for Investigation {
    fn is_empty(&self) -> bool {
        self.answer.as_ref().is_some_and(|found| found.evidence.is_empty())
    }

    fn is_incomplete(&self) -> bool {
        matches!(self.state.as_str(), "failed" | "interrupted")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    pub n: u64,
    /// In milliseconds.
    pub at: i64,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// `model` or `evidence`.
    pub by: String,
    /// What a model says; none where the evidence has to speak for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The symbols that it rests on; each is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cites: Vec<SymbolRef>,
    /// The best first.
    pub evidence: Vec<Exhibit>,
    /// Which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why no model answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How much of the tree was looked at.
    pub coverage: Coverage,
}

/// What is known of a symbol that may have to do with the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exhibit {
    pub symbol: SymbolRef,
    /// Its beginning, where it is long.
    pub outline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<Usage>,
}
