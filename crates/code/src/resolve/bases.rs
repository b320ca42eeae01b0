//! The bases of types, resolved in two rounds.
//!
//! Does not know members: what a type inherits is up to the caller.

use super::{BaseRound, Resolver};
use rustc_hash::FxHashSet;

impl Resolver<'_> {
    /// The bases of a type that are in the source.
    pub fn bases(&self, of: u32) -> &[u32] {
        match self.depth.get() {
            BaseRound::None => &[],
            BaseRound::First => self.known_bases(0, of, BaseRound::None),
            BaseRound::All => self.known_bases(1, of, BaseRound::First),
        }
    }

    fn known_bases(&self, round: usize, of: u32, depth: BaseRound) -> &[u32] {
        self.bases[round][of as usize].get_or_init(|| self.with_bases(depth, || self.resolve_bases(of).0))
    }

    /// Runs a lookup with a given knowledge of bases.
    pub(super) fn with_bases<T>(&self, depth: BaseRound, lookup: impl FnOnce() -> T) -> T {
        let before = self.depth.replace(depth);
        let found = lookup();
        self.depth.set(before);
        found
    }

    /// Whether a type has a direct or indirect base that is not in the source. Unknown, and therefore false, until all bases are
    /// resolved.
    pub(super) fn has_unseen_base(&self, of: u32) -> bool {
        if self.depth.get() != BaseRound::All {
            return false;
        }
        *self.unseen_base[of as usize].get_or_init(|| {
            let (mut open, mut seen) = (vec![of], FxHashSet::default());
            while let Some(at) = open.pop() {
                if !seen.insert(at) {
                    continue;
                }
                if !self.resolve_bases(at).1 {
                    return true;
                }
                open.extend(self.bases(at));
            }
            false
        })
    }

    pub(super) fn encloser_has_unseen_base(&self, owner: Option<u32>) -> bool {
        let mut at = owner;
        while let Some(of) = at {
            if self.has_unseen_base(of) {
                return true;
            }
            at = self.code.types[of as usize].outer;
        }
        false
    }

    /// The bases of a type, and whether all of them are in the source.
    fn resolve_bases(&self, at: u32) -> (Vec<u32>, bool) {
        let (mut found, mut complete) = (Vec::new(), true);
        for (file, part) in &self.code.types[at as usize].parts {
            let facts = &self.code.files[*file as usize].facts;
            for name in &facts.types[*part as usize].base_references {
                match self.target_type(*file, &facts.references[*name as usize]) {
                    Some(base) if !found.contains(&base) => found.push(base),
                    Some(_) => {}
                    None => complete = false,
                }
            }
        }
        (found, complete)
    }
}
