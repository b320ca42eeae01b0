//! Opens the memory database for reading or writing, converts its errors, and removes forgotten sessions from it.
//!
//! Does not derive memory: that is `operations/memory`.

use crate::Service;
use api::{Code, Error};
use history::error::{newer_store, no_home};
use history::home::{self, Home};
use memory::Store;
use std::collections::BTreeSet;

/// Opens memory for writing, creating it if needed.
pub(crate) fn open(service: &Service) -> Result<Store, Error> {
    let home = service.home().ok_or_else(no_home)?;
    home::create_private_dir(&home.data).map_err(|error| home::unwritable(&home.data, &error))?;
    Store::open(&home.memory()).map_err(|error| store_error(&error))
}

/// Opens memory for reading. None: memory has never been written.
pub(crate) fn open_existing(service: &Service) -> Result<Option<Store>, Error> {
    let Some(home) = service.home() else { return Ok(None) };
    Store::open_read_only(&home.memory()).map_err(|error| store_error(&error))
}

/// Opens memory for a run that writes; a dry run writes to a copy in memory.
pub(crate) fn open_for_run(service: &Service, dry_run: bool) -> Result<Store, Error> {
    if !dry_run {
        return open(service);
    }
    Store::copy_in_memory(open_existing(service)?.as_ref()).map_err(|error| store_error(&error))
}

pub(crate) fn store_error(error: &memory::Error) -> Error {
    match error {
        memory::Error::Full(path) => home::disk_full(path),
        memory::Error::Newer(_) => newer_store(error),
        memory::Error::Damaged { path, .. } => Error::new(Code::ReadError, error.to_string()).hint(format!(
            "move {} away and import your last `loci memory export`, or rebuild it with `loci memory consolidate`",
            path.display()
        )),
        memory::Error::Failed { .. } => Error::new(Code::ReadError, error.to_string())
            .hint("memory is stored below XDG_DATA_HOME, which must be writable to change it"),
    }
}

/// Sessions whose model response is already in memory and covers the whole session.
pub(crate) fn covered_by_model(service: &Service) -> Result<BTreeSet<(String, String)>, Error> {
    let Some(store) = open_existing(service)? else { return Ok(BTreeSet::new()) };
    let known = store.derived_up_to().map_err(|error| store_error(&error))?;
    let covered = known.into_iter().filter(|(_, (ended, seen))| seen.is_some() && seen >= ended);
    Ok(covered.map(|(name, _)| name).collect())
}

/// Removes sessions from memory, with the facts that have no other evidence, so that no byte of them is left.
pub(crate) fn forget_sessions(home: &Home, doomed: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    if !home.memory().exists() {
        return Ok(());
    }
    let mut store = Store::open(&home.memory()).map_err(|error| store_error(&error))?;
    if store.forget_all(doomed).map_err(|error| store_error(&error))? > 0 {
        store.purge().map_err(|error| store_error(&error))?;
    }
    Ok(())
}

/// The same for what an older memory that was put back brings: opens it for writing only if there is such a session.
pub(crate) fn forget_returned_sessions(
    home: &Home,
    doomed: &dyn Fn(&str, &str) -> bool,
) -> Result<(), Error> {
    let returned = match Store::open_read_only(&home.memory()).map_err(|error| store_error(&error))? {
        Some(store) => store.list_sessions(doomed).map_err(|error| store_error(&error))?,
        None => return Ok(()),
    };
    if returned.is_empty() { Ok(()) } else { forget_sessions(home, doomed) }
}
