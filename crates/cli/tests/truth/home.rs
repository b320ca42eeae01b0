//! A home of its own for each test: a store of the corpus copied into a temporary folder, and `loci` run there.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use tempfile::TempDir;

/// A path the environment names. Which machine this is, is the tests' business and not the program's.
#[allow(clippy::disallowed_methods)]
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// The folder of corpus and scripts, or None with a word about it.
pub(crate) fn shared() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = variable("LOCI_SHARED").unwrap_or(beside);
    if path.join("corpus/transcripts").is_dir() && path.join("clients").is_dir() {
        return path.canonicalize().ok();
    }
    SAID.call_once(|| {
        println!("skipped: no corpus of real transcripts and their scripts at {}", path.display());
    });
    None
}

/// Every store of the corpus: client and version.
pub(crate) fn stores() -> Vec<(String, String)> {
    let Some(root) = shared().map(|s| s.join("corpus/transcripts")) else { return Vec::new() };
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
    names(&root).into_iter().flat_map(of).collect()
}

pub(crate) struct Home {
    dir: TempDir,
}

/// What a run of `loci` left: its exit code and the records on standard output.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) records: Vec<Value>,
    pub(crate) complaint: String,
}

impl Home {
    pub(crate) fn empty() -> Home {
        Home { dir: tempfile::tempdir().unwrap() }
    }

    /// The store of one version of one client, copied.
    pub(crate) fn of(client: &str, version: &str) -> Option<Home> {
        let home = Home::empty();
        home.add(client, version).then_some(home)
    }

    /// Copies a store into this home; false, and a word about it, where there is none.
    pub(crate) fn add(&self, client: &str, version: &str) -> bool {
        let Some(shared) = shared() else { return false };
        let store = shared.join("corpus/transcripts").join(client).join(version);
        if !store.is_dir() {
            println!("skipped: the corpus has no {client} {version}");
            return false;
        }
        copy(&store, self.path());
        true
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs `loci`; every line it prints must be a JSON object and no run may panic.
    pub(crate) fn run(&self, args: &[&str]) -> Answer {
        let output = Command::new(env!("CARGO_BIN_EXE_loci"))
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("LOCI_DAEMON", "off")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.path())
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!complaint.contains("panicked"), "loci {args:?}: {complaint}");
        let text = String::from_utf8(output.stdout).unwrap();
        let record = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{args:?}: {e}: {line}"));
            assert!(value.is_object(), "{args:?}: {line}");
            value
        };
        Answer { code: output.status.code().unwrap(), records: text.lines().map(record).collect(), complaint }
    }

    /// The records of a question over every project.
    pub(crate) fn all(&self, args: &[&str]) -> Vec<Value> {
        let args = [args, &["--all-projects"]].concat();
        let answer = self.run(&args);
        assert!([0, 2, 3].contains(&answer.code), "{args:?}: {}: {}", answer.code, answer.complaint);
        answer.records
    }

    pub(crate) fn tools(&self) -> Vec<Value> {
        self.all(&["query", "tools"])
    }

    pub(crate) fn errors(&self) -> Vec<Value> {
        self.all(&["query", "errors"])
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        self.all(&["query", "messages"])
    }

    pub(crate) fn prompts(&self) -> Vec<Value> {
        self.all(&["query", "user-messages"])
    }

    pub(crate) fn sessions(&self) -> Vec<Value> {
        self.all(&["query", "sessions"])
    }

    /// Replies counted, input, output, cache read, cache written.
    pub(crate) fn total(&self) -> [u64; 5] {
        let records = self.all(&["usage", "--by", "total"]);
        assert!(records.len() < 2);
        records.first().map_or([0; 5], counts)
    }
}

pub(crate) fn counts(record: &Value) -> [u64; 5] {
    ["messages", "input", "output", "cache_read", "cache_write"].map(|k| record[k].as_u64().unwrap_or(0))
}

/// Files made writable: the corpus is not.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

// ---- words about records

pub(crate) fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or("")
}

pub(crate) fn texts(records: &[Value], key: &str) -> Vec<String> {
    records.iter().map(|r| text(r, key).to_string()).collect()
}

pub(crate) fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort();
    all
}

pub(crate) fn assert_unique(records: &[Value], key: &str, about: &str) {
    let all = sorted(texts(records, key));
    let mut once = all.clone();
    once.dedup();
    assert_eq!(all, once, "{about}: {key} repeats");
}

/// Tool and status, in the order of the conversation.
pub(crate) fn ends(mut calls: Vec<&Value>) -> Vec<(String, String)> {
    calls.sort_by_key(|c| (c["turn"].as_u64(), c["sequence"].as_u64()));
    calls.iter().map(|c| (text(c, "tool").to_string(), text(c, "status").to_string())).collect()
}
