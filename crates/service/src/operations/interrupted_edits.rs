//! Names edits that a crash left half written, and both ways out. Reads journals only: nothing is finished by being looked at.
//!
//! Does not know how an edit is finished or rolled back.

use crate::Service;
use api::edits::InterruptedEdit;
use edits::{Interrupted, Journal};
use std::path::Path;

/// The interrupted edit of one tree, whose edits are in `folder`.
pub(crate) fn interrupted_in(service: &Service, root: &Path, folder: &Path) -> Option<InterruptedEdit> {
    Some(describe(service, &Journal::new(root, folder).interrupted()?))
}

/// Those of all trees.
pub(crate) fn all_interrupted(service: &Service) -> Vec<InterruptedEdit> {
    let Some(home) = service.home() else { return Vec::new() };
    // no edit was ever planned: there is no such folder
    let folders = std::fs::read_dir(home.edits()).into_iter().flatten().flatten();
    let mut all: Vec<InterruptedEdit> = folders
        .filter_map(|folder| Journal::of_interrupted(&folder.path())?.interrupted())
        .map(|it| describe(service, &it))
        .collect();
    all.sort_by(|one, other| (&one.root, &one.id).cmp(&(&other.root, &other.id)));
    all
}

/// The edit with both ways out as commands that can be typed from the working directory.
pub(crate) fn describe(service: &Service, it: &Interrupted) -> InterruptedEdit {
    let root = it.root.to_string_lossy().into_owned();
    let is_here = history::scope::enclosing_project(&service.cwd) == it.root;
    let place =
        if is_here { String::new() } else { format!(" --root {}", api::operation::shell_quote(&root)) };
    let (apply, undo) =
        (format!("loci edit apply {}{place}", it.id), format!("loci edit undo {}{place}", it.id));
    let (finish, roll_back) = if it.is_undo { (undo, apply) } else { (apply, undo) };
    InterruptedEdit {
        id: it.id.clone(),
        message: it.to_string(),
        root,
        written: it.written as u64,
        files: it.files as u64,
        temporary: it.temporary as u64,
        finish,
        roll_back,
    }
}
