//! The ratios that docs/performance.md states for the short forms, which CI runs: at twice a ratio, the run fails.
//!
//! Does not know the goals, which are lower for some and are judged by the long forms.

use super::goal::{Bound, Cost, Goal};

/// How much worse a ratio may get: small corpora on a busy machine vary by half.
const FACTOR: f64 = 2.0;

/// A command, what its CPU time is compared with, and the ratio.
type Stated = (&'static str, &'static str, f64);

/// `cargo xtask bench --size 60M --rounds 3 --smoke`
const QUERIES: &[Stated] = &[
    ("light", "scan", 8.3),
    ("whole", "scan", 92.0),
    ("usage", "scan", 9.1),
    ("help", "noop", 7.5),
    ("empty", "noop", 11.5),
];

/// `cargo xtask bench index --smoke`
const INDEX: &[Stated] = &[
    ("core", "bare", 2.6),
    ("list 1000", "list 10", 2.1),
    ("still", "walk", 6.0),
    ("one more", "walk again", 4.2),
];

pub(super) fn query_goals() -> Vec<Goal> {
    QUERIES.iter().map(to_goal).collect()
}

pub(super) fn index_goals() -> Vec<Goal> {
    INDEX.iter().map(to_goal).collect()
}

fn to_goal(&(name, baseline, ratio): &Stated) -> Goal {
    Goal::new(name, Cost::Cpu, Bound::AtMost(FACTOR * ratio), baseline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_states_each_ratio() {
        let path = crate::repository::root().join("docs/performance.md");
        let page = crate::repository::read(&path).unwrap();
        for (name, baseline, ratio) in QUERIES.iter().chain(INDEX) {
            let row = format!("| `{name}` | {ratio} × `{baseline}` |");
            assert!(page.contains(&row), "docs/performance.md has no row {row}");
        }
    }
}
