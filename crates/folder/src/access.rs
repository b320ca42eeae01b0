//! Recently requested, pinned, dismissed and focused types of a tree: `.loci/access.json`.
//!
//! Does not know types: it stores IDs, and the names at the time of recording.

use crate::{ACCESS, FolderError, LociFolder};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Maximum number of types per list.
const MAX_ENTRIES: usize = 512;
/// Lock timeout for recording an access, which is best effort.
pub const SHORT_LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// Lock timeout for explicit changes, which wait for another writer.
pub const LONG_LOCK_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Access {
    /// Latest first.
    pub recent: Vec<AccessEntry>,
    /// In pinning order.
    pub pinned: Vec<AccessEntry>,
    pub dismissed: Vec<AccessEntry>,
    /// Latest first; `at` is the expiry time.
    pub context: Vec<AccessEntry>,
}

/// A type by ID and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed<'a> {
    pub id: &'a str,
    pub name: &'a str,
}

/// A type and a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEntry {
    pub id: String,
    pub name: String,
    /// In milliseconds.
    pub at: i64,
}

impl AccessEntry {
    fn new(of: Accessed<'_>, at: i64) -> AccessEntry {
        AccessEntry { id: of.id.to_owned(), name: of.name.to_owned(), at }
    }
}

/// Removes an entry; returns whether it was present.
fn remove_entry(list: &mut Vec<AccessEntry>, id: &str) -> bool {
    let before = list.len();
    list.retain(|seen| seen.id != id);
    list.len() < before
}

impl Access {
    /// Recency rank of each type by ID: larger is more recent.
    pub fn recency_ranks(&self) -> FxHashMap<String, u64> {
        let later = |(age, seen): (usize, &AccessEntry)| (seen.id.clone(), (self.recent.len() - age) as u64);
        self.recent.iter().enumerate().map(later).collect()
    }

    /// Recently requested types that were not dismissed since, latest first.
    pub fn recent_entries(&self) -> impl Iterator<Item = &AccessEntry> {
        self.recent.iter().filter(|seen| !self.dismissed.iter().any(|gone| gone.id == seen.id))
    }

    /// The focused types that have not expired at `now`.
    pub fn focused_at(&self, now: i64) -> impl Iterator<Item = &AccessEntry> {
        self.context.iter().filter(move |seen| seen.at > now)
    }

    // ---- changes; each returns whether anything changed

    /// Records a request for a type. Requesting a dismissed type brings it back.
    pub fn record_request(&mut self, of: Accessed<'_>, now: i64) -> bool {
        remove_entry(&mut self.dismissed, of.id);
        remove_entry(&mut self.recent, of.id);
        self.recent.insert(0, AccessEntry::new(of, now));
        self.recent.truncate(MAX_ENTRIES);
        true
    }

    pub fn pin(&mut self, of: Accessed<'_>, now: i64) -> bool {
        let new = !self.pinned.iter().any(|seen| seen.id == of.id);
        if new {
            self.pinned.push(AccessEntry::new(of, now));
        }
        new
    }

    pub fn unpin(&mut self, of: Accessed<'_>) -> bool {
        remove_entry(&mut self.pinned, of.id)
    }

    pub fn dismiss(&mut self, of: Accessed<'_>, now: i64) -> bool {
        let known = self.recent.iter().chain(&self.context).any(|seen| seen.id == of.id);
        let new = known && !self.dismissed.iter().any(|seen| seen.id == of.id);
        if new {
            remove_entry(&mut self.context, of.id);
            self.dismissed.push(AccessEntry::new(of, now));
            // The oldest dismissed entries are no longer in `recent`.
            let over = self.dismissed.len().saturating_sub(MAX_ENTRIES);
            self.dismissed.drain(..over);
        }
        new
    }

    pub fn focus(&mut self, of: Accessed<'_>, until: i64) -> bool {
        remove_entry(&mut self.dismissed, of.id);
        remove_entry(&mut self.context, of.id);
        self.context.insert(0, AccessEntry::new(of, until));
        self.context.truncate(MAX_ENTRIES);
        true
    }

    pub fn clear_focus(&mut self) -> bool {
        !std::mem::take(&mut self.context).is_empty()
    }
}

/// Reads the access file of a tree. A damaged file yields the default and a note.
pub fn read_access(root: &Path) -> (Access, Vec<String>) {
    match LociFolder::open(root).and_then(|folder| folder.map_or(Ok(None), |folder| folder.read(ACCESS))) {
        Ok(None) => (Access::default(), Vec::new()),
        Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
            Ok(access) => (access, Vec::new()),
            Err(error) => (Access::default(), vec![damaged_note(&error)]),
        },
        Err(error) => (Access::default(), vec![error.to_string()]),
    }
}

fn damaged_note(error: &serde_json::Error) -> String {
    format!("`.loci/{ACCESS}` cannot be parsed, so pinned and recent types are ignored: {error}")
}

/// Updates the access file. It is read and written under one lock, so that concurrent updates are not lost. A damaged file is
/// set aside first.
pub fn update_access<T>(
    folder: &LociFolder,
    patience: Duration,
    now: i64,
    change: impl FnOnce(&mut Access) -> T,
) -> Result<(T, Vec<String>), FolderError> {
    let pen = folder.lock_for_writing(patience)?;
    let mut notes = Vec::new();
    let mut access = match folder.read(ACCESS)?.map(|bytes| serde_json::from_slice(&bytes)) {
        None => Access::default(),
        Some(Ok(access)) => access,
        Some(Err(_)) => {
            let aside = pen.set_aside(ACCESS)?;
            notes.push(format!("the damaged file was moved to {}", aside.display()));
            Access::default()
        }
    };
    access.context.retain(|seen| seen.at > now);
    let done = change(&mut access);
    let mut bytes = serde_json::to_vec_pretty(&access).unwrap_or_default();
    bytes.push(b'\n');
    pen.write_unsynced(ACCESS, &bytes)?;
    Ok((done, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accessed(id: &str) -> Accessed<'_> {
        Accessed { id, name: "N" }
    }

    fn entry_ids<'a>(seen: impl Iterator<Item = &'a AccessEntry>) -> Vec<&'a str> {
        seen.map(|seen| seen.id.as_str()).collect()
    }

    #[test]
    fn the_latest_request_comes_first_and_the_list_is_bounded() {
        let mut access = Access::default();
        for n in 0..600 {
            access.record_request(accessed(&n.to_string()), n);
        }
        access.record_request(accessed("300"), 700);
        assert_eq!(access.recent.len(), 512);
        assert_eq!(entry_ids(access.recent_entries())[..3], ["300", "599", "598"]);
    }

    #[test]
    fn a_dismissed_type_returns_when_requested_again() {
        let mut access = Access::default();
        assert!(!access.dismiss(accessed("a"), 0), "it was never requested");
        access.record_request(accessed("a"), 1);
        access.record_request(accessed("b"), 2);
        assert!(access.dismiss(accessed("b"), 3) && !access.dismiss(accessed("b"), 4));
        assert_eq!(entry_ids(access.recent_entries()), ["a"]);
        access.record_request(accessed("b"), 5);
        assert_eq!(entry_ids(access.recent_entries()), ["b", "a"]);
    }

    #[test]
    fn focus_expires() {
        let mut access = Access::default();
        access.focus(accessed("a"), 100);
        access.focus(accessed("b"), 200);
        assert_eq!(entry_ids(access.focused_at(99)), ["b", "a"]);
        assert_eq!(entry_ids(access.focused_at(100)), ["b"]);
        access.focus(accessed("a"), 300);
        assert_eq!(entry_ids(access.focused_at(200)), ["a"], "focusing again extends the expiry");
        assert!(access.clear_focus() && !access.clear_focus());
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_expired_focus_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = LociFolder::open_or_create(root.path()).unwrap();
        std::fs::write(folder.path(ACCESS), "{\"pinned\": 3}").unwrap();
        let (access, notes) = read_access(root.path());
        assert!(access == Access::default() && notes[0].contains("cannot be parsed"), "{notes:?}");
        let (new, notes) =
            update_access(&folder, LONG_LOCK_TIMEOUT, 10, |access| access.focus(accessed("a"), 20)).unwrap();
        assert!(new && notes[0].contains("access.json.damaged"), "{notes:?}");
        assert_eq!(std::fs::read_to_string(folder.path("access.json.damaged")).unwrap(), "{\"pinned\": 3}");
        assert_eq!(read_access(root.path()).0.context.len(), 1);
        update_access(&folder, LONG_LOCK_TIMEOUT, 20, |access| access.pin(accessed("b"), 20)).unwrap();
        let (access, notes) = read_access(root.path());
        assert_eq!((access.context.len(), access.pinned.len(), notes.len()), (0, 1, 0));
    }
}
