//! `cargo xtask quality`: does the search find what was meant? Sets with known answers, asked with the product's
//! defaults.
//!
//! Does not know speed: that is `cargo xtask bench`.
//!
//! | flag | |
//! |---|---|
//! | `--locomo FILE` | the benchmark's data, by default `../shared/bench/retrieval/locomo10.json` beside the repository; left out with a word when it is not there |
//! | `--seed N` | of the needles, by default 8 |
//! | `--misses` | prints every question whose first answer is wrong |
//! | `--fit` | fits the model of confidence anew and prints its numbers |
//! | `--smoke` | fails when a goal is missed |

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
    ask sets with known answers, print hits by kind and how sure the search was; --smoke fails below the goals\n\
    recommend: the same of the cards that are shown to a prompt that refers back [--histories 1]";

/// What is asked for: the least share of hits, by set.
struct Goal {
    what: &'static str,
    least: f64,
}

const LOCOMO_FIRST: Goal = Goal { what: "locomo hit@1", least: 0.698 };
const LOCOMO_FIVE: Goal = Goal { what: "locomo hit@5", least: 0.89 };
const NEEDLES_FIRST: Goal = Goal { what: "needles hit@1", least: 0.95 };
const TALK_FIRST: Goal = Goal { what: "talk hit@1", least: 0.90 };
/// How far confidence and truth may be apart, on average over the bins.
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
        missed.push(format!("confidence is {apart:.3} from the truth, at most {APART} is wanted"));
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
        missed.push(format!("{} is {:.1} %, {:.1} % is wanted", goal.what, is * 100.0, goal.least * 100.0));
    }
}

fn ask(set: Set, scratch: &Scratch, stems: bool, tell: bool) -> Result<Vec<Outcome>, String> {
    let bench = Bench::new(set, scratch, stems)?;
    let outcomes = bench.run(&search::TUNING)?;
    for (ask, outcome) in
        bench.set.asks.iter().zip(&outcomes).filter(|(_, outcome)| tell && !outcome.within(1))
    {
        println!("missed ({}, place {:?}): {}", outcome.kind.trim(), outcome.rank, ask.query);
    }
    Ok(outcomes)
}

fn locomo(args: &Args, scratch: &Scratch, missed: &mut Vec<String>) -> Result<Vec<Outcome>, String> {
    let path = args.path("locomo").unwrap_or_else(beside);
    if !path.exists() {
        println!("locomo is left out: there is no {}; name it with --locomo", path.display());
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

/// Questions of one sort, and how they are told.
type Kind = (&'static str, fn(&str) -> bool);

/// The talk set, and the same without stems: identifiers and Chinese must not suffer from stemming.
fn talk(args: &Args, scratch: &Scratch, missed: &mut Vec<String>) -> Result<(), String> {
    let folder = tidy::root().join("crates/search/testdata/talk");
    let (Some(set), Some(again)) = (talk::load(&folder)?, talk::load(&folder)?) else {
        println!("talk is left out: there is none in {}", folder.display());
        return Ok(());
    };
    let stemmed = ask(set, scratch, true, args.has("misses"))?;
    let plain = ask(again, scratch, false, false)?;
    hold(&TALK_FIRST, table::print("talk", &stemmed).first, missed);
    curve::print(&stemmed);
    println!("\n{:<24} {:>6} {:>9} {:>7}", "stemming", "asked", "without", "with");
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
        println!("{name:<24} {:>6} {:>9} {:>7}", with.asked, percent(without.first), percent(with.first));
        if name != "all" && with.first < without.first {
            missed.push(format!("stemming hurts {name}"));
        }
    }
    Ok(())
}
