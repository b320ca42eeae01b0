//! The answer of `loci code changes --json`, and what it says about a declaration.
//!
//! Does not know what is expected.

use super::declarations::Expected;
use serde_json::Value;

pub(super) struct Report {
    types: Vec<ReportedType>,
}

/// A type with its change class, or `Added` or `Removed`.
struct ReportedType {
    path: String,
    class: String,
    /// The name of each member, and its class and fate.
    members: Vec<(String, String)>,
}

impl Report {
    pub(super) fn read(answer: &str) -> Result<Report, String> {
        let answer: Value = serde_json::from_str(answer).map_err(|error| format!("{error}: {answer}"))?;
        let changes = answer["changes"].as_array().ok_or("no changes in the answer")?;
        Ok(Report { types: changes.iter().map(read_type).collect() })
    }

    /// What is said about a declaration of a file: the words of each place that may mean it.
    pub(super) fn find(&self, file: &str, expected: &Expected) -> Vec<String> {
        let within =
            if expected.is_type { join(&expected.owner, &expected.name) } else { expected.owner.clone() };
        let module = module_of(file);
        let is_module =
            |path: &str| ends_with(&module, path) || ends_with(path, &module) || last(path) == last(&module);
        let is_meant =
            |path: &str| if within.is_empty() { is_module(path) } else { ends_with(path, &within) };
        let types = self.types.iter().filter(|it| is_meant(&it.path));
        types.flat_map(|it| it.words_about(expected)).collect()
    }
}

impl ReportedType {
    fn words_about(&self, expected: &Expected) -> Vec<String> {
        if expected.is_type || matches!(&*self.class, "Added" | "Removed") {
            return vec![self.class.clone()];
        }
        let members = self.members.iter().filter(|(name, _)| *name == expected.name);
        members.map(|(_, words)| words.clone()).collect()
    }
}

fn read_type(of: &Value) -> ReportedType {
    let text = |field: &str| of[field].as_str().unwrap_or_default().to_owned();
    let members = of["members"].as_array().into_iter().flatten();
    let path: String = text("path").split('+').map(without_arity).collect::<Vec<_>>().join(".");
    ReportedType { path, class: text("changeClass"), members: members.filter_map(read_member).collect() }
}

fn without_arity(part: &str) -> &str {
    part.split('`').next().unwrap_or(part)
}

/// The key is `name(int)`; several declarations with the same key have a number.
fn read_member(member: &Value) -> Option<(String, String)> {
    let text = |field: &str| member[field].as_str();
    let (key, words) = (text("key")?, format!("{} {}", text("changeClass")?, text("change")?));
    let name = key.split(['(', '#', '<']).next().unwrap_or(key);
    let name = if name.is_empty() { key } else { name };
    Some((last(name).trim_matches(['"', '\'']).to_owned(), words))
}

/// The path of a file as a module: without its ending, and without a name that stands for its folder.
fn module_of(file: &str) -> String {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let stem = stem.strip_suffix("/__init__").or_else(|| stem.strip_suffix("/index")).unwrap_or(stem);
    stem.replace('/', ".")
}

fn join(owner: &str, name: &str) -> String {
    if owner.is_empty() { name.to_owned() } else { format!("{owner}.{name}") }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Whether a path ends with another, by whole names.
fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::{ends_with, module_of, read_member};

    #[test]
    fn names_are_read_without_parameters_and_numbers() {
        let read = |key: &str| {
            let member = serde_json::json!({"key": key, "changeClass": "Docs", "change": "Changed"});
            read_member(&member).unwrap_or_default()
        };
        assert_eq!(read("put(int, A.B)").0, "put");
        assert_eq!(read("f#2").0, "f");
        assert_eq!(read("\"~standard\""), ("~standard".to_owned(), "Docs Changed".to_owned()));
    }

    #[test]
    fn a_module_is_named_after_its_file_or_folder() {
        assert_eq!(module_of("src/flask/app.py"), "src.flask.app");
        assert_eq!(module_of("src/flask/__init__.py"), "src.flask");
        assert!(ends_with("src.flask.app", "flask.app") && !ends_with("src.myapp", "app"));
    }
}
