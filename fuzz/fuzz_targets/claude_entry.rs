//! Any bytes can be surveyed as a transcript of this agent, and every row found in them read again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sources::fuzz_survey("claude-code", "x.jsonl", bytes));
