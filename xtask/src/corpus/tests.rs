//! The same seed gives the same bytes, and a plain reading of the files agrees with the manifest.

use super::*;
use crate::scan::find_transcripts;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A temporary directory.
struct TempPlace(PathBuf);

impl TempPlace {
    fn new(name: &str) -> TempPlace {
        let place = std::env::temp_dir().join(format!("xtask-corpus-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        TempPlace(place)
    }
}

impl Drop for TempPlace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SIZE: u64 = 4_000_000;

fn read_contents(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = find_transcripts(place).unwrap();
    let name = |path: &Path| path.strip_prefix(place).unwrap().to_path_buf();
    files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

#[test]
fn threads_do_not_change_a_byte_and_the_seed_does() {
    let [one, two, other] = ["one", "two", "other"].map(TempPlace::new);
    let a = generate_corpus(&one.0, SIZE, 7, 1).unwrap();
    let b = generate_corpus(&two.0, SIZE, 7, 2).unwrap();
    generate_corpus(&other.0, SIZE, 8, 2).unwrap();
    assert_eq!(a, b);
    assert!(read_contents(&one.0) == read_contents(&two.0));
    assert!(read_contents(&one.0) != read_contents(&other.0));
    let manifest = |place: &TempPlace| fs::read_to_string(place.0.join("manifest.json")).unwrap();
    assert_eq!(manifest(&one), manifest(&two));
    // A second run must not mix with the first.
    assert!(generate_corpus(&one.0, SIZE, 7, 1).is_err());
}

/// The counts of a simple reader.
#[derive(Default)]
struct PlainCounts {
    lines: u64,
    calls: BTreeMap<String, String>,
    errors: BTreeSet<String>,
    prompts: BTreeSet<String>,
    replies: BTreeMap<String, [u64; 4]>,
    uuids: BTreeSet<String>,
    copied: u64,
    answered: BTreeSet<String>,
}

impl PlainCounts {
    fn count_line(&mut self, entry: &Value) {
        self.lines += 1;
        let text = |at: &str| entry.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let uuid = text("/uuid");
        if !uuid.is_empty() && !self.uuids.insert(uuid.clone()) {
            self.copied += 1;
        }
        let typed = entry["type"] == "user" && entry["message"]["content"].is_string();
        let own = entry["isSidechain"] == false && entry.get("isCompactSummary").is_none();
        if (typed && own) || text("/attachment/type") == "queued_command" {
            self.prompts.insert(uuid);
        }
        let usage = &entry["message"]["usage"];
        if usage.is_object() {
            let keys =
                ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
            let tokens = keys.map(|key| usage[key].as_u64().unwrap());
            let before = self.replies.insert(text("/message/id"), tokens);
            assert!(before.is_none_or(|before| before == tokens));
        }
        for block in entry["message"]["content"].as_array().into_iter().flatten() {
            self.count_block(block, entry);
        }
    }

    fn count_block(&mut self, block: &Value, entry: &Value) {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        if block["type"] == "tool_use" {
            assert!(block["input"].is_object());
            self.calls.insert(text("id"), text("name"));
        }
        if block["type"] == "tool_result" {
            assert!(entry.get("toolUseResult").is_some());
            self.answered.insert(text("tool_use_id"));
            if block["is_error"] == true {
                self.errors.insert(text("tool_use_id"));
            }
        }
    }
}

#[test]
fn the_manifest_matches_the_files() {
    let place = TempPlace::new("walk");
    generate_corpus(&place.0, SIZE, 7, 2).unwrap();
    let manifest: Value = serde_json::from_slice(&fs::read(place.0.join("manifest.json")).unwrap()).unwrap();
    let files = read_contents(&place.0);
    let mut found = PlainCounts::default();
    for (path, bytes) in &files {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        for line in std::str::from_utf8(bytes).unwrap().lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let agent = stem.strip_prefix("agent-");
            assert!(agent.is_some() || entry.get("sessionId").is_none_or(|id| id == stem));
            assert!(agent.is_none_or(|agent| entry["agentId"] == agent));
            found.count_line(&entry);
        }
    }
    let count = |at: &str| manifest.pointer(at).and_then(Value::as_u64).unwrap();
    assert_eq!(count("/files"), files.len() as u64);
    assert_eq!(count("/bytes"), files.values().map(|bytes| bytes.len() as u64).sum::<u64>());
    assert_eq!(count("/lines"), found.lines);
    assert_eq!(count("/calls"), found.calls.len() as u64);
    assert_eq!(count("/errors"), found.errors.len() as u64);
    assert_eq!(count("/prompts"), found.prompts.len() as u64);
    assert_eq!(found.calls.keys().collect::<Vec<_>>(), found.answered.iter().collect::<Vec<_>>());
    for (at, key) in ["input", "output", "cache_read", "cache_creation"].iter().enumerate() {
        let sum: u64 = found.replies.values().map(|tokens| tokens[at]).sum();
        assert_eq!(count(&format!("/tokens/{key}")), sum, "{key}");
    }
    for (tool, calls) in manifest["calls_by_tool"].as_object().unwrap() {
        let named = found.calls.values().filter(|name| *name == tool).count();
        assert_eq!(calls.as_u64().unwrap(), named as u64, "{tool}");
    }
    // Snapshots and queue operations have no ID, so fewer IDs repeat than lines were copied.
    assert_eq!(count("/copies/files"), 1);
    assert!(found.copied > 0 && found.copied <= count("/copies/lines"));
}
