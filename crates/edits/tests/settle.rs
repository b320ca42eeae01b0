//! A compiler decides about uncertain places: what fails unchanged is changed, what fails changed is left alone.
//!
//! Does not run a compiler: a function stands for it.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::type_complexity)] // a test may fail by panicking

use loci_edits::{
    Carried, Contents, Diagnostic, EditError, Plan, RenameOptions, SymbolPlace, Tree, plan_rename,
    settle_plan,
};

/// Two classes with the same method, and three calls on values without a known type.
const TEXT: &str = "class A:\n    def get(self): pass\nclass B:\n    def get(self): pass\ndef f(x, y, z):\n    x.get()\n    y.get()\n    z.get()\n";

fn error_at(line: usize) -> Diagnostic {
    Diagnostic {
        file: "a.py".into(),
        line: line as u32,
        is_error: true,
        code: String::new(),
        message: format!("bad {line}"),
    }
}

fn get_to_fetch() -> Carried {
    Carried { names: vec![("fetch".into(), "get".into())], ..Carried::default() }
}

fn settle(must: &[usize], must_not: &[usize], is_gradual: bool) -> Result<(String, Plan), EditError> {
    settle_after(&[], must, must_not, is_gradual)
}

/// Settles the rename of `A.get` with a compiler that knows which lines must, and which must not, be renamed.
fn settle_after(
    before: &[Diagnostic],
    must: &[usize],
    must_not: &[usize],
    is_gradual: bool,
) -> Result<(String, Plan), EditError> {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.py"), TEXT).unwrap();
    let tree = Tree::open(root.path(), 1).unwrap();
    let place = SymbolPlace { file: "a.py".into(), at: 17, name: "get".into() };
    let mut plan = plan_rename(&tree, &place, "fetch", RenameOptions::default()).unwrap();
    assert_eq!(plan.unsure.len(), 3, "{:?}", plan.unsure);
    let mut compile = |contents: &Contents| -> Result<Vec<Diagnostic>, EditError> {
        let text = String::from_utf8(contents["a.py"].clone().unwrap()).unwrap();
        let is_new = |line: &usize| text.lines().nth(line - 1).unwrap().contains("fetch");
        let wrong = must.iter().filter(|it| !is_new(it)).chain(must_not.iter().filter(|it| is_new(it)));
        Ok(wrong.map(|line| error_at(*line)).collect())
    };
    let carried = get_to_fetch();
    settle_plan(&tree, &mut plan, (before, &carried), is_gradual, &[], &mut compile)?;
    let text = String::from_utf8(plan.contents(&tree).unwrap()["a.py"].clone().unwrap()).unwrap();
    let calls = text.lines().skip(5).map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ");
    Ok((calls, plan))
}

#[test]
fn errors_name_the_places_that_have_to_change() {
    let (calls, plan) = settle(&[6], &[], false).unwrap();
    assert_eq!(calls, "x.fetch() y.get() z.get()");
    assert!(plan.is_complete(), "a compiled language leaves no doubt");
}

#[test]
fn where_types_are_optional_a_silent_place_stays_unsure() {
    let (calls, plan) = settle(&[6], &[7], true).unwrap();
    assert_eq!(calls, "x.fetch() y.get() z.get()");
    let unsure: Vec<u32> = plan.unsure.iter().map(|it| it.place.line).collect();
    assert_eq!(unsure, [8], "neither change nor silence is an error at z");
}

#[test]
fn a_tree_with_errors_proves_nothing_by_silence() {
    let (_, plan) = settle_after(&[error_at(1)], &[6], &[7], false).unwrap();
    let unsure: Vec<u32> = plan.unsure.iter().map(|it| it.place.line).collect();
    assert_eq!(unsure, [8], "the compiler may have stopped before it");
}

#[test]
fn a_rejected_place_changes_only_if_the_compiler_asks_for_it() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.py"), TEXT).unwrap();
    let tree = Tree::open(root.path(), 1).unwrap();
    let place = SymbolPlace { file: "a.py".into(), at: 17, name: "get".into() };
    let mut plan = plan_rename(&tree, &place, "fetch", RenameOptions::default()).unwrap();
    let rejected = std::mem::take(&mut plan.unsure);
    let mut compile = |contents: &Contents| -> Result<Vec<Diagnostic>, EditError> {
        let text = String::from_utf8(contents["a.py"].clone().unwrap()).unwrap();
        Ok((!text.contains("y.fetch")).then(|| error_at(7)).into_iter().collect())
    };
    let carried = get_to_fetch();
    let settled = settle_plan(&tree, &mut plan, (&[], &carried), true, &rejected, &mut compile).unwrap();
    let text = String::from_utf8(plan.contents(&tree).unwrap()["a.py"].clone().unwrap()).unwrap();
    assert!(text.contains("x.get()") && text.contains("y.fetch()") && text.contains("z.get()"), "{text}");
    assert!(plan.is_complete() && (settled.confirmed, settled.rejected) == (1, 2), "{settled:?}");
}

#[test]
fn an_error_elsewhere_refuses_the_edit() {
    let refused = settle(&[2, 3], &[], false).unwrap_err();
    assert!(matches!(&refused, EditError::NewErrors(places) if places[0].line == 3), "{refused:?}");
}

#[test]
fn an_error_elsewhere_in_the_file_has_its_open_places_tried() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.py"), TEXT).unwrap();
    let tree = Tree::open(root.path(), 1).unwrap();
    let place = SymbolPlace { file: "a.py".into(), at: 17, name: "get".into() };
    let mut plan = plan_rename(&tree, &place, "fetch", RenameOptions::default()).unwrap();
    // reported at line 5, as for a class without a name; line 7 means something else
    let mut compile = |contents: &Contents| -> Result<Vec<Diagnostic>, EditError> {
        let text = String::from_utf8(contents["a.py"].clone().unwrap()).unwrap();
        let lacks = !text.contains("x.fetch") || !text.contains("z.fetch");
        let wrong = text.contains("y.fetch").then_some(7);
        Ok(lacks.then_some(5).into_iter().chain(wrong).map(error_at).collect())
    };
    let carried = get_to_fetch();
    settle_plan(&tree, &mut plan, (&[], &carried), false, &[], &mut compile).unwrap();
    let text = String::from_utf8(plan.contents(&tree).unwrap()["a.py"].clone().unwrap()).unwrap();
    assert!(text.contains("x.fetch()") && text.contains("y.get()") && text.contains("z.fetch()"), "{text}");
}
