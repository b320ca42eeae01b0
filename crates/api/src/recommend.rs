//! `recommend`: a prompt refers back; which earlier conversation may be meant? A card with three choices, or the reason why
//! there is none. Never a switch: whoever reads the card decides.
//!
//! Does not know how sure is sure enough for whom: the threshold can be named.

use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::param;
use crate::schema::properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const OPERATION: Operation = Operation {
    name: "recommend",
    command: "recommend",
    about: "Say which earlier conversation a prompt refers back to, if it is sure enough",
    answer: "a card: name, date, why, how sure, and three choices; or none, and why not",
    example: "loci recommend what did we decide about the connection pool last time",
    words: Some(Words {
        value: "PROMPT",
        about: "The prompt, as it would be sent",
        into: &["prompt"],
        number: Number::Sentence,
    }),
    params: &[
        param("prompt", Shape::Text, "TEXT", "The prompt, as it would be sent"),
        param("session", Shape::Text, "ID", "The session that asks, which is not recommended to itself"),
        crate::params::PROJECT,
        param(
            "threshold",
            Shape::Number,
            "SHARE",
            "Only what is at least so sure, from 0 to 1 [default: 0.8]",
        ),
    ],
    required: &["prompt"],
    shapes: properties::<Recommend>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

/// A card that is wrong costs more than none. At this figure 95 of 100 cards are right; `cargo xtask quality recommend`.
pub const THRESHOLD: f64 = 0.8;

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

    fn check(&self) -> Result<(), Error> {
        let invalid =
            |message: String, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.prompt.trim().is_empty() {
            return invalid("there is no prompt: `prompt` is empty".to_string(), OPERATION.example);
        }
        if !(0.0..=1.0).contains(&self.threshold) {
            return invalid(format!("`threshold` is {}", self.threshold), "from 0 to 1, such as 0.8");
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Recommended {
    pub card: Option<Card>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abstained: Option<Abstained>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How sure it would have been.
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
    /// When something was last said in it, in milliseconds.
    pub date: Option<i64>,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The words that speak for it, and the time or the project where those do.
    pub why: Vec<String>,
    pub confidence: f64,
    /// The first choice: continue there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The beginning of the second choice: what would be brought in.
    pub preview: String,
}

/// Why there is no card. Saying nothing is the rule.
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
    pub fn words(self) -> &'static str {
        match self {
            Abstained::NoReference => "the prompt does not refer back to an earlier conversation",
            Abstained::NothingKept => "there is no index to look into; `loci index` makes one",
            Abstained::NothingFound => "no earlier conversation holds these words",
            Abstained::OwnSession => "the conversation that asks fits best itself",
            Abstained::Unsure => "no conversation fits clearly better than the others",
        }
    }
}

impl Recommended {
    pub fn none(why: Abstained, confidence: Option<f64>) -> Recommended {
        Recommended { card: None, abstained: Some(why), reason: Some(why.words().to_string()), confidence }
    }
}
