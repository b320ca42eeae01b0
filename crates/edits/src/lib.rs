//! Edits code by symbol: plans a change, checks it in memory, shows it as a diff, applies it to all files or none, and undoes it.
//!
//! Does not know which symbol a reader means (`code` resolves names), and does not write outside of the tree and its own folder
//! of plans and journals.

mod batch;
mod checker;
mod diagnostic;
mod diff;
mod edit;
mod error;
mod extract;
mod go_imports;
mod insert;
mod interrupted;
mod journal;
mod language_service;
mod list_text;
mod local;
mod mentions;
mod naming;
mod outcomes;
mod parameters;
mod plan;
mod relocate;
mod rename;
mod replaced;
mod scratch;
mod settle;
mod shape;
mod signature;
mod sources;
mod staging;
mod text;
mod transaction;
mod tree;
mod workbench;

pub use batch::{look_up_names, plan_batch};
pub use checker::{CHECKERS, CheckError, CheckRun, Checker, ProjectChecker, checker_for, find_checker};
pub use diagnostic::{Carried, Diagnostic, Format, new_diagnostics, parse_diagnostics};
pub use edit::{FileEdit, Place, TextEdit};
pub use error::EditError;
pub use extract::plan_extraction;
pub use insert::{Position, plan_deletion, plan_insertion, plan_replacement};
pub use interrupted::Interrupted;
pub use journal::{Applied, Journal, JournalEntry, JournalState};
pub use language_service::{Consulted, consult_service};
pub use local::plan_local_rename;
pub use naming::RenameOptions;
pub use outcomes::{EditOutcome, OutcomeLog};
pub use parameters::SignatureChange;
pub use plan::{NEEDS_COMPILER, Plan, Uncertain};
pub use relocate::plan_move;
pub use rename::plan_rename;
pub use scratch::Scratch;
pub use settle::{Contents, Settled, settle_plan};
pub use signature::plan_signature;
pub use sources::{Sources, SymbolPlace};
pub use text::SourceText;
pub use transaction::{Fault, JournalFile, Step};
pub use tree::Tree;
pub use workbench::{BatchStep, CheckRefusal, CheckSetup, Checked, EditKind, Workbench, plan_edit};
