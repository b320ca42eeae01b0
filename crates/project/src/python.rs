//! Reads `pyproject.toml`: the name of the distribution and its dependencies. A `setup.py` is a program that is not executed; only
//! a literal name is read from it.
//!
//! Does not know which packages are built from which folders.

use crate::manifest::{Told, Wanted};
use toml::{Table, Value};

pub(crate) fn read(text: &str) -> Told {
    match text.parse::<Table>() {
        Ok(table) => declared(&table),
        Err(_) => Told { name: written(text), ..Told::default() },
    }
}

fn declared(table: &Table) -> Told {
    let project = table.get("project");
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let name = project.or(poetry).and_then(|it| it.get("name")).and_then(Value::as_str);
    let listed = project.and_then(|it| it.get("dependencies")).and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str).map(requirement);
    let keyed = poetry.and_then(|it| it.get("dependencies")).and_then(Value::as_table);
    let keyed = keyed.into_iter().flatten().map(|(name, value)| {
        let path = value.get("path").and_then(Value::as_str);
        let target = path.map_or_else(|| Wanted::Name(name.clone()), |path| Wanted::Folder(path.to_owned()));
        (name.clone(), target)
    });
    Told { name: name.map(str::to_owned), wanted: listed.chain(keyed).collect(), ..Told::default() }
}

/// The name in `name[extra] >= 1 ; marker`.
fn requirement(text: &str) -> (String, Wanted) {
    let end = text.find(|c: char| !c.is_alphanumeric() && !"-_.".contains(c));
    let name = &text[..end.unwrap_or(text.len())];
    (name.to_owned(), Wanted::Name(name.to_owned()))
}

/// The value of `name="x"` in a `setup.py`.
fn written(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("name")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    rest[1..].split_once(quote).map(|(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_a_name_and_needs_others() {
        let manifest =
            read("[project]\nname = \"a\"\ndependencies = [\"b-c[x]>=1; python_version > '3'\", \"d\"]");
        assert_eq!(manifest.name.as_deref(), Some("a"));
        assert_eq!(manifest.wants(), ["b-c", "d"]);
        let manifest =
            read("[tool.poetry]\nname = \"a\"\n[tool.poetry.dependencies]\nb = { path = \"../b\" }");
        assert_eq!((manifest.name.as_deref(), manifest.wants()), (Some("a"), vec!["b in ../b".to_owned()]));
    }

    #[test]
    fn a_program_may_say_its_name() {
        assert_eq!(read("from x import setup\nsetup(name='a', b=1)").name.as_deref(), Some("a"));
        assert_eq!(read("setup(name=NAME)").name, None);
    }
}
