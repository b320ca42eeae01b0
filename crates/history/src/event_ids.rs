//! The numbers under which the text index knows events, titles, given names and what it does not contain yet.
//!
//! Does not know what was said in any of them.

/// Titles are found like messages; their numbers lie beyond those of all events.
const TITLES: u64 = 1 << 62;

pub(crate) fn title_event(session: u32) -> u64 {
    TITLES | u64::from(session)
}

/// The session whose title an event is.
pub fn titled(event: u64) -> Option<u32> {
    (event & (TITLES | NAMES) == TITLES).then_some(event as u32)
}

/// What memory calls a conversation is in no transcript and in no index: it is handed in with each question.
const NAMES: u64 = 1 << 60;

pub fn name_event(chat: u32) -> u64 {
    TITLES | NAMES | u64::from(chat)
}

pub fn is_name(event: u64) -> bool {
    event & (TITLES | NAMES) == TITLES | NAMES
}

/// What the index does not contain yet is numbered apart from the catalogue's events.
const UNINDEXED: u64 = 1 << 61;

pub(crate) fn unindexed_event(number: u64) -> u64 {
    UNINDEXED | number
}

/// The number of an event that the index does not contain yet. None: the event is the catalogue's.
pub fn unindexed(event: u64) -> Option<u64> {
    (event & UNINDEXED != 0 && titled(event).is_none() && !is_name(event)).then_some(event & !UNINDEXED)
}
