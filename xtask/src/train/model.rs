//! A linear model and trees over the same features; their mean decides. Both are written as text.
//!
//! Does not know what the features mean.

use super::boost::{self, Example, Settings, Tree, write_trees};
use super::linear::{self, Linear};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub(crate) struct Model {
    linear: Linear,
    trees: Vec<Tree>,
    settings: Settings,
}

impl Model {
    pub(crate) fn train(examples: &[Example], penalty: f64, settings: Settings) -> Model {
        let (linear, trees) = (linear::train(examples, penalty), boost::train(examples, &settings));
        Model { linear, trees, settings }
    }

    pub(crate) fn score(&self, features: &[u8]) -> f64 {
        let trees = boost::score_all(&self.trees, features, &self.settings);
        f64::midpoint(self.linear.sum(features), f64::from(trees))
    }

    /// Writes `NAME.linear.txt` and `NAME.trees.txt` into a folder.
    pub(crate) fn write(
        &self,
        folder: &Path,
        name: &str,
        features: &[String],
        threshold: f64,
    ) -> Result<(), String> {
        let weights = format_linear(features, &self.linear);
        write_text(
            &folder.join(format!("{name}.linear.txt")),
            &format!("threshold {threshold:.4}\n{weights}"),
        )?;
        write_trees(&folder.join(format!("{name}.trees.txt")), &self.trees)
    }
}

pub(crate) fn format_linear(names: &[String], linear: &Linear) -> String {
    let mut text = format!("bias {:.4}\n", linear.bias);
    for (name, weight) in names.iter().zip(&linear.weights) {
        let _ = writeln!(text, "{name} {weight:.4}"); // writing to a String does not fail
    }
    text
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
