//! Sessions that the user has forgotten. Stored with the data rather than in the rebuildable cache, so that a forgotten
//! session stays out however often its transcript is read.
//!
//! Does not know what the sessions contained.

use crate::home::{Home, replace_file};
use api::{Code, Error};
use catalogue::Reader;
use record::{Row, Session};
use sources::SurveyOutcome;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let message = format!("cannot read the list of forgotten sessions, {}: {error}", path.display());
    Error::new(Code::ReadError, message).hint("make the file readable; it was not changed")
}

/// Source and session ID of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tombstones(BTreeSet<(String, String)>);

impl Tombstones {
    /// Fails if the list is there and cannot be read: without it, what was forgotten would come back, and adding to an
    /// empty list would lose it for good.
    pub fn read(home: Option<&Home>) -> Result<Tombstones, Error> {
        let Some(path) = home.map(Home::tombstones) else { return Ok(Tombstones::default()) };
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Tombstones::default()),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let one = |line: &str| line.split_once('\t').map(|(source, id)| (source.to_string(), id.to_string()));
        Ok(Tombstones(text.lines().filter_map(one).collect()))
    }

    /// Those with events left in the catalogue: a process was killed while forgetting them.
    pub fn unfinished(&self, reader: &Reader) -> Result<Tombstones, catalogue::Error> {
        let mut unfinished = BTreeSet::new();
        for (source, id) in &self.0 {
            let chat = reader.find_chat(source, id)?;
            if chat.map_or(Ok(0), |chat| reader.count_events(chat))? > 0 {
                unfinished.insert((source.clone(), id.clone()));
            }
        }
        Ok(Tombstones(unfinished))
    }

    /// Source and session ID of each.
    pub fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, source: &str, session: &str) -> bool {
        // Called for every session; most users have no tombstones.
        !self.0.is_empty() && self.0.contains(&(source.to_string(), session.to_string()))
    }

    /// The ID of a forgotten session that starts with this prefix.
    pub fn find_prefix(&self, prefix: &str) -> Option<&str> {
        self.0.iter().map(|(_, id)| id.as_str()).find(|id| id.starts_with(prefix))
    }

    /// Removes the rows of forgotten sessions from a survey. The sessions remain, without their details.
    pub(crate) fn remove_forgotten(&self, facts: &mut SurveyOutcome, rows: &mut Vec<Row>) {
        let forgotten: Vec<bool> =
            facts.sessions.iter().map(|s| self.contains(s.source, &s.session_id)).collect();
        if !forgotten.contains(&true) {
            return;
        }
        rows.retain(|row| !forgotten[row.session as usize]);
        for (session, _) in facts.sessions.iter_mut().zip(&forgotten).filter(|(_, forgotten)| **forgotten) {
            *session = Session::new(session.source, &session.session_id);
        }
    }

    pub fn add(&mut self, home: &Home, sessions: impl Iterator<Item = (String, String)>) -> io::Result<()> {
        self.0.extend(sessions);
        let text: String = self.0.iter().flat_map(|(source, id)| [source, "\t", id, "\n"]).collect();
        replace_file(&home.tombstones(), text.as_bytes())
    }
}
