//! Edits of one tree from plan to check: which operation is planned, whether a person trusts the tree's compiler, and what the
//! compiler says about a plan.
//!
//! Does not know how an operation is requested, or where its folder is.

use crate::checker::{CheckError, CheckRun, checker_for};
use crate::diagnostic::Diagnostic;
use crate::error::EditError;
use crate::insert::{Position, plan_deletion, plan_insertion, plan_replacement};
use crate::journal::Journal;
use crate::naming::RenameOptions;
use crate::parameters::SignatureChange;
use crate::plan::Plan;
use crate::rename::plan_rename;
use crate::scratch::Scratch;
use crate::settle::{Settled, settle_plan};
use crate::signature::plan_signature;
use crate::tree::{SymbolPlace, Tree};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subprocess::Supervisor;

/// What is done with a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditKind {
    Rename { new_name: String, options: RenameOptions },
    Replace { text: String, whole: bool },
    Insert { position: Position, text: String },
    Delete { force: bool },
    Signature { change: SignatureChange, include_likely: bool },
}

/// How a compiler is started.
pub struct CheckSetup<'a> {
    pub supervisor: &'a Supervisor,
    pub env: BTreeMap<OsString, OsString>,
    pub deadline: Duration,
}

/// Why a plan was not checked, or what the compiler has against it.
#[derive(Debug, thiserror::Error)]
pub enum CheckRefusal {
    #[error("running the compiler of this tree is not allowed")]
    NotTrusted,
    #[error("no compiler is known for {0}")]
    NoChecker(String),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Check(#[from] CheckError),
}

/// What a compiler said about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub checker: &'static str,
    pub settled: Settled,
}

/// The edits of one tree.
pub struct Workbench {
    pub journal: Journal,
    root: PathBuf,
    folder: PathBuf,
}

/// The file that says that a person trusts the compilers of a tree.
const TRUSTED: &str = "trusted";

impl Workbench {
    /// The tree at `root`, with plans, journals and scratch copies in `folder`. Completes or rolls back what a crash left.
    pub fn open(root: &Path, folder: &Path) -> Result<Workbench, EditError> {
        let journal = Journal::new(root, folder);
        journal.recover()?;
        Ok(Workbench { journal, root: root.to_path_buf(), folder: folder.to_path_buf() })
    }

    pub fn is_trusted(&self) -> bool {
        std::fs::read(self.folder.join(TRUSTED))
            .is_ok_and(|known| known == self.root.as_os_str().as_encoded_bytes())
    }

    /// Allows or forbids running the compilers of the tree.
    pub fn set_trusted(&self, is_trusted: bool) -> Result<(), EditError> {
        let path = self.folder.join(TRUSTED);
        let done = if is_trusted {
            let root = self.root.as_os_str().as_encoded_bytes();
            std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&path, root))
        } else if path.exists() {
            std::fs::remove_file(&path)
        } else {
            Ok(())
        };
        done.map_err(|error| EditError::io(path.to_string_lossy(), error))
    }

    /// Lets the compiler of the tree complete and check a plan, in a scratch copy.
    pub fn check(
        &self,
        tree: &Tree,
        plan: &mut Plan,
        names: (&str, &str),
        setup: &CheckSetup<'_>,
    ) -> Result<Checked, CheckRefusal> {
        if !self.is_trusted() {
            return Err(CheckRefusal::NotTrusted);
        }
        let file = plan.files.first().map_or("", |file| &file.path);
        let checker =
            checker_for(&self.root, file).ok_or_else(|| CheckRefusal::NoChecker(file.to_owned()))?;
        let scratch = Scratch::create(&self.root, &self.folder.join("scratch")).map_err(CheckError::from)?;
        let output = self.folder.join("output");
        let run = CheckRun {
            supervisor: setup.supervisor,
            env: setup.env.clone(),
            deadline: setup.deadline,
            output: &output,
        };
        let before: Vec<Diagnostic> = checker.run(scratch.folder(), &run)?;
        let mut compile = |contents: &crate::settle::Contents| -> Result<Vec<Diagnostic>, CheckRefusal> {
            let ran = scratch.with_contents(contents, || checker.run(scratch.folder(), &run));
            Ok(ran.map_err(CheckError::from)??)
        };
        let settled = settle_plan(tree, plan, &before, names, checker.is_gradual, &mut compile)?;
        Ok(Checked { checker: checker.name, settled })
    }
}

/// Plans an edit of the symbol at a place.
pub fn plan_edit(tree: &Tree, place: &SymbolPlace, kind: &EditKind) -> Result<Plan, EditError> {
    match kind {
        EditKind::Rename { new_name, options } => plan_rename(tree, place, new_name, *options),
        EditKind::Replace { text, whole } => plan_replacement(tree, place, text, *whole),
        EditKind::Insert { position, text } => plan_insertion(tree, place, *position, text),
        EditKind::Delete { force } => plan_deletion(tree, place, *force),
        EditKind::Signature { change, include_likely } => {
            plan_signature(tree, place, change, *include_likely)
        }
    }
}
