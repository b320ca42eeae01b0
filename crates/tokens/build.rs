//! Writes the vocabulary as sorted tables: see `src/vocabulary.rs`, which reads them.
//!
//! Does not count: the crate that has the vocabulary is needed only here, so that its 71 MB of tables stay out of the binary.

use std::path::Path;

#[allow(clippy::disallowed_methods)] // cargo names the folder in a variable
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let encoding = &bpe_openai::o200k_base().bpe;
    let mut tokens: Vec<(&[u8], u32)> =
        (0..encoding.num_tokens() as u32).map(|rank| (encoding.token_bytes(rank), rank)).collect();
    tokens.sort_unstable();
    let (mut bytes, mut ends, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
    for (token, rank) in &tokens {
        bytes.extend_from_slice(token);
        ends.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        ranks.extend_from_slice(&rank.to_le_bytes());
    }
    let first_of = |start: u32| tokens.partition_point(|(token, _)| first_two(token) < start) as u32;
    let starts: Vec<u8> = (0..=0x1_0000).flat_map(|start| first_of(start).to_le_bytes()).collect();
    for (name, table) in [("bytes", bytes), ("ends", ends), ("ranks", ranks), ("starts", starts)] {
        let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
        std::fs::write(Path::new(&folder).join(name), table).expect("OUT_DIR can be written");
    }
}

/// The first two bytes as a number; a missing second one counts as zero.
fn first_two(token: &[u8]) -> u32 {
    u32::from(token[0]) << 8 | u32::from(token.get(1).copied().unwrap_or(0))
}
