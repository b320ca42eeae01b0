//! Packs in `list_packs` and `index.json`: their types, and when they were built.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use api::Handle;
use api::code::{BuildPack, IndexCode, ListPacks, PackInfo};
use loci_service::{Environment, Service};
use record::{Clock, Stamp};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const NOON: i64 = 1_794_744_000_000;

fn service_at(root: &Path, minutes: i64) -> Service {
    let environment =
        Environment { home: root.join("home"), vars: BTreeMap::from([("LOCI_HOME_TREE", "on".into())]) };
    let clock = Clock::At(Stamp(NOON + minutes * 60_000));
    Service::new(environment, clock, root.to_path_buf(), "loci".into(), 1)
}

fn build_pack(service: &Service) -> bool {
    let request = BuildPack { name: "core".into(), filter: "type:*".into(), ..BuildPack::default() };
    service.handle(&request).unwrap().reused
}

fn listed_pack(service: &Service) -> PackInfo {
    service.handle(&ListPacks::default()).unwrap().packs.remove(0)
}

fn indexed_packs(root: &Path) -> Value {
    let index = std::fs::read_to_string(root.join(".loci/index.json")).unwrap();
    serde_json::from_str::<Value>(&index).unwrap()["packs"].take()
}

#[test]
fn a_pack_has_its_types_and_the_time_at_which_its_content_changed() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    std::fs::write(root.join("One.cs"), "public class One { }").unwrap();
    service_at(root, 0).handle(&IndexCode::default()).unwrap();
    assert_eq!(indexed_packs(root), serde_json::json!([]));
    assert!(!build_pack(&service_at(root, 1)));
    let pack = listed_pack(&service_at(root, 2));
    assert_eq!(pack.last_build, Some(Stamp(NOON + 60_000).to_string()));
    assert_eq!((pack.types, pack.type_ids.len()), (1, 1));
    let entry = indexed_packs(root)[0].clone();
    assert_eq!(entry["lastBuild"], Stamp(NOON + 60_000).to_string());
    assert_eq!(
        (&entry["typeIds"][0], &entry["tokenEstimate"]),
        (&pack.type_ids[0].as_str().into(), &pack.tokens.into())
    );
    assert!(build_pack(&service_at(root, 3)), "the same types are the same pack");
    assert_eq!(listed_pack(&service_at(root, 4)), pack);
    std::fs::write(root.join("Two.cs"), "public class Two { }").unwrap();
    assert!(!build_pack(&service_at(root, 5)));
    assert_eq!(listed_pack(&service_at(root, 6)).last_build, Some(Stamp(NOON + 5 * 60_000).to_string()));
    assert_eq!(indexed_packs(root)[0]["typeIds"].as_array().unwrap().len(), 2);
}
