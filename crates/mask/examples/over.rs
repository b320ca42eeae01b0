//! Prints every line in which a secret is found, masked, and the throughput by CPU time, for checking false positives
//! by eye: `cargo run --release -p loci-mask --example over -- <file or folder>…`.

#![allow(clippy::print_stdout)] // a command-line tool

use loci_mask::Masker;
use std::fs;
use std::path::PathBuf;

fn main() {
    let quiet = std::env::args().any(|word| word == "--quiet");
    let mut open: Vec<PathBuf> =
        std::env::args().skip(1).filter(|word| word != "--quiet").map(PathBuf::from).collect();
    let mut texts = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if let Ok(text) = fs::read_to_string(&path) {
            texts.push((path, text));
        }
    }
    let masker = Masker::new([0; 32]);
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    for pass in ["text, cold", "text", "text again", "json by line"] {
        let start = busy();
        let mut altered = 0;
        for (_, text) in &texts {
            if pass == "json by line" {
                altered += text.lines().filter(|line| masker.mask_json(line) != **line).count();
            } else {
                altered += usize::from(masker.mask_text(text) != *text);
            }
        }
        let rate = bytes as f64 * 1e3 / (busy() - start) as f64;
        println!("{pass}: {altered} altered, {} files, {bytes} bytes, {rate:.0} MB/s", texts.len());
    }
    for (path, text) in texts.iter().filter(|_| !quiet) {
        for found in masker.find_secrets(text) {
            let line = text[..found.from].rfind('\n').map_or(0, |at| at + 1);
            let from = text.floor_char_boundary(line.max(found.from.saturating_sub(60)));
            let to = text.ceil_char_boundary((found.to + 20).min(text.len()));
            let number = text[..found.from].matches('\n').count() + 1;
            println!("{}:{number}: {}: {:?}", path.display(), found.kind, &text[from..to]);
        }
    }
}

/// CPU time of this process in nanoseconds, which other processes hardly affect.
fn busy() -> u64 {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}
