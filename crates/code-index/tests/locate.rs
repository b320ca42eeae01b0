//! Names as readers write them: declared, re-exported, inherited, overloaded, former, or a place in a file; and the source of what
//! they resolve to.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use code::RefreshOptions;
use loci_code_index::{NameResolution, Store};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const NOW: RefreshOptions<'_> = RefreshOptions { now: 0, threads: 1, progress: &|_, _| true };

fn index(files: &[(&str, &str)]) -> (TempDir, Store) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write_file(root.path(), path, text);
    }
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(NOW).unwrap();
    (root, store)
}

fn write_file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn resolve(store: &Store, name: &str) -> NameResolution {
    store.resolve_name(name, &|_| 0).unwrap()
}

/// The full names of what a name resolves to.
fn names(store: &Store, name: &str) -> Vec<String> {
    let describe = |at: &loci_code_index::Located| {
        let summary = store.type_summary(at.of).unwrap().unwrap();
        let member = at.member.map(|member| summary.members[member as usize].key.clone());
        member.map_or(summary.name.clone(), |key| format!("{}.{key}", summary.name))
    };
    resolve(store, name).resolved.iter().map(describe).collect()
}

const PYTHON: &[(&str, &str)] = &[
    ("pyproject.toml", "[project]\nname = \"shop\"\n"),
    ("shop/__init__.py", "from .app import Shop as Shop\nfrom .helpers import url_for as url_for\n"),
    ("shop/base.py", "class Base:\n    def route(self):\n        pass\n"),
    (
        "shop/app.py",
        "from .base import Base\n\n\nclass Shop(Base):\n    def url_for(self):\n        return 1\n\n    def run(self):\n        pass\n",
    ),
    ("shop/helpers.py", "import os\n\n\ndef url_for():\n    return os.name\n"),
];

#[test]
fn re_exported_and_inherited_names_resolve() {
    let (_root, store) = index(PYTHON);
    for (name, expected) in [
        ("shop.Shop", "shop.app.Shop"),
        ("shop.url_for", "shop.helpers.url_for"),
        ("Shop.url_for", "shop.app.Shop.url_for"),
        ("Shop.route", "shop.base.Base.route"),
        ("shop.Shop.route", "shop.base.Base.route"),
        ("shop.app.Shop.run", "shop.app.Shop.run"),
        ("shop/app.py:6", "shop.app.Shop.url_for"),
        ("app.py:4", "shop.app.Shop"),
        ("shop/helpers.py:5", "shop.helpers.url_for"),
    ] {
        assert_eq!(names(&store, name), [expected], "{name}");
    }
    for name in ["shop.Missing", "Shop.missing", "shop/missing.py:1", "shop.app.route"] {
        assert_eq!(names(&store, name), [""; 0], "{name}");
    }
}

#[test]
fn a_facade_crate_resolves_before_a_module_in_another_case() {
    let (_root, store) = index(&[
        ("Cargo.toml", "[workspace]\n"),
        ("search/Cargo.toml", "[package]\nname = \"grep-searcher\"\n"),
        ("search/src/lib.rs", "mod searcher;\npub use crate::searcher::Searcher;\n"),
        ("search/src/searcher/mod.rs", "pub struct Searcher;\npub fn search() {}\n"),
        (
            "all/Cargo.toml",
            "[package]\nname = \"grep\"\n[dependencies]\ngrep-searcher = { path = \"../search\" }\n",
        ),
        ("all/src/lib.rs", "pub extern crate grep_searcher as searcher;\n"),
    ]);
    for name in ["grep_searcher::Searcher", "grep::searcher::Searcher", "searcher::Searcher", "Searcher"] {
        assert_eq!(names(&store, name), ["grep_searcher.searcher.Searcher"], "{name}");
    }
}

#[test]
fn overloads_are_one_symbol_and_a_bare_name_is_the_type_without_parameters() {
    let (_root, store) = index(&[
        ("A.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\" />"),
        (
            "a.cs",
            "namespace N { public class Box { public int Get(int i) => 1; public int Get(string s) => 2; } public class Box<T> { } }",
        ),
    ]);
    assert_eq!(names(&store, "N.Box"), ["N.Box"]);
    assert_eq!(names(&store, "N.Box<T>"), ["N.Box`1"]);
    assert_eq!(names(&store, "Box.Get"), ["N.Box.Get(int)", "N.Box.Get(string)"]);
    assert_eq!(names(&store, "Box.Get(string)"), ["N.Box.Get(string)"]);
}

#[test]
fn a_former_name_redirects_with_its_members() {
    let body = "{ public int Count(int a) { return a * 41 + 7; } public int Other(int b) { return b - 3; } }";
    let (root, mut store) = index(&[
        ("A.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\" />"),
        ("a.cs", &format!("namespace N {{ public class Before {body} }}")),
    ]);
    write_file(root.path(), "a.cs", &format!("namespace N {{ public class After {body} }}"));
    store.refresh(NOW).unwrap();
    for (name, expected) in [("Before", "N.After"), ("N.Before.Count", "N.After.Count(int)")] {
        assert_eq!(names(&store, name), [expected], "{name}");
        assert_eq!(resolve(&store, name).redirected_from.unwrap().0, "N.Before");
    }
    assert_eq!(resolve(&store, "After").redirected_from, None);
}

#[test]
fn source_is_whole_lines_with_their_numbers() {
    let (_root, store) = index(PYTHON);
    let at = resolve(&store, "Shop.run").resolved[0];
    let summary = store.type_summary(at.of).unwrap().unwrap();
    let member = &summary.members[at.member.unwrap() as usize];
    let [piece] = &store.source_of(&summary, Some(member))[..] else { panic!("one declaration") };
    assert_eq!((piece.file.as_str(), piece.first_line, piece.last_line), ("shop/app.py", 8, 9));
    assert_eq!(piece.text, "    def run(self):\n        pass");
    let [piece] = &store.source_of(&summary, None)[..] else { panic!("one declaration") };
    assert_eq!((piece.first_line, piece.last_line), (4, 9));
}

#[test]
fn the_outline_of_a_file_lists_its_declarations_with_their_lines() {
    let (_root, store) = index(PYTHON);
    assert_eq!(store.file_named("app.py").unwrap().as_deref(), Some("shop/app.py"));
    assert_eq!(store.file_named("Shop").unwrap(), None);
    let (outline, _) = store.file_outline("shop/app.py").unwrap();
    let expected = "shop/app.py (9 lines)\n        4-9  class Shop(Base)\n        5-6    def url_for(self)\n        8-9    def run(self)\n";
    assert_eq!(outline, expected);
}

#[test]
fn names_are_understood_as_people_write_them() {
    let (_root, store) = index(&[
        ("pyproject.toml", "[project]\nname = \"shop\"\n"),
        ("shop/store.py", "class Store:\n    def keep(self):\n        pass\n\ndef clean():\n    pass\n"),
    ]);
    let first = |name: &str| names(&store, name).into_iter().next().unwrap_or_default();
    assert_eq!(first("Store#keep"), "shop.store.Store.keep", "as in Java's documentation");
    assert_eq!(first("(*Store).keep"), "shop.store.Store.keep", "as in Go's");
    assert_eq!(first("shop/store.py"), "shop.store", "a file is its module");
    let variable = resolve(&store, "kept.keep");
    assert!(variable.resolved.is_empty(), "a variable is not guessed");
    assert_eq!(variable.candidates.len(), 1, "but its members are suggested");
}

#[test]
fn a_line_of_a_method_of_go_means_the_method() {
    let (_root, store) = index(&[
        ("go.mod", "module shop\n"),
        ("a.go", "package shop\n\ntype Cart struct {\n\tn int\n}\n\nfunc (c *Cart) Add() {\n\tc.n++\n}\n"),
    ]);
    assert_eq!(names(&store, "a.go:8"), ["shop.Cart.Add"]);
    assert_eq!(names(&store, "a.go:3"), ["shop.Cart"]);
}

#[test]
fn an_overload_is_named_with_or_without_type_arguments() {
    let (_root, store) = index(&[(
        "A.java",
        "class A { void get(Token<String> t) { } void get(Token<String> t, boolean b) { } void put(List<A> a) { } void put(List<B> b) { } }",
    )]);
    assert_eq!(names(&store, "A.get(Token, boolean)"), ["A.get(Token<String>, boolean)"]);
    assert_eq!(names(&store, "A.get(Token)"), ["A.get(Token<String>)"]);
    assert_eq!(names(&store, "A.put(List<B>)"), ["A.put(List<B>)"]);
    assert_eq!(names(&store, "A.put(List)").len(), 2);
}

#[test]
fn a_pattern_means_all_its_symbols() {
    let (_root, store) = index(PYTHON);
    let found = resolve(&store, "*.url_for");
    assert_eq!((found.resolved.len(), found.all_meant().count()), (0, 2));
    assert_eq!(resolve(&store, "Shop.run").all_meant().count(), 1);
    assert_eq!(resolve(&store, "nothing.here").all_meant().count(), 0);
    let many: Vec<String> = (0..21).map(|n| format!("def f{n}():\n    pass\n")).collect();
    let (_root, store) = index(&[("a.py", &many.join("\n\n"))]);
    assert_eq!(resolve(&store, "a.f1*").all_meant().count(), 11);
    assert_eq!(resolve(&store, "a.f*").all_meant().count(), 0, "too many");
}
