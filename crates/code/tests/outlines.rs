//! What is shown of a type, on the page that has a bit of everything.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Codebase, Cost, LANGUAGES, Outliner, Project, Reader, Resolver, SourceFile, Symbols};

const EVERYTHING: &str = include_str!("../testdata/everything.cs");

fn page() -> Codebase {
    let facts = Reader::new(&LANGUAGES[0]).unwrap().read(EVERYTHING, &Symbols::default());
    let file = SourceFile { path: "src/Everything.cs".to_owned(), project: 0, generated: false, facts };
    let project = Project { name: "Everything".to_owned(), ..Project::default() };
    Codebase::new(vec![project], vec![file])
}

fn find(code: &Codebase, name: &str) -> u32 {
    code.types.iter().position(|each| each.name == name).unwrap() as u32
}

#[test]
fn an_outline_says_what_a_type_is_offers_and_builds_upon() {
    let code = page();
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    let square = find(&code, "Everything.Square");
    let text = outliner.text(square);
    let id = outliner.short_id(square);
    assert_eq!(
        text,
        format!(
            "# Everything.Square {id}
Kind: sealed class | Files: src/Everything.cs
XMLDOC: All sides are equal.
Public API:
+ class Corner
+ static readonly Square Empty
+ protected internal int[] numbers
+ const int Sides = 4
+ double Area, string IShape.Name {{ get; }}
+ virtual Color Color {{ get; protected set; }}
+ double Side {{ get; init; }}
+ EventHandler<EventArgs> Changed, Action Removed
+ double this[int corner, bool deep = false] {{ get; }}
+ Square(double side)
+ bool Equals(Square other)
+ Task<List<Dictionary<string, int?>>> LoadAsync<T>(T key, Func<T, Task<int>> load)
+ void Scale(double by = 1.5)
+ static IShape Unit()
+ static explicit operator double(Square it)
+ static bool operator !=(Square a, Square b)
+ static bool operator ==(Square a, Square b)
Implements: IShape, IEquatable
DependsOn: Color, IShape
"
        )
    );
    let span = code.part(code.types[square as usize].parts[0]).span;
    let cost = Cost::new(&text, &EVERYTHING[span.from as usize..span.to as usize]);
    assert!(cost.outline < cost.source / 2, "{cost:?}");
}

#[test]
fn what_is_kept_has_the_hashes_that_say_whether_it_still_holds() {
    let code = page();
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    let kept = outliner.file(find(&code, "Everything.Point"));
    let lines: Vec<&str> = kept.lines().collect();
    assert!(lines[0].starts_with("# Everything.Point T_"));
    assert!(lines[1].starts_with(
        "Kind: readonly record struct | Files: src/Everything.cs | Assembly: Everything | StructureHash: "
    ));
    assert!(lines[2].starts_with("PublicImplHash: ") && lines[2].contains(" | InternalImplHash: "));
    assert!(lines[3].starts_with("XmlDocHash: "));
    assert_eq!(lines[4..], ["Takes: (int X, int Y)", "Public API:", "+ int X, int Y"]);
}

#[test]
fn values_of_an_enumeration_share_a_line() {
    let code = page();
    let resolver = Resolver::new(&code);
    let text = Outliner::new(&code, &resolver).text(find(&code, "Everything.Color"));
    assert!(text.ends_with("Values: Red = 1 << 0, Green = 1 << 1, Blue\n"), "{text}");
}

#[test]
fn a_member_is_shown_with_its_documentation_and_its_place() {
    let code = page();
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    let square = find(&code, "Everything.Square");
    let text = outliner.member(square, "Square(double)").unwrap();
    assert!(
        text.contains("\n  Square(double side)\n  XMLDOC: Makes one.\n  File: src/Everything.cs | Bytes: "),
        "{text}"
    );
    assert_eq!(outliner.member(square, "Nothing()"), None);
}
