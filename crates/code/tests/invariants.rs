//! Invariants of change classification: kinds of edits applied to `testdata/everything.cs`, a C# file that uses every
//! construct, and reformatting of a file in each other language. The example `corpus` checks the same on real code.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

mod sample_edits;

use loci_code::{ChangeClass, Codebase, Resolver, SourceFile, TypeHashes, classify_change, hash_type};
use project::Project;
use sample_edits::{
    STYLES, add_attributes, add_comments, add_statements, extend_docs, reformat_csharp, reformat_whitespace,
    split_types,
};
use std::collections::{BTreeMap, BTreeSet};
use syntax::{FileFacts, LANGUAGES, Reader, Symbols, Visibility, language_of};

const EVERYTHING: &str = include_str!("../testdata/everything.cs");

fn parse_text(text: &str) -> FileFacts {
    let facts = Reader::new(&LANGUAGES[0]).unwrap().read(text, &Symbols::default());
    assert_eq!(facts.gaps, [], "{text}");
    facts
}

fn hash_texts(texts: &[&str]) -> BTreeMap<String, TypeHashes> {
    let file = |(at, text): (usize, &&str)| SourceFile {
        path: format!("{at}.cs"),
        project: 0,
        generated: false,
        facts: parse_text(text),
    };
    hash_codebase(&Codebase::new(vec![Project::default()], texts.iter().enumerate().map(file).collect()))
}

fn hash_codebase(code: &Codebase) -> BTreeMap<String, TypeHashes> {
    let resolver = Resolver::new(code);
    let one = |at: usize| (code.types[at].name.clone(), hash_type(code, &resolver, at as u32));
    (0..code.types.len()).map(one).collect()
}

/// The change class of each type whose bytes an edit changes.
fn change_classes(after: &str) -> BTreeMap<String, ChangeClass> {
    let (old, new) = (hash_texts(&[EVERYTHING]), hash_texts(&[after]));
    assert_eq!(old.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>());
    let change =
        |(name, old): (&String, &TypeHashes)| Some((name.clone(), classify_change(old, &new[name])?.class));
    old.iter().filter_map(change).collect()
}

fn distinct_classes(classes: &BTreeMap<String, ChangeClass>) -> Vec<ChangeClass> {
    classes.values().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn the_test_file_covers_many_constructs() {
    let types = hash_texts(&[EVERYTHING]);
    assert!(types.len() > 15, "{:?}", types.keys());
    assert!(types.values().map(|each| each.members.len()).sum::<usize>() > 50);
}

#[test]
fn reformatting_is_cosmetic_for_every_type() {
    let all = hash_texts(&[EVERYTHING]).len();
    for style in STYLES {
        let classes = change_classes(&reformat_csharp(EVERYTHING, &Symbols::default(), *style));
        assert_eq!(distinct_classes(&classes), [ChangeClass::Cosmetic], "{style:?}: {classes:?}");
        assert_eq!(classes.len(), all, "{style:?}");
    }
}

const SAMPLE_FILES: &[(&str, &str)] = &[
    ("a.rs", include_str!("../../syntax/testdata/rust/declarations/shapes.rs")),
    ("a.ts", include_str!("../../syntax/testdata/typescript/declarations/store.ts")),
    ("a.py", include_str!("../../syntax/testdata/python/declarations/store.py")),
    ("a.go", include_str!("../../syntax/testdata/go/declarations/store.go")),
    ("a.java", include_str!("../../syntax/testdata/java/declarations/Store.java")),
    ("a.c", include_str!("../../syntax/testdata/c/declarations/store.c")),
    ("a.h", include_str!("../../syntax/testdata/cpp/declarations/store.h")),
    ("a.kt", include_str!("../../syntax/testdata/kotlin/declarations/Store.kt")),
    ("a.php", include_str!("../../syntax/testdata/php/declarations/Store.php")),
    ("a.rb", include_str!("../../syntax/testdata/ruby/declarations/store.rb")),
    ("a.swift", include_str!("../../syntax/testdata/swift/declarations/Store.swift")),
];

#[test]
fn reformatting_is_cosmetic_in_every_language() {
    for (path, text) in SAMPLE_FILES {
        let mut reader = Reader::new(language_of(path.as_ref()).unwrap()).unwrap();
        let mut all = |text: &str| -> BTreeMap<String, TypeHashes> {
            let facts = reader.read(text, &Symbols::default());
            let file = SourceFile { path: (*path).to_owned(), project: 0, generated: false, facts };
            hash_codebase(&Codebase::new(vec![Project::default()], vec![file]))
        };
        let old = all(text);
        assert!(old.len() > 3, "{path}");
        for style in STYLES {
            let mut reader = Reader::new(language_of(path.as_ref()).unwrap()).unwrap();
            let after = reformat_whitespace(&mut reader, text, *style);
            let new = all(&after);
            assert_ne!(*text, after, "{path} {style:?}");
            assert_eq!(old.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>(), "{path} {style:?}");
            let deeper = old.iter().filter_map(|(name, old)| Some((name, classify_change(old, &new[name])?)));
            let deeper = deeper.filter(|(_, change)| change.class != ChangeClass::Cosmetic);
            assert_eq!(deeper.collect::<Vec<_>>(), [], "{path} {style:?}\n{after}");
        }
    }
}

#[test]
fn comments_are_cosmetic() {
    assert_eq!(
        distinct_classes(&change_classes(&add_comments(EVERYTHING, &Symbols::default()))),
        [ChangeClass::Cosmetic]
    );
}

#[test]
fn documentation_edits_only_affect_documented_types() {
    let classes = change_classes(&extend_docs(EVERYTHING, &Symbols::default()));
    assert_eq!(distinct_classes(&classes), [ChangeClass::Docs]);
    assert_eq!(
        classes.keys().collect::<Vec<_>>(),
        ["Everything.IShape", "Everything.Square", "Everything.Words"]
    );
}

#[test]
fn body_edits_are_internal_or_public_behaviour() {
    let facts = parse_text(EVERYTHING);
    let edit =
        |open: bool| add_statements(EVERYTHING, &facts, |member| member.visibility.is_public_api() == open);
    let (text, count) = edit(false);
    assert_eq!(distinct_classes(&change_classes(&text)), [ChangeClass::Internal]);
    assert!(count > 2);
    let (text, count) = edit(true);
    assert_eq!(distinct_classes(&change_classes(&text)), [ChangeClass::PublicBehavior]);
    assert!(count > 5);
}

#[test]
fn an_added_attribute_is_structure() {
    let (text, count) = add_attributes(EVERYTHING, &parse_text(EVERYTHING));
    assert_eq!(distinct_classes(&change_classes(&text)), [ChangeClass::Structure]);
    assert!(count > 5);
}

#[test]
fn splitting_types_over_files_is_cosmetic() {
    let (first, second, count) = split_types(EVERYTHING, &Symbols::default(), &parse_text(EVERYTHING));
    let (old, new) = (hash_texts(&[EVERYTHING]), hash_texts(&[&first, &second]));
    let changed: Vec<ChangeClass> =
        old.iter().filter_map(|(name, old)| Some(classify_change(old, new.get(name)?)?.class)).collect();
    assert_eq!(old.len(), new.len());
    assert!(changed.iter().all(|class| *class == ChangeClass::Cosmetic), "{changed:?}");
    assert!(count > 2 && changed.len() >= count);
}

#[test]
fn the_order_of_files_does_not_matter() {
    let other = "namespace Everything { partial class Parts { private int more; } }";
    assert_eq!(hash_texts(&[EVERYTHING, other]), hash_texts(&[other, EVERYTHING]));
}

#[test]
fn default_visibility_follows_the_language() {
    let facts = parse_text(EVERYTHING);
    let part = |name: &str| facts.types.iter().find(|part| part.name == name).unwrap();
    let of = |name: &str, member: &str| {
        part(name).members.iter().find(|it| it.name == member).map(|it| it.visibility).unwrap()
    };
    assert_eq!(of("IShape", "Area"), Visibility::Public);
    assert_eq!(of("Color", "Red"), Visibility::Public);
    assert_eq!(of("Parts", "hidden"), Visibility::Private);
    assert_eq!(of("Square", "IShape.Name"), Visibility::Public);
}
