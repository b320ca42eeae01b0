//! `cargo xtask quality`: measures how well the search finds what was meant, on sets with known answers and with the
//! product's defaults.
//!
//! Does not measure speed: `cargo xtask bench` does.
//!
//! | flag | |
//! |---|---|
//! | `--locomo FILE` | the data of the `LoCoMo` benchmark; skipped with a message if it is missing |
//! | `--seed N` | seed of the needles, by default 8 |
//! | `--misses` | print every query whose first result is wrong |
//! | `--fit` | fit the confidence model again and print its weights |
//! | `--smoke` | fail if a goal is missed |

mod chance;
mod curve;
mod locomo;
mod needles;
mod recommend;
mod set;
mod table;
mod talk;

use crate::args::Args;
use crate::{Outcome as Done, tidy};
use set::{Bench, Outcome, Scratch, Set};
use std::path::PathBuf;

pub(crate) const HELP: &str = "[recommend] [--locomo FILE] [--seed 8] [--misses] [--fit] [--smoke]\n\
    run queries with known answers, print hits by kind and the calibration of the confidence; --smoke fails below the goals\n\
    recommend: the same for the cards shown for prompts that refer back [--histories 1]";

/// A goal: the minimum share of hits in a set.
struct Goal {
    what: &'static str,
    least: f64,
}

const LOCOMO_FIRST: Goal = Goal { what: "locomo hit@1", least: 0.698 };
const LOCOMO_FIVE: Goal = Goal { what: "locomo hit@5", least: 0.89 };
const NEEDLES_FIRST: Goal = Goal { what: "needles hit@1", least: 0.95 };
const TALK_FIRST: Goal = Goal { what: "talk hit@1", least: 0.90 };
/// Limit for the mean distance between confidence and accuracy over the bins.
const APART: f64 = 0.05;

pub(crate) fn run(args: &[String]) -> Done {
    if let Some(("recommend", rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return recommend::run(rest);
    }
    let args = Args::parse(args, &["locomo", "seed"], &["misses", "fit", "smoke"])?;
    let scratch = Scratch::new();
    let mut missed = Vec::new();
    let mut all = locomo(&args, &scratch, &mut missed)?;
    let needles = ask(needles::set(args.number("seed", 8)?), &scratch, true, args.has("misses"))?;
    hold(&NEEDLES_FIRST, table::print("needles", &needles).first, &mut missed);
    all.extend(needles);
    talk(&args, &scratch, &mut missed)?;
    let apart = curve::print(&all);
    if apart > APART {
        missed.push(format!("confidence differs from accuracy by {apart:.3}, limit {APART}"));
    }
    if args.has("fit") {
        println!("\nweights {:.3?}", curve::fit(&all));
    }
    for missed in &missed {
        println!("\ngoal missed: {missed}");
    }
    Ok(missed.is_empty() || !args.has("smoke"))
}

fn hold(goal: &Goal, is: f64, missed: &mut Vec<String>) {
    if is < goal.least {
        missed.push(format!("{} is {:.1} %, goal {:.1} %", goal.what, is * 100.0, goal.least * 100.0));
    }
}

fn ask(set: Set, scratch: &Scratch, stems: bool, tell: bool) -> Result<Vec<Outcome>, String> {
    let bench = Bench::new(set, scratch, stems)?;
    let outcomes = bench.run(&search::TUNING)?;
    for (ask, outcome) in
        bench.set.asks.iter().zip(&outcomes).filter(|(_, outcome)| tell && !outcome.within(1))
    {
        println!("missed ({}, rank {:?}): {}", outcome.kind.trim(), outcome.rank, ask.query);
    }
    Ok(outcomes)
}

fn locomo(args: &Args, scratch: &Scratch, missed: &mut Vec<String>) -> Result<Vec<Outcome>, String> {
    let path = args.path("locomo").unwrap_or_else(beside);
    if !path.exists() {
        println!("locomo skipped: {} not found; pass the file with --locomo", path.display());
        return Ok(Vec::new());
    }
    let (mut all, mut odd) = (Vec::new(), Vec::new());
    for (nth, set) in locomo::load(&path)?.into_iter().enumerate() {
        let outcomes = ask(set, scratch, true, args.has("misses"))?;
        if nth % 2 == 1 {
            odd.extend(outcomes.clone());
        }
        all.extend(outcomes);
    }
    let total = table::print("locomo", &all);
    table::print("locomo, odd dialogues", &odd);
    hold(&LOCOMO_FIRST, total.first, missed);
    hold(&LOCOMO_FIVE, total.five, missed);
    Ok(all)
}

fn beside() -> PathBuf {
    let root = tidy::root();
    root.parent().unwrap_or(root).join("shared/bench/retrieval/locomo10.json")
}

/// A kind of query, and how it is recognised.
type Kind = (&'static str, fn(&str) -> bool);

/// Runs the talk set with and without stemming: identifiers and Chinese must not suffer from it.
fn talk(args: &Args, scratch: &Scratch, missed: &mut Vec<String>) -> Result<(), String> {
    let folder = tidy::root().join("crates/search/testdata/talk");
    let (Some(set), Some(again)) = (talk::load(&folder)?, talk::load(&folder)?) else {
        println!("talk skipped: {} not found", folder.display());
        return Ok(());
    };
    let stemmed = ask(set, scratch, true, args.has("misses"))?;
    let plain = ask(again, scratch, false, false)?;
    hold(&TALK_FIRST, table::print("talk", &stemmed).first, missed);
    curve::print(&stemmed);
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
            .map(|outcomes| table::figures(outcomes.iter().filter(|outcome| of(&outcome.kind))));
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        println!("{name:<24} {:>7} {:>9} {:>7}", with.queries, percent(without.first), percent(with.first));
        if name != "all" && with.first < without.first {
            missed.push(format!("stemming hurts {name}"));
        }
    }
    Ok(())
}
