//! Reads `Cargo.toml`: the name of the crate and its dependencies.
//!
//! Does not know features or targets. The manifest of a virtual workspace does not describe a project.

use crate::manifest::{Told, Wanted};
use toml::{Table, Value};

const LISTS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub(crate) fn read(text: &str) -> Told {
    let table: Table = text.parse().unwrap_or_default();
    let package = table.get("package");
    let library = table.get("lib").and_then(|lib| lib.get("name")).and_then(Value::as_str);
    let name = library.or_else(|| package?.get("name")?.as_str());
    let targets = table.get("target").and_then(Value::as_table).into_iter().flatten();
    let mut manifest = Told { name: name.map(str::to_owned), is_frame: package.is_none(), ..Told::default() };
    manifest.wanted = lists(&table);
    manifest.wanted.extend(targets.filter_map(|(_, target)| target.as_table()).flat_map(lists));
    let shared = table.get("workspace").and_then(|it| it.get("dependencies")).and_then(Value::as_table);
    manifest.shared = shared.into_iter().flatten().map(|(name, value)| wanted(name, value)).collect();
    manifest
}

fn lists(table: &Table) -> Vec<(String, Wanted)> {
    let lists = LISTS.iter().filter_map(|list| table.get(*list)?.as_table());
    lists.flatten().map(|(name, value)| wanted(name, value)).collect()
}

fn wanted(name: &str, value: &Value) -> (String, Wanted) {
    let string = |key: &str| value.get(key).and_then(Value::as_str);
    let target = match string("path") {
        Some(path) => Wanted::Folder(path.to_owned()),
        None => Wanted::Name(string("package").unwrap_or(name).to_owned()),
    };
    (name.to_owned(), target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_a_name_and_uses_others() {
        let manifest = read(
            "[package]\nname = \"a-b\"\n[dependencies]\nc = { path = \"../c\" }\nserde = \"1\"\n\
             [target.'cfg(unix)'.dependencies]\nd = { package = \"e\", version = \"1\" }\n",
        );
        assert_eq!(manifest.name.as_deref(), Some("a-b"));
        assert_eq!(manifest.wants(), ["c in ../c", "serde", "d is e"]);
        assert_eq!(read("[package]\nname = \"a\"\n[lib]\nname = \"b\"").name.as_deref(), Some("b"));
    }

    #[test]
    fn a_workspace_is_no_project() {
        let manifest = read("[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\na = { path = \"a\" }");
        assert!(manifest.is_frame);
        assert_eq!(manifest.shared, [("a".to_owned(), Wanted::Folder("a".to_owned()))]);
        assert!(read("[[[").is_frame);
    }
}
