//! Dependency graphs: dependencies and dependents, cycles, topological order, ranks and diagrams.
//!
//! Does not know what depends on what: it has numbered nodes and edges between them.

mod diagram;
mod rank;

pub use diagram::{DIAGRAM_FORMATS, DiagramFormat, render_diagram};
pub use rank::rank_nodes;

use std::collections::BTreeSet;

pub struct Graph {
    uses: Vec<Vec<u32>>,
    used_by: Vec<Vec<u32>>,
}

impl Graph {
    /// A graph of `types` nodes. A self-reference is not a dependency.
    pub fn new(types: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Graph {
        let (mut uses, mut used) = (vec![Vec::new(); types], vec![Vec::new(); types]);
        for (from, to) in edges.into_iter().filter(|(from, to)| from != to) {
            uses[from as usize].push(to);
            used[to as usize].push(from);
        }
        for list in uses.iter_mut().chain(&mut used) {
            list.sort_unstable();
            list.dedup();
        }
        Graph { uses, used_by: used }
    }

    /// The types that a type refers to.
    pub fn uses(&self, of: u32) -> &[u32] {
        self.uses.get(of as usize).map_or(&[], Vec::as_slice)
    }

    /// The types that refer to a type.
    pub fn used_by(&self, of: u32) -> &[u32] {
        self.used_by.get(of as usize).map_or(&[], Vec::as_slice)
    }

    /// The strongly connected components, dependencies first. Every type is in exactly one, usually alone.
    pub fn groups(&self) -> Vec<Vec<u32>> {
        Tarjan::new(&self.uses).run()
    }

    /// The distance of each type from the nearest type without dependencies. A cycle without a path to such a type counts as
    /// having no dependencies itself.
    pub fn depths(&self) -> Vec<u32> {
        let mut depth = vec![u32::MAX; self.uses.len()];
        let mut wave: Vec<u32> = Vec::new();
        for group in self.groups() {
            let leaves = group.iter().all(|of| self.uses(*of).iter().all(|to| group.contains(to)));
            if leaves {
                for of in &group {
                    depth[*of as usize] = 0;
                }
                wave.extend(group);
            }
        }
        let mut far = 0;
        while !wave.is_empty() {
            far += 1;
            let next: BTreeSet<u32> = wave.iter().flat_map(|of| self.used_by(*of)).copied().collect();
            wave = next.into_iter().filter(|of| depth[*of as usize] == u32::MAX).collect();
            for of in &wave {
                depth[*of as usize] = far;
            }
        }
        depth
    }

    /// Sorts these types topologically, dependencies first; the types of a cycle in numerical order.
    pub fn topological_order(&self, of: &[u32]) -> Vec<u32> {
        let wanted: BTreeSet<u32> = of.iter().copied().collect();
        self.groups().into_iter().flatten().filter(|of| wanted.contains(of)).collect()
    }

    /// The edges among these types.
    pub(crate) fn edges_among(&self, of: &[u32]) -> Vec<(u32, u32)> {
        let inside: BTreeSet<u32> = of.iter().copied().collect();
        let edges = |from: u32| self.uses(from).iter().map(move |to| (from, *to));
        inside.iter().flat_map(|from| edges(*from)).filter(|(_, to)| inside.contains(to)).collect()
    }
}

/// Tarjan's algorithm without recursion: a chain of ten thousand types must not need ten thousand stack frames.
struct Tarjan<'g> {
    uses: &'g [Vec<u32>],
    /// The visiting order of each node, from 1; 0 if not yet visited.
    seen: Vec<u32>,
    /// The earliest node reachable from each node.
    low: Vec<u32>,
    open: Vec<u32>,
    is_open: Vec<bool>,
    groups: Vec<Vec<u32>>,
}

impl<'g> Tarjan<'g> {
    fn new(uses: &'g [Vec<u32>]) -> Tarjan<'g> {
        let n = uses.len();
        Tarjan {
            uses,
            seen: vec![0; n],
            low: vec![0; n],
            open: Vec::new(),
            is_open: vec![false; n],
            groups: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Vec<u32>> {
        let mut clock = 0;
        for root in 0..self.uses.len() as u32 {
            if self.seen[root as usize] == 0 {
                self.search_from(root, &mut clock);
            }
        }
        self.groups
    }

    fn visit(&mut self, of: u32, clock: &mut u32) {
        *clock += 1;
        (self.seen[of as usize], self.low[of as usize]) = (*clock, *clock);
        self.open.push(of);
        self.is_open[of as usize] = true;
    }

    fn search_from(&mut self, root: u32, clock: &mut u32) {
        let uses = self.uses;
        self.visit(root, clock);
        let mut path = vec![(root, 0)];
        while let Some((of, next)) = path.last_mut() {
            let of = *of;
            match uses[of as usize].get(*next) {
                Some(to) if self.seen[*to as usize] == 0 => {
                    *next += 1;
                    self.visit(*to, clock);
                    path.push((*to, 0));
                }
                Some(to) => {
                    *next += 1;
                    if self.is_open[*to as usize] {
                        self.low[of as usize] = self.low[of as usize].min(self.seen[*to as usize]);
                    }
                }
                None => {
                    path.pop();
                    if let Some((outer, _)) = path.last() {
                        self.low[*outer as usize] = self.low[*outer as usize].min(self.low[of as usize]);
                    }
                    if self.low[of as usize] == self.seen[of as usize] {
                        self.close_group(of);
                    }
                }
            }
        }
    }

    fn close_group(&mut self, root: u32) {
        let from = self.open.iter().rposition(|of| *of == root).unwrap_or(0);
        let mut group = self.open.split_off(from);
        for of in &group {
            self.is_open[*of as usize] = false;
        }
        group.sort_unstable();
        self.groups.push(group);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn sample_graph(types: usize, edges: &[(u32, u32)]) -> Graph {
        Graph::new(types, edges.iter().copied())
    }

    #[test]
    fn cycles_are_found_and_dependencies_come_first() {
        // 0 uses 1, 1 and 2 use each other, 2 uses 3; 4 has no edges
        let graph = sample_graph(5, &[(0, 1), (1, 2), (2, 1), (2, 3), (0, 0)]);
        assert_eq!(graph.groups(), [vec![3], vec![1, 2], vec![0], vec![4]]);
        assert_eq!((graph.uses(0), graph.used_by(1)), (&[1][..], &[0, 2][..]));
        assert_eq!(graph.depths(), [3, 2, 1, 0, 0]);
        assert_eq!(graph.topological_order(&[0, 2, 3]), [3, 2, 0]);
        assert_eq!(graph.edges_among(&[0, 1, 3]), [(0, 1)]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let edges: Vec<(u32, u32)> = (0..200_000).map(|n| (n, n + 1)).collect();
        let graph = sample_graph(200_001, &edges);
        assert_eq!(graph.groups().len(), 200_001);
        assert_eq!(graph.depths()[0], 200_000);
    }

    proptest! {
        /// Two types are in the same group if and only if each can be reached from the other.
        #[test]
        fn a_group_is_a_strongly_connected_component(edges in prop::collection::vec((0u32..12, 0u32..12), 0..40)) {
            let graph = sample_graph(12, &edges);
            let reaches = |from: u32, to: u32| {
                let (mut seen, mut wave) = (BTreeSet::from([from]), vec![from]);
                while let Some(at) = wave.pop() {
                    wave.extend(graph.uses(at).iter().filter(|next| seen.insert(**next)));
                }
                seen.contains(&to)
            };
            let groups = graph.groups();
            let of = |each: u32| groups.iter().position(|group| group.contains(&each)).unwrap();
            for one in 0..12 {
                for other in 0..12 {
                    prop_assert_eq!(of(one) == of(other), reaches(one, other) && reaches(other, one));
                    if of(one) != of(other) && reaches(one, other) {
                        prop_assert!(of(other) < of(one));
                    }
                }
            }
        }
    }
}
