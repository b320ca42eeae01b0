//! What memory says about the sessions that a search found: a session that decided what the query asks about comes before
//! one that mentions it, and one whose decision was replaced comes after the one that replaced it.
//!
//! Does not search, and does not know how the engine scores a session.

use crate::entry::{SessionMemory, State};
use crate::store::{Error, StatedFact, Store};
use crate::talk::cues::fold;
use crate::talk::sentence::{Words, content_words, overlap, overlap_with_text};

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
        let query = Asked { words: content_words(&fold(query)), holds: asks_what_holds(query), text: query };
        let read = sessions.iter().map(|session| self.facts_of_session(session));
        let stated: Vec<Vec<StatedFact>> = read.collect::<Result<_, _>>()?;
        let factors = stated.iter().map(|facts| weigh_facts(&query, facts)).collect();
        // A phrase in quotation marks is looked for where it was said.
        if query.text.contains(['"', '“', '「']) {
            return Ok(Standing { factors, replaced: Vec::new() });
        }
        let mut replaced = self.later_on_same_subject(&query, sessions, &stated)?;
        replaced.extend(find_replaced(&query, sessions, &stated));
        Ok(Standing { factors, replaced })
    }
}

struct Asked<'q> {
    words: Words,
    /// It asks what holds now.
    holds: bool,
    text: &'q str,
}

impl Asked<'_> {
    /// The share of its words that a text contains, in percent.
    fn share_in(&self, text: &str) -> u8 {
        overlap_with_text(&self.words, &fold(text))
    }
}

fn weigh_facts(query: &Asked<'_>, facts: &[StatedFact]) -> f32 {
    let best = |state: State| {
        let shares = facts.iter().filter(|fact| fact.state == state).map(|fact| query.share_in(&fact.text));
        shares.max().unwrap_or(0)
    };
    let (decided, gone) = (best(State::Fresh), best(State::Superseded));
    let lost = if gone > decided { f32::from(gone) * REPLACED } else { 0.0 };
    1.0 + (f32::from(decided) * DECIDED - lost) / 100.0
}

/// Pairs of sessions, the first of which states a fact that one of the second replaced. Looked for among these sessions alone: a replacement may
/// be stated in ten thousand others.
fn find_replaced(
    query: &Asked<'_>,
    sessions: &[SessionName],
    stated: &[Vec<StatedFact>],
) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (old, facts) in stated.iter().enumerate() {
        let gone = facts.iter().filter_map(|fact| Some((fact, fact.superseded_by.as_ref()?)));
        for (was, by) in gone {
            for (new, others) in
                stated.iter().enumerate().filter(|(new, _)| sessions[*new].1 != sessions[old].1)
            {
                let Ok(at) = others.binary_search_by(|fact| fact.id.cmp(by)) else { continue };
                let texts = format!("{} {}", was.text, others[at].text);
                if query.holds || query.share_in(&texts) >= ASKED {
                    found.push((&sessions[old], &sessions[new], texts, (old, new)));
                }
            }
        }
    }
    // The order in which replacements are moved decides between several.
    found.sort();
    found.into_iter().map(|(_, _, _, pair)| pair).collect()
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
        query: &Asked<'_>,
        sessions: &[SessionName],
        stated: &[Vec<StatedFact>],
    ) -> Result<Vec<(usize, usize)>, Error> {
        let is_current = |fact: &&StatedFact| fact.reverses && fact.state == State::Fresh;
        let reversals: Vec<Vec<Reversal>> = stated
            .iter()
            .map(|facts| {
                facts.iter().filter(is_current).map(|fact| Reversal::new(query, &fact.text)).collect()
            })
            .collect();
        if reversals.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let known = sessions.iter().map(|(source, id)| self.session(source, id));
        let known: Vec<Option<SessionMemory>> = known.collect::<Result<_, _>>()?;
        let about =
            |one: &SessionMemory| content_words(&fold(&format!("{} {}", one.name.text, one.summary.text)));
        let about: Vec<Words> = known.iter().map(|one| one.as_ref().map(about).unwrap_or_default()).collect();
        let is_replaced = |old: usize, new: usize| {
            let (Some(before), Some(after)) = (&known[old], &known[new]) else { return false };
            before.project == after.project
                && before.started_at < after.started_at
                && reversals[new].iter().any(|one| one.concerns(query, &about[old]))
        };
        let pairs = (0..sessions.len()).flat_map(|old| (0..sessions.len()).map(move |new| (old, new)));
        Ok(pairs.filter(|(old, new)| old != new && is_replaced(*old, *new)).collect())
    }
}

/// The words of a fact that takes something back, and the share of the query's words among them.
struct Reversal {
    words: Words,
    answers: u8,
}

impl Reversal {
    fn new(query: &Asked<'_>, text: &str) -> Reversal {
        let words = content_words(&fold(text));
        Reversal { answers: overlap(&query.words, &words), words }
    }

    /// Both sessions match the query: to a question, a reversal that speaks of it is the answer.
    fn concerns(&self, query: &Asked<'_>, about: &Words) -> bool {
        let shared = self.words.iter().filter(|word| about.contains(*word)).count();
        let is_same = shared >= MIN_SHARED && overlap(&self.words, about) >= SAME_SUBJECT;
        if query.holds { is_same || self.answers >= ANSWERS } else { is_same && self.answers >= ASKED }
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
