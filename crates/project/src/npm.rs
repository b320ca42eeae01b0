//! Reads `package.json`: the name of the package and its dependencies.
//!
//! Does not know export maps. A `tsconfig.json` without a `package.json` in its folder is a project without a name.

use crate::manifest::{DependencyTarget, ProjectManifest};
use serde_json::Value;

const DEPENDENCY_KEYS: &[&str] =
    &["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

pub(crate) fn parse_manifest(text: &str) -> ProjectManifest {
    // a tsconfig may have comments and fail to parse; none of its contents are needed
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
    let lists = DEPENDENCY_KEYS.iter().filter_map(|list| value.get(*list)?.as_object());
    let listed = lists.flatten().map(|(name, version)| parse_dependency(name, version)).collect();
    ProjectManifest { name, dependencies: listed, ..ProjectManifest::default() }
}

fn parse_dependency(name: &str, version: &Value) -> (String, DependencyTarget) {
    let version = version.as_str().unwrap_or_default();
    let folder = ["file:", "link:", "portal:"].iter().find_map(|kind| version.strip_prefix(kind));
    let target = folder.map_or_else(
        || DependencyTarget::Name(name.to_owned()),
        |it| DependencyTarget::Folder(it.to_owned()),
    );
    (name.to_owned(), target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_dependencies_are_read() {
        let manifest = parse_manifest(
            r#"{"name": "@a/b", "dependencies": {"c": "^1"}, "devDependencies": {"d": "file:../d"}}"#,
        );
        assert_eq!(manifest.name.as_deref(), Some("@a/b"));
        assert_eq!(manifest.describe_dependencies(), ["c", "d in ../d"]);
        assert_eq!(parse_manifest("// none\n{ }"), ProjectManifest::default());
    }
}
