//! The memory as the rest of Loci sees it: opened to read or to write, its troubles in the user's words, and what must go with a
//! session that is forgotten.
//!
//! Does not make memories: that is `ops/memory`.

use crate::Service;
use api::{Code, Error};
use history::error::homeless;
use history::home::{self, Home};
use memory::Store;
use std::collections::BTreeSet;
use std::path::Path;

/// Opened for writing; made if there is none.
pub(crate) fn open(service: &Service) -> Result<Store, Error> {
    let home = service.home().ok_or_else(homeless)?;
    home::make(&home.data).map_err(|error| home::unwritable(&home.data, &error))?;
    Store::open(&home.memory()).map_err(|error| told(&error))
}

/// Opened to read. None: nothing was ever remembered.
pub(crate) fn look(service: &Service) -> Result<Option<Store>, Error> {
    let Some(home) = service.home() else { return Ok(None) };
    Store::look(&home.memory()).map_err(|error| told(&error))
}

pub(crate) fn told(error: &memory::Error) -> Error {
    match error {
        memory::Error::Full(path) => home::full(path),
        memory::Error::Newer(_) => {
            Error::new(Code::ReadError, error.to_string()).hint("a newer Loci reads it: update this one")
        }
        memory::Error::Damaged { path, .. } => Error::new(Code::ReadError, error.to_string()).hint(format!(
            "put {} aside and import your last `loci memory export`, or let `loci memory consolidate` begin anew",
            path.display()
        )),
        // Where not even its log finds room, SQLite only says that writing failed.
        memory::Error::Failed { path, .. } if is_full(path) => home::full(path),
        memory::Error::Failed { .. } => Error::new(Code::ReadError, error.to_string())
            .hint("Loci keeps its memory below XDG_DATA_HOME, which must be writable to change it"),
    }
}

/// Whether there is no room for another page or two where a file lies.
fn is_full(path: &Path) -> bool {
    let room = path.parent().and_then(home::free_bytes);
    room.is_some_and(|bytes| bytes < 64 << 10)
}

/// Sessions of which a model has said what it had to say, and it is remembered.
pub(crate) fn heard(service: &Service) -> Result<BTreeSet<(String, String)>, Error> {
    let Some(store) = look(service)? else { return Ok(BTreeSet::new()) };
    let known = store.made_from().map_err(|error| told(&error))?;
    let heard = known.into_iter().filter(|(_, (ended, seen))| seen.is_some() && seen >= ended);
    Ok(heard.map(|(name, _)| name).collect())
}

/// Takes sessions out of memory, with the facts that stand nowhere else, so that not a byte of them is left.
pub(crate) fn forget(home: &Home, doomed: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    if !home.memory().exists() {
        return Ok(());
    }
    let mut store = Store::open(&home.memory()).map_err(|error| told(&error))?;
    if store.forget_all(doomed).map_err(|error| told(&error))? > 0 {
        store.purge().map_err(|error| told(&error))?;
    }
    Ok(())
}
