//! The contents of a manifest, independent of its format.
//!
//! Does not know a particular format; each has its own file.

/// The description of a project in its manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectManifest {
    /// The name by which other projects refer to it; `None` means the name of its folder.
    pub(crate) name: Option<String>,
    /// Its dependencies, with the names it uses for them.
    pub(crate) dependencies: Vec<(String, DependencyTarget)>,
    /// Dependencies that a workspace defines once for all projects below it.
    pub(crate) workspace_dependencies: Vec<(String, DependencyTarget)>,
    /// The folder of its root module, relative to the manifest, if that is not where the language expects it.
    pub(crate) source_root: Option<String>,
    /// Whether it does not describe a project: a workspace manifest, or one that cannot be parsed.
    pub(crate) has_no_project: bool,
}

impl ProjectManifest {
    /// Adds a dependency on a project by its own name.
    pub(crate) fn add_dependency(&mut self, name: &str) {
        self.dependencies.push((name.to_owned(), DependencyTarget::Name(name.to_owned())));
    }

    #[cfg(test)]
    pub(crate) fn describe_dependencies(&self) -> Vec<String> {
        let describe = |(name, target): &(String, DependencyTarget)| match target {
            DependencyTarget::Folder(folder) => format!("{name} in {folder}"),
            DependencyTarget::Name(own) if own == name => name.clone(),
            DependencyTarget::Name(own) => format!("{name} is {own}"),
        };
        self.dependencies.iter().map(describe).collect()
    }
}

/// How a manifest refers to another project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DependencyTarget {
    /// By its folder, relative to that of the manifest.
    Folder(String),
    Name(String),
}
