//! Several edits as one plan: joined where they touch different text, refused where they do not.
//!
//! Does not test how each edit is planned.

#![allow(clippy::unwrap_used, clippy::pedantic)] // a test may fail by panicking

use loci_edits::{
    BatchStep, EditError, EditKind, Journal, Plan, Position, RenameOptions, SymbolPlace, Tree, plan_batch,
};

const FILES: [(&str, &str); 2] = [
    (
        "a.py",
        "def get():\n    return 1\n\n\ndef helper():\n    return get()\n\n\ndef spare():\n    return helper()\n",
    ),
    ("b.py", "from a import get\n\n\ndef f():\n    return get()\n"),
];

fn rename(new_name: &str) -> EditKind {
    EditKind::Rename { new_name: new_name.into(), options: RenameOptions::default() }
}

fn insert(text: &str) -> EditKind {
    EditKind::Insert { position: Position::After, text: text.into() }
}

fn batch(steps: &[(&str, &str, EditKind)]) -> Result<(tempfile::TempDir, Plan), EditError> {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        std::fs::write(home.path().join(path), text).unwrap();
    }
    let tree = Tree::open(home.path(), 1).unwrap();
    let to_step = |(file, name, kind): &(&str, &str, EditKind)| {
        let at = tree.text(file).unwrap().text.find(&format!("def {name}")).unwrap() as u32 + 4;
        let place = SymbolPlace { file: (*file).into(), at, name: (*name).into() };
        BatchStep { place, kind: kind.clone() }
    };
    let steps: Vec<BatchStep> = steps.iter().map(to_step).collect();
    plan_batch(&tree, &steps).map(|plan| (home, plan))
}

/// The files after a batch, and that undoing it brings them back.
fn apply(steps: &[(&str, &str, EditKind)]) -> [String; 2] {
    let (home, plan) = batch(steps).unwrap();
    let read = || FILES.map(|(path, _)| std::fs::read_to_string(home.path().join(path)).unwrap());
    let journal = Journal::new(home.path(), &home.path().join(".edits"));
    let id = journal.apply(&plan, 1).unwrap().id;
    let after = read();
    journal.undo(&id).unwrap();
    assert_eq!(read(), FILES.map(|(_, text)| text.to_owned()), "one undo");
    after
}

#[test]
fn moved_code_waits_for_a_compiler() {
    let (_home, plan) = batch(&[("a.py", "get", EditKind::Move { to: "c.py".into() })]).unwrap();
    let reasons: Vec<&str> = plan.unsure.iter().map(|it| it.place.reason.as_str()).collect();
    assert!(reasons.contains(&"only a compiler can confirm it"), "{reasons:?}");
    let (_home, plan) = batch(&[("a.py", "get", rename("fetch"))]).unwrap();
    assert!(plan.is_complete(), "{:?}", plan.unsure);
}

#[test]
fn steps_are_applied_and_undone_as_one() {
    let [a, b] = apply(&[
        ("a.py", "get", rename("fetch")),
        ("a.py", "get", insert("def one(): pass")),
        ("a.py", "get", insert("def two(): pass")),
        ("b.py", "f", rename("main")),
    ]);
    assert!(a.starts_with("def fetch():\n    return 1\n\ndef one(): pass\n\ndef two(): pass\n"), "{a}");
    assert!(a.contains("return fetch()"), "{a}");
    assert_eq!(b, "from a import fetch\n\n\ndef main():\n    return fetch()\n");
}

#[test]
fn what_is_used_only_by_what_goes_too_is_deleted() {
    let delete = || EditKind::Delete { force: false };
    let alone = batch(&[("a.py", "helper", delete()), ("b.py", "f", rename("g"))]).unwrap_err();
    assert!(matches!(&alone, EditError::InStep { number: 1, .. }), "{alone:?}");
    assert_eq!((alone.reason(), alone.places()[0].line), ("still-used", 10));
    // the rename's use in the deleted function goes with it
    let steps = [("a.py", "get", rename("fetch")), ("a.py", "helper", delete()), ("a.py", "spare", delete())];
    assert_eq!(apply(&steps)[0].trim_end(), "def fetch():\n    return 1");
}

#[test]
fn steps_that_change_the_same_text_are_refused() {
    let body = |text: &str| EditKind::Replace { text: text.into(), whole: false };
    let refused =
        batch(&[("a.py", "helper", body("return 2")), ("a.py", "get", rename("fetch"))]).unwrap_err();
    assert!(matches!(&refused, EditError::Overlap(places) if places[0].line == 6), "{refused:?}");
    assert!(refused.places()[0].reason.contains("step 1 and step 2"), "{refused:?}");
    assert!(batch(&[("a.py", "get", rename("one")), ("a.py", "get", rename("two"))]).is_err());
}

#[test]
fn what_no_step_knows_alone_is_unsure() {
    let stale = batch(&[("a.py", "get", rename("fetch")), ("b.py", "f", insert("x = get()"))]).unwrap().1;
    assert!(stale.unsure[0].place.reason.contains("`get`, which step 1 takes away"), "{:?}", stale.unsure);
    let fresh = batch(&[("a.py", "get", rename("fetch")), ("b.py", "f", insert("x = fetch()"))]).unwrap().1;
    assert!(fresh.is_complete());
    let same = batch(&[("a.py", "get", rename("one")), ("a.py", "helper", rename("one"))]).unwrap().1;
    assert!(same.unsure[0].place.reason.contains("same name as in step 1"), "{:?}", same.unsure);
}

#[test]
fn only_one_symbol_is_moved_at_once() {
    let to = |path: &str| EditKind::Move { to: path.into() };
    let refused = batch(&[("a.py", "get", to("c.py")), ("a.py", "helper", to("c.py"))]).unwrap_err();
    assert!(refused.to_string().contains("`helper` cannot be moved in the same batch"), "{refused}");
}

#[test]
fn a_plan_is_out_of_date_if_a_file_it_has_read_changes() {
    let (home, plan) = batch(&[("a.py", "spare", rename("extra"))]).unwrap();
    assert_eq!(plan.files.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["a.py"]);
    std::fs::write(home.path().join("b.py"), "from a import spare\n").unwrap();
    let journal = Journal::new(home.path(), &home.path().join(".edits"));
    let refused = journal.apply(&plan, 1).unwrap_err();
    assert!(refused.to_string().contains("b.py"), "{refused}");
    assert_eq!(std::fs::read_to_string(home.path().join("a.py")).unwrap(), FILES[0].1);
}
