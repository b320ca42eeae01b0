//! Counts the places of indexed transcripts that could not be read, for answers that come from the index and read no transcript
//! themselves.
//!
//! Does not know what was there: `loci sources --problems` lists the places.

use crate::error::store_error;
use crate::scope::is_within_any;
use api::Error;
use catalogue::{FileState, Reader, Writer};
use record::ProblemKind;
use std::path::PathBuf;

/// Meta key: how many places of all transcripts could not be read when they were indexed, so that an answer about a whole history
/// reads one number.
const LOST: &str = "lost";
/// Meta key: the sequence number up to which they were counted.
const COUNTED: &str = "lost_at";

/// Places of the transcripts in these folders that could not be read; of all transcripts if there are none.
pub fn count_lost_places(reader: &Reader, folders: &[PathBuf]) -> Result<u64, Error> {
    let all = reader.meta_value(LOST).map_err(store_error)?.unwrap_or(0).max(0) as u64;
    if all == 0 || folders.is_empty() {
        return Ok(all);
    }
    let damaged = reader.damaged_files().map_err(store_error)?;
    let states = reader.file_states(|file| damaged.contains(&file)).map_err(store_error)?;
    let is_here = |state: &&FileState| {
        // A transcript without a session could be of any project.
        state.sessions.is_empty() || state.sessions.iter().any(|session| is_within_any(session, folders))
    };
    Ok(states.values().filter(is_here).map(count_lost).sum())
}

/// What an answer says of them. None: there are none.
pub fn describe_lost_places(lost: u64) -> Option<String> {
    let places = if lost == 1 { "1 place".to_string() } else { format!("{lost} places") };
    (lost > 0).then(|| format!("{places} could not be read; `loci sources --problems` lists them"))
}

/// Counts them after an update, if it has changed anything.
pub(crate) fn update_count(catalogue: &Writer) -> Result<(), Error> {
    let (reader, sequence) = (catalogue.reader(), catalogue.sequence() as i64);
    if reader.meta_value(COUNTED).map_err(store_error)? == Some(sequence) {
        return Ok(());
    }
    let damaged = reader.damaged_files().map_err(store_error)?;
    let mut lost = 0;
    if !damaged.is_empty() {
        let is_damaged = |file: u32| damaged.contains(&file);
        reader.for_each_file_state(is_damaged, |_, state| lost += count_lost(&state)).map_err(store_error)?;
    }
    catalogue.set_meta(LOST, lost as i64).map_err(store_error)?;
    catalogue.set_meta(COUNTED, sequence).map_err(store_error)
}

/// As a view counts them: see [`crate::outcome::Outcome::count_lost`].
fn count_lost(state: &FileState) -> u64 {
    let is_line = |kind: ProblemKind| matches!(kind, ProblemKind::BadLine | ProblemKind::LineTooLong);
    let others = state.problems.iter().filter(|one| one.kind.is_loss() && !is_line(one.kind)).count();
    state.bad + others as u64
}
