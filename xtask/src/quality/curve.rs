//! Is it as sure as it says? Answers by the confidence they were given with, and the model fitted anew.
//!
//! Does not know what the engine does with a model: it prints the numbers, and a person puts them in.

use super::set::Outcome;

/// Steps of the descent; the error no longer moves in its fourth digit.
const STEPS: usize = 20_000;
const PACE: f64 = 0.5;
/// Keeps weights small where there is little evidence.
const DAMPING: f64 = 1e-4;

/// Ten bins: how many answers, what was said, what was true. Returns how far the two are apart on average.
pub(crate) fn print(outcomes: &[Outcome]) -> f64 {
    let told: Vec<(f64, bool)> =
        outcomes.iter().map(|outcome| (f64::from(outcome.found.confidence), outcome.within(1))).collect();
    print_told(&told)
}

/// The same of anything: what was said, and whether it was so.
pub(crate) fn print_told(told: &[(f64, bool)]) -> f64 {
    println!("\n{:<14} {:>8} {:>7} {:>7}", "confidence", "answers", "said", "right");
    let mut apart = 0.0;
    for bin in 0..10 {
        let of: Vec<&(f64, bool)> = told.iter().filter(|(said, _)| self::bin(*said) == bin).collect();
        if of.is_empty() {
            continue;
        }
        let said = of.iter().map(|(said, _)| said).sum::<f64>() / of.len() as f64;
        let right = of.iter().filter(|(_, right)| *right).count() as f64 / of.len() as f64;
        apart += (said - right).abs() * of.len() as f64;
        let name = format!("{:.1} to {:.1}", bin as f64 / 10.0, (bin + 1) as f64 / 10.0);
        println!("{name:<14} {:>8} {said:>7.3} {right:>7.3}", of.len());
    }
    apart /= told.len().max(1) as f64;
    println!("mean distance  {:>8} {apart:>15.3}", told.len());
    apart
}

fn bin(said: f64) -> usize {
    ((said * 10.0) as usize).min(9)
}

/// Logistic regression by plain descent.
pub(crate) fn fit(outcomes: &[Outcome]) -> Vec<f64> {
    let found = outcomes.iter().filter(|outcome| !outcome.found.chats.is_empty());
    let rows = found.map(|outcome| (outcome.found.evidence.inputs().to_vec(), outcome.within(1)));
    fit_rows(&rows.collect::<Vec<_>>())
}

/// The same of anything: what the model is told, and whether it was so.
pub(crate) fn fit_rows(rows: &[(Vec<f32>, bool)]) -> Vec<f64> {
    let rows: Vec<(Vec<f64>, f64)> = rows
        .iter()
        .map(|(inputs, right)| {
            (inputs.iter().map(|input| f64::from(*input)).collect(), f64::from(u8::from(*right)))
        })
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
