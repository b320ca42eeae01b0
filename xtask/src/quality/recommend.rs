//! `cargo xtask quality recommend`: whether a card is shown if a prompt refers back, for the right session, and for
//! nothing else. It generates a thousand sessions in a client's format, indexes them and queries the product itself.
//!
//! Does not know the rules it measures. One half of the prompts is for tuning, the other is held out: when changing a
//! rule, look only at the misses of the first half.
//!
//! | flag | |
//! |---|---|
//! | `--seed N` | seed of the generated history and prompts, by default 8 |
//! | `--histories N` | number of histories, each with the next seed, by default one |
//! | `--misses` | print the errors in the tuning half |
//! | `--fit` | fit the confidence model again to that half and print its weights |
//! | `--smoke` | fail if a goal is missed |

mod history;
mod prompts;

use super::calibration;
use super::set::Scratch;
use crate::Outcome;
use crate::args::Args;
use api::Handle;
use api::maintenance::Index;
use api::recommend::{Recommend, THRESHOLD};
use history::History;
use prompts::Prompt;
use record::{Clock, Stamp};
use service::{Environment, Service};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// When the prompts are typed.
pub(crate) const NOW: Stamp = Stamp(history::NOW);

/// The half that the goals are about.
const HELD_OUT: &str = "held out";

/// Minimum share of cards that show the right session.
const MIN_PRECISION: f64 = 0.95;
/// Maximum share of ordinary prompts that get a card.
const MAX_FALSE_CARDS: f64 = 0.02;
/// Minimum share of referring prompts that get the right card.
const MIN_RECALL: f64 = 0.60;
/// Limit for the mean distance between confidence and accuracy over the bins.
const MAX_CALIBRATION_ERROR: f64 = 0.06;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["seed", "histories"], &["misses", "fit", "smoke"])?;
    let (seed, many) = (args.number_value("seed", 8)?, args.number_value("histories", 1)?.max(1));
    let scratch = Scratch::new();
    let mut judged = Vec::new();
    for seed in seed..seed + many {
        judged.extend(run_history(
            seed,
            &scratch.subfolder(&format!("recommend-{seed}")),
            args.has_switch("misses"),
        )?);
    }
    let mut missed = Vec::new();
    for (name, tuned) in [("tuning", true), (HELD_OUT, false)] {
        let half: Vec<&Judged> = judged.iter().filter(|one| one.prompt.is_for_tuning() == tuned).collect();
        print_half(name, &half, &mut missed);
    }
    let predictions: Vec<(f64, bool)> =
        judged.iter().filter_map(|one| Some((one.suggestion.as_ref()?.2, one.is_right()))).collect();
    let error = calibration::print_predictions(&predictions);
    if error > MAX_CALIBRATION_ERROR {
        missed.push(format!("confidence differs from accuracy by {error:.3}, limit {MAX_CALIBRATION_ERROR}"));
    }
    if args.has_switch("fit") {
        let tuned = judged.iter().filter(|one| one.prompt.is_for_tuning());
        let rows = tuned.filter_map(|one| Some((one.suggestion.as_ref()?.0.clone(), one.is_right())));
        println!("\nweights {:.3?}", calibration::fit_rows(&rows.collect::<Vec<_>>()));
    }
    for missed in &missed {
        println!("\ngoal missed: {missed}");
    }
    Ok(missed.is_empty() || !args.has_switch("smoke"))
}

/// Generates a history, indexes it, and runs all prompts against it.
fn run_history(seed: u64, home: &Path, misses: bool) -> Result<Vec<Judged>, String> {
    let history = History::new(seed)?;
    history.write(home)?;
    let indexed = open_service(home, Path::new("/"), NOW)
        .handle(&Index::default())
        .map_err(|error| error.to_string())?;
    let prompts = prompts::all_prompts(&history, seed)?;
    println!("{} sessions, {} prompts", indexed.sessions, prompts.len());
    let judged: Vec<Judged> = prompts.into_iter().map(|prompt| judge_prompt(home, prompt)).collect();
    if misses {
        judged.iter().filter(|one| one.prompt.is_for_tuning()).for_each(|one| print_miss(one, &history));
    }
    Ok(judged)
}

/// The product over a home, at a time.
pub(crate) fn open_service(home: &Path, cwd: &Path, at: Stamp) -> Service {
    let environment = Environment { home: home.to_path_buf(), vars: BTreeMap::new() };
    Service::new(environment, Clock::At(at), cwd.to_path_buf(), PathBuf::new(), 2)
}

/// Inputs of the model and whether the candidate is right, for the tuning half of the prompts of generated histories.
pub(crate) fn tuning_rows(seed: u64, many: u64, scratch: &Scratch) -> Result<Vec<(Vec<f32>, bool)>, String> {
    let mut rows = Vec::new();
    for seed in seed..seed + many {
        let judged = run_history(seed, &scratch.subfolder(&format!("tuning-{seed}")), false)?;
        let tuned = judged.into_iter().filter(|one| one.prompt.is_for_tuning());
        rows.extend(tuned.filter_map(|one| {
            let is_right = one.is_right();
            Some((one.suggestion?.0, is_right))
        }));
    }
    Ok(rows)
}

/// A prompt and its suggestion: inputs of the model, session, confidence.
struct Judged {
    prompt: Prompt,
    suggestion: Option<(Vec<f32>, String, f64)>,
}

fn judge_prompt(home: &Path, prompt: Prompt) -> Judged {
    let request = Recommend { prompt: prompt.text.clone(), ..Recommend::default() };
    let suggestion = open_service(home, &prompt.cwd, NOW).confidence_inputs(&request);
    Judged { prompt, suggestion }
}

impl Judged {
    fn is_right(&self) -> bool {
        self.suggestion.as_ref().is_some_and(|(_, chat, _)| self.prompt.target.as_ref() == Some(chat))
    }

    fn shows_card(&self) -> bool {
        self.suggestion.as_ref().is_some_and(|(.., confidence)| *confidence >= THRESHOLD)
    }
}

fn print_miss(one: &Judged, history: &History) {
    let confidence = one
        .suggestion
        .as_ref()
        .map_or("no reference".to_string(), |(.., confidence)| format!("{confidence:.2}"));
    let what = match (one.prompt.target.is_some(), one.shows_card(), one.is_right()) {
        (true, true, false) => "wrong card",
        (true, false, true) => "right, unsure",
        (true, false, false) => "missed",
        (false, true, _) => "false card",
        _ => return,
    };
    println!("{what:<14} {confidence:<12} {:<16} {}", one.prompt.kind, one.prompt.text);
    if let (true, Some((_, chat, _))) = (what.contains("card"), &one.suggestion) {
        for (what, id) in [("got", Some(chat)), ("meant", one.prompt.target.as_ref())] {
            println!(
                "{:<14} {what:<6} {}",
                "",
                id.map_or("nothing".to_string(), |id| history.session_text(id))
            );
        }
    }
}

fn print_half(name: &str, half: &[&Judged], missed: &mut Vec<String>) {
    println!(
        "\n{name:<24} {:>7} {:>6} {:>6} {:>10} {:>8}",
        "prompts", "cards", "right", "precision", "recall"
    );
    let mut kinds: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
    for one in half {
        kinds.entry(&one.prompt.kind).or_default().push(one);
    }
    for (kind, of) in &kinds {
        print_row(kind, of);
    }
    let meant: Vec<&Judged> = half.iter().filter(|one| one.prompt.target.is_some()).copied().collect();
    let ordinary: Vec<&Judged> = half.iter().filter(|one| one.prompt.target.is_none()).copied().collect();
    print_row("all that refer back", &meant);
    print_row("all ordinary", &ordinary);
    let (cards, right) =
        (count_where(half, Judged::shows_card), count_where(half, |one| one.shows_card() && one.is_right()));
    let precision = fraction(right, cards);
    let wrong = fraction(count_where(&ordinary, Judged::shows_card), ordinary.len());
    let recall = fraction(count_where(&meant, |one| one.shows_card() && one.is_right()), meant.len());
    println!(
        "precision of cards {:.1} %, false cards on ordinary prompts {:.1} %, recall {:.1} %",
        precision * 100.0,
        wrong * 100.0,
        recall * 100.0
    );
    // The other half was in view when the cues were chosen; its figures are printed to compare.
    let mut require = |what: &str, reached: bool| {
        if !reached && name == HELD_OUT {
            missed.push(format!("{name}: {what}"));
        }
    };
    require("precision of cards", precision >= MIN_PRECISION);
    require("false cards", wrong <= MAX_FALSE_CARDS);
    require("recall", recall >= MIN_RECALL);
}

fn print_row(kind: &str, of: &[&Judged]) {
    let (cards, right) =
        (count_where(of, Judged::shows_card), count_where(of, |one| one.shows_card() && one.is_right()));
    let percent = |part: usize, of: usize| {
        if of == 0 { "–".to_string() } else { format!("{:.1} %", fraction(part, of) * 100.0) }
    };
    println!(
        "{kind:<24} {:>7} {cards:>6} {right:>6} {:>10} {:>8}",
        of.len(),
        percent(right, cards),
        percent(right, of.len())
    );
}

fn count_where(of: &[&Judged], is: impl Fn(&Judged) -> bool) -> usize {
    of.iter().filter(|one| is(one)).count()
}

fn fraction(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
}
