//! Logistic regression with a quadratic penalty, by Newton's method: a weight per feature, for a yes-or-no question.
//!
//! Does not know what the features mean. Deterministic: the same examples give the same weights.

use super::boost::Example;

const ROUNDS: usize = 12;

pub(crate) struct Linear {
    pub(crate) bias: f64,
    pub(crate) weights: Vec<f64>,
}

impl Linear {
    pub(crate) fn sum(&self, features: &[u8]) -> f64 {
        let terms = self.weights.iter().zip(features).map(|(weight, value)| weight * f64::from(*value));
        self.bias + terms.sum::<f64>()
    }
}

/// An example with values of any scale.
pub(crate) struct Row {
    pub(crate) values: Vec<f64>,
    pub(crate) positive: bool,
    pub(crate) weight: f64,
}

pub(crate) fn train(examples: &[Example], penalty: f64) -> Linear {
    let row = |example: &Example| Row {
        values: example.features.iter().map(|value| f64::from(*value)).collect(),
        positive: example.positive,
        weight: f64::from(example.weight),
    };
    train_rows(&examples.iter().map(row).collect::<Vec<_>>(), penalty)
}

/// Values are brought to one scale first, so that the penalty treats them alike; the weights are for the raw values.
pub(crate) fn train_rows(rows: &[Row], penalty: f64) -> Linear {
    let width = rows.first().map_or(0, |row| row.values.len());
    let scale: Vec<(f64, f64)> = (0..width).map(|at| mean_and_spread(rows, at)).collect();
    let scaled = |row: &Row| Row {
        values: row
            .values
            .iter()
            .zip(&scale)
            .map(|(value, (mean, spread))| (value - mean) / spread)
            .chain([1.0])
            .collect(),
        ..*row
    };
    let rows: Vec<Row> = rows.iter().map(scaled).collect();
    let mut weights = vec![0.0; width + 1];
    for _ in 0..ROUNDS {
        let step = newton_step(&rows, &weights, penalty);
        weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight -= step);
        if step.iter().all(|step| step.abs() < 1e-6) {
            break;
        }
    }
    let shift: f64 = scale.iter().zip(&weights).map(|((mean, spread), weight)| weight * mean / spread).sum();
    let raw = scale.iter().zip(&weights).map(|((_, spread), weight)| weight / spread).collect();
    Linear { bias: weights[width] - shift, weights: raw }
}

fn mean_and_spread(rows: &[Row], at: usize) -> (f64, f64) {
    let values = || rows.iter().map(|row| row.values[at]);
    let many = rows.len() as f64;
    let mean = values().sum::<f64>() / many;
    let spread = (values().map(|value| (value - mean).powi(2)).sum::<f64>() / many).sqrt();
    (mean, if spread > 0.0 { spread } else { 1.0 })
}

fn newton_step(rows: &[Row], weights: &[f64], penalty: f64) -> Vec<f64> {
    let width = weights.len();
    let mut gradient: Vec<f64> = weights.iter().map(|weight| weight * penalty).collect();
    gradient[width - 1] = 0.0; // the bias is not penalised
    let mut curvature = vec![vec![0.0; width]; width];
    for (at, row) in curvature.iter_mut().enumerate() {
        row[at] = if at + 1 < width { penalty } else { 1e-9 };
    }
    for row in rows {
        let sum: f64 = row.values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
        let likely = 1.0 / (1.0 + (-sum).exp());
        let slope = row.weight * (likely - f64::from(u8::from(row.positive)));
        let bend = row.weight * (likely * (1.0 - likely)).max(1e-6);
        for (at, value) in row.values.iter().enumerate() {
            gradient[at] += slope * value;
            let share = bend * value;
            curvature[at].iter_mut().zip(&row.values[..=at]).for_each(|(sum, other)| *sum += share * other);
        }
    }
    solve(curvature, gradient)
}

/// Solves a symmetric positive system, of which the lower half is given, by Cholesky's decomposition.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let width = right.len();
    for at in 0..width {
        for below in at..width {
            let (head, tail) = matrix.split_at_mut(below);
            let (one, other) = if below == at {
                (&tail[0][..at], &tail[0][..at])
            } else {
                (&head[at][..at], &tail[0][..at])
            };
            let shared: f64 = one.iter().zip(other).map(|(one, other)| one * other).sum();
            let diagonal = if below == at { 1.0 } else { head[at][at] };
            let rest = tail[0][at] - shared;
            tail[0][at] = if below == at { rest.max(1e-12).sqrt() } else { rest / diagonal };
        }
    }
    for at in 0..width {
        let known: f64 = (0..at).map(|before| matrix[at][before] * right[before]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    for at in (0..width).rev() {
        let known: f64 = (at + 1..width).map(|after| matrix[after][at] * right[after]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_follow_the_feature_that_decides() {
        let example = |row: u32| {
            let (a, b) = ((row * 7 % 20) as u8, (row * 13 % 31) as u8);
            Example { features: vec![a, b, 3], positive: a > 9, weight: 1.0 }
        };
        let examples: Vec<Example> = (0..400).map(example).collect();
        let linear = train(&examples, 1.0);
        let right = examples.iter().filter(|it| (linear.sum(&it.features) > 0.0) == it.positive).count();
        assert!(right >= 390, "{right}");
        assert!(linear.weights[0] > 10.0 * linear.weights[1].abs() && linear.weights[2] == 0.0);
    }

    #[test]
    fn a_symmetric_system_is_solved() {
        let solved = solve(vec![vec![4.0, 0.0], vec![2.0, 3.0]], vec![10.0, 9.0]);
        assert!((solved[0] - 1.5).abs() < 1e-9 && (solved[1] - 2.0).abs() < 1e-9, "{solved:?}");
    }
}
