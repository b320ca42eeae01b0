//! The checked-out commit of a repository, read from its git directory.
//!
//! Does not read objects: what a commit contains is asked of git.

use std::path::{Path, PathBuf};

/// The git directory. In a worktree, `.git` is a file that points to it.
fn git_directory(root: &Path) -> PathBuf {
    let git = root.join(".git");
    let pointer =
        if git.is_file() { std::fs::read_to_string(&git).unwrap_or_default() } else { String::new() };
    pointer.trim().strip_prefix("gitdir: ").map_or(git, |to| root.join(to))
}

/// The abbreviated hash of the checked-out commit, read from the git directory.
pub fn head_commit(root: &Path) -> Option<String> {
    let git = git_directory(root);
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let short = |hash: &str| {
        let hash = hash.trim();
        (hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| hash[..12].to_string())
    };
    let Some(name) = head.trim().strip_prefix("ref: ") else { return short(&head) };
    if name.contains("..") || name.starts_with('/') {
        return None;
    }
    // branches are stored in the directory that worktrees share
    let shared = std::fs::read_to_string(git.join("commondir")).map_or(git.clone(), |to| git.join(to.trim()));
    let loose = std::fs::read_to_string(shared.join(name)).ok().and_then(|hash| short(&hash));
    loose.or_else(|| {
        let packed = std::fs::read_to_string(shared.join("packed-refs")).ok()?;
        packed.lines().find_map(|line| short(line.strip_suffix(name)?))
    })
}
