//! What memory says about the sessions that a search found: a session that decided what the query asks about comes before
//! one that mentions it, and one whose decision was replaced comes after the one that replaced it.
//!
//! Does not search, and does not know how the engine scores a session.

use crate::entry::State;
use crate::store::{Error, Store};
use crate::talk::cues::fold;
use crate::talk::sentence::{Words, content_words, overlap};

/// Words of a question about what holds now, with spaces around them, and Chinese ones. No pattern: compiling one costs as
/// much as the search.
#[rustfmt::skip] // a table
const ASKING: &[&str] = &[
    " now ", " current ", " currently ", " which ", " what do ", " what does ", " what is ", " what are ", " how do ", " how does ",
    " how is ", " how are ", " how long ", " how often ", " how many ", " how much ", " where do ", " where does ", " where is ",
    " where are ", " do we ", " are we ", " can we ", " may we ", " may i ", " may a ", " should we ", " policy ", " rule ", " or ",
];
const ASKING_HAN: &[&str] =
    &["现在", "目前", "最后", "最终", "还是", "怎么", "多久", "多少", "几", "哪", "吗", "什么"];

/// Whether a query asks what holds now, rather than where something was said.
fn asks_what_holds(query: &str) -> bool {
    let low = fold(query);
    let words: Vec<&str> =
        low.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let spaced = format!(" {} ", words.join(" "));
    let letters: Vec<char> = low.chars().collect();
    // "退不退", "用不用".
    let alternates = letters.windows(3).any(|three| three[1] == '不' && three[0] == three[2]);
    alternates
        || ASKING.iter().any(|word| spaced.contains(word))
        || ASKING_HAN.iter().any(|word| low.contains(word))
}

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
        // A phrase in quotation marks is looked for where it was said.
        if query.contains(['"', '“', '「']) {
            return Ok(standing);
        }
        standing.replaced = self.later_on_same_subject((&asked, asks_what_holds(query)), sessions)?;
        let place = |session: &SessionName| sessions.iter().position(|one| one == session);
        for (old, new, texts) in self.replaced_sessions(sessions)? {
            if asks_what_holds(query) || overlap(&asked, &content_words(&fold(&texts))) >= ASKED {
                standing.replaced.extend(place(&old).zip(place(&new)));
            }
        }
        Ok(standing)
    }
}

/// The least share of a query's words that a replacement or what it replaced contains, in percent: who looks for an error
/// or an identifier does not ask what holds now.
const ASKED: u8 = 25;
const ANSWERS: u8 = 15;
/// The least share of a reversing fact's words that the memory of an earlier session contains, in percent.
const SAME_SUBJECT: u8 = 6;
const MIN_SHARED: usize = 2;

impl Store {
    /// Pairs of sessions of one project, the earlier first, of which the later takes something back on the subject of the
    /// earlier: nothing of the earlier may have been kept that could be replaced.
    fn later_on_same_subject(
        &self,
        (asked, asks): (&Words, bool),
        sessions: &[SessionName],
    ) -> Result<Vec<(usize, usize)>, Error> {
        let mut known = Vec::new();
        for (source, id) in sessions {
            let Some(memory) = self.session(source, id)? else {
                known.push(None);
                continue;
            };
            let about = content_words(&fold(&format!("{} {}", memory.name.text, memory.summary.text)));
            let reversals = self.reversals_of(source, id)?;
            known.push(Some((memory.project, memory.started_at, about, reversals)));
        }
        let is_replaced = |old: usize, new: usize| {
            let (Some((project, begun, about, _)), Some((other, later, _, reversals))) =
                (&known[old], &known[new])
            else {
                return false;
            };
            let same = |text: &String| {
                let words = content_words(&fold(text));
                let shared = words.iter().filter(|word| about.contains(*word)).count();
                let is_same = shared >= MIN_SHARED && overlap(&words, about) >= SAME_SUBJECT;
                // Both sessions match the query: to a question, a reversal that speaks of it is the answer.
                let answers = overlap(asked, &words);
                if asks { is_same || answers >= ANSWERS } else { is_same && answers >= ASKED }
            };
            project == other && begun < later && reversals.iter().any(same)
        };
        let pairs = (0..sessions.len()).flat_map(|old| (0..sessions.len()).map(move |new| (old, new)));
        Ok(pairs.filter(|(old, new)| old != new && is_replaced(*old, *new)).collect())
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
    fn a_question_is_told_from_a_search_for_words() {
        for (query, asks) in [
            ("which python version are we on", true),
            ("arq or celery", true),
            ("余额查询现在走缓存还是走库", true),
            ("OutboxPoller", false),
            ("kombu.exceptions.OperationalError", false),
            ("行高", false),
        ] {
            assert_eq!(asks_what_holds(query), asks, "{query}");
        }
    }

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
