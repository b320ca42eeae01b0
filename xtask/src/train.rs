//! Trains the models that are committed as data: the trees of masking and the weights of talk.
//!
//! Does not know what either describes.

mod boost;
mod cards;
mod linear;
mod mask;
mod model;
mod supersede;
mod talk;
mod talk_set;

use crate::Outcome;

pub(crate) const HELP: &str = "train [mask] [--text DIR] [--folds]
train the trees of `mask` on crates/mask/testdata/training-*.jsonl, and on source code that holds no secret: this
repository, and what is below --text (the sources of the dependencies for the trees that are committed).
--folds trains on all writers but one and reports the one, in turn, and writes nothing.
train talk --sets DIR [--without SET] [--folds]
train what `memory` keeps on the sets of talk below --sets, without one of them if named. --folds trains on all sets
but one and reports the one, in turn, and writes nothing.
train supersede --sets DIR [--without SET] [--folds]
the same for which fact replaces an earlier one.
train cards --sets DIR [--without SET] [--folds]
the same for how sure a suggestion is.";

pub(crate) fn run(args: &[String]) -> Outcome {
    match args.first().map(String::as_str) {
        Some("talk") => talk::run(&args[1..]),
        Some("supersede") => supersede::run(&args[1..]),
        Some("cards") => cards::run(&args[1..]),
        Some("mask") => mask::run(&args[1..]),
        _ => mask::run(args),
    }
}
