//! Reads `package.json`: the name of the package and its dependencies.
//!
//! Does not know export maps. A `tsconfig.json` without a `package.json` in its folder is a project without a name.

use crate::manifest::{Told, Wanted};
use serde_json::Value;

const LISTS: &[&str] = &["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

pub(crate) fn read(text: &str) -> Told {
    // a tsconfig may have comments and fail to parse; none of its contents are needed
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
    let lists = LISTS.iter().filter_map(|list| value.get(*list)?.as_object());
    let listed = lists.flatten().map(|(name, version)| wanted(name, version)).collect();
    Told { name, wanted: listed, ..Told::default() }
}

fn wanted(name: &str, version: &Value) -> (String, Wanted) {
    let version = version.as_str().unwrap_or_default();
    let folder = ["file:", "link:", "portal:"].iter().find_map(|kind| version.strip_prefix(kind));
    let target = folder.map_or_else(|| Wanted::Name(name.to_owned()), |it| Wanted::Folder(it.to_owned()));
    (name.to_owned(), target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_a_name_and_uses_others() {
        let manifest =
            read(r#"{"name": "@a/b", "dependencies": {"c": "^1"}, "devDependencies": {"d": "file:../d"}}"#);
        assert_eq!(manifest.name.as_deref(), Some("@a/b"));
        assert_eq!(manifest.wants(), ["c", "d in ../d"]);
        assert_eq!(read("// none\n{ }"), Told::default());
    }
}
