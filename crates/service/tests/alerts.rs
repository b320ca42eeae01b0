//! The daemon's figures in `code status`, and the alerts of `code status` and `doctor`.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use api::Handle;
use api::alerts::Metric;
use api::code::{CodeStatus, CodeStatusRequest, GetOutline, GetPromptWindow, IndexCode};
use api::maintenance::{DoctorRequest, Finding, Severity};
use loci_service::{Environment, Service};
use record::{Clock, Stamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A service in a tree with one type, next to a daemon with this status.
fn service_with_daemon(root: &Path, daemon: Value) -> Service {
    std::fs::write(root.join("One.cs"), "public class One { }").unwrap();
    let environment =
        Environment { home: root.join("home"), vars: BTreeMap::from([("LOCI_HOME_TREE", "on".into())]) };
    let clock = Clock::At(Stamp(1_794_744_000_000));
    let mut service = Service::new(environment, clock, root.to_path_buf(), "loci".into(), 1);
    service.daemon = Some(Arc::new(move || daemon.clone()));
    service
}

fn daemon_status(p95_ms: f64, rss_bytes: u64) -> Value {
    let methods = json!({"resolve_symbol": {"calls": 20, "p50_ms": 1.0, "p95_ms": p95_ms}});
    json!({"running": true, "pid": 7, "uptime_seconds": 90, "rss_bytes": rss_bytes, "methods": methods})
}

fn code_status(service: &Service) -> CodeStatus {
    service.handle(&CodeStatusRequest::default()).unwrap()
}

fn find_check(service: &Service, name: &str) -> Option<Finding> {
    let report = service.handle(&DoctorRequest::default()).unwrap();
    report.findings.into_iter().find(|finding| finding.check == name)
}

#[test]
fn status_contains_the_daemons_figures_and_an_alert_for_slow_resolution() {
    let root = tempfile::tempdir().unwrap();
    let status = code_status(&service_with_daemon(root.path(), daemon_status(114.688, 0)));
    assert_eq!((status.uptime_sec, status.p95_resolve_ms), (Some(90), Some(114.688)));
    let alert = &status.alerts[0];
    assert_eq!((alert.metric, alert.value, alert.threshold), (Metric::ResolveTime, 114.688, 100.0));
    assert!(alert.message.contains("114.7 ms"), "{}", alert.message);
    let status = code_status(&service_with_daemon(root.path(), daemon_status(98.304, 0)));
    assert_eq!(status.alerts, []);
    let status = code_status(&service_with_daemon(root.path(), Value::Null));
    assert_eq!((status.uptime_sec, status.p95_resolve_ms), (None, None));
}

#[test]
fn status_contains_the_shares_of_outline_hits_and_of_the_window_budget() {
    let root = tempfile::tempdir().unwrap();
    let service = service_with_daemon(root.path(), Value::Null);
    assert_eq!(code_status(&service).prompt_budget_ratio, None);
    service.handle(&IndexCode::default()).unwrap();
    service.handle(&GetOutline { path: "One".into(), root: None }).unwrap();
    let window = service.handle(&GetPromptWindow::default()).unwrap();
    let status = code_status(&service);
    assert_eq!(status.prompt_budget_ratio, Some(window.tokens as f64 / 8000.0));
    assert_eq!(status.outline_hit_ratio, Some(1.0));
    std::fs::write(root.path().join("Two.cs"), "public class Two { }").unwrap();
    service.handle(&GetOutline { path: "Two".into(), root: None }).unwrap();
    assert_eq!(code_status(&service).outline_hit_ratio, Some(0.5));
}

#[test]
fn doctor_warns_about_figures_above_their_thresholds() {
    let root = tempfile::tempdir().unwrap();
    let service = service_with_daemon(root.path(), daemon_status(20.0, 3 << 30));
    assert_eq!(find_check(&service, "resolve time").unwrap().severity, Severity::Ok);
    let memory = find_check(&service, "memory").unwrap();
    assert_eq!((memory.severity, memory.fix.as_deref()), (Severity::Warning, Some("loci daemon stop")));
    assert!(memory.message.contains("3072 MB"), "{}", memory.message);
    let idle = service_with_daemon(root.path(), json!({"running": false}));
    assert_eq!((find_check(&idle, "resolve time"), find_check(&idle, "memory")), (None, None));
}

#[test]
fn a_queue_of_more_than_fifty_notes_is_an_alert_in_status_and_doctor() {
    let root = tempfile::tempdir().unwrap();
    let service = service_with_daemon(root.path(), Value::Null);
    let types = (0..51).map(|n| format!("public class Type{n} {{ }}")).collect::<Vec<_>>().join("\n");
    std::fs::write(root.path().join("Many.cs"), types).unwrap();
    std::fs::create_dir_all(root.path().join("home/.config/loci")).unwrap();
    std::fs::write(root.path().join("home/.config/loci/config.toml"), "[model]\nprovider = \"claude\"\n")
        .unwrap();
    service.handle(&IndexCode::default()).unwrap();
    let request_note = |n: u32| {
        let request = api::code::GetSemantic { path: format!("Type{n}"), root: None };
        service.handle(&request).unwrap()
    };
    (0..50).for_each(|n| drop(request_note(n)));
    assert_eq!((code_status(&service).semantic_queue_length, code_status(&service).alerts), (50, vec![]));
    assert_eq!(find_check(&service, "note queue").unwrap().severity, Severity::Ok);
    request_note(50);
    assert_eq!(code_status(&service).alerts[0].metric, Metric::QueueLength);
    let queue = find_check(&service, "note queue").unwrap();
    assert_eq!(queue.severity, Severity::Warning);
    assert!(queue.fix.unwrap().starts_with("loci code notes --dry-run --root "));
}
