//! Edits a user's settings text without touching a byte that is not ours: each insertion is recorded, so that reverting it
//! restores the former bytes. If the file was modified since, our entries are located and removed one by one.
//!
//! Does not know files. Each edit is verified against its intended effect on the parsed tree; an edit with any other effect
//! is refused.

use crate::edit::{EditError, Insertion, is_blank};
use crate::entry::{Entry, Location, is_empty_container};
use crate::{json, toml};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The format of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SettingsFormat {
    Json,
    Toml,
}

/// What was inserted into a text, entry by entry. Each offset refers to the text at that time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EditRecord {
    pub(crate) steps: Vec<Vec<Insertion>>,
    /// The length of the whole text afterwards.
    pub(crate) length: usize,
}

impl SettingsFormat {
    pub(crate) fn parse_tree(self, text: &str) -> Result<Value, EditError> {
        match self {
            _ if is_blank(text) => Ok(Value::Object(Map::new())),
            SettingsFormat::Json => json::parse_tree(text),
            SettingsFormat::Toml => toml::parse_tree(text),
        }
    }

    /// The text with the entries, and the record to revert it.
    pub(crate) fn insert_entries(
        self,
        text: &str,
        entries: &[Entry],
    ) -> Result<(String, EditRecord), EditError> {
        let mut now = text.to_string();
        let mut steps = Vec::new();
        for entry in entries {
            let wanted = entry.insert_into(self.parse_tree(&now)?);
            let insertions = match self {
                SettingsFormat::Json => json::insert_entry(&now, entry)?,
                SettingsFormat::Toml => toml::insert_entry(&now, entry),
            };
            now = apply_insertions(&now, &insertions);
            if self.parse_tree(&now)? != wanted {
                return Err(EditError::Unsafe);
            }
            steps.push(insertions);
        }
        let length = now.len();
        Ok((now, EditRecord { steps, length }))
    }

    /// The text without the entries. Parents that were created for them are removed too if they are empty now.
    pub(crate) fn remove_entries(
        self,
        text: &str,
        spots: &[Location],
        made: &[Vec<String>],
    ) -> Result<String, EditError> {
        let mut now = text.to_string();
        for spot in spots {
            let tree = self.parse_tree(&now)?;
            if spot.find(&tree).is_none() {
                continue;
            }
            let without = match self {
                SettingsFormat::Json => json::remove_entry(&now, spot, made)?,
                SettingsFormat::Toml => toml::remove_entry(&now, spot),
            };
            // Ignore empty parent tables: TOML need not declare them.
            let now_tree = self.parse_tree(&without)?;
            if spot.find(&now_tree).is_some() || spot.remove_from(now_tree) != spot.remove_from(tree) {
                return Err(EditError::Unsafe);
            }
            now = without;
        }
        Ok(now)
    }

    /// Whether the text has neither values nor comments.
    pub(crate) fn is_empty_document(self, text: &str) -> bool {
        let bare = match self {
            SettingsFormat::Json => !text.contains('/'),
            SettingsFormat::Toml => !text.contains('#'),
        };
        bare && self.parse_tree(text).is_ok_and(|tree| is_empty_container(&tree))
    }

    /// The text that a user would have to add by hand.
    pub(crate) fn manual_text(self, entries: &[Entry]) -> String {
        self.insert_entries("", entries).map(|(text, _)| text).unwrap_or_default()
    }
}

impl EditRecord {
    /// The former text, if all insertions are still in place and the length is unchanged.
    pub(crate) fn revert(&self, text: &str) -> Option<String> {
        if text.len() != self.length {
            return None;
        }
        let mut now = text.to_string();
        for insertion in self.steps.iter().rev().flat_map(|step| step.iter().rev()) {
            let end = insertion.at + insertion.text.len();
            if now.get(insertion.at..end)? != insertion.text {
                return None;
            }
            now.replace_range(insertion.at..end, "");
        }
        Some(now)
    }
}

/// Applies the insertions of one step, each at its offset in the text as it grows.
fn apply_insertions(text: &str, insertions: &[Insertion]) -> String {
    let mut now = text.to_string();
    for insertion in insertions {
        now.insert_str(insertion.at, &insertion.text);
    }
    now
}

#[cfg(test)]
mod tests;
