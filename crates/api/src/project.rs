//! `project list` and `project alias`: projects by their git repository, and the names people give them.
//!
//! Does not know how folders are joined to projects.

use crate::operation::{Operation, Request, Response};
use crate::params::{OFFSET, REVERSE};
use crate::{Code, Error};
use serde::{Deserialize, Serialize};

/// List projects: git repositories, and folders without one
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "list_projects",
    command = "project list",
    answer = "projects by their last session, newest first: name, remote, folders and numbers of sessions",
    example = "loci project list --limit 5",
    returns = ProjectsListed,
    read_only,
    rows("projects"),
)]
pub struct ListProjects {
    /// Maximum number of projects
    #[param(default = 20)]
    pub limit: u64,
    #[param(like = OFFSET)]
    pub offset: u64,
    #[param(like = REVERSE)]
    pub reverse: bool,
}

/// Give a project a name, or join folders that are one project
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "alias_project",
    command = "project alias",
    answer = "the name and the folders it stands for",
    example = "loci project alias shop --folders /srv/shop,/home/ada/old-shop",
    returns = ProjectNamed,
    words(InTurn, "NAME [FOLDER]", "The name, and its folder [default: the current project]", into("name", "folders")),
    check,
)]
pub struct AliasProject {
    /// Name of the project, for `--project NAME`
    #[param(value = "NAME", required = "name")]
    pub name: String,
    /// Its folders; they need not exist any more
    #[param(value = "FOLDERS")]
    pub folders: Vec<String>,
    /// Remove the name instead
    pub remove: bool,
}

impl AliasProject {
    fn check(&self) -> Result<(), Error> {
        let error = |message: &str| Error::new(Code::InvalidArgument, message).hint(Self::OPERATION.example);
        match () {
            () if self.remove && !self.folders.is_empty() => {
                Err(error("a name is removed from all its folders"))
            }
            () => Ok(()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectsListed {
    pub projects: Vec<Project>,
    /// The number of all projects.
    pub total: u64,
}

impl Response for ProjectsListed {
    fn is_empty(&self) -> bool {
        self.projects.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Project {
    pub name: String,
    /// Names that a person gave it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The remote of its repository, without user and scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    pub sessions: u64,
    /// The time of its last session, in milliseconds.
    pub last_at: Option<i64>,
    pub folders: Vec<ProjectFolder>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectFolder {
    pub path: String,
    pub sessions: u64,
    pub exists: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectNamed {
    pub name: String,
    /// Empty if the name was removed.
    pub folders: Vec<String>,
}

impl Response for ProjectNamed {}
