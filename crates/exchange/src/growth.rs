//! Decides how a copy that changed is sent: by what was appended since the others got it, or as a whole.
//!
//! Does not stage anything. A part is only planned if this device sent everything before it.

use crate::copy_name::CopyName;
use crate::known::{Known, SentState};
use crate::part::{MAX_LINES, hash_state, part_key};
use api::Error;
use history::error::read_error;
use sources::archive::{CopyLines, Store};
use sync::Hash;

/// After this many parts, a whole: a device that lacks a part gets everything again, and forgetting has fewer records to name.
const MAX_PARTS: u64 = 128;
/// Lines compress to about a quarter or less. Parts that would be larger than the copy are not worth it.
const COMPRESSION: u64 = 4;

/// A copy that changed since it was exchanged.
pub(crate) struct ChangedCopy {
    pub(crate) name: CopyName,
    pub(crate) key: String,
    /// What it is called in the archive.
    pub(crate) archived: u128,
    pub(crate) stamp: String,
}

/// A changed copy as it is sent.
pub(crate) enum Parcel {
    /// The others have it all: it was only written anew.
    Nothing,
    Whole(Vec<u8>),
    Part {
        key: String,
        body: Vec<u8>,
    },
}

impl Parcel {
    pub(crate) fn len(&self) -> usize {
        match self {
            Parcel::Nothing => 0,
            Parcel::Whole(bytes) => bytes.len(),
            Parcel::Part { body, .. } => body.len(),
        }
    }
}

/// A parcel, and what the others have of the copy once they have it. None: the next parcel must be a whole.
pub(crate) struct Planned {
    pub(crate) parcel: Parcel,
    pub(crate) state: Option<SentState>,
}

/// Plans how to send a copy. `is_unchanged` says whether the copy is still the one that was found. None: it is gone.
pub(crate) fn plan_parcel(
    store: &Store,
    known: &Known,
    copy: &ChangedCopy,
    is_unchanged: impl Fn() -> bool,
) -> Result<Option<Planned>, Error> {
    // A copy that cannot be taken apart travels as it is, and is refused where it arrives.
    let transcript = copy.name.transcript;
    let lines = store.read_lines(copy.archived, MAX_LINES).ok().flatten();
    let before = known.sent(&copy.key)?;
    let packed = store.stat_copy(copy.archived).map_or(0, |(length, _)| length);
    if let (Some(appended), Some(before)) = (&lines, &before)
        && extends(appended, before, packed)
    {
        return lines.map_or(Ok(None), |lines| plan_part(copy, lines, before).map(Some));
    }
    let Some(bytes) = store.read_raw(copy.archived, transcript).map_err(read_error)? else { return Ok(None) };
    // Otherwise the lines are not those of the bytes.
    let state = lines.filter(|_| is_unchanged()).map(|copy| SentState {
        lines: copy.lines.len() as u64,
        digest: hash_state(&copy.lines, &copy.dead),
        rest: Hash::of_pieces([copy.rest().as_slice()]),
        dead: copy.dead,
        parts: 0,
        bytes: 0,
    });
    Ok(Some(Planned { parcel: Parcel::Whole(bytes), state }))
}

/// Whether a copy is what the others have and more, and a part is worth it.
fn extends(copy: &CopyLines, before: &SentState, packed: u64) -> bool {
    let Some(prefix) = copy.lines.get(..before.lines as usize) else { return false };
    let appended = (copy.lines.len() - prefix.len()) as u64;
    let keeps_dead = before.dead.iter().all(|at| copy.dead.binary_search(at).is_ok());
    before.parts < MAX_PARTS
        && before.bytes + appended <= COMPRESSION * packed
        && keeps_dead
        && hash_state(prefix, &before.dead) == before.digest
}

fn plan_part(of: &ChangedCopy, copy: CopyLines, before: &SentState) -> Result<Planned, Error> {
    let appended = copy.lines.len() as u64 - before.lines;
    let state = SentState {
        lines: copy.lines.len() as u64,
        digest: hash_state(&copy.lines, &copy.dead),
        rest: Hash::of_pieces([copy.rest().as_slice()]),
        dead: copy.dead.clone(),
        parts: before.parts + 1,
        bytes: before.bytes + appended,
    };
    if (&state.digest, &state.rest) == (&before.digest, &before.rest) {
        return Ok(Planned { parcel: Parcel::Nothing, state: Some(before.clone()) });
    }
    let body =
        copy.encode_since(of.name.transcript, before.lines as usize, &before.dead).map_err(read_error)?;
    let parcel = Parcel::Part { key: part_key(&of.key, &body), body };
    Ok(Planned { parcel, state: Some(state) })
}
