//! Which files a manifest of C# takes from elsewhere, and which of its own folder it leaves out.
//!
//! Does not know that a file may be compiled into several projects: the first that takes one has it.

use crate::path::joined;
use crate::wildcard::wild;

/// One entry of a list: `<Compile Include="..\Shared\*.cs" />`, `<Compile Remove="Baselines\**" />`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) takes: bool,
    /// As the manifest has it.
    pub(crate) pattern: String,
}

/// What a manifest says of files beyond "those below me".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) entries: Vec<Entry>,
    /// Whether what is not listed is not compiled, as before there were SDKs.
    pub(crate) only: bool,
}

impl List {
    /// Whether a file is taken, or left out; none if the list does not speak of it. The last entry that fits decides.
    pub(crate) fn takes(&self, folder: &str, file: &str) -> Option<bool> {
        let fits = |entry: &&Entry| fits(&joined(folder, &entry.pattern), file);
        let last = self.entries.iter().rev().find(fits).map(|entry| entry.takes);
        last.or_else(|| self.only.then_some(false))
    }
}

/// Whether a path fits a pattern, folder by folder: `*` is any text within a name, `**` any folders. Names are the same in either
/// case, as they are where most of these manifests are written.
fn fits(pattern: &str, path: &str) -> bool {
    let split = |text: &str| text.split('/').map(str::to_ascii_lowercase).collect::<Vec<_>>();
    steps_fit(&split(pattern), &split(path))
}

fn steps_fit(pattern: &[String], path: &[String]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => {
            // at the end of a pattern it stands for files too
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
