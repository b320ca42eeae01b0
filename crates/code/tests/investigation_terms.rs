//! The words of a question, the ranking of types by them, and the validation of a model's finding.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail by panicking

use loci_code::investigation::*;
use loci_code::{Digest, MemberName, TypeId, TypeNames, Visibility};

/// A public type with members that take no parameters.
fn sample_type(name: &str, members: &[&str]) -> TypeNames {
    let member = |name: &&str| MemberName {
        name: (*name).to_string(),
        key: format!("{name}()"),
        visibility: Visibility::Public,
    };
    TypeNames {
        id: TypeId(Digest::of_bytes(name.as_bytes()).0),
        name: name.to_string(),
        project: String::new(),
        arity: 0,
        visibility: Visibility::Public,
        members: members.iter().map(member).collect(),
    }
}

#[test]
fn names_are_split_into_words() {
    for (name, expected) in [
        ("NodeStore", vec!["node", "store"]),
        ("node_store", vec!["node", "store"]),
        ("HTTPServer", vec!["http", "server"]),
        ("getURLFor2Nodes", vec!["get", "url", "for", "2", "nodes"]),
        ("客户Store2", vec!["客户", "store", "2"]),
        ("Save客户", vec!["save", "客户"]),
        ("maxGröße", vec!["max", "größe"]),
        ("x", vec!["x"]),
        ("", vec![]),
    ] {
        assert_eq!(split_words(name), expected, "{name}");
    }
}

#[test]
fn stop_words_are_not_search_terms() {
    for (question, expected) in [
        ("How are large batches processed?", vec!["large", "batches", "processed"]),
        ("What does NodeStore.Get do with the id?", vec!["node", "store"]),
        ("batch, Batch BATCH", vec!["batch"]),
        ("它怎么工作", vec!["它怎么工作"]),
        ("Wie wird die Größe gesetzt?", vec!["wie", "wird", "die", "größe", "gesetzt"]),
        ("客户, её 客", vec!["客户"]),
        ("", vec![]),
    ] {
        assert_eq!(search_terms(question), expected, "{question}");
    }
}

#[test]
fn type_names_rank_before_member_names() {
    let types = [
        sample_type("Shop.Report", &["Print"]),
        sample_type("Shop.Importer", &["ProcessBatch", "Open"]),
        sample_type("Shop.BatchQueue", &["Push"]),
        sample_type("Shop.Batches.Clock", &["Now"]),
        sample_type("Shop.Query", &["Execute"]),
    ];
    let found = |question: &str| {
        rank_types(&search_terms(question), &types)
            .into_iter()
            .map(|at| types[at].simple_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("How are large batches processed?"), ["BatchQueue", "Importer", "Clock"]);
    assert_eq!(found("Which queries are executed?"), ["Query"]);
    assert_eq!(
        found("Who prints the shop's reports?")[0],
        "Report",
        "a word that all types share has little weight"
    );
    assert_eq!(found("Where is the moon?"), [""; 0]);
    let types = [
        sample_type("Shop.客户仓库", &["Save"]),
        sample_type("Shop.Größe", &["Set"]),
        sample_type("Shop.Order", &["客户"]),
    ];
    let found = |question: &str| {
        rank_types(&search_terms(question), &types)
            .into_iter()
            .map(|at| types[at].simple_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("客户 save"), ["客户仓库", "Order"]);
    assert_eq!(found("客户在哪里保存"), ["Order"]);
    assert_eq!(found("Wie wird die GRÖSSE, ich meine Größe, gesetzt?"), ["Größe"]);
    assert_eq!(found("它怎么工作"), [""; 0]);
}

#[test]
fn public_types_and_exact_names_rank_first() {
    let private = TypeNames { visibility: Visibility::Private, ..sample_type("a.Secret", &[]) };
    let types = [
        private,
        sample_type("b.SecretPlace", &[]),
        sample_type("c.Masker", &[]),
        sample_type("c.MaskedPrompt", &[]),
    ];
    let found = |question: &str| {
        rank_types(&search_terms(question), &types)
            .into_iter()
            .map(|at| types[at].simple_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("Where are secrets?"), ["SecretPlace", "Secret"]);
    for question in ["Who masks?", "What is masked?", "Where is the masking?", "Which masker?"] {
        assert_eq!(found(question), ["Masker", "MaskedPrompt"], "{question}");
    }
}
