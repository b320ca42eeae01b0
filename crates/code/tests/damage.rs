//! Invalid source text is still parsed: declarations that can be recognised are reported, the rest becomes a gap.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Codebase, Outliner, Resolver, SourceFile, hash_type};
use project::Project;
use syntax::{GapKind, LANGUAGES, Reader, Symbols};

const EVERYTHING: &str = include_str!("../testdata/everything.cs");

/// Parses a text and runs everything that depends on it.
fn process_text(reader: &mut Reader, text: &str) -> Codebase {
    let facts = reader.read(text, &Symbols::default());
    let inside = |from: u32, to: u32| from <= to && to as usize <= text.len();
    assert!(facts.types.iter().all(|part| inside(part.span.from, part.span.to)));
    assert!(facts.references.iter().all(|it| inside(it.at, it.name_end) || it.name_end == 0));
    let file = SourceFile { path: "a.cs".to_owned(), project: 0, generated: false, facts };
    let code = Codebase::new(vec![Project::default()], vec![file]);
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    for at in 0..code.types.len() as u32 {
        hash_type(&code, &resolver, at);
        outliner.outline_file(at);
    }
    code
}

#[test]
fn truncated_text_is_parsed() {
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    let places = (0..EVERYTHING.len()).step_by(23).filter(|at| EVERYTHING.is_char_boundary(*at));
    for at in places {
        process_text(&mut reader, &EVERYTHING[..at]);
        process_text(&mut reader, &EVERYTHING[at..]);
    }
}

#[test]
fn lone_tokens_are_parsed() {
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    for text in [
        "",
        "{",
        "}}}}",
        "class",
        "class C",
        "class C {",
        "$@\"",
        "@$\"{",
        "[",
        "[property",
        "extension(",
        "extension<",
        "union X(",
        "a?.",
        "operator +=",
        "=> f(x) =",
        ") =",
        "#if",
        "#endif",
        "namespace",
        "using",
        "using X =",
        "enum E {",
        "record R(",
        "class C { int this[ }",
        "class C { operator }",
        "delegate",
        "/// x",
        "\u{feff}class C { }",
        "class \u{1} { }",
    ] {
        process_text(&mut reader, text);
    }
}

#[test]
fn a_gap_has_a_line_and_other_declarations_are_intact() {
    let text = "class A { void M() { } }\nclass B { void M() { int x = ; } }\nclass C { public int X; }\n";
    let code = process_text(&mut Reader::new(&LANGUAGES[0]).unwrap(), text);
    let facts = &code.files[0].facts;
    assert!(!facts.gaps.is_empty());
    assert!(facts.gaps.iter().all(|gap| gap.line == 2), "{:?}", facts.gaps);
    let degraded: Vec<(&str, bool)> =
        facts.types.iter().map(|part| (part.name.as_str(), part.degraded)).collect();
    assert_eq!(degraded, [("A", false), ("B", true), ("C", false)]);
}

#[test]
fn excessive_nesting_is_a_gap() {
    let deep =
        |depth: usize| format!("class C {{ int x = {}1{}; int y; }}", "(".repeat(depth), ")".repeat(depth));
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    assert_eq!(process_text(&mut reader, &deep(400)).files[0].facts.gaps, []);
    let facts = &process_text(&mut reader, &deep(20_000)).files[0].facts;
    assert!(facts.gaps.iter().any(|gap| gap.kind == GapKind::TooDeep), "{:?}", facts.gaps.len());
    let long = "a + ".repeat(5_000);
    let code = process_text(&mut reader, &format!("class C {{ int x = {long} 1; int y; }}"));
    assert_eq!(code.files[0].facts.types[0].members.len(), 2);
}
