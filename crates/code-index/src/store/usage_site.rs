//! A place that uses a symbol, and lists of such places.
//!
//! Does not know how the places were found.

use code::{Certainty, SourceFile};
use std::collections::BTreeMap;
use syntax::TypePart;

/// A place that refers to a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageSite {
    pub file: String,
    /// Byte offsets of the name in the file.
    pub at: u32,
    pub end: u32,
    /// The simple name of the innermost type around it.
    pub within: Option<String>,
    pub certainty: Certainty,
}

/// All places that refer to a symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageSites {
    /// By file and position.
    pub sites: Vec<UsageSite>,
    /// Indexes that could not be read, and why.
    pub problems: Vec<String>,
}

pub(super) fn usage_site(file: &SourceFile, (at, end): (u32, u32), certainty: Certainty) -> UsageSite {
    let around = |part: &&TypePart| (part.span.from..part.span.to).contains(&at);
    let within = file.facts.types.iter().filter(around).max_by_key(|part| part.span.from);
    UsageSite { file: file.path.clone(), at, end, within: within.map(|part| part.name.clone()), certainty }
}

/// Files with the number of their usages, most first.
pub fn count_by_file(sites: &[UsageSite]) -> Vec<(&str, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for site in sites {
        *counts.entry(&site.file).or_default() += 1;
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|it| std::cmp::Reverse(it.1));
    counts
}

/// Keeps the most certain of several results for one place.
pub fn keep_best_sites(sites: &mut Vec<UsageSite>) {
    sites.sort_by(|one, other| {
        (&one.file, one.at, one.certainty).cmp(&(&other.file, other.at, other.certainty))
    });
    sites.dedup_by(|later, first| (&later.file, later.at) == (&first.file, first.at));
}
