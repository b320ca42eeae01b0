//! `cargo xtask ignored`: which tests are ignored and why, and the nextest filter that excludes those whose material is
//! missing.
//!
//! Does not know whether the material is installed: `.ci/run` detects that and passes the missing keys.

use crate::Outcome;
use crate::args::Args;
use crate::repository::{read, root, sources};
use std::path::Path;

pub(crate) const HELP: &str = "[--filter [--without KEY,KEY]]\n\
    list the ignored tests; --filter prints the nextest filter that excludes the tests that take minutes and those that need\n\
    one of the keys, and lists the excluded tests on standard error";

/// A reason to ignore a test: the key in `#[ignore = "needs KEY: see CONTRIBUTING.md"]`, and the required material.
pub(crate) const NEEDS: &[(&str, &str)] = &[
    ("corpus", "recorded transcripts of real agents"),
    ("claude-code", "Claude Code, the scripts that drive it, and a network namespace"),
    ("codex", "Codex, the scripts that drive it, and a network namespace"),
    ("gemini-cli", "Gemini CLI, the scripts that drive it, and a network namespace"),
    ("opencode", "OpenCode and a network namespace"),
    ("qwen", "Qwen Code, the scripts that drive it, and root"),
    ("pi", "Pi, the scripts that drive it, and root"),
    ("copilot", "Copilot CLI, the scripts that drive it, and root"),
    ("droid", "Factory Droid, the scripts that drive it, and root"),
    ("grok", "Grok Build, the scripts that drive it, and root"),
    ("kimi", "Kimi Code, the scripts that drive it, and root"),
    ("cn", "Continue, the scripts that drive it, and root"),
    ("cline", "Cline, the scripts that drive it, and root"),
    ("kilo", "Kilo, the scripts that drive it, and root"),
    ("mcp-tools", "the MCP inspector and the conformance suite"),
    ("chromium", "Debian's chromium and a network namespace"),
    ("axe-core", "axe-core from npm, Debian's chromium and a network namespace"),
    ("model", "a small real model"),
    ("namespaces", "user and mount namespaces"),
    ("root", "root and `setpriv`, to become another user"),
    ("strace", "`strace` that may trace"),
    ("shells", "zsh and fish"),
    ("moto", "moto, a server that speaks S3"),
    ("azurite", "Azurite, a server that speaks the protocol of Azure Blob Storage, and Node.js"),
    ("garage", "Garage, a distributed store that speaks S3"),
];

/// The reason for tests that run only if selected by name.
pub(crate) const LONG: &str = "takes minutes";

pub(crate) struct Test {
    file: String,
    name: String,
    /// Why it is ignored; empty if it is not.
    reason: String,
}

impl Test {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The key of `needs KEY: …`, otherwise the text before the colon.
    fn key(&self) -> &str {
        let what = self.reason.split(':').next().unwrap_or_default();
        what.strip_prefix("needs ").unwrap_or(what)
    }
}

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["without"], &["filter"])?;
    let without: Vec<&str> =
        args.text_value("without").unwrap_or_default().split(',').filter(|key| !key.is_empty()).collect();
    if let Some(key) = without.iter().find(|key| NEEDS.iter().all(|(known, _)| known != *key)) {
        return Err(format!("unknown key {key}"));
    }
    let all = list_tests(root())?;
    if args.has_switch("filter") {
        println!("{}", build_filter(&all, &without));
        return Ok(true);
    }
    for one in all.iter().filter(|test| !test.reason.is_empty()) {
        println!("{:<60} {}  ({})", one.name, one.reason, one.file);
    }
    Ok(true)
}

/// The tests of the workspace, in the order of their files.
pub(crate) fn list_tests(root: &Path) -> Result<Vec<Test>, String> {
    let mut all = Vec::new();
    for (name, path) in sources(root)? {
        all.extend(parse_tests(&name.display().to_string(), &read(&path)?));
    }
    Ok(all)
}

/// The tests of one file.
fn parse_tests(file: &str, text: &str) -> Vec<Test> {
    let mut found = Vec::new();
    let (mut is_test, mut reason) = (false, String::new());
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            (is_test, reason) = (true, String::new());
        } else if is_test && let Some(rest) = line.strip_prefix("#[ignore") {
            rest.split('"').nth(1).unwrap_or("no reason").clone_into(&mut reason);
        } else if is_test && let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split('(').next().unwrap_or_default().to_owned();
            found.push(Test { file: file.to_owned(), name, reason: std::mem::take(&mut reason) });
            is_test = false;
        }
    }
    found
}

/// A nextest filterset without the long tests and those that need missing material. Lists these on standard error.
fn build_filter(all: &[Test], without: &[&str]) -> String {
    let excluded: Vec<&Test> =
        all.iter().filter(|one| one.key() == LONG || without.contains(&one.key())).collect();
    for one in &excluded {
        eprintln!("not run: {} ({}, {})", one.name, one.reason, one.file);
    }
    let names: Vec<&str> = excluded.iter().map(|one| one.name.as_str()).collect();
    if names.is_empty() { "all()".to_owned() } else { format!("not test(/(^|::)({})$/)", names.join("|")) }
}

/// Unknown reasons, and names by which the filter would exclude other tests as well.
pub(crate) fn findings(all: &[Test], contributing: &str) -> Vec<String> {
    let mut found = Vec::new();
    for one in all.iter().filter(|test| !test.reason.is_empty()) {
        let known = NEEDS.iter().any(|(key, _)| one.reason == format!("needs {key}: see CONTRIBUTING.md"));
        if !known && !one.reason.starts_with(&format!("{LONG}: ")) {
            found.push(format!(
                "{}: `{}` is ignored with the reason `{}`, which is not in xtask/src/ignored.rs",
                one.file, one.name, one.reason
            ));
        }
        // The filter selects tests by function name.
        if let Some(other) = all.iter().find(|other| other.name == one.name && other.reason != one.reason) {
            found.push(format!("{}: `{}` is also a test in {}", one.file, one.name, other.file));
        }
    }
    for (key, what) in NEEDS {
        if !contributing.contains(&format!("| `{key}` | {what} |")) {
            found
                .push(format!("CONTRIBUTING.md: no row `{key}` with `{what}` in the table of ignored tests"));
        }
    }
    found
}

/// Code that lets a test pass without checking anything: a message about skipping, or a `return` in its body. A
/// condition that is not about missing material belongs around the assertions or in a helper function.
pub(crate) fn silent_passes(file: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_test, mut inside, mut indent, mut nested) = (false, false, 0, None);
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let width = line.len() - line.trim_start().len();
        let mut finding = |what: &str| found.push(format!("{file}:{}: {what}", at + 1));
        if ["skip", "passed over"].iter().any(|word| trimmed.starts_with(&format!("println!(\"{word}"))) {
            finding("a test that cannot run must be ignored with a reason, not skipped");
        }
        if trimmed == "#[test]" {
            (is_test, indent) = (true, width);
        } else if is_test && trimmed.starts_with("fn ") {
            (is_test, inside) = (false, true);
        } else if inside && nested.is_none() && trimmed.starts_with("fn ") {
            nested = Some(width); // a function within the test may return
        } else if nested == Some(width) && trimmed == "}" {
            nested = None;
        } else if width == indent && trimmed == "}" {
            inside = false;
        } else if inside
            && nested.is_none()
            && (trimmed == "return;" || trimmed.ends_with("else { return };"))
        {
            finding("a test returns early, which counts as a pass");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, reason: &str) -> Test {
        Test { file: "a.rs".to_owned(), name: name.to_owned(), reason: reason.to_owned() }
    }

    #[test]
    fn ignored_tests_are_read_with_their_reasons() {
        let text = "#[test]\nfn a() {}\n\n#[test]\n#[ignore = \"needs model: see CONTRIBUTING.md\"]\nfn b() {}\nfn c() {}\n";
        let found = parse_tests("a.rs", text);
        assert_eq!(
            found.iter().map(|test| (test.name.as_str(), test.key())).collect::<Vec<_>>(),
            [("a", ""), ("b", "model")]
        );
    }

    #[test]
    fn the_filter_excludes_long_tests_and_missing_material() {
        let all = [one("a", "needs model: x"), one("b", "needs root: x"), one("c", "takes minutes: x")];
        assert_eq!(build_filter(&all, &["root"]), "not test(/(^|::)(b|c)$/)");
        assert_eq!(build_filter(&all[..1], &[]), "all()");
    }

    #[test]
    fn an_unknown_reason_and_an_ambiguous_name_are_findings() {
        let rows: Vec<String> = NEEDS.iter().map(|(key, what)| format!("| `{key}` | {what} | x |")).collect();
        let table = rows.join("\n");
        assert_eq!(findings(&[one("a", "needs root: see CONTRIBUTING.md")], &table), [""; 0]);
        assert_eq!(findings(&[one("a", "flaky")], &table).len(), 1);
        let twice = [one("a", "needs root: see CONTRIBUTING.md"), one("a", "")];
        assert_eq!(findings(&twice, &table).len(), 1);
        assert_eq!(findings(&[], "").len(), NEEDS.len());
    }

    #[test]
    fn a_test_that_returns_early_is_a_finding() {
        let body = |lines: &str| format!("#[test]\nfn a() {{\n{lines}}}\n");
        for bad in [
            "    if x {\n        return;\n    }\n",
            "    let Some(x) = y else { return };\n",
            "    println!(\"skipped: x\");\n",
        ] {
            assert_eq!(silent_passes("a.rs", &body(bad)).len(), 1, "{bad}");
        }
        for good in ["    assert!(x);\n", "    fn f() {\n        return;\n    }\n"] {
            assert_eq!(silent_passes("a.rs", &body(good)), [""; 0], "{good}");
        }
        assert_eq!(
            silent_passes("a.rs", "fn helper() {\n    let Some(x) = y else { return };\n}\n"),
            [""; 0]
        );
    }
}
