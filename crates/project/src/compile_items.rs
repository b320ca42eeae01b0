//! `<Compile>` items of a C# project: files included from other folders, and files of its own folder that are excluded.
//!
//! Does not know that a file may be compiled into several projects: the first project that includes it owns it.

use crate::path::joined;
use crate::wildcard::wild;

/// One item: `<Compile Include="..\Shared\*.cs" />` or `<Compile Remove="Baselines\**" />`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) takes: bool,
    /// As written in the manifest.
    pub(crate) pattern: String,
}

/// The compile items of a manifest, in addition to the default of all files below its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) entries: Vec<Entry>,
    /// Whether unlisted files are excluded, as in manifests that predate SDK-style projects.
    pub(crate) only: bool,
}

impl List {
    /// Whether a file is included or excluded; `None` if no item matches it. The last matching item wins.
    pub(crate) fn takes(&self, folder: &str, file: &str) -> Option<bool> {
        let fits = |entry: &&Entry| fits(&joined(folder, &entry.pattern), file);
        let last = self.entries.iter().rev().find(fits).map(|entry| entry.takes);
        last.or_else(|| self.only.then_some(false))
    }
}

/// Matches a path against a pattern, folder by folder: `*` matches any text within a name, `**` any folders. Case is ignored,
/// because most of these manifests are written on Windows.
fn fits(pattern: &str, path: &str) -> bool {
    let split = |text: &str| text.split('/').map(str::to_ascii_lowercase).collect::<Vec<_>>();
    steps_fit(&split(pattern), &split(path))
}

fn steps_fit(pattern: &[String], path: &[String]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => {
            // at the end of a pattern it also matches files
            (rest.is_empty() && !path.is_empty()) || (0..=path.len()).any(|at| steps_fit(rest, &path[at..]))
        }
        Some((first, rest)) => path
            .split_first()
            .is_some_and(|(name, more)| wild(first.as_bytes(), name.as_bytes()) && steps_fit(rest, more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_what_the_build_would_take() {
        for (pattern, path, expected) in [
            ("Shared/*.cs", "Shared/A.cs", true),
            ("Shared/*.cs", "Shared/Deep/A.cs", false),
            ("A/**/*.cs", "A/B.cs", true),
            ("A/**/*.cs", "A/B/C/D.cs", true),
            ("A/**/*", "A/B/C.cs", true),
            ("A/**", "A/B/C.cs", true),
            ("A/**", "B/C.cs", false),
            ("a/b.CS", "A/B.cs", true),
            ("A.cs", "B/A.cs", false),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_entry_that_fits_decides() {
        let entry = |takes: bool, pattern: &str| Entry { takes, pattern: pattern.to_owned() };
        let list = List { entries: vec![entry(false, r"Old\**"), entry(true, r"Old\Kept.cs")], only: false };
        assert_eq!(list.takes("src", "src/Old/A.cs"), Some(false));
        assert_eq!(list.takes("src", "src/Old/Kept.cs"), Some(true));
        assert_eq!(list.takes("src", "src/New.cs"), None);
        assert_eq!(List { only: true, ..list }.takes("src", "src/New.cs"), Some(false));
    }
}
