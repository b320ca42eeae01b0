//! `recommend`: suggest the earlier session that a prompt refers to. Returns a card with three choices, or the reason why
//! there is none. Never switches sessions: the reader of the card decides.
//!
//! Does not know which confidence a caller needs: the threshold is a parameter.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const OPERATION: Operation = Operation {
    name: "recommend",
    command: "recommend",
    about: "Suggest the earlier session that a prompt refers to",
    answer: "a suggestion card with name, date, reasons, confidence and three choices, or the reason why there is none",
    example: "loci recommend what did we decide about the connection pool last time",
    words: Some(Positional {
        value: "PROMPT",
        about: "The prompt, as you would send it",
        into: &["prompt"],
        number: Number::Sentence,
    }),
    params: &[
        param("prompt", Shape::Text, "TEXT", "The prompt, as you would send it"),
        param("session", Shape::Text, "ID", "The calling session, which is never suggested"),
        crate::params::PROJECT,
        param("threshold", Shape::Number, "SHARE", "Minimum confidence, from 0 to 1 [default: 0.8]"),
    ],
    required: &["prompt"],
    shapes: schema_properties::<Recommend>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

/// A wrong card costs more than none. At this threshold 95 of 100 cards are right; see `cargo xtask quality recommend`.
pub const THRESHOLD: f64 = 0.9;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Recommend {
    pub prompt: String,
    pub session: Option<String>,
    pub project: Option<String>,
    pub threshold: f64,
}

impl Default for Recommend {
    fn default() -> Recommend {
        Recommend { prompt: String::new(), session: None, project: None, threshold: THRESHOLD }
    }
}

impl Request for Recommend {
    const OPERATION: &'static Operation = &OPERATION;
    type Response = Recommended;

    fn check_params(&self) -> Result<(), Error> {
        let invalid =
            |message: String, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.prompt.trim().is_empty() {
            return invalid("missing prompt: `prompt` is empty".to_string(), OPERATION.example);
        }
        if !(0.0..=1.0).contains(&self.threshold) {
            return invalid(
                format!("`threshold` is {}", self.threshold),
                "use a number from 0 to 1, for example 0.8",
            );
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Recommended {
    pub card: Option<Card>,
    /// Why there is no card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abstained: Option<Abstained>,
    /// The same as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The confidence of the rejected card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

impl Response for Recommended {
    fn is_empty(&self) -> bool {
        self.card.is_none()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Card {
    pub chat_id: String,
    pub name: String,
    /// The time of its last message, in milliseconds.
    pub date: Option<i64>,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The matching words, and the time or project if they match as well.
    pub why: Vec<String>,
    pub confidence: f64,
    /// The command for the first choice: continue in that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The beginning of the second choice: the text that would be brought in.
    pub preview: String,
}

/// Why there is no card. Abstaining is the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abstained {
    NoReference,
    NothingKept,
    NothingFound,
    OwnSession,
    Unsure,
}

impl Abstained {
    pub fn as_sentence(self) -> &'static str {
        match self {
            Abstained::NoReference => "the prompt does not refer back to an earlier session",
            Abstained::NothingKept => "no index exists yet; create it with `loci index`",
            Abstained::NothingFound => "no earlier session contains these words",
            Abstained::OwnSession => "the current session itself matches best",
            Abstained::Unsure => "no session matches clearly better than the others",
        }
    }
}

impl Recommended {
    pub fn without_card(why: Abstained, confidence: Option<f64>) -> Recommended {
        Recommended {
            card: None,
            abstained: Some(why),
            reason: Some(why.as_sentence().to_string()),
            confidence,
        }
    }
}
