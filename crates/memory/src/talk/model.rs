//! Judges candidates: a linear model and small trees, both over the same features, and their mean. Trained by
//! `cargo xtask train talk`.
//!
//! Does not know what a feature means.

use super::Candidate;
use crate::entry::Kind;
use record::Role;
use std::sync::LazyLock;

/// `name weight` per line; `bias` and `threshold` come first.
const PERSON: &str = include_str!("person.linear.txt");
const AGENT: &str = include_str!("agent.linear.txt");
/// A tree per line, its nodes in preorder: `feature:threshold` is a branch, with the values up to the threshold first;
/// `=score` is a leaf, in hundredths.
const PERSON_TREES: &str = include_str!("person.trees.txt");
const AGENT_TREES: &str = include_str!("agent.trees.txt");
/// A linear model per kind of fact: `# kind`, then as above.
const PERSON_KINDS: &str = include_str!("person.kinds.txt");
const AGENT_KINDS: &str = include_str!("agent.kinds.txt");

static MODELS: LazyLock<[Model; 2]> = LazyLock::new(|| {
    [Model::parse(PERSON, PERSON_TREES, PERSON_KINDS), Model::parse(AGENT, AGENT_TREES, AGENT_KINDS)]
});

fn model_of(role: Role) -> &'static Model {
    &MODELS[usize::from(role != Role::User)]
}

/// How far a candidate is above the threshold, in units of log odds; what is above 0 is kept.
pub(crate) fn score(candidate: &Candidate) -> f32 {
    model_of(candidate.role).score(&candidate.features)
}

pub(crate) fn kind(candidate: &Candidate) -> Kind {
    model_of(candidate.role).kind(&candidate.features)
}

/// A weighted sum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Linear {
    pub(crate) bias: f32,
    pub(crate) threshold: f32,
    pub(crate) weights: Vec<f32>,
}

impl Linear {
    pub(crate) fn parse(text: &str) -> Linear {
        let mut linear = Linear::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            let value = value.parse().unwrap_or(0.0);
            match name {
                "bias" => linear.bias = value,
                "threshold" => linear.threshold = value,
                _ => linear.weights.push(value),
            }
        }
        linear
    }

    pub(crate) fn sum(&self, features: &[u8]) -> f32 {
        let terms = self.weights.iter().zip(features).map(|(weight, value)| weight * f32::from(*value));
        self.bias + terms.sum::<f32>()
    }
}

/// A branch, or a leaf if `right` is 0.
#[derive(Clone, Copy)]
struct Node {
    feature: u16,
    threshold: u8,
    right: u16,
    score: i16,
}

/// A linear model and trees over the same features, and a linear model for each kind of fact.
pub(crate) struct Model {
    linear: Linear,
    nodes: Vec<Node>,
    /// Where each tree begins.
    trees: Vec<usize>,
    kinds: Vec<(Kind, Linear)>,
}

/// The sum of the trees before the first, in hundredths, as in training.
const BASE: i32 = -100;

impl Model {
    pub(crate) fn parse(linear: &str, trees: &str, kinds: &str) -> Model {
        let mut model =
            Model { linear: Linear::parse(linear), nodes: Vec::new(), trees: Vec::new(), kinds: Vec::new() };
        for line in trees.lines() {
            let start = model.nodes.len();
            model.parse_node(&mut line.split(' '), start);
            model.trees.push(start);
        }
        for part in kinds.split("# ").filter(|part| !part.is_empty()) {
            let (word, rest) = part.split_once('\n').unwrap_or((part, ""));
            model.kinds.extend(Kind::from_word(word.trim()).map(|kind| (kind, Linear::parse(rest))));
        }
        model
    }

    fn parse_node<'a>(&mut self, parts: &mut impl Iterator<Item = &'a str>, start: usize) {
        let part = parts.next().unwrap_or_default();
        let at = self.nodes.len();
        if let Some((feature, threshold)) = part.split_once(':') {
            let (feature, threshold) = (feature.parse().unwrap_or(0), threshold.parse().unwrap_or(0));
            self.nodes.push(Node { feature, threshold, right: 0, score: 0 });
            self.parse_node(parts, start);
            self.nodes[at].right = (self.nodes.len() - start) as u16;
            self.parse_node(parts, start);
        } else {
            let score = part.trim_start_matches('=').parse().unwrap_or(0);
            self.nodes.push(Node { feature: 0, threshold: 0, right: 0, score });
        }
    }

    /// The mean of both, above the threshold.
    pub(crate) fn score(&self, features: &[u8]) -> f32 {
        let trees: i32 = self.trees.iter().map(|start| self.tree_score(*start, features)).sum();
        let trees = (BASE + trees) as f32 / 100.0;
        f32::midpoint(self.linear.sum(features), trees) - self.linear.threshold
    }

    fn tree_score(&self, start: usize, features: &[u8]) -> i32 {
        let mut at = start;
        loop {
            let node = self.nodes[at];
            if node.right == 0 {
                return i32::from(node.score);
            }
            let value = features.get(usize::from(node.feature)).copied().unwrap_or(0);
            at = if value <= node.threshold { at + 1 } else { start + usize::from(node.right) };
        }
    }

    fn kind(&self, features: &[u8]) -> Kind {
        let sums = self.kinds.iter().map(|(kind, linear)| (*kind, linear.sum(features)));
        sums.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(Kind::Decision, |(kind, _)| kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::features::feature_names;

    /// A weight for each feature, under its name: a feature added without training again would shift all that follow.
    #[test]
    fn the_weights_belong_to_the_features() {
        for (role, text, kinds) in [(Role::User, PERSON, PERSON_KINDS), (Role::Assistant, AGENT, AGENT_KINDS)]
        {
            let names = feature_names(role);
            let weighted = |text: &str| -> Vec<String> {
                let names =
                    text.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name.to_string());
                names.filter(|name| name != "bias" && name != "threshold").collect()
            };
            assert_eq!(weighted(text), names);
            for part in kinds.split("# ").filter(|part| !part.is_empty()) {
                let (word, rest) = part.split_once('\n').unwrap();
                assert!(Kind::from_word(word).is_some(), "{word}");
                assert_eq!(weighted(rest), names);
            }
        }
    }

    #[test]
    fn a_tree_is_read_in_preorder() {
        let model = Model::parse("bias 0\nthreshold 0\na 0\nb 0\n", "1:5 =-10 0:1 =20 =30\n=100", "");
        for (features, sum) in [([0, 0], -5.0), ([0, 6], 10.0), ([2, 6], 15.0)] {
            assert!((model.score(&features) * 100.0 - sum).abs() < 0.01, "{features:?}");
        }
    }
}
