//! Counts how many secrets survive masking, and how many decoys are altered:
//! `cargo run -p loci-mask --example score -- secrets.jsonl decoys.jsonl [--show]`. A line with `secret` is a secret in its `text`;
//! one without is a decoy, which must stay as it is.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a command-line tool

use loci_mask::Masker;
use serde_json::Value;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let shows = words.iter().any(|word| word == "--show");
    let masker = Masker::new([7; 32]);
    for file in words.iter().filter(|word| !word.starts_with("--")) {
        let (mut secrets, mut caught, mut decoys, mut altered) = (0, 0, 0, 0);
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let text = entry["text"].as_str().unwrap();
            let masked = masker.mask_text(text);
            if let Some(secret) = entry["secret"].as_str() {
                secrets += 1;
                caught += usize::from(!masked.contains(secret));
                if shows && masked.contains(secret) {
                    println!("MISSED {}: {secret:?} in {text:?}", entry["id"]);
                }
            } else {
                decoys += 1;
                altered += usize::from(masked != text);
                if shows && masked != text {
                    println!("ALTERED {}: {text:?}\n    -> {masked:?}", entry["id"]);
                }
            }
        }
        println!("{file}: {caught} of {secrets} secrets caught, {altered} of {decoys} decoys altered");
    }
}
