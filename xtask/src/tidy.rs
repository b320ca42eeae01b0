//! `cargo xtask tidy`: checks what the compiler does not: dependencies between crates and modules, engines imported by
//! one crate, a header on every file, no catch-all names, no code for one system outside `os`, ignored tests with a known reason,
//! links to existing files, pages in the table of contents, and existing tests in the table of reliability tests.
//!
//! Does not know the rules for crates, modules, ignored tests and pages: `crates`, `modules`, `ignored`, `reliability`
//! and `site` do.

use crate::args::Args;
use crate::repository::{files, read, root};
use crate::{Outcome, crates, ignored, modules, reliability, site};
use std::path::Path;

pub(crate) const HELP: &str = "check dependencies between crates and modules, file headers and names, ignored tests, links in documents";

/// File and folder names that do not describe their content and attract unrelated code.
const CATCH_ALL_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc"];

pub(crate) fn run(args: &[String]) -> Outcome {
    Args::parse(args, &[], &[])?;
    let found = findings(root())?;
    for finding in &found {
        println!("{finding}");
    }
    Ok(found.is_empty())
}

/// All findings, in a stable order.
fn findings(root: &Path) -> Result<Vec<String>, String> {
    let packages = crates::load_packages(root)?;
    let mut found = crates::findings(&packages);
    found.extend(modules::find_cycles(root)?);
    let files = files(root)?;
    for file in &files {
        let name = file.strip_prefix(root).unwrap_or(file).to_path_buf();
        if name.extension().is_some_and(|ending| ending == "rs") {
            let text = read(file)?;
            found.extend(check_source(&name, &text));
            found.extend(names_one_system(&name, &text));
            if !name.components().any(|part| part.as_os_str() == "examples") {
                found.extend(ignored::silent_passes(&name.display().to_string(), &text));
            }
        }
        if name.extension().is_some_and(|ending| ending == "md") {
            let folder = file.parent().unwrap_or(root);
            let dead = dead_links(&read(file)?, |link| folder.join(link).exists());
            found.extend(dead.iter().map(|link| format!("{}: no such file: {link}", name.display())));
        }
    }
    found.extend(site::unlisted_pages(root)?);
    let tests = ignored::list_tests(root)?;
    found.extend(ignored::findings(&tests, &read(&root.join("CONTRIBUTING.md"))?));
    found.extend(reliability::findings(root, &tests.iter().map(ignored::Test::name).collect::<Vec<_>>())?);
    if !read(&root.join("ARCHITECTURE.md"))?.contains(&crates::render_table(&packages)) {
        found.push(
            "ARCHITECTURE.md: the table of crates is out of date: run `cargo xtask reference`".to_owned(),
        );
    }
    Ok(found)
}

/// A source file begins with a header and has a specific name.
fn check_source(name: &Path, text: &str) -> Option<String> {
    let parts: Vec<String> =
        name.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let is_checked =
        parts.first().is_some_and(|top| top == "xtask") || parts.get(2).is_some_and(|part| part == "src");
    let stem = |part: &String| part.strip_suffix(".rs").unwrap_or(part).to_owned();
    let is_catch_all = |part: &String| CATCH_ALL_NAMES.contains(&part.as_str());
    if is_checked && let Some(part) = parts.iter().map(stem).find(is_catch_all) {
        return Some(format!("{}: `{part}` does not describe the content", name.display()));
    }
    let lacks_header = is_checked && !text.starts_with("//!");
    lacks_header.then(|| format!("{}: does not begin with a `//!` header", name.display()))
}

/// Crates with code for one system: the interface to all of them, process trees, and the tests' own tools.
const SYSTEM_CRATES: &[&str] = &["os", "subprocess", "testutil"];

/// The program of another crate does not compile on every system if it names one. Tests may.
fn names_one_system(name: &Path, text: &str) -> Option<String> {
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    let [top, member, folder, ..] = &parts[..] else { return None };
    let is_checked = top == "crates" && folder == "src" && !SYSTEM_CRATES.contains(&member.as_ref());
    let is_test =
        parts.last().is_some_and(|file| file == "tests.rs") || parts.iter().any(|part| part == "tests");
    let program = text.split("#[cfg(test)]").next().unwrap_or_default();
    let found =
        ["std::os::unix", "std::os::windows", "std::os::fd"].into_iter().find(|one| program.contains(one));
    found
        .filter(|_| is_checked && !is_test)
        .map(|found| format!("{}: `{found}` belongs to `os`", name.display()))
}

/// Links to files that do not exist. Ignores URLs and code blocks.
fn dead_links(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut code = false;
    let mut dead = Vec::new();
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        if code {
            continue;
        }
        for piece in line.split("](").skip(1) {
            let link = piece.split([')', '#', ' ']).next().unwrap_or_default();
            if !link.is_empty() && !link.contains(':') && !exists(link) {
                dead.push(link.to_owned());
            }
        }
    }
    dead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_has_no_findings() {
        assert_eq!(findings(root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_source_file_needs_a_header_and_a_specific_name() {
        let path = Path::new;
        assert!(check_source(path("crates/a/src/lib.rs"), "//! Words.\n").is_none());
        assert!(check_source(path("crates/a/src/lib.rs"), "use x;\n").is_some());
        assert!(check_source(path("crates/a/src/utils.rs"), "//! Words.\n").is_some());
        assert!(check_source(path("crates/a/src/common/x.rs"), "//! Words.\n").is_some());
        assert!(check_source(path("crates/a/tests/common/mod.rs"), "use x;\n").is_none());
    }

    #[test]
    fn code_for_one_system_is_found_outside_its_crate() {
        let text = "//! Words.\nuse std::os::unix::fs::FileExt;\n";
        assert!(names_one_system(Path::new("crates/a/src/lib.rs"), text).is_some());
        assert!(names_one_system(Path::new("crates/os/src/unix.rs"), text).is_none());
        assert!(names_one_system(Path::new("crates/a/tests/a.rs"), text).is_none());
        let in_test = format!("//! Words.\n#[cfg(test)]\n{text}");
        assert!(names_one_system(Path::new("crates/a/src/lib.rs"), &in_test).is_none());
    }

    #[test]
    fn dead_links_are_found() {
        let text = "[a](A.md) [b](b.md#there), [c](#here) [d](https://x.y/z)\n```\n[e](e.md)\n```\n[f](f.md)";
        assert_eq!(dead_links(text, |link| link == "A.md"), ["b.md", "f.md"]);
    }
}
