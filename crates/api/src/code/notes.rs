//! Notes about types, written by a model: which are due, what they would cost, and the outcome of each.
//!
//! Does not define the content of a note and does not show notes: that is `get_semantic`.

use super::{Coverage, FILTER, PATH, TypeRef};
use crate::costs::ModelRun;
use crate::operation::{Operation, Response};
use crate::params::ROOT;
use crate::search::is_false;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// Write requested and stale notes about types with the configured model
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "write_notes",
    command = "code notes",
    answer = "one line per note with its outcome, most urgent first, and the totals of the model calls",
    example = "loci code notes NodeStore --dry-run --payload",
    returns = NotesWritten,
    local,
    rows("notes"),
    stats("outcome"),
    check,
)]
pub struct WriteNotes {
    #[param(like = PATH, word)]
    pub path: Option<String>,
    #[param(like = FILTER)]
    pub filter: Option<String>,
    /// Maximum number of notes [default: the setting model.jobs_per_run]
    #[param(range = 1..=u64::MAX)]
    pub limit: Option<u64>,
    /// Show which notes would be written, and the maximum cost
    pub dry_run: bool,
    /// With --dry-run: show the exact text that would be sent to the model
    pub payload: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

impl WriteNotes {
    fn check(&self) -> Result<(), Error> {
        let wrong = |message: &str, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.path.is_some() && self.filter.is_some() {
            return wrong("a name and a filter cannot be combined", "use one of them");
        }
        if self.payload && !self.dry_run {
            return wrong("--payload needs --dry-run", "--dry-run --payload");
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotesWritten {
    pub notes: Vec<NoteLine>,
    pub model: ModelRun,
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    pub coverage: Coverage,
}

impl Response for NotesWritten {
    fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    fn is_incomplete(&self) -> bool {
        self.model.has_failed()
    }
}

/// The outcome for one note.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NoteLine {
    /// One type, or all types of a dependency cycle.
    pub types: Vec<TypeRef>,
    /// The path of the note, existing or not, relative to the root of the tree.
    pub path: String,
    /// `planned`, `written`, `updated`, `unchanged` (the change does not affect it), `outdated` (the type changed during
    /// writing), `kept` (a person wrote or edited it), `failed` or `waiting`.
    pub outcome: String,
    /// The change class since the last note; none for a first note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_class: Option<String>,
    /// The new sections.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// The maximum, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Why it failed, waits or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
