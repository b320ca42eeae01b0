//! Reads `composer.json`: the name of the package and its dependencies.
//!
//! Does not know which namespaces a package declares: the source says so.

use crate::manifest::ProjectManifest;
use serde_json::Value;

pub(crate) fn parse_manifest(text: &str) -> ProjectManifest {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut manifest = ProjectManifest { name, ..ProjectManifest::default() };
    let lists = ["require", "require-dev"].into_iter().filter_map(|list| value.get(list)?.as_object());
    lists.flatten().for_each(|(name, _)| manifest.add_dependency(name));
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_dependencies_are_read() {
        let manifest =
            parse_manifest(r#"{"name": "a/b", "require": {"a/c": "^1"}, "require-dev": {"a/d": "*"}}"#);
        assert_eq!(manifest.name.as_deref(), Some("a/b"));
        assert_eq!(manifest.describe_dependencies(), ["a/c", "a/d"]);
        assert_eq!(parse_manifest("{"), ProjectManifest::default());
    }
}
