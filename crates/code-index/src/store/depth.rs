//! The distance of a type from the nearest type that uses no other type of the tree.
//!
//! Does not look at the whole tree: it searches along the dependencies of one type, which ends after a few of them.

use super::StoreError;
use super::table::Table;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use syntax::TypeId;

/// Remembers the distances on the paths it has found; `None` if every path ends in a cycle.
#[derive(Default)]
pub(super) struct DepthFinder {
    known: BTreeMap<TypeId, Option<u32>>,
}

impl DepthFinder {
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
