//! The prompt window and the state that determines its content: pinned, dismissed and focused types.
//!
//! Does not know how a window is filled.

use super::pack::{BUDGET, check_budget, check_pack_name};
use super::{Coverage, ONE, ROOT, TypeRef, about_one, path_param};
use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::search::is_false;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const WINDOW: Operation = Operation {
    name: "get_prompt_window",
    command: "code window",
    about: "Show the prompt window: outlines of pinned, focused and recent types, within a token budget",
    answer: "the window as text, its types by region (pinned, focus, recent), its token count, and the pinned \
             types that did not fit",
    example: "loci code window --budget 4000",
    words: None,
    params: &[
        param("budget", Shape::Count, "TOKENS", "Maximum number of tokens [default: 8000]"),
        param("pack", Shape::Text, "NAME", "Prefer types of this pack among the recent ones"),
        ROOT,
    ],
    required: &[],
    shapes: schema_properties::<GetPromptWindow>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GetPromptWindow {
    pub budget: u64,
    pub pack: Option<String>,
    pub root: Option<String>,
}

impl Default for GetPromptWindow {
    fn default() -> GetPromptWindow {
        GetPromptWindow { budget: BUDGET, pack: None, root: None }
    }
}

impl Request for GetPromptWindow {
    const OPERATION: &'static Operation = &WINDOW;
    type Response = PromptWindow;

    fn check_params(&self) -> Result<(), Error> {
        self.pack.as_deref().map_or(Ok(()), check_pack_name)?;
        check_budget(self.budget)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptWindow {
    pub window: String,
    pub tokens: u64,
    pub budget: u64,
    pub shown: Vec<WindowEntry>,
    /// Pinned types that did not fit.
    pub left_out: Vec<TypeRef>,
    /// Its path relative to the root of the tree; none if the tree has no `.loci` directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The content of the file changed.
    #[serde(skip_serializing_if = "is_false")]
    pub changed: bool,
    pub coverage: Coverage,
}

impl Response for PromptWindow {
    fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WindowEntry {
    pub path: String,
    pub type_id: String,
    /// `Pinned`, `Focus` or `Recent`.
    pub region: String,
}

// ---- pinned and dismissed types

pub const PIN: Operation = Operation {
    name: "pin",
    command: "code pin",
    about: "Pin a type in the prompt window",
    answer: "the type, whether anything changed, and all pinned types",
    example: "loci code pin NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: schema_properties::<Pin>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const UNPIN: Operation = Operation {
    name: "unpin",
    command: "code unpin",
    about: "Unpin a type",
    answer: "the type, whether anything changed, and the types still pinned",
    example: "loci code unpin NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: schema_properties::<Unpin>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const DISMISS: Operation = Operation {
    name: "dismiss",
    command: "code dismiss",
    about: "Hide a type from the prompt window until it is requested again",
    answer: "the type, whether anything changed, and all pinned types",
    example: "loci code dismiss NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: schema_properties::<Dismiss>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

about_one! {
    Pin = PIN -> PinResult;
    Unpin = UNPIN -> PinResult;
    Dismiss = DISMISS -> PinResult;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PinResult {
    pub resolved: TypeRef,
    pub changed: bool,
    pub pinned: Vec<TypeRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for PinResult {}

// ---- focused types

const ACTIONS: &[&str] = &["add", "clear", "list"];
/// How long a type stays in focus by default.
const MINUTES: u64 = 30;
const A_WEEK: u64 = 7 * 24 * 60;

pub const CONTEXT: Operation = Operation {
    name: "code_context",
    command: "code context",
    about: "Add, clear or list the focused types of the prompt window",
    answer: "focused types by name, with their expiry",
    example: "loci code context add NodeStore --minutes 60",
    words: Some(Positional {
        value: "ACTION NAME",
        about: "add NAME, clear or list",
        into: &["action", "path"],
        number: Number::InTurn,
    }),
    params: &[
        param("action", Shape::Choice(ACTIONS), "ACTION", "What to do with the focused types"),
        param("path", Shape::Text, "NAME", "Type to add, by name or name suffix"),
        param("minutes", Shape::Count, "N", "Minutes until the added type expires [default: 30]"),
        ROOT,
    ],
    required: &["action"],
    shapes: schema_properties::<CodeContext>,
    handy: &[],
    read_only: false,
    rows: &["context"],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodeContext {
    pub action: String,
    pub path: String,
    pub minutes: u64,
    pub root: Option<String>,
}

impl Default for CodeContext {
    fn default() -> CodeContext {
        CodeContext { action: String::new(), path: String::new(), minutes: MINUTES, root: None }
    }
}

impl Request for CodeContext {
    const OPERATION: &'static Operation = &CONTEXT;
    type Response = FocusList;

    fn check_params(&self) -> Result<(), Error> {
        let refused = |why: String| Error::new(Code::InvalidArgument, why).hint(CONTEXT.example);
        let (adds, named) = (self.action == "add", !self.path.trim().is_empty());
        if self.action.trim().is_empty() {
            return Err(refused("missing action: add NAME, clear or list".to_string()));
        }
        if !ACTIONS.contains(&self.action.as_str()) {
            return Err(refused(format!("unknown action `{}`: use {}", self.action, ACTIONS.join(", "))));
        }
        if adds && !named {
            return Err(refused("missing name of the type to add".to_string()));
        }
        if !adds && (named || self.minutes != MINUTES) {
            return Err(refused(format!("`{}` takes neither a name nor minutes", self.action)));
        }
        if !(1..=A_WEEK).contains(&self.minutes) {
            return Err(refused(format!("`minutes` must be from 1 to {A_WEEK} (a week)")));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FocusList {
    pub context: Vec<FocusEntry>,
    /// Whether anything changed.
    pub changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for FocusList {
    fn is_empty(&self) -> bool {
        self.context.is_empty() && !self.changed
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FocusEntry {
    pub path: String,
    pub type_id: String,
    /// RFC 3339.
    pub until: String,
}
