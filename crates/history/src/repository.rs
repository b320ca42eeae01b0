//! Which git repository a folder belongs to, read from the repository's files: its main folder and its remote.
//!
//! Runs no program. Does not know sessions or projects.

use std::io::Read;
use std::path::{Path, PathBuf};

/// A git repository, whichever of its worktrees was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The top folder of the worktree that contains the folder.
    pub root: PathBuf,
    /// What identifies it on this machine and elsewhere: its remote, or else the folder of its main worktree.
    pub key: String,
}

/// Larger files are not written by git.
const MAX_BYTES: u64 = 1 << 20;

/// The repository that contains a folder.
pub fn find_repository(folder: &Path) -> Option<Repository> {
    let root = folder.ancestors().find(|dir| dir.join(".git").exists())?.to_path_buf();
    let common = common_folder(&root)?;
    let remote = read_text(&common.join("config")).and_then(|text| find_remote(&text));
    let is_main = common.file_name().is_some_and(|name| name == ".git");
    let main = common.parent().filter(|_| is_main).unwrap_or(&root).to_path_buf();
    let key = remote.unwrap_or_else(|| main.to_string_lossy().into_owned());
    Some(Repository { root, key })
}

/// The folder that all worktrees share. In a worktree `.git` is a file that names another folder, which names this one.
fn common_folder(root: &Path) -> Option<PathBuf> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Some(dot);
    }
    let named = read_text(&dot)?;
    let own = root.join(named.trim().strip_prefix("gitdir:")?.trim());
    match read_text(&own.join("commondir")) {
        Some(shared) => std::fs::canonicalize(own.join(shared.trim())).ok(),
        // A submodule has none; neither has a worktree whose repository was moved, which is then unknown.
        None => own.is_dir().then_some(own),
    }
}

fn read_text(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The address of `origin` in a git configuration, or else of the first remote.
fn find_remote(config: &str) -> Option<String> {
    let (mut section, mut found) = (String::new(), None);
    for line in config.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("[remote \"").and_then(|rest| rest.strip_suffix("\"]")) {
            section = name.to_string();
        } else if line.starts_with('[') {
            section.clear();
        } else if let Some(url) = value_of(line, "url").filter(|_| !section.is_empty()) {
            if section == "origin" {
                return Some(normalize_remote(url));
            }
            found.get_or_insert(normalize_remote(url));
        }
    }
    found
}

fn value_of<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let (name, value) = line.split_once('=')?;
    (name.trim() == key).then(|| value.trim())
}

/// `git@github.com:acme/shop.git` and `https://user:key@github.com/acme/shop` as `github.com/acme/shop`: the same repository,
/// and nothing secret.
pub fn normalize_remote(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or((None, url), |(scheme, rest)| (Some(scheme), rest));
    let (host, path) = match scheme {
        Some(_) => rest.split_once('/').unwrap_or((rest, "")),
        None => match rest.split_once(':') {
            Some((host, path)) if !host.contains('/') => (host, path),
            _ => ("", rest),
        },
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let joined =
        if host.is_empty() { path.to_string() } else { format!("{host}/{}", path.trim_start_matches('/')) };
    joined.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_remote_are_one() {
        for url in [
            "git@github.com:Acme/Shop.git",
            "https://github.com/acme/shop",
            "https://user:token@github.com/acme/shop.git/",
            "ssh://git@github.com/acme/shop.git",
            "github.com/acme/shop",
        ] {
            assert_eq!(normalize_remote(url), "github.com/acme/shop", "{url}");
        }
        assert_eq!(normalize_remote("/srv/git/shop.git"), "/srv/git/shop");
        assert_eq!(normalize_remote("../shop"), "../shop");
    }

    #[test]
    fn origin_comes_before_other_remotes() {
        let config = "[core]\n\turl = no\n[remote \"fork\"]\n\turl = git@host:me/x.git\n[remote \"origin\"]\n\turl = https://host/us/x\n";
        assert_eq!(find_remote(config).as_deref(), Some("host/us/x"));
        assert_eq!(
            find_remote(&config[..config.find("[remote \"origin").unwrap()]).as_deref(),
            Some("host/me/x")
        );
        assert_eq!(find_remote("[core]\n"), None);
    }
}
