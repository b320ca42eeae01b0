//! Responses of a model about a type: what is accepted, and why others are rejected.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail by panicking

use loci_notes::*;
use serde_json::{Value, json};

fn complete_response() -> Value {
    json!({"role": "it keeps nodes by their ids", "lifecycle": "made once and kept until exit",
        "edge_cases": "an empty store returns no node", "limitations": "not shared between several threads",
        "recommendations": "节点的编号保持不变"})
}

fn response_with(field: &str, value: Value) -> String {
    let mut answer = complete_response();
    answer[field] = value;
    answer.to_string()
}

#[test]
fn a_first_response_has_all_sections() {
    let Ok(NoteResponse::Sections(sections)) = parse_response(&complete_response().to_string(), false) else {
        panic!()
    };
    assert_eq!(
        (sections.len(), sections[&Section::Limitations].as_str()),
        (5, "not shared between several threads")
    );
    for (text, why) in [
        ("Here it is: {}".to_string(), "not the JSON object"),
        ("{}".to_string(), "`role` is missing"),
        (response_with("limitations", json!(null)), "`limitations` is missing"),
        (response_with("role", json!("  ")), "`role` is missing"),
        (response_with("role", json!("x".repeat(MAX_SECTION_CHARS + 1))), "`role` is longer"),
        (response_with("role", json!("flask.config.Config")), "`role` says too little"),
        (response_with("lifecycle", json!("lifecycle")), "`lifecycle` says too little"),
        (
            response_with("role", json!("what it is responsible for and who relies on it.")),
            "repeats the request",
        ),
        (response_with("role", json!(["x"])), "not the JSON object"),
        (response_with("command", json!("rm")), "not the JSON object"),
        (json!({"no_change": true}).to_string(), "`role` is missing"),
    ] {
        let refused = parse_response(&text, false).unwrap_err().to_string();
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

#[test]
fn an_update_has_changed_sections_or_no_change() {
    let none = json!({"no_change": true, "role": null});
    assert_eq!(parse_response(&none.to_string(), true), Ok(NoteResponse::NoChange));
    let one = json!({"no_change": false, "role": "it now keeps edges too", "lifecycle": null});
    assert_eq!(
        parse_response(&one.to_string(), true),
        Ok(NoteResponse::Sections([(Section::Role, "it now keeps edges too".to_string())].into()))
    );
    for (text, why) in [
        ("{}", NoteResponseError::Missing("no_change")),
        (r#"{"no_change":true,"role":"it now keeps edges too"}"#, NoteResponseError::Both),
        (r#"{"role":"x"}"#, NoteResponseError::Thin("role")),
    ] {
        assert_eq!(parse_response(text, true), Err(why), "{text}");
    }
}

#[test]
fn only_sections_in_the_response_are_replaced() {
    let Ok(NoteResponse::Sections(before)) = parse_response(&complete_response().to_string(), false) else {
        panic!()
    };
    let after = merge_sections(&before, [(Section::Role, "new".to_string())].into()).unwrap();
    assert_eq!(
        (after[&Section::Role].as_str(), after[&Section::Lifecycle].as_str()),
        ("new", "made once and kept until exit")
    );
    assert_eq!(merge_sections(&Sections::new(), after.clone()), Ok(after));
    let half = [(Section::Role, "new".to_string())].into();
    assert_eq!(merge_sections(&Sections::new(), half), Err(NoteResponseError::Missing("lifecycle")));
}
