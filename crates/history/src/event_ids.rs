//! IDs of the documents a search returns: events, session titles, names given by memory, and unindexed events.
//!
//! Does not know the text of any of them.

/// Titles are searched like messages; this bit separates their IDs from the catalogue's event IDs.
const TITLES: u64 = 1 << 62;

pub(crate) fn title_event(session: u32) -> u64 {
    TITLES | u64::from(session)
}

/// The session number if the event is a title.
pub fn title_session(event: u64) -> Option<u32> {
    (event & (TITLES | NAMES) == TITLES).then_some(event as u32)
}

/// Session names from memory are in no transcript and not in the index: each search receives them as extra documents.
const NAMES: u64 = 1 << 60;

pub fn name_event(chat: u32) -> u64 {
    TITLES | NAMES | u64::from(chat)
}

pub fn is_name_event(event: u64) -> bool {
    event & (TITLES | NAMES) == TITLES | NAMES
}

/// Events that are not indexed yet are numbered separately from the catalogue's events.
const UNINDEXED: u64 = 1 << 61;

pub(crate) fn unindexed_event(number: u64) -> u64 {
    UNINDEXED | number
}

/// The number of an unindexed event. None: the event belongs to the catalogue.
pub fn unindexed_number(event: u64) -> Option<u64> {
    (event & UNINDEXED != 0 && title_session(event).is_none() && !is_name_event(event))
        .then_some(event & !UNINDEXED)
}
