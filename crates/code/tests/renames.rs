//! Renamed types: which removed and added types are the same.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::Resolver;
use loci_code::SourceFile;
use loci_code::hash_type;
use loci_code::{
    Codebase, Digest, Type, TypeHashes, TypeId, TypeKind, TypeSnapshot, body_digests, detect_renames,
};
use project::Project;
use std::collections::BTreeSet;
use std::fmt::Write;
use syntax::{LANGUAGES, Reader, Symbols};

struct SampleType {
    id: TypeId,
    name: String,
    kind: TypeKind,
    hashes: TypeHashes,
    bodies: BTreeSet<Digest>,
    files: Vec<String>,
}

/// Parses some files and describes each type in them.
fn sample_types(files: &[(String, String)]) -> Vec<SampleType> {
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    let read = |(path, text): &(String, String)| SourceFile {
        path: path.clone(),
        project: 0,
        generated: false,
        facts: reader.read(text, &Symbols::default()),
    };
    let code = Codebase::new(vec![Project::default()], files.iter().map(read).collect());
    let resolver = Resolver::new(&code);
    let describe = |(of, each): (usize, &Type)| SampleType {
        id: each.id,
        name: each.name.clone(),
        kind: each.kind,
        hashes: hash_type(&code, &resolver, of as u32),
        bodies: body_digests(&code, each),
        files: each.parts.iter().map(|(file, _)| code.files[*file as usize].path.clone()).collect(),
    };
    code.types.iter().enumerate().map(describe).collect()
}

fn only_in_first<'a>(all: &'a [SampleType], without: &[SampleType]) -> Vec<TypeSnapshot<'a>> {
    let only_here = |each: &&SampleType| without.iter().all(|other| other.id != each.id);
    let known = |each: &'a SampleType| TypeSnapshot {
        id: each.id,
        name: &each.name,
        kind: each.kind,
        hashes: &each.hashes,
        bodies: &each.bodies,
        files: &each.files,
    };
    all.iter().filter(only_here).map(known).collect()
}

/// The detected renames (old and new name) between two versions of the same files, and the number of conflicts.
fn detected_renames(
    before: &[(String, String)],
    after: &[(String, String)],
) -> (Vec<(String, String)>, usize) {
    let (old, new) = (sample_types(before), sample_types(after));
    let (gone, come) = (only_in_first(&old, &new), only_in_first(&new, &old));
    let (aliases, conflicts) = detect_renames(&gone, &come, &|_| None);
    let name =
        |of: &[TypeSnapshot], id: TypeId| of.iter().find(|known| known.id == id).unwrap().name.to_string();
    let pairs = aliases.iter().map(|alias| (name(&gone, alias.old), name(&come, alias.new))).collect();
    (pairs, conflicts.len())
}

struct Random(u64);

impl Random {
    fn next_below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

const WORDS: &[&str] = &[
    "Node", "Store", "Batch", "Cache", "User", "Order", "Index", "Queue", "Parser", "Token", "Reader",
    "Frame",
];

/// A class as people write them: properties that every second class has, and methods of its own.
fn sample_class(dice: &mut Random, space: &str, name: &str) -> String {
    let mut text = format!(
        "namespace {space} {{ public class {name} {{\n  public {name}(int seed) {{ Seed = seed + {}; }}\n  public int Seed {{ get; }}\n",
        dice.next_below(1000)
    );
    for _ in 0..dice.next_below(3) {
        let _ = writeln!(
            text,
            "  public string {} {{ get; set; }}",
            ["Id", "Name", "Title"][dice.next_below(3) as usize]
        );
    }
    for n in 0..2 + dice.next_below(5) {
        let word = WORDS[dice.next_below(12) as usize];
        let _ = writeln!(
            text,
            "  public int Get{word}{n}(int a, {name} other) {{ var x = a * {}; return x - {} + other.Seed; }}",
            dice.next_below(500),
            dice.next_below(500)
        );
    }
    text + "} }\n"
}

/// Two hundred renames and moves, half of them with an edit, in trees with another type that stays the same.
#[test]
fn renamed_and_moved_types_are_found() {
    let mut dice = Random(7);
    let mut hits = 0;
    for round in 0..200 {
        let stays = sample_class(&mut dice, "Memo.Core", "Stays");
        let (old_name, new_name) = (
            format!("Old{}", WORDS[dice.next_below(12) as usize]),
            format!("New{}", WORDS[dice.next_below(12) as usize]),
        );
        let text = sample_class(&mut dice, "Memo.Core", &old_name);
        let (mut after, expected) = match round % 3 {
            0 => (text.replace(&old_name, &new_name), format!("Memo.Core.{new_name}")),
            1 => (text.replace("Memo.Core", "Memo.Elsewhere"), format!("Memo.Elsewhere.{old_name}")),
            _ => (
                text.replace(&old_name, &new_name).replace("Memo.Core", "Memo.Elsewhere"),
                format!("Memo.Elsewhere.{new_name}"),
            ),
        };
        if dice.next_below(2) == 0 {
            after = after.replacen("var x = a *", "var x = 7 + a *", 1); // edited in the same batch
        }
        let new_path = if round % 2 == 0 { "a.cs" } else { "b.cs" };
        let file = |path: &str, text: &str| (path.to_string(), text.to_string());
        let before = [file("a.cs", &text), file("s.cs", &stays)];
        let after = [file(new_path, &after), file("s.cs", &stays)];
        hits +=
            usize::from(detected_renames(&before, &after).0 == [(format!("Memo.Core.{old_name}"), expected)]);
    }
    println!("{hits} of 200");
    assert!(hits >= 190, "{hits} of 200");
}

/// Two hundred times, a type is removed and another is added that has the same shape and another purpose.
#[test]
fn unrelated_types_are_not_reported_as_renames() {
    let mut dice = Random(11);
    let file = |path: &str, text: &str| (path.to_string(), text.to_string());
    for round in 0..200 {
        let one = sample_class(&mut dice, "Memo.Core", "OldThing");
        let other = sample_class(&mut dice, if round % 2 == 0 { "Memo.Core" } else { "Memo.Web" }, "Another");
        let path = if round % 4 == 0 { "a.cs" } else { "b.cs" };
        let (pairs, _) = detected_renames(&[file("a.cs", &one)], &[file(path, &other)]);
        assert_eq!(pairs, [], "round {round}\n{one}\n{other}");
    }
    // Plain data classes, of which a codebase has many.
    let holder = |name: &str| {
        format!(
            "namespace N {{ public class {name} {{ public int Id {{ get; set; }} public string Name {{ get; set; }} }} }}"
        )
    };
    assert_eq!(
        detected_renames(&[file("a.cs", &holder("UserDto"))], &[file("b.cs", &holder("OrderDto"))]).0,
        []
    );
}

#[test]
fn ambiguous_renames_are_reported_as_conflicts() {
    let mut dice = Random(3);
    let file = |path: &str, text: String| (path.to_string(), text);
    let text = sample_class(&mut dice, "N", "Old");
    let twice = [file("b.cs", text.replace("Old", "One")), file("c.cs", text.replace("Old", "Two"))];
    assert_eq!(detected_renames(&[file("a.cs", text.clone())], &twice), (vec![], 1));
    let rather =
        [file("a.cs", text.replace("Old", "One")), file("c.cs", sample_class(&mut dice, "N", "Two"))];
    assert_eq!(detected_renames(&[file("a.cs", text)], &rather), (vec![("N.Old".into(), "N.One".into())], 0));
}
