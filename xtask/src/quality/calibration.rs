//! Calibration of the confidence: accuracy by confidence bin, and fitting the model again.
//!
//! Does not know how the engine uses the model: it prints the weights, and a person copies them.

use super::set::Outcome;

/// Steps of gradient descent; by then the error is stable to four digits.
const STEPS: usize = 20_000;
const LEARNING_RATE: f64 = 0.5;
/// Keeps weights small if there is little evidence.
const DAMPING: f64 = 1e-4;

/// Prints ten bins: number of results, mean confidence, accuracy. Returns the mean distance between the two.
pub(crate) fn print_bins(outcomes: &[Outcome]) -> f64 {
    let predictions: Vec<(f64, bool)> =
        outcomes.iter().map(|outcome| (f64::from(outcome.found.confidence), outcome.is_within(1))).collect();
    print_predictions(&predictions)
}

/// The same for any pairs of confidence and correctness.
pub(crate) fn print_predictions(predictions: &[(f64, bool)]) -> f64 {
    println!("\n{:<14} {:>8} {:>7} {:>7}", "confidence", "results", "mean", "right");
    let mut distance = 0.0;
    for bin in 0..10 {
        let of: Vec<&(f64, bool)> =
            predictions.iter().filter(|(confidence, _)| bin_of(*confidence) == bin).collect();
        if of.is_empty() {
            continue;
        }
        let mean = of.iter().map(|(confidence, _)| confidence).sum::<f64>() / of.len() as f64;
        let right = of.iter().filter(|(_, right)| *right).count() as f64 / of.len() as f64;
        distance += (mean - right).abs() * of.len() as f64;
        let name = format!("{:.1} to {:.1}", bin as f64 / 10.0, (bin + 1) as f64 / 10.0);
        println!("{name:<14} {:>8} {mean:>7.3} {right:>7.3}", of.len());
    }
    distance /= predictions.len().max(1) as f64;
    println!("mean distance  {:>8} {distance:>15.3}", predictions.len());
    distance
}

fn bin_of(confidence: f64) -> usize {
    ((confidence * 10.0) as usize).min(9)
}

/// Logistic regression by plain gradient descent.
pub(crate) fn fit_outcomes(outcomes: &[Outcome]) -> Vec<f64> {
    let found = outcomes.iter().filter(|outcome| !outcome.found.chats.is_empty());
    let rows = found.map(|outcome| (outcome.found.evidence.inputs().to_vec(), outcome.is_within(1)));
    fit_rows(&rows.collect::<Vec<_>>())
}

/// The same for any model inputs and correctness.
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
            *weight -= LEARNING_RATE * slope;
        }
    }
    weights
}
