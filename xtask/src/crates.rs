//! The layering of the workspace: which crate may depend on which, and which crate alone may import an engine. `tidy`
//! checks the manifests against these tables, and ARCHITECTURE.md contains them.
//!
//! Does not read source code: only the manifests.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Each crate with the crates it may use, from the bottom layer to the binary. Any other edge is a finding.
pub(crate) const CRATES: &[(&str, &[&str])] = &[
    ("os", &[]),
    ("record", &[]),
    ("db", &["os"]),
    ("transcript", &["record", "db", "os"]),
    ("agents", &["record", "transcript"]),
    ("sources", &["agents", "record", "db", "transcript", "os"]),
    ("catalogue", &["record", "db", "os"]),
    ("query", &["record", "os"]),
    ("mask", &[]),
    ("search", &[]),
    ("grammars", &[]),
    ("facts", &[]),
    ("syntax", &["facts", "grammars"]),
    ("project", &["syntax", "os"]),
    ("scip", &[]),
    ("folder", &["os"]),
    ("tokens", &[]),
    ("graph", &[]),
    ("code", &["syntax", "project", "scip", "graph", "tokens"]),
    ("code-index", &["code", "db", "syntax", "project", "folder", "graph", "os"]),
    ("notes", &["code", "graph", "syntax"]),
    ("subprocess", &["os"]),
    ("edits", &["code", "project", "subprocess", "syntax", "os"]),
    ("indexers", &["scip", "subprocess", "os"]),
    ("mailbox", &["db", "subprocess", "os"]),
    ("provenance", &[]),
    ("sync", &["db", "os"]),
    ("memory", &["record", "db"]),
    ("recommend", &["record", "search", "os"]),
    ("llm", &["record", "db", "mask", "subprocess"]),
    ("api-derive", &[]),
    ("api", &["api-derive", "record"]),
    ("render", &["api", "record"]),
    ("report", &["api", "record", "render"]),
    ("history", &["api", "catalogue", "mask", "record", "search", "sources", "os"]),
    ("reply", &["api", "history", "query"]),
    ("lineage", &["api", "history", "provenance", "query", "record", "sources"]),
    ("digests", &["api", "history", "memory", "query", "record", "sources"]),
    ("exchange", &["api", "db", "history", "memory", "os", "record", "sources", "sync"]),
    ("setup", &["api", "os"]),
    ("config", &["api", "history", "llm", "record", "setup", "sources", "os"]),
    ("views", &["api", "catalogue", "code", "config", "history", "lineage", "query", "record", "sources"]),
    (
        "service",
        &[
            "api",
            "catalogue",
            "code",
            "code-index",
            "config",
            "digests",
            "edits",
            "exchange",
            "folder",
            "history",
            "indexers",
            "lineage",
            "llm",
            "mask",
            "memory",
            "notes",
            "mailbox",
            "os",
            "query",
            "recommend",
            "record",
            "render",
            "reply",
            "report",
            "search",
            "setup",
            "sources",
            "subprocess",
            "views",
        ],
    ),
    ("mcp", &["api", "os"]),
    ("daemon", &["api", "record", "os"]),
    ("tui", &["api", "record", "render"]),
    ("loci", &["api", "config", "render", "report", "service", "mcp", "daemon", "tui", "record", "os"]),
    ("testutil", &["record", "db", "sources"]),
];

/// Additional crates for tests: to open a database, to generate secrets.
const TEST_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("loci", &["db", "mask", "subprocess", "testutil"]),
    ("llm", &["testutil"]),
    ("mcp", &["tokens"]),
    ("sources", &["testutil"]),
    ("sync", &["testutil"]),
];

/// The crate outside the layering: it reads the tables of the others to check and document them.
const UNLAYERED: &str = "xtask";

/// A third-party engine and the crates that may import it, in most cases one. `deny.toml` enforces the same for the
/// whole dependency tree, except for engines that tests share.
pub(crate) struct Engine {
    pub(crate) name: &'static str,
    pub(crate) owners: &'static [&'static str],
    /// Whether the tests of other crates may use it as well.
    pub(crate) tests: bool,
}

pub(crate) const ENGINES: &[Engine] = &[
    Engine { name: "rusqlite", owners: &["db"], tests: false },
    Engine { name: "jaq-core", owners: &["query"], tests: false },
    Engine { name: "jaq-std", owners: &["query"], tests: false },
    Engine { name: "jaq-json", owners: &["query"], tests: false },
    Engine { name: "tantivy", owners: &["search"], tests: false },
    Engine { name: "clap", owners: &["loci"], tests: false },
    Engine { name: "nix", owners: &["os"], tests: false },
    Engine { name: "winapi-util", owners: &["os"], tests: false },
    Engine { name: "terminal_size", owners: &["loci"], tests: false },
    Engine { name: "zstd", owners: &["sources", "sync", "grammars"], tests: false },
    Engine { name: "rmcp", owners: &["mcp"], tests: false },
    Engine { name: "tokio", owners: &["mcp", "sync"], tests: false },
    Engine { name: "hyper", owners: &["mcp"], tests: false },
    Engine { name: "tree-sitter", owners: &["syntax"], tests: true },
    Engine { name: "tree-sitter-c-sharp", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-rust", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-typescript", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-python", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-go", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-java", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-c", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-cpp", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-kotlin-ng", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-php", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-ruby", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-swift", owners: &["grammars"], tests: false },
    Engine { name: "tree-sitter-bash", owners: &["grammars"], tests: false },
    Engine { name: "ignore", owners: &["project"], tests: false },
    Engine { name: "postcard", owners: &["code-index"], tests: false },
    Engine { name: "bpe-openai", owners: &["tokens"], tests: false },
    Engine { name: "notify", owners: &["daemon"], tests: false },
    Engine { name: "signal-hook", owners: &["os"], tests: false },
    Engine { name: "ratatui", owners: &["tui"], tests: false },
    Engine { name: "crossterm", owners: &["tui"], tests: false },
    Engine { name: "object_store", owners: &["sync"], tests: false },
    Engine { name: "reqwest", owners: &["sync"], tests: false },
    Engine { name: "rustls", owners: &["sync"], tests: false },
    Engine { name: "age", owners: &["sync"], tests: false },
    Engine { name: "chacha20poly1305", owners: &["sync"], tests: false },
    Engine { name: "ed25519-dalek", owners: &["sync"], tests: false },
    Engine { name: "ureq", owners: &["llm"], tests: false },
    Engine { name: "tempfile", owners: &["catalogue"], tests: true },
];

/// A crate of this workspace, as described by its manifest.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) dependencies: Vec<Dependency>,
}

pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) tests: bool,
}

/// Reads the manifests with `cargo metadata`, without network access and without building.
pub(crate) fn load_packages(root: &Path) -> Result<Vec<Package>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    Ok(packages.iter().map(parse_package).collect())
}

fn parse_package(package: &Value) -> Package {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let one = |used: &Value| Dependency { name: short_name(&used["name"]), tests: used["kind"] == "dev" };
    Package {
        name: short_name(&package["name"]),
        description: package["description"].as_str().unwrap_or_default().to_owned(),
        dependencies: dependencies.map(one).collect(),
    }
}

/// `loci-record` is called `record`.
fn short_name(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("loci-").unwrap_or(name).to_owned()
}

/// Dependencies that no table allows.
pub(crate) fn findings(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages.iter().filter(|package| package.name != UNLAYERED) {
        let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == package.name) else {
            found.push(format!("{}: a crate without a row in xtask/src/crates.rs", package.name));
            continue;
        };
        for used in &package.dependencies {
            let is_member = packages.iter().any(|other| other.name == used.name);
            let is_for_tests = used.tests && may_use_in_tests(&package.name, &used.name);
            if is_member && !is_for_tests && !allowed.contains(&used.name.as_str()) {
                found.push(format!(
                    "{} uses {}, which ARCHITECTURE.md does not allow",
                    package.name, used.name
                ));
            }
        }
    }
    for (package, used) in
        packages.iter().flat_map(|package| package.dependencies.iter().map(move |used| (package, used)))
    {
        let engine = ENGINES.iter().find(|engine| engine.name == used.name);
        if let Some(engine) = engine.filter(|e| {
            !e.owners.contains(&package.name.as_str())
                && !(e.tests && (used.tests || package.name == "testutil"))
        }) {
            found.push(format!(
                "{} imports {}, which belongs to {}",
                package.name,
                engine.name,
                engine.owners.join(", ")
            ));
        }
    }
    found
}

fn may_use_in_tests(name: &str, used: &str) -> bool {
    TEST_DEPENDENCIES.iter().any(|(member, allowed)| *member == name && allowed.contains(&used))
}

/// The table of ARCHITECTURE.md: each crate, the description in its manifest, the crates it may use and the engines
/// that it alone imports.
pub(crate) fn render_table(packages: &[Package]) -> String {
    let mut table =
        String::from("| crate | what it is for | may use | alone imports |\n| --- | --- | --- | --- |\n");
    for (name, allowed) in CRATES {
        let description =
            packages.iter().find(|package| package.name == *name).map_or("", |p| &p.description);
        let engines: Vec<&str> = ENGINES.iter().filter(|e| e.owners.contains(name)).map(|e| e.name).collect();
        let row = [format!("`{name}`"), description.to_owned(), quote_names(allowed), quote_names(&engines)];
        table.extend(["| ", &row.join(" | "), " |\n"]);
    }
    table
}

fn quote_names(names: &[&str]) -> String {
    if names.is_empty() {
        return "–".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let one = |(name, tests): &(&str, bool)| Dependency { name: (*name).to_owned(), tests: *tests };
        let dependencies = dependencies.iter().map(one).collect();
        Package { name: name.to_owned(), description: String::new(), dependencies }
    }

    #[test]
    fn a_dependency_that_is_not_in_the_table_is_found() {
        let workspace = [
            package("record", &[]),
            package("api", &[("record", false)]),
            package("query", &[("api", true)]),
        ];
        assert_eq!(findings(&workspace), ["query uses api, which ARCHITECTURE.md does not allow"]);
        let tested = [package("db", &[]), package("loci", &[("db", true)])];
        assert_eq!(findings(&tested), [""; 0]);
        let shipped = [package("db", &[]), package("loci", &[("db", false)])];
        assert_eq!(findings(&shipped), ["loci uses db, which ARCHITECTURE.md does not allow"]);
        assert_eq!(
            findings(&[package("unknown", &[])]),
            ["unknown: a crate without a row in xtask/src/crates.rs"]
        );
    }

    #[test]
    fn an_engine_is_imported_by_one_crate() {
        let workspace = [package("sources", &[("tempfile", true), ("rusqlite", true), ("zstd", false)])];
        assert_eq!(findings(&workspace), ["sources imports rusqlite, which belongs to db"]);
        assert_eq!(findings(&[package("query", &[("tempfile", false)])]).len(), 1);
        assert_eq!(findings(&[package("xtask", &[("clap", false), ("record", false)])]).len(), 1);
    }

    #[test]
    fn a_crate_uses_only_crates_listed_before_it() {
        for (at, (name, allowed)) in CRATES.iter().enumerate() {
            let is_listed_before = |used: &&str| CRATES[..at].iter().any(|(known, _)| known == used);
            assert!(allowed.iter().all(is_listed_before), "{name}");
        }
    }
}
