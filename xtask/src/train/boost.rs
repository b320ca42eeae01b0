//! Gradient boosting: a sum of small decision trees over features of one byte, for a yes-or-no question.
//!
//! Does not know what the features mean. Deterministic: the same examples give the same trees.

use std::fs;
use std::path::Path;

/// One example: its features, whether the answer is yes, and how much it counts.
pub(crate) struct Example {
    pub(crate) features: Vec<u8>,
    pub(crate) positive: bool,
    pub(crate) weight: f32,
}

#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) trees: usize,
    pub(crate) depth: usize,
    pub(crate) rate: f32,
    /// The sum before the first tree.
    pub(crate) base: f32,
    /// Keep a leaf from following few examples.
    pub(crate) regularization: f64,
    pub(crate) min_leaf: f64,
    /// Each tree sees every feature with this chance, in percent: with few examples, trees that differ err less together.
    pub(crate) features_seen: u64,
}

impl Settings {
    pub(crate) const DEFAULT: Settings = Settings {
        trees: 100,
        depth: 4,
        rate: 0.1,
        base: -3.0,
        regularization: 2.0,
        min_leaf: 1.0,
        features_seen: 100,
    };
}

const MIN_GAIN: f64 = 1e-3;
const BINS: usize = 128;

/// A node in preorder: the left child follows its parent.
enum Node {
    Branch { feature: usize, threshold: u8, right: usize },
    Leaf(f32),
}

pub(crate) struct Tree {
    nodes: Vec<Node>,
}

/// The gradient and curvature of the loss at an example.
#[derive(Clone, Copy, Default)]
struct Slope {
    gradient: f64,
    curvature: f64,
}

impl Slope {
    fn plus(self, other: Slope) -> Slope {
        Slope { gradient: self.gradient + other.gradient, curvature: self.curvature + other.curvature }
    }

    fn minus(self, other: Slope) -> Slope {
        Slope { gradient: self.gradient - other.gradient, curvature: self.curvature - other.curvature }
    }

    /// What a leaf with these examples gains.
    fn gain(self, regularization: f64) -> f64 {
        self.gradient * self.gradient / (self.curvature + regularization)
    }
}

pub(crate) fn train(examples: &[Example], settings: &Settings) -> Vec<Tree> {
    let mut scores = vec![settings.base; examples.len()];
    let mut trees = Vec::with_capacity(settings.trees);
    for nth in 0..settings.trees {
        let slopes: Vec<Slope> =
            examples.iter().zip(&scores).map(|(it, score)| slope_at(it, *score)).collect();
        let mut rows: Vec<usize> = (0..examples.len()).collect();
        let mut growth = Growth { examples, slopes: &slopes, settings, nodes: Vec::new(), nth: nth as u64 };
        growth.grow(&mut rows, 0);
        let tree = Tree { nodes: growth.nodes };
        for (score, example) in scores.iter_mut().zip(examples) {
            *score += tree.score(&example.features);
        }
        trees.push(tree);
    }
    trees
}

pub(crate) fn score_all(trees: &[Tree], features: &[u8], settings: &Settings) -> f32 {
    settings.base + trees.iter().map(|tree| tree.score(features)).sum::<f32>()
}

fn slope_at(example: &Example, score: f32) -> Slope {
    let likely = 1.0 / (1.0 + f64::from(-score).exp());
    let (weight, answer) = (f64::from(example.weight), f64::from(u8::from(example.positive)));
    Slope { gradient: weight * (likely - answer), curvature: weight * (likely * (1.0 - likely)).max(1e-6) }
}

struct Growth<'a> {
    examples: &'a [Example],
    slopes: &'a [Slope],
    settings: &'a Settings,
    nodes: Vec<Node>,
    /// The number of the tree.
    nth: u64,
}

impl Growth<'_> {
    fn grow(&mut self, rows: &mut [usize], depth: usize) {
        let total = rows.iter().fold(Slope::default(), |sum, row| sum.plus(self.slopes[*row]));
        let split = if depth < self.settings.depth { self.best_split(rows, total) } else { None };
        let Some((feature, threshold)) = split else {
            let value = -total.gradient / (total.curvature + self.settings.regularization);
            return self.nodes.push(Node::Leaf(value as f32 * self.settings.rate));
        };
        let goes_left = |row: usize| self.examples[row].features[feature] <= threshold;
        let middle = partition(rows, goes_left);
        let at = self.nodes.len();
        self.nodes.push(Node::Branch { feature, threshold, right: 0 });
        let (left, right) = rows.split_at_mut(middle);
        self.grow(left, depth + 1);
        let next = self.nodes.len();
        if let Node::Branch { right, .. } = &mut self.nodes[at] {
            *right = next;
        }
        self.grow(right, depth + 1);
    }

    /// The feature and the threshold that separate the examples best.
    fn best_split(&self, rows: &[usize], total: Slope) -> Option<(usize, u8)> {
        let width = self.examples.first()?.features.len();
        let mut sums = vec![[0_f64; 2]; width * BINS];
        for &row in rows {
            let Slope { gradient, curvature } = self.slopes[row];
            for (feature, value) in self.examples[row].features.iter().enumerate() {
                let bin = &mut sums[feature * BINS + usize::from(*value).min(BINS - 1)];
                bin[0] += gradient;
                bin[1] += curvature;
            }
        }
        let (mut best, mut gain) = (None, MIN_GAIN);
        let Settings { regularization, min_leaf, .. } = *self.settings;
        for (feature, bins) in sums.chunks(BINS).enumerate().filter(|(feature, _)| self.sees(*feature)) {
            let mut left = Slope::default();
            for (value, bin) in bins[..BINS - 1].iter().enumerate().filter(|(_, bin)| bin[1] > 0.0) {
                left = left.plus(Slope { gradient: bin[0], curvature: bin[1] });
                let right = total.minus(left);
                let gained =
                    left.gain(regularization) + right.gain(regularization) - total.gain(regularization);
                if left.curvature >= min_leaf && right.curvature >= min_leaf && gained > gain {
                    (best, gain) = (Some((feature, value as u8)), gained);
                }
            }
        }
        best
    }

    /// Whether this tree sees a feature; the same in every run.
    fn sees(&self, feature: usize) -> bool {
        let mixed = (self.nth << 32 | feature as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32 & 0xffff
            < self.settings.features_seen * 65_536 / 100
    }
}

/// Moves the rows that go left to the front, and counts them.
fn partition(rows: &mut [usize], goes_left: impl Fn(usize) -> bool) -> usize {
    let mut middle = 0;
    for at in 0..rows.len() {
        if goes_left(rows[at]) {
            rows.swap(at, middle);
            middle += 1;
        }
    }
    middle
}

impl Tree {
    fn score(&self, features: &[u8]) -> f32 {
        let mut at = 0;
        loop {
            match self.nodes[at] {
                Node::Leaf(value) => return value,
                Node::Branch { feature, threshold, right } => {
                    at = if features[feature] <= threshold { at + 1 } else { right };
                }
            }
        }
    }

    /// One line: `feature:threshold` for a branch, `=score` in hundredths for a leaf, in preorder.
    pub(crate) fn to_line(&self) -> String {
        let node = |node: &Node| match node {
            Node::Leaf(value) => format!("={}", (value * 100.0).round() as i32),
            Node::Branch { feature, threshold, .. } => format!("{feature}:{threshold}"),
        };
        self.nodes.iter().map(node).collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn write_trees(path: &Path, trees: &[Tree]) -> Result<(), String> {
    let text: String = trees.iter().map(|tree| tree.to_line() + "\n").collect();
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yes if exactly one of the two features is high, which no single feature tells.
    #[test]
    fn trees_learn_what_no_single_feature_tells() {
        let example = |row: u32| {
            let (a, b) = ((row * 7 % 20) as u8, (row * 13 % 31) as u8);
            Example { features: vec![a, b, (row % 5) as u8], positive: (a > 9) != (b > 15), weight: 1.0 }
        };
        let examples: Vec<Example> = (0..600).map(example).collect();
        let settings = Settings { trees: 30, depth: 3, rate: 0.3, ..Settings::DEFAULT };
        let trees = train(&examples, &settings);
        let right = examples
            .iter()
            .filter(|it| (score_all(&trees, &it.features, &settings) > 0.0) == it.positive)
            .count();
        assert!(right >= 590, "{right}");
        assert_eq!(trees[0].to_line(), train(&examples, &Settings { trees: 1, ..settings })[0].to_line());
    }
}
