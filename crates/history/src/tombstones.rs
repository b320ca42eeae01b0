//! Sessions that the user has forgotten. Stored with the data rather than in the rebuildable cache, so that a forgotten
//! session stays out however often its transcript is read. The list has two copies with checksums, which are united on each
//! read: damage to one of them, or its loss, brings nothing back, and the next update mends it from the other.
//!
//! Does not know what the sessions contained.

use crate::home::{self, Home};
use api::{Code, Error};
use catalogue::Reader;
use os::checked_file::{self, CheckedLines, Condition};
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

/// What the two copies of the list are worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListState {
    /// Both copies are there and the same, or there was never a list.
    Whole,
    /// One copy has everything; the other one is damaged, missing or behind.
    Mendable,
    /// Neither copy can be trusted: what was forgotten may come back.
    Lost,
}

impl Tombstones {
    /// All of both copies. Fails if one is there and cannot be read: without it, what was forgotten could come back.
    pub fn read(home: Option<&Home>) -> Result<Tombstones, Error> {
        home.map_or_else(
            || Ok(Tombstones::default()),
            |home| Tombstones::read_with_state(home).map(|(all, _)| all),
        )
    }

    /// The same, with what the copies are worth.
    pub fn read_with_state(home: &Home) -> Result<(Tombstones, ListState), Error> {
        let read = |path: &Path| checked_file::read_lines(path).map_err(|error| unreadable(path, &error));
        let copies = home.tombstone_copies();
        let (first, second) = (read(&copies[0])?, read(&copies[1])?);
        let state = judge_copies(home, &first, &second);
        let parse = |line: &String| {
            let (source, id) = line.split_once('\t')?;
            Some((source.to_string(), id.to_string()))
        };
        let mut all: BTreeSet<_> =
            [&first.lines, &second.lines].into_iter().flatten().filter_map(parse).collect();
        for (one, other) in [(&first, &second), (&second, &first)] {
            // A damaged line is the best that is known of it, unless the other copy has it.
            if one.condition == Condition::Unchecked || other.condition != Condition::Whole {
                all.extend(one.doubtful.iter().filter_map(parse));
            }
        }
        Ok((Tombstones(all), state))
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

    /// Adds sessions and writes both copies. Each is replaced atomically, and until both are, either one has the sessions.
    pub fn add(&mut self, home: &Home, sessions: impl Iterator<Item = (String, String)>) -> io::Result<()> {
        let before = self.0.len();
        self.0.extend(sessions);
        if self.0.len() == before && matches!(Tombstones::read_with_state(home), Ok((_, ListState::Whole))) {
            return Ok(());
        }
        self.write(home)
    }

    fn write(&self, home: &Home) -> io::Result<()> {
        let lines: Vec<String> = self.0.iter().map(|(source, id)| format!("{source}\t{id}")).collect();
        home::create_private_dir(&home.archive())?;
        for path in home.tombstone_copies() {
            checked_file::replace_lines(&path, lines.iter().map(String::as_str))?;
        }
        Ok(())
    }

    /// Writes the list where it is missing, damaged or behind. The caller holds the writer lock. Returns what the copies were
    /// worth before.
    pub(crate) fn mend(home: &Home) -> Result<ListState, Error> {
        let (all, state) = Tombstones::read_with_state(home)?;
        let is_written = home.tombstone_copies().iter().all(|path| path.exists());
        if state != ListState::Whole || !is_written {
            all.write(home).map_err(|error| home::unwritable(&home.tombstones(), &error))?;
        }
        Ok(state)
    }
}

/// Both copies are missing where there never was a list, and where both were lost: the list of problems tells one from the other.
fn judge_copies(home: &Home, first: &CheckedLines, second: &CheckedLines) -> ListState {
    let is_trusted = |copy: &CheckedLines| matches!(copy.condition, Condition::Whole | Condition::Unchecked);
    match (first.condition, second.condition) {
        (Condition::Whole, Condition::Whole) if first.lines == second.lines => ListState::Whole,
        _ if is_trusted(first) || is_trusted(second) => ListState::Mendable,
        (Condition::Missing, Condition::Missing) if !home.standing_problems().exists() => ListState::Whole,
        _ => ListState::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sources::Environment;

    fn home(folder: &Path) -> Home {
        let places = Environment { home: folder.to_path_buf(), ..Environment::default() };
        Home::from_places(&places).expect("an absolute home directory has places")
    }

    fn ids(home: &Home) -> Vec<String> {
        Tombstones::read(Some(home)).unwrap().iter().map(|(_, id)| id.clone()).collect()
    }

    #[test]
    fn no_damage_to_one_copy_brings_a_session_back_and_the_other_mends_it() {
        let tmp = tempfile::tempdir().unwrap();
        let home = home(tmp.path());
        home.create_dirs().unwrap();
        assert_eq!(Tombstones::mend(&home).unwrap(), ListState::Whole);
        let older = std::fs::read(&home.tombstone_copies()[0]).unwrap();
        let session = |id: &str| ("claude-code".to_string(), id.to_string());
        Tombstones::default().add(&home, ["one", "two"].map(session).into_iter()).unwrap();
        let whole = std::fs::read(&home.tombstone_copies()[0]).unwrap();
        for path in &home.tombstone_copies() {
            let mut damages: Vec<Option<Vec<u8>>> = vec![None, Some(older.clone()), Some(Vec::new())];
            damages.extend((0..whole.len()).map(|at| Some(whole[..at].to_vec())));
            damages.extend((0..whole.len()).map(|at| {
                let mut flipped = whole.clone();
                flipped[at] ^= 0x11;
                Some(flipped)
            }));
            damages.push(Some(vec![0; whole.len()]));
            for damage in damages {
                match &damage {
                    Some(bytes) => std::fs::write(path, bytes).unwrap(),
                    None => std::fs::remove_file(path).unwrap(),
                }
                assert_eq!(ids(&home), ["one", "two"], "{damage:?}");
                assert_ne!(Tombstones::read_with_state(&home).unwrap().1, ListState::Lost, "{damage:?}");
                Tombstones::mend(&home).unwrap();
                assert_eq!(std::fs::read(path).unwrap(), whole);
            }
        }
    }

    #[test]
    fn a_home_that_had_a_list_and_has_none_has_lost_it() {
        let tmp = tempfile::tempdir().unwrap();
        let home = home(tmp.path());
        home.create_dirs().unwrap();
        assert_eq!(Tombstones::mend(&home).unwrap(), ListState::Whole);
        checked_file::replace_lines(&home.standing_problems(), std::iter::empty()).unwrap();
        assert_eq!(Tombstones::read_with_state(&home).unwrap().1, ListState::Whole);
        for damage in [None, Some(&b""[..]), Some(b"garbage")] {
            for path in home.tombstone_copies() {
                match damage {
                    Some(bytes) => std::fs::write(path, bytes).unwrap(),
                    None => std::fs::remove_file(path).unwrap(),
                }
            }
            assert_eq!(Tombstones::read_with_state(&home).unwrap().1, ListState::Lost, "{damage:?}");
        }
    }
}
