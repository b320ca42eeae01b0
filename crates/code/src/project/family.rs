//! Which files are manifests, whose languages they speak for, and how each is read: one row a family.
//!
//! Does not know the tree: a manifest is a text here.

use super::{cargo, gomod, java, npm, python};

/// What a manifest tells of its project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// As others import or refer to it; the folder's name where the manifest has none.
    pub(super) name: Option<String>,
    /// The projects it may use, by the names it has for them.
    pub(super) wanted: Vec<(String, Wanted)>,
    /// The same for all projects below that ask for one of these names: a workspace says it once.
    pub(super) shared: Vec<(String, Wanted)>,
    /// Whether it is not that of a project: it holds others together, or cannot be read.
    pub(super) is_frame: bool,
}

impl Told {
    /// Wants projects by their own names.
    pub(super) fn want(&mut self, name: &str) {
        self.wanted.push((name.to_owned(), Wanted::Name(name.to_owned())));
    }

    #[cfg(test)]
    pub(super) fn wants(&self) -> Vec<String> {
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
pub(super) enum Wanted {
    /// By its folder, from that of the manifest.
    Folder(String),
    Name(String),
}

pub(super) struct Family {
    /// Names of manifests; where a folder has several, the first counts.
    pub(super) manifests: &'static [&'static str],
    pub(super) languages: &'static [&'static str],
    pub(super) read: fn(&str) -> Told,
}

/// The first row stands for `.csproj`, whose names are their own.
pub(super) const FAMILIES: &[Family] = &[
    Family { manifests: &[], languages: &["C#"], read: |_| Told::default() },
    Family { manifests: &["Cargo.toml"], languages: &["Rust"], read: cargo::read },
    Family {
        manifests: &["package.json", "tsconfig.json"],
        languages: &["TypeScript", "JavaScript"],
        read: npm::read,
    },
    Family { manifests: &["pyproject.toml", "setup.py"], languages: &["Python"], read: python::read },
    Family { manifests: &["go.mod"], languages: &["Go"], read: gomod::read },
    Family {
        manifests: &["pom.xml", "build.gradle", "build.gradle.kts"],
        languages: &["Java"],
        read: java::read,
    },
];

pub(super) const MSBUILD: usize = 0;

/// The family that a file is a manifest of.
pub(super) fn of_manifest(name: &str) -> Option<usize> {
    FAMILIES.iter().position(|family| family.manifests.contains(&name))
}

pub(super) fn of_language(language: &str) -> Option<usize> {
    FAMILIES.iter().position(|family| family.languages.contains(&language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::LANGUAGES;

    #[test]
    fn every_language_has_a_family() {
        for language in LANGUAGES {
            assert!(of_language(language.name).is_some(), "{}", language.name);
        }
    }
}
