//! Agents whose histories are on this machine in a form that only they can read: said to be there, and not read.
//!
//! Does not try to decrypt anything.

use crate::roo::editor_roots;
use std::path::{Path, PathBuf};
use transcript::Environment;

/// Name, folder below an editor's settings or the home directory, and the ending of its files; an empty ending stands for
/// any file.
const STORES: &[(&str, Place, &str, &str)] = &[
    ("windsurf", Place::Home, ".codeium/windsurf/cascade", "pb"),
    ("trae", Place::Editor, "Trae/ModularData/ai-agent", ""),
    ("trae", Place::Editor, "Trae CN/ModularData/ai-agent", ""),
    ("antigravity", Place::Home, ".gemini/antigravity/conversations", "pb"),
];

#[derive(Clone, Copy)]
enum Place {
    Home,
    Editor,
}

/// The stores that exist, by agent.
pub fn find_encrypted(places: &Environment) -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    for (name, place, folder, ending) in STORES {
        let roots = match place {
            Place::Home => places.below_home(""),
            Place::Editor => editor_roots(places),
        };
        let folders = roots.into_iter().map(|root| root.join(folder));
        found.extend(folders.filter(|folder| has_file(folder, ending)).map(|folder| (*name, folder)));
    }
    found
}

fn has_file(folder: &Path, ending: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| ending.is_empty() || path.extension().is_some_and(|e| e == ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn encrypted_stores_are_found_but_not_empty_folders() {
        let home = tempfile::tempdir().unwrap();
        let places = Environment { home: home.path().into(), vars: BTreeMap::new() };
        let cascade = home.path().join(".codeium/windsurf/cascade");
        std::fs::create_dir_all(&cascade).unwrap();
        assert!(find_encrypted(&places).is_empty());
        std::fs::write(cascade.join("a.pb"), "x").unwrap();
        assert_eq!(find_encrypted(&places), [("windsurf", cascade)]);
    }
}
