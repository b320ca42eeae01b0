//! The identity of projects: which folders belong to one repository, and the names that people gave them.
//!
//! A project is its git repository with all worktrees, wherever it was or is. What a folder belonged to is remembered, so that
//! it is still known after the folder was moved. Does not know what happened in a project.

use crate::repository::{find_repository, normalize_remote};
use crate::{History, home};
use api::project::{Project, ProjectFolder};
use api::search::stamp_to_ms;
use api::{Code, Error};
use catalogue::FolderUse;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is known of the folders in which sessions took place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Projects {
    /// The repository of each folder, by its key.
    folders: BTreeMap<String, String>,
    /// Folders by the name of the project that a person gave.
    aliases: BTreeMap<String, BTreeSet<String>>,
}

/// A larger file is not ours.
const MAX_BYTES: u64 = 16 << 20;

impl Projects {
    /// Nothing is known if the file is missing or damaged.
    pub fn load(history: &History<'_>) -> Projects {
        let read = || {
            let mut text = String::new();
            let file = std::fs::File::open(history.home()?.projects()).ok()?;
            file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
            serde_json::from_str(&text).ok()
        };
        read().unwrap_or_default()
    }

    pub fn save(&self, history: &History<'_>) -> Result<(), Error> {
        let home = history.home().ok_or_else(crate::error::no_home)?;
        let path = home.projects();
        let write = || {
            home::create_private_dir(&home.data)?;
            let text = serde_json::to_string_pretty(self).map_err(std::io::Error::other)?;
            home::replace_file(&path, text.as_bytes())
        };
        write().map_err(|error| home::unwritable(&path, &error))
    }

    /// Remembers the repositories of folders that exist; returns whether anything is new.
    pub fn learn<'f>(&mut self, folders: impl Iterator<Item = &'f str>) -> bool {
        let mut is_new = false;
        for folder in folders {
            let Some(repository) = find_repository(Path::new(folder)) else { continue };
            let known = self.folders.insert(folder.to_string(), repository.key.clone());
            is_new |= known.as_ref() != Some(&repository.key);
            // The worktree's own folder is where a session can be continued.
            let root = repository.root.to_string_lossy().into_owned();
            is_new |= self.folders.insert(root, repository.key).is_none();
        }
        is_new
    }

    pub fn is_known(&self, folder: &str) -> bool {
        self.folders.contains_key(folder)
    }

    /// What identifies the project of a folder: its repository, or else the folder itself.
    pub fn key_of(&self, folder: &Path) -> String {
        let found = find_repository(folder).map(|repository| repository.key);
        found.or_else(|| self.remembered_key(folder)).unwrap_or_else(|| folder.to_string_lossy().into_owned())
    }

    /// The repository that the folder, or one above it, belonged to.
    fn remembered_key(&self, folder: &Path) -> Option<String> {
        folder.ancestors().find_map(|dir| self.folders.get(&*dir.to_string_lossy())).cloned()
    }

    /// All folders of a project, the given one first. Only the top folder of a repository stands for all of it.
    pub fn folders_of(&self, folder: &Path) -> Vec<PathBuf> {
        let mut all = vec![folder.to_path_buf()];
        let key = match find_repository(folder) {
            Some(repository) if repository.root == folder => Some(repository.key),
            Some(_) => None,
            None => self.folders.get(&*folder.to_string_lossy()).cloned(),
        };
        let same = self.folders.iter().filter(|(_, known)| Some(*known) == key.as_ref());
        all.extend(same.map(|(folder, _)| PathBuf::from(folder)));
        let text = folder.to_string_lossy();
        let aliased = self.aliases.values().filter(|folders| folders.contains(&*text));
        all.extend(aliased.flatten().map(PathBuf::from));
        keep_outermost(&all)
    }

    /// The folders of the project with this alias or remote; empty if there is none.
    pub fn find_named(&self, named: &str) -> Vec<PathBuf> {
        let aliased = self.aliases.iter().filter(|(name, _)| name.eq_ignore_ascii_case(named));
        let mut found: Vec<PathBuf> = aliased
            .flat_map(|(_, folders)| folders)
            .flat_map(|folder| self.folders_of(Path::new(folder)))
            .collect();
        let remote = normalize_remote(named);
        let is_remote = |key: &str| key == remote || key.ends_with(&format!("/{remote}"));
        if remote.contains('/') {
            let same = self.folders.iter().filter(|(_, key)| is_remote(key));
            found.extend(same.map(|(folder, _)| PathBuf::from(folder)));
        }
        keep_outermost(&found)
    }

    /// Gives a project another name, or joins folders that Loci takes for several projects.
    pub fn add_alias(&mut self, name: &str, folders: &[PathBuf]) -> Result<(), Error> {
        let name = name.trim();
        if name.is_empty() || name.contains('/') {
            return Err(Error::new(Code::InvalidArgument, "the name of a project is a word without `/`")
                .hint("loci project alias shop /srv/shop"));
        }
        let folders = folders.iter().map(|folder| folder.to_string_lossy().into_owned());
        self.aliases.entry(name.to_string()).or_default().extend(folders);
        Ok(())
    }

    /// Removes a name; false if there is none.
    pub fn remove_alias(&mut self, name: &str) -> bool {
        self.aliases.remove(name.trim()).is_some()
    }

    /// The names of a project that has one of these folders.
    pub fn aliases_of(&self, folders: &[PathBuf]) -> Vec<String> {
        let has = |aliased: &BTreeSet<String>| {
            folders.iter().any(|folder| aliased.contains(&*folder.to_string_lossy()))
        };
        self.aliases.iter().filter(|(_, aliased)| has(aliased)).map(|(name, _)| name.clone()).collect()
    }

    /// Where a session of this folder can be continued today: there, or where its repository is now.
    pub fn present_folder(&self, folder: &str) -> String {
        if folder.is_empty() || Path::new(folder).is_dir() {
            return folder.to_string();
        }
        let moved = self.folders_of(Path::new(folder)).into_iter().find(|other| other.is_dir());
        moved.map_or_else(|| folder.to_string(), |other| other.to_string_lossy().into_owned())
    }
}

/// The projects of these folders, the one with the newest session first.
pub fn group_folders(projects: &Projects, used: &[FolderUse]) -> Vec<Project> {
    let mut found: Vec<Project> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for one in used {
        let folder = Path::new(&one.folder);
        let names = projects.aliases_of(&projects.folders_of(folder));
        let key = names.first().cloned().unwrap_or_else(|| projects.key_of(folder));
        let at = *places.entry(key.clone()).or_insert(found.len());
        if at == found.len() {
            found.push(Project { remote: remote_of(&projects.key_of(folder)), names, ..Project::default() });
        }
        let project = &mut found[at];
        project.sessions += one.sessions;
        project.last_at = project.last_at.max(stamp_to_ms(one.last));
        let exists = folder.is_dir();
        project.folders.push(ProjectFolder { path: one.folder.clone(), sessions: one.sessions, exists });
    }
    found.iter_mut().for_each(name_project);
    found
}

/// A key that is no path is a remote.
fn remote_of(key: &str) -> Option<String> {
    (!key.starts_with('/')).then(|| key.to_string())
}

/// The name a person gave, or that of the folder that exists today.
fn name_project(project: &mut Project) {
    let folder = project.folders.iter().find(|folder| folder.exists).or(project.folders.first());
    let name = folder.and_then(|folder| Path::new(&folder.path).file_name());
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    project.name = project.names.first().cloned().unwrap_or(name);
}

/// The folders without those inside another one, each once, in order.
fn keep_outermost(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let is_inside = folders.iter().any(|other| other != folder && folder.starts_with(other));
        if !is_inside && !kept.contains(folder) {
            kept.push(folder.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(folder: &Path, remote: &str) {
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        std::fs::write(folder.join(".git/config"), format!("[remote \"origin\"]\n\turl = {remote}\n"))
            .unwrap();
    }

    #[test]
    fn a_moved_repository_keeps_its_identity() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        repository(&old, "git@host:acme/shop.git");
        let mut projects = Projects::default();
        assert!(projects.learn([old.to_str().unwrap()].into_iter()));
        assert!(!projects.learn([old.to_str().unwrap()].into_iter()), "nothing new");
        std::fs::rename(&old, &new).unwrap();
        assert_eq!(projects.present_folder(old.to_str().unwrap()), old.to_str().unwrap(), "not seen yet");
        projects.learn([new.to_str().unwrap()].into_iter());
        assert_eq!(projects.present_folder(old.to_str().unwrap()), new.to_str().unwrap());
        assert_eq!(projects.folders_of(&new), [new.clone(), old.clone()]);
        assert_eq!(projects.folders_of(&old), [old.clone(), new.clone()]);
        for named in ["host/acme/shop", "acme/shop", "https://host/acme/shop.git"] {
            assert_eq!(projects.find_named(named), [new.clone(), old.clone()], "{named}");
        }
        assert!(projects.find_named("acme/other").is_empty());
    }

    #[test]
    fn a_worktree_belongs_to_its_repository() {
        let dir = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(dir.path()).unwrap();
        let (main, tree) = (top.join("main"), top.join("tree"));
        std::fs::create_dir_all(main.join(".git/worktrees/tree")).unwrap();
        std::fs::write(main.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}/.git/worktrees/tree\n", main.display()))
            .unwrap();
        let projects = Projects::default();
        assert_eq!(projects.key_of(&tree), main.to_str().unwrap());
        assert_eq!(projects.key_of(&tree), projects.key_of(&main));
    }

    #[test]
    fn an_alias_joins_folders_and_is_found_by_name() {
        let (one, two) = (PathBuf::from("/srv/one"), PathBuf::from("/srv/two"));
        let mut projects = Projects::default();
        projects.add_alias("shop", &[one.clone(), two.clone()]).unwrap();
        assert_eq!(projects.find_named("Shop"), [one.clone(), two.clone()]);
        assert_eq!(projects.folders_of(&two), [two.clone(), one.clone()]);
        assert_eq!(projects.aliases_of(&[two]), ["shop"]);
        assert!(projects.add_alias("a/b", &[one]).is_err());
        assert!(projects.remove_alias("shop") && !projects.remove_alias("shop"));
    }
}
