//! Each folder of `testdata/<language>` that has an `expected.txt` is an edit, with what it means there: files that begin with
//! `before` against those that begin with `after`. `Added` and `Removed` are types that only one side has.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{
    Codebase, Project, Reader, Resolver, SourceFile, Symbols, classify, decode, hashes, language_of,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn an_edit_is_what_its_folder_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut cases: Vec<_> = folders(&root).iter().flat_map(|language| folders(language)).collect();
    cases.retain(|case| case.join("expected.txt").exists());
    cases.sort();
    assert!(cases.len() > 40, "the cases are not there");
    let mut wrong = String::new();
    for case in cases {
        let expected = fs::read_to_string(case.join("expected.txt")).unwrap();
        let found = told(&side(&case, "before"), &side(&case, "after"));
        if found != expected {
            let _ = writeln!(wrong, "{}\nexpected\n{expected}found\n{found}", case.display());
        }
    }
    assert_eq!(wrong, "");
}

fn folders(of: &Path) -> Vec<PathBuf> {
    fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

fn side(case: &Path, name: &str) -> Codebase {
    let mut files = Vec::new();
    for entry in fs::read_dir(case).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        if file.starts_with(name) {
            let mut reader = Reader::new(language_of(&path).unwrap()).unwrap();
            let bytes = fs::read(&path).unwrap();
            let facts = reader.read(&decode(&bytes), &Symbols::default());
            assert_eq!(facts.gaps, [], "{}", path.display());
            files.push(SourceFile {
                path: file.replacen(name, "it", 1),
                project: 0,
                generated: false,
                facts,
            });
        }
    }
    Codebase::new(vec![Project::default()], files)
}

fn told(before: &Codebase, after: &Codebase) -> String {
    let all = |code: &Codebase| -> BTreeMap<String, _> {
        let resolver = Resolver::new(code);
        let one = |at: usize| (code.types[at].name.clone(), hashes(code, &resolver, at as u32));
        (0..code.types.len()).map(one).collect()
    };
    let (before, after) = (all(before), all(after));
    let mut out = String::new();
    for (name, new) in &after {
        let Some(old) = before.get(name) else {
            let _ = writeln!(out, "{name} Added");
            continue;
        };
        let Some(change) = classify(old, new) else { continue };
        let _ = writeln!(out, "{name} {}", change.class.name());
        for member in change.members {
            let (fate, kind) = (member.fate, member.kind.name());
            let _ = writeln!(out, "  {fate:?} {kind} {} {}", member.key, member.class.name());
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        let _ = writeln!(out, "{name} Removed");
    }
    out
}
