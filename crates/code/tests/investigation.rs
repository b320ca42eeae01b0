//! Ranks the types of this repository for questions about it: the expected type must be among the top results.

#![allow(clippy::unwrap_used)]

use loci_code::{TypeNames, investigation, read_tree};
use project::discover;
use std::path::Path;

/// The number of top results that are checked.
const TOP_RESULTS: usize = 6;

#[test]
fn questions_about_loci_find_the_expected_types() {
    let types = type_names(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    let mut missed = Vec::new();
    for (question, expected) in [
        ("How are secrets masked?", "Masker"),
        ("Who is masking what agents see?", "Masker"),
        ("Where is the ledger of model calls kept?", "Ledger"),
        ("How is the daemon started?", "Daemon"),
        ("How are notes about types written?", "NotesWritten"),
        ("How are usages found?", "UsagesFound"),
        ("Who searches conversations?", "SearchConversations"),
        ("What resolves names?", "Resolver"),
        ("How are outlines built?", "Outliner"),
        ("How are packs built within a budget?", "loci_code.pack.Pack"),
        ("Which receipts are written when a provider fails?", "Receipt"),
        ("How are transcripts archived?", "archive"),
    ] {
        let found = investigation::rank_types(&investigation::search_terms(question), &types);
        let first: Vec<&str> = found.iter().take(TOP_RESULTS).map(|at| types[*at].name.as_str()).collect();
        if !first.iter().any(|name| name.ends_with(expected)) {
            missed.push(format!("{question} has no {expected}: {first:#?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// All types of a tree except those of its tests, which are named after what they test.
fn type_names(root: &Path) -> Vec<TypeNames> {
    let mut layout = discover(root).unwrap();
    layout.files.retain(|(path, _)| path.contains("/src/"));
    let (code, problems) = read_tree(root, &layout, 2);
    assert_eq!(problems, [""; 0]);
    TypeNames::of_codebase(&code)
}
