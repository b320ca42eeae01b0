//! Opens the ledger of model calls for reading or writing, and encodes session names in it.
//!
//! Does not call models, and does not know which one is configured.

use crate::Service;
use api::{Code, Error};
use history::error::{newer_store, no_home};
use history::home::{self, Home};
use llm::Ledger;

/// Opens the ledger for writing, creating it if needed.
pub(crate) fn open(service: &Service) -> Result<Ledger, Error> {
    let home = service.home().ok_or_else(no_home)?;
    home::create_private_dir(&home.data).map_err(|error| home::unwritable(&home.data, &error))?;
    Ledger::open(&home.ledger()).map_err(|error| ledger_error(&error))
}

/// Opens the ledger for reading. None: no model was ever called.
pub(crate) fn open_existing(service: &Service) -> Result<Option<Ledger>, Error> {
    let Some(home) = service.home() else { return Ok(None) };
    Ledger::open_existing(&home.ledger()).map_err(|error| ledger_error(&error))
}

pub(crate) fn ledger_error(error: &llm::Error) -> Error {
    if error.is_newer() {
        return newer_store(error);
    }
    Error::new(Code::ReadError, error.to_string())
        .hint("model calls are recorded in ledger.db below XDG_DATA_HOME, which must be writable")
}

/// Removes sessions from the ledger; their costs stay.
pub(crate) fn forget_sessions(home: &Home, doomed: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    if !home.ledger().exists() {
        return Ok(());
    }
    let mut ledger = Ledger::open(&home.ledger()).map_err(|error| ledger_error(&error))?;
    let is_doomed = |about: &str| {
        let (source, session_id) = session_of(about);
        doomed(source, session_id)
    };
    ledger.forget_subjects(&is_doomed).map(|_| ()).map_err(|error| ledger_error(&error))
}

/// The name of a session in the ledger.
pub(crate) fn session_key(source: &str, session_id: &str) -> String {
    format!("{source} {session_id}")
}

/// Splits a name in the ledger into source and session ID.
pub(crate) fn session_of(about: &str) -> (&str, &str) {
    about.split_once(' ').unwrap_or(("", about))
}
