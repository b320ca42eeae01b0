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
    let forced = run_line(&home, "edit delete get --force --root . -o text").expect(0);
    assert!(forced.text().contains("still used:\n  src/b.rs:1"), "{}", forced.text());
    run_line(&home, "edit delete get --force --apply --root .").expect(0);
    assert!(!read(&home, "src/a.rs").contains("fn get"));
}

#[test]
fn a_new_declaration_tells_who_uses_the_old_one() {
    let home = home_with_code();
    let replace = |text: &str| {
        let line = format!("edit replace get --whole --text '{text}' --root . -o json");
        run_line(&home, &line).expect(0).records().remove(0)
    };
    let same = replace("pub fn get(n: u8) -> u8 { n + 1 }");
    assert!(same["complete"] == true && same["stillUsed"].is_null(), "{same}");
    let other = replace("pub fn get(n: u8, m: u8) -> u8 { n + m }");
    assert!(other["complete"] == true && other["stillUsed"][0]["file"] == "src/b.rs", "{other}");
    let lost = replace("pub fn fetch(n: u8) -> u8 { n }");
    assert_eq!(
        (&lost["complete"], &lost["unsure"][0]["file"]),
        (&false.into(), &"src/b.rs".into()),
        "{lost}"
    );
}

#[test]
fn a_plan_is_shown_again_and_outcomes_are_counted() {
    let home = home_with_code();
    let planned = run_line(&home, "edit rename get fetch --root . -o json").expect(0).records().remove(0);
    let id = planned["id"].as_str().unwrap();
    let show = || run_line(&home, &format!("edit show {id} --root . -o json")).expect(0).records().remove(0);
    assert_eq!(show(), planned);
    for word in ["apply", "undo", "apply"] {
        run_line(&home, &format!("edit {word} {id} --root .")).expect(0);
        assert_eq!(show()["applied"] == true, word == "apply");
    }
    run_line(&home, "edit delete fetch --root .").expect(1);
    let listed = run_line(&home, "edit list --root . -o json").expect(0).records().remove(0);
    let counts = serde_json::json!({"planned": 1, "applied": 2, "undone": 1, "refused: still-used": 1});
    assert_eq!(listed["counts"], counts);
    let text = run_line(&home, "edit list --root . -o text").expect(0);
    assert!(
        text.text().ends_with("2 applied, 1 planned, 1 refused: still-used, 1 undone\n"),
        "{}",
        text.text()
    );
    assert!(run_line(&home, "edit show e00000000 --root .").expect(1).stderr.contains("no edit with ID"));
}

#[test]
fn a_name_with_several_symbols_is_refused_with_what_to_type() {
    let home = home_with_code();
    let text = "class S {\n    int get(int a) { return a; }\n    int get(String s) { return 1; }\n}\n";
    write_file(&home.path().join("S.java"), text.as_bytes());
    for line in ["edit delete S.get", "edit delete 'S.*'", "edit signature S.get --rename a=b"] {
        let refused = run_line(&home, &format!("{line} --root .")).expect(1).stderr;
        assert!(refused.contains("ambiguous (2 symbols)") && refused.contains("S.get(int)"), "{refused}");
    }
    run_line(&home, "edit delete 'S.get(int)' --apply --root .").expect(0);
    assert!(!read(&home, "S.java").contains("int a") && read(&home, "S.java").contains("String s"));
    write_file(&home.path().join("S.java"), text.as_bytes());
    run_line(&home, "edit rename S.get fetch --apply --root .").expect(0);
    assert_eq!(read(&home, "S.java").matches("int fetch(").count(), 2);
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
fn uncertain_places_are_decided_one_by_one() {
    let home = home_with_code();
    let text = "class A:\n    def go(self): pass\nclass B:\n    def go(self): pass\ndef f(x, y):\n    x.go()\n    y.go()\n";
    write_file(&home.path().join("src/c.py"), text.as_bytes());
    let plan = run_line(&home, "edit rename A.go run --root . -o json").expect(0).records().remove(0);
    let id = plan["id"].as_str().unwrap();
    let apply = |rest: &str| run_line(&home, &format!("edit apply {id} {rest} --root . -o json"));
    let refused = apply("").expect(1).stderr;
    assert!(refused.contains(&format!("loci edit apply {id} --confirm src/c.py:6")), "{refused}");
    assert!(apply("--confirm src/c.py:6").expect(1).stderr.contains("1 place is uncertain"));
    assert!(apply("--leave src/c.py:1").expect(1).stderr.contains("src/c.py:6:7, src/c.py:7:7"));
    assert!(
        apply("--confirm src/c.py:6 --leave src/c.py:6:7 --leave src/c.py:7")
            .expect(1)
            .stderr
            .contains("both change and stay")
    );
    assert_eq!(read(&home, "src/c.py"), text);
    let shown = run_line(&home, &format!("edit show {id} --root . -o json")).expect(0).records().remove(0);
    assert_eq!(shown["unsure"].as_array().unwrap().len(), 2, "a refusal decides nothing: {shown}");
    let done = apply("--confirm src/c.py:6 --leave src/c.py:7").expect(0).records().remove(0);
    let after = text.replacen("def go", "def run", 1).replace("x.go", "x.run");
    assert_eq!(read(&home, "src/c.py"), after);
    let id = done["id"].as_str().unwrap();
    let shown = run_line(&home, &format!("edit show {id} --root . -o json")).expect(0).records().remove(0);
    assert_eq!((&shown["complete"], &shown["applied"]), (&true.into(), &true.into()), "{shown}");
    run_line(&home, &format!("edit undo {id} --root .")).expect(0);
    assert_eq!(read(&home, "src/c.py"), text);
    // a plan is about the files as they were
    write_file(&home.path().join("src/c.py"), format!("x = 1\n{text}").as_bytes());
    let stale = apply("--confirm src/c.py:6 --confirm src/c.py:7").expect(1).stderr;
    assert!(stale.contains("changed since the edit was planned: src/c.py"), "{stale}");
    write_file(&home.path().join("src/c.py"), b"");
    let stale = apply("--leave src/c.py:6 --leave src/c.py:7").expect(1).stderr;
    assert!(stale.contains("changed since the edit was planned: src/c.py"), "{stale}");
}

#[test]
fn a_place_is_decided_only_as_far_as_it_is_known() {
    let home = home_with_code();
    let plan = |line: &str| {
        let planned = run_line(&home, &format!("{line} --root . -o json")).expect(0).records().remove(0);
        planned["id"].as_str().unwrap().to_owned()
    };
    let apply = |id: &str, rest: &str| run_line(&home, &format!("edit apply {id} {rest} --root . -o json"));
    let two = "class A:\n    def go(self): pass\nclass B:\n    def go(self): pass\ndef f(x, y):\n    x.go(); y.go()\n";
    write_file(&home.path().join("src/c.py"), two.as_bytes());
    let id = plan("edit rename A.go run");
    let several = apply(&id, "--confirm src/c.py:6").expect(1).stderr;
    assert!(
        several.contains("2 uncertain places") && several.contains("src/c.py:6:7, src/c.py:6:15"),
        "{several}"
    );
    apply(&id, "--confirm src/c.py:6:7 --leave src/c.py:6:15").expect(0);
    assert!(read(&home, "src/c.py").contains("x.run(); y.go()"));
    // what would have to change is not known, and only a compiler knows whether a move compiles
    write_file(&home.path().join("src/d.py"), b"def word(a): pass\nkept = word\n");
    let id = plan("edit signature word --add b --value 1");
    let unknown = apply(&id, "--confirm src/d.py:2").expect(1).stderr;
    assert!(
        unknown.contains("not known how src/d.py:2 would change") && unknown.contains("--leave"),
        "{unknown}"
    );
    apply(&id, "--leave src/d.py:2").expect(0);
    assert_eq!(read(&home, "src/d.py"), "def word(a, b): pass\nkept = word\n");
    // the new name means something else in the file of the place
    write_file(
        &home.path().join("src/h.py"),
        b"from elsewhere.d import word\n\ndef f(x: term): pass\n\nword(1, 1)\n",
    );
    let id = plan("edit rename word term");
    let taken = apply(&id, "--confirm src/h.py:1 --confirm src/h.py:5").expect(1).stderr;
    assert!(taken.contains("`term` already means something") && taken.contains("src/h.py:3"), "{taken}");
    std::fs::remove_file(home.path().join("src/h.py")).unwrap();
    let id = plan("edit move word src/e.py");
    let refused = apply(&id, "").expect(1).stderr;
    assert!(refused.contains("plan it again with --check") && !refused.contains("--confirm"), "{refused}");
    assert!(apply(&id, "--leave src/d.py:1").expect(1).stderr.contains("only a compiler can confirm it"));
    // one call is an argument of another
    let nested = "class A:\n    def put(self, a, b): pass\nclass B:\n    def put(self, a, b): pass\ndef f(x, y):\n    x.put(y.put(1, 2), 3)\n";
    write_file(&home.path().join("src/g.py"), nested.as_bytes());
    let id = plan("edit signature A.put --order b,a");
    let overlap = apply(&id, "--confirm src/g.py:6:7 --confirm src/g.py:6:13").expect(1).stderr;
    assert!(overlap.contains("two edits change the same text"), "{overlap}");
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
