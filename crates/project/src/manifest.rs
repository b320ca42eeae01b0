//! What a manifest says of its project, whichever language it is for.
//!
//! Does not know any kind of manifest; each has a file.

/// What a manifest tells of its project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// As others import or refer to it; the folder's name where the manifest has none.
    pub(crate) name: Option<String>,
    /// The projects it may use, by the names it has for them.
    pub(crate) wanted: Vec<(String, Wanted)>,
    /// The same for all projects below that ask for one of these names: a workspace says it once.
    pub(crate) shared: Vec<(String, Wanted)>,
    /// Whether it is not that of a project: it holds others together, or cannot be read.
    pub(crate) is_frame: bool,
}

impl Told {
    /// Wants projects by their own names.
    pub(crate) fn want(&mut self, name: &str) {
        self.wanted.push((name.to_owned(), Wanted::Name(name.to_owned())));
    }

    #[cfg(test)]
    pub(crate) fn wants(&self) -> Vec<String> {
        let told = |(name, wanted): &(String, Wanted)| match wanted {
            Wanted::Folder(folder) => format!("{name} in {folder}"),
            Wanted::Name(own) if own == name => name.clone(),
            Wanted::Name(own) => format!("{name} is {own}"),
        };
        self.wanted.iter().map(told).collect()
    }
}

/// How a manifest names another project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// By its folder, from that of the manifest.
    Folder(String),
    Name(String),
}
