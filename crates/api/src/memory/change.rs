//! Changes to memory by a person: add, edit, pin, retire, accept and forget.
//!
//! Does not know the caller: every change here counts as made by a person.

use super::{MemoryLine, NAMED, ONE, check_id};
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const ADD: Operation = Operation {
    name: "add_memory",
    command: "memory add",
    about: "Add a fact in your own words",
    answer: "the added fact",
    example: "loci memory add 'Deploy only from main' --project . --pin",
    words: Some(Positional { value: "TEXT", about: TEXT, into: &["text"], number: Number::One }),
    params: &[
        param("text", Shape::Text, "TEXT", TEXT),
        param(
            "project",
            Shape::Text,
            "PATH",
            "Project directory it applies to [default: the current directory]",
        ),
        param("pin", Shape::Flag, "", "Pin it to the top of the list"),
    ],
    required: &["text"],
    shapes: schema_properties::<AddMemory>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

const TEXT: &str = "The fact, in one or a few sentences";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AddMemory {
    pub text: String,
    pub project: Option<String>,
    pub pin: bool,
}

impl Request for AddMemory {
    const OPERATION: &'static Operation = &ADD;
    type Response = MemoryChanged;

    fn check_params(&self) -> Result<(), Error> {
        check_texts(&[&self.text], &ADD)
    }
}

/// Rejects empty and overlong texts.
fn check_texts(texts: &[&String], operation: &Operation) -> Result<(), Error> {
    let invalid = |message: &str| Err(Error::new(Code::InvalidArgument, message).hint(operation.example));
    if texts.iter().any(|text| text.trim().is_empty()) {
        return invalid("empty text or tag");
    }
    if texts.iter().any(|text| text.chars().count() > LONGEST) {
        return invalid("a text is longer than 2,000 characters");
    }
    Ok(())
}

pub const EDIT: Operation = Operation {
    name: "edit_memory",
    command: "memory edit",
    about: "Edit the name, summary, tags or text of a memory (`loci memory consolidate` keeps your edits)",
    answer: "the changed memory",
    example: "loci memory edit 975e66ab --name 'Pager rewrite' --add-tag pager",
    words: ONE,
    params: &[
        param("id", Shape::Text, "ID", NAMED),
        param("name", Shape::Text, "TEXT", "New name of the session"),
        param("summary", Shape::Text, "TEXT", "New summary of the session"),
        param("text", Shape::Text, "TEXT", "New text of the fact"),
        param("add_tag", Shape::List, "TAGS", "Tags to add to the session"),
        param("remove_tag", Shape::List, "TAGS", "Tags to remove from the session permanently"),
    ],
    required: &["id"],
    shapes: schema_properties::<EditMemory>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EditMemory {
    pub id: String,
    pub name: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub add_tag: Vec<String>,
    pub remove_tag: Vec<String>,
}

/// The maximum length of a text; a memory is a few lines, not a document.
const LONGEST: usize = 2_000;

impl Request for EditMemory {
    const OPERATION: &'static Operation = &EDIT;
    type Response = MemoryChanged;

    fn check_params(&self) -> Result<(), Error> {
        check_id(&self.id, &EDIT)?;
        let invalid = |message: &str| Err(Error::new(Code::InvalidArgument, message).hint(EDIT.example));
        let texts: Vec<&String> = [&self.name, &self.summary, &self.text].into_iter().flatten().collect();
        let tags = self.add_tag.iter().chain(&self.remove_tag);
        check_texts(&texts.iter().copied().chain(tags).collect::<Vec<_>>(), &EDIT)?;
        if texts.is_empty() && self.add_tag.is_empty() && self.remove_tag.is_empty() {
            return invalid("nothing to change: pass a name, a summary, a text or tags");
        }
        Ok(())
    }
}

const FACT: &str = "Fact, by ID or ID prefix: f-3b21";

/// Operations whose only parameter is the ID of a fact.
macro_rules! on_one {
    ($($name:ident = $operation:ident: $called:literal, $command:literal, $about:literal, $answer:literal, $example:literal;)*) => {$(
        pub const $operation: Operation = Operation {
            name: $called,
            command: $command,
            about: $about,
            answer: $answer,
            example: $example,
            words: Some(Positional { value: "ID", about: FACT, into: &["id"], number: Number::One }),
            params: &[param("id", Shape::Text, "ID", FACT)],
            required: &["id"],
            shapes: schema_properties::<$name>,
            handy: &[],
            read_only: false,
            rows: &[],
            stats: &[],
        };

        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            pub id: String,
        }

        impl Request for $name {
            const OPERATION: &'static Operation = &$operation;
            type Response = MemoryChanged;

            fn check_params(&self) -> Result<(), Error> {
                check_id(&self.id, &$operation)
            }
        }
    )*};
}

on_one! {
    RetireMemory = RETIRE: "retire_memory", "memory retire", "Retire a fact (it stays stored, but is hidden by default)",
        "the changed fact", "loci memory retire f-3b21";
    AcceptMemory = ACCEPT: "accept_memory", "memory accept",
        "Accept a pending, retired or stale fact", "the changed fact", "loci memory accept f-3b21";
}

pub const PIN: Operation = Operation {
    name: "pin_memory",
    command: "memory pin",
    about: "Pin a session or fact to the top of the list, or unpin it",
    answer: "the changed memory",
    example: "loci memory pin f-3b21 --off",
    words: ONE,
    params: &[
        param("id", Shape::Text, "ID", NAMED),
        param("off", Shape::Flag, "", "Unpin instead of pinning"),
    ],
    required: &["id"],
    shapes: schema_properties::<PinMemory>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PinMemory {
    pub id: String,
    pub off: bool,
}

impl Request for PinMemory {
    const OPERATION: &'static Operation = &PIN;
    type Response = MemoryChanged;

    fn check_params(&self) -> Result<(), Error> {
        check_id(&self.id, &PIN)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryChanged {
    pub memory: MemoryLine,
    /// Whether the memory changed.
    pub changed: bool,
}

impl Response for MemoryChanged {}

// ---- forgetting

pub const FORGET: Operation = Operation {
    name: "forget_memory",
    command: "memory forget",
    about: "Permanently delete facts, or the memory of sessions (the sessions are kept)",
    answer: "the memories that were forgotten, or would be with --dry-run",
    example: "loci memory forget f-3b21 --dry-run",
    words: Some(Positional { value: "ID", about: NAMED, into: &["ids"], number: Number::Several }),
    params: &[
        param("ids", Shape::List, "IDS", NAMED),
        param("dry_run", Shape::Flag, "", "Show what would be forgotten"),
    ],
    required: &["ids"],
    shapes: schema_properties::<ForgetMemory>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForgetMemory {
    pub ids: Vec<String>,
    pub dry_run: bool,
}

impl Request for ForgetMemory {
    const OPERATION: &'static Operation = &FORGET;
    type Response = MemoryForgotten;

    fn check_params(&self) -> Result<(), Error> {
        if self.ids.is_empty() {
            return check_id("", &FORGET);
        }
        self.ids.iter().try_for_each(|id| check_id(id, &FORGET))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryForgotten {
    pub memories: Vec<MemoryLine>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for MemoryForgotten {
    fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }
}
