//! What a `pyproject.toml` says: the name of what is built, and what it needs. A `setup.py` is a program and says nothing without
//! being run, apart from a name that is written out.
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
        let wanted = path.map_or_else(|| Wanted::Name(name.clone()), |path| Wanted::Folder(path.to_owned()));
        (name.clone(), wanted)
    });
    Told { name: name.map(str::to_owned), wanted: listed.chain(keyed).collect(), ..Told::default() }
}

/// The name in `name[extra] >= 1 ; marker`.
fn requirement(text: &str) -> (String, Wanted) {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && !"-_.".contains(letter));
    let name = &text[..end.unwrap_or(text.len())];
    (name.to_owned(), Wanted::Name(name.to_owned()))
}

/// `name="x"` in a program.
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
        let told =
            read("[project]\nname = \"a\"\ndependencies = [\"b-c[x]>=1; python_version > '3'\", \"d\"]");
        assert_eq!(told.name.as_deref(), Some("a"));
        assert_eq!(told.wants(), ["b-c", "d"]);
        let told = read("[tool.poetry]\nname = \"a\"\n[tool.poetry.dependencies]\nb = { path = \"../b\" }");
        assert_eq!((told.name.as_deref(), told.wants()), (Some("a"), vec!["b in ../b".to_owned()]));
    }

    #[test]
    fn a_program_may_say_its_name() {
        assert_eq!(read("from x import setup\nsetup(name='a', b=1)").name.as_deref(), Some("a"));
        assert_eq!(read("setup(name=NAME)").name, None);
    }
}
