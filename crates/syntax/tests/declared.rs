//! Compares the facts of each fixture with its snapshot: `testdata/<language>/<case>/` contains sources and
//! `declared.txt`.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_syntax::{
    FileFacts, ImportKind, Member, Path as Name, Position, Reader, Reference, Symbols, TypePart, decode_text,
    language_of,
};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_fixture_matches_its_snapshot() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for case in subfolders(&testdata_root()).iter().flat_map(|language| subfolders(language)) {
        let expected = case.join("declared.txt");
        if !expected.exists() {
            continue;
        }
        cases += 1;
        let actual = describe_case(&case);
        if fs::read_to_string(&expected).unwrap() != actual {
            let name = case.strip_prefix(testdata_root()).unwrap().to_string_lossy().replace('/', "-");
            let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name + ".txt");
            fs::write(&written, actual).unwrap();
            wrong.push(format!("{} differs from {}", written.display(), expected.display()));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(cases >= 1, "no fixtures");
}

fn testdata_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

fn subfolders(of: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

fn describe_case(case: &Path) -> String {
    let mut files: Vec<PathBuf> = fs::read_dir(case).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut out = String::new();
    for path in files {
        let Some(language) = language_of(&path) else { continue };
        let mut reader = Reader::new(language).unwrap();
        let facts = reader.read(&decode_text(&fs::read(&path).unwrap()), &Symbols::default());
        writeln!(out, "== {}", path.file_name().unwrap().to_string_lossy()).unwrap();
        describe_file(&mut out, &facts);
    }
    out
}

fn describe_file(out: &mut String, facts: &FileFacts) {
    for (at, scope) in facts.scopes.iter().enumerate() {
        let namespace: Vec<&str> = scope.namespace.iter().map(|word| facts.word_text(*word)).collect();
        for import in &scope.imports {
            let path = format_path(facts, &facts.paths[import.path as usize]);
            match import.kind {
                ImportKind::Alias(word) => writeln!(out, "import {} = {path}", facts.word_text(word)),
                _ => writeln!(out, "import {path}.*"),
            }
            .unwrap();
        }
        if at > 0 {
            writeln!(out, "scope {at} is {}", namespace.join(".")).unwrap();
        }
    }
    for (at, part) in facts.types.iter().enumerate() {
        describe_type(out, facts, at as u32, part);
    }
    for gap in &facts.gaps {
        writeln!(out, "gap {:?} in line {}", gap.kind, gap.line).unwrap();
    }
}

fn describe_type(out: &mut String, facts: &FileFacts, at: u32, part: &TypePart) {
    let visibility = part.visibility.map_or("-", loci_syntax::Visibility::name);
    let outer = part.outer.map_or_else(String::new, |outer| format!("{}+", facts.types[outer as usize].name));
    let (kind, shown) = (part.kind.name(), prefix_space(&part.header_text));
    write!(out, "{visibility} {kind} {outer}{}{}{shown}", part.name, part.parameters).unwrap();
    if part.scope > 0 {
        write!(out, " (scope {})", part.scope).unwrap();
    }
    writeln!(out).unwrap();
    for (what, shapes) in [("base", &part.bases), ("attribute", &part.attributes)] {
        for shape in shapes {
            writeln!(out, "  {what} {}", render_shape(facts, shape)).unwrap();
        }
    }
    if let Some(doc) = &part.doc {
        writeln!(out, "  doc {}", doc.summary).unwrap();
    }
    for member in &part.members {
        describe_member(out, facts, member);
    }
    let names: Vec<String> = facts
        .references
        .iter()
        .filter(|it| it.owner == Some(at))
        .map(|it| describe_reference(facts, it))
        .collect();
    if !names.is_empty() {
        writeln!(out, "  mentions {}", names.join(" ")).unwrap();
    }
}

fn describe_member(out: &mut String, facts: &FileFacts, member: &Member) {
    let modifier = if member.is_static { "static " } else { "" };
    let visibility = member.visibility.name();
    writeln!(
        out,
        "  {visibility} {modifier}{} {} | {} | {}",
        member.kind.name(),
        member.key,
        member.signature_text,
        render_shape(facts, &member.shape)
    )
    .unwrap();
    if let Some(doc) = &member.doc {
        writeln!(out, "    doc {}", doc.summary).unwrap();
    }
}

fn render_shape(facts: &FileFacts, shape: &loci_syntax::Shape) -> String {
    let mut text = String::new();
    let place = |at: u32, out: &mut String| {
        out.push('<');
        out.push_str(&format_path(facts, facts.reference_path(&facts.references[at as usize])));
        out.push('>');
    };
    shape.render(place, &mut text);
    text
}

fn describe_reference(facts: &FileFacts, reference: &Reference) -> String {
    let mark = match reference.position {
        Position::Type => "",
        Position::Base => ":",
        Position::Attribute => "@",
        Position::Value | Position::Called => ".",
        Position::Bare => "?",
    };
    format!("{mark}{}", format_path(facts, facts.reference_path(reference)))
}

fn format_path(facts: &FileFacts, path: &Name) -> String {
    let alias = path.alias.map_or_else(String::new, |word| format!("{}/", facts.word_text(word)));
    alias + &path.segments.iter().map(|segment| facts.word_text(segment.word)).collect::<Vec<_>>().join(".")
}

fn prefix_space(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" {text}") }
}
