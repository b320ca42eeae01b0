//! A set of types to be handed over together: what a filter names, what that rests on, within a budget, each after what it uses.
//!
//! Does not know texts: it is told what each costs.

use crate::graph::Graph;
use std::collections::BTreeSet;

/// What a type costs to show, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Price {
    pub outline: usize,
    /// Its note, if there is one.
    pub note: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pack {
    /// What is used stands before what uses it.
    pub types: Vec<u32>,
    /// Those of them whose notes fit as well.
    pub with_notes: BTreeSet<u32>,
    pub tokens: usize,
    /// What was named or is needed, and did not fit.
    pub left_out: Vec<u32>,
    /// With less than this nothing fits: the outline of what is kept to the end, which need not be the smallest.
    pub least: usize,
}

/// Packs the types that were named with what they use directly, as far as others can see it. Over budget, notes go first, of those
/// that the fewest rest on and that rest on the most; then types in the same order, but none that was named before one that was
/// not.
pub fn pack(
    named: &[u32],
    graph: &Graph,
    seen: &dyn Fn(u32) -> bool,
    price: &dyn Fn(u32) -> Price,
    budget: usize,
) -> Pack {
    let chosen: BTreeSet<u32> = named.iter().copied().collect();
    let needed = chosen.iter().flat_map(|of| graph.uses(*of)).copied().filter(|of| seen(*of));
    let all: BTreeSet<u32> = chosen.iter().copied().chain(needed).collect();
    let depths = graph.depths();
    // The least important first.
    let mut order: Vec<u32> = all.iter().copied().collect();
    order.sort_by_key(|of| {
        let (used, depth) = (graph.used(*of).len(), depths.get(*of as usize).copied().unwrap_or(0));
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
    let types = graph.in_order(&kept.into_iter().collect::<Vec<_>>());
    Pack { types, with_notes, tokens, left_out, least }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::graph;

    /// 0 uses 1 and 2, 1 uses 2, 3 uses 0; 4 is not to be seen.
    fn packed(named: &[u32], budget: usize) -> Pack {
        let graph = graph(5, &[(0, 1), (0, 2), (1, 2), (3, 0), (0, 4)]);
        pack(
            named,
            &graph,
            &|of| of != 4,
            &|of| Price { outline: 10, note: if of == 2 { 0 } else { 5 } },
            budget,
        )
    }

    #[test]
    fn a_pack_holds_what_was_named_and_what_it_uses() {
        let pack = packed(&[0], 100);
        assert_eq!((pack.types, pack.tokens, pack.left_out), (vec![2, 1, 0], 40, vec![]));
        assert_eq!(pack.with_notes, BTreeSet::from([0, 1]));
        assert_eq!(packed(&[2], 100).types, [2]);
        assert_eq!(packed(&[], 100), Pack::default());
    }

    #[test]
    fn over_budget_notes_go_before_types_and_what_was_named_last() {
        let pack = packed(&[0], 35);
        assert_eq!((pack.types, pack.with_notes, pack.tokens), (vec![2, 1, 0], BTreeSet::from([0]), 35));
        let pack = packed(&[0], 30);
        assert_eq!((pack.types, pack.with_notes, pack.left_out), (vec![2, 1, 0], BTreeSet::new(), vec![]));
        let pack = packed(&[0], 20);
        assert_eq!((pack.types, pack.left_out), (vec![2, 0], vec![1]));
        assert_eq!(packed(&[0], 10).types, [0]);
        assert_eq!(packed(&[0], 5).types, [] as [u32; 0]);
    }

    /// What most rest on stays longest, however large it is: what is smaller does not fit in its stead.
    #[test]
    fn a_pack_says_how_little_would_hold_something() {
        let graph = graph(3, &[(0, 2), (1, 2)]);
        let packed = |budget| {
            let price = |of| Price { outline: if of == 2 { 90 } else { 10 }, note: 0 };
            pack(&[0, 1, 2], &graph, &|_| true, &price, budget)
        };
        assert_eq!((packed(10).types.len(), packed(10).least), (0, 90));
        assert_eq!(packed(packed(10).least).types, [2]);
        assert_eq!(packed(packed(10).least - 1).types, [] as [u32; 0]);
    }
}
