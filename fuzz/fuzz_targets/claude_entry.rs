//! Surveys arbitrary bytes as a transcript of Claude Code and fetches every row.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sources::fuzz_survey("claude-code", "x.jsonl", bytes));
