//! Surveys arbitrary bytes as a Gemini CLI log (`.jsonl`) and as one of its older files (`.json`), and fetches every
//! row.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    sources::fuzz_survey("gemini-cli", "x.jsonl", bytes);
    sources::fuzz_survey("gemini-cli", "x.json", bytes);
});
