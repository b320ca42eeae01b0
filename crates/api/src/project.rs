//! `project list` and `project alias`: projects by their git repository, and the names people give them.
//!
//! Does not know how folders are joined to projects.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const LIST: Operation = Operation {
    name: "list_projects",
    command: "project list",
    about: "List projects: git repositories, and folders without one",
    answer: "projects by their last session, newest first: name, remote, folders and numbers of sessions",
    example: "loci project list --limit 5",
    words: None,
    params: &[
        param("limit", Shape::Count, "N", "Maximum number of projects [default: 20]"),
        param("offset", Shape::Count, "N", "Skip the first N"),
        param("reverse", Shape::Flag, "", "Oldest first"),
    ],
    required: &[],
    shapes: schema_properties::<ListProjects>,
    handy: &[],
    read_only: true,
    rows: &["projects"],
    stats: &[],
};

pub const ALIAS: Operation = Operation {
    name: "alias_project",
    command: "project alias",
    about: "Give a project a name, or join folders that are one project",
    answer: "the name and the folders it stands for",
    example: "loci project alias shop --folders /srv/shop,/home/ada/old-shop",
    words: Some(Positional {
        value: "NAME [FOLDER]",
        about: "The name, and its folder [default: the current project]",
        into: &["name", "folders"],
        number: Number::InTurn,
    }),
    params: &[
        param("name", Shape::Text, "NAME", "Name of the project, for `--project NAME`"),
        param("folders", Shape::List, "FOLDERS", "Its folders; they need not exist any more"),
        param("remove", Shape::Flag, "", "Remove the name instead"),
    ],
    required: &["name"],
    shapes: schema_properties::<AliasProject>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListProjects {
    pub limit: u64,
    pub offset: u64,
    pub reverse: bool,
}

impl Default for ListProjects {
    fn default() -> ListProjects {
        ListProjects { limit: 20, offset: 0, reverse: false }
    }
}

impl Request for ListProjects {
    const OPERATION: &'static Operation = &LIST;
    type Response = ProjectsListed;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AliasProject {
    pub name: String,
    pub folders: Vec<String>,
    pub remove: bool,
}

impl Request for AliasProject {
    const OPERATION: &'static Operation = &ALIAS;
    type Response = ProjectNamed;

    fn check_params(&self) -> Result<(), Error> {
        let error = |message: &str| Error::new(Code::InvalidArgument, message).hint(ALIAS.example);
        match () {
            () if self.name.trim().is_empty() => Err(error("the name of the project is missing")),
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
