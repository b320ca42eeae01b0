//! Reads `Cargo.toml`: the name of the crate and its dependencies.
//!
//! Does not know features or targets. The manifest of a virtual workspace does not describe a project.

use crate::manifest::{DependencyTarget, ProjectManifest};
use toml::{Table, Value};

const DEPENDENCY_TABLES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub(crate) fn parse_manifest(text: &str) -> ProjectManifest {
    let table: Table = text.parse().unwrap_or_default();
    let package = table.get("package");
    let library = table.get("lib").and_then(|lib| lib.get("name")).and_then(Value::as_str);
    let name = library.or_else(|| package?.get("name")?.as_str());
    let targets = table.get("target").and_then(Value::as_table).into_iter().flatten();
    let mut manifest = ProjectManifest {
        name: name.map(str::to_owned),
        has_no_project: package.is_none(),
        source_root: unusual_root(&table),
        ..ProjectManifest::default()
    };
    manifest.dependencies = collect_dependencies(&table);
    manifest
        .dependencies
        .extend(targets.filter_map(|(_, target)| target.as_table()).flat_map(collect_dependencies));
    let shared = table.get("workspace").and_then(|it| it.get("dependencies")).and_then(Value::as_table);
    manifest.workspace_dependencies =
        shared.into_iter().flatten().map(|(name, value)| parse_dependency(name, value)).collect();
    manifest
}

/// The folder of the library or the first binary, if its path is given and not below `src`.
fn unusual_root(table: &Table) -> Option<String> {
    let binary = || table.get("bin")?.as_array()?.first();
    let target = table.get("lib").filter(|lib| lib.get("path").is_some()).or_else(binary)?;
    let (folder, _) = target.get("path")?.as_str()?.rsplit_once('/')?;
    (folder != "src" && !folder.starts_with("src/")).then(|| folder.trim_start_matches("./").to_owned())
}

fn collect_dependencies(table: &Table) -> Vec<(String, DependencyTarget)> {
    let lists = DEPENDENCY_TABLES.iter().filter_map(|list| table.get(*list)?.as_table());
    lists.flatten().map(|(name, value)| parse_dependency(name, value)).collect()
}

fn parse_dependency(name: &str, value: &Value) -> (String, DependencyTarget) {
    let string = |key: &str| value.get(key).and_then(Value::as_str);
    let target = match string("path") {
        Some(path) => DependencyTarget::Folder(path.to_owned()),
        None => DependencyTarget::Name(string("package").unwrap_or(name).to_owned()),
    };
    (name.to_owned(), target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_dependencies_are_read() {
        let manifest = parse_manifest(
            "[package]\nname = \"a-b\"\n[dependencies]\nc = { path = \"../c\" }\nserde = \"1\"\n\
             [target.'cfg(unix)'.dependencies]\nd = { package = \"e\", version = \"1\" }\n",
        );
        assert_eq!(manifest.name.as_deref(), Some("a-b"));
        assert_eq!(manifest.describe_dependencies(), ["c in ../c", "serde", "d is e"]);
        assert_eq!(parse_manifest("[package]\nname = \"a\"\n[lib]\nname = \"b\"").name.as_deref(), Some("b"));
    }

    #[test]
    fn the_root_of_a_crate_may_be_outside_of_src() {
        for (text, root) in [
            ("[[bin]]\npath = \"crates/core/main.rs\"", Some("crates/core")),
            ("[lib]\npath = \"lib/a.rs\"\n[[bin]]\npath = \"x/main.rs\"", Some("lib")),
            ("[[bin]]\npath = \"src/bin/a.rs\"", None),
            ("[lib]\nname = \"a\"", None),
        ] {
            assert_eq!(parse_manifest(text).source_root.as_deref(), root, "{text}");
        }
    }

    #[test]
    fn a_workspace_is_not_a_project() {
        let manifest =
            parse_manifest("[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\na = { path = \"a\" }");
        assert!(manifest.has_no_project);
        assert_eq!(
            manifest.workspace_dependencies,
            [("a".to_owned(), DependencyTarget::Folder("a".to_owned()))]
        );
        assert!(parse_manifest("[[[").has_no_project);
    }
}
