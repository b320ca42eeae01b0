//! Packs: selects types and their dependencies within a token budget, dependencies first.
//!
//! Does not know texts: the caller passes the cost of each type.

use graph::Graph;
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
