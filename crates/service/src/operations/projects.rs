//! Lists projects and gives them names.
//!
//! Does not know how folders are joined to projects: that is `history::projects`.

use crate::Service;
use api::project::{AliasProject, ListProjects, ProjectNamed, ProjectsListed};
use api::{Code, Error, Handle, Request};
use history::error::store_error;
use history::projects::{Projects, group_folders};
use history::{scope, snapshot};
use std::path::PathBuf;

impl Handle<ListProjects> for Service {
    fn handle(&self, request: &ListProjects) -> Result<ProjectsListed, Error> {
        let reader = snapshot::open_current(&self.history())?.reader;
        let used = reader.project_folders().map_err(store_error)?;
        let mut projects = Projects::load(&self.history());
        // A read-only home can be listed too.
        if projects.learn(used.iter().map(|one| &*one.folder)) {
            let _ = projects.save(&self.history());
        }
        let mut found = group_folders(&projects, &used);
        let total = found.len() as u64;
        if request.reverse {
            found.reverse();
        }
        let page = found.into_iter().skip(request.offset as usize).take(request.limit as usize);
        Ok(ProjectsListed { projects: page.collect(), total })
    }
}

impl Handle<AliasProject> for Service {
    fn handle(&self, request: &AliasProject) -> Result<ProjectNamed, Error> {
        request.check_params()?;
        let mut projects = Projects::load(&self.history());
        if request.remove {
            if !projects.remove_alias(&request.name) {
                let message = format!("no project was given the name `{}`", request.name);
                return Err(Error::new(Code::NotFound, message).hint("loci project list"));
            }
            projects.save(&self.history())?;
            return Ok(ProjectNamed { name: request.name.clone(), folders: Vec::new() });
        }
        let here = [self.cwd.to_string_lossy().into_owned()];
        let named = if request.folders.is_empty() { &here[..] } else { &request.folders };
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in named {
            if let Some(note) = scope::missing_project_note(&self.history(), folder) {
                return Err(Error::new(Code::NotFound, note).hint("loci project list"));
            }
            folders.extend(scope::find_project(&self.history(), folder));
        }
        projects.add_alias(&request.name, &folders)?;
        projects.save(&self.history())?;
        let folders = projects.find_named(&request.name);
        let folders = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        Ok(ProjectNamed { name: request.name.clone(), folders })
    }
}
