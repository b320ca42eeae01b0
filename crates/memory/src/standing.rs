//! What memory says about the sessions that a search found: a session that decided what the query asks about comes before
//! one that mentions it, and one whose decision was replaced comes after the one that replaced it.
//!
//! Does not search, and does not know how the engine scores a session.

use crate::entry::State;
use crate::store::{Error, Store};
use crate::talk::cues::fold;
use crate::talk::sentence::{content_words, overlap};

/// A session by source and ID.
pub type SessionName = (String, String);

/// The most that a fact which answers the query raises a score, and one that no longer holds lowers it.
const DECIDED: f32 = 0.3;
const REPLACED: f32 = 0.3;

/// Factors and order for the sessions that a search found.
pub struct Standing {
    /// For each session, what its score is multiplied by.
    pub factors: Vec<f32>,
    /// Pairs of positions: the first is replaced by the second.
    pub replaced: Vec<(usize, usize)>,
}

impl Store {
    /// How these sessions stand to a query.
    pub fn standing(&self, query: &str, sessions: &[SessionName]) -> Result<Standing, Error> {
        let asked = content_words(&fold(query));
        let mut standing = Standing { factors: vec![1.0; sessions.len()], replaced: Vec::new() };
        for (at, session) in sessions.iter().enumerate() {
            let (mut decided, mut gone) = (0, 0);
            for (text, state) in self.fact_texts_of(session)? {
                let share = overlap(&asked, &content_words(&fold(&text)));
                match state {
                    State::Fresh => decided = decided.max(share),
                    State::Superseded => gone = gone.max(share),
                    _ => {}
                }
            }
            let lost = if gone > decided { f32::from(gone) * REPLACED } else { 0.0 };
            standing.factors[at] += (f32::from(decided) * DECIDED - lost) / 100.0;
        }
        let place = |session: &SessionName| sessions.iter().position(|one| one == session);
        for (old, new) in self.replaced_sessions()? {
            standing.replaced.extend(place(&old).zip(place(&new)));
        }
        Ok(standing)
    }
}

/// Moves each replacement before what it replaced. Positions are those of the sessions before; the order is that of the
/// positions in `order`, best first.
pub fn order_replacements(order: &mut Vec<usize>, replaced: &[(usize, usize)]) {
    for (old, new) in replaced {
        let place = |order: &[usize], session: usize| order.iter().position(|one| *one == session);
        if let (Some(above), Some(below)) = (place(order, *old), place(order, *new))
            && above < below
        {
            let moved = order.remove(below);
            order.insert(above, moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_comes_first() {
        for (order, replaced, expected) in [
            (vec![0, 1, 2], &[(0, 2)][..], vec![2, 0, 1]),
            (vec![2, 0, 1], &[(0, 2)], vec![2, 0, 1]),
            (vec![0, 1, 2], &[(0, 1), (1, 2)], vec![2, 1, 0]),
            (vec![0, 1], &[(0, 7)], vec![0, 1]),
        ] {
            let mut moved = order.clone();
            order_replacements(&mut moved, replaced);
            order_replacements(&mut moved, replaced);
            assert_eq!(moved, expected, "{order:?}");
        }
    }
}
