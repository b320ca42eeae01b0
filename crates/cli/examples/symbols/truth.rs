//! Which session wrote each line of the replayed tree, by `git blame` on the original: it has no formatter runs and no moves.
//!
//! Does not ask Loci.

use crate::layout::Layout;
use crate::replay::{Maker, Replay, read};
use std::collections::{BTreeMap, BTreeSet};

/// For each line of a file, the session that wrote it, if one did. Blank lines and brackets are nobody's.
#[derive(Default)]
pub(crate) struct FileTruth {
    /// By `git blame -w -M`: reindenting or moving a line does not make it one's own.
    pub(crate) wrote: Vec<Option<usize>>,
    /// By `git blame` as it is.
    pub(crate) touched: Vec<Option<usize>>,
}

pub(crate) struct Truth {
    files: BTreeMap<String, FileTruth>,
}

impl Truth {
    pub(crate) fn read(replay: &Replay) -> Truth {
        let layout = Layout::at(replay.steps.len() - 1, replay.steps.len());
        let steps: BTreeMap<&str, usize> =
            (0..).zip(&replay.steps).map(|(number, step)| (step.original.as_str(), number)).collect();
        let mut files = BTreeMap::new();
        for (path, text) in &replay.files {
            let owner = |commits: &[String], source: usize| {
                let number = *steps.get(commits.get(source)?.as_str())?;
                (replay.steps[number].maker == Maker::Recorded).then_some(number)
            };
            let (written, last) = (blame(replay, path, &["-w", "-M"]), blame(replay, path, &[]));
            let mut truth = FileTruth::default();
            for (line, source) in layout.lines(text) {
                let says = line.chars().any(|c| c.is_alphanumeric());
                truth.wrote.push(owner(&written, source).filter(|_| says));
                truth.touched.push(owner(&last, source).filter(|_| says));
            }
            files.insert(layout.path(path), truth);
        }
        Truth { files }
    }

    /// The sessions that wrote lines of a place, counted from 1, with their lines.
    pub(crate) fn writers(&self, file: &str, from: usize, to: usize) -> BTreeMap<usize, usize> {
        let mut counts = BTreeMap::new();
        let lines = self.files.get(file).map_or(&[][..], |truth| &truth.wrote);
        for session in lines.iter().take(to).skip(from - 1).flatten() {
            *counts.entry(*session).or_default() += 1;
        }
        counts
    }

    /// The sessions that wrote, reindented or moved lines of a place.
    pub(crate) fn touchers(&self, file: &str, from: usize, to: usize) -> BTreeSet<usize> {
        let Some(truth) = self.files.get(file) else { return BTreeSet::new() };
        let part = |lines: &[Option<usize>]| {
            lines.iter().take(to).skip(from - 1).flatten().copied().collect::<Vec<_>>()
        };
        part(&truth.wrote).into_iter().chain(part(&truth.touched)).collect()
    }
}

/// The commit of each line; those before the replay are named too, and are nobody's step.
fn blame(replay: &Replay, path: &str, how: &[&str]) -> Vec<String> {
    let range = format!("{}..HEAD", replay.base);
    let args = [&["blame", "--first-parent", "-s", "-l"], how, &[&range, "--", path]].concat();
    let printed = read(&replay.original, &args);
    printed.lines().map(|line| line.split(' ').next().unwrap_or_default().to_string()).collect()
}
