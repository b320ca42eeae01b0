//! Trains which fact replaces an earlier one of its project, on the sets of talk.
//!
//! Does not know how a pair of facts is described (`memory::describe_pairs`).

use super::boost::{Example, Settings};
use super::model::Model;
use super::talk_set::{GoldFact, Session, TalkSet, fold, has};
use crate::Outcome;
use crate::args::Args;
use crate::repository;
use memory::{
    Evidence, Fact, Origin, Pair, State, describe_pairs, fact_id, note_candidates, pair_feature_names,
};
use std::collections::BTreeMap;

const TREES: Settings = Settings {
    trees: 120,
    depth: 3,
    rate: 0.05,
    base: -1.0,
    regularization: 3.0,
    min_leaf: 2.0,
    features_seen: 30,
};
const PENALTY: f64 = 60.0;
/// The log odds above which an earlier fact counts as replaced.
const THRESHOLD: f64 = 0.5;
/// One pair of a hundred is a replacement; weighted so, they are one of ten.
const POSITIVE_WEIGHT: f32 = 12.0;

/// The facts of one project of a set, with what the set says about them.
struct Project {
    set: usize,
    facts: Vec<Known>,
    pairs: Vec<Pair>,
}

struct Known {
    fact: Fact,
    slug: String,
    /// The replacement that the set names.
    superseded_by: Option<(String, usize)>,
    /// The facts of its session that it states.
    states: Vec<usize>,
    /// Those of them that still hold.
    current: Vec<usize>,
}

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["sets", "without"], &["folds"])?;
    let folder = args.path_value("sets").ok_or("--sets DIR is missing")?;
    let mut sets = TalkSet::load_all(&folder)?;
    sets.retain(|set| Some(set.name.as_str()) != args.text_value("without"));
    let projects: Vec<Project> =
        sets.iter().enumerate().flat_map(|(at, set)| collect_projects(at, set)).collect();
    if args.has_switch("folds") {
        print_folds(&sets, &projects);
        return Ok(true);
    }
    let model = train(projects.iter());
    let target = repository::root().join("crates/memory/src/supersede");
    model.write(&target, "pair", &pair_feature_names(), THRESHOLD)?;
    Ok(true)
}

fn collect_projects(set: usize, talk: &TalkSet) -> Vec<Project> {
    let mut projects: BTreeMap<&str, Vec<Known>> = BTreeMap::new();
    for session in &talk.sessions {
        projects.entry(&session.digest.project).or_default().extend(collect_facts(talk, session));
    }
    let describe = |facts: Vec<Known>| {
        let pairs = describe_pairs(&facts.iter().map(|known| &known.fact).collect::<Vec<_>>());
        Project { set, facts, pairs }
    };
    projects.into_values().map(describe).collect()
}

/// What is kept of a session, and what should be.
fn collect_facts(set: &TalkSet, session: &Session) -> Vec<Known> {
    let mut found: BTreeMap<String, Known> = BTreeMap::new();
    for (candidate, noted, is_kept) in note_candidates(&session.digest) {
        if !is_kept && !set.is_right(&candidate.text) {
            continue;
        }
        let text = fold(&candidate.text);
        let states = |fact: &GoldFact| has(&text, &fact.words);
        let stated: Vec<usize> =
            (0..session.facts.len()).filter(|nth| states(&session.facts[*nth])).collect();
        let evidence = Evidence {
            source: session.digest.source.clone(),
            session_id: session.slug.clone(),
            message_id: candidate.message_id.clone(),
        };
        let fact = Fact {
            id: fact_id(&session.digest.project, &noted.text),
            text: noted.text,
            state: State::Fresh,
            origin: Origin::User,
            evidence: [evidence].into(),
            symbols: noted.symbols.into_iter().collect(),
            project: session.digest.project.clone(),
            pinned: false,
            edited: false,
            edited_at: record::Stamp::NONE,
            made_at: candidate.at,
            kind: noted.kind,
            subject: noted.subject,
            superseded_by: None,
        };
        let known = Known {
            slug: session.slug.clone(),
            superseded_by: stated.iter().find_map(|nth| session.facts[*nth].superseded_by.clone()),
            current: stated.iter().copied().filter(|nth| !session.facts[*nth].is_superseded).collect(),
            states: stated,
            fact,
        };
        found.insert(known.fact.id.clone(), known);
    }
    found.into_values().collect()
}

/// Whether a pair is a replacement; `None` where the set does not tell.
fn label(project: &Project, pair: &Pair) -> Option<bool> {
    let (old, new) = (&project.facts[pair.old], &project.facts[pair.new]);
    let Some((slug, nth)) = &old.superseded_by else { return Some(false) };
    if *slug != new.slug {
        return Some(false);
    }
    if new.states.contains(nth) { old.current.is_empty().then_some(true) } else { None }
}

fn train<'p>(projects: impl Iterator<Item = &'p Project>) -> Model {
    let mut examples = Vec::new();
    for project in projects {
        for pair in &project.pairs {
            if let Some(positive) = label(project, pair) {
                let weight = if positive { POSITIVE_WEIGHT } else { 1.0 };
                examples.push(Example { features: pair.features.clone(), positive, weight });
            }
        }
    }
    let positive = examples.iter().filter(|example| example.positive).count();
    println!("{} pairs, {positive} replacements", examples.len());
    Model::train(&examples, PENALTY, TREES)
}

// ---- reports

const STEPS: [f64; 7] = [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0];

fn print_folds(sets: &[TalkSet], projects: &[Project]) {
    let mut total = [[0; 4]; STEPS.len()];
    for (held, set) in sets.iter().enumerate() {
        let model = train(projects.iter().filter(|project| project.set != held));
        println!("set {}, not trained on", set.name);
        for (step, sum) in STEPS.iter().zip(&mut total) {
            let counts = count(projects.iter().filter(|project| project.set == held), &model, *step);
            print_counts(*step, counts);
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    println!("all sets, each not trained on");
    for (step, counts) in STEPS.iter().zip(total) {
        print_counts(*step, counts);
    }
}

/// Facts of the set that were replaced, those no longer offered, facts that hold, and those lost. Of several texts that
/// state one fact, one is enough to offer it.
fn count<'p>(projects: impl Iterator<Item = &'p Project>, model: &Model, threshold: f64) -> [usize; 4] {
    let mut counts = [0; 4];
    for project in projects {
        let mut found = vec![false; project.facts.len()];
        for pair in &project.pairs {
            found[pair.old] |= model.score(&pair.features) > threshold;
        }
        let mut offered: BTreeMap<(&str, usize), (bool, bool)> = BTreeMap::new();
        for (known, found) in project.facts.iter().zip(found) {
            for nth in &known.states {
                let is_current = known.current.contains(nth);
                offered.entry((&known.slug, *nth)).or_insert((is_current, false)).1 |= !found;
            }
        }
        for (is_current, is_offered) in offered.into_values() {
            let at = if is_current { 2 } else { 0 };
            counts[at] += 1;
            counts[at + 1] += usize::from(!is_offered);
        }
    }
    counts
}

fn print_counts(threshold: f64, [replaced, found, current, wrong]: [usize; 4]) {
    println!(
        "  above {threshold:4.1}: {found} of {replaced} replaced facts not offered, {wrong} of {current} current facts lost"
    );
}
