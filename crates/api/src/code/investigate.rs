//! Questions about the code base in natural language: the evidence found, the answer of a model, and the steps so far.
//!
//! Does not know how a question is interpreted, nor which model answers it.

use super::{Coverage, SymbolRef, Usage};
use crate::operation::{Operation, Request, Response};
use crate::params::{ROOT, check_not_blank};
use crate::search::is_false;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// Answer a question about the code (without a configured model, show the evidence)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "investigate",
    command = "code investigate",
    answer = "the investigation with its steps so far and, once it is done, the answer with the symbols it cites",
    example = "loci code investigate 'How are large batches processed?' --scope Memo.Core",
    returns = Investigation,
    local,
    words(Sentence, "QUESTION", "The question, in one sentence", into("question")),
    check,
)]
pub struct Investigate {
    /// The question, in one sentence
    #[param(value = "TEXT", required = "question")]
    pub question: String,
    /// Only these types, namespaces or directories (repeatable) [default: the whole source tree]
    #[param(value = "PATH", texts, check = check_not_blank)]
    pub scope: Vec<String>,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

impl Investigate {
    fn check(&self) -> Result<(), Error> {
        if self.question.chars().count() > LONGEST {
            let message = format!("the question is longer than {LONGEST} characters");
            return Err(Error::new(Code::InvalidArgument, message).hint(Self::OPERATION.example));
        }
        Ok(())
    }
}

/// The maximum length; a longer question is a document.
const LONGEST: usize = 1_000;

/// Show the progress and result of an investigation
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "stream_op",
    command = "code op",
    answer = "the investigation with its steps, and the answer with the symbols it cites",
    example = "loci code op O_5k2hv0qa --wait 30",
    returns = Investigation,
    read_only,
)]
pub struct StreamOp {
    /// Investigation, by ID or ID prefix
    #[param(value = "ID", required = "op", word)]
    pub op: String,
    /// Skip the first N steps [default: 0]
    pub from: u64,
    /// Seconds to wait for the next step or the answer, at most 60 [default: 0]
    #[param(value = "SECONDS", range = 0..=60)]
    pub wait: u64,
    #[param(like = ROOT)]
    pub root: Option<String>,
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
