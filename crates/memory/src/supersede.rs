//! Finds the facts that a later fact on the same subject replaced: "poll every 10 s", and weeks later "drop the polling,
//! use server-sent events".
//!
//! Does not delete a fact, and does not know what it says: it compares words, weighted by their rarity.

use crate::entry::{Evidence, Fact, Kind, State};
use crate::talk::cues::{Cues, fold};
use crate::talk::sentence::{Words, content_words};
use std::collections::BTreeMap;

/// The least share of an older fact's words that a newer fact and its surroundings must repeat. Within one session, where
/// all facts share their surroundings, the fact itself must repeat more.
const ACROSS_SESSIONS: f32 = 0.12;
const WITHIN_SESSION: f32 = 0.37;
/// The least share of the words around the older fact that are also around the newer.
const SURROUNDINGS: f32 = 0.1;

/// The replaced facts, each with the ID of the fact that replaced it.
pub(crate) fn find_superseded(facts: &[Fact]) -> BTreeMap<String, String> {
    let mut projects: BTreeMap<&str, Vec<&Fact>> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| can_take_part(fact)) {
        projects.entry(&fact.project).or_default().push(fact);
    }
    projects.into_values().flat_map(|facts| supersede_in_project(&facts)).collect()
}

fn can_take_part(fact: &Fact) -> bool {
    matches!(fact.state, State::Fresh | State::Stale | State::Superseded)
}

fn supersede_in_project(facts: &[&Fact]) -> Vec<(String, String)> {
    let own: Vec<Words> = facts.iter().map(|fact| content_words(&fold(&fact.text))).collect();
    let rarity = Rarity::new(facts);
    let replaces = |new: usize, old: usize| {
        let is_later = facts[new].made_at > facts[old].made_at;
        is_later
            && facts[new].subject.reverses
            && facts[old].kind != Kind::Cause
            && is_same_subject(&rarity, (facts[new], &own[new]), (facts[old], &own[old]))
    };
    let latest = |old: usize| {
        let newer = (0..facts.len()).filter(move |new| replaces(*new, old));
        newer
            .max_by_key(|new| (facts[*new].made_at, &facts[*new].id))
            .map(|new| (facts[old].id.clone(), facts[new].id.clone()))
    };
    (0..facts.len()).filter_map(latest).collect()
}

fn is_same_subject(
    rarity: &Rarity,
    (new, new_words): (&Fact, &Words),
    (old, old_words): (&Fact, &Words),
) -> bool {
    let own = rarity.share(old_words, new_words);
    let around = rarity.share(old_words, &new.subject.words);
    let repeated = f32::midpoint(own, around);
    if shares_session(new, old) {
        // The opening of the session is that of both.
        return repeated >= WITHIN_SESSION && Cues::find(&fold(&new.text)).has("change");
    }
    repeated >= ACROSS_SESSIONS && rarity.share(&old.subject.words, &new.subject.words) >= SURROUNDINGS
}

fn shares_session(one: &Fact, other: &Fact) -> bool {
    let same = |a: &Evidence, b: &Evidence| (&a.source, &a.session_id) == (&b.source, &b.session_id);
    one.evidence.iter().any(|a| other.evidence.iter().any(|b| same(a, b)))
}

/// How rare a word is among the facts of a project.
struct Rarity {
    counts: BTreeMap<String, u32>,
    facts: usize,
}

impl Rarity {
    fn new(facts: &[&Fact]) -> Rarity {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for word in facts.iter().flat_map(|fact| &fact.subject.words) {
            *counts.entry(word.clone()).or_default() += 1;
        }
        Rarity { counts, facts: facts.len() }
    }

    fn weight(&self, word: &str) -> f32 {
        let many = self.counts.get(word).copied().unwrap_or(0).max(1);
        (1.0 + self.facts as f32 / many as f32).ln()
    }

    /// The share of `words` that `others` contain, by weight.
    fn share(&self, words: &Words, others: &Words) -> f32 {
        let total: f32 = words.iter().map(|word| self.weight(word)).sum();
        let shared: f32 =
            words.iter().filter(|word| others.contains(*word)).map(|word| self.weight(word)).sum();
        if total > 0.0 { shared / total } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Origin, Subject, fact_id};
    use record::Stamp;

    fn sample_fact(session: &str, text: &str, opening: &str, made_at: i64, reverses: bool) -> Fact {
        let words = content_words(&fold(&format!("{text} {opening}")));
        let evidence =
            Evidence { source: "codex".into(), session_id: session.into(), message_id: "m".into() };
        Fact {
            id: fact_id("/p", text),
            text: text.into(),
            state: State::Fresh,
            origin: Origin::User,
            evidence: [evidence].into(),
            symbols: [].into(),
            project: "/p".into(),
            pinned: false,
            edited: false,
            made_at: Stamp(made_at),
            kind: Kind::Decision,
            subject: Subject { words, reverses },
            superseded_by: None,
        }
    }

    #[test]
    fn a_later_decision_on_the_same_subject_replaces_the_earlier() {
        let old = sample_fact(
            "a",
            "poll the dashboard every 10s",
            "shipments table on the dashboard is stale",
            1,
            false,
        );
        let new = sample_fact(
            "b",
            "drop the polling, use server-sent events",
            "the dashboard polling was a mistake",
            2,
            true,
        );
        let other = sample_fact("c", "money is stored in minor units", "refactor the rates", 1, false);
        let replaced = find_superseded(&[old.clone(), new.clone(), other.clone()]);
        assert_eq!(replaced, BTreeMap::from([(old.id.clone(), new.id.clone())]));
        // Without a word that takes something back, both hold.
        let kept = Fact { subject: Subject { reverses: false, ..new.subject.clone() }, ..new.clone() };
        assert!(find_superseded(&[old.clone(), kept, other]).is_empty());
        // A decision of another project, and one that was withdrawn, replace nothing.
        for new in
            [Fact { project: "/q".into(), ..new.clone() }, Fact { state: State::Retired, ..new.clone() }]
        {
            assert!(find_superseded(&[old.clone(), new]).is_empty());
        }
    }

    #[test]
    fn chinese_facts_are_compared_too() {
        let old = sample_fact(
            "a",
            "余额缓存 30 秒，写完删",
            "balance 压到 3k QPS，库 CPU 90%，余额要缓存",
            1,
            false,
        );
        let new = sample_fact("b", "余额不再缓存，直接查库", "余额缓存出事了，之前定的作废", 2, true);
        assert_eq!(find_superseded(&[new.clone(), old.clone()]), BTreeMap::from([(old.id, new.id)]));
    }
}
