//! What the passing of time does to what is noted of a code base.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use api::Handle;
use api::code::{CodeContext, GetOutline, GetPromptWindow};
use loci_service::{Environment, Service};
use record::{Clock, Stamp};
use std::collections::BTreeMap;
use std::path::Path;

const MINUTE: i64 = 60_000;
const NOON: i64 = 1_794_744_000_000;

/// What answers at a time of the test's own choosing.
fn at(root: &Path, minutes: i64) -> Service {
    let places = Environment { home: root.join("home"), vars: BTreeMap::new() };
    let clock = Clock::At(Stamp(NOON + minutes * MINUTE));
    Service::new(places, clock, root.to_path_buf(), "loci".into(), 1)
}

fn shown(service: &Service) -> Vec<(String, String)> {
    let window = service.handle(&GetPromptWindow::default()).unwrap();
    window.shown.into_iter().map(|shown| (shown.region, shown.path)).collect()
}

#[test]
fn what_the_work_is_about_ends_after_its_minutes() {
    let root = tempfile::tempdir().unwrap();
    for name in ["One", "Two", "Three"] {
        std::fs::write(root.path().join(format!("{name}.cs")), format!("public class {name} {{ }}")).unwrap();
    }
    let add = |path: &str, minutes: u64, at: &Service| {
        let ask = CodeContext { action: "add".into(), path: path.into(), minutes, root: None };
        at.handle(&ask).unwrap()
    };
    let noon = at(root.path(), 0);
    let added = add("One", 30, &noon);
    assert_eq!(added.context[0].until, Stamp(NOON + 30 * MINUTE).to_string());
    assert_eq!(add("Two", 60, &noon).context.len(), 2);
    let focus = |paths: &[&str]| -> Vec<(String, String)> {
        paths.iter().map(|path| ("Focus".to_string(), (*path).to_string())).collect()
    };
    assert_eq!(shown(&at(root.path(), 29)), focus(&["Two", "One"]));
    assert_eq!(shown(&at(root.path(), 30)), focus(&["Two"]));
    assert_eq!(shown(&at(root.path(), 60)), []);
    // What is over is forgotten by whoever writes next, and a question is remembered with its time.
    let later = at(root.path(), 90);
    later.handle(&GetOutline { path: "Three".into(), root: None }).unwrap();
    let access = std::fs::read_to_string(root.path().join(".loci/access.json")).unwrap();
    let access: serde_json::Value = serde_json::from_str(&access).unwrap();
    assert_eq!(access["context"].as_array().unwrap().len(), 0);
    assert_eq!(access["recent"][0]["at"], NOON + 90 * MINUTE);
    assert_eq!(shown(&later), focus(&["Three"]));
}
