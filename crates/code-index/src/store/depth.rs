//! The distance of a type from the nearest type that uses no other type of the tree.
//!
//! Does not know how many types will be asked for: for a few it searches along the dependencies of each, which mostly ends after a few
//! steps; whoever needs most of them lets it learn all first.

use super::StoreError;
use super::table::Table;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use syntax::TypeId;

/// Remembers the distances on the paths it has found; `None` if every path ends in a cycle.
#[derive(Default)]
pub(super) struct DepthFinder {
    known: BTreeMap<TypeId, Option<u32>>,
}

impl DepthFinder {
    /// Finds the distances of all types in one pass over the dependencies, from the types that use none.
    pub(super) fn learn_all(&mut self, table: &mut Table<'_>) -> Result<(), StoreError> {
        let mut ids: Vec<TypeId> = table.types()?.into_iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); ids.len()];
        let mut depths: Vec<Option<u32>> = vec![Some(0); ids.len()];
        for edge in table.all_edges(&ids)?.into_iter().filter(|edge| edge.from != edge.to) {
            users[edge.to as usize].push(edge.from);
            depths[edge.from as usize] = None;
        }
        let is_leaf = |at: &usize| depths[*at].is_some();
        let mut queue: VecDeque<usize> = (0..ids.len()).filter(is_leaf).collect();
        while let Some(at) = queue.pop_front() {
            for user in users[at].iter().map(|user| *user as usize) {
                if depths[user].is_none() {
                    depths[user] = depths[at].map(|depth| depth + 1);
                    queue.push_back(user);
                }
            }
        }
        self.known = ids.into_iter().zip(depths).collect();
        Ok(())
    }

    /// The distance; 0 if every path ends in a cycle.
    pub(super) fn find(&mut self, table: &Table<'_>, of: TypeId) -> Result<u32, StoreError> {
        if let Some(known) = self.known.get(&of) {
            return Ok(known.unwrap_or(0));
        }
        // Each type of the search with the one it was reached from.
        let mut from: BTreeMap<TypeId, TypeId> = BTreeMap::from([(of, of)]);
        let (mut wave, mut best) = (BTreeSet::from([of]), None::<(u32, TypeId)>);
        let mut far = 0;
        while !wave.is_empty() && best.is_none_or(|(depth, _)| far < depth) {
            let mut next = BTreeSet::new();
            for at in wave {
                let known = self.known.get(&at).copied();
                let used = if known.is_some() { Vec::new() } else { uses_beyond(table, at)? };
                let below = known.unwrap_or(used.is_empty().then_some(0));
                best = best.into_iter().chain(below.map(|below| (far + below, at))).min();
                for used in used {
                    if let Entry::Vacant(entry) = from.entry(used) {
                        entry.insert(at);
                        next.insert(used);
                    }
                }
            }
            (wave, far) = (next, far + 1);
        }
        match best {
            Some((depth, end)) => self.remember_path(&from, end, of, depth),
            None => self.known.extend(from.into_keys().map(|of| (of, None))),
        }
        Ok(best.map_or(0, |(depth, _)| depth))
    }

    /// A part of a shortest path is a shortest path.
    fn remember_path(&mut self, from: &BTreeMap<TypeId, TypeId>, end: TypeId, start: TypeId, depth: u32) {
        let mut at = end;
        let mut path = vec![end];
        while at != start {
            at = from[&at];
            path.push(at);
        }
        let below = depth + 1 - path.len() as u32;
        for (n, of) in path.into_iter().enumerate() {
            self.known.insert(of, Some(below + n as u32));
        }
    }
}

fn uses_beyond(table: &Table<'_>, of: TypeId) -> Result<Vec<TypeId>, StoreError> {
    let mut used = table.used_by_type(of)?;
    used.retain(|used| *used != of);
    Ok(used)
}
