//! Formats [`Status`] as Prometheus text: one metric name, labels and value per line.
//!
//! Does not measure anything: all values come from `status`. Nothing is sent anywhere.

use api::status::{Status, Took};
use record::Stamp;
use std::fmt::Write as _;

/// A metric: name, type, help text, and values with their labels.
type Metric = (&'static str, &'static str, &'static str, Vec<(String, f64)>);

pub(super) fn format_metrics(status: &Status, now: Stamp) -> String {
    let mut out = String::new();
    for (name, kind, about, values) in
        collect_metrics(status, now).into_iter().filter(|one| !one.3.is_empty())
    {
        // Writing to a String does not fail.
        let _ = writeln!(out, "# HELP loci_{name} {about}\n# TYPE loci_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "loci_{name}{labels} {value}");
        }
    }
    out
}

#[rustfmt::skip] // a table
fn collect_metrics(status: &Status, now: Stamp) -> Vec<Metric> {
    let (daemon, messages) = (&status.daemon, &status.messages);
    let one = |n: u64| vec![(String::new(), n as f64)];
    let of_daemon = |n: u64| if daemon.running { one(n) } else { Vec::new() };
    let took = |pick: fn(&Took) -> Vec<(&'static str, f64)>| {
        let labelled = |(name, took): (&String, &Took)| {
            let label = move |(more, n): (&'static str, f64)| (format!("{{method=\"{}\"{more}}}", escape_label_value(name)), n);
            pick(took).into_iter().map(label).collect::<Vec<_>>()
        };
        daemon.methods.iter().flat_map(labelled).collect::<Vec<_>>()
    };
    vec![
        ("up", "gauge", "Whether the daemon is running and responds.", one(u64::from(daemon.running && daemon.trouble.is_none()))),
        ("uptime_seconds", "gauge", "Time since the daemon started.", of_daemon(daemon.uptime_seconds.unwrap_or(0))),
        ("rss_bytes", "gauge", "Resident memory of the daemon.", of_daemon(daemon.rss_bytes)),
        ("threads", "gauge", "Threads of the daemon.", of_daemon(daemon.threads)),
        ("open_files", "gauge", "Open files and sockets of the daemon.", of_daemon(daemon.open_files)),
        ("connections", "gauge", "Current connections, including this one.", of_daemon(daemon.connections)),
        ("calls_in_flight", "gauge", "Calls running or queued.", of_daemon(daemon.in_flight)),
        ("calls_total", "counter", "Calls completed.", of_daemon(daemon.calls)),
        ("calls_failed_total", "counter", "Calls that returned an error.", of_daemon(daemon.failed)),
        ("query_ms", "gauge", "Median and 95th percentile latency per operation.",
            took(|took| vec![(",quantile=\"0.5\"", took.p50_ms), (",quantile=\"0.95\"", took.p95_ms)])),
        ("query_total", "counter", "Calls per operation.", took(|took| vec![("", took.calls as f64)])),
        ("watched_dirs", "gauge", "Directories watched through the kernel.", of_daemon(daemon.watched)),
        ("watch_polled_dirs", "gauge", "Directories polled because the kernel's watch limit is reached.", of_daemon(daemon.polled)),
        ("watch_overflows_total", "counter", "Overflows of the kernel's event queue.", of_daemon(daemon.overflows)),
        ("index_lag_seconds", "gauge", "Time since the last complete scan of the history.",
            status.history.as_of.map(|at| (String::new(), ((now.0 - at).max(0) / 1000) as f64)).into_iter().collect()),
        ("transcripts", "gauge", "Transcripts in the index.", one(status.history.transcripts)),
        ("events", "gauge", "Messages and calls in the index.", one(status.history.events)),
        ("memories", "gauge", "Sessions and facts in memory.", vec![
            (format_label("kind", "session"), status.memory.sessions as f64),
            (format_label("kind", "fact"), status.memory.facts as f64),
        ]),
        ("messages", "gauge", "Messages between agents.", vec![
            (format_label("state", "waiting"), messages.waiting as f64),
            (format_label("state", "running"), messages.running as f64),
            (format_label("state", "answered"), messages.answered as f64),
            (format_label("state", "failed"), messages.failed as f64),
            (format_label("state", "spooled"), messages.spooled as f64),
        ]),
        ("jobs", "gauge", "Model jobs parked after repeated failures.",
            status.model.iter().map(|model| (format_label("state", "parked"), model.parked as f64)).collect()),
        ("provider_breaker", "gauge", "Model endpoints with an open circuit breaker.",
            status.model.iter().map(|model| (String::new(), model.closed.len() as f64)).collect()),
        ("tokens_today", "gauge", "Tokens requested from models within a day.",
            status.model.iter().map(|model| (String::new(), model.tokens_today as f64)).collect()),
        ("store_bytes", "gauge", "Size of Loci's files.",
            status.sizes.iter().map(|(name, size)| (format_label("store", name), *size as f64)).collect()),
    ]
}

fn format_label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{}\"}}", escape_label_value(value))
}

fn escape_label_value(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
