//! A session in a few sentences: its summary in memory, or else an excerpt of its transcript.
//!
//! Does not interpret the text, and does not know where it is read from.

use history::excerpt::{Excerpt, truncate_line};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The summary in memory; if present, the excerpt is empty.
    pub from_memory: String,
    /// The excerpt of the transcript.
    pub excerpt: Excerpt,
    /// The summary in memory, if a person wrote it.
    pub by_person: String,
}

/// Length of a preview, in characters.
const PREVIEW: usize = 200;

impl Summary {
    /// The beginning of the summary.
    pub fn preview(&self) -> String {
        let texts = [&self.from_memory, &self.excerpt.ended, &self.excerpt.asked];
        texts
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or_else(String::new, |text| truncate_line(text, PREVIEW))
    }

    /// The user's own words and the changed files: what may be shown to a session without a request. Includes a summary only
    /// if a person wrote it, because a derived one contains text of agents and tools.
    pub fn own_words(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.by_person.lines().map(String::from).collect();
        for (label, text) in [("Asked first", &self.excerpt.asked), ("Asked last", &self.excerpt.last)] {
            if !text.is_empty() {
                lines.push(format!("{label}: {text}"));
            }
        }
        if !self.excerpt.files.is_empty() {
            lines.push(format!("Files changed: {}", self.excerpt.files.join(", ")));
        }
        lines
    }

    /// The whole summary, for a user who requested it.
    pub fn full_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.from_memory.lines().map(String::from).collect();
        if lines.is_empty() {
            lines = self.own_words();
        }
        if !self.excerpt.ended.is_empty() {
            lines.push(format!("It ended with: {}", self.excerpt.ended));
        }
        lines
    }
}
