//! Where the sources of the grammars' crates lie.
//!
//! Asks cargo, which unpacked them: a dependency does not tell its folder to the build script that uses it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

#[allow(clippy::disallowed_methods)] // cargo speaks to a build script through variables
pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// The folder of each package that is compiled for this target, by its name.
pub(crate) fn find_folders() -> BTreeMap<String, PathBuf> {
    let output = Command::new(variable("CARGO"))
        .args(["metadata", "--format-version=1", "--filter-platform", &variable("TARGET")])
        .current_dir(variable("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON");
    let packages = metadata["packages"].as_array().expect("packages are a list");
    packages.iter().filter_map(folder_of).collect()
}

fn folder_of(package: &serde_json::Value) -> Option<(String, PathBuf)> {
    let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
    Some((package["name"].as_str()?.to_owned(), folder.to_owned()))
}
