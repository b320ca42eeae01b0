//! Opens what belongs to the edits of a tree: its plans, what was applied, whether a person trusts it, and how long its programs may
//! run.
//!
//! Does not know any edit.

use super::code_query::resolve_root;
use super::tree::edits_folder;
use crate::Service;
use crate::operations::interrupted_edits::describe;
use api::{Code, Error};
use edits::{EditError, Workbench};
use std::path::PathBuf;
use std::time::Duration;

pub(crate) fn open_bench(service: &Service, root: Option<&String>) -> Result<(PathBuf, Workbench), Error> {
    let root = resolve_root(service, root)?;
    let home = service.home().ok_or_else(|| Error::new(Code::NotFound, "HOME is not set"))?;
    let folder = edits_folder(&home, &root);
    history::home::create_private_dir(&folder).map_err(|error| history::home::unwritable(&folder, &error))?;
    let bench = Workbench::open(&root, &folder);
    Ok((root, bench))
}

/// The time after which a program of a tree is ended, from a variable with seconds.
pub(crate) fn read_deadline(service: &Service, variable: &str, default: u64) -> Result<Duration, Error> {
    let set = crate::env::text_var(&service.places, variable).unwrap_or_else(|| default.to_string());
    let seconds = set.parse().ok().filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("{variable}: `{set}` is not a number of seconds"))
            .hint(format!("{variable}={default} is the default"))
    })
}

/// How many places an error lists.
const PLACES_IN_ERROR: usize = 20;

/// An edit that a crash left half written comes with both ways out.
pub(crate) fn to_error(service: &Service, error: &EditError) -> Error {
    match error {
        EditError::Interrupted(edit) => {
            let edit = describe(service, edit);
            to_plain_error(error)
                .hint(format!("{} finishes it", edit.finish))
                .hint(format!("{} rolls it back", edit.roll_back))
        }
        EditError::CannotFinish { way_out, .. } => {
            let edit = describe(service, way_out);
            to_plain_error(error).hint(format!("{} rolls back its other files", edit.roll_back))
        }
        _ => to_plain_error(error),
    }
}

pub(crate) fn to_plain_error(error: &EditError) -> Error {
    let code = match error.reason() {
        "bad-name" => Code::InvalidArgument,
        "not-found" => Code::NotFound,
        "busy" => Code::WriterBusy,
        "disk-full" => Code::DiskFull,
        "io" => Code::ReadError,
        _ => Code::EditRefused,
    };
    let places = error.places().iter().take(PLACES_IN_ERROR);
    let refused = Error::new(code, error.to_string());
    let refused = if error.hint().is_empty() { refused } else { refused.hint(error.hint()) };
    let refused = places.fold(refused, |refused, place| {
        refused.hint(format!("{}:{}: {}: {}", place.file, place.line, place.reason, place.text))
    });
    match error.places().len().saturating_sub(PLACES_IN_ERROR) {
        0 => refused,
        left => refused.hint(format!("and {left} more places")),
    }
}
