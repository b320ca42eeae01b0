//! The content of a corpus, counted while it is written: the ground truth for queries.
//!
//! Does not read the files.

use super::tools::TOOLS;
use serde_json::{Map, Value, json};

#[derive(Default, Clone, Debug, PartialEq, Eq)]
pub(super) struct CorpusCounts {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) errors: u64,
    pub(super) prompts: u64,
    pub(super) calls: [u64; TOOLS.len()],
    /// Input, output, cache read, cache write; each reply counts once.
    pub(super) tokens: [u64; 4],
    pub(super) copied_files: u64,
    pub(super) copied_lines: u64,
}

impl CorpusCounts {
    pub(super) fn add(&mut self, other: &CorpusCounts) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.errors += other.errors;
        self.prompts += other.prompts;
        self.copied_files += other.copied_files;
        self.copied_lines += other.copied_lines;
        for (sum, part) in self.calls.iter_mut().zip(other.calls) {
            *sum += part;
        }
        for (sum, part) in self.tokens.iter_mut().zip(other.tokens) {
            *sum += part;
        }
    }

    pub(super) fn to_manifest(&self, size: u64, seed: u64) -> Value {
        let by_tool: Map<String, Value> = TOOLS
            .iter()
            .zip(self.calls)
            .filter(|(_, calls)| *calls > 0)
            .map(|(tool, calls)| (tool.name.to_owned(), calls.into()))
            .collect();
        let [input, output, cache_read, cache_creation] = self.tokens;
        json!({
            "generator": super::VERSION,
            "seed": seed,
            "size": size,
            "files": self.files,
            "bytes": self.bytes,
            "lines": self.lines,
            "calls": self.calls.iter().sum::<u64>(),
            "errors": self.errors,
            "calls_by_tool": by_tool,
            "prompts": self.prompts,
            "tokens": {
                "input": input,
                "output": output,
                "cache_read": cache_read,
                "cache_creation": cache_creation,
            },
            "copies": { "files": self.copied_files, "lines": self.copied_lines },
        })
    }
}
