//! What a `Cargo.toml` says: the crate's name, and the crates beside it that it uses.
//!
//! Does not know features or targets. A manifest that only holds a workspace together is not that of a project.

use crate::manifest::{Told, Wanted};
use toml::{Table, Value};

const LISTS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub(crate) fn read(text: &str) -> Told {
    let table: Table = text.parse().unwrap_or_default();
    let package = table.get("package");
    let library = table.get("lib").and_then(|lib| lib.get("name")).and_then(Value::as_str);
    let name = library.or_else(|| package?.get("name")?.as_str());
    let targets = table.get("target").and_then(Value::as_table).into_iter().flatten();
    let mut told = Told { name: name.map(str::to_owned), is_frame: package.is_none(), ..Told::default() };
    told.wanted = lists(&table);
    told.wanted.extend(targets.filter_map(|(_, target)| target.as_table()).flat_map(lists));
    let shared = table.get("workspace").and_then(|it| it.get("dependencies")).and_then(Value::as_table);
    told.shared = shared.into_iter().flatten().map(|(name, value)| wanted(name, value)).collect();
    told
}

fn lists(table: &Table) -> Vec<(String, Wanted)> {
    let lists = LISTS.iter().filter_map(|list| table.get(*list)?.as_table());
    lists.flatten().map(|(name, value)| wanted(name, value)).collect()
}

fn wanted(name: &str, value: &Value) -> (String, Wanted) {
    let said = |key: &str| value.get(key).and_then(Value::as_str);
    let wanted = match said("path") {
        Some(path) => Wanted::Folder(path.to_owned()),
        None => Wanted::Name(said("package").unwrap_or(name).to_owned()),
    };
    (name.to_owned(), wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_a_name_and_uses_others() {
        let told = read(
            "[package]\nname = \"a-b\"\n[dependencies]\nc = { path = \"../c\" }\nserde = \"1\"\n\
             [target.'cfg(unix)'.dependencies]\nd = { package = \"e\", version = \"1\" }\n",
        );
        assert_eq!(told.name.as_deref(), Some("a-b"));
        assert_eq!(told.wants(), ["c in ../c", "serde", "d is e"]);
        assert_eq!(read("[package]\nname = \"a\"\n[lib]\nname = \"b\"").name.as_deref(), Some("b"));
    }

    #[test]
    fn a_workspace_is_no_project() {
        let told = read("[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\na = { path = \"a\" }");
        assert!(told.is_frame);
        assert_eq!(told.shared, [("a".to_owned(), Wanted::Folder("a".to_owned()))]);
        assert!(read("[[[").is_frame);
    }
}
