//! Packs within a token budget.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Graph, Pack, PackCost, build_pack};
use std::collections::BTreeSet;

fn sample_graph(types: usize, edges: &[(u32, u32)]) -> Graph {
    Graph::new(types, edges.iter().copied())
}

/// 0 uses 1 and 2, 1 uses 2, 3 uses 0; 4 is not visible.
fn sample_pack(named: &[u32], budget: usize) -> Pack {
    let graph = sample_graph(5, &[(0, 1), (0, 2), (1, 2), (3, 0), (0, 4)]);
    build_pack(
        named,
        &graph,
        &|of| of != 4,
        &|of| PackCost { outline: 10, note: if of == 2 { 0 } else { 5 } },
        budget,
    )
}

#[test]
fn a_pack_contains_the_requested_types_and_their_dependencies() {
    let pack = sample_pack(&[0], 100);
    assert_eq!((pack.types, pack.tokens, pack.left_out), (vec![2, 1, 0], 40, vec![]));
    assert_eq!(pack.with_notes, BTreeSet::from([0, 1]));
    assert_eq!(sample_pack(&[2], 100).types, [2]);
    assert_eq!(sample_pack(&[], 100), Pack::default());
}

#[test]
fn over_budget_notes_are_dropped_first_and_requested_types_last() {
    let pack = sample_pack(&[0], 35);
    assert_eq!((pack.types, pack.with_notes, pack.tokens), (vec![2, 1, 0], BTreeSet::from([0]), 35));
    let pack = sample_pack(&[0], 30);
    assert_eq!((pack.types, pack.with_notes, pack.left_out), (vec![2, 1, 0], BTreeSet::new(), vec![]));
    let pack = sample_pack(&[0], 20);
    assert_eq!((pack.types, pack.left_out), (vec![2, 0], vec![1]));
    assert_eq!(sample_pack(&[0], 10).types, [0]);
    assert_eq!(sample_pack(&[0], 5).types, [] as [u32; 0]);
}

/// The type with the most dependents is dropped last, however large it is; smaller types are not packed instead.
#[test]
fn a_pack_reports_the_smallest_budget_that_fits_anything() {
    let graph = sample_graph(3, &[(0, 2), (1, 2)]);
    let packed = |budget| {
        let price = |of| PackCost { outline: if of == 2 { 90 } else { 10 }, note: 0 };
        build_pack(&[0, 1, 2], &graph, &|_| true, &price, budget)
    };
    assert_eq!((packed(10).types.len(), packed(10).smallest_budget), (0, 90));
    assert_eq!(packed(packed(10).smallest_budget).types, [2]);
    assert_eq!(packed(packed(10).smallest_budget - 1).types, [] as [u32; 0]);
}
