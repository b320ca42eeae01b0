//! Callers, callees, subtypes and tests of a symbol.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{RefreshOptions, Relation, Store};
use std::fs;

const FILES: &[(&str, &str)] = &[
    ("pyproject.toml", "[project]\nname = \"shop\"\n"),
    ("shop/tools.py", "def clean(x):\n    return strip(x)\n\n\ndef strip(x):\n    return x\n"),
    ("shop/base.py", "class Base:\n    pass\n\n\nclass Middle(Base):\n    pass\n"),
    (
        "shop/use.py",
        "from .tools import clean\nfrom .base import Middle\n\n\nclass Use(Middle):\n    def put(self):\n        return clean(1)\n\n    def twice(self):\n        return self.put()\n",
    ),
    (
        "tests/test_use.py",
        "from shop.use import Use\n\n\ndef test_put():\n    use = Use()\n    use.twice()\n",
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
    let describe = |site: &loci_code::UsageSite| {
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
    ] {
        assert!(all.iter().any(|it| it == place), "{place}: {all:?}");
    }
}

#[test]
fn tests_that_reach_a_function_are_found() {
    assert_eq!(related("Use.put", Relation::Tests, 1), ["tests/test_use.py:6 tests.test_use.test_put"]);
}

#[test]
fn callees_name_what_a_function_uses() {
    assert_eq!(related("Use.put", Relation::Callees, 1), ["shop/use.py:7 shop.tools.clean"]);
    assert_eq!(related("clean", Relation::Callees, 1), ["shop/tools.py:2 shop.tools.strip"]);
}

#[test]
fn subtypes_are_found_through_other_subtypes() {
    assert_eq!(
        related("Base", Relation::Subtypes, 1),
        ["shop/base.py:5 shop.base.Middle", "shop/use.py:5 shop.use.Use"]
    );
}

#[test]
fn types_with_the_methods_of_an_interface_of_go_implement_it() {
    let found = related("render.Render", Relation::Subtypes, 1);
    assert_eq!(found, ["render/render.go:12 shop.render.JSON"]);
}
