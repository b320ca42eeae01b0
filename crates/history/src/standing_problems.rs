//! What was lost or damaged and is not mended yet: shown by `loci doctor`, by `loci sources --problems` and by every reader
//! whose answer could miss it, until it is mended or a person dismisses it.
//!
//! Writers add to the list with the writer lock held. Readers read one small file, which is not there in most homes. Does not
//! decide what a loss is.

use crate::home::{self, Home, Lock};
use crate::tombstones::{ListState, Tombstones};
use api::{Code, Error};
use os::checked_file::{self, Condition};
use record::Stamp;
use serde::{Deserialize, Serialize};

/// Whose answers could miss what was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    Sessions,
    Memory,
    Messages,
    Costs,
    Sync,
}

/// Both copies of the list of forgotten sessions were damaged or gone.
pub const FORGOTTEN: &str = "forgotten";
/// Archived copies that are listed and are not there.
pub const LOST_COPY: &str = "lost-copy";
/// Archived copies that have fewer entries than they had.
pub const LOST_ENTRIES: &str = "lost-entries";
/// A transcript that lost more than a tenth of its entries.
pub const SHORTENED: &str = "shortened";
/// The list of these problems was damaged.
const PROBLEM_LIST: &str = "problems";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingProblem {
    /// What `loci doctor --dismiss` takes; the same whenever the same thing is found.
    pub id: String,
    pub kind: String,
    pub area: Area,
    pub message: String,
    /// A command that mends it, if one may.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// When it was first seen, in milliseconds since 1970.
    pub since: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<i64>,
}

impl StandingProblem {
    /// `key` tells this problem from others of its kind.
    pub fn new(kind: &str, key: &str, area: Area, message: String, now: Stamp) -> StandingProblem {
        let number = record::event_key(b'p', &[kind.as_bytes(), key.as_bytes()]);
        let id = format!("{kind}-{:06x}", number & 0x00ff_ffff);
        StandingProblem {
            id,
            kind: kind.to_string(),
            area,
            message,
            fix: String::new(),
            since: now.0,
            dismissed: None,
        }
    }

    #[must_use]
    pub fn fix(self, command: impl Into<String>) -> StandingProblem {
        StandingProblem { fix: command.into(), ..self }
    }

    pub fn is_open(&self) -> bool {
        self.dismissed.is_none()
    }
}

/// All problems, dismissed ones too, oldest first.
pub fn list(home: &Home, now: Stamp) -> Result<Vec<StandingProblem>, Error> {
    let mut problems = read_stored(home, now)?;
    // Whoever reads sessions reads the tombstones anyway: a lost list is said before an update has noticed it.
    if Tombstones::read_with_state(home)?.1 == ListState::Lost {
        add_lost_tombstones(&mut problems, now);
    }
    Ok(problems)
}

fn read_stored(home: &Home, now: Stamp) -> Result<Vec<StandingProblem>, Error> {
    let path = home.standing_problems();
    let unreadable = |error: std::io::Error| {
        Error::new(Code::ReadError, format!("cannot read the list of problems, {}: {error}", path.display()))
            .hint("make the file readable; it was not changed")
    };
    let stored = checked_file::read_lines(&path).map_err(unreadable)?;
    let mut problems: Vec<StandingProblem> =
        stored.lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if matches!(stored.condition, Condition::Damaged | Condition::Unchecked)
        || problems.len() < stored.lines.len()
    {
        let message = format!(
            "{} was damaged: what it listed is found again by `loci index`, what was dismissed may be shown again",
            path.display()
        );
        add_new(&mut problems, StandingProblem::new(PROBLEM_LIST, "", Area::Sessions, message, now));
    }
    Ok(problems)
}

/// Those that nobody has dismissed.
pub fn list_open(home: &Home, now: Stamp) -> Result<Vec<StandingProblem>, Error> {
    Ok(list(home, now)?.into_iter().filter(StandingProblem::is_open).collect())
}

/// Makes these the problems of a kind: new ones are added, and those that are no longer found are mended. One that was dismissed
/// stays dismissed. The caller holds the writer lock.
pub fn set_found(
    home: &Home,
    _lock: &Lock,
    kind: &str,
    found: Vec<StandingProblem>,
    now: Stamp,
) -> Result<(), Error> {
    let mut problems = read_stored(home, now)?;
    problems.retain(|one| one.kind != kind || !one.is_open() || found.iter().any(|new| new.id == one.id));
    for one in found {
        add_new(&mut problems, one);
    }
    store(home, &problems)
}

/// Adds a problem that nothing but a person can settle. The caller holds the writer lock.
pub fn raise(home: &Home, _lock: &Lock, problem: StandingProblem) -> Result<(), Error> {
    let mut problems = read_stored(home, Stamp(problem.since))?;
    add_new(&mut problems, problem);
    store(home, &problems)
}

/// Dismisses a problem by its ID, or all of a kind. Returns those that were open.
pub fn dismiss(home: &Home, name: &str, now: Stamp) -> Result<Vec<StandingProblem>, Error> {
    let _lock = Lock::acquire(home)?;
    let mut problems = list(home, now)?;
    let mut dismissed = Vec::new();
    for one in problems.iter_mut().filter(|one| one.is_open() && (one.id == name || one.kind == name)) {
        one.dismissed = Some(now.0);
        dismissed.push(one.clone());
    }
    if dismissed.is_empty() {
        return Err(
            Error::new(Code::InvalidArgument, format!("no open problem `{name}`")).hint("loci doctor")
        );
    }
    store(home, &problems)?;
    // What was lost is written anew, so that it is not found once more.
    Tombstones::mend(home)?;
    Ok(dismissed)
}

/// Takes the IDs of forgotten sessions out of all messages. The caller holds the writer lock.
pub(crate) fn forget_sessions(
    home: &Home,
    _lock: &Lock,
    is_forgotten: &dyn Fn(&str) -> bool,
    now: Stamp,
) -> Result<(), Error> {
    let mut problems = read_stored(home, now)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '@');
    for one in &mut problems {
        let words: Vec<&str> = one.message.split(|c| !is_part(c)).filter(|word| is_forgotten(word)).collect();
        one.message = words.iter().fold(one.message.clone(), |text, word| text.replace(word, "(forgotten)"));
    }
    store(home, &problems)
}

/// Mends the list of forgotten sessions, and remembers that it was lost. The caller holds the writer lock.
pub(crate) fn check_tombstones(home: &Home, _lock: &Lock, now: Stamp) -> Result<(), Error> {
    let problems = list(home, now)?;
    if Tombstones::read_with_state(home)?.1 == ListState::Lost {
        // First the problem: once the list is written again, nothing shows that it was lost.
        store(home, &problems)?;
        return Tombstones::mend(home).map(drop);
    }
    Tombstones::mend(home)?;
    if home.standing_problems().exists() { Ok(()) } else { store(home, &problems) }
}

/// Each loss is one of its own, also after an earlier one was dismissed.
fn add_lost_tombstones(problems: &mut Vec<StandingProblem>, now: Stamp) {
    let earlier = problems.iter().filter(|one| one.kind == FORGOTTEN);
    if earlier.clone().any(StandingProblem::is_open) {
        return;
    }
    let key = earlier.count().to_string();
    let message = "both copies of the list of forgotten sessions were damaged or lost: sessions that were \
                   forgotten may be shown again; forget them again, or restore `forgotten` from a backup";
    add_new(problems, StandingProblem::new(FORGOTTEN, &key, Area::Sessions, message.to_string(), now));
}

fn add_new(problems: &mut Vec<StandingProblem>, one: StandingProblem) {
    if !problems.iter().any(|other| other.id == one.id) {
        problems.push(one);
    }
}

/// Writes the list if it is another one than is there.
fn store(home: &Home, problems: &[StandingProblem]) -> Result<(), Error> {
    let path = home.standing_problems();
    let failed = |error: std::io::Error| home::unwritable(&path, &error);
    let lines: Vec<String> = problems
        .iter()
        .map(|one| serde_json::to_string(one).expect("its fields are strings and numbers"))
        .collect();
    let stored = checked_file::read_lines(&path).map_err(failed)?;
    if stored.condition == Condition::Missing && Tombstones::read_with_state(home)?.1 == ListState::Whole {
        // First the lists: without them, a home with a list of problems counts as one that lost them.
        Tombstones::mend(home)?;
    }
    let is_same = stored.condition == Condition::Whole && stored.lines == lines;
    if is_same {
        Ok(())
    } else {
        checked_file::replace_lines(&path, lines.iter().map(String::as_str)).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sources::Environment;

    fn home(folder: &std::path::Path) -> Home {
        let places = Environment { home: folder.to_path_buf(), ..Environment::default() };
        let home = Home::from_places(&places).expect("an absolute home directory has places");
        home.create_dirs().unwrap();
        home
    }

    fn lost(key: &str) -> StandingProblem {
        StandingProblem::new(LOST_COPY, key, Area::Sessions, format!("{key} is lost"), Stamp(1))
    }

    #[test]
    fn a_problem_stands_until_it_is_mended_or_dismissed() {
        let tmp = tempfile::tempdir().unwrap();
        let home = home(tmp.path());
        let messages = || -> Vec<String> {
            list_open(&home, Stamp(9)).unwrap().into_iter().map(|one| one.message).collect()
        };
        let set = |found: &[&str]| {
            let lock = Lock::acquire(&home).unwrap();
            set_found(&home, &lock, LOST_COPY, found.iter().map(|key| lost(key)).collect(), Stamp(5))
                .unwrap();
        };
        set(&["a", "b"]);
        assert_eq!(messages(), ["a is lost", "b is lost"]);
        set(&["b"]);
        assert_eq!(messages(), ["b is lost"]);
        assert_eq!(dismiss(&home, &lost("b").id, Stamp(7)).unwrap().len(), 1);
        assert!(dismiss(&home, LOST_COPY, Stamp(7)).is_err());
        set(&["b", "c"]);
        assert_eq!(messages(), ["c is lost"]);
        let all = list(&home, Stamp(9)).unwrap();
        assert_eq!(all.iter().map(|one| one.dismissed).collect::<Vec<_>>(), [Some(7), None]);
        // A damaged list says so.
        std::fs::write(home.standing_problems(), b"x").unwrap();
        assert_eq!(list_open(&home, Stamp(9)).unwrap().len(), 1);
    }

    #[test]
    fn a_lost_list_of_forgotten_sessions_is_remembered_after_it_was_written_again() {
        let tmp = tempfile::tempdir().unwrap();
        let home = home(tmp.path());
        let kinds = || -> Vec<String> {
            list_open(&home, Stamp(9)).unwrap().into_iter().map(|one| one.kind).collect()
        };
        let check = || {
            let lock = Lock::acquire(&home).unwrap();
            check_tombstones(&home, &lock, Stamp(3)).unwrap();
        };
        check();
        assert_eq!(kinds(), [""; 0]);
        for _ in 0..2 {
            home.tombstone_copies().iter().for_each(|path| std::fs::remove_file(path).unwrap());
            assert_eq!(kinds(), [FORGOTTEN]);
            check();
            assert_eq!(kinds(), [FORGOTTEN]);
            dismiss(&home, FORGOTTEN, Stamp(4)).unwrap();
            assert_eq!(kinds(), [""; 0]);
        }
        assert_eq!(list(&home, Stamp(9)).unwrap().len(), 2);
    }
}
