//! Alerts: figures of the service above their thresholds.
//!
//! Does not measure the figures: the caller passes those that it knows.

use crate::status::DaemonState;
use serde::{Deserialize, Serialize};

/// A figure with a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    #[default]
    #[serde(rename = "p95ResolveMs")]
    ResolveTime,
    #[serde(rename = "semanticQueueLength")]
    QueueLength,
    #[serde(rename = "memoryMB")]
    Memory,
}

/// The largest normal value of a figure.
#[derive(Debug)]
pub struct Threshold {
    pub metric: Metric,
    pub limit: f64,
    /// What is measured, as a message names it.
    pub subject: &'static str,
    pub unit: &'static str,
    /// A command that shows more or helps.
    pub fix: &'static str,
}

#[rustfmt::skip] // a table
pub const THRESHOLDS: &[Threshold] = &[
    Threshold { metric: Metric::ResolveTime, limit: 100.0, subject: "the 95th percentile of name resolution", unit: "ms", fix: "loci daemon status" },
    Threshold { metric: Metric::QueueLength, limit: 50.0, subject: "the queue of notes", unit: "notes", fix: "loci code notes --dry-run" },
    Threshold { metric: Metric::Memory, limit: 2048.0, subject: "the memory in use", unit: "MB", fix: "loci daemon stop" },
];

/// The row of a metric.
pub fn threshold_of(metric: Metric) -> &'static Threshold {
    let row = THRESHOLDS.iter().find(|row| row.metric == metric);
    row.unwrap_or(&THRESHOLDS[0]) // each metric has a row: tested
}

/// A figure above its threshold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alert {
    pub metric: Metric,
    pub value: f64,
    pub threshold: f64,
    pub message: String,
    pub fix: String,
}

impl Threshold {
    /// An alert if the value is above the limit.
    pub fn check(&self, value: f64) -> Option<Alert> {
        (value > self.limit).then(|| Alert {
            metric: self.metric,
            value,
            threshold: self.limit,
            message: format!("{}, more than {} {}", self.describe(value), self.limit, self.unit),
            fix: self.fix.to_string(),
        })
    }

    /// A value in words.
    pub fn describe(&self, value: f64) -> String {
        format!("{}: {} {}", self.subject, (value * 10.0).round() / 10.0, self.unit)
    }
}

/// The alerts of the figures that are known, in the order of the table.
pub fn find_alerts(figures: &[(Metric, Option<f64>)]) -> Vec<Alert> {
    let value_of = |row: &Threshold| figures.iter().find(|(metric, _)| *metric == row.metric)?.1;
    THRESHOLDS.iter().filter_map(|row| row.check(value_of(row)?)).collect()
}

/// The methods that resolve a name to symbols and do nothing else.
const RESOLVE_METHODS: &[&str] = &["resolve_symbol", "find_symbols", "search_symbols"];

impl DaemonState {
    /// The 95th percentile of resolving a name, in milliseconds: that of the slowest method. `None` before the first call.
    pub fn p95_resolve_ms(&self) -> Option<f64> {
        let methods = RESOLVE_METHODS.iter().filter_map(|name| self.methods.get(*name));
        methods.map(|took| took.p95_ms).reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Took;

    #[test]
    fn a_figure_alerts_only_above_its_threshold() {
        for (metric, normal, high, name) in [
            (Metric::ResolveTime, 100.0, 100.1, "p95ResolveMs"),
            (Metric::QueueLength, 50.0, 51.0, "semanticQueueLength"),
            (Metric::Memory, 2048.0, 2049.0, "memoryMB"),
        ] {
            assert_eq!(find_alerts(&[(metric, Some(normal))]), [], "{name}");
            let alert = find_alerts(&[(metric, Some(high))]).remove(0);
            assert_eq!((alert.metric, alert.threshold), (metric, normal), "{name}");
            assert_eq!(serde_json::to_value(alert).unwrap()["metric"], name);
            assert_eq!(threshold_of(metric).metric, metric);
        }
        assert_eq!(find_alerts(&[(Metric::Memory, None)]), []);
    }

    #[test]
    fn the_slowest_method_that_resolves_names_counts() {
        let took = |p95_ms| Took { calls: 1, p50_ms: 1.0, p95_ms };
        let mut daemon = DaemonState::default();
        daemon.methods.insert("get_outline".into(), took(900.0));
        assert_eq!(daemon.p95_resolve_ms(), None);
        daemon.methods.insert("find_symbols".into(), took(20.0));
        daemon.methods.insert("resolve_symbol".into(), took(30.0));
        assert_eq!(daemon.p95_resolve_ms(), Some(30.0));
    }
}
