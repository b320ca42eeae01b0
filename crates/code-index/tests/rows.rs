//! The rows of the lists in `.loci/`: last change, note and depth of each type, the same for every index of the same folder.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use code::{Baseline, NoteStatus, RefreshOptions};
use folder::{LociFolder, note_path};
use loci_code_index::{ExportOptions, NoteHead, Store};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// In the past: every file may have been written since, so each is read again.
const NOW: RefreshOptions<'_> = RefreshOptions { now: 0, threads: 1, progress: &|_, _| true };

const LEAF: &str = "public class Leaf { public int One() { return 1; } int Two() { return 2; } }";
const USER: &str = "public class User { public Leaf Made; }";

fn create_tree() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    write_file(root.path(), "Leaf.cs", LEAF);
    write_file(root.path(), "User.cs", USER);
    write_file(root.path(), "far/Far.cs", "public class Far { public User Made; }");
    root
}

fn write_file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn parse_note(text: &str) -> NoteHead {
    let value = |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.to_string()));
    let list = |name: &str| value(name).into_iter().collect::<Vec<_>>();
    let (structure, implementation) = (list("StructureHash: "), list("ImplHash: "));
    NoteHead { types: list("Types: "), structure, implementation, date: value("Date: ") }
}

/// Refreshes the index and writes the folder; returns the number of files written.
fn export(store: &mut Store, root: &Path) -> u64 {
    let done = store.refresh(NOW).unwrap();
    let folder = LociFolder::open_or_create(root).unwrap();
    let lock = folder.lock_for_writing(Duration::from_secs(5)).unwrap();
    let options = ExportOptions { mask: &|text: &str| text.to_string(), parse_note: &parse_note };
    store.export_files(&folder, &lock, &done, &options).unwrap().files
}

fn row(root: &Path, name: &str) -> Value {
    let lists = std::fs::read_dir(root.join(".loci/index")).unwrap();
    let text: String = lists.map(|list| std::fs::read_to_string(list.unwrap().path()).unwrap()).collect();
    let mut rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.find(|row| row["fqn"] == name).unwrap()
}

fn all_rows(root: &Path) -> [Value; 3] {
    ["Leaf", "User", "Far"].map(|name| row(root, name))
}

/// Writes a note about the type as it is now, as a model's answer is stored.
fn write_note(store: &Store, root: &Path, name: &str) {
    let row = row(root, name);
    let hash = |field: &str| row[field].as_str().unwrap().to_string();
    let text = format!(
        "# Semantic: {name}\nStructureHash: {}\nImplHash: {}\nDate: 2026-11-15\n\nROLE: x\n",
        hash("structureHash"),
        hash("implHash")
    );
    let id = code::TypeId::parse_full(&hash("id")).unwrap();
    let folder = LociFolder::open_or_create(root).unwrap();
    let lock = folder.lock_for_writing(Duration::from_secs(5)).unwrap();
    store.without_invalidating(&folder, || lock.write(&note_path(&hash("id")), text.as_bytes())).unwrap();
    let card = store.type_summary(id).unwrap().unwrap();
    store.begin_note(id, 1).unwrap();
    let base = Baseline::capture(&card, &|_, _| String::new());
    assert_eq!(store.finish_note(id, &text, &base, true).unwrap().status, NoteStatus::Cached);
}

#[test]
fn a_row_without_a_note_has_its_last_change_and_its_depth() {
    let tree = create_tree();
    let root = tree.path();
    let mut store = Store::in_memory(root).unwrap();
    export(&mut store, root);
    let state = |row: &Value| {
        ["changeClass", "internalChanged", "lastSemanticBase", "semanticState", "semanticGroupId"]
            .map(|name| row[name].clone())
    };
    assert_eq!(
        state(&row(root, "Leaf")),
        [json!(null), json!(false), json!(null), json!("none"), json!(null)]
    );
    let depths = all_rows(root).map(|row| row["depthHint"].clone());
    assert_eq!(depths, [json!(0), json!(1), json!(2)]);
    for (text, class) in [
        (LEAF.replace("return 2", "return 3"), "Internal"),
        (LEAF.replace("return 1", "return 4"), "PublicBehavior"),
        (LEAF.replace("int One()", "long One()"), "Structure"),
    ] {
        write_file(root, "Leaf.cs", &text);
        let written = export(&mut store, root);
        assert!(written <= 3, "{class}: the list, and outlines: {written}");
        assert_eq!(row(root, "Leaf")["changeClass"], class);
    }
    assert_eq!(row(root, "User")["changeClass"], json!(null), "no note depends on it");
}

#[test]
fn another_index_of_the_same_folder_writes_the_same_rows() {
    let tree = create_tree();
    let root = tree.path();
    let mut store = Store::in_memory(root).unwrap();
    export(&mut store, root);
    write_note(&store, root, "User");
    export(&mut store, root);
    write_file(root, "Leaf.cs", &LEAF.replace("return 2", "return 3"));
    write_file(
        root,
        "User.cs",
        &USER.replace("public Leaf Made;", "public Leaf Made; int Own() { return 1; }"),
    );
    export(&mut store, root);
    let rows = all_rows(root);
    assert_eq!((&rows[0]["changeClass"], &rows[1]["changeClass"]), (&json!("Internal"), &json!("Internal")));
    assert_eq!((&rows[1]["internalChanged"], &rows[1]["semanticState"]), (&json!(true), &json!("cached")));
    assert_eq!(export(&mut Store::in_memory(root).unwrap(), root), 0, "a clone leaves the committed files");
    assert_eq!(all_rows(root), rows);
    // What changed since the rows were committed is told by their hashes.
    write_file(root, "Leaf.cs", &LEAF.replace("return 1", "return 4"));
    export(&mut Store::in_memory(root).unwrap(), root);
    assert_eq!(row(root, "Leaf")["changeClass"], "PublicBehavior");
}

#[test]
fn a_note_changes_the_row_of_its_type_when_it_is_written_and_when_it_becomes_stale() {
    let tree = create_tree();
    let root = tree.path();
    let mut store = Store::in_memory(root).unwrap();
    export(&mut store, root);
    write_note(&store, root, "User");
    assert_eq!(export(&mut store, root), 1, "the list with the row");
    let cached = row(root, "User");
    assert_eq!(cached["semanticState"], "cached");
    let hash = |name: &str| cached[name].clone();
    let base = json!({
        "structureHash": hash("structureHash"), "implHash": hash("implHash"), "generatedAt": "2026-11-15",
        "publicImplHash": hash("publicImplHash"), "internalImplHash": hash("internalImplHash"),
    });
    assert_eq!(cached["lastSemanticBase"], base);
    write_file(root, "Leaf.cs", &LEAF.replace("int One()", "long One()"));
    export(&mut store, root);
    let stale = row(root, "User");
    assert_eq!(
        (&stale["semanticState"], &stale["changeClass"]),
        (&json!("stale"), &json!("Structure-Dependency"))
    );
    // The base is that of the note, whatever the type becomes.
    write_file(root, "User.cs", &USER.replace("Made;", "Made; int Own() { return 1; }"));
    export(&mut store, root);
    assert_eq!(row(root, "User")["lastSemanticBase"], base);
}

#[test]
fn a_note_by_hand_makes_a_row_cached_or_stale_by_its_hashes() {
    let tree = create_tree();
    let root = tree.path();
    let mut store = Store::in_memory(root).unwrap();
    export(&mut store, root);
    let id = row(root, "Leaf")["id"].as_str().unwrap().to_string();
    write_file(
        root,
        &format!(".loci/types/{id}.semantic.md"),
        "StructureHash: 00000000\nImplHash: 00000000\n\nROLE: x\n",
    );
    export(&mut store, root);
    let leaf = row(root, "Leaf");
    assert_eq!(
        (&leaf["semanticState"], &leaf["lastSemanticBase"]["generatedAt"]),
        (&json!("stale"), &json!(null))
    );
    std::fs::remove_file(root.join(format!(".loci/types/{id}.semantic.md"))).unwrap();
    export(&mut store, root);
    assert_eq!(row(root, "Leaf")["semanticState"], "none");
}

#[test]
fn the_types_of_a_cycle_have_the_group_of_its_note() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    write_file(root, "A.cs", "public class A { public B Made; }");
    write_file(root, "B.cs", "public class B { public A Made; }");
    let mut store = Store::in_memory(root).unwrap();
    export(&mut store, root);
    assert_eq!((&row(root, "A")["depthHint"], &row(root, "B")["depthHint"]), (&json!(0), &json!(0)));
    let id = row(root, "A")["id"].as_str().unwrap().to_string();
    write_file(
        root,
        ".loci/semantic/G_1.md",
        &format!("Types: {id}\nStructureHash: 0\nImplHash: 0\n\nROLE: x\n"),
    );
    export(&mut store, root);
    assert_eq!(
        (&row(root, "A")["semanticGroupId"], &row(root, "B")["semanticGroupId"]),
        (&json!("G_1"), &json!(null))
    );
}

#[test]
fn the_index_lists_packs_with_their_types_and_the_time_in_their_header() {
    let tree = create_tree();
    let root = tree.path();
    let mut store = Store::in_memory(root).unwrap();
    let pack = "Pack: core | Types: 2 | Left out: 0\nFilter: type:*\nBuilt: 2026-11-15T12:00:00Z\n\n# Leaf\n\n# User\n";
    write_file(root, ".loci/packs/core.md", pack);
    export(&mut store, root);
    let packs = || {
        let index = std::fs::read_to_string(root.join(".loci/index.json")).unwrap();
        serde_json::from_str::<Value>(&index).unwrap()["packs"].take()
    };
    let expected = packs();
    let entry = &expected[0];
    assert_eq!((&entry["name"], &entry["lastBuild"]), (&json!("core"), &json!("2026-11-15T12:00:00Z")));
    assert_eq!(entry["typeIds"], json!([row(root, "Leaf")["id"], row(root, "User")["id"]]));
    assert!(entry["tokenEstimate"].as_u64() > Some(10), "{entry}");
    write_file(root, "Leaf.cs", &LEAF.replace("return 1", "return 4"));
    export(&mut store, root);
    assert_eq!(packs(), expected);
}
