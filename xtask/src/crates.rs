//! The rooms of the house and the doors between them: which crate may use which, and which engine is let into
//! which room. `tidy` holds the manifests against these tables, and ARCHITECTURE.md shows them.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Each room with the rooms it may use, from the words to the binary. Any other edge is a finding.
pub(crate) const ROOMS: &[(&str, &[&str])] = &[
    ("record", &[]),
    ("db", &[]),
    ("sources", &["record", "db"]),
    ("catalogue", &["record", "db"]),
    ("query", &["record"]),
    ("mask", &[]),
    ("search", &[]),
    ("syntax", &[]),
    ("project", &["syntax"]),
    ("code", &["db", "syntax", "project"]),
    ("subprocess", &[]),
    ("mailbox", &["db", "subprocess"]),
    ("memory", &["record", "db"]),
    ("recommend", &["record", "search"]),
    ("llm", &["record", "db", "mask", "subprocess"]),
    ("api", &["record"]),
    ("render", &["api", "record"]),
    ("history", &["api", "catalogue", "mask", "record", "search", "sources"]),
    ("setup", &["api"]),
    (
        "service",
        &[
            "api",
            "catalogue",
            "code",
            "history",
            "llm",
            "mask",
            "memory",
            "mailbox",
            "query",
            "recommend",
            "record",
            "render",
            "search",
            "setup",
            "sources",
            "subprocess",
        ],
    ),
    ("mcp", &["api"]),
    ("daemon", &["api", "record"]),
    ("loci", &["api", "render", "service", "mcp", "daemon", "record"]),
    ("testutil", &["record", "db", "sources"]),
];

/// Rooms that the tests of a room may use besides: to look into a database, to make up secrets.
const TESTS: &[(&str, &[&str])] = &[
    ("loci", &["db", "mask", "subprocess", "testutil"]),
    ("llm", &["testutil"]),
    ("sources", &["testutil"]),
];

/// What only reads the tables of the others, to check them or to write them down.
const OUTSIDE: &str = "xtask";

/// A third-party engine and the one room that may import it; `deny.toml` says the same of the whole tree, except for
/// what tests share.
pub(crate) struct Engine {
    pub(crate) name: &'static str,
    pub(crate) room: &'static str,
    /// Whether tests elsewhere may use it as well.
    pub(crate) tests: bool,
}

pub(crate) const ENGINES: &[Engine] = &[
    Engine { name: "rusqlite", room: "db", tests: false },
    Engine { name: "jaq-core", room: "query", tests: false },
    Engine { name: "jaq-std", room: "query", tests: false },
    Engine { name: "jaq-json", room: "query", tests: false },
    Engine { name: "tantivy", room: "search", tests: false },
    Engine { name: "clap", room: "loci", tests: false },
    Engine { name: "nix", room: "loci", tests: false },
    Engine { name: "zstd", room: "sources", tests: false },
    Engine { name: "rmcp", room: "mcp", tests: false },
    Engine { name: "tokio", room: "mcp", tests: false },
    Engine { name: "hyper", room: "mcp", tests: false },
    Engine { name: "tree-sitter", room: "syntax", tests: false },
    Engine { name: "tree-sitter-c-sharp", room: "syntax", tests: false },
    Engine { name: "tree-sitter-rust", room: "syntax", tests: false },
    Engine { name: "tree-sitter-typescript", room: "syntax", tests: false },
    Engine { name: "tree-sitter-python", room: "syntax", tests: false },
    Engine { name: "tree-sitter-go", room: "syntax", tests: false },
    Engine { name: "tree-sitter-java", room: "syntax", tests: false },
    Engine { name: "ignore", room: "project", tests: false },
    Engine { name: "postcard", room: "code", tests: false },
    Engine { name: "bpe-openai", room: "code", tests: true },
    Engine { name: "notify", room: "daemon", tests: false },
    Engine { name: "signal-hook", room: "daemon", tests: false },
    Engine { name: "ureq", room: "llm", tests: false },
    Engine { name: "tempfile", room: "catalogue", tests: true },
];

/// A crate of this workspace, as its manifest has it.
pub(crate) struct Package {
    pub(crate) room: String,
    pub(crate) sentence: String,
    pub(crate) uses: Vec<Use>,
}

pub(crate) struct Use {
    pub(crate) name: String,
    pub(crate) tests: bool,
}

/// Asks cargo what the manifests say; needs no network and builds nothing.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let told = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !told.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&told.stderr).trim()));
    }
    let told: Value =
        serde_json::from_slice(&told.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = told["packages"].as_array().ok_or("cargo metadata: no packages")?;
    Ok(packages.iter().map(package).collect())
}

fn package(told: &Value) -> Package {
    let uses = told["dependencies"].as_array().into_iter().flatten();
    let one = |used: &Value| Use { name: room(&used["name"]), tests: used["kind"] == "dev" };
    Package {
        room: room(&told["name"]),
        sentence: told["description"].as_str().unwrap_or_default().to_owned(),
        uses: uses.map(one).collect(),
    }
}

/// `loci-record` is the room `record`.
fn room(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("loci-").unwrap_or(name).to_owned()
}

/// Edges that no table allows.
pub(crate) fn findings(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages.iter().filter(|package| package.room != OUTSIDE) {
        let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == package.room) else {
            found.push(format!("{}: a crate without a row in xtask/src/rooms.rs", package.room));
            continue;
        };
        for used in &package.uses {
            let ours = packages.iter().any(|other| other.room == used.name);
            let tested = used.tests && is_for_tests(&package.room, &used.name);
            if ours && !tested && !allowed.contains(&used.name.as_str()) {
                found.push(format!(
                    "{} uses {}, which ARCHITECTURE.md does not allow",
                    package.room, used.name
                ));
            }
        }
    }
    for (package, used) in
        packages.iter().flat_map(|package| package.uses.iter().map(move |used| (package, used)))
    {
        let engine = ENGINES.iter().find(|engine| engine.name == used.name);
        if let Some(engine) = engine
            .filter(|e| e.room != package.room && !(e.tests && (used.tests || package.room == "testutil")))
        {
            found.push(format!("{} imports {}, which belongs to {}", package.room, engine.name, engine.room));
        }
    }
    found
}

fn is_for_tests(room: &str, used: &str) -> bool {
    TESTS.iter().any(|(of, rooms)| *of == room && rooms.contains(&used))
}

/// The table of ARCHITECTURE.md: each room, its manifest's sentence, what it may use and what it confines.
pub(crate) fn table(packages: &[Package]) -> String {
    let mut table =
        String::from("| room | what it is for | may use | alone imports |\n| --- | --- | --- | --- |\n");
    for (room, allowed) in ROOMS {
        let sentence = packages.iter().find(|package| package.room == *room).map_or("", |p| &p.sentence);
        let engines: Vec<&str> = ENGINES.iter().filter(|e| e.room == *room).map(|e| e.name).collect();
        let row = [format!("`{room}`"), sentence.to_owned(), listed(allowed), listed(&engines)];
        table.extend(["| ", &row.join(" | "), " |\n"]);
    }
    table
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "–".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(room: &str, uses: &[(&str, bool)]) -> Package {
        let one = |(name, tests): &(&str, bool)| Use { name: (*name).to_owned(), tests: *tests };
        Package { room: room.to_owned(), sentence: String::new(), uses: uses.iter().map(one).collect() }
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_is_found() {
        let house = [
            package("record", &[]),
            package("api", &[("record", false)]),
            package("query", &[("api", true)]),
        ];
        assert_eq!(findings(&house), ["query uses api, which ARCHITECTURE.md does not allow"]);
        let tested = [package("db", &[]), package("loci", &[("db", true)])];
        assert_eq!(findings(&tested), [""; 0]);
        let shipped = [package("db", &[]), package("loci", &[("db", false)])];
        assert_eq!(findings(&shipped), ["loci uses db, which ARCHITECTURE.md does not allow"]);
        assert_eq!(
            findings(&[package("attic", &[])]),
            ["attic: a crate without a row in xtask/src/rooms.rs"]
        );
    }

    #[test]
    fn an_engine_is_imported_by_one_crate() {
        let house = [package("sources", &[("tempfile", true), ("rusqlite", true), ("zstd", false)])];
        assert_eq!(findings(&house), ["sources imports rusqlite, which belongs to db"]);
        assert_eq!(findings(&[package("query", &[("tempfile", false)])]).len(), 1);
        assert_eq!(findings(&[package("xtask", &[("clap", false), ("record", false)])]).len(), 1);
    }

    #[test]
    fn no_crate_uses_one_below_it() {
        for (at, (room, allowed)) in ROOMS.iter().enumerate() {
            let above = |name: &&str| ROOMS[..at].iter().any(|(known, _)| known == name);
            assert!(allowed.iter().all(above), "{room}");
        }
    }
}
