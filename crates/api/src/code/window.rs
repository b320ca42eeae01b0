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

const ACTIONS: &[&str] = &["show", "add", "clear", "list", "pin", "unpin", "dismiss"];
/// The actions on one type.
const NAMING_ACTIONS: &[&str] = &["add", "pin", "unpin", "dismiss"];
/// How long a type stays in focus by default.
const MINUTES: u64 = 30;
const A_WEEK: u64 = 7 * 24 * 60;

pub const CONTEXT: Operation = Operation {
    name: "code_context",
    command: "code context",
    about: "Show the outlines of pinned, focused and recent types within a token budget, and change which these are",
    answer: "the window as text; or the focused and pinned types after a change",
    example: "loci code context add NodeStore --minutes 60",
    words: Some(Positional {
        value: "ACTION NAME",
        about: "show, list, clear, or add, pin, unpin or dismiss NAME [default: show]",
        into: &["action", "path"],
        number: Number::InTurn,
    }),
    params: &[
        param(
            "action",
            Shape::Choice(ACTIONS),
            "ACTION",
            "Show the window, or change its types [default: show]",
        ),
        param("path", Shape::Text, "NAME", "Type to add, pin, unpin or dismiss, by name or name suffix"),
        param("minutes", Shape::Count, "N", "Minutes until the added type expires [default: 30]"),
        param("budget", Shape::Count, "TOKENS", "Maximum number of tokens to show [default: 8000]"),
        param("pack", Shape::Text, "NAME", "Prefer types of this pack among the recent ones shown"),
        ROOT,
    ],
    required: &[],
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
    pub budget: u64,
    pub pack: Option<String>,
    pub root: Option<String>,
}

impl Default for CodeContext {
    fn default() -> CodeContext {
        let (action, path) = (ACTIONS[0].to_owned(), String::new());
        CodeContext { action, path, minutes: MINUTES, budget: BUDGET, pack: None, root: None }
    }
}

impl Request for CodeContext {
    const OPERATION: &'static Operation = &CONTEXT;
    type Response = FocusList;

    fn check_params(&self) -> Result<(), Error> {
        let refused = |why: String| Error::new(Code::InvalidArgument, why).hint(CONTEXT.example);
        let action = self.action.as_str();
        let (takes_name, named) = (NAMING_ACTIONS.contains(&action), !self.path.trim().is_empty());
        if !ACTIONS.contains(&self.action.as_str()) {
            return Err(refused(format!("unknown action `{}`: use {}", self.action, ACTIONS.join(", "))));
        }
        if takes_name && !named {
            return Err(refused(format!("missing name of the type to {action}")));
        }
        if !takes_name && named {
            return Err(refused(format!("`{action}` takes no name")));
        }
        if action != "add" && self.minutes != MINUTES {
            return Err(refused(format!("`{action}` takes no minutes")));
        }
        if action != "show" && (self.budget != BUDGET || self.pack.is_some()) {
            return Err(refused(format!("`{action}` takes neither a budget nor a pack")));
        }
        self.pack.as_deref().map_or(Ok(()), check_pack_name)?;
        check_budget(self.budget)?;
        if !(1..=A_WEEK).contains(&self.minutes) {
            return Err(refused(format!("`minutes` must be from 1 to {A_WEEK} (a week)")));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FocusList {
    /// The prompt window, if it was to be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<PromptWindow>,
    /// The pinned types after one was pinned, unpinned or dismissed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<TypeRef>,
    pub context: Vec<FocusEntry>,
    /// Whether anything changed.
    pub changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for FocusList {
    fn is_empty(&self) -> bool {
        let shows_nothing = self.window.as_ref().is_none_or(Response::is_empty);
        shows_nothing && self.context.is_empty() && self.pinned.is_empty() && !self.changed
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
