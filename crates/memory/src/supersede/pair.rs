//! Describes two facts of a project, the later and the earlier: how many of their words, weighted by rarity, they and what
//! surrounds them share, and how the later one is said.
//!
//! Does not know which descriptions mean that the later fact replaces the earlier.

use crate::entry::{Evidence, Fact, Kind};
use crate::talk::cues::{CLASSES, Cues, fold};
use crate::talk::sentence::{Words, content_words};
use std::collections::{BTreeMap, BTreeSet};

/// Two facts by position, the later first.
pub struct Pair {
    pub new: usize,
    pub old: usize,
    pub features: Vec<u8>,
    closeness: f32,
}

const KINDS: [Kind; 6] =
    [Kind::Decision, Kind::Rule, Kind::Preference, Kind::Constraint, Kind::Cause, Kind::Open];
#[rustfmt::skip] // a table
const MEASURES: [&str; 16] = [
    "own", "own_back", "around", "around_back", "surroundings", "shared", "rarest", "rarest_around", "taken_back",
    "rarest_taken_back", "denies", "reverses", "same_kind", "symbols", "numbers", "days",
];
/// How close a pair is compared with the others of its later and of its earlier fact: a fact replaces the one that is
/// closest to it, and not whatever shares a word.
const RANKS: [&str; 4] = ["rank_of_old", "share_of_old", "rank_of_new", "share_of_new"];
/// The most earlier facts that a fact is compared with, those that share most with it, and how many facts may share a word
/// that counts: comparing each of 3,000 facts with all others took 24 s.
const MAX_RELATED: usize = 64;
/// Cues of a clause whose words are taken back.
const DENYING: [&str; 5] = ["change", "not_x", "no_x", "must_not", "never"];

pub fn pair_feature_names() -> Vec<String> {
    let kinds =
        ["old", "new"].into_iter().flat_map(|side| KINDS.map(|kind| format!("{side}.{}", kind.word())));
    let cues = ["new.cue", "old.cue"].into_iter();
    let cues = cues.flat_map(|side| CLASSES.iter().map(move |(name, _)| format!("{side}.{name}")));
    let measures = MEASURES.iter().map(ToString::to_string);
    measures.chain(kinds).chain(cues).chain(RANKS.iter().map(ToString::to_string)).collect()
}

/// The pairs that share a word: a fact that shares none with what a later one and its surroundings say is about something
/// else.
pub fn describe_pairs(facts: &[&Fact]) -> Vec<Pair> {
    let vocabulary = Vocabulary::new(facts);
    let known: Vec<Described> = facts.iter().map(|fact| Described::new(fact, &vocabulary)).collect();
    let mut said_by: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, one) in known.iter().enumerate() {
        for word in &one.own.ids {
            said_by.entry(*word).or_default().push(at);
        }
    }
    let common = MAX_RELATED.max(facts.len() / 10);
    let mut pairs = Vec::new();
    for (new, later) in known.iter().enumerate() {
        let mut shared: BTreeMap<usize, f32> = BTreeMap::new();
        for word in &later.around.ids {
            let olds = said_by.get(word).filter(|olds| olds.len() <= common);
            for old in olds.into_iter().flatten() {
                *shared.entry(*old).or_default() += vocabulary.weights[*word as usize];
            }
        }
        // Within a session, a later fact mostly says the same again, as the agent's last message does.
        let may_be_replaced =
            |old: usize| facts[old].made_at < facts[new].made_at && !shares_session(facts[new], facts[old]);
        let mut related: Vec<(usize, f32)> =
            shared.into_iter().filter(|(old, _)| may_be_replaced(*old)).collect();
        related.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        related.truncate(MAX_RELATED);
        for (old, _) in related {
            let (features, closeness) = describe(&vocabulary, (facts[new], later), (facts[old], &known[old]));
            // One shared word is a coincidence, unless something is taken back: in a project with few facts it is all
            // that there is to compare.
            let shared = vocabulary.compare(&known[old].own, &later.around).many;
            if shared >= 2 || facts[new].subject.reverses {
                pairs.push(Pair { new, old, features, closeness });
            }
        }
    }
    add_ranks(&mut pairs, |pair| pair.new);
    add_ranks(&mut pairs, |pair| pair.old);
    pairs
}

/// Ranks each pair among those that have one of its facts in common, and compares it with the best of them.
fn add_ranks(pairs: &mut [Pair], common: impl Fn(&Pair) -> usize) {
    let mut grouped: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        grouped.entry(common(pair)).or_default().push(at);
    }
    for mut group in grouped.into_values() {
        group.sort_by(|a, b| pairs[*b].closeness.total_cmp(&pairs[*a].closeness));
        let best = pairs[group[0]].closeness.max(f32::MIN_POSITIVE);
        for (rank, at) in group.into_iter().enumerate() {
            let share = pairs[at].closeness / best;
            pairs[at].features.extend([rank.min(20) as u8, (share * 100.0) as u8]);
        }
    }
}

/// The features of a pair but its ranks, and how close its facts are.
fn describe(
    vocabulary: &Vocabulary,
    (new, later): (&Fact, &Described),
    (old, earlier): (&Fact, &Described),
) -> (Vec<u8>, f32) {
    let percent = |share: f32| (share * 100.0) as u8;
    let own = vocabulary.compare(&earlier.own, &later.own);
    let own_back = vocabulary.compare(&later.own, &earlier.own);
    let around = vocabulary.compare(&earlier.own, &later.around);
    let around_back = vocabulary.compare(&later.own, &earlier.around);
    let surroundings = vocabulary.compare(&earlier.around, &later.around);
    let taken_back = vocabulary.compare(&earlier.own, &later.taken_back);
    let days = ((new.made_at.0 - old.made_at.0) / 86_400_000).clamp(0, 1 << 20);
    let mut features = vec![
        percent(own.share),
        percent(own_back.share),
        percent(around.share),
        percent(around_back.share),
        percent(surroundings.share),
        own.many.min(20) as u8,
        percent(own.rarest),
        percent(around.rarest),
        percent(taken_back.share),
        percent(taken_back.rarest),
        u8::from(!later.taken_back.ids.is_empty()),
        u8::from(new.subject.reverses),
        u8::from(new.kind == old.kind),
        new.symbols.intersection(&old.symbols).count().min(9) as u8,
        u8::from(differ_in_numbers(&new.text, &old.text)),
        (64 - (days as u64).leading_zeros()) as u8,
    ];
    for fact in [old, new] {
        features.extend(KINDS.map(|kind| u8::from(fact.kind == kind)));
    }
    for side in [later, earlier] {
        features.extend(side.cues.bits().map(u8::from));
    }
    (features, own.share + around.share + surroundings.share)
}

fn shares_session(one: &Fact, other: &Fact) -> bool {
    let same = |a: &Evidence, b: &Evidence| (&a.source, &a.session_id) == (&b.source, &b.session_id);
    one.evidence.iter().any(|a| other.evidence.iter().any(|b| same(a, b)))
}

/// Both state numbers, and not the same: "30 seconds" and "60 seconds".
fn differ_in_numbers(one: &str, other: &str) -> bool {
    let numbers = |text: &str| -> BTreeSet<String> {
        let parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        parts.map(ToString::to_string).collect()
    };
    let (one, other) = (numbers(one), numbers(other));
    !one.is_empty() && !other.is_empty() && one.is_disjoint(&other)
}

/// Words by number, in order, with the sum of their weights.
struct Numbered {
    ids: Vec<u32>,
    weight: f32,
}

/// A fact with what is compared of it.
struct Described {
    own: Numbered,
    around: Numbered,
    /// The words of the clauses that deny something.
    taken_back: Numbered,
    cues: Cues,
}

impl Described {
    fn new(fact: &Fact, vocabulary: &Vocabulary) -> Described {
        let text = fold(&fact.text);
        Described {
            own: vocabulary.number(content_words(&text).iter()),
            around: vocabulary.number(fact.subject.words.iter()),
            taken_back: vocabulary.number(denied_words(&text).iter()),
            cues: Cues::find(&text),
        }
    }
}

fn denied_words(text: &str) -> Words {
    let clauses = text.split(['.', ',', ';', ':', '—', '，', '。', '；', '：']);
    clauses.filter(|clause| Cues::find(clause).has_any(&DENYING)).flat_map(content_words).collect()
}

/// What two lists of words share.
struct Shared {
    /// Of the weight of the first.
    share: f32,
    many: usize,
    /// The weight of the rarest shared word, as a share of the greatest possible.
    rarest: f32,
}

/// The words of a project's facts, with weights: a word of few facts tells more.
struct Vocabulary {
    ids: BTreeMap<String, u32>,
    weights: Vec<f32>,
    greatest: f32,
}

impl Vocabulary {
    fn new(facts: &[&Fact]) -> Vocabulary {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for fact in facts {
            let mut words = content_words(&fold(&fact.text));
            words.extend(fact.subject.words.iter().cloned());
            for word in words {
                *counts.entry(word).or_default() += 1;
            }
        }
        let weigh = |many: u32| (1.0 + facts.len() as f32 / many as f32).ln();
        let weights = counts.values().map(|many| weigh(*many)).collect();
        let ids = counts.into_keys().zip(0..).collect();
        Vocabulary { ids, weights, greatest: weigh(1) }
    }

    fn number<'w>(&self, words: impl Iterator<Item = &'w String>) -> Numbered {
        let ids: Vec<u32> = words.filter_map(|word| self.ids.get(word).copied()).collect();
        let weight = ids.iter().map(|id| self.weights[*id as usize]).sum();
        Numbered { ids, weight }
    }

    fn compare(&self, words: &Numbered, others: &Numbered) -> Shared {
        let (mut weight, mut many, mut rarest) = (0.0, 0, 0.0_f32);
        let mut rest = others.ids.iter().peekable();
        for id in &words.ids {
            while rest.next_if(|other| *other < id).is_some() {}
            if rest.peek() == Some(&id) {
                let one = self.weights[*id as usize];
                weight += one;
                many += 1;
                rarest = rarest.max(one);
            }
        }
        let share = if words.weight > 0.0 { weight / words.weight } else { 0.0 };
        Shared { share, many, rarest: rarest / self.greatest }
    }
}
