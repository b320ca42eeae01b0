//! Reads Claude Code's transcripts with only a JSON parser, as the reference for what `loci` reports.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every JSON line of every transcript in a home, and the number of lines that are not JSON.
#[derive(Default)]
pub(crate) struct Raw {
    pub(crate) entries: Vec<(PathBuf, Value)>,
    pub(crate) lines: u64,
    /// Complete lines that are not JSON.
    pub(crate) torn: u64,
    /// Last lines without a newline that are not JSON.
    pub(crate) unfinished: u64,
}

impl Raw {
    pub(crate) fn read(home: &Path) -> Raw {
        let mut raw = Raw::default();
        for path in list_transcripts(&home.join(".claude/projects")) {
            for line in fs::read(&path).unwrap().split_inclusive(|b| *b == b'\n') {
                raw.lines += 1;
                match serde_json::from_slice(line) {
                    Ok(value) => raw.entries.push((path.clone(), value)),
                    Err(_) if line.ends_with(b"\n") => raw.torn += 1,
                    Err(_) => raw.unfinished += 1,
                }
            }
        }
        raw
    }

    fn of_type(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.entries.iter().map(|(_, e)| e).filter(move |e| e["type"] == kind)
    }

    /// Number of replies and their tokens. A reply counts once, with the largest values on any of its lines.
    pub(crate) fn total(&self) -> [u64; 5] {
        let mut replies: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
        for entry in self.of_type("assistant") {
            let message = &entry["message"];
            if message["model"].as_str().is_none_or(|m| m.starts_with('<')) {
                continue;
            }
            let id = message["id"].as_str().or(entry["uuid"].as_str()).unwrap();
            let largest = replies.entry(id).or_default();
            let fields =
                ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
            for (largest, field) in largest.iter_mut().zip(fields) {
                *largest = (*largest).max(message["usage"][field].as_u64().unwrap_or(0));
            }
        }
        let mut sum = [0; 5];
        for tokens in replies.values().filter(|t| **t != [0; 4]) {
            sum[0] += 1;
            for (sum, n) in sum[1..].iter_mut().zip(tokens) {
                *sum += n;
            }
        }
        sum
    }

    /// Prompts as newer clients mark them: each entry once, without text that the client generated.
    pub(crate) fn marked_prompts(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut prompts = Vec::new();
        for entry in self.of_type("user").filter(|e| e["isMeta"] != true && e["isCompactSummary"] != true) {
            let source = entry["promptSource"].as_str().unwrap_or("");
            let text = content_text(&entry["message"]["content"]);
            let typed = ["typed", "sdk"].contains(&source) && !text.starts_with('<');
            if typed && seen.insert(entry["uuid"].as_str().unwrap()) {
                prompts.push(text);
            }
        }
        prompts
    }

    pub(crate) fn count_summaries(&self) -> usize {
        let all = self.of_type("user").filter(|e| e["isCompactSummary"] == true);
        all.map(|e| e["uuid"].as_str().unwrap()).collect::<BTreeSet<_>>().len()
    }

    /// Number of entries in which the client reports a provider error.
    pub(crate) fn count_api_errors(&self) -> usize {
        let replies = self.of_type("assistant").filter(|e| e["isApiErrorMessage"] == true);
        let retries = self.of_type("system").filter(|e| e["subtype"] == "api_error");
        replies.chain(retries).map(|e| e["uuid"].as_str().unwrap()).collect::<BTreeSet<_>>().len()
    }
}

fn content_text(content: &Value) -> String {
    let Some(blocks) = content.as_array() else { return content.as_str().unwrap_or("").to_string() };
    let text = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or("").to_string(),
        _ => format!("[image: {}]", block["source"]["media_type"].as_str().unwrap_or("")),
    };
    blocks.iter().map(text).collect::<Vec<_>>().join("\n")
}

pub(crate) fn list_transcripts(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(list_transcripts(&path));
        } else if path.extension().is_some_and(|e| e == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    found
}
