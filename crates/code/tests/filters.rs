//! Filters of types: what they select, and what they refuse.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Field, Filter};
/// Evaluates a filter for the type `Memo.Core.NodeStore`, public, tagged `core`, using `Node`.
fn matches_sample(filter: &str) -> bool {
    let is = |field: Field, word: &str| match field {
        Field::Namespace => project::wildcard_matches(word.as_bytes(), b"memo.core"),
        Field::Type => project::wildcard_matches(word.as_bytes(), b"nodestore"),
        Field::Access => word == "public",
        Field::Tag => word == "core",
        Field::Depends => word == "node",
    };
    Filter::parse(filter).unwrap_or_else(|e| panic!("{filter}: {e}")).matches(&is)
}

#[test]
fn filters_select_the_expected_types() {
    for (filter, expected) in [
        ("namespace:Memo.*", true),
        ("NAMESPACE:memo.core type:*Store", true),
        ("namespace:Memo.* AND type:Other", false),
        ("type:Other OR type:NodeStore", true),
        ("type:Other || type:Node* && access:public", true),
        ("!tag:generated", true),
        ("!(tag:core or tag:x)", false),
        ("(type:a or type:nodestore) and !depends:node", false),
        ("!!depends:Node", true),
        ("type:nodestor?", true),
    ] {
        assert_eq!(matches_sample(filter), expected, "{filter}");
    }
}

#[test]
fn syntax_errors_have_a_position_and_a_hint() {
    for (filter, position, word) in [
        ("", 0, "namespace:"),
        ("NodeStore", 0, "type:NodeStore"),
        ("type:a name:b", 7, "key `name:`"),
        ("type:", 5, "needs a value"),
        ("type:a/b", 6, "use letters"),
        ("(type:a", 7, "`)`"),
        ("type:a)", 6, "bracket"),
        ("type:a AND", 10, "namespace:"),
        ("OR type:a", 0, "namespace:"),
        ("类型 type:a", 0, "type:类型"),
    ] {
        let error = Filter::parse(filter).unwrap_err();
        assert_eq!(error.position, position, "{filter}: {error}");
        assert!(error.hint.contains(word), "{filter}: {error}");
    }
    let deep = "(".repeat(10_000) + "type:a" + &")".repeat(10_000);
    assert!(Filter::parse(&deep).unwrap_err().hint.contains("brackets"));
}
