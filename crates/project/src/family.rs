//! The table of manifest formats: file names, languages and parser, one row per ecosystem.
//!
//! Does not know the tree: a manifest is only a text here.

use crate::manifest::Told;
use crate::{cargo, go_mod, java, npm, python};

pub(crate) struct Family {
    /// File names of manifests; if a folder has several, the first one is used.
    pub(crate) manifests: &'static [&'static str],
    pub(crate) languages: &'static [&'static str],
    pub(crate) read: fn(&str) -> Told,
}

/// The first row represents `.csproj` files, which have arbitrary names.
pub(crate) const FAMILIES: &[Family] = &[
    Family { manifests: &[], languages: &["C#"], read: |_| Told::default() },
    Family { manifests: &["Cargo.toml"], languages: &["Rust"], read: cargo::read },
    Family {
        manifests: &["package.json", "tsconfig.json"],
        languages: &["TypeScript", "JavaScript"],
        read: npm::read,
    },
    Family { manifests: &["pyproject.toml", "setup.py"], languages: &["Python"], read: python::read },
    Family { manifests: &["go.mod"], languages: &["Go"], read: go_mod::read },
    Family {
        manifests: &["pom.xml", "build.gradle", "build.gradle.kts"],
        languages: &["Java"],
        read: java::read,
    },
];

pub(crate) const MSBUILD: usize = 0;

/// The index of the ecosystem whose manifests have this file name.
pub(crate) fn of_manifest(name: &str) -> Option<usize> {
    FAMILIES.iter().position(|ecosystem| ecosystem.manifests.contains(&name))
}

pub(crate) fn of_language(language: &str) -> Option<usize> {
    FAMILIES.iter().position(|ecosystem| ecosystem.languages.contains(&language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::LANGUAGES;

    #[test]
    fn every_language_has_a_family() {
        for language in LANGUAGES {
            assert!(of_language(language.name).is_some(), "{}", language.name);
        }
    }
}
