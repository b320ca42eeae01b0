//! What Loci remembers of sessions: what they are called, what they were about, what was decided in them; and what a person
//! may do about it.
//!
//! Does not know how a name is made, or where it is kept.

mod change;
mod document;
mod list;

pub use change::{
    ACCEPT, AcceptMemory, EDIT, EditMemory, FORGET, ForgetMemory, MemoryChanged, MemoryForgotten, PIN,
    PinMemory, RETIRE, RetireMemory,
};
pub use document::{
    EXPORT, ExportMemory, FORMAT, IMPORT, ImportMemory, KeptEvidence, KeptFact, KeptSession, KeptTag,
    KeptWords, MemoryDocument, MemoryImported, VERSION,
};
pub use list::{LIST, ListMemory, Memories, MemoryLine, MemoryShown, Quote, SHOW, STATES, ShowMemory};

use crate::costs::ModelRun;
use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::{PROJECT, SINCE, is_time, param};
use crate::schema::properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAMED: &str = "A session's id or the beginning of it, or a fact's: 975e66ab, f-3b21";

const ONE: Option<Words> = Some(Words { value: "ID", about: NAMED, into: &["id"], number: Number::One });

fn is_named(id: &str, operation: &Operation) -> Result<(), Error> {
    if id.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "of what? An id is missing").hint(operation.example));
    }
    Ok(())
}

pub const CONSOLIDATE: Operation = Operation {
    name: "consolidate",
    command: "memory consolidate",
    about: "Give every session a name, tags and a summary, and keep what was decided in it",
    answer: "how many sessions were named, changed and left as they were; then those that changed, by their start",
    example: "loci memory consolidate --since 7d --dry-run",
    words: Some(Words {
        value: "SESSION",
        about: "Only these sessions: their ids, or the beginnings of them",
        into: &["chat_ids"],
        number: Number::Several,
    }),
    params: &[
        param("chat_ids", Shape::List, "IDS", "Only these sessions: their ids, or the beginnings of them"),
        PROJECT,
        SINCE,
        param("limit", Shape::Count, "N", "At most this many sessions, the latest first [default: all]"),
        param("no_model", Shape::Flag, "", "Ask no model, even if one is configured"),
        param(
            "dry_run",
            Shape::Flag,
            "",
            "Only say what would be remembered, and what a model would be asked",
        ),
        param(
            "payload",
            Shape::Flag,
            "",
            "With dry_run: show what would be sent to the model, as it would be",
        ),
    ],
    required: &[],
    shapes: properties::<Consolidate>,
    handy: &[],
    read_only: false,
    rows: &["sessions"],
    stats: &["source", "project"],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Consolidate {
    pub chat_ids: Vec<String>,
    pub project: Option<String>,
    pub since: Option<String>,
    pub limit: Option<u64>,
    pub no_model: bool,
    pub dry_run: bool,
    pub payload: bool,
}

impl Consolidate {
    /// Whether no session is left out.
    pub fn is_of_everything(&self) -> bool {
        *self == Consolidate { no_model: self.no_model, ..Consolidate::default() }
    }
}

impl Request for Consolidate {
    const OPERATION: &'static Operation = &CONSOLIDATE;
    type Response = Consolidated;

    fn check(&self) -> Result<(), Error> {
        self.chat_ids.iter().try_for_each(|id| is_named(id, &CONSOLIDATE))?;
        if self.limit == Some(0) {
            return Err(Error::new(Code::InvalidArgument, "`limit` is 0, so there is nothing to do")
                .hint(CONSOLIDATE.example));
        }
        if self.payload && !self.dry_run {
            return Err(Error::new(
                Code::InvalidArgument,
                "`payload` shows what would be sent, so it needs --dry-run",
            )
            .hint("loci memory consolidate --dry-run --payload"));
        }
        is_time("since", self.since.as_deref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Consolidated {
    /// Sessions of which nothing was remembered before.
    pub named: u64,
    /// Sessions of which something else is remembered now.
    pub changed: u64,
    /// Sessions that are remembered as they are.
    pub unchanged: u64,
    /// Sessions of which a person wants nothing remembered.
    pub forgotten: u64,
    /// Facts that are new.
    pub facts: u64,
    /// Of them those that a person has to look at first.
    pub in_review: u64,
    /// Messages and calls that could not be read.
    pub unread: u64,
    /// Those that were named or changed, by their start.
    pub sessions: Vec<SessionNamed>,
    /// What the configured model was asked; none where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRun>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for Consolidated {
    /// No session to derive memory from.
    fn is_empty(&self) -> bool {
        self.named + self.changed + self.unchanged + self.forgotten + self.facts == 0
    }

    fn is_incomplete(&self) -> bool {
        self.unread > 0 || self.model.as_ref().is_some_and(ModelRun::fell_short)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionNamed {
    pub chat_id: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub name: String,
    /// Who gave the name: derived, host, model, renamed or person.
    pub named_by: String,
    pub tags: Vec<String>,
    pub facts: u64,
}
