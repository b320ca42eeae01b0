//! Reads `pyproject.toml`: the name of the distribution and its dependencies. A `setup.py` is a program that is not executed; only
//! a literal name is read from it.
//!
//! Does not know which packages are built from which folders.

use crate::manifest::{DependencyTarget, ProjectManifest};
use toml::{Table, Value};

pub(crate) fn parse_manifest(text: &str) -> ProjectManifest {
    match text.parse::<Table>() {
        Ok(table) => parse_pyproject(&table),
        Err(_) => ProjectManifest { name: find_name_argument(text), ..ProjectManifest::default() },
    }
}

fn parse_pyproject(table: &Table) -> ProjectManifest {
    let project = table.get("project");
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let name = project.or(poetry).and_then(|it| it.get("name")).and_then(Value::as_str);
    let listed = project.and_then(|it| it.get("dependencies")).and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str).map(parse_requirement);
    let keyed = poetry.and_then(|it| it.get("dependencies")).and_then(Value::as_table);
    let keyed = keyed.into_iter().flatten().map(|(name, value)| {
        let path = value.get("path").and_then(Value::as_str);
        let target = path.map_or_else(
            || DependencyTarget::Name(name.clone()),
            |path| DependencyTarget::Folder(path.to_owned()),
        );
        (name.clone(), target)
    });
    ProjectManifest {
        name: name.map(str::to_owned),
        dependencies: listed.chain(keyed).collect(),
        ..ProjectManifest::default()
    }
}

/// The name in `name[extra] >= 1 ; marker`.
fn parse_requirement(text: &str) -> (String, DependencyTarget) {
    let end = text.find(|c: char| !c.is_alphanumeric() && !"-_.".contains(c));
    let name = &text[..end.unwrap_or(text.len())];
    (name.to_owned(), DependencyTarget::Name(name.to_owned()))
}

/// The value of `name="x"` in a `setup.py`.
fn find_name_argument(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("name")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    rest[1..].split_once(quote).map(|(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_dependencies_are_read() {
        let manifest = parse_manifest(
            "[project]\nname = \"a\"\ndependencies = [\"b-c[x]>=1; python_version > '3'\", \"d\"]",
        );
        assert_eq!(manifest.name.as_deref(), Some("a"));
        assert_eq!(manifest.describe_dependencies(), ["b-c", "d"]);
        let manifest = parse_manifest(
            "[tool.poetry]\nname = \"a\"\n[tool.poetry.dependencies]\nb = { path = \"../b\" }",
        );
        assert_eq!(
            (manifest.name.as_deref(), manifest.describe_dependencies()),
            (Some("a"), vec!["b in ../b".to_owned()])
        );
    }

    #[test]
    fn a_literal_name_in_a_program_is_read() {
        assert_eq!(parse_manifest("from x import setup\nsetup(name='a', b=1)").name.as_deref(), Some("a"));
        assert_eq!(parse_manifest("setup(name=NAME)").name, None);
    }
}
