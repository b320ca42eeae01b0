//! Where the new contents of a transaction wait before they are renamed: inside of the repository's git folder, whose files no
//! `git status` shows after a crash, and beside their targets in a tree without one.
//!
//! Does not know what the files contain.

use os::files::DirBuilderExt;
use std::fs::DirBuilder;
use std::path::{Path, PathBuf};

/// The folder of staged files inside of a git folder.
const FOLDER: &str = "loci";

/// Where the files of one transaction are staged.
pub(crate) struct Staging {
    /// `None`: beside their targets.
    folder: Option<String>,
    id: String,
}

impl Staging {
    /// For the transaction `id` of the tree at `root`. A git folder that cannot be written, as in some sandboxes, is not used.
    pub(crate) fn of_tree(root: &Path, id: &str) -> Staging {
        let folder = git_folder(root).map(|git| git.join(FOLDER)).filter(|folder| {
            let mut builder = DirBuilder::new();
            builder.mode(0o700).recursive(true);
            builder.create(folder).is_ok() && os::files::check_real_folder(folder).is_ok()
        });
        Staging { folder: folder.and_then(|folder| Some(folder.to_str()?.to_owned())), id: id.to_owned() }
    }

    /// The staged file of the target `path`, relative to the tree or absolute.
    pub(crate) fn path(&self, number: usize, path: &str) -> String {
        match &self.folder {
            Some(folder) => format!("{folder}/{}-{number}", self.id),
            None => beside(path, &self.id),
        }
    }
}

/// The name of a staged file beside its target.
pub(crate) fn beside(path: &str, id: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let staged = format!(".{name}.loci-{id}");
    if folder.is_empty() { staged } else { format!("{folder}/{staged}") }
}

/// The git folder of the repository or the worktree that contains `root`. A file that points to a folder elsewhere counts only if
/// that folder names it in return, as git's worktrees do.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git =
        root.ancestors().map(|folder| folder.join(".git")).find(|git| git.symlink_metadata().is_ok())?;
    if os::files::check_real_folder(&git).is_ok() {
        return git.join("HEAD").is_file().then_some(git);
    }
    let pointer = std::fs::read_to_string(&git).ok()?;
    let named = git.parent()?.join(pointer.strip_prefix("gitdir:")?.trim());
    let in_return = std::fs::read_to_string(named.join("gitdir")).ok()?;
    let is_ours = Path::new(in_return.trim()).canonicalize().ok()? == git.canonicalize().ok()?;
    is_ours.then_some(named)
}
