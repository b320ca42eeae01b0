//! Opens what belongs to the edits of a tree: its plans, what was applied, and whether a person trusts it.
//!
//! Does not know any edit.

use super::code_query::resolve_root;
use super::tree;
use crate::Service;
use api::{Code, Error};
use edits::{EditError, Workbench};
use history::home::Home;
use std::path::{Path, PathBuf};

pub(crate) fn open_bench(service: &Service, root: Option<&String>) -> Result<(PathBuf, Workbench), Error> {
    let root = resolve_root(service, root)?;
    let home = service.home().ok_or_else(|| Error::new(Code::NotFound, "HOME is not set"))?;
    let folder = edits_folder(&home, &root);
    history::home::create_private_dir(&folder).map_err(|error| history::home::unwritable(&folder, &error))?;
    let bench = Workbench::open(&root, &folder).map_err(|error| to_error(&error))?;
    Ok((root, bench))
}

/// The folder of the plans and applied edits of a tree.
pub(crate) fn edits_folder(home: &Home, root: &Path) -> PathBuf {
    home.edits().join(tree::tree_name(root).to_string())
}

/// How many places an error lists.
const PLACES_IN_ERROR: usize = 20;

pub(crate) fn to_error(error: &EditError) -> Error {
    let code = match error.reason() {
        "bad-name" => Code::InvalidArgument,
        "not-found" => Code::NotFound,
        "busy" => Code::WriterBusy,
        "io" => Code::ReadError,
        _ => Code::EditRefused,
    };
    let places = error.places().iter().take(PLACES_IN_ERROR);
    let refused = Error::new(code, error.to_string());
    let refused = if error.hint().is_empty() { refused } else { refused.hint(error.hint()) };
    places.fold(refused, |refused, place| {
        refused.hint(format!("{}:{}: {}: {}", place.file, place.line, place.reason, place.text))
    })
}
