//! Expiry of the code context: added types leave the prompt window after their minutes.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use api::Handle;
use api::code::{CodeContext, GetOutline, GetPromptWindow};
use loci_service::{Environment, Service};
use record::{Clock, Stamp};
use std::collections::BTreeMap;
use std::path::Path;

const MINUTE: i64 = 60_000;
const NOON: i64 = 1_794_744_000_000;

/// A service whose clock shows a number of minutes after noon.
fn service_at(root: &Path, minutes: i64) -> Service {
    let environment =
        Environment { home: root.join("home"), vars: BTreeMap::from([("LOCI_HOME_TREE", "on".into())]) };
    let clock = Clock::At(Stamp(NOON + minutes * MINUTE));
    Service::new(environment, clock, root.to_path_buf(), "loci".into(), 1)
}

fn window_entries(service: &Service) -> Vec<(String, String)> {
    let window = service.handle(&GetPromptWindow::default()).unwrap();
    window.shown.into_iter().map(|entry| (entry.region, entry.path)).collect()
}

#[test]
fn context_entries_expire_after_their_minutes() {
    let root = tempfile::tempdir().unwrap();
    for name in ["One", "Two", "Three"] {
        std::fs::write(root.path().join(format!("{name}.cs")), format!("public class {name} {{ }}")).unwrap();
    }
    let add = |path: &str, minutes: u64, service: &Service| {
        let request =
            CodeContext { action: "add".into(), path: path.into(), minutes, ..CodeContext::default() };
        service.handle(&request).unwrap()
    };
    let noon = service_at(root.path(), 0);
    let added = add("One", 30, &noon);
    assert_eq!(added.context[0].until, Stamp(NOON + 30 * MINUTE).to_string());
    assert_eq!(add("Two", 60, &noon).context.len(), 2);
    let focus = |paths: &[&str]| -> Vec<(String, String)> {
        paths.iter().map(|path| ("Focus".to_string(), (*path).to_string())).collect()
    };
    assert_eq!(window_entries(&service_at(root.path(), 29)), focus(&["Two", "One"]));
    assert_eq!(window_entries(&service_at(root.path(), 30)), focus(&["Two"]));
    assert_eq!(window_entries(&service_at(root.path(), 60)), []);
    // The next write removes expired entries and records the request with its time.
    let later = service_at(root.path(), 90);
    later.handle(&GetOutline { path: "Three".into(), root: None }).unwrap();
    let access = std::fs::read_to_string(root.path().join(".loci/access.json")).unwrap();
    let access: serde_json::Value = serde_json::from_str(&access).unwrap();
    assert_eq!(access["context"].as_array().unwrap().len(), 0);
    assert_eq!(access["recent"][0]["at"], NOON + 90 * MINUTE);
    assert_eq!(window_entries(&later), focus(&["Three"]));
}
