//! A device that joins a space in which it, or its memory, was before: what it knew when it left is the base, so that what it has not
//! changed since is not later than what the others wrote meanwhile.
//!
//! Does not merge: `memory` does. Knows no time of a change but what memory keeps: the time of a name and of a summary.

use crate::document::SESSIONS;
use crate::settings::{LEFT_FILE, Place, SpaceSettings, sync_error};
use api::{Code, Error};
use history::error::read_error;
use history::home::{self, Home};
use os::checked_file::{self, Condition};
use std::collections::BTreeMap;
use std::path::PathBuf;
use sync::{Change, Space};

/// The records of memory as they were exchanged when this device left, by collection and key. Empty if it never was in a space.
#[derive(Default)]
pub(crate) struct Returned {
    base: BTreeMap<(String, String), Vec<u8>>,
}

/// What is known of a record that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newer {
    /// It was changed here since this device left, and not elsewhere.
    Ours,
    /// It was changed elsewhere, or not at all.
    Theirs,
    /// Both, or nobody knows.
    Unknown,
}

impl Returned {
    fn path(place: &Place) -> PathBuf {
        place.folder.join(LEFT_FILE)
    }

    /// None: this device has read what the others wrote, and every round since has compared with that.
    pub(crate) fn load(home: &Home, settings: &SpaceSettings) -> Result<Option<Returned>, Error> {
        settings.returned.then(|| Returned::read(&Place::private(home))).transpose()
    }

    /// Fails if the file is damaged: without it, what this device has not changed would count as later than what the others wrote.
    fn read(place: &Place) -> Result<Returned, Error> {
        let path = Returned::path(place);
        let kept = checked_file::read_lines(&path).map_err(read_error)?;
        let parse = |line: &String| serde_json::from_str::<(String, String, String)>(line).ok();
        let records: Option<Vec<_>> = kept.lines.iter().map(parse).collect();
        match (kept.condition, records) {
            (Condition::Missing, _) => Ok(Returned::default()),
            (Condition::Whole, Some(records)) => {
                let base =
                    records.into_iter().map(|(collection, key, body)| ((collection, key), body.into_bytes()));
                Ok(Returned { base: base.collect() })
            }
            _ => {
                let message = format!("what this device knew when it left is damaged: {}", path.display());
                let remove = "remove the file: then, of two edits, the one with the later time counts";
                Err(Error::new(Code::ReadError, message).hint(remove))
            }
        }
    }

    /// Keeps those of the records here that were exchanged, for the day on which this device joins again. One that leaves before it has
    /// read everything knows of the others no more than it did before.
    pub(crate) fn keep(
        place: &Place,
        settings: &SpaceSettings,
        space: &Space,
        records: Vec<Change>,
    ) -> Result<(), Error> {
        let mut base = if settings.returned { Returned::read(place)?.base } else { BTreeMap::new() };
        for change in records {
            if space.is_exchanged(&change).map_err(sync_error)?
                && let sync::Body::Bytes(body) = change.body
            {
                base.insert((change.collection, change.key), body);
            }
        }
        let to_line = |((collection, key), body): (&(String, String), &Vec<u8>)| {
            serde_json::to_string(&(collection, key, String::from_utf8_lossy(body))).map_err(read_error)
        };
        let lines: Vec<String> = base.iter().map(to_line).collect::<Result<_, _>>()?;
        let path = Returned::path(place);
        let written = checked_file::replace_lines(&path, lines.iter().map(String::as_str));
        written.map_err(|error| home::unwritable(&path, &error))
    }

    /// All was read: from now on what is changed here is later than what was read.
    pub(crate) fn finish(place: &Place) -> Result<(), Error> {
        place.store_settings(&SpaceSettings { returned: false, ..place.joined_settings()? })?;
        match std::fs::remove_file(Returned::path(place)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(read_error(error)),
            _ => Ok(()),
        }
    }

    /// Compares what is here and what arrives with what was here when this device left.
    pub(crate) fn compare(&self, ours: &Change, theirs: &[u8]) -> Newer {
        let Some(base) = self.base.get(&(ours.collection.clone(), ours.key.clone())) else {
            return Newer::Unknown;
        };
        let is_changed_here = ours.body != sync::Body::Bytes(base.clone());
        match (is_changed_here, theirs != base.as_slice()) {
            (true, false) => Newer::Ours,
            // A session has the time of each change.
            (true, true) if ours.collection == SESSIONS => Newer::Unknown,
            _ => Newer::Theirs,
        }
    }
}
