//! Goals: the cost of one command relative to another.
//!
//! Does not run the commands.

use super::measure::{Results, Sample};
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    Cpu,
    Wall,
}

impl Cost {
    pub(super) fn of_sample(self, sample: &Sample) -> f64 {
        match self {
            Cost::Cpu => sample.cpu,
            Cost::Wall => sample.wall,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

pub(super) struct Goal {
    pub(super) name: String,
    pub(super) baseline: String,
    pub(super) cost: Cost,
    pub(super) bound: Bound,
    /// Two commands whose ratio must meet the bound as well; otherwise the machine does not allow a verdict.
    pub(super) precondition: Option<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Reached,
    Missed,
    NotJudged,
}

impl Goal {
    pub(super) fn new(name: &str, cost: Cost, bound: Bound, of: &str) -> Goal {
        Goal { name: name.to_owned(), baseline: of.to_owned(), cost, bound, precondition: None }
    }

    pub(super) fn ratio(&self, results: &Results) -> Option<f64> {
        results.median_ratio(&self.name, &self.baseline, |sample| self.cost.of_sample(sample))
    }

    pub(super) fn verdict(&self, results: &Results) -> Verdict {
        let possible = self.precondition.as_ref().is_none_or(|(name, of)| {
            results
                .median_ratio(name, of, |sample| self.cost.of_sample(sample))
                .is_some_and(|ratio| self.meets_bound(ratio))
        });
        match self.ratio(results) {
            Some(ratio) if self.meets_bound(ratio) => Verdict::Reached,
            Some(_) if possible => Verdict::Missed,
            _ => Verdict::NotJudged,
        }
    }

    fn meets_bound(&self, ratio: f64) -> bool {
        match self.bound {
            Bound::AtMost(most) => ratio <= most,
            Bound::AtLeast(least) => ratio >= least,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, bound) = match self.bound {
            Bound::AtMost(most) => ("≤", most),
            Bound::AtLeast(least) => ("≥", least),
        };
        let cost = if self.cost == Cost::Cpu { "CPU" } else { "wall" };
        write!(f, "{cost} {sign} {} × {}", (bound * 100.0).round() / 100.0, self.baseline)
    }
}

/// Prints a number beside its limit; returns whether it is within.
pub(super) fn judge(what: &str, found: f64, limit: f64, unit: &str) -> bool {
    let passed = found <= limit;
    println!("{} {what}: {found:.2}{unit} of {limit:.2}{unit}", if passed { "ok    " } else { "MISSED" });
    passed
}

#[cfg(test)]
mod tests {
    use super::super::measure::Measured;
    use super::*;

    fn make_results(costs: &[(&str, f64)]) -> Results {
        let row = |(name, cost): &(&str, f64)| Measured {
            name: (*name).to_owned(),
            scan: None,
            samples: vec![Sample { cpu: *cost, wall: *cost }],
        };
        Results { rows: costs.iter().map(row).collect(), peaks: Vec::new() }
    }

    #[test]
    fn a_ratio_decides_the_verdict() {
        let goal = |bound| Goal::new("light", Cost::Cpu, bound, "scan");
        let measured = make_results(&[("scan", 1.0), ("light", 3.0)]);
        assert_eq!(goal(Bound::AtMost(4.0)).verdict(&measured), Verdict::Reached);
        assert_eq!(goal(Bound::AtMost(2.0)).verdict(&measured), Verdict::Missed);
        assert_eq!(goal(Bound::AtLeast(2.0)).verdict(&measured), Verdict::Reached);
        assert_eq!(goal(Bound::AtMost(2.0)).verdict(&make_results(&[("light", 1.0)])), Verdict::NotJudged);
    }

    #[test]
    fn a_busy_machine_is_not_a_miss() {
        let provided = Some(("scan2".to_owned(), "scan".to_owned()));
        let goal =
            Goal { precondition: provided, ..Goal::new("light2", Cost::Wall, Bound::AtMost(0.6), "light") };
        let slow = [("scan", 1.0), ("light", 1.0), ("light2", 0.9)];
        assert_eq!(goal.verdict(&make_results(&[&slow[..], &[("scan2", 0.9)]].concat())), Verdict::NotJudged);
        assert_eq!(goal.verdict(&make_results(&[&slow[..], &[("scan2", 0.5)]].concat())), Verdict::Missed);
    }
}
