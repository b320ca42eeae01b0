//! npm: one package per platform with its binary, and a launcher that depends on all of them, so that npm installs the one that fits.
//! Nothing is downloaded by a script, and nothing runs at installation.
//!
//! Does not know the registry.

use super::material::{Built, Release};
use super::names;
use super::output::Output;
use super::pack::{self, Folders};
use super::readme;
use super::targets::Target;
use super::tree::Tree;
use serde_json::{Map, Value, json};

const LAUNCHER: &str = include_str!("npm/loci.js");

pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    for built in release.packaged() {
        let name = platform_package(built.target);
        let mut tree = package(release, &platform_manifest(release, built), &platform_readme(built.target));
        tree.add_program(format!("bin/{}", built.target.program()), built.bytes.clone());
        write_package(release, output, &name, tree)?;
    }
    let mut tree =
        package(release, &launcher_manifest(release), &readme::text(names::NPM, "npx @loci-dev/loci --help"));
    tree.add_program("bin/loci.js", LAUNCHER);
    write_package(release, output, names::NPM, tree)
}

fn package(release: &Release, manifest: &Value, readme: &str) -> Tree {
    let mut tree = Tree::default();
    tree.add("package.json", format!("{manifest:#}\n"));
    tree.add("README.md", readme);
    for (name, text) in &release.documents.licences {
        tree.add(*name, text.clone());
    }
    tree
}

/// As `npm pack` names it.
pub(crate) fn file_name(release: &Release, package: &str) -> String {
    format!("npm/{}-{}.tgz", package.trim_start_matches('@').replace('/', "-"), release.version)
}

fn write_package(release: &Release, output: &mut Output, name: &str, tree: Tree) -> Result<(), String> {
    let tar = pack::tar(&tree.below("package"), release.epoch, Folders::Implied)?;
    output.write(&file_name(release, name), &pack::gzip(&tar, release.effort)?)
}

pub(crate) fn platform_package(target: &Target) -> String {
    format!("{}-{}", names::NPM, target.platform())
}

fn shared_manifest(release: &Release, name: &str, description: &str) -> Map<String, Value> {
    let mut manifest = Map::new();
    for (key, value) in [
        ("name", json!(name)),
        ("version", json!(release.version)),
        ("description", json!(description)),
        ("license", json!(names::LICENCE)),
        ("author", json!(names::AUTHORS)),
        ("homepage", json!(names::REPOSITORY)),
        ("repository", json!({"type": "git", "url": format!("git+{}.git", names::REPOSITORY)})),
        ("publishConfig", json!({"access": "public"})),
    ] {
        manifest.insert(key.to_owned(), value);
    }
    manifest
}

fn platform_manifest(release: &Release, built: &Built) -> Value {
    let (os, cpu) = built.target.npm;
    let description = format!("The binary of {} for {os} on {cpu}", names::NPM);
    let mut manifest = shared_manifest(release, &platform_package(built.target), &description);
    manifest.insert("os".to_owned(), json!([os]));
    manifest.insert("cpu".to_owned(), json!([cpu]));
    if let Some(libc) = built.target.libc {
        manifest.insert("libc".to_owned(), json!([libc]));
    }
    manifest.insert("preferUnplugged".to_owned(), json!(true));
    Value::Object(manifest)
}

fn platform_readme(target: &Target) -> String {
    format!(
        "# {}\n\nThe binary for {}. Install [{}](https://www.npmjs.com/package/{2}) instead.\n",
        platform_package(target),
        target.triple,
        names::NPM
    )
}

fn launcher_manifest(release: &Release) -> Value {
    let mut manifest = shared_manifest(release, names::NPM, names::SUMMARY);
    let platforms: Map<String, Value> =
        release.packaged().map(|built| (platform_package(built.target), json!(release.version))).collect();
    manifest.insert("mcpName".to_owned(), json!(names::MCP_REGISTRY));
    manifest.insert("keywords".to_owned(), json!(names::KEYWORDS));
    manifest.insert("bin".to_owned(), json!({names::PROGRAM: "bin/loci.js"}));
    manifest.insert("engines".to_owned(), json!({"node": ">=18"}));
    manifest.insert("optionalDependencies".to_owned(), Value::Object(platforms));
    Value::Object(manifest)
}
