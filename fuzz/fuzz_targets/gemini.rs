//! Any bytes can be surveyed as a log of Gemini CLI and as one of its whole files, and every row read again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    sources::fuzz_survey("gemini-cli", "x.jsonl", bytes);
    sources::fuzz_survey("gemini-cli", "x.json", bytes);
});
