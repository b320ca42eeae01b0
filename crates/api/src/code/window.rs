//! The prompt window and the state that determines its content: pinned, dismissed and focused types.
//!
//! Does not know how a window is filled.

use super::pack::{BUDGET, check_pack_name};
use super::{Coverage, PATH, TypeRef};
use crate::operation::{Operation, Request, Response};
use crate::params::ROOT;
use crate::search::is_false;
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// Show the prompt window: outlines of pinned, focused and recent types, within a token budget
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "get_prompt_window",
    command = "code window",
    answer = "the window as text, its types by region (pinned, focus, recent), its token count, and the pinned types that did not fit",
    example = "loci code window --budget 4000",
    returns = PromptWindow,
    read_only,
)]
pub struct GetPromptWindow {
    /// Maximum number of tokens
    #[param(value = "TOKENS", default = 8000, range = 1..=u64::MAX)]
    pub budget: u64,
    /// Prefer types of this pack among the recent ones
    #[param(value = "NAME", check = check_pack_name)]
    pub pack: Option<String>,
    #[param(like = ROOT)]
    pub root: Option<String>,
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

/// Show the outlines of pinned, focused and recent types within a token budget, and change which these are
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "code_context",
    command = "code context",
    answer = "the window as text; or the focused and pinned types after a change",
    example = "loci code context add NodeStore --minutes 60",
    returns = FocusList,
    rows("context"),
    words(InTurn, "ACTION NAME", "show, list, clear, or add, pin, unpin or dismiss NAME [default: show]", into("action", "path")),
    check,
)]
pub struct CodeContext {
    /// Show the window, or change its types
    #[param(
        value = "ACTION",
        default = "show",
        choice = ACTIONS,
    )]
    pub action: String,
    /// Type to add, pin, unpin or dismiss, by name or name suffix
    #[param(value = "NAME")]
    pub path: String,
    /// Minutes until the added type expires
    #[param(default = 30, range = 1..=A_WEEK)]
    pub minutes: u64,
    /// Maximum number of tokens to show
    #[param(value = "TOKENS", default = 8000, range = 1..=u64::MAX)]
    pub budget: u64,
    /// Prefer types of this pack among the recent ones shown
    #[param(value = "NAME", check = check_pack_name)]
    pub pack: Option<String>,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

impl CodeContext {
    fn check(&self) -> Result<(), Error> {
        let refused = |why: String| Error::new(Code::InvalidArgument, why).hint(Self::OPERATION.example);
        let action = self.action.as_str();
        let (takes_name, named) = (NAMING_ACTIONS.contains(&action), !self.path.trim().is_empty());
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

/// Pin a type in the prompt window
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "pin",
    command = "code pin",
    answer = "the type, whether anything changed, and all pinned types",
    example = "loci code pin NodeStore",
    returns = PinResult,
)]
pub struct Pin {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Unpin a type
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "unpin",
    command = "code unpin",
    answer = "the type, whether anything changed, and the types still pinned",
    example = "loci code unpin NodeStore",
    returns = PinResult,
)]
pub struct Unpin {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Hide a type from the prompt window until it is requested again
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "dismiss",
    command = "code dismiss",
    answer = "the type, whether anything changed, and all pinned types",
    example = "loci code dismiss NodeStore",
    returns = PinResult,
)]
pub struct Dismiss {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}
