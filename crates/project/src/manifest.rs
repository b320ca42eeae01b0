//! The contents of a manifest, independent of its format.
//!
//! Does not know a particular format; each has its own file.

/// The description of a project in its manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The name by which other projects refer to it; `None` means the name of its folder.
    pub(crate) name: Option<String>,
    /// Its dependencies, with the names it uses for them.
    pub(crate) wanted: Vec<(String, Wanted)>,
    /// Dependencies that a workspace defines once for all projects below it.
    pub(crate) shared: Vec<(String, Wanted)>,
    /// Whether it does not describe a project: a workspace manifest, or one that cannot be parsed.
    pub(crate) is_frame: bool,
}

impl Told {
    /// Adds a dependency on a project by its own name.
    pub(crate) fn want(&mut self, name: &str) {
        self.wanted.push((name.to_owned(), Wanted::Name(name.to_owned())));
    }

    #[cfg(test)]
    pub(crate) fn wants(&self) -> Vec<String> {
        let describe = |(name, target): &(String, Wanted)| match target {
            Wanted::Folder(folder) => format!("{name} in {folder}"),
            Wanted::Name(own) if own == name => name.clone(),
            Wanted::Name(own) => format!("{name} is {own}"),
        };
        self.wanted.iter().map(describe).collect()
    }
}

/// How a manifest refers to another project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// By its folder, relative to that of the manifest.
    Folder(String),
    Name(String),
}
