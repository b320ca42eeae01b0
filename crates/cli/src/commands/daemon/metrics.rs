//! Loci's figures as a monitor reads them: Prometheus' text, a name, labels and a number to a line.
//!
//! Counts nothing itself: what is not in `status` is not here. Nothing is sent anywhere.

use api::status::{Status, Took};
use record::Stamp;
use std::fmt::Write as _;

/// A figure: its name, what kind it is, what it tells, and its values with their labels.
type Figure = (&'static str, &'static str, &'static str, Vec<(String, f64)>);

pub(super) fn text(status: &Status, now: Stamp) -> String {
    let mut out = String::new();
    for (name, kind, about, values) in figures(status, now).into_iter().filter(|one| !one.3.is_empty()) {
        // Writing to a String does not fail.
        let _ = writeln!(out, "# HELP loci_{name} {about}\n# TYPE loci_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "loci_{name}{labels} {value}");
        }
    }
    out
}

#[rustfmt::skip] // a table
fn figures(status: &Status, now: Stamp) -> Vec<Figure> {
    let (daemon, messages) = (&status.daemon, &status.messages);
    let one = |n: u64| vec![(String::new(), n as f64)];
    let of_daemon = |n: u64| if daemon.running { one(n) } else { Vec::new() };
    let took = |pick: fn(&Took) -> Vec<(&'static str, f64)>| {
        let labelled = |(name, took): (&String, &Took)| {
            let label = move |(more, n): (&'static str, f64)| (format!("{{method=\"{}\"{more}}}", escaped(name)), n);
            pick(took).into_iter().map(label).collect::<Vec<_>>()
        };
        daemon.methods.iter().flat_map(labelled).collect::<Vec<_>>()
    };
    vec![
        ("up", "gauge", "Whether the daemon runs and answers.", one(u64::from(daemon.running && daemon.trouble.is_none()))),
        ("uptime_seconds", "gauge", "For how long it has run.", of_daemon(daemon.uptime_seconds.unwrap_or(0))),
        ("rss_bytes", "gauge", "Memory that it holds.", of_daemon(daemon.rss_bytes)),
        ("threads", "gauge", "Its threads.", of_daemon(daemon.threads)),
        ("open_files", "gauge", "Files and sockets that it has open.", of_daemon(daemon.open_files)),
        ("connections", "gauge", "Connections at this moment, the one that asks among them.", of_daemon(daemon.connections)),
        ("calls_in_flight", "gauge", "Calls that run or wait.", of_daemon(daemon.in_flight)),
        ("calls_total", "counter", "Calls answered.", of_daemon(daemon.calls)),
        ("calls_failed_total", "counter", "Calls answered with an error.", of_daemon(daemon.failed)),
        ("query_ms", "gauge", "Time that half of the calls, and all but one in twenty, took at most.",
            took(|took| vec![(",quantile=\"0.5\"", took.p50_ms), (",quantile=\"0.95\"", took.p95_ms)])),
        ("query_total", "counter", "Calls of each operation.", took(|took| vec![("", took.calls as f64)])),
        ("watched_dirs", "gauge", "Folders that the kernel watches.", of_daemon(daemon.watched)),
        ("watch_polled_dirs", "gauge", "Folders beyond its limit.", of_daemon(daemon.polled)),
        ("watch_overflows_total", "counter", "How often the kernel lost count.", of_daemon(daemon.overflows)),
        ("index_lag_seconds", "gauge", "How long ago the history was looked at whole.",
            status.history.as_of.map(|at| (String::new(), ((now.0 - at).max(0) / 1000) as f64)).into_iter().collect()),
        ("transcripts", "gauge", "Transcripts in the index.", one(status.history.transcripts)),
        ("events", "gauge", "Messages and calls in the index.", one(status.history.events)),
        ("memories", "gauge", "What is remembered.", vec![
            (label("kind", "session"), status.memory.sessions as f64),
            (label("kind", "fact"), status.memory.facts as f64),
        ]),
        ("messages", "gauge", "Messages between agents.", vec![
            (label("state", "waiting"), messages.waiting as f64),
            (label("state", "running"), messages.running as f64),
            (label("state", "answered"), messages.answered as f64),
            (label("state", "failed"), messages.failed as f64),
            (label("state", "spooled"), messages.spooled as f64),
        ]),
        ("jobs", "gauge", "Questions to a model that were given up.",
            status.model.iter().map(|model| (label("state", "parked"), model.parked as f64)).collect()),
        ("provider_breaker", "gauge", "Servers of models that are not asked for now.",
            status.model.iter().map(|model| (String::new(), model.closed.len() as f64)).collect()),
        ("tokens_today", "gauge", "Tokens asked of models within a day.",
            status.model.iter().map(|model| (String::new(), model.tokens_today as f64)).collect()),
        ("store_bytes", "gauge", "What Loci's files take.",
            status.sizes.iter().map(|(name, size)| (label("store", name), *size as f64)).collect()),
    ]
}

fn label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{}\"}}", escaped(value))
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
