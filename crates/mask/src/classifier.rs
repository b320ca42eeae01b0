//! Decides from evidence whether a value is a secret: the sum of small trees that were trained on examples
//! (`cargo xtask train mask`).
//!
//! Does not know what the evidence means, nor where the examples come from.

use crate::evidence::{FEATURES, Features};
use std::sync::LazyLock;

/// The model: a tree per line, its nodes in preorder. `feature:threshold` is a branch, with the values up to the
/// threshold first; `=score` is a leaf, in hundredths.
const TREES: &str = include_str!("trees.txt");

/// A few trees over the quick features, which spare most values the rest.
const GATE_TREES: &str = include_str!("gate.txt");

/// The sum before the first tree, and the one above which a value is a secret, in hundredths. Chosen so that the decoys
/// that are altered stay below one in two hundred.
pub const BASE: i32 = -300;
pub const THRESHOLD: i32 = 150;

/// One in two hundred secrets of the examples is below it.
pub const GATE_THRESHOLD: i32 = -230;

/// A branch, or a leaf if `right` is 0.
#[derive(Clone, Copy)]
struct Node {
    feature: u8,
    threshold: u8,
    right: u16,
    score: i16,
}

struct Model {
    nodes: Vec<Node>,
    /// Where each tree begins, and the most that it and the trees after it can add.
    trees: Vec<(usize, i32)>,
}

static MODEL: LazyLock<Model> = LazyLock::new(|| Model::parse(TREES));
static GATE: LazyLock<Model> = LazyLock::new(|| Model::parse(GATE_TREES));

/// Whether the quick features leave it open that this is a secret.
pub(crate) fn may_be_secret(features: &Features) -> bool {
    GATE.exceeds(features, GATE_THRESHOLD)
}

/// Whether the evidence is that of a secret.
pub(crate) fn is_secret(features: &Features) -> bool {
    MODEL.exceeds(features, THRESHOLD)
}

impl Model {
    /// A damaged model would be a mistake of the build, which a test finds; what can be read of it is used.
    fn parse(text: &str) -> Model {
        let mut model = Model { nodes: Vec::new(), trees: Vec::new() };
        for line in text.lines() {
            let start = model.nodes.len();
            let mut parts = line.split(' ');
            model.parse_node(&mut parts, start);
            model.trees.push((start, 0));
        }
        let mut most = 0;
        let mut end = model.nodes.len();
        for (start, bound) in model.trees.iter_mut().rev() {
            let leaves = model.nodes[*start..end].iter().filter(|node| node.right == 0);
            most += leaves.map(|leaf| i32::from(leaf.score)).max().unwrap_or(0);
            *bound = most;
            end = *start;
        }
        model
    }

    fn parse_node<'a>(&mut self, parts: &mut impl Iterator<Item = &'a str>, start: usize) {
        let part = parts.next().unwrap_or_default();
        let at = self.nodes.len();
        if let Some((feature, threshold)) = part.split_once(':') {
            let feature = feature.parse::<u8>().unwrap_or(0).min(FEATURES.len() as u8 - 1);
            let threshold = threshold.parse().unwrap_or(0);
            self.nodes.push(Node { feature, threshold, right: 0, score: 0 });
            self.parse_node(parts, start);
            self.nodes[at].right = (self.nodes.len() - start) as u16;
            self.parse_node(parts, start);
        } else {
            let score = part.trim_start_matches('=').parse().unwrap_or(0);
            self.nodes.push(Node { feature: 0, threshold: 0, right: 0, score });
        }
    }

    fn exceeds(&self, features: &Features, threshold: i32) -> bool {
        let mut sum = BASE;
        for &(start, most) in &self.trees {
            if sum + most <= threshold {
                return false;
            }
            sum += self.score(start, features);
        }
        sum > threshold
    }

    fn score(&self, start: usize, features: &Features) -> i32 {
        let mut at = start;
        loop {
            let node = self.nodes[at];
            if node.right == 0 {
                return i32::from(node.score);
            }
            let left = features[usize::from(node.feature)] <= node.threshold;
            at = if left { at + 1 } else { start + usize::from(node.right) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_in_preorder() {
        let model = Model::parse("2:5 =-10 0:1 =20 =30\n=4");
        let mut features = [0; FEATURES.len()];
        assert!(!model.exceeds(&features, BASE - 6));
        assert!(model.exceeds(&features, BASE - 7));
        features[2] = 6;
        assert!(model.exceeds(&features, BASE + 23) && !model.exceeds(&features, BASE + 24));
        features[0] = 2;
        assert!(model.exceeds(&features, BASE + 33) && !model.exceeds(&features, BASE + 34));
    }

    #[test]
    fn the_model_is_whole() {
        assert!(TREES.lines().count() >= 50);
        for line in TREES.lines() {
            let model = Model::parse(line);
            assert_eq!(model.nodes.len(), line.split(' ').count(), "{line}");
        }
    }
}
