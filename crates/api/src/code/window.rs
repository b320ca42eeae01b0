//! The prompt window, and what decides what stands in it: what is pinned, dismissed, and what the work is about now.
//!
//! Does not know how a window is filled.

use super::pack::{BUDGET, is_budget, is_pack};
use super::{Coverage, ONE, ROOT, TypeRef, about_one, path_param};
use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::param;
use crate::schema::properties;
use crate::search::is_false;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const WINDOW: Operation = Operation {
    name: "get_prompt_window",
    command: "code window",
    about: "Show what a model should have before it: pinned types, those the work is about, those asked for lately",
    answer: "the window as text, which types stand in it and where, its tokens, and which pinned types did not fit",
    example: "loci code window --budget 4000",
    words: None,
    params: &[
        param("budget", Shape::Count, "TOKENS", "At most so many tokens [default: 8000]"),
        param("pack", Shape::Text, "NAME", "Among those asked for lately, prefer the types of this pack"),
        ROOT,
    ],
    required: &[],
    shapes: properties::<GetPromptWindow>,
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

    fn check(&self) -> Result<(), Error> {
        self.pack.as_deref().map_or(Ok(()), is_pack)?;
        is_budget(self.budget)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptWindow {
    pub window: String,
    pub tokens: u64,
    pub budget: u64,
    pub shown: Vec<InWindow>,
    /// Pinned, and too large to be shown beside the others that are.
    pub left_out: Vec<TypeRef>,
    /// Where it lies, from the root of the tree; nowhere while the tree has no folder `.loci`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The file held something else before.
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
pub struct InWindow {
    pub path: String,
    pub type_id: String,
    /// `Pinned`, `Focus` or `Recent`.
    pub region: String,
}

// ---- what is pinned

pub const PIN: Operation = Operation {
    name: "pin",
    command: "code pin",
    about: "Keep a type in the prompt window until it is unpinned",
    answer: "the type, whether that changed anything, and all that is pinned",
    example: "loci code pin NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: properties::<Pin>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const UNPIN: Operation = Operation {
    name: "unpin",
    command: "code unpin",
    about: "Let a pinned type go",
    answer: "the type, whether that changed anything, and all that is still pinned",
    example: "loci code unpin NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: properties::<Unpin>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const DISMISS: Operation = Operation {
    name: "dismiss",
    command: "code dismiss",
    about: "Leave a type out of the prompt window until it is asked for again",
    answer: "the type, whether that changed anything, and all that is pinned",
    example: "loci code dismiss NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: properties::<Dismiss>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

about_one! {
    Pin = PIN -> Marked;
    Unpin = UNPIN -> Marked;
    Dismiss = DISMISS -> Marked;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marked {
    pub resolved: TypeRef,
    pub changed: bool,
    pub pinned: Vec<TypeRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for Marked {}

// ---- what the work is about

const ACTIONS: &[&str] = &["add", "clear", "list"];
/// How long a type stays in focus unless it is said.
const MINUTES: u64 = 30;
const A_WEEK: u64 = 7 * 24 * 60;

pub const CONTEXT: Operation = Operation {
    name: "code_context",
    command: "code context",
    about: "Say what the work is about for a while: those types stand in the focus of the prompt window",
    answer: "what is in focus by name, and until when",
    example: "loci code context add NodeStore --minutes 60",
    words: Some(Words {
        value: "ACTION NAME",
        about: "add NAME, clear or list",
        into: &["action", "path"],
        number: Number::InTurn,
    }),
    params: &[
        param("action", Shape::Choice(ACTIONS), "ACTION", "What to do"),
        param("path", Shape::Text, "NAME", "The type to add, by its name or the end of it"),
        param("minutes", Shape::Count, "N", "How long it stays [default: 30]"),
        ROOT,
    ],
    required: &["action"],
    shapes: properties::<CodeContext>,
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
    type Response = InFocus;

    fn check(&self) -> Result<(), Error> {
        let refused = |why: String| Error::new(Code::InvalidArgument, why).hint(CONTEXT.example);
        let (adds, named) = (self.action == "add", !self.path.trim().is_empty());
        if self.action.trim().is_empty() {
            return Err(refused("an action is missing: add NAME, clear or list".to_string()));
        }
        if !ACTIONS.contains(&self.action.as_str()) {
            return Err(refused(format!("`{}` is none of {}", self.action, ACTIONS.join(", "))));
        }
        if adds && !named {
            return Err(refused("add what? A name is missing".to_string()));
        }
        if !adds && (named || self.minutes != MINUTES) {
            return Err(refused(format!("`{}` takes neither a name nor minutes", self.action)));
        }
        if !(1..=A_WEEK).contains(&self.minutes) {
            return Err(refused(format!("from 1 to {A_WEEK} minutes can be said, which is a week")));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InFocus {
    pub context: Vec<UntilThen>,
    /// False: it was so already.
    pub changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Response for InFocus {
    fn is_empty(&self) -> bool {
        self.context.is_empty() && !self.changed
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UntilThen {
    pub path: String,
    pub type_id: String,
    /// In RFC 3339.
    pub until: String,
}
