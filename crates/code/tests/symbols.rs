//! Names of symbols as people write them, among declared names alone.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Codebase, MemberName, SymbolIndex, TypeId, TypeNames, Visibility, edit_distance};

/// A public type with members that take no parameters.
fn sample_type(name: &str, members: &[&str]) -> TypeNames {
    let member = |name: &&str| MemberName {
        name: (*name).to_string(),
        key: format!("{name}()"),
        visibility: Visibility::Public,
    };
    TypeNames {
        id: TypeId(syntax::Digest::of_bytes(name.as_bytes()).0),
        name: name.to_string(),
        project: String::new(),
        arity: 0,
        visibility: Visibility::Public,
        members: members.iter().map(member).collect(),
    }
}

use loci_code::SourceFile;
use project::Project;
use syntax::{LANGUAGES, Reader, Symbols};

const TEXT: &str = "
    namespace Memo.Core {
        public class NodeStore { public int Get(int id) => 1; public int Get(string name) => 2; public int GetAll() => 3; }
        public class Box<T> { public class Lid { } public T Value; }
        public class Box { }
        internal class Hidden { }
        public class Store { }
    }
    namespace Memo.Deep.Down { public class Store { public void Save() { } } internal class Other { } }
    class Loose { }
";

fn sample_codebase() -> Codebase {
    let facts = Reader::new(&LANGUAGES[0]).unwrap().read(TEXT, &Symbols::default());
    let file = SourceFile { path: "a.cs".into(), project: 0, generated: false, facts };
    Codebase::new(vec![Project::default()], vec![file])
}

fn resolve_sample(path: &str) -> (Option<String>, Vec<String>) {
    let code = sample_codebase();
    let types = TypeNames::of_codebase(&code);
    let names = SymbolIndex::new(&types, &|_| 0);
    let result = names.resolve_path(path);
    (
        result.resolved.map(|s| names.full_name(s)),
        result.candidates.iter().map(|(s, _)| names.full_name(*s)).collect(),
    )
}

#[test]
fn an_unambiguous_path_resolves_to_one_symbol() {
    for (path, name) in [
        ("Memo.Core.NodeStore", "Memo.Core.NodeStore"),
        ("memo.core.nodestore", "Memo.Core.NodeStore"),
        ("NodeStore", "Memo.Core.NodeStore"),
        ("global::Memo.Core.NodeStore", "Memo.Core.NodeStore"),
        ("Core.Store", "Memo.Core.Store"),
        ("Box<int>", "Memo.Core.Box`1"),
        ("Box`1", "Memo.Core.Box`1"),
        ("Box<T>.Lid", "Memo.Core.Box`1+Lid"),
        ("Box+Lid", "Memo.Core.Box`1+Lid"),
        ("Loose", "Loose"),
        ("NodeStore.GetAll", "Memo.Core.NodeStore.GetAll()"),
        ("NodeStore.Get(string)", "Memo.Core.NodeStore.Get(string)"),
        ("GetAll", "Memo.Core.NodeStore.GetAll()"),
        ("Node*", "Memo.Core.NodeStore"),
        ("NodeStore.GetA??", "Memo.Core.NodeStore.GetAll()"),
        ("Deep.*.Store", "Memo.Deep.Down.Store"),
    ] {
        assert_eq!(resolve_sample(path).0.as_deref(), Some(name), "{path}: {:?}", resolve_sample(path).1);
    }
}

#[test]
fn candidates_of_an_ambiguous_path_are_ranked() {
    assert_eq!(
        resolve_sample("Store"),
        (None, vec!["Memo.Core.Store".into(), "Memo.Deep.Down.Store".into()])
    );
    let boxes = vec!["Memo.Core.Box".into(), "Memo.Core.Box`1".into()];
    assert_eq!(resolve_sample("Box"), (Some("Memo.Core.Box".into()), boxes));
    let overloads: Vec<String> =
        vec!["Memo.Core.NodeStore.Get(int)".into(), "Memo.Core.NodeStore.Get(string)".into()];
    assert_eq!(resolve_sample("NodeStore.Get"), (Some(overloads[0].clone()), overloads));
    assert_eq!(resolve_sample("Memo.Core.*").1.last().map(String::as_str), Some("Memo.Core.Box`1+Lid"));
    let types = TypeNames::of_codebase(&sample_codebase());
    let down = types.iter().find(|each| each.name == "Memo.Deep.Down.Store").unwrap().id;
    let lately = |of: TypeId| u64::from(of == down);
    let names = SymbolIndex::new(&types, &lately);
    // The namespace outweighs how recently a type was requested.
    assert_eq!(names.full_name(names.resolve_path("Store").candidates[0].0), "Memo.Core.Store");
}

/// A module has the name of the type in it, apart from case; a complete match in another case is not what was written.
#[test]
fn case_exact_matches_come_first() {
    let types = [
        sample_type("store", &[]),
        sample_type("kept.store", &["Open"]),
        sample_type("kept.store.Store", &["open"]),
        sample_type("mail.Store", &[]),
        sample_type("open", &[]),
        sample_type("mail.post", &["Find"]),
        sample_type("find", &[]),
    ];
    let names = SymbolIndex::new(&types, &|_| 0);
    for (path, resolved, all) in [
        ("Store", None, vec!["mail.Store", "kept.store.Store"]),
        ("store", Some("store"), vec!["store"]),
        ("STORE", Some("store"), vec!["store"]),
        ("kept.Store", Some("kept.store"), vec!["kept.store"]),
        ("store.Store", Some("kept.store.Store"), vec!["kept.store.Store"]),
        ("Mail.Store", Some("mail.Store"), vec!["mail.Store"]),
        ("Store.open", Some("kept.store.Store.open()"), vec!["kept.store.Store.open()"]),
        ("Find", Some("mail.post.Find()"), vec!["mail.post.Find()"]),
        ("find", Some("find"), vec!["find"]),
    ] {
        let result = names.resolve_path(path);
        let found: Vec<String> =
            result.candidates.iter().map(|(symbol, _)| names.full_name(*symbol)).collect();
        assert_eq!(found, all, "{path}");
        assert_eq!(result.resolved.map(|symbol| names.full_name(symbol)).as_deref(), resolved, "{path}");
    }
}

#[test]
fn near_matches_are_suggested_but_not_resolved() {
    for (path, suggestion) in [
        ("NodeStroe", "Memo.Core.NodeStore"),
        ("NodeStor", "Memo.Core.NodeStore"),
        ("NodeStore.GetAl", "Memo.Core.NodeStore.GetAll()"),
    ] {
        assert_eq!(resolve_sample(path), (None, vec![suggestion.to_string()]), "{path}");
    }
    for path in ["Nothing", "Bx", "", "...", "NodeStore.Delete(int)"] {
        assert_eq!(resolve_sample(path), (None, vec![]), "{path}");
    }
}

#[test]
fn a_search_finds_substrings_and_lists_types_first() {
    let code = sample_codebase();
    let types = TypeNames::of_codebase(&code);
    let names = SymbolIndex::new(&types, &|_| 0);
    let found: Vec<String> =
        names.search_text("store", 10).iter().map(|(s, _)| names.full_name(*s)).collect();
    assert_eq!(found, ["Memo.Core.Store", "Memo.Deep.Down.Store", "Memo.Core.NodeStore"]);
    assert_eq!(names.search_text("get", 2).len(), 2);
    assert!(names.search_text("", 5).is_empty());
}

#[test]
fn edit_distance_counts_differing_letters() {
    for (one, other, n) in [
        ("store", "stroe", Some(1)),
        ("store", "store", Some(0)),
        ("abcd", "wxyz", None),
        ("get", "gets", Some(1)),
    ] {
        assert_eq!(edit_distance(one, other), n);
    }
}
