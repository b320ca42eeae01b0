//! Notes about types that a model writes: which are wanted, what that would cost, and what became of each.
//!
//! Does not say what a note should hold, and shows none: that is `get_semantic`.

use super::pack::FILTER;
use super::{Coverage, NAMED, ROOT, TypeRef};
use crate::costs::ModelRun;
use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::param;
use crate::schema::properties;
use crate::search::is_false;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NOTES: Operation = Operation {
    name: "write_notes",
    command: "code notes",
    about: "Have the model that you configured write the notes about types that wait for one, or say what that would cost",
    answer: "one line for each note, the most urgent first: what became of it, and what was asked of the model in all",
    example: "loci code notes NodeStore --dry-run --payload",
    words: Some(Words { value: "NAME", about: NAMED, into: &["path"], number: Number::One }),
    params: &[
        param("path", Shape::Text, "NAME", NAMED),
        FILTER,
        param(
            "limit",
            Shape::Count,
            "N",
            "At most this many notes [default: as many as `model.jobs_per_run`]",
        ),
        param("dry_run", Shape::Flag, "", "Only say which would be written, and what that can cost"),
        param("payload", Shape::Flag, "", "With --dry-run: show the very text that would be sent"),
        ROOT,
    ],
    required: &[],
    shapes: properties::<WriteNotes>,
    handy: &[],
    read_only: false,
    rows: &["notes"],
    stats: &["outcome"],
};

/// Without a path or a filter: what was asked for, and what is out of date.
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

    fn check(&self) -> Result<(), Error> {
        let wrong = |message: &str, hint: &str| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.path.is_some() && self.filter.is_some() {
            return wrong("a name and a filter at once", "give one of them");
        }
        if self.path.as_deref().is_some_and(|path| path.trim().is_empty()) {
            return wrong("of what? A name is empty", NOTES.example);
        }
        if self.limit == Some(0) {
            return wrong("a limit of 0 notes writes nothing", "--dry-run only says what would be written");
        }
        if self.payload && !self.dry_run {
            return wrong("--payload shows what would be sent, without sending it", "--dry-run --payload");
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
        self.model.fell_short()
    }
}

/// What became of one note.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NoteLine {
    /// One type, or all that hold each other in a circle.
    pub types: Vec<TypeRef>,
    /// Where the note lies, or would lie, from the root of the tree.
    pub path: String,
    /// `planned`, `written`, `updated`, `unchanged` (the change means nothing to it), `outdated` (the type changed while it was
    /// written), `kept` (a person wrote or edited it), `failed` or `waiting`.
    pub outcome: String,
    /// What the change since the last note means; none for a first note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_class: Option<String>,
    /// The sections that are new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// At most, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Why it failed, waits or is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
