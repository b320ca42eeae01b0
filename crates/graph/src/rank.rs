//! Ranks the nodes of a dependency graph: a node is as important as the nodes that refer to it.
//!
//! Does not know names or files.

/// The share of importance that a node passes on. At 0.85, which search engines use, two types that only use each other came first in
/// flask: code has many such circles.
const DAMPING: f64 = 0.4;
/// After this many rounds, no rank changed its place in the trees we tried.
const ROUNDS: usize = 30;

/// The rank of each of `nodes` nodes. An edge is from, to and its number of references. `weight` is the importance that a node has by
/// itself.
pub fn rank_nodes(
    nodes: usize,
    edges: impl Iterator<Item = (u32, u32, u32)>,
    weight: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let own: Vec<f64> = (0..nodes).map(weight).collect();
    let total: f64 = own.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let base: Vec<f64> = own.iter().map(|own| own / total).collect();
    let edges: Vec<(usize, usize, f64)> = edges
        .filter(|(from, to, _)| from != to)
        // a hundred references say more than one, but not a hundred times as much
        .map(|(from, to, references)| (from as usize, to as usize, f64::from(references).sqrt()))
        .collect();
    let mut given = vec![0.0; nodes];
    for (from, _, weight) in &edges {
        given[*from] += weight;
    }
    let mut ranks = base.clone();
    for _ in 0..ROUNDS {
        let mut next: Vec<f64> = base.iter().map(|base| (1.0 - DAMPING) * base).collect();
        for (from, to, weight) in edges.iter().filter(|(from, ..)| given[*from] > 0.0) {
            next[*to] += DAMPING * ranks[*from] * weight / given[*from];
        }
        ranks = next;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u32, to: u32) -> (u32, u32, u32) {
        (from, to, 1)
    }

    #[test]
    fn a_type_that_important_types_use_ranks_above_one_that_others_use() {
        // 1, 2 and 3 use 0; 0 uses 4; 5 uses 6
        let edges = [edge(1, 0), edge(2, 0), edge(3, 0), edge(0, 4), edge(5, 6)];
        let ranks = rank_nodes(7, edges.into_iter(), |_| 1.0);
        assert!(ranks[0] > ranks[6] && ranks[4] > ranks[6] && ranks[6] > ranks[5], "{ranks:?}");
    }

    #[test]
    fn what_only_tests_use_ranks_below_what_code_uses() {
        let ranks = rank_nodes(4, [edge(0, 1), edge(2, 3)].into_iter(), |of| if of == 0 { 0.1 } else { 1.0 });
        assert!(ranks[3] > ranks[1], "{ranks:?}");
    }
}
