//! Why an edit is refused or failed.
//!
//! Does not know exit codes or protocols.

use crate::edit::Place;
use crate::interrupted::Interrupted;
use std::io::{Error as IoError, ErrorKind};

fn count_places(places: &[Place]) -> String {
    if places.len() == 1 { "1 place".to_owned() } else { format!("{} places", places.len()) }
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("`{0}` is not a name in {1}")]
    NotAName(String, &'static str),
    #[error("`{0}` is already its name")]
    SameName(String),
    /// What was asked for cannot be done, and what can be typed instead.
    #[error("{message}")]
    Invalid { message: String, hint: String },
    #[error("no declaration of `{0}` found at that place")]
    NotFound(String),
    #[error("`{name}` already means something in {} of the changed places", .places.len())]
    Captured { name: String, places: Vec<Place> },
    #[error("`{name}` may implement a member that is declared outside of this tree")]
    DeclaredOutside { name: String, places: Vec<Place> },
    #[error("the edit would leave text that does not parse")]
    Broken { places: Vec<Place> },
    #[error("{} still use{} `{name}`", count_places(.places), if .places.len() == 1 { "s" } else { "" })]
    StillUsed { name: String, places: Vec<Place> },
    #[error("{} {} uncertain", count_places(.0), if .0.len() == 1 { "is" } else { "are" })]
    Incomplete(Vec<Place>),
    #[error("the compiler reports {} new errors", .0.len())]
    NewErrors(Vec<Place>),
    #[error("two edits change the same text")]
    Overlap(Vec<Place>),
    /// In a batch: which of its steps is refused.
    #[error("step {number}: {error}")]
    InStep { number: usize, error: Box<EditError> },
    #[error("generated file: {0}")]
    Generated(String),
    #[error("`{0}` has no body")]
    NoBody(String),
    #[error("the edit changes nothing")]
    NoChange,
    #[error("changed since the edit was planned: {}", .0.join(", "))]
    Changed(Vec<String>),
    /// An edit that is named is finished or rolled back first.
    #[error("{0}")]
    Interrupted(Box<Interrupted>),
    #[error("edit `{}` cannot be finished: changed since: {}", .way_out.id, .paths.join(", "))]
    CannotFinish { paths: Vec<String>, way_out: Box<Interrupted> },
    #[error("read-only file: {0}")]
    ReadOnly(String),
    #[error("{0} is a link, or has several names")]
    Linked(String),
    #[error("{0} cannot be written in its own encoding")]
    Encoding(String),
    #[error("outside of the tree: {0}")]
    Outside(String),
    #[error("another edit of this tree is being applied")]
    Busy,
    #[error("no edit with ID `{0}`")]
    NoSuchEdit(String),
    #[error("edit `{0}` is not applied")]
    NotApplied(String),
    #[error("edit `{0}` has already been applied")]
    AlreadyApplied(String),
    #[error("{path}: {error}")]
    Io { path: String, error: IoError },
    #[error("rolled back: {path}: {error}")]
    RolledBack { path: String, error: IoError },
    #[error("{error}; not rolled back: {}", .paths.join(", "))]
    NotRolledBack { paths: Vec<String>, error: IoError },
    /// Only under test: the process would have been killed here.
    #[error("stopped by a fault")]
    Killed,
}

impl EditError {
    pub(crate) fn io(path: impl Into<String>, error: IoError) -> EditError {
        EditError::Io { path: path.into(), error }
    }

    pub(crate) fn in_step(number: usize, error: EditError) -> EditError {
        EditError::InStep { number, error: Box::new(error) }
    }

    pub(crate) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> EditError {
        EditError::Invalid { message: message.into(), hint: hint.into() }
    }

    /// What can be typed instead; empty if nothing is known.
    pub fn hint(&self) -> &str {
        match self {
            EditError::Invalid { hint, .. } => hint,
            EditError::InStep { error, .. } => error.hint(),
            _ => "",
        }
    }

    /// A stable word for each kind of refusal.
    pub fn reason(&self) -> &'static str {
        match self {
            EditError::NotAName(..) | EditError::SameName(_) | EditError::Invalid { .. } => "bad-name",
            EditError::NotFound(_) | EditError::NoSuchEdit(_) | EditError::NoBody(_) => "not-found",
            EditError::Captured { .. } => "captured",
            EditError::DeclaredOutside { .. } => "declared-outside",
            EditError::Broken { .. } => "broken-syntax",
            EditError::StillUsed { .. } => "still-used",
            EditError::Incomplete(_) => "incomplete",
            EditError::NewErrors(_) => "new-errors",
            EditError::Overlap(_) => "overlap",
            EditError::InStep { error, .. } => error.reason(),
            EditError::Generated(_) => "generated",
            EditError::NoChange => "no-change",
            EditError::Changed(_) | EditError::CannotFinish { .. } => "changed",
            EditError::Interrupted(_) => "interrupted",
            EditError::ReadOnly(_) | EditError::Linked(_) | EditError::Outside(_) => "not-writable",
            EditError::Encoding(_) => "encoding",
            EditError::Busy => "busy",
            EditError::NotApplied(_) | EditError::AlreadyApplied(_) => "wrong-state",
            EditError::Io { error, .. }
            | EditError::RolledBack { error, .. }
            | EditError::NotRolledBack { error, .. }
                if error.kind() == ErrorKind::StorageFull =>
            {
                "disk-full"
            }
            EditError::Io { .. }
            | EditError::RolledBack { .. }
            | EditError::NotRolledBack { .. }
            | EditError::Killed => "io",
        }
    }

    /// The places that the refusal is about.
    pub fn places(&self) -> &[Place] {
        match self {
            EditError::Captured { places, .. }
            | EditError::DeclaredOutside { places, .. }
            | EditError::Broken { places }
            | EditError::StillUsed { places, .. }
            | EditError::NewErrors(places)
            | EditError::Overlap(places)
            | EditError::Incomplete(places) => places,
            EditError::InStep { error, .. } => error.places(),
            _ => &[],
        }
    }
}
