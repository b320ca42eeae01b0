//! Notes about types, written by a model: which are due, what they would cost, and the outcome of each.
//!
//! Does not define the content of a note and does not show notes: that is `get_semantic`.

use super::pack::FILTER;
use super::{Coverage, NAMED, ROOT, TypeRef};
use crate::costs::ModelRun;
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::search::is_false;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NOTES: Operation = Operation {
    name: "write_notes",
    command: "code notes",
    about: "Write requested and stale notes about types with the configured model",
    answer: "one line per note with its outcome, most urgent first, and the totals of the model calls",
    example: "loci code notes NodeStore --dry-run --payload",
    words: Some(Positional { value: "NAME", about: NAMED, into: &["path"], number: Number::One }),
    params: &[
        param("path", Shape::Text, "NAME", NAMED),
        FILTER,
        param(
            "limit",
            Shape::Count,
            "N",
            "Maximum number of notes [default: the setting model.jobs_per_run]",
        ),
        param("dry_run", Shape::Flag, "", "Show which notes would be written, and the maximum cost"),
        param(
            "payload",
            Shape::Flag,
            "",
            "With --dry-run: show the exact text that would be sent to the model",
        ),
        ROOT,
    ],
    required: &[],
    shapes: schema_properties::<WriteNotes>,
    handy: &[],
    read_only: false,
    rows: &["notes"],
    stats: &["outcome"],
};

/// Without a path or a filter: requested and stale notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WriteNotes {
    pub path: Option<String>,
    pub filter: Option<String>,
    pub limit: Option<u64>,
    pub dry_run: bool,
    pub payload: bool,
    pub root: Option<String>,
}

impl Request for WriteNotes {
    const OPERATION: &'static Operation = &NOTES;
    type Response = NotesWritten;

    fn check_params(&self) -> Result<(), Error> {
        let wrong = |message: &str, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.path.is_some() && self.filter.is_some() {
            return wrong("a name and a filter cannot be combined", "use one of them");
        }
        if self.path.as_deref().is_some_and(|path| path.trim().is_empty()) {
            return wrong("empty name", NOTES.example);
        }
        if self.limit == Some(0) {
            return wrong("`limit` must be at least 1", "--dry-run shows what would be written");
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
