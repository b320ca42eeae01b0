//! Reads `go.mod`: the path of the module and the modules it requires.
//!
//! Does not know versions.

use crate::manifest::{DependencyTarget, ProjectManifest};

pub(crate) fn parse_manifest(text: &str) -> ProjectManifest {
    let mut manifest = ProjectManifest::default();
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('"')).collect();
        match words.as_slice() {
            [")"] => block = "",
            [kind, "("] => block = kind,
            ["module", path] => manifest.name = Some((*path).to_owned()),
            ["require", path, ..] => manifest.add_dependency(path),
            ["replace", rest @ ..] => manifest.dependencies.extend(parse_replacement(rest)),
            [path, ..] if block == "require" => manifest.add_dependency(path),
            rest if block == "replace" => manifest.dependencies.extend(parse_replacement(rest)),
            _ => {}
        }
    }
    manifest.has_no_project = manifest.name.is_none();
    manifest
}

/// The folder in `a => ../b`.
fn parse_replacement(words: &[&str]) -> Option<(String, DependencyTarget)> {
    let arrow = words.iter().position(|word| *word == "=>")?;
    let folder = words.get(arrow + 1).filter(|path| path.starts_with('.'))?;
    Some((words[0].to_owned(), DependencyTarget::Folder((*folder).to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_requirements_are_read() {
        let manifest = parse_manifest(
            "module example.com/a // the first\n\ngo 1.22\nrequire x.org/b v1.0.0\nrequire (\n\tx.org/c v1.0.0 // indirect\n)\n\
             replace x.org/c => ../c\nreplace (\n\tx.org/d v1 => ./d\n\tx.org/e => x.org/f v1\n)\n",
        );
        assert_eq!(manifest.name.as_deref(), Some("example.com/a"));
        assert_eq!(
            manifest.describe_dependencies(),
            ["x.org/b", "x.org/c", "x.org/c in ../c", "x.org/d in ./d"]
        );
        assert!(parse_manifest("go 1.22").has_no_project);
    }
}
