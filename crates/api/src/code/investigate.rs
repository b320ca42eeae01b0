//! Questions about the code base in natural language: the evidence found, the answer of a model, and the steps so far.
//!
//! Does not know how a question is interpreted, nor which model answers it.

use super::{Coverage, ROOT, SymbolRef, Usage, check_name};
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::search::is_false;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const QUESTION: &str = "The question, in one sentence";

pub const INVESTIGATE: Operation = Operation {
    name: "investigate",
    command: "code investigate",
    about: "Answer a question about the code (without a configured model, show the evidence)",
    answer: "the investigation with its steps so far and, once it is done, the answer with the symbols it cites",
    example: "loci code investigate 'How are large batches processed?' --scope Memo.Core",
    words: Some(Positional {
        value: "QUESTION",
        about: QUESTION,
        into: &["question"],
        number: Number::Sentence,
    }),
    params: &[
        param("question", Shape::Text, "TEXT", QUESTION),
        param(
            "scope",
            Shape::Texts,
            "PATH",
            "Only these types, namespaces or directories (repeatable) [default: the whole source tree]",
        ),
        ROOT,
    ],
    required: &["question"],
    shapes: schema_properties::<Investigate>,
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

/// The maximum length; a longer question is a document.
const LONGEST: usize = 1_000;

impl Request for Investigate {
    const OPERATION: &'static Operation = &INVESTIGATE;
    type Response = Investigation;

    fn check_params(&self) -> Result<(), Error> {
        let wrong =
            |message: String| Err(Error::new(Code::InvalidArgument, message).hint(INVESTIGATE.example));
        if self.question.trim().is_empty() {
            return wrong("missing question".to_string());
        }
        if self.question.chars().count() > LONGEST {
            return wrong(format!("the question is longer than {LONGEST} characters"));
        }
        self.scope.iter().try_for_each(|path| check_name(path, &INVESTIGATE))
    }
}

const OP: &str = "Investigation, by ID or ID prefix";

pub const STREAM: Operation = Operation {
    name: "stream_op",
    command: "code op",
    about: "Show the progress and result of an investigation",
    answer: "the investigation with its steps, and the answer with the symbols it cites",
    example: "loci code op O_5k2hv0qa --wait 30",
    words: Some(Positional { value: "ID", about: OP, into: &["op"], number: Number::One }),
    params: &[
        param("op", Shape::Text, "ID", OP),
        param("from", Shape::Count, "N", "Skip the first N steps [default: 0]"),
        param(
            "wait",
            Shape::Count,
            "SECONDS",
            "Seconds to wait for the next step or the answer, at most 60 [default: 0]",
        ),
        ROOT,
    ],
    required: &["op"],
    shapes: schema_properties::<StreamOp>,
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

    fn check_params(&self) -> Result<(), Error> {
        check_name(&self.op, &STREAM)?;
        if self.wait > 60 {
            return Err(Error::new(Code::InvalidArgument, "`wait` must be at most 60 seconds")
                .hint("repeat the call to keep waiting; no step is lost in between"));
        }
        Ok(())
    }
}

/// A question and its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Investigation {
    pub op: String,
    /// `running`, `done`, `failed`, or `interrupted`: the process ended, and asking again starts over.
    pub state: String,
    pub question: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// A cached answer whose evidence has not changed since.
    #[serde(skip_serializing_if = "is_false")]
    pub kept: bool,
    pub events: Vec<Step>,
    /// How many of them were already reported as progress, so that they need not be shown again.
    #[serde(skip)]
    pub heard: usize,
    /// The number of the next step.
    pub next: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Conclusion>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How to continue if it is not done.
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
pub struct Conclusion {
    /// `model` or `evidence`.
    pub by: String,
    /// The answer of a model; none if only evidence is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The symbols it cites; each one exists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cites: Vec<SymbolRef>,
    /// Best match first.
    pub evidence: Vec<EvidenceItem>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why no model answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How much of the tree was covered.
    pub coverage: Coverage,
}

/// A symbol that may be relevant to the question, with its outline, note and usages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EvidenceItem {
    pub symbol: SymbolRef,
    /// Truncated if it is long.
    pub outline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<Usage>,
}
