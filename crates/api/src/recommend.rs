//! `recommend`: suggest the earlier session that a prompt refers to. Returns a card with three choices, or the reason why
//! there is none. Never switches sessions: the reader of the card decides.
//!
//! Does not know which confidence a caller needs: the threshold is a parameter.

use crate::operation::{Operation, Response};
use crate::params::PROJECT;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// A wrong card costs more than none. At this threshold 95 of 100 cards are right; see `cargo xtask quality recommend`.
pub const THRESHOLD: f64 = 0.9;

/// Suggest the earlier session that a prompt refers to
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "recommend",
    command = "recommend",
    answer = "a suggestion card with name, date, reasons, confidence and three choices, or the reason why there is none",
    example = "loci recommend what did we decide about the connection pool last time",
    returns = Recommended,
    read_only,
    words(Sentence, "PROMPT", "The prompt, as you would send it", into("prompt")),
    check,
)]
pub struct Recommend {
    /// The prompt, as you would send it
    #[param(value = "TEXT", required = "prompt")]
    pub prompt: String,
    /// The calling session, which is never suggested
    #[param(value = "ID")]
    pub session: Option<String>,
    #[param(like = PROJECT)]
    pub project: Option<String>,
    /// Minimum confidence, from 0 to 1
    #[param(value = "SHARE", default = 0.9)]
    pub threshold: f64,
}

impl Recommend {
    fn check(&self) -> Result<(), Error> {
        let invalid =
            |message: String, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
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
