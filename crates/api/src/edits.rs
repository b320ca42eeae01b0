//! Operations that edit source code by symbol: plans with a diff, and applying and undoing them.
//!
//! Does not know how an edit is planned or checked.

use crate::operation::{Operation, Request, Response};
use crate::params::ROOT;
use crate::search::is_false;
use crate::{Code, Error, Param, Shape, fields};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PATH: Param = Param::text(
    "path",
    "NAME",
    "A type or member by name or file:line; a local variable or parameter by file:line:column",
);
const CHECK: Param = Param::flag(
    "check",
    "Complete and check the plan with the project's compiler, in a copy; `loci edit trust` allows it",
);
const APPLY: Param = Param::flag("apply", "Write the files if the plan is complete");
const LIKELY: Param =
    Param::flag("include_likely", "Also change uncertain places whose name nothing else in the tree has");
const TEXT: Param = Param::text("text", "TEXT", "The new source text; its indentation is adapted");
const ID: Param = Param::text("id", "ID", "The ID of the edit");
/// The reason of an uncertain place that nobody can decide about by looking at it.
pub const NEEDS_COMPILER: &str = "only a compiler can confirm it";

/// Where text can be inserted.
pub const POSITIONS: &[&str] = &["before", "after", "inside"];

/// Insert source text before, after or inside a symbol
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "insert_code",
    command = "edit insert",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit insert Store --position inside --text 'void Clear() {}'",
    returns = EditPlanned,
    local,
)]
pub struct InsertCode {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = TEXT, required = "text")]
    pub text: String,
    /// Where to insert it
    #[param(value = "WHERE", default = "after", choice = POSITIONS)]
    pub position: String,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

fn check_position(position: &str) -> Result<(), Error> {
    if POSITIONS.contains(&position) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("unknown position `{position}`"))
        .hint(format!("positions: {}", POSITIONS.join(", "))))
}

/// Rename a type, member, function, parameter or local with all its uses
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "rename_symbol",
    command = "edit rename",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit rename Store.Get Fetch",
    returns = EditPlanned,
    local,
    words(InTurn, "NAME NEW_NAME", "The symbol, and its new name", into("path", "new_name")),
)]
pub struct RenameSymbol {
    #[param(like = PATH, required = "name")]
    pub path: String,
    /// The new name
    #[param(value = "NEW_NAME", required = "new name")]
    pub new_name: String,
    /// Also rename whole words in comments and strings
    pub in_comments: bool,
    #[param(like = LIKELY)]
    pub include_likely: bool,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Replace the body of a member or function, or its whole declaration
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "replace_symbol",
    command = "edit replace",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit replace Store.Get --text 'return null;'",
    returns = EditPlanned,
    local,
)]
pub struct ReplaceSymbol {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = TEXT, required = "text")]
    pub text: String,
    /// Replace the whole declaration instead of the body
    pub whole: bool,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Delete a symbol that nothing uses
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "delete_symbol",
    command = "edit delete",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit delete Store.Clear",
    returns = EditPlanned,
    local,
)]
pub struct DeleteSymbol {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    /// Delete it although it is used
    pub force: bool,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Add, remove, reorder or rename the parameters of a function with all its calls
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "change_signature",
    command = "edit signature",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit signature Store.Get --add 'int limit' --value 10",
    returns = EditPlanned,
    local,
)]
pub struct ChangeSignature {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    /// A new parameter, as the language declares it (repeatable)
    #[param(value = "DECLARATION", texts)]
    pub add: Vec<String>,
    /// What calls pass for it, in the order of --add; can be left out if it has a default
    #[param(value = "EXPRESSION", texts)]
    pub value: Vec<String>,
    /// A parameter to remove
    #[param(value = "PARAMETER")]
    pub remove: Vec<String>,
    /// A parameter to rename
    #[param(value = "OLD=NEW")]
    pub rename: Vec<String>,
    /// All parameters in their new order, under their new names
    #[param(value = "PARAMETERS")]
    pub order: Vec<String>,
    #[param(like = LIKELY)]
    pub include_likely: bool,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Move a type or function to another file, with the imports of all its uses
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "move_symbol",
    command = "edit move",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit move Store src/storage.py",
    returns = EditPlanned,
    local,
    words(InTurn, "NAME FILE", "The symbol, and the file to move it to", into("path", "to")),
)]
pub struct MoveSymbol {
    #[param(like = PATH, required = "name")]
    pub path: String,
    /// The file to move it to, relative to the tree; created if it is new
    #[param(value = "FILE", required = "file")]
    pub to: String,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Declare an interface with members of a C#, Java or TypeScript type, or a trait of a Rust type
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "extract_interface",
    command = "edit extract",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit extract Store IStore --members Get,Put",
    returns = EditPlanned,
    local,
    words(InTurn, "NAME NEW_NAME", "The type, and the name of the interface", into("path", "new_name")),
)]
pub struct ExtractInterface {
    #[param(like = PATH, required = "name")]
    pub path: String,
    /// The name of the interface
    #[param(value = "NEW_NAME", required = "new name")]
    pub new_name: String,
    /// The members it declares [default: all public ones]
    #[param(value = "NAMES")]
    pub members: Vec<String>,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Apply a planned edit to all its files, or to none
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "apply_edit",
    command = "edit apply",
    answer = "the files that were written",
    example = "loci edit apply e1f3a0b2c",
    returns = EditApplied,
    local,
)]
pub struct ApplyEdit {
    #[param(like = ID, required = "ID", word)]
    pub id: String,
    /// An uncertain place of the plan to change too (repeatable)
    #[param(value = "FILE:LINE", texts)]
    pub confirm: Vec<String>,
    /// An uncertain place to leave as it is (repeatable)
    #[param(value = "FILE:LINE", texts)]
    pub leave: Vec<String>,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Undo an applied edit, if its files are still as it left them
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "undo_edit",
    command = "edit undo",
    answer = "the files that were written",
    example = "loci edit undo e1f3a0b2c",
    returns = EditApplied,
    local,
)]
pub struct UndoEdit {
    #[param(like = ID, required = "ID", word)]
    pub id: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Show a planned or applied edit with its diff
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "show_edit",
    command = "edit show",
    answer = "the plan: its ID, files, uncertain places, and the diff",
    example = "loci edit show e1f3a0b2c",
    returns = EditPlanned,
    read_only,
)]
pub struct ShowEdit {
    #[param(like = ID, required = "ID", word)]
    pub id: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// List applied and undone edits, newest first, and count what became of plans
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "list_edits",
    command = "edit list",
    answer = "edits with their ID, state and files, newest first, and counts",
    example = "loci edit list",
    returns = EditList,
    read_only,
    rows("edits"),
    stats("state"),
)]
pub struct ListEdits {
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Allow Loci to run the compiler and the indexers of this source tree, which run code of the project
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "trust_checks",
    command = "edit trust",
    answer = "whether they may run",
    example = "loci edit trust --root .",
    returns = Trust,
    local,
)]
pub struct TrustChecks {
    /// Forbid it again
    pub revoke: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// What is done with a symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    #[default]
    Rename,
    Replace,
    Insert,
    Delete,
    Signature,
    Move,
    Extract,
}

/// One edit of one symbol: the parameters of all planning operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EditStep {
    /// Which one; the others are its parameters.
    pub operation: StepKind,
    pub path: String,
    pub new_name: String,
    pub text: String,
    pub position: String,
    pub whole: bool,
    pub force: bool,
    pub in_comments: bool,
    pub include_likely: bool,
    pub add: Vec<String>,
    pub value: Vec<String>,
    pub remove: Vec<String>,
    pub rename: Vec<String>,
    pub order: Vec<String>,
    pub to: String,
    pub members: Vec<String>,
}

impl StepKind {
    fn operation(self) -> &'static Operation {
        match self {
            StepKind::Rename => RenameSymbol::OPERATION,
            StepKind::Replace => ReplaceSymbol::OPERATION,
            StepKind::Insert => InsertCode::OPERATION,
            StepKind::Delete => DeleteSymbol::OPERATION,
            StepKind::Signature => ChangeSignature::OPERATION,
            StepKind::Move => MoveSymbol::OPERATION,
            StepKind::Extract => ExtractInterface::OPERATION,
        }
    }
}

impl EditStep {
    /// Refuses a parameter that its operation does not have, and a missing one.
    fn check_params(&self) -> Result<(), Error> {
        let operation = self.operation.operation();
        let to_map = |step: &EditStep| serde_json::to_value(step).unwrap_or_default();
        let (own, usual) = (to_map(self), to_map(&EditStep::default()));
        let given = |name: &str| own[name] != usual[name];
        let names = own.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let refuse =
            |message: String| Err(Error::new(Code::InvalidArgument, message).hint(operation.example));
        for name in names.filter(|name| *name != "operation" && given(name)) {
            if !operation.accepts_param(name) {
                return refuse(format!("{}: unknown parameter `{name}`", operation.command));
            }
        }
        match operation.required.iter().find(|name| !given(name)) {
            Some(name) => refuse(format!("{}: missing `{name}`", operation.command)),
            None => check_position(if self.position.is_empty() { "after" } else { &self.position }),
        }
    }
}

/// Plan several edits as one, checked, applied and undone together
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "batch_edit",
    command = "edit batch",
    answer = "the plan: its ID, files, uncertain places, what the compiler said, and the diff",
    example = "loci edit batch --step '{\"operation\": \"delete\", \"path\": \"Store.Clear\"}'",
    returns = EditPlanned,
    local,
    check,
)]
pub struct BatchEdit {
    /// An operation (rename, replace, insert, delete, signature, move, extract) with its parameters (repeatable)
    #[param(value = "JSON")]
    pub step: Vec<EditStep>,
    /// A JSON file with a list of steps
    #[param(value = "FILE", word)]
    pub file: Option<String>,
    #[param(like = CHECK)]
    pub check: bool,
    #[param(like = APPLY)]
    pub apply: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

impl BatchEdit {
    fn check(&self) -> Result<(), Error> {
        if self.step.is_empty() == self.file.is_none() {
            let message = if self.file.is_some() { "both steps and a file" } else { "missing steps" };
            return Err(Error::new(Code::InvalidArgument, message).hint(Self::OPERATION.example));
        }
        self.step.iter().try_for_each(EditStep::check_params)
    }

    /// The edits to plan; `text` is what the file contains.
    pub fn to_wanted(&self, text: Option<&str>) -> Result<WantedEdit, Error> {
        let steps = match text {
            Some(text) => parse_steps(text)?,
            None => self.step.clone(),
        };
        Ok(WantedEdit { steps, check: self.check, apply: self.apply, root: self.root.clone() })
    }
}

fn parse_steps(text: &str) -> Result<Vec<EditStep>, Error> {
    let refuse = |why: String| Error::new(Code::InvalidArgument, why).hint(BatchEdit::OPERATION.example);
    let steps: Vec<EditStep> =
        serde_json::from_str(text).map_err(|error| refuse(format!("not a list of steps: {error}")))?;
    steps.iter().try_for_each(EditStep::check_params)?;
    if steps.is_empty() { Err(refuse("no steps in the file".to_owned())) } else { Ok(steps) }
}

/// Steps as objects or, as the command line passes them, as texts.
impl fields::Value for Vec<EditStep> {
    fn read(&mut self, given: &Value) -> Result<(), String> {
        let to_step = |value: &Value| match value {
            Value::String(text) => serde_json::from_str(text),
            other => EditStep::deserialize(other),
        };
        let steps = given.as_array().ok_or("a list of steps")?;
        *self = steps
            .iter()
            .map(to_step)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("a list of steps: {error}"))?;
        Ok(())
    }

    fn write(&self) -> Value {
        serde_json::to_value(self).expect("steps have texts as keys")
    }
}

impl fields::Kind for Vec<EditStep> {
    const SHAPE: Shape = Shape::Texts;

    fn schema() -> Value {
        json!({"type": "array", "items": {"type": "object", "additionalProperties": true}})
    }
}

/// Edits to plan together, and what to do with the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedEdit {
    pub steps: Vec<EditStep>,
    pub check: bool,
    pub apply: bool,
    pub root: Option<String>,
}

/// A request that plans one edit.
macro_rules! plans {
    ($($name:ident = $operation:ident { $($field:ident)* })*) => {$(
        impl From<&$name> for WantedEdit {
            fn from(request: &$name) -> WantedEdit {
                let step = EditStep {
                    operation: StepKind::$operation,
                    path: request.path.clone(),
                    $($field: request.$field.clone(),)*
                    ..EditStep::default()
                };
                WantedEdit {
                    steps: vec![step],
                    check: request.check,
                    apply: request.apply,
                    root: request.root.clone(),
                }
            }
        }
    )*};
}

plans! {
    RenameSymbol = Rename { new_name in_comments include_likely }
    ReplaceSymbol = Replace { text whole }
    InsertCode = Insert { text position }
    DeleteSymbol = Delete { force }
    MoveSymbol = Move { to }
    ExtractInterface = Extract { new_name members }
    ChangeSignature = Signature { add value remove rename order include_likely }
}

/// A planned edit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditPlanned {
    /// For `apply_edit` or, once applied, `undo_edit`.
    pub id: String,
    pub title: String,
    /// Whether every place is certain; only a complete plan can be applied.
    pub complete: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub applied: bool,
    pub files: Vec<EditedFile>,
    /// Places that may have to change too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsure: Vec<EditPlace>,
    /// Places that use what is deleted by `force`, or what a new declaration declares differently.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_used: Vec<EditPlace>,
    /// The compiler that checked the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_by: Option<String>,
    /// Warnings that the tree did not have before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_warnings: Vec<EditPlace>,
    /// A unified diff.
    pub diff: String,
    /// The edit of this tree that a crash left half written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<InterruptedEdit>,
}

impl Response for EditPlanned {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditedFile {
    pub path: String,
    /// The number of changed places.
    pub edits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
}

/// A place and what is said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EditPlace {
    pub file: String,
    pub line: u32,
    pub text: String,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EditApplied {
    pub id: String,
    pub title: String,
    /// `applied` or `undone`.
    pub state: String,
    pub files: Vec<String>,
    /// Files that were not rolled back because they have changed since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

impl Response for EditApplied {}

/// An edit whose files are neither all as before nor all as after, because applying or undoing it did not end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InterruptedEdit {
    pub id: String,
    /// What happened, and how many files are written.
    pub message: String,
    pub root: String,
    pub written: u64,
    pub files: u64,
    /// Temporary files that it left.
    pub temporary: u64,
    /// The command that finishes it.
    pub finish: String,
    /// The command that rolls it back.
    pub roll_back: String,
}

impl std::fmt::Display for InterruptedEdit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let InterruptedEdit { message, finish, roll_back, .. } = self;
        write!(f, "{message}; `{finish}` finishes it, `{roll_back}` rolls it back")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EditList {
    pub edits: Vec<EditEntry>,
    /// How many edits of the tree were `planned`, `applied`, `undone`, `rolled-back`, or `refused`, by reason.
    pub counts: BTreeMap<String, u64>,
    /// The edit of this tree that a crash left half written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<InterruptedEdit>,
}

impl Response for EditList {
    fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EditEntry {
    pub id: String,
    pub title: String,
    pub state: String,
    pub time: String,
    pub files: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trust {
    pub root: String,
    pub trusted: bool,
}

impl Response for Trust {}
