//! `cargo xtask quality`: measures how well the search finds what was meant, on sets with known answers and with the
//! product's defaults.
//!
//! Does not measure speed: `cargo xtask bench` does.
//!
//! | flag | |
//! |---|---|
//! | `--locomo FILE` | the data of the `LoCoMo` benchmark; skipped with a message if it is missing |
//! | `--sets DIR` | the sets of talk, with queries that have no answer; skipped if not named |
//! | `--seed N` | seed of the needles, by default 8 |
//! | `--misses` | print every query whose first result is wrong |
//! | `--fit` | fit the confidence model again and print its weights |
//! | `--smoke` | fail if a goal is missed |

mod calibration;
mod changes;
mod exchange;
mod judges;
mod locomo;
mod map;
mod names;
mod needles;
pub(crate) mod recommend;
mod rng;
pub(crate) mod set;
mod table;
mod talk;
mod tasks;
mod usages;

use crate::args::Args;
use crate::{Outcome as Done, repository};
use set::{IndexedSet, Outcome, Scratch, Set};
use std::path::PathBuf;

pub(crate) const HELP: &str = "[recommend|usages FOLDER...|judges LANGUAGE FOLDER|names FILE FOLDER|map FILE FOLDER|changes LANGUAGE FOLDER|tasks FILE FOLDER] [--locomo FILE] [--sets DIR] [--seed 8] [--misses] [--fit] [--smoke]\n\
    run queries with known answers, print hits by kind and the calibration of the confidence; --smoke fails below the goals\n\
    recommend: the same for the cards shown for prompts that refer back [--histories 1]\n\
    usages FOLDER...: functions called in a source tree that have usages, against a text search\n\
    judges LANGUAGE FOLDER: usages of all kinds of symbols against a compiler [--count 300] [--modules DIR] [--all]\n\
    names FILE FOLDER: whether names as people write them lead to the symbol that is meant [--loci PATH] [--misses]\n\
    map FILE FOLDER: whether the symbols that a reader would put first are on the map [--loci PATH] [--misses]\n\
    changes LANGUAGE FOLDER: changes of commits against another parser [--count 50] [--loci PATH] [--modules DIR] [--all]\n\
    tasks FILE FOLDER: questions about source trees, answered by loci and by text search [--loci PATH] [--write DIR]";

/// A goal: the minimum share of hits in a set.
struct Goal {
    name: &'static str,
    minimum: f64,
}

const LOCOMO_FIRST: Goal = Goal { name: "locomo hit@1", minimum: 0.698 };
const LOCOMO_FIVE: Goal = Goal { name: "locomo hit@5", minimum: 0.89 };
const NEEDLES_FIRST: Goal = Goal { name: "needles hit@1", minimum: 0.95 };
const TALK_FIRST: Goal = Goal { name: "talk hit@1", minimum: 0.90 };
/// How often a query of the sets of talk counts when the confidence is fitted.
const EXCHANGE_WEIGHT: usize = 4;
/// Limit for the mean distance between confidence and accuracy over the bins.
const MAX_CALIBRATION_ERROR: f64 = 0.05;

pub(crate) fn run(args: &[String]) -> Done {
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("recommend", rest)) => return recommend::run(rest),
        Some(("usages", rest)) => return usages::run(rest),
        Some(("judges", rest)) => return judges::run(rest),
        Some(("names", rest)) => return names::run(rest),
        Some(("map", rest)) => return map::run(rest),
        Some(("changes", rest)) => return changes::run(rest),
        Some(("tasks", rest)) => return tasks::run(rest),
        _ => {}
    }
    let args = Args::parse(args, &["locomo", "sets", "seed"], &["misses", "fit", "smoke"])?;
    let scratch = Scratch::new();
    let mut missed = Vec::new();
    let mut all = run_locomo(&args, &scratch, &mut missed)?;
    let has_locomo = !all.is_empty();
    let needles = run_set(
        needles::needle_set(args.number_value("seed", 8)?),
        &scratch,
        true,
        args.has_switch("misses"),
    )?;
    check_goal(&NEEDLES_FIRST, table::print_table("needles", &needles).first, &mut missed);
    all.extend(needles);
    run_talk(&args, &scratch, &mut missed)?;
    // Few, but the only ones without an answer: each counts as often as needed to be heard among the others.
    let exchanges = run_exchanges(&args, &scratch)?;
    (0..EXCHANGE_WEIGHT).for_each(|_| all.extend(exchanges.iter().cloned()));
    let error = calibration::print_bins(&all);
    if !has_locomo {
        println!(
            "confidence is not judged without LoCoMo: it was fitted on it, and {} results are few",
            all.len()
        );
    } else if error > MAX_CALIBRATION_ERROR {
        missed.push(format!("confidence differs from accuracy by {error:.3}, limit {MAX_CALIBRATION_ERROR}"));
    }
    if args.has_switch("fit") {
        println!("\nweights {:.3?}", calibration::fit_outcomes(&all));
    }
    for missed in &missed {
        println!("\ngoal missed: {missed}");
    }
    Ok(missed.is_empty() || !args.has_switch("smoke"))
}

fn check_goal(goal: &Goal, share: f64, missed: &mut Vec<String>) {
    if share < goal.minimum {
        missed.push(format!("{} is {:.1} %, goal {:.1} %", goal.name, share * 100.0, goal.minimum * 100.0));
    }
}

fn run_set(set: Set, scratch: &Scratch, stems: bool, print_misses: bool) -> Result<Vec<Outcome>, String> {
    let indexed = IndexedSet::new(set, scratch, stems)?;
    let outcomes = indexed.run_queries(&search::TUNING)?;
    for (query, outcome) in
        indexed.set.queries.iter().zip(&outcomes).filter(|(_, outcome)| print_misses && !outcome.is_within(1))
    {
        println!("missed ({}, rank {:?}): {}", outcome.kind.trim(), outcome.rank, query.query);
    }
    Ok(outcomes)
}

fn run_locomo(args: &Args, scratch: &Scratch, missed: &mut Vec<String>) -> Result<Vec<Outcome>, String> {
    let path = args.path_value("locomo").unwrap_or_else(default_locomo_path);
    if !path.exists() {
        println!("locomo skipped: {} not found; pass the file with --locomo", path.display());
        return Ok(Vec::new());
    }
    let (mut all, mut odd) = (Vec::new(), Vec::new());
    for (nth, set) in locomo::load_sets(&path)?.into_iter().enumerate() {
        let outcomes = run_set(set, scratch, true, args.has_switch("misses"))?;
        if nth % 2 == 1 {
            odd.extend(outcomes.clone());
        }
        all.extend(outcomes);
    }
    let total = table::print_table("locomo", &all);
    table::print_table("locomo, odd dialogues", &odd);
    check_goal(&LOCOMO_FIRST, total.first, missed);
    check_goal(&LOCOMO_FIVE, total.five, missed);
    Ok(all)
}

/// Runs the sets of talk. A query without an answer counts as wrong whatever is found.
fn run_exchanges(args: &Args, scratch: &Scratch) -> Result<Vec<Outcome>, String> {
    let Some(folder) = args.path_value("sets") else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for set in exchange::load_sets(&folder)? {
        all.extend(run_set(set, scratch, true, args.has_switch("misses"))?);
    }
    table::print_table("exchanges", &all);
    calibration::print_bins(&all);
    Ok(all)
}

fn default_locomo_path() -> PathBuf {
    let root = repository::root();
    root.parent().unwrap_or(root).join("shared/bench/retrieval/locomo10.json")
}

/// A kind of query, and how it is recognised.
type Kind = (&'static str, fn(&str) -> bool);

/// Runs the talk set with and without stemming: identifiers and Chinese must not suffer from it.
fn run_talk(args: &Args, scratch: &Scratch, missed: &mut Vec<String>) -> Result<(), String> {
    let folder = repository::root().join("crates/search/testdata/talk");
    let (Some(set), Some(again)) = (talk::load_set(&folder)?, talk::load_set(&folder)?) else {
        println!("talk skipped: {} not found", folder.display());
        return Ok(());
    };
    let stemmed = run_set(set, scratch, true, args.has_switch("misses"))?;
    let plain = run_set(again, scratch, false, false)?;
    check_goal(&TALK_FIRST, table::print_table("talk", &stemmed).first, missed);
    calibration::print_bins(&stemmed);
    println!("\n{:<24} {:>7} {:>9} {:>7}", "stemming", "queries", "without", "with");
    let kinds: [Kind; 3] = [
        ("identifiers", |kind| {
            ["identifier", "camel-half", "path", "error"].iter().any(|of| kind.ends_with(of))
        }),
        ("Chinese", |kind| kind.starts_with("zh")),
        ("all", |_| true),
    ];
    for (name, of) in kinds {
        let [without, with] = [&plain, &stemmed]
            .map(|outcomes| table::compute_rates(outcomes.iter().filter(|outcome| of(&outcome.kind))));
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        println!("{name:<24} {:>7} {:>9} {:>7}", with.queries, percent(without.first), percent(with.first));
        if name != "all" && with.first < without.first {
            missed.push(format!("stemming hurts {name}"));
        }
    }
    Ok(())
}
