//! The ledger of what was asked of models: opened to read or to write, and how a session is named in it.
//!
//! Does not ask anything, and does not know which model is configured.

use crate::Service;
use api::{Code, Error};
use history::error::homeless;
use history::home::{self, Home};
use llm::Ledger;

/// To write receipts into; made if there is none.
pub(crate) fn open(service: &Service) -> Result<Ledger, Error> {
    let home = service.home().ok_or_else(homeless)?;
    home::make(&home.data).map_err(|error| home::unwritable(&home.data, &error))?;
    Ledger::open(&home.ledger()).map_err(|error| told(&error))
}

/// To read. None: nothing was ever asked.
pub(crate) fn look(service: &Service) -> Option<Ledger> {
    Ledger::look(&service.home()?.ledger())
}

pub(crate) fn told(error: &llm::Error) -> Error {
    Error::new(Code::ReadError, error.to_string())
        .hint("what was asked of models is kept in ledger.db below XDG_DATA_HOME, which must be writable to ask more")
}

/// Takes sessions out of the ledger; what they cost stays.
pub(crate) fn forget(home: &Home, doomed: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    if !home.ledger().exists() {
        return Ok(());
    }
    let mut ledger = Ledger::open(&home.ledger()).map_err(|error| told(&error))?;
    let is_doomed = |about: &str| {
        let (source, session_id) = session_of(about);
        doomed(source, session_id)
    };
    ledger.forget(&is_doomed).map(|_| ()).map_err(|error| told(&error))
}

/// How a session is named in the ledger, and back.
pub(crate) fn about(source: &str, session_id: &str) -> String {
    format!("{source} {session_id}")
}

pub(crate) fn session_of(about: &str) -> (&str, &str) {
    about.split_once(' ').unwrap_or(("", about))
}
