//! Plugins for agents: marketplaces in the repository for Claude Code, Codex and Cursor, made from `integrations`, and the archives
//! in which Gemini CLI looks for its extension. All start the `loci` on the path.
//!
//! Does not know `loci setup`, which installs the files of `integrations` itself.

use super::material::Release;
use super::names;
use super::output::Output;
use super::pack::{self, Folders};
use super::tree::Tree;
use crate::repository::{files, read, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name of every marketplace, and of the plugin in it.
const NAME: &str = "loci";
const DESCRIPTION: &str =
    "Ask what your coding agents did: search every past conversation, what failed, what it cost";
const CODEX: &str = "integrations/codex-plugin";
const CURSOR: &str = "integrations/cursor-plugin";
/// The same instructions for agents without commands of their own.
const SKILL: &str = "skills/loci/SKILL.md";

// ---- files of the repository

/// Writes the marketplaces and plugins into the repository; says what changed.
pub(crate) fn update_repository(version: &str) -> Result<(), String> {
    for (path, text) in repository_files(root(), version)? {
        let to = root().join(&path);
        if fs::read_to_string(&to).is_ok_and(|old| old == text) {
            continue;
        }
        let written = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&to, text));
        written.map_err(|error| format!("{}: {error}", to.display()))?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Paths and texts. Skill and subagents are those of `integrations`.
pub(crate) fn repository_files(root: &Path, version: &str) -> Result<BTreeMap<String, String>, String> {
    let mut texts = BTreeMap::new();
    for (path, manifest) in [
        (".claude-plugin/marketplace.json".to_owned(), claude_marketplace()),
        (".agents/plugins/marketplace.json".to_owned(), codex_marketplace()),
        (".cursor-plugin/marketplace.json".to_owned(), cursor_marketplace()),
        (format!("{CODEX}/.codex-plugin/plugin.json"), codex_plugin(version)),
        (format!("{CODEX}/.mcp.json"), servers()),
        (format!("{CURSOR}/.cursor-plugin/plugin.json"), plugin(version)),
        (format!("{CURSOR}/mcp.json"), servers()),
    ] {
        texts.insert(path, format!("{manifest:#}\n"));
    }
    let skill = read(&root.join("integrations/codex").join(SKILL))?;
    for plugin in [CODEX, CURSOR] {
        texts.insert(format!("{plugin}/{SKILL}"), skill.clone());
        texts.insert(format!("{plugin}/LICENSE"), read(&root.join("integrations/claude-code/loci/LICENSE"))?);
    }
    for name in ["meta-query", "meta-coach", "error-analyst", "workflow-tuner"] {
        let agent = read(&root.join(format!("integrations/claude-code/loci/agents/{name}.md")))?;
        texts.insert(format!("{CURSOR}/agents/{name}.md"), agent);
    }
    Ok(texts)
}

fn claude_marketplace() -> Value {
    json!({
        "name": NAME,
        "description": names::SUMMARY,
        "owner": {"name": names::AUTHORS},
        "plugins": [{"name": NAME, "source": "./integrations/claude-code/loci", "description": DESCRIPTION}],
    })
}

fn codex_marketplace() -> Value {
    json!({
        "name": NAME,
        "interface": {"displayName": names::TITLE},
        "plugins": [{
            "name": NAME,
            "source": {"source": "local", "path": format!("./{CODEX}")},
            "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
            "category": "Productivity",
        }],
    })
}

fn cursor_marketplace() -> Value {
    json!({
        "name": NAME,
        "owner": {"name": names::AUTHORS},
        "metadata": {"description": names::SUMMARY},
        "plugins": [{"name": NAME, "source": format!("./{CURSOR}"), "description": DESCRIPTION}],
    })
}

fn plugin(version: &str) -> Value {
    json!({
        "name": NAME,
        "version": version,
        "description": DESCRIPTION,
        "author": {"name": names::AUTHORS},
        "homepage": names::REPOSITORY,
        "repository": names::REPOSITORY,
        "license": names::LICENCE,
        "keywords": names::KEYWORDS,
    })
}

fn codex_plugin(version: &str) -> Value {
    let mut manifest = plugin(version);
    manifest["skills"] = json!("./skills/");
    manifest["mcpServers"] = json!("./.mcp.json");
    manifest["interface"] = json!({
        "displayName": names::TITLE,
        "shortDescription": names::SUMMARY,
        "longDescription": DESCRIPTION,
        "developerName": names::AUTHORS,
        "category": "Productivity",
        "websiteURL": names::REPOSITORY,
    });
    manifest
}

fn servers() -> Value {
    json!({"mcpServers": {NAME: {"command": names::PROGRAM, "args": ["mcp"]}}})
}

// ---- files of a release

/// `gemini extensions install` takes the file of a release whose name begins with its platform.
const GEMINI_PLATFORMS: &[&str] = &["darwin", "linux", "win32"];

pub(crate) fn write_gemini(release: &Release, output: &mut Output) -> Result<(), String> {
    let folder = root().join("integrations/gemini-cli");
    let mut tree = Tree::default();
    for file in files(&folder)? {
        let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
        tree.add(name, read(&file)?);
    }
    let packed = pack::gzip(&pack::tar(&tree, release.epoch, Folders::Implied)?, release.effort)?;
    for platform in GEMINI_PLATFORMS {
        output.write(&format!("{platform}.loci-gemini-extension.tar.gz"), &packed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marketplaces_of_the_repository_are_up_to_date() {
        for (path, text) in repository_files(root(), env!("CARGO_PKG_VERSION")).unwrap() {
            let found = fs::read_to_string(root().join(&path)).unwrap_or_default();
            assert_eq!(found, text, "{path}: run `cargo xtask release --plugins`");
        }
    }

    /// Every source of a marketplace is a plugin.
    #[test]
    fn marketplaces_refer_to_plugins() {
        for (marketplace, manifest) in [
            (claude_marketplace(), ".claude-plugin/plugin.json"),
            (codex_marketplace(), ".codex-plugin/plugin.json"),
            (cursor_marketplace(), ".cursor-plugin/plugin.json"),
        ] {
            let source = &marketplace["plugins"][0]["source"];
            let path = source.as_str().or(source["path"].as_str()).unwrap();
            let text = read(&root().join(path).join(manifest)).unwrap();
            let plugin: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(plugin["name"], marketplace["plugins"][0]["name"]);
        }
    }
}
