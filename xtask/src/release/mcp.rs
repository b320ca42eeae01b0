//! What MCP clients install from: a bundle (`.mcpb`) for each platform, and `server.json` for the MCP registry.
//!
//! Does not know the tools of the server: clients ask it for them.

use super::material::{Built, Release};
use super::names;
use super::output::Output;
use super::pack;
use super::tree::Tree;
use serde_json::{Value, json};

const REGISTRY_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const BUNDLE_VERSION: &str = "0.3";

pub(crate) fn write_bundles(release: &Release, output: &mut Output) -> Result<(), String> {
    for built in release.packaged() {
        let mut tree = Tree::default();
        tree.add("manifest.json", format!("{:#}\n", bundle_manifest(release, built)));
        tree.add_program(format!("server/{}", built.target.program()), built.bytes.clone());
        for (name, text) in &release.documents.licences {
            tree.add(*name, text.clone());
        }
        output.write(&bundle_name(release, built), &pack::zip(tree.iter(), release.effort)?)?;
    }
    Ok(())
}

pub(crate) fn bundle_name(release: &Release, built: &Built) -> String {
    format!("loci-{}-{}.mcpb", release.version, built.target.platform())
}

fn bundle_manifest(release: &Release, built: &Built) -> Value {
    let program = format!("server/{}", built.target.program());
    json!({
        "manifest_version": BUNDLE_VERSION,
        "name": names::PROGRAM,
        "display_name": names::TITLE,
        "version": release.version,
        "description": names::SUMMARY,
        "author": {"name": names::AUTHORS, "url": names::REPOSITORY},
        "repository": {"type": "git", "url": names::REPOSITORY},
        "license": names::LICENCE,
        "keywords": names::KEYWORDS,
        "server": {
            "type": "binary",
            "entry_point": program,
            "mcp_config": {"command": format!("${{__dirname}}/{program}"), "args": ["mcp"]},
        },
        "tools_generated": true,
        "compatibility": {"platforms": [built.target.npm.0]},
    })
}

/// Refers to the npm package and every bundle. Not to the wheels: their script is not named after the package, and the registry cannot say so.
pub(crate) fn write_registry(release: &Release, output: &mut Output) -> Result<(), String> {
    let stdio = json!({"type": "stdio"});
    let serve = json!([{"type": "positional", "value": "mcp"}]);
    let mut packages = vec![json!({
        "registryType": "npm",
        "identifier": names::NPM,
        "version": release.version,
        "runtimeHint": "npx",
        "packageArguments": serve,
        "transport": stdio,
    })];
    for built in release.packaged() {
        let name = bundle_name(release, built);
        let sum = output.sum(&name).ok_or_else(|| format!("{name}: not written yet"))?;
        packages.push(json!({
            "registryType": "mcpb",
            "identifier": names::download(&release.version, &name),
            "version": release.version,
            "fileSha256": sum,
            "transport": stdio,
        }));
    }
    let server = json!({
        "$schema": REGISTRY_SCHEMA,
        "name": names::MCP_REGISTRY,
        "title": names::TITLE,
        "description": names::SUMMARY,
        "repository": {"url": names::REPOSITORY, "source": "github"},
        "version": release.version,
        "packages": packages,
    });
    output.write("server.json", format!("{server:#}\n").as_bytes())
}
