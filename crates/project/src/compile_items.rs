//! `<Compile>` items of a C# project: files included from other folders, and files of its own folder that are excluded.
//!
//! Does not know that a file may be compiled into several projects: the first project that includes it owns it.

use crate::path::join_path;
use crate::wildcard::wildcard_matches;

/// One item: `<Compile Include="..\Shared\*.cs" />` or `<Compile Remove="Baselines\**" />`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompileItem {
    pub(crate) is_included: bool,
    /// As written in the manifest.
    pub(crate) pattern: String,
}

/// The compile items of a manifest, in addition to the default of all files below its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompileItems {
    pub(crate) items: Vec<CompileItem>,
    /// Whether unlisted files are excluded, as in manifests that predate SDK-style projects.
    pub(crate) is_exclusive: bool,
}

impl CompileItems {
    /// Whether a file is included or excluded; `None` if no item matches it. The last matching item wins.
    pub(crate) fn includes_file(&self, folder: &str, file: &str) -> Option<bool> {
        let fits = |entry: &&CompileItem| matches_pattern(&join_path(folder, &entry.pattern), file);
        let last = self.items.iter().rev().find(fits).map(|entry| entry.is_included);
        last.or_else(|| self.is_exclusive.then_some(false))
    }
}

/// Matches a path against a pattern, folder by folder: `*` matches any text within a name, `**` any folders. Case is ignored,
/// because most of these manifests are written on Windows.
fn matches_pattern(pattern: &str, path: &str) -> bool {
    let split = |text: &str| text.split('/').map(str::to_ascii_lowercase).collect::<Vec<_>>();
    segments_match(&split(pattern), &split(path))
}

fn segments_match(pattern: &[String], path: &[String]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => {
            // at the end of a pattern it also matches files
            (rest.is_empty() && !path.is_empty())
                || (0..=path.len()).any(|at| segments_match(rest, &path[at..]))
        }
        Some((first, rest)) => path.split_first().is_some_and(|(name, more)| {
            wildcard_matches(first.as_bytes(), name.as_bytes()) && segments_match(rest, more)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_like_in_msbuild() {
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
            assert_eq!(matches_pattern(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_matching_item_wins() {
        let entry =
            |takes: bool, pattern: &str| CompileItem { is_included: takes, pattern: pattern.to_owned() };
        let list = CompileItems {
            items: vec![entry(false, r"Old\**"), entry(true, r"Old\Kept.cs")],
            is_exclusive: false,
        };
        assert_eq!(list.includes_file("src", "src/Old/A.cs"), Some(false));
        assert_eq!(list.includes_file("src", "src/Old/Kept.cs"), Some(true));
        assert_eq!(list.includes_file("src", "src/New.cs"), None);
        assert_eq!(
            CompileItems { is_exclusive: true, ..list }.includes_file("src", "src/New.cs"),
            Some(false)
        );
    }
}
