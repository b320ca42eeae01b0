//! Operations that edit source code by symbol: plans with a diff, and applying and undoing them.
//!
//! Does not know how an edit is planned or checked.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::search::is_false;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const NAMED: &str =
    "A type or member by name or file:line; a local variable or parameter by file:line:column";

const ROOT: Param = param(
    "root",
    Shape::Text,
    "DIR",
    "Source tree [default: the enclosing git repository, or the current directory]",
);
const PATH: Param = param("path", Shape::Text, "NAME", NAMED);
const CHECK: Param = param(
    "check",
    Shape::Flag,
    "",
    "Complete and check the plan with the project's compiler, in a copy; `loci edit trust` allows it",
);
const APPLY: Param = param("apply", Shape::Flag, "", "Write the files if the plan is complete");
const LIKELY: Param = param(
    "include_likely",
    Shape::Flag,
    "",
    "Also change uncertain places whose name nothing else in the tree has",
);
const TEXT: Param = param("text", Shape::Text, "TEXT", "The new source text; its indentation is adapted");
const ID: Param = param("id", Shape::Text, "ID", "The ID of the edit");
/// The reason of an uncertain place that nobody can decide about by looking at it.
pub const NEEDS_COMPILER: &str = "only a compiler can confirm it";

const CONFIRM: Param =
    param("confirm", Shape::Texts, "FILE:LINE", "An uncertain place of the plan to change too (repeatable)");
const LEAVE: Param =
    param("leave", Shape::Texts, "FILE:LINE", "An uncertain place to leave as it is (repeatable)");

const ONE: Option<Positional> =
    Some(Positional { value: "NAME", about: NAMED, into: &["path"], number: Number::One });
const BY_ID: Option<Positional> =
    Some(Positional { value: "ID", about: "The ID of the edit", into: &["id"], number: Number::One });

/// Where text can be inserted.
pub const POSITIONS: &[&str] = &["before", "after", "inside"];

const PLANNED: &str = "the plan: its ID, files, uncertain places, what the compiler said, and the diff";

pub const RENAME: Operation = Operation {
    name: "rename_symbol",
    command: "edit rename",
    about: "Rename a type, member, function, parameter or local with all its uses",
    answer: PLANNED,
    example: "loci edit rename Store.Get Fetch",
    words: Some(Positional {
        value: "NAME NEW_NAME",
        about: "The symbol, and its new name",
        into: &["path", "new_name"],
        number: Number::InTurn,
    }),
    params: &[
        PATH,
        param("new_name", Shape::Text, "NEW_NAME", "The new name"),
        param("in_comments", Shape::Flag, "", "Also rename whole words in comments and strings"),
        LIKELY,
        CHECK,
        APPLY,
        ROOT,
    ],
    required: &["path", "new_name"],
    shapes: schema_properties::<RenameSymbol>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const REPLACE: Operation = Operation {
    name: "replace_symbol",
    command: "edit replace",
    about: "Replace the body of a member or function, or its whole declaration",
    answer: PLANNED,
    example: "loci edit replace Store.Get --text 'return null;'",
    words: ONE,
    params: &[
        PATH,
        TEXT,
        param("whole", Shape::Flag, "", "Replace the whole declaration instead of the body"),
        CHECK,
        APPLY,
        ROOT,
    ],
    required: &["path", "text"],
    shapes: schema_properties::<ReplaceSymbol>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const INSERT: Operation = Operation {
    name: "insert_code",
    command: "edit insert",
    about: "Insert source text before, after or inside a symbol",
    answer: PLANNED,
    example: "loci edit insert Store --position inside --text 'void Clear() {}'",
    words: ONE,
    params: &[
        PATH,
        TEXT,
        param("position", Shape::Choice(POSITIONS), "WHERE", "Where to insert it [default: after]"),
        CHECK,
        APPLY,
        ROOT,
    ],
    required: &["path", "text"],
    shapes: schema_properties::<InsertCode>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const DELETE: Operation = Operation {
    name: "delete_symbol",
    command: "edit delete",
    about: "Delete a symbol that nothing uses",
    answer: PLANNED,
    example: "loci edit delete Store.Clear",
    words: ONE,
    params: &[PATH, param("force", Shape::Flag, "", "Delete it although it is used"), CHECK, APPLY, ROOT],
    required: &["path"],
    shapes: schema_properties::<DeleteSymbol>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const CHANGE_SIGNATURE: Operation = Operation {
    name: "change_signature",
    command: "edit signature",
    about: "Add, remove, reorder or rename the parameters of a function with all its calls",
    answer: PLANNED,
    example: "loci edit signature Store.Get --add 'int limit' --value 10",
    words: ONE,
    params: &[
        PATH,
        param(
            "add",
            Shape::Texts,
            "DECLARATION",
            "A new parameter, as the language declares it (repeatable)",
        ),
        param(
            "value",
            Shape::Texts,
            "EXPRESSION",
            "What calls pass for it, in the order of --add; can be left out if it has a default",
        ),
        param("remove", Shape::List, "PARAMETER", "A parameter to remove"),
        param("rename", Shape::List, "OLD=NEW", "A parameter to rename"),
        param("order", Shape::List, "PARAMETERS", "All parameters in their new order, under their new names"),
        LIKELY,
        CHECK,
        APPLY,
        ROOT,
    ],
    required: &["path"],
    shapes: schema_properties::<ChangeSignature>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const MOVE: Operation = Operation {
    name: "move_symbol",
    command: "edit move",
    about: "Move a type or function to another file, with the imports of all its uses",
    answer: PLANNED,
    example: "loci edit move Store src/storage.py",
    words: Some(Positional {
        value: "NAME FILE",
        about: "The symbol, and the file to move it to",
        into: &["path", "to"],
        number: Number::InTurn,
    }),
    params: &[
        PATH,
        param(
            "to",
            Shape::Text,
            "FILE",
            "The file to move it to, relative to the tree; created if it is new",
        ),
        CHECK,
        APPLY,
        ROOT,
    ],
    required: &["path", "to"],
    shapes: schema_properties::<MoveSymbol>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const EXTRACT: Operation = Operation {
    name: "extract_interface",
    command: "edit extract",
    about: "Declare an interface with members of a C#, Java or TypeScript type, or a trait of a Rust type",
    answer: PLANNED,
    example: "loci edit extract Store IStore --members Get,Put",
    words: Some(Positional {
        value: "NAME NEW_NAME",
        about: "The type, and the name of the interface",
        into: &["path", "new_name"],
        number: Number::InTurn,
    }),
    params: &[
        PATH,
        param("new_name", Shape::Text, "NEW_NAME", "The name of the interface"),
        param("members", Shape::List, "NAMES", "The members it declares [default: all public ones]"),
        CHECK,
        APPLY,
        ROOT,
    ],
    required: &["path", "new_name"],
    shapes: schema_properties::<ExtractInterface>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const BATCH: Operation = Operation {
    name: "batch_edit",
    command: "edit batch",
    about: "Plan several edits as one, checked, applied and undone together",
    answer: PLANNED,
    example: "loci edit batch --step '{\"operation\": \"delete\", \"path\": \"Store.Clear\"}'",
    words: Some(Positional {
        value: "FILE",
        about: "A JSON file with a list of steps",
        into: &["file"],
        number: Number::One,
    }),
    params: &[
        param(
            "step",
            Shape::Texts,
            "JSON",
            "An operation (rename, replace, insert, delete, signature, move, extract) with its parameters (repeatable)",
        ),
        param("file", Shape::Text, "FILE", "A JSON file with a list of steps"),
        CHECK,
        APPLY,
        ROOT,
    ],
    required: &[],
    shapes: schema_properties::<BatchEdit>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const APPLY_EDIT: Operation = Operation {
    name: "apply_edit",
    command: "edit apply",
    about: "Apply a planned edit to all its files, or to none",
    answer: "the files that were written",
    example: "loci edit apply e1f3a0b2c",
    words: BY_ID,
    params: &[ID, CONFIRM, LEAVE, ROOT],
    required: &["id"],
    shapes: schema_properties::<ApplyEdit>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const UNDO_EDIT: Operation = Operation {
    name: "undo_edit",
    command: "edit undo",
    about: "Undo an applied edit, if its files are still as it left them",
    answer: "the files that were written",
    example: "loci edit undo e1f3a0b2c",
    words: BY_ID,
    params: &[ID, ROOT],
    required: &["id"],
    shapes: schema_properties::<UndoEdit>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

pub const SHOW_EDIT: Operation = Operation {
    name: "show_edit",
    command: "edit show",
    about: "Show a planned or applied edit with its diff",
    answer: "the plan: its ID, files, uncertain places, and the diff",
    example: "loci edit show e1f3a0b2c",
    words: BY_ID,
    params: &[ID, ROOT],
    required: &["id"],
    shapes: schema_properties::<ShowEdit>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

pub const LIST_EDITS: Operation = Operation {
    name: "list_edits",
    command: "edit list",
    about: "List applied and undone edits, newest first, and count what became of plans",
    answer: "edits with their ID, state and files, newest first, and counts",
    example: "loci edit list",
    words: None,
    params: &[ROOT],
    required: &[],
    shapes: schema_properties::<ListEdits>,
    handy: &[],
    read_only: true,
    rows: &["edits"],
    stats: &["state"],
};

pub const TRUST: Operation = Operation {
    name: "trust_checks",
    command: "edit trust",
    about: "Allow Loci to run the compiler and the indexers of this source tree, which run code of the project",
    answer: "whether they may run",
    example: "loci edit trust --root .",
    words: None,
    params: &[param("revoke", Shape::Flag, "", "Forbid it again"), ROOT],
    required: &[],
    shapes: schema_properties::<TrustChecks>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

/// Requests that name a symbol or an edit.
macro_rules! requests {
    ($($name:ident = $operation:ident -> $response:ident, $required:ident, $missing:literal { $($field:ident: $type:ty,)* })*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $(pub $field: $type,)*
            pub root: Option<String>,
        }

        impl Request for $name {
            const OPERATION: &'static Operation = &$operation;
            type Response = $response;

            fn check_params(&self) -> Result<(), Error> {
                require_text(&self.$required, $missing, &$operation)
            }
        }
    )*};
}

requests! {
    RenameSymbol = RENAME -> EditPlanned, new_name, "missing new name" {
        path: String,
        new_name: String,
        in_comments: bool,
        include_likely: bool,
        check: bool,
        apply: bool,
    }
    ReplaceSymbol = REPLACE -> EditPlanned, text, "missing text" {
        path: String,
        text: String,
        whole: bool,
        check: bool,
        apply: bool,
    }
    DeleteSymbol = DELETE -> EditPlanned, path, "missing name" {
        path: String,
        force: bool,
        check: bool,
        apply: bool,
    }
    ChangeSignature = CHANGE_SIGNATURE -> EditPlanned, path, "missing name" {
        path: String,
        add: Vec<String>,
        value: Vec<String>,
        remove: Vec<String>,
        rename: Vec<String>,
        order: Vec<String>,
        include_likely: bool,
        check: bool,
        apply: bool,
    }
    MoveSymbol = MOVE -> EditPlanned, to, "missing file" {
        path: String,
        to: String,
        check: bool,
        apply: bool,
    }
    ExtractInterface = EXTRACT -> EditPlanned, new_name, "missing new name" {
        path: String,
        new_name: String,
        members: Vec<String>,
        check: bool,
        apply: bool,
    }
    ApplyEdit = APPLY_EDIT -> EditApplied, id, "missing ID" {
        id: String,
        confirm: Vec<String>,
        leave: Vec<String>,
    }
    UndoEdit = UNDO_EDIT -> EditApplied, id, "missing ID" { id: String, }
    ShowEdit = SHOW_EDIT -> EditPlanned, id, "missing ID" { id: String, }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InsertCode {
    pub path: String,
    pub text: String,
    pub position: String,
    pub check: bool,
    pub apply: bool,
    pub root: Option<String>,
}

impl Default for InsertCode {
    fn default() -> InsertCode {
        InsertCode {
            path: String::new(),
            text: String::new(),
            position: "after".to_owned(),
            check: false,
            apply: false,
            root: None,
        }
    }
}

impl Request for InsertCode {
    const OPERATION: &'static Operation = &INSERT;
    type Response = EditPlanned;

    fn check_params(&self) -> Result<(), Error> {
        require_text(&self.text, "missing text", &INSERT)?;
        check_position(&self.position)
    }
}

fn check_position(position: &str) -> Result<(), Error> {
    if POSITIONS.contains(&position) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("unknown position `{position}`"))
        .hint(format!("positions: {}", POSITIONS.join(", "))))
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListEdits {
    pub root: Option<String>,
}

impl Request for ListEdits {
    const OPERATION: &'static Operation = &LIST_EDITS;
    type Response = EditList;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrustChecks {
    pub revoke: bool,
    pub root: Option<String>,
}

impl Request for TrustChecks {
    const OPERATION: &'static Operation = &TRUST;
    type Response = Trust;
}

/// What is done with a symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
            StepKind::Rename => &RENAME,
            StepKind::Replace => &REPLACE,
            StepKind::Insert => &INSERT,
            StepKind::Delete => &DELETE,
            StepKind::Signature => &CHANGE_SIGNATURE,
            StepKind::Move => &MOVE,
            StepKind::Extract => &EXTRACT,
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

/// Several edits as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BatchEdit {
    // its parameters are those of the other tools: the schema does not repeat them
    #[schemars(with = "Vec<Map<String, Value>>")]
    #[serde(deserialize_with = "read_steps")]
    pub step: Vec<EditStep>,
    pub file: Option<String>,
    pub check: bool,
    pub apply: bool,
    pub root: Option<String>,
}

impl Request for BatchEdit {
    const OPERATION: &'static Operation = &BATCH;
    type Response = EditPlanned;

    fn check_params(&self) -> Result<(), Error> {
        if self.step.is_empty() == self.file.is_none() {
            let message = if self.file.is_some() { "both steps and a file" } else { "missing steps" };
            return Err(Error::new(Code::InvalidArgument, message).hint(BATCH.example));
        }
        self.step.iter().try_for_each(EditStep::check_params)
    }
}

impl BatchEdit {
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
    let refuse = |why: String| Error::new(Code::InvalidArgument, why).hint(BATCH.example);
    let steps: Vec<EditStep> =
        serde_json::from_str(text).map_err(|error| refuse(format!("not a list of steps: {error}")))?;
    steps.iter().try_for_each(EditStep::check_params)?;
    if steps.is_empty() { Err(refuse("no steps in the file".to_owned())) } else { Ok(steps) }
}

/// Steps as objects or, as the command line passes them, as texts.
fn read_steps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<EditStep>, D::Error> {
    let to_step = |value: Value| match value {
        Value::String(text) => serde_json::from_str(&text),
        other => serde_json::from_value(other),
    };
    let all = Vec::<Value>::deserialize(deserializer)?;
    all.into_iter().map(to_step).collect::<Result<_, _>>().map_err(D::Error::custom)
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

fn require_text(text: &str, missing: &str, operation: &Operation) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, missing).hint(operation.example));
    }
    Ok(())
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
