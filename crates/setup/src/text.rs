//! A person's settings as text, edited without touching a byte that is not ours: what was put in is remembered cut by
//! cut, so that taking it out gives back the former bytes. Where somebody has changed the file since, our entries are
//! looked up and taken out one by one.
//!
//! Does not know files. Each edit is held against what it should have done to the settings as a tree; an edit that did
//! anything else is refused.

use crate::entry::{Entry, Spot, is_empty};
use crate::{json, toml};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How settings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    Json,
    Toml,
}

/// Text of ours that stands at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cut {
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// What was put into a text, entry after entry. Each place is meant as of then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stitches {
    pub(crate) steps: Vec<Vec<Cut>>,
    /// How long the whole text was afterwards.
    pub(crate) length: usize,
}

/// Why a text is left as it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misfit {
    #[error("it cannot be understood: {0}")]
    Syntax(String),
    #[error("`{0}` in it is not what it would have to be")]
    Shape(String),
    #[error("it is written in a way that cannot be added to safely")]
    Unsafe,
}

impl Form {
    pub(crate) fn tree(self, text: &str) -> Result<Value, Misfit> {
        match self {
            _ if blank(text) => Ok(Value::Object(Map::new())),
            Form::Json => json::tree(text),
            Form::Toml => toml::tree(text),
        }
    }

    /// The text with the entries in it, and how to get back.
    pub(crate) fn put_in(self, text: &str, entries: &[Entry]) -> Result<(String, Stitches), Misfit> {
        let mut now = text.to_string();
        let mut steps = Vec::new();
        for entry in entries {
            let wanted = entry.put_in(self.tree(&now)?);
            let cuts = match self {
                Form::Json => json::put_in(&now, entry)?,
                Form::Toml => toml::put_in(&now, entry),
            };
            now = sewn(&now, &cuts);
            if self.tree(&now)? != wanted {
                return Err(Misfit::Unsafe);
            }
            steps.push(cuts);
        }
        let length = now.len();
        Ok((now, Stitches { steps, length }))
    }

    /// The text without the entries. What was made to hold them goes too if it has become empty.
    pub(crate) fn take_out(self, text: &str, spots: &[Spot], made: &[Vec<String>]) -> Result<String, Misfit> {
        let mut now = text.to_string();
        for spot in spots {
            let tree = self.tree(&now)?;
            if spot.find(&tree).is_none() {
                continue;
            }
            let without = match self {
                Form::Json => json::take_out(&now, spot, made)?,
                Form::Toml => toml::take_out(&now, spot),
            };
            // Empty tables around it are neither here nor there: TOML need not say that they exist.
            let now_tree = self.tree(&without)?;
            if spot.find(&now_tree).is_some() || spot.taken_out(now_tree) != spot.taken_out(tree) {
                return Err(Misfit::Unsafe);
            }
            now = without;
        }
        Ok(now)
    }

    /// Whether nothing is said in it.
    pub(crate) fn says_nothing(self, text: &str) -> bool {
        let bare = match self {
            Form::Json => !text.contains('/'),
            Form::Toml => !text.contains('#'),
        };
        bare && self.tree(text).is_ok_and(|tree| is_empty(&tree))
    }

    /// What a person would have to write.
    pub(crate) fn by_hand(self, entries: &[Entry]) -> String {
        self.put_in("", entries).map(|(text, _)| text).unwrap_or_default()
    }
}

impl Stitches {
    /// The former text, if what was put in still stands where it was put and nothing has come or gone.
    pub(crate) fn undone(&self, text: &str) -> Option<String> {
        if text.len() != self.length {
            return None;
        }
        let mut now = text.to_string();
        for cut in self.steps.iter().rev().flat_map(|step| step.iter().rev()) {
            let end = cut.at + cut.text.len();
            if now.get(cut.at..end)? != cut.text {
                return None;
            }
            now.replace_range(cut.at..end, "");
        }
        Some(now)
    }
}

/// The cuts of one step, each at its place in the text as it becomes.
fn sewn(text: &str, cuts: &[Cut]) -> String {
    let mut now = text.to_string();
    for cut in cuts {
        now.insert_str(cut.at, &cut.text);
    }
    now
}

pub(crate) fn blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// How lines end in it.
pub(crate) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests;
