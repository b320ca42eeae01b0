//! Classification of edits. Each folder of `testdata/<language>` with an `expected.txt` is one edit: files that begin
//! with `before` against those that begin with `after`. Most edits share one `before` file next to their folders.
//! `Added` and `Removed` are types that only one side has. Also: which types a change makes stale.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{
    ChangeClass, Codebase, Graph, NoteState, NoteStatus, Resolver, SourceFile, apply_changes,
    classify_change, hash_type,
};
use project::Project;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use syntax::{Reader, Symbols, decode_text, language_of};

#[test]
fn edits_are_classified_as_expected() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut cases: Vec<_> = subfolders(&root).iter().flat_map(|language| subfolders(language)).collect();
    cases.retain(|case| case.join("expected.txt").exists());
    cases.sort();
    assert!(cases.len() > 40, "the test cases are missing");
    let mut wrong = String::new();
    for case in cases {
        let expected = fs::read_to_string(case.join("expected.txt")).unwrap();
        let found = describe_changes(&load_side(&case, "before"), &load_side(&case, "after"));
        if found != expected {
            let _ = writeln!(wrong, "{}\nexpected\n{expected}found\n{found}", case.display());
        }
    }
    assert_eq!(wrong, "");
}

fn subfolders(of: &Path) -> Vec<PathBuf> {
    fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

/// The files of a folder whose names begin with `name`.
fn files_starting_with(folder: &Path, name: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.is_file() && path.file_name().unwrap().to_str().unwrap().starts_with(name))
        .collect()
}

fn load_side(case: &Path, name: &str) -> Codebase {
    let mut files = files_starting_with(case, name);
    if files.is_empty() {
        files = files_starting_with(case.parent().unwrap(), name);
    }
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().replacen(name, "it", 1);
        parse_file(&name, &decode_text(&fs::read(path).unwrap()))
    };
    Codebase::new(vec![Project::default()], files.iter().map(read).collect())
}

fn parse_file(path: &str, text: &str) -> SourceFile {
    let facts = Reader::new(language_of(path.as_ref()).unwrap()).unwrap().read(text, &Symbols::default());
    assert_eq!(facts.gaps, [], "{path}");
    SourceFile { path: path.to_owned(), project: 0, generated: false, facts }
}

fn describe_changes(before: &Codebase, after: &Codebase) -> String {
    let all = |code: &Codebase| -> BTreeMap<String, _> {
        let resolver = Resolver::new(code);
        let one = |at: usize| (code.types[at].name.clone(), hash_type(code, &resolver, at as u32));
        (0..code.types.len()).map(one).collect()
    };
    let (before, after) = (all(before), all(after));
    let mut out = String::new();
    for (name, new) in &after {
        let Some(old) = before.get(name) else {
            let _ = writeln!(out, "{name} Added");
            continue;
        };
        let Some(change) = classify_change(old, new) else { continue };
        let _ = writeln!(out, "{name} {}", change.class.name());
        for member in change.members {
            let (edit, kind) = (member.change, member.kind.name());
            let _ = writeln!(out, "  {edit:?} {kind} {} {}", member.key, member.class.name());
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        let _ = writeln!(out, "{name} Removed");
    }
    out
}

/// A source text in which one type depends on another, and edits of the dependency's structure and behaviour.
struct DependencyCase {
    path: &'static str,
    text: &'static str,
    structure: (&'static str, &'static str),
    behaviour: (&'static str, &'static str),
}

const DEPENDENCY_CASES: &[DependencyCase] = &[
    DependencyCase {
        path: "a.cs",
        text: "public class Item { public int Size(int by) { return by; } } public class Store { public Item best; }",
        structure: ("int by", "long by"),
        behaviour: ("return by", "return 1"),
    },
    DependencyCase {
        path: "a.rs",
        text: "pub struct Item; impl Item { pub fn size(&self, by: u32) -> u32 { by } } pub struct Store { pub best: Item }",
        structure: ("by: u32", "by: u64"),
        behaviour: ("{ by }", "{ 1 }"),
    },
    DependencyCase {
        path: "a.ts",
        text: "export class Item { size(by: number) { return by; } }\nexport class Store { best: Item; }\n",
        structure: ("by: number", "by: string"),
        behaviour: ("return by", "return 1"),
    },
    DependencyCase {
        path: "a.py",
        text: "class Item:\n    def size(self, by: int):\n        return by\n\nclass Store:\n    best: Item\n",
        structure: ("by: int", "by: str"),
        behaviour: ("return by", "return 1"),
    },
    DependencyCase {
        path: "a.go",
        text: "package a\n\ntype Item struct{}\n\nfunc (i Item) Size(by int) int { return by }\n\ntype Store struct { Best Item }\n",
        structure: ("by int", "by uint"),
        behaviour: ("return by", "return 1"),
    },
    DependencyCase {
        path: "A.java",
        text: "public class Item { public int size(int by) { return by; } } class Store { public Item best; }",
        structure: ("int by", "long by"),
        behaviour: ("return by", "return 1"),
    },
];

/// The types that an edit makes stale, each with the cause.
fn stale_types(before: &Codebase, after: &Codebase) -> Vec<String> {
    let (old, new) = (Resolver::new(before), Resolver::new(after));
    let all = 0..after.types.len() as u32;
    let change = |of: u32| {
        Some((of, classify_change(&hash_type(before, &old, of), &hash_type(after, &new, of))?.class))
    };
    let changes: BTreeMap<u32, ChangeClass> = all.clone().filter_map(change).collect();
    let cached = NoteState { status: NoteStatus::Cached, ..NoteState::default() };
    let mut states: BTreeMap<u32, NoteState> = all.clone().map(|of| (of, cached)).collect();
    let graph = Graph::new(after.types.len(), new.all_edges().iter().map(loci_code::Edge::ends));
    let structural = changes.iter().filter(|(_, class)| **class == ChangeClass::Structure);
    let users = structural.map(|(of, _)| (*of, graph.used_by(*of).to_vec())).collect();
    apply_changes(&mut states, &changes, &users, &graph.groups(), 0);
    let describe = |of: u32| {
        let cause =
            if states[&of].dependency_changed { "Structure-Dependency" } else { changes.get(&of)?.name() };
        let name = after.types[of as usize].name.rsplit('.').next()?;
        (states[&of].status == NoteStatus::Stale).then(|| format!("{name} {cause}"))
    };
    all.filter_map(describe).collect()
}

#[test]
fn a_structural_change_makes_dependents_stale_in_every_language() {
    for DependencyCase { path, text, structure, behaviour } in DEPENDENCY_CASES {
        let code = |text: &str| Codebase::new(vec![Project::default()], vec![parse_file(path, text)]);
        let edited = |edit: &(&str, &str)| code(&text.replace(edit.0, edit.1));
        let before = code(text);
        assert_eq!(
            stale_types(&before, &edited(structure)),
            ["Item Structure", "Store Structure-Dependency"],
            "{path}"
        );
        assert_eq!(stale_types(&before, &edited(behaviour)), ["Item PublicBehavior"], "{path}");
    }
}
