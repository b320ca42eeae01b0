//! The table of manifest formats: file names, languages and parser, one row per ecosystem.
//!
//! Does not know the tree: a manifest is only a text here.

use crate::manifest::ProjectManifest;
use crate::{cargo, composer, go_mod, java, npm, python, swift_package};

pub(crate) struct Ecosystem {
    /// File names of manifests; if a folder has several, the first one is used.
    pub(crate) manifests: &'static [&'static str],
    pub(crate) languages: &'static [&'static str],
    pub(crate) parse: fn(&str) -> ProjectManifest,
}

/// The first row represents `.csproj` files, which have arbitrary names.
pub(crate) const ECOSYSTEMS: &[Ecosystem] = &[
    Ecosystem { manifests: &[], languages: &["C#"], parse: |_| ProjectManifest::default() },
    Ecosystem { manifests: &["Cargo.toml"], languages: &["Rust"], parse: cargo::parse_manifest },
    Ecosystem {
        manifests: &["package.json", "tsconfig.json"],
        languages: &["TypeScript", "JavaScript"],
        parse: npm::parse_manifest,
    },
    Ecosystem {
        manifests: &["pyproject.toml", "setup.py"],
        languages: &["Python"],
        parse: python::parse_manifest,
    },
    Ecosystem { manifests: &["go.mod"], languages: &["Go"], parse: go_mod::parse_manifest },
    Ecosystem {
        manifests: &["pom.xml", "build.gradle", "build.gradle.kts"],
        languages: &["Java", "Kotlin"],
        parse: java::parse_manifest,
    },
    Ecosystem { manifests: &["composer.json"], languages: &["PHP"], parse: composer::parse_manifest },
    Ecosystem { manifests: &["Package.swift"], languages: &["Swift"], parse: swift_package::parse_manifest },
    // a gem may consist of several folders with a `Gemfile` each; its own name is in a `.gemspec` of any name
    Ecosystem { manifests: &["Gemfile"], languages: &["Ruby"], parse: |_| ProjectManifest::default() },
    // a build of C has a description in every folder (`Makefile`, `CMakeLists.txt`) without being several projects
    Ecosystem { manifests: &[], languages: &["C", "C++", "Shell"], parse: |_| ProjectManifest::default() },
];

pub(crate) const MSBUILD: usize = 0;

/// The index of the ecosystem whose manifests have this file name.
pub(crate) fn ecosystem_of_manifest(name: &str) -> Option<usize> {
    ECOSYSTEMS.iter().position(|ecosystem| ecosystem.manifests.contains(&name))
}

pub(crate) fn ecosystem_of_language(language: &str) -> Option<usize> {
    ECOSYSTEMS.iter().position(|ecosystem| ecosystem.languages.contains(&language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::LANGUAGES;

    #[test]
    fn every_language_has_an_ecosystem() {
        for language in LANGUAGES {
            assert!(ecosystem_of_language(language.name).is_some(), "{}", language.name);
        }
    }
}
