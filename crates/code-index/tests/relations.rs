//! Callers, callees, subtypes and tests of a symbol.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use code::RefreshOptions;
use loci_code_index::{Relation, Store};
use std::fs;

const FILES: &[(&str, &str)] = &[
    ("pyproject.toml", "[project]\nname = \"shop\"\n"),
    ("shop/tools.py", "def clean(x):\n    return strip(x)\n\n\ndef strip(x):\n    return x\n"),
    (
        "shop/base.py",
        "class Base:\n    def run(self, x):\n        pass\n\n    def other(self):\n        pass\n\n\nclass Middle(Base):\n    @cached\n    def run(self, x):\n        pass\n",
    ),
    (
        "shop/use.py",
        "from .tools import clean\nfrom .base import Middle\n\n\nclass Use(Middle):\n    def put(self):\n        return clean(1)\n\n    def twice(self):\n        return self.put()\n\n    def keep(self):\n        self.last = clean(2)\n",
    ),
    ("shop/guess.py", "def guess(s):\n    return s.put()\n\n\ndef outer():\n    return guess(1)\n"),
    (
        "tests/test_use.py",
        "from shop.use import Use\n\n\ndef test_put():\n    use = Use()\n    use.twice()\n",
    ),
    (
        "shop/nested.py",
        "from .tools import clean\n\nLIMIT = 3\n\n\ndef outermost():\n    def inner():\n        return clean(LIMIT)\n\n    return map(lambda x: clean(x), inner())\n",
    ),
    ("Cargo.toml", "[package]\nname = \"shop\"\n"),
    (
        "src/lib.rs",
        "pub trait Sink { fn put(&self); }\npub trait SinkError {}\npub struct FileSink;\nimpl SinkError for FileSink {}\nimpl Sink for FileSink {\n    #[inline]\n    fn put(&self) {}\n}\n",
    ),
    (
        "Sub.java",
        "interface Put<T> {\n  void put(T it);\n}\nclass Sub implements Put<Map<A, B>> {\n  public void put(Map<A, B> it) { }\n  void put() { }\n  void put(A a, B b) { }\n}\n",
    ),
    (
        "Main.java",
        "class Main {\n  Box one = new Box(1);\n  Box two(Box it) { return it; }\n}\nclass Box {\n  Box(int a) { }\n}\n",
    ),
    (
        "src/keep.rs",
        "pub fn keep() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn keeps() {\n        super::keep();\n    }\n}\n",
    ),
    ("go.mod", "module shop\n"),
    (
        "render/render.go",
        "package render\n\ntype Render interface {\n\tWrite(to int) error\n\tName() string\n}\n\ntype Half struct{}\n\nfunc (Half) Name() string { return \"\" }\n\ntype JSON struct{}\n\nfunc (JSON) Name() string { return \"\" }\n\nfunc (j *JSON) Write(to int) error { return nil }\n",
    ),
];

/// `file:line within` of each place.
fn related(name: &str, relation: Relation, depth: u32) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(RefreshOptions { now: 0, threads: 1, progress: &|_, _| true }).unwrap();
    let at = store.resolve_name(name, &|_| 0).unwrap().resolved[0];
    let summary = store.type_summary(at.of).unwrap().unwrap();
    let member = at.member.map(|member| &summary.members[member as usize]);
    let found = store.related(&summary, member, relation, depth).unwrap();
    let describe = |site: &loci_code_index::UsageSite| {
        let text = fs::read_to_string(root.path().join(&site.file)).unwrap();
        let line = text[..site.at as usize].matches('\n').count() + 1;
        format!("{}:{line} {}", site.file, site.within.clone().unwrap_or_default())
    };
    found.sites.iter().map(describe).collect()
}

#[test]
fn callers_are_followed_to_a_depth() {
    let direct = ["shop/tools.py:2 shop.tools.clean"];
    assert_eq!(related("strip", Relation::Callers, 1), direct);
    let all = related("strip", Relation::Callers, 3);
    for place in [
        "shop/tools.py:2 shop.tools.clean",
        "shop/use.py:7 shop.use.Use.put",
        "shop/use.py:10 shop.use.Use.twice",
        "shop/use.py:13 shop.use.Use.keep",
    ] {
        assert!(all.iter().any(|it| it == place), "{place}: {all:?}");
    }
}

#[test]
fn overrides_are_the_declarations_in_derived_types() {
    let found = related("Base.run", Relation::Subtypes, 1);
    assert_eq!(found, ["shop/base.py:11 shop.base.Middle.run"], "{found:?}");
    let found = related("Put.put", Relation::Subtypes, 1);
    assert_eq!(found, ["Sub.java:5 Sub.put"], "{found:?}");
}

#[test]
fn an_implementer_in_rust_is_shown_where_it_implements_the_trait() {
    assert_eq!(related("Sink", Relation::Subtypes, 1), ["src/lib.rs:5 shop.FileSink"]);
    assert_eq!(related("Sink.put", Relation::Subtypes, 1), ["src/lib.rs:7 shop.FileSink.put"]);
}

#[test]
fn a_caller_that_matches_by_name_only_is_listed_and_not_followed() {
    let all = related("Use.put", Relation::Callers, 3);
    assert!(all.iter().any(|it| it.starts_with("shop/guess.py:2 ")), "{all:?}");
    assert!(!all.iter().any(|it| it.starts_with("shop/guess.py:6 ")), "{all:?}");
}

#[test]
fn tests_that_reach_a_function_are_found() {
    assert_eq!(related("Use.put", Relation::Tests, 1), ["tests/test_use.py:6 tests.test_use.test_put"]);
}

#[test]
fn callees_name_what_a_function_uses() {
    assert_eq!(related("Use.put", Relation::Callees, 1), ["shop/tools.py:1 shop.tools.clean"]);
    assert_eq!(related("clean", Relation::Callees, 1), ["shop/tools.py:5 shop.tools.strip"]);
}

#[test]
fn callees_are_followed_to_a_depth() {
    let all = ["shop/tools.py:1 shop.tools.clean", "shop/tools.py:5 shop.tools.strip"];
    assert_eq!(related("Use.put", Relation::Callees, 2), all);
}

#[test]
fn usages_of_a_constructor_create_a_value() {
    assert_eq!(related("Box.Box(int)", Relation::Usages, 1), ["Main.java:2 Main"]);
}

#[test]
fn a_test_in_rust_may_be_beside_what_it_tests() {
    let found = related("keep.keep", Relation::Tests, 1);
    assert!(found.len() == 1 && found[0].starts_with("src/keep.rs:7 "), "{found:?}");
}

#[test]
fn callees_leave_out_constants() {
    let found = related("outermost", Relation::Callees, 1);
    assert_eq!(found, ["shop/tools.py:1 shop.tools.clean"], "{found:?}");
}

#[test]
fn a_function_inside_of_a_function_is_named_with_it() {
    let callers = related("clean", Relation::Callers, 1);
    for place in [
        "shop/nested.py:8 shop.nested.outermost > inner",
        "shop/nested.py:10 shop.nested.outermost > closure",
    ] {
        assert!(callers.iter().any(|it| it == place), "{place}: {callers:?}");
    }
}

#[test]
fn subtypes_are_found_through_other_subtypes() {
    assert_eq!(
        related("Base", Relation::Subtypes, 1),
        ["shop/base.py:9 shop.base.Middle", "shop/use.py:5 shop.use.Use"]
    );
}

#[test]
fn types_with_the_methods_of_an_interface_of_go_implement_it() {
    let found = related("render.Render", Relation::Subtypes, 1);
    assert_eq!(found, ["render/render.go:12 shop.render.JSON"]);
}
