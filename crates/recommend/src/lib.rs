//! Decides whether a prompt refers back to an earlier session, and how sure a match is.
//!
//! [`cue`] reads an explicit reference out of a prompt, [`signs`] finds what else suggests one, [`rank`] compares the sessions that a search found for it, [`confidence`] turns the
//! evidence into a probability, and [`cards`] stores which suggestions a session was shown.
//!
//! Does not search, read transcripts or open databases: the caller provides the hits and their sessions.

pub mod cards;
pub mod chinese;
pub mod confidence;
pub mod cue;
mod english;
pub mod identifier;
pub mod rank;
pub mod reference;
pub mod signs;
mod words;
