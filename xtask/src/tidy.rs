//! `cargo xtask tidy`: what the compiler does not check about the shape of the house. Directions between rooms,
//! engines in their rooms, a header on every file, no drawers, links that lead somewhere.

use crate::args::Args;
use crate::repository::{files, read, root};
use crate::{Outcome, ignored, modules, rooms};
use std::path::Path;

pub(crate) const HELP: &str =
    "check directions between crates, file headers and names, links in the documents";

/// Names that say nothing of what is inside: such a file becomes a drawer.
const DRAWERS: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc"];

pub(crate) fn run(args: &[String]) -> Outcome {
    Args::parse(args, &[], &[])?;
    let found = findings(root())?;
    for finding in &found {
        println!("{finding}");
    }
    Ok(found.is_empty())
}

/// Everything that is out of order, in a stable order.
fn findings(root: &Path) -> Result<Vec<String>, String> {
    let packages = rooms::packages(root)?;
    let mut found = rooms::findings(&packages);
    found.extend(modules::find_cycles(root)?);
    let files = files(root)?;
    for file in &files {
        let name = file.strip_prefix(root).unwrap_or(file).to_path_buf();
        if name.extension().is_some_and(|ending| ending == "rs") {
            let text = read(file)?;
            found.extend(source(&name, &text));
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
    found.extend(ignored::findings(&ignored::list(root)?, &read(&root.join("CONTRIBUTING.md"))?));
    if !read(&root.join("ARCHITECTURE.md"))?.contains(&rooms::table(&packages)) {
        found.push("ARCHITECTURE.md: its table of rooms is not that of `cargo xtask reference`".to_owned());
    }
    Ok(found)
}

/// A source file says first what it is for, and its name says it too.
fn source(name: &Path, text: &str) -> Option<String> {
    let parts: Vec<String> =
        name.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let inside =
        parts.first().is_some_and(|top| top == "xtask") || parts.get(2).is_some_and(|part| part == "src");
    let stem = |part: &String| part.strip_suffix(".rs").unwrap_or(part).to_owned();
    if inside && let Some(drawer) = parts.iter().map(stem).find(|part| DRAWERS.contains(&part.as_str())) {
        return Some(format!("{}: `{drawer}` does not say what is inside", name.display()));
    }
    let silent = inside && !text.starts_with("//!");
    silent.then(|| format!("{}: begins without `//!` and what it is for", name.display()))
}

/// Links to files that are not there. What lies on the net, or in a code block, is not looked at.
fn dead_links(text: &str, there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut code = false;
    let mut dead = Vec::new();
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        if code {
            continue;
        }
        for piece in line.split("](").skip(1) {
            let link = piece.split([')', '#', ' ']).next().unwrap_or_default();
            if !link.is_empty() && !link.contains(':') && !there(link) {
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
    fn the_workspace_is_in_order() {
        assert_eq!(findings(root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_source_file_says_what_it_is_for() {
        let path = Path::new;
        assert!(source(path("crates/a/src/lib.rs"), "//! Words.\n").is_none());
        assert!(source(path("crates/a/src/lib.rs"), "use x;\n").is_some());
        assert!(source(path("crates/a/src/utils.rs"), "//! Words.\n").is_some());
        assert!(source(path("crates/a/src/common/x.rs"), "//! Words.\n").is_some());
        assert!(source(path("crates/a/tests/common/mod.rs"), "use x;\n").is_none());
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "[a](A.md) [b](b.md#there), [c](#here) [d](https://x.y/z)\n```\n[e](e.md)\n```\n[f](f.md)";
        assert_eq!(dead_links(text, |link| link == "A.md"), ["b.md", "f.md"]);
    }
}
