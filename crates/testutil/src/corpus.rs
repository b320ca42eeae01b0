//! Homes that contain transcripts as agents write them, recorded or synthetic, and the records that `loci` prints for
//! them.
//!
//! Does not know what a store contains: the recorded stores follow scripts that the tests know, and each synthetic
//! store has an `expected.json`.

use crate::{Home, command, copy_folder, needs};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Client and version of every recorded store.
pub fn recorded_stores() -> Vec<(String, String)> {
    let root = needs::recorded_transcripts();
    let names = |dir: &Path| -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|name| dir.join(name).is_dir())
            .collect();
        names.sort();
        names
    };
    let of = |client: String| {
        names(&root.join(&client)).into_iter().map(move |v| (client.clone(), v)).collect::<Vec<_>>()
    };
    let stores: Vec<_> = names(&root).into_iter().flat_map(of).collect();
    assert!(!stores.is_empty(), "needs corpus: {} is empty", root.display());
    stores
}

/// The agents of the synthetic corpus.
pub const SYNTHETIC_AGENTS: &[&str] = &["claude-code", "codex", "gemini-cli", "opencode", "chatwise"];

fn synthetic_folder(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(agent)
}

/// The expected content of an agent's part of the synthetic corpus; its README explains the keys.
pub fn load_expected(agent: &str) -> Value {
    let path = synthetic_folder(agent).join("expected.json");
    serde_json::from_slice(&fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .unwrap()
}

/// Replaces each `.sql` file below a folder with the database that it creates.
fn build_databases(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            build_databases(&path);
        } else if path.extension().is_some_and(|ending| ending == "sql") {
            let database = db::Connection::open(path.with_extension("db")).unwrap();
            database.execute_batch(&fs::read_to_string(&path).unwrap()).unwrap();
            fs::remove_file(path).unwrap();
        }
    }
}

/// Exit code, records and standard error of one run of `loci`.
pub struct RunResult {
    pub code: i32,
    pub records: Vec<Value>,
    pub stderr: String,
}

impl Home {
    /// A home with a copy of the recorded store of one client and version.
    pub fn of_recorded(client: &str, version: &str) -> Home {
        let home = Home::new();
        home.add_recorded(client, version);
        home
    }

    /// A home with one agent's part of the synthetic corpus.
    pub fn of_synthetic(agent: &str) -> Home {
        let home = Home::new();
        home.add_synthetic(agent);
        home
    }

    /// Copies one agent's part of the synthetic corpus into this home.
    pub fn add_synthetic(&self, agent: &str) {
        copy_folder(&synthetic_folder(agent).join("home"), self.path());
        build_databases(self.path());
    }

    /// Copies a recorded store into this home.
    pub fn add_recorded(&self, client: &str, version: &str) {
        let store = needs::recorded_transcripts().join(client).join(version);
        assert!(store.is_dir(), "needs corpus: it has no {client} {version}");
        copy_folder(&store, self.path());
    }

    /// Runs `loci`; every line it prints must be a JSON object and no run may panic.
    pub fn run(&self, args: &[&str]) -> RunResult {
        let output = command(self.path(), args).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("panicked"), "loci {args:?}: {stderr}");
        let text = String::from_utf8(output.stdout).unwrap();
        let record = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{args:?}: {e}: {line}"));
            assert!(value.is_object(), "{args:?}: {line}");
            value
        };
        RunResult { code: output.status.code().unwrap(), records: text.lines().map(record).collect(), stderr }
    }

    /// The records of a list over all projects, oldest first: as they happened.
    pub fn oldest_first(&self, args: &[&str]) -> Vec<Value> {
        self.all(&[args, &["--reverse"]].concat())
    }

    /// The records of a view over all projects.
    pub fn all(&self, args: &[&str]) -> Vec<Value> {
        let args = [args, &["--all-projects"]].concat();
        let result = self.run(&args);
        assert!([0, 2, 3].contains(&result.code), "{args:?}: {}: {}", result.code, result.stderr);
        result.records
    }

    pub fn tools(&self) -> Vec<Value> {
        self.oldest_first(&["query", "tools"])
    }

    pub fn errors(&self) -> Vec<Value> {
        self.oldest_first(&["query", "errors"])
    }

    pub fn messages(&self) -> Vec<Value> {
        self.oldest_first(&["query", "messages"])
    }

    pub fn prompts(&self) -> Vec<Value> {
        self.oldest_first(&["query", "user-messages"])
    }

    pub fn sessions(&self) -> Vec<Value> {
        self.oldest_first(&["query", "sessions"])
    }

    /// The total of `loci usage`: replies, then tokens of input, output, cache read and cache write.
    pub fn total_usage(&self) -> [u64; 5] {
        let records = self.all(&["usage", "--by", "total"]);
        assert!(records.len() < 2);
        records.first().map_or([0; 5], usage_counts)
    }
}

pub fn usage_counts(record: &Value) -> [u64; 5] {
    ["messages", "input", "output", "cache_read", "cache_write"].map(|k| record[k].as_u64().unwrap_or(0))
}

// ---- fields of records

pub fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or("")
}

pub fn texts(records: &[Value], key: &str) -> Vec<String> {
    records.iter().map(|r| text(r, key).to_string()).collect()
}

pub fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort();
    all
}

pub fn assert_unique(records: &[Value], key: &str, about: &str) {
    let all = sorted(texts(records, key));
    let mut unique = all.clone();
    unique.dedup();
    assert_eq!(all, unique, "{about}: {key} repeats");
}

/// Tool and status of each call, in session order.
pub fn call_outcomes(mut calls: Vec<&Value>) -> Vec<(String, String)> {
    calls.sort_by_key(|c| (c["turn"].as_u64(), c["sequence"].as_u64()));
    calls.iter().map(|c| (text(c, "tool").to_string(), text(c, "status").to_string())).collect()
}
