//! Finds the facts that a later fact on the same subject replaced: "poll every 10 s", and weeks later "drop the polling,
//! use server-sent events".
//!
//! Does not delete a fact, and does not know what it says: `pair` describes two facts by their words, and weights that were
//! trained by `cargo xtask train supersede` judge the description.

mod pair;

pub use pair::{Pair, describe_pairs, pair_feature_names};

use crate::entry::{Fact, State};
use crate::talk::model::Model;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static MODEL: LazyLock<Model> = LazyLock::new(|| {
    Model::parse(include_str!("supersede/pair.linear.txt"), include_str!("supersede/pair.trees.txt"), "")
});

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

fn supersede_in_project(facts: &[&Fact]) -> BTreeMap<String, String> {
    let mut latest: BTreeMap<usize, usize> = BTreeMap::new();
    let is_later = |new: usize, other: usize| {
        (facts[new].made_at, &facts[new].id) > (facts[other].made_at, &facts[other].id)
    };
    for pair in describe_pairs(facts) {
        if MODEL.score(&pair.features) > 0.0 {
            let known = latest.entry(pair.old).or_insert(pair.new);
            if is_later(pair.new, *known) {
                *known = pair.new;
            }
        }
    }
    latest.into_iter().map(|(old, new)| (facts[old].id.clone(), facts[new].id.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Evidence, Kind, Origin, Subject, fact_id};
    use crate::talk::cues::fold;
    use crate::talk::sentence::content_words;
    use record::Stamp;

    fn sample_fact(session: &str, text: &str, opening: &str, day: i64, reverses: bool) -> Fact {
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
            edited_at: Stamp::NONE,
            made_at: Stamp(day * 86_400_000),
            kind: Kind::Decision,
            subject: Subject { words, reverses },
            superseded_by: None,
        }
    }

    #[test]
    fn a_later_decision_on_the_same_subject_replaces_the_earlier() {
        let old = sample_fact(
            "a",
            "polling for the dashboard then, every 10s, no websockets",
            "shipments table on the dashboard is stale",
            1,
            false,
        );
        let new = sample_fact(
            "b",
            "drop the polling, the dashboard gets server-sent events instead",
            "the dashboard polling was a mistake",
            20,
            true,
        );
        let other = sample_fact("c", "money is stored in minor units", "refactor the rates", 1, false);
        let replaced = find_superseded(&[old.clone(), new.clone(), other.clone()]);
        assert_eq!(replaced, BTreeMap::from([(old.id.clone(), new.id.clone())]));
        // A later fact that only touches the subject leaves it as it is.
        let touching =
            sample_fact("d", "rows of the dashboard are 32 px high", "restyle the dashboard", 30, false);
        assert!(find_superseded(&[old.clone(), touching, other]).is_empty());
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
