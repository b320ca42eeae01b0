//! The bill of materials of each target: every crate that is linked, with licence and checksum, as `CycloneDX`.
//!
//! Does not know vulnerabilities: `cargo deny` checks them, and scanners read this file.

use super::material::{Release, run_for_text};
use super::names;
use super::output::Output;
use crate::repository::{read, root};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    let sums = load_sums(&read(&root().join("Cargo.lock"))?)?;
    for built in &release.built {
        let bill = describe(&load_metadata(built.target.triple)?, &sums)?;
        output
            .write(&format!("{}.cdx.json", release.stem(built.target)), format!("{bill:#}\n").as_bytes())?;
    }
    Ok(())
}

fn load_metadata(triple: &str) -> Result<Value, String> {
    let mut command = Command::new("cargo");
    command
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", triple])
        .current_dir(root());
    serde_json::from_str(&run_for_text(&mut command)?).map_err(|error| format!("cargo metadata: {error}"))
}

/// Checksums by name and version; our own crates have none.
fn load_sums(lock: &str) -> Result<BTreeMap<(String, String), String>, String> {
    let lock: toml::Table = lock.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).ok_or("Cargo.lock: no packages")?;
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let sum =
        |package| Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?));
    Ok(packages.iter().filter_map(sum).collect())
}

fn describe(metadata: &Value, sums: &BTreeMap<(String, String), String>) -> Result<Value, String> {
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).map(|package| (text(package, "id"), package)).collect();
    let edges = linked_crates(metadata);
    let program =
        packages.values().find(|package| text(package, "name") == names::PROGRAM).ok_or("no package loci")?;
    let used = reachable(&edges, text(program, "id"));
    let component = |id: &&str| packages.get(id).map(|package| describe_crate(package, sums));
    let mut components: Vec<Value> =
        used.iter().filter(|id| **id != text(program, "id")).filter_map(component).collect();
    components.sort_by_key(|component| text(component, "bom-ref").to_owned());
    let mut main = describe_crate(program, sums);
    main["type"] = json!("application");
    let reference = |id: &&str| packages.get(id).map(|package| reference(package));
    let mut dependencies: Vec<(String, Vec<String>)> = used
        .iter()
        .filter_map(|id| {
            let mut all: Vec<String> = edges.get(id)?.iter().filter_map(reference).collect();
            all.sort();
            Some((reference(id)?, all))
        })
        .collect();
    dependencies.sort();
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": main},
        "components": components,
        "dependencies": dependencies.iter().map(|(from, to)| json!({"ref": from, "dependsOn": to})).collect::<Vec<_>>(),
    }))
}

/// Crates whose build scripts put the contents of other crates into the program: grammars and the vocabulary.
const EMBEDDING: &[&str] = &["loci-grammars", "loci-tokens"];

/// For each crate, those that end up in the program with it: not what only builds or tests it.
fn linked_crates(metadata: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let embedding: BTreeSet<&str> = list(&metadata["packages"])
        .filter(|package| EMBEDDING.contains(&text(package, "name")))
        .map(|package| text(package, "id"))
        .collect();
    let mut edges = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let embeds = embedding.contains(text(node, "id"));
        let is_linked = |dependency: &&Value| {
            list(&dependency["dep_kinds"])
                .any(|kind| kind["kind"].is_null() || embeds && kind["kind"] == "build")
        };
        let linked = list(&node["deps"]).filter(is_linked).map(|dependency| text(dependency, "pkg"));
        edges.insert(text(node, "id"), linked.collect());
    }
    edges
}

fn reachable<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(id) = open.pop() {
        for next in edges.get(id).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

fn describe_crate(package: &Value, sums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let mut component =
        json!({"type": "library", "bom-ref": reference(package), "name": name, "version": version});
    // Older manifests write a slash for OR.
    let licence = text(package, "license").replace(" / ", "/").replace('/', " OR ");
    if !licence.is_empty() {
        component["licenses"] = json!([{"expression": licence}]);
    }
    if let Some(sum) = sums.get(&(name.to_owned(), version.to_owned())) {
        component["purl"] = json!(reference(package));
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

fn reference(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
