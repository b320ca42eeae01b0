//! A rename in TypeScript asks the language service about the places that the source does not decide, and does what it says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use testutil::{Finished, Home, command, run_command, run_loci, write_file};

/// A property, a key of a value without a type and a use that nothing in the source leads to.
const SOURCE: &str = "export interface Box { size: number; }
export const made: any = { size: 1 };
export function grow(box: Box) { return box.size + 1; }
export const other = 'size';
";

fn write_program(path: &Path, script: &str) {
    write_file(path, format!("#!/bin/sh\n{script}\n").as_bytes());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A tree with a compiler that finds nothing wrong, and a `node` that prints an answer and keeps the question.
fn home_with_service(answer: &str) -> Home {
    let home = Home::new();
    let tree = home.path().join("tree");
    write_file(&tree.join("tsconfig.json"), b"{}");
    write_file(&tree.join("src/box.ts"), SOURCE.as_bytes());
    write_file(&tree.join("src/late.ts"), b"export const late = load();\nlate.size;\n");
    let package = tree.join("node_modules/typescript");
    write_file(&package.join("package.json"), b"{}");
    write_program(&package.join("bin/tsc"), "exit 0");
    fs::create_dir(tree.join("node_modules/.bin")).unwrap();
    std::os::unix::fs::symlink("../typescript/bin/tsc", tree.join("node_modules/.bin/tsc")).unwrap();
    write_program(&home.path().join("bin/node"), &format!("cat > \"$HOME/asked\"\nprintf '%s' '{answer}'"));
    run_loci(&home, &["edit", "trust", "--root", "tree"]).expect(0);
    home
}

fn rename(home: &Home) -> Finished {
    let line = ["edit", "rename", "Box.size", "width", "--check", "--apply", "--root", "tree", "-o", "json"];
    let mut command = command(home.path(), &line);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path().join("bin").display()));
    run_command(command)
}

fn text(home: &Home, name: &str) -> String {
    fs::read_to_string(home.path().join("tree/src").join(name)).unwrap()
}

/// An answer that gives the open places these meanings, and names no other places.
fn answer(meanings: &[&str]) -> String {
    serde_json::json!({"edits": [], "meanings": meanings}).to_string()
}

/// The places that were asked about, as `file:word before`.
fn asked_places(home: &Home) -> Vec<String> {
    let request: serde_json::Value =
        serde_json::from_slice(&fs::read(home.path().join("asked")).unwrap()).unwrap();
    let open = request["open"].as_array().unwrap();
    open.iter().map(|it| format!("{}:{}", it["file"].as_str().unwrap(), it["at"])).collect()
}

#[test]
fn the_service_decides_what_the_source_leaves_open() {
    let count = {
        let home = home_with_service("null");
        rename(&home).expect(1);
        assert!(text(&home, "box.ts").contains("size: number"), "nothing is written without an answer");
        asked_places(&home).len()
    };
    assert!(count >= 2, "{count}");

    let home = home_with_service(&answer(&vec!["symbol"; count]));
    rename(&home).expect(0);
    assert!(text(&home, "late.ts").contains("late.width"), "{}", text(&home, "late.ts"));

    let home = home_with_service(&answer(&vec!["other"; count]));
    rename(&home).expect(0);
    assert!(text(&home, "box.ts").contains("box.width") && text(&home, "late.ts").contains("late.size"));

    let home = home_with_service(&answer(&vec!["unknown"; count]));
    let refused = rename(&home).expect(1);
    assert_eq!(refused.records()[0]["code"], "EDIT_REFUSED");
}

#[test]
fn places_that_only_the_service_knows_are_changed_too() {
    let at = SOURCE.find("'size'").unwrap() + 1;
    let count = {
        let home = home_with_service("null");
        rename(&home).expect(1);
        asked_places(&home).len()
    };
    let edit =
        serde_json::json!({"file": "src/box.ts", "from": at, "to": at + 4, "before": "<", "after": ">"});
    let said = serde_json::json!({"edits": [edit], "meanings": vec!["other"; count]}).to_string();
    let home = home_with_service(&said.replace('\'', ""));
    rename(&home).expect(0);
    assert!(text(&home, "box.ts").contains("'<width>'"), "{}", text(&home, "box.ts"));
}

#[test]
fn an_answer_that_does_not_fit_is_no_answer() {
    for said in ["", "[]", "{\"edits\": [], \"meanings\": []}", "{\"edits\": 1}"] {
        let home = home_with_service(said);
        rename(&home).expect(1);
        assert!(text(&home, "late.ts").contains("late.size"), "{said}");
    }
}

/// An answer with one edit, and open places that mean something else.
fn answer_with_edit(count: usize, file: &str, from: u32, to: u32) -> String {
    let edit = serde_json::json!({"file": file, "from": from, "to": to, "before": "", "after": ""});
    serde_json::json!({"edits": [edit], "meanings": vec!["other"; count]}).to_string()
}

#[test]
fn edits_that_the_service_cannot_mean_are_left_out() {
    let count = {
        let home = home_with_service("null");
        rename(&home).expect(1);
        asked_places(&home).len()
    };
    let ranges = [(4_000_000, 4_000_004), (60, 50), (0, 6)].map(|(from, to)| ("src/box.ts", from, to));
    let files = ["../outside.ts", "/etc/hosts", "src/none.ts"].map(|file| (file, 0, 4));
    for (file, from, to) in ranges.into_iter().chain(files) {
        let home = home_with_service(&answer_with_edit(count, file, from, to));
        rename(&home).expect(0);
        let expected = SOURCE.replace("size: number", "width: number").replace("box.size", "box.width");
        assert_eq!(text(&home, "box.ts"), expected, "{file} {from}..{to}");
        assert!(!home.path().join("outside.ts").exists());
    }
}
