//! `loci memory add`: facts stated by a person.

use serde_json::Value;
use testutil::{Home, run_line};

fn run_json(home: &Home, line: &str, code: i32) -> Value {
    run_line(home, &format!("{line} -o json")).expect(code).records().remove(0)
}

#[test]
fn an_added_fact_is_listed_and_can_be_forgotten() {
    let home = Home::new();
    let added = run_json(&home, "memory add 'Deploy from main, see `Release::cut` in ci/release.rs'", 0);
    let (id, fact) = (added["memory"]["id"].as_str().unwrap(), &added["memory"]);
    assert_eq!(
        (&added["changed"], &fact["by"], &fact["state"]),
        (&true.into(), &"user".into(), &"fresh".into())
    );
    assert_eq!(fact["symbols"].as_array().unwrap().len(), 2, "{fact}");
    let listed = run_json(&home, "memory list deploy", 0);
    assert_eq!(listed["memories"][0]["id"], id);
    run_json(&home, &format!("memory forget {id} --yes"), 0);
    assert_eq!(run_json(&home, "memory list deploy", 2)["memories"], Value::Array(vec![]));
}

#[test]
fn adding_the_same_words_again_changes_nothing_unless_the_fact_was_retired_or_is_pinned() {
    let home = Home::new();
    let id =
        run_json(&home, "memory add 'Never rebase main'", 0)["memory"]["id"].as_str().unwrap().to_owned();
    assert_eq!(run_json(&home, "memory add 'never  rebase MAIN'", 0)["changed"], false);
    run_json(&home, &format!("memory retire {id}"), 0);
    let again = run_json(&home, "memory add 'never rebase main'", 0);
    assert_eq!((&again["changed"], &again["memory"]["state"]), (&true.into(), &"fresh".into()));
    let pinned = run_json(&home, "memory add 'never rebase main' --pin", 0);
    assert_eq!((&pinned["changed"], &pinned["memory"]["pinned"]), (&true.into(), &true.into()));
}

#[test]
fn a_fact_belongs_to_the_named_project() {
    let home = Home::new();
    for project in ["/work/alpha", "/work/beta"] {
        let added = run_json(&home, &format!("memory add 'Use tabs' --project {project}"), 0);
        assert_eq!(added["memory"]["project"], project);
    }
    assert_eq!(run_json(&home, "memory list --project /work/beta", 0)["total"], 1);
}

#[test]
fn empty_and_overlong_texts_are_rejected_and_secrets_are_masked() {
    let home = Home::new();
    for text in [" ".to_owned(), "x".repeat(2_001)] {
        let refused = run_json(&home, &format!("memory add '{text}'"), 1);
        assert_eq!(refused["code"], "INVALID_ARGUMENT", "{refused}");
    }
    let secret = ["ghp", "_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let added = run_json(&home, &format!("memory add 'The token is {secret}'"), 0);
    assert!(!added["memory"]["text"].as_str().unwrap().contains(&secret), "{added}");
}
