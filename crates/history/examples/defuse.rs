//! Runs a file of texts through the guard and prints which are altered, and how many:
//! `cargo run -p loci-history --example defuse -- FILE.jsonl [--altered | --unaltered]`. Each line is `{"id", "text"}`. Payloads should be
//! altered, ordinary texts should not.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a command-line tool

use history::guard::defuse_text;
use loci_history as history;
use serde_json::Value;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (flags, files): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with("--"));
    let shows = |flag: &str| flags.iter().any(|given| *given == flag);
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut altered = 0;
        for entry in &entries {
            let text = entry["text"].as_str().unwrap();
            let defused = defuse_text(text);
            let is_altered = defused != text;
            altered += usize::from(is_altered);
            if is_altered && shows("--altered") || !is_altered && shows("--unaltered") {
                println!("{} {text:?}\n    -> {defused:?}", entry["id"]);
            }
        }
        println!("{file}: {altered} of {} altered", entries.len());
    }
}
