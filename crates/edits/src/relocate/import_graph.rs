//! Which files import which, as far as it matters when programs start: whether a new import closes a cycle.
//!
//! Does not know how a language writes imports.

use rustc_hash::FxHashMap;

/// Imports between files of a tree, by number.
#[derive(Default)]
pub(super) struct ImportGraph {
    edges: FxHashMap<u32, Vec<u32>>,
    added: Vec<(u32, u32)>,
}

impl ImportGraph {
    /// An import that is there.
    pub(super) fn note(&mut self, from: u32, to: u32) {
        self.edges.entry(from).or_default().push(to);
    }

    /// An import that the move adds.
    pub(super) fn add(&mut self, from: u32, to: u32) {
        if from != to {
            self.added.push((from, to));
            self.note(from, to);
        }
    }

    /// An added import through which a file imports itself.
    pub(super) fn new_cycle(&self) -> Option<(u32, u32)> {
        self.added.iter().copied().find(|(from, to)| self.reaches(*to, *from))
    }

    fn reaches(&self, from: u32, to: u32) -> bool {
        let (mut seen, mut open) = (vec![from], vec![from]);
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            for next in self.edges.get(&at).into_iter().flatten() {
                if !seen.contains(next) {
                    seen.push(*next);
                    open.push(*next);
                }
            }
        }
        false
    }
}
