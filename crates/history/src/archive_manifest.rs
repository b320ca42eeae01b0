//! Archived copies that were lost: the list of copies, which is kept outside of the archive, has them, and the archive does not.
//!
//! Does not know what was in a copy.

use crate::error::read_error;
use crate::home::{Home, Lock};
use crate::standing_problems::{Area, LOST_COPY, LOST_ENTRIES, StandingProblem};
use api::Error;
use record::Stamp;
use sources::archive::Store;

pub use sources::archive::LostCopy;

/// Sessions that a message names.
const NAMED: usize = 3;

/// The copies that are listed and not there. Opens none of them, unless the database of small copies is older than the list.
pub fn missing_copies(home: &Home) -> Result<Vec<LostCopy>, Error> {
    Store::new(home.archive()).lost_copies().map_err(read_error)
}

/// The same, with the copies that have fewer entries than is listed. Opens all of them.
pub fn missing_entries(home: &Home) -> Result<Vec<LostCopy>, Error> {
    Store::new(home.archive()).lost_entries().map_err(read_error)
}

/// A person knows of the lost copies that were found: they are no longer listed.
pub fn dismiss_missing(home: &Home, _lock: &Lock) -> Result<(), Error> {
    let store = Store::new(home.archive());
    let lost = store.lost_entries().map_err(read_error)?;
    store.settle_lost(lost).map_err(read_error)?;
    store.unlist_lost(&|_| true).map_err(read_error)
}

/// Two problems at most: of copies that are gone, and of copies with fewer entries than they had.
pub fn to_problems(lost: &[LostCopy], now: Stamp) -> Vec<StandingProblem> {
    let (gone, less): (Vec<&LostCopy>, Vec<&LostCopy>) = lost.iter().partition(|copy| copy.found == 0);
    let gone = to_problem(LOST_COPY, &gone, "are lost", now);
    let less = to_problem(LOST_ENTRIES, &less, "have fewer entries than they had", now);
    gone.into_iter().chain(less).collect()
}

fn to_problem(kind: &str, lost: &[&LostCopy], what: &str, now: Stamp) -> Option<StandingProblem> {
    if lost.is_empty() {
        return None;
    }
    // The same copy, lost again with more in it, is another problem.
    let lines: Vec<String> =
        lost.iter().map(|copy| format!("{:032x} {} {}", copy.name, copy.entries, copy.found)).collect();
    let mut sessions: Vec<&str> = lost.iter().take(NAMED).map(|copy| copy.session_id.as_str()).collect();
    let more = (lost.len() - sessions.len()).to_string() + " more";
    if lost.len() > NAMED {
        sessions.push(&more);
    }
    let entries: u64 = lost.iter().map(|copy| u64::from(copy.entries.saturating_sub(copy.found))).sum();
    let message = format!(
        "archived copies {what} ({} with {entries} lost entries): session {}",
        lost.len(),
        sessions.join(", ")
    );
    Some(StandingProblem::new(kind, &lines.join("\n"), Area::Sessions, message, now))
}
