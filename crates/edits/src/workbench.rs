//! Edits of one tree from plan to check: which operation is planned, whether a person trusts the tree's compiler, and what the
//! compiler says about a plan.
//!
//! Does not know how an operation is requested, or where its folder is.

use crate::checker::{CheckError, CheckRun, ProjectChecker, find_checker};
use crate::diagnostic::{Carried, Diagnostic};
use crate::error::EditError;
use crate::extract::plan_extraction;
use crate::insert::{Position, plan_deletion, plan_insertion, plan_replacement};
use crate::journal::Journal;
use crate::language_service::{Consulted, consult_service};
use crate::naming::RenameOptions;
use crate::outcomes::OutcomeLog;
use crate::parameters::SignatureChange;
use crate::plan::{NEEDS_COMPILER, Plan, Uncertain};
use crate::relocate::plan_move;
use crate::rename::plan_rename;
use crate::scratch::Scratch;
use crate::settle::{Settled, settle_plan};
use crate::signature::plan_signature;
use crate::sources::SymbolPlace;
use crate::transaction::write_synced;
use crate::tree::Tree;
use os::files::OpenOptionsExt;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Error as IoError;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subprocess::Supervisor;

/// What is done with a symbol. Read from a request: the fields have the names of its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
pub enum EditKind {
    Rename {
        new_name: String,
        #[serde(flatten)]
        options: RenameOptions,
    },
    Replace {
        text: String,
        whole: bool,
    },
    Insert {
        position: Position,
        text: String,
    },
    Delete {
        force: bool,
    },
    Signature {
        #[serde(flatten)]
        change: SignatureChange,
        include_likely: bool,
    },
    Move {
        to: String,
    },
    Extract {
        new_name: String,
        members: Vec<String>,
    },
}

impl EditKind {
    /// Whether the source alone does not show that the tree still builds: code in another place sees other names. A review of moves that were planned
    /// without doubt found a dozen kinds that no longer compiled, from imports inside `try` to a builtin that the new file declares.
    pub(crate) fn needs_compiler(&self) -> bool {
        matches!(self, EditKind::Move { .. } | EditKind::Extract { .. })
    }

    /// Whether the imports of all files decide what it changes, and not only those of files that mention the symbol.
    pub fn needs_whole_tree(&self) -> bool {
        matches!(self, EditKind::Move { .. } | EditKind::Extract { .. })
    }

    /// The name that a declaration gets.
    pub(crate) fn given_name(&self) -> Option<&str> {
        match self {
            EditKind::Rename { new_name, .. } | EditKind::Extract { new_name, .. } => Some(new_name),
            _ => None,
        }
    }

    /// Whether the symbol no longer has its name afterwards.
    pub(crate) fn takes_name_away(&self) -> bool {
        matches!(self, EditKind::Rename { .. } | EditKind::Delete { .. })
    }

    /// Source text that the request has.
    pub(crate) fn new_texts(&self) -> Vec<&str> {
        match self {
            EditKind::Replace { text, .. } | EditKind::Insert { text, .. } => vec![text],
            EditKind::Signature { change, .. } => change.texts().collect(),
            _ => Vec::new(),
        }
    }
}

/// One edit of one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchStep {
    pub place: SymbolPlace,
    pub kind: EditKind,
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
    /// Their names, if there are several.
    pub checker: String,
    pub settled: Settled,
}

/// The edits of one tree.
pub struct Workbench {
    pub journal: Journal,
    pub outcomes: OutcomeLog,
    root: PathBuf,
    folder: PathBuf,
}

/// The file that says that a person trusts the compilers of a tree.
const TRUSTED: &str = "trusted";

impl Workbench {
    /// The tree at `root`, with plans, journals and scratch copies in `folder`. Opening it writes nothing.
    pub fn open(root: &Path, folder: &Path) -> Workbench {
        let journal = Journal::new(root, folder);
        let outcomes = OutcomeLog::new(folder);
        Workbench { journal, outcomes, root: root.to_path_buf(), folder: folder.to_path_buf() }
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
            std::fs::create_dir_all(&self.folder).and_then(|()| write_synced(&path, root, 0o600))
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
        steps: &[BatchStep],
        setup: &CheckSetup<'_>,
    ) -> Result<Checked, CheckRefusal> {
        if !self.is_trusted() {
            return Err(CheckRefusal::NotTrusted);
        }
        // This check decides about them: it refuses the edit if there are new errors.
        plan.unsure.retain(|it| it.place.reason != NEEDS_COMPILER);
        let _lock = self.lock_check().map_err(CheckError::from)?;
        let mut checked: Option<Checked> = None;
        for checker in &self.checkers_of(plan)? {
            // places in another language or project are for its own compiler
            let is_own = |it: &Uncertain| checker.covers(&it.place.file);
            let (own, others) = std::mem::take(&mut plan.unsure).into_iter().partition(is_own);
            plan.unsure = own;
            let settled = self.settle(tree, plan, steps, checker, setup)?;
            plan.unsure.extend(Vec::<Uncertain>::into_iter(others));
            checked = Some(join_checks(checked, checker, settled));
        }
        checked.ok_or_else(|| CheckRefusal::NoChecker(String::new()))
    }

    /// Waits until no other check uses the copy: a second one would restore files under the first one's compiler.
    fn lock_check(&self) -> Result<File, IoError> {
        std::fs::create_dir_all(&self.folder)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("check.lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// The compilers of the files of a plan.
    fn checkers_of(&self, plan: &Plan) -> Result<Vec<ProjectChecker>, CheckRefusal> {
        let mut found: Vec<ProjectChecker> = Vec::new();
        for file in &plan.files {
            let checker = find_checker(&self.root, &file.path)
                .ok_or_else(|| CheckRefusal::NoChecker(file.path.clone()))?;
            if !found.contains(&checker) {
                found.push(checker);
            }
        }
        Ok(found)
    }

    fn settle(
        &self,
        tree: &Tree,
        plan: &mut Plan,
        steps: &[BatchStep],
        checker: &ProjectChecker,
        setup: &CheckSetup<'_>,
    ) -> Result<Settled, CheckRefusal> {
        let is_source = |path: &str| tree.sources.has_files_below(path);
        let scratch = Scratch::create(&self.root, &self.folder.join("scratch"), &is_source);
        let scratch = scratch.map_err(CheckError::from)?;
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
        let carried = carried_by(steps);
        let consulted = match steps {
            [BatchStep { place, kind: EditKind::Rename { new_name, .. } }] => {
                consult_service(tree, plan, (place, new_name), checker, scratch.folder(), &run)?
            }
            _ => Consulted::default(),
        };
        let known = (before.as_slice(), &carried);
        let mut settled =
            settle_plan(tree, plan, known, checker.checker.is_gradual, &consulted.rejected, &mut compile)?;
        settled.confirmed += consulted.confirmed;
        Ok(settled)
    }
}

/// The names and files that change for diagnostics.
fn carried_by(steps: &[BatchStep]) -> Carried {
    let mut carried = Carried::default();
    for BatchStep { place, kind } in steps {
        match kind {
            EditKind::Rename { new_name, .. } => {
                carried.names.push((new_name.clone(), place.name.clone()));
            }
            EditKind::Move { to } => {
                carried.files.push((to.trim().trim_start_matches("./").to_owned(), place.file.clone()));
            }
            _ => {}
        }
    }
    carried
}

/// What several compilers said.
fn join_checks(known: Option<Checked>, checker: &ProjectChecker, mut settled: Settled) -> Checked {
    let name = checker.checker.name;
    let Some(known) = known else { return Checked { checker: name.to_owned(), settled } };
    settled.runs += known.settled.runs;
    settled.confirmed += known.settled.confirmed;
    settled.rejected += known.settled.rejected;
    settled.new_warnings.extend(known.settled.new_warnings);
    let is_known = known.checker.split(", ").any(|it| it == name);
    let names = if is_known { known.checker } else { format!("{}, {name}", known.checker) };
    Checked { checker: names, settled }
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
        EditKind::Move { to } => plan_move(tree, place, to),
        EditKind::Extract { new_name, members } => plan_extraction(tree, place, new_name, members),
    }
}
