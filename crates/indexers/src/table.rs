//! The known indexers, and the folders of a tree that each of them fits.
//!
//! Does not run anything.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An indexer that writes an index of SCIP.
#[derive(Clone, Copy, Debug)]
pub struct Indexer {
    pub name: &'static str,
    pub language: &'static str,
    /// The indexer fits a folder with one of these files; `*.` stands for any name before an ending.
    pub manifests: &'static [&'static str],
    pub(crate) program: &'static str,
    pub(crate) arguments: &'static [&'static str],
    /// The command that installs it.
    pub install: &'static str,
}

/// The argument that stands for the file to write.
pub(crate) const OUTPUT: &str = "{output}";

/// The known indexers. None of them is given an option that makes it write into the tree, such as `--infer-tsconfig`.
pub const INDEXERS: &[Indexer] = &[
    Indexer {
        name: "scip-typescript",
        language: "TypeScript",
        manifests: &["tsconfig.json"],
        program: "scip-typescript",
        arguments: &["index", "--output", OUTPUT],
        install: "npm install -g @sourcegraph/scip-typescript",
    },
    Indexer {
        name: "scip-python",
        language: "Python",
        manifests: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"],
        program: "scip-python",
        arguments: &["index", ".", "--output", OUTPUT],
        install: "npm install -g @sourcegraph/scip-python",
    },
    Indexer {
        name: "rust-analyzer",
        language: "Rust",
        manifests: &["Cargo.toml"],
        program: "rust-analyzer",
        arguments: &["scip", ".", "--output", OUTPUT],
        install: "rustup component add rust-analyzer",
    },
    Indexer {
        name: "scip-go",
        language: "Go",
        manifests: &["go.mod"],
        program: "scip-go",
        arguments: &["--output", OUTPUT],
        install: "go install github.com/sourcegraph/scip-go/cmd/scip-go@latest",
    },
    Indexer {
        name: "scip-java",
        language: "Java",
        manifests: &["pom.xml", "build.gradle", "build.gradle.kts"],
        program: "scip-java",
        arguments: &["index", "--output", OUTPUT],
        install: "coursier install --contrib scip-java",
    },
    Indexer {
        name: "scip-dotnet",
        language: "C#",
        manifests: &["*.sln", "*.csproj"],
        program: "scip-dotnet",
        arguments: &["index", "--skip-dotnet-restore", "--output", OUTPUT],
        install: "dotnet tool install --global scip-dotnet",
    },
];

/// An indexer that fits a folder of a tree.
#[derive(Clone, Debug)]
pub struct IndexerTarget {
    pub indexer: &'static Indexer,
    /// Relative to the root of the tree; empty, or with a trailing `/`.
    pub folder: String,
}

/// The indexers that fit a tree, each with the outermost of the folders that it fits; folders end with `/` or are empty.
pub fn find_targets(root: &Path, folders: &[String]) -> Vec<IndexerTarget> {
    let mut folders = folders.to_vec();
    folders.sort();
    folders.dedup();
    let mut found: Vec<IndexerTarget> = Vec::new();
    for indexer in INDEXERS {
        let first = found.len();
        for folder in &folders {
            let is_inside = found[first..].iter().any(|outer| folder.starts_with(&outer.folder));
            if !is_inside && indexer.fits(&root.join(folder)) {
                found.push(IndexerTarget { indexer, folder: folder.clone() });
            }
        }
    }
    found
}

impl Indexer {
    fn fits(&self, folder: &Path) -> bool {
        self.manifests.iter().any(|manifest| match manifest.strip_prefix('*') {
            None => folder.join(manifest).is_file(),
            Some(ending) => std::fs::read_dir(folder)
                .is_ok_and(|mut all| all.any(|it| it.is_ok_and(|it| ends_with(&it.path(), ending)))),
        })
    }
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending))
}

impl IndexerTarget {
    /// The program: the one that the project has installed itself, or the one on the path.
    pub fn find_program(&self, root: &Path, env: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
        let path = env.get(&OsString::from("PATH")).cloned().unwrap_or_default();
        let own = [root.join(&self.folder), root.to_path_buf()].map(|it| it.join("node_modules/.bin"));
        // an empty or relative entry of the path would be looked up in the working directory
        let folders = own.into_iter().chain(std::env::split_paths(&path).filter(|it| it.is_absolute()));
        let names = os::processes::program_names(self.indexer.program);
        let mut all = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        all.find(|path| path.is_file())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may fail by panicking
mod tests {
    use super::*;

    fn sample_tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        root
    }

    fn describe_targets(files: &[&str], folders: &[&str]) -> Vec<String> {
        let root = sample_tree(files);
        let folders: Vec<String> = folders.iter().map(|it| (*it).to_owned()).collect();
        let found = find_targets(root.path(), &folders);
        found.iter().map(|it| format!("{}{}", it.folder, it.indexer.name)).collect()
    }

    #[test]
    fn an_indexer_fits_the_outermost_folder_with_its_manifest() {
        for (files, folders, expected) in [
            (
                &["tsconfig.json", "web/tsconfig.json", "web/pyproject.toml"][..],
                &["", "web/"][..],
                vec!["scip-typescript", "web/scip-python"],
            ),
            (&["a/go.mod", "b/go.mod"], &["", "b/", "a/", "a/"], vec!["a/scip-go", "b/scip-go"]),
            (&["Main.sln", "Cargo.toml"], &[""], vec!["rust-analyzer", "scip-dotnet"]),
            (&["package.json"], &[""], vec![]),
        ] {
            assert_eq!(describe_targets(files, folders), expected, "{files:?}");
        }
    }

    #[test]
    fn the_program_of_the_project_precedes_that_on_the_path() {
        let root = sample_tree(&["web/tsconfig.json", "bin/scip-typescript"]);
        let target = find_targets(root.path(), &["web/".to_owned()]).remove(0);
        let path = |folders: &str| BTreeMap::from([("PATH".into(), OsString::from(folders))]);
        let bin = root.path().join("bin");
        let on_path = path(&format!("relative:{}", bin.display()));
        assert_eq!(target.find_program(root.path(), &on_path), Some(bin.join("scip-typescript")));
        assert_eq!(target.find_program(root.path(), &path("")), None);
        let own = root.path().join("web/node_modules/.bin");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("scip-typescript"), "").unwrap();
        assert_eq!(target.find_program(root.path(), &on_path), Some(own.join("scip-typescript")));
    }
}
