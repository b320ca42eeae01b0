//! Is it as sure as it says? Answers by the confidence they were given with, and the model fitted anew.
//!
//! Does not know what the engine does with a model: it prints the numbers, and a person puts them in.

use super::set::Outcome;
use search::Evidence;

/// Steps of the descent; the error no longer moves in its fourth digit.
const STEPS: usize = 20_000;
const PACE: f64 = 0.5;
/// Keeps weights small where there is little evidence.
const DAMPING: f64 = 1e-4;

/// Ten bins: how many answers, what was said, what was true. Returns how far the two are apart on average.
pub(crate) fn print(outcomes: &[Outcome]) -> f64 {
    println!("\n{:<14} {:>8} {:>7} {:>7}", "confidence", "answers", "said", "right");
    let mut apart = 0.0;
    for bin in 0..10 {
        let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| self::bin(outcome) == bin).collect();
        if of.is_empty() {
            continue;
        }
        let said =
            of.iter().map(|outcome| f64::from(outcome.found.confidence)).sum::<f64>() / of.len() as f64;
        let right = of.iter().filter(|outcome| outcome.within(1)).count() as f64 / of.len() as f64;
        apart += (said - right).abs() * of.len() as f64;
        let name = format!("{:.1} to {:.1}", bin as f64 / 10.0, (bin + 1) as f64 / 10.0);
        println!("{name:<14} {:>8} {said:>7.3} {right:>7.3}", of.len());
    }
    apart /= outcomes.len().max(1) as f64;
    println!("mean distance  {:>8} {apart:>15.3}", outcomes.len());
    apart
}

fn bin(outcome: &Outcome) -> usize {
    ((outcome.found.confidence * 10.0) as usize).min(9)
}

/// Logistic regression by plain descent.
pub(crate) fn fit(outcomes: &[Outcome]) -> Vec<f64> {
    let rows: Vec<(Vec<f64>, f64)> = outcomes
        .iter()
        .filter(|outcome| !outcome.found.chats.is_empty())
        .map(|outcome| (inputs(&outcome.found.evidence), f64::from(u8::from(outcome.within(1)))))
        .collect();
    let mut weights = vec![0.0; rows.first().map_or(0, |(inputs, _)| inputs.len())];
    for _ in 0..STEPS {
        let mut slope: Vec<f64> = weights.iter().map(|weight| weight * DAMPING).collect();
        for (inputs, right) in &rows {
            let sum: f64 = inputs.iter().zip(&weights).map(|(input, weight)| input * weight).sum();
            let off = 1.0 / (1.0 + (-sum).exp()) - right;
            for (slope, input) in slope.iter_mut().zip(inputs) {
                *slope += off * input / rows.len() as f64;
            }
        }
        for (weight, slope) in weights.iter_mut().zip(slope) {
            *weight -= PACE * slope;
        }
    }
    weights
}

fn inputs(evidence: &Evidence) -> Vec<f64> {
    evidence.inputs().iter().map(|input| f64::from(*input)).collect()
}
