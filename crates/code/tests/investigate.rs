//! Questions about this very repository, and a type that whoever knows it would look at first.

#![allow(clippy::unwrap_used)]

use loci_code::{Named, discover, inquiry, read_tree};
use std::path::Path;

/// What is shown of what fits.
const SHOWN: usize = 6;

#[test]
fn questions_about_loci_find_what_answers_them() {
    let types = named(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    let mut missed = Vec::new();
    for (question, expected) in [
        ("How are secrets masked?", "Masker"),
        ("Who is masking what agents see?", "Masker"),
        ("Where is the ledger of model calls kept?", "Ledger"),
        ("How is the daemon started?", "Daemon"),
        ("How are notes about types written?", "NotesWritten"),
        ("How are usages found?", "ops.code.usages"),
        ("Who searches conversations?", "SearchConversations"),
        ("What resolves names?", "Resolver"),
        ("How are outlines built?", "Outliner"),
        ("How are packs built within a budget?", "loci_code.pack"),
        ("Which receipts are written when a provider fails?", "Receipt"),
        ("How are transcripts archived?", "archive"),
    ] {
        let found = inquiry::rank(&inquiry::words(question), &types);
        let first: Vec<&str> = found.iter().take(SHOWN).map(|at| types[*at].name.as_str()).collect();
        if !first.iter().any(|name| name.ends_with(expected)) {
            missed.push(format!("{question} has no {expected}: {first:#?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// All types of a tree but those of its tests, which are called like what they test.
fn named(root: &Path) -> Vec<Named> {
    let mut layout = discover(root).unwrap();
    layout.files.retain(|(path, _)| path.contains("/src/"));
    let (code, problems) = read_tree(root, &layout, 2);
    assert_eq!(problems, [""; 0]);
    Named::all(&code)
}
