//! Edits by symbol on the command line: plan, apply, undo, and what is refused.

use std::fs;
use testutil::{Home, run_line, write_file};

fn home_with_code() -> Home {
    let home = Home::new();
    write_file(&home.path().join("src/a.rs"), b"pub fn get(n: u8) -> u8 {\n    n\n}\n\npub fn unused() {}\n");
    write_file(&home.path().join("src/b.rs"), b"use crate::a::get;\n\nfn f() -> u8 {\n    get(1)\n}\n");
    write_file(&home.path().join("src/lib.rs"), b"mod a;\nmod b;\n");
    write_file(
        &home.path().join("Cargo.toml"),
        b"[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    home
}

fn read(home: &Home, path: &str) -> String {
    fs::read_to_string(home.path().join(path)).unwrap()
}

#[test]
fn a_rename_is_planned_applied_and_undone() {
    let home = home_with_code();
    let before = (read(&home, "src/a.rs"), read(&home, "src/b.rs"));
    let plan = run_line(&home, "edit rename get fetch --root . -o json").expect(0).records().remove(0);
    assert_eq!((&plan["complete"], plan["files"].as_array().unwrap().len()), (&true.into(), 2), "{plan}");
    assert!(plan["diff"].as_str().unwrap().contains("+    fetch(1)"), "{plan}");
    assert_eq!((read(&home, "src/a.rs"), read(&home, "src/b.rs")), before, "planning writes nothing");
    let id = plan["id"].as_str().unwrap();
    run_line(&home, &format!("edit apply {id} --root .")).expect(0);
    assert!(read(&home, "src/b.rs").contains("use crate::a::fetch;\n\nfn f() -> u8 {\n    fetch(1)"));
    let listed = run_line(&home, "edit list --root . -o json").expect(0).records().remove(0);
    assert_eq!((&listed["edits"][0]["id"], &listed["edits"][0]["state"]), (&id.into(), &"applied".into()));
    run_line(&home, &format!("edit undo {id} --root .")).expect(0);
    assert_eq!((read(&home, "src/a.rs"), read(&home, "src/b.rs")), before);
    assert!(run_line(&home, &format!("edit undo {id} --root .")).expect(1).stderr.contains("is not applied"));
}

#[test]
fn a_parameter_is_renamed_by_its_place_and_written_at_once() {
    let home = home_with_code();
    let done = run_line(&home, "edit rename src/a.rs:1:12 count --apply --root . -o text").expect(0);
    assert!(done.text().contains("applied as e"), "{}", done.text());
    assert!(read(&home, "src/a.rs").starts_with("pub fn get(count: u8) -> u8 {\n    count\n}"));
}

#[test]
fn bodies_and_text_are_replaced_inserted_and_deleted() {
    let home = home_with_code();
    run_line(&home, "edit replace get --text 'n + 1' --apply --root .").expect(0);
    assert!(read(&home, "src/a.rs").contains("{\n    n + 1\n}"));
    run_line(&home, "edit replace get --text 'pub fn get(n: u8) -> u8 { n }' --whole --apply --root .")
        .expect(0);
    assert!(read(&home, "src/a.rs").starts_with("pub fn get(n: u8) -> u8 { n }\n"));
    run_line(&home, "edit insert get --position before --text 'const A: u8 = 1;' --apply --root .").expect(0);
    run_line(&home, "edit insert get --text 'const B: u8 = 1;' --apply --root .").expect(0);
    let text = read(&home, "src/a.rs");
    let order = ["const A", "fn get", "const B", "fn unused"].map(|word| text.find(word).unwrap());
    assert!(order.is_sorted(), "{text}");
    run_line(&home, "edit delete unused --apply --root .").expect(0);
    assert!(!read(&home, "src/a.rs").contains("unused"));
    let used = run_line(&home, "edit delete get --root .").expect(1);
    assert!(used.stderr.contains("src/b.rs:4"), "{}", used.stderr);
    run_line(&home, "edit delete get --force --apply --root .").expect(0);
    assert!(!read(&home, "src/a.rs").contains("fn get"));
}

#[test]
fn parameters_are_changed_with_all_calls() {
    let home = home_with_code();
    let line =
        "edit signature get --add 'step: u8' --value 2 --rename n=first --order step,first --apply --root .";
    run_line(&home, line).expect(0);
    assert!(read(&home, "src/a.rs").starts_with("pub fn get(step: u8, first: u8) -> u8 {\n    first\n}"));
    assert!(read(&home, "src/b.rs").contains("get(2, 1)"));
    let refused = run_line(&home, "edit signature get --remove n --root .").expect(1);
    assert!(refused.stderr.contains("parameters: step, first"), "{}", refused.stderr);
    let used = run_line(&home, "edit signature get --remove first --root .").expect(1);
    assert!(used.stderr.contains("src/a.rs:2"), "{}", used.stderr);
    let value = run_line(&home, "edit signature get --add 'x: u8' --root .").expect(1);
    assert!(value.stderr.contains("--value"), "{}", value.stderr);
    write_file(&home.path().join("src/c.rs"), b"fn g() { let f = crate::a::get; }\n");
    let plan =
        run_line(&home, "edit signature get --remove step --root . -o json").expect(0).records().remove(0);
    assert_eq!(
        (&plan["complete"], &plan["unsure"][0]["file"]),
        (&false.into(), &"src/c.rs".into()),
        "{plan}"
    );
    write_file(&home.path().join("src/c.rs"), b"def word(a): pass\n");
    write_file(&home.path().join("src/d.py"), b"class A:\n    def go(self): pass\ndef f(x):\n    x.go()\n");
    run_line(&home, "edit signature A.go --add n --value 1 --include-likely --apply --root .").expect(0);
    assert!(read(&home, "src/d.py").contains("x.go(1)"));
}

#[test]
fn a_refusal_names_its_places() {
    let home = home_with_code();
    let taken = run_line(&home, "edit rename get unused --root .").expect(1);
    assert!(taken.stderr.contains("src/a.rs:5"), "{}", taken.stderr);
    write_file(&home.path().join("src/c.py"), b"class A:\n    def go(self): pass\ndef f(x):\n    x.go()\n");
    let plan = run_line(&home, "edit rename A.go run --root . -o json").expect(0).records().remove(0);
    assert_eq!((&plan["complete"], &plan["unsure"][0]["line"]), (&false.into(), &4.into()), "{plan}");
    let refused = run_line(&home, "edit rename A.go run --apply --root .").expect(1);
    assert!(refused.stderr.contains("src/c.py:4"), "{}", refused.stderr);
    run_line(&home, "edit rename A.go run --include-likely --apply --root .").expect(0);
    assert!(read(&home, "src/c.py").contains("x.run()"));
    write_file(&home.path().join("src/d.py"), b"def word(): pass  # word\n");
    run_line(&home, "edit rename word term --in-comments --apply --root .").expect(0);
    assert_eq!(read(&home, "src/d.py"), "def term(): pass  # term\n");
}

#[test]
fn a_tree_that_is_not_trusted_runs_no_compiler() {
    let home = home_with_code();
    write_file(&home.path().join("build.rs"), b"fn main() { std::fs::write(\"ran\", \"\").unwrap(); }\n");
    let refused = run_line(&home, "edit rename get fetch --check --root .").expect(1);
    assert!(refused.stderr.contains("loci edit trust"), "{}", refused.stderr);
    assert!(!home.path().join("ran").exists());
    let trust = run_line(&home, "edit trust --root . -o json").expect(0).records().remove(0);
    assert_eq!(trust["trusted"], true);
    let revoked = run_line(&home, "edit trust --revoke --root . -o json").expect(0).records().remove(0);
    assert_eq!(revoked["trusted"], false);
}

#[test]
fn a_batch_is_planned_applied_and_undone_as_one() {
    let home = home_with_code();
    let before = (read(&home, "src/a.rs"), read(&home, "src/b.rs"));
    let steps = r#"[{"operation": "rename", "path": "get", "new_name": "fetch"}, {"operation": "delete", "path": "unused"}]"#;
    write_file(&home.path().join("steps.json"), steps.as_bytes());
    let done =
        run_line(&home, "edit batch steps.json --apply --root . -o json").expect(0).records().remove(0);
    assert!(read(&home, "src/b.rs").contains("fetch(1)") && !read(&home, "src/a.rs").contains("unused"));
    run_line(&home, &format!("edit undo {} --root .", done["id"].as_str().unwrap())).expect(0);
    assert_eq!((read(&home, "src/a.rs"), read(&home, "src/b.rs")), before);
    let step = r#"edit batch --step '{"operation": "rename", "path": "get", "new_name": "fetch", "force": true}' --root ."#;
    assert!(run_line(&home, step).expect(1).stderr.contains("unknown parameter `force`"));
    let step = r#"edit batch --step '{"operation": "rename", "path": "get"}' --root ."#;
    assert!(run_line(&home, step).expect(1).stderr.contains("missing `new_name`"));
    let step =
        r#"edit batch --step '{"operation": "insert", "path": "get", "text": "const A: u8 = 1;"}' --root ."#;
    assert!(run_line(&home, step).expect(0).text().contains("+const A"));
    assert!(run_line(&home, "edit batch --root .").expect(1).stderr.contains("missing steps"));
}
