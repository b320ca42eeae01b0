//! Packs: selects types and their dependencies within a token budget, dependencies first.
//!
//! Does not know texts: the caller passes the cost of each type.

use crate::graph::Graph;
use std::collections::BTreeSet;

/// The cost of a type, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PackCost {
    pub outline: usize,
    /// The cost of its note; 0 without one.
    pub note: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pack {
    /// Dependencies come first.
    pub types: Vec<u32>,
    /// The types whose notes fit as well.
    pub with_notes: BTreeSet<u32>,
    pub tokens: usize,
    /// Requested or required types that did not fit.
    pub left_out: Vec<u32>,
    /// The smallest budget that fits anything: the cost of the type that is dropped last, which is not necessarily the cheapest.
    pub smallest_budget: usize,
}

/// Packs the requested types with their direct dependencies, as far as those are visible to others. If the budget is exceeded,
/// notes are dropped first, starting with the types that have the fewest dependents and the most dependencies. Then types are
/// dropped in the same order, dependencies before requested types.
pub fn build_pack(
    named: &[u32],
    graph: &Graph,
    seen: &dyn Fn(u32) -> bool,
    price: &dyn Fn(u32) -> PackCost,
    budget: usize,
) -> Pack {
    let chosen: BTreeSet<u32> = named.iter().copied().collect();
    let needed = chosen.iter().flat_map(|of| graph.uses(*of)).copied().filter(|of| seen(*of));
    let all: BTreeSet<u32> = chosen.iter().copied().chain(needed).collect();
    let depths = graph.depths();
    // The least important first.
    let mut order: Vec<u32> = all.iter().copied().collect();
    order.sort_by_key(|of| {
        let (used, depth) = (graph.used_by(*of).len(), depths.get(*of as usize).copied().unwrap_or(0));
        (chosen.contains(of), used, std::cmp::Reverse(depth), std::cmp::Reverse(*of))
    });
    let mut tokens: usize = all.iter().map(|of| price(*of).outline + price(*of).note).sum();
    let (mut notes, mut kept) = (all.clone(), all);
    for of in &order {
        if tokens <= budget {
            break;
        }
        tokens -= price(*of).note;
        notes.remove(of);
    }
    let mut left_out = Vec::new();
    for of in &order {
        if tokens <= budget {
            break;
        }
        tokens -= price(*of).outline;
        kept.remove(of);
        left_out.push(*of);
    }
    let least = order.last().map_or(0, |of| price(*of).outline);
    let with_notes = notes.into_iter().filter(|of| price(*of).note > 0).collect();
    let types = graph.topological_order(&kept.into_iter().collect::<Vec<_>>());
    Pack { types, with_notes, tokens, left_out, smallest_budget: least }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::sample_graph;

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
}
