//! Outlines of the types in a file that uses every construct, and of a sample in each language.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Codebase, Outliner, Resolver, SourceFile, TokenCost};
use project::Project;
use syntax::{LANGUAGES, Reader, Symbols, language_of};

const EVERYTHING: &str = include_str!("../testdata/everything.cs");

fn parse_file(path: &str, text: &str) -> SourceFile {
    let language = language_of(path.as_ref()).unwrap_or(&LANGUAGES[0]);
    let facts = Reader::new(language).unwrap().read(text, &Symbols::default());
    SourceFile { path: path.to_owned(), project: 0, generated: false, facts }
}

fn sample_codebase() -> Codebase {
    let project = Project { name: "Everything".to_owned(), ..Project::default() };
    Codebase::new(vec![project], vec![parse_file("src/Everything.cs", EVERYTHING)])
}

fn find_type(code: &Codebase, name: &str) -> u32 {
    code.types.iter().position(|each| each.name == name).unwrap() as u32
}

/// The outline of one type in some files.
fn outline_of(files: &[(&str, &str)], name: &str) -> String {
    let files = files.iter().map(|(path, text)| parse_file(path, text)).collect();
    let code = Codebase::new(vec![Project::default()], files);
    let resolver = Resolver::new(&code);
    Outliner::new(&code, &resolver).outline_text(find_type(&code, name))
}

#[test]
fn an_outline_has_kind_members_and_bases() {
    let code = sample_codebase();
    let resolver = Resolver::new(&code);
    let square = find_type(&code, "Everything.Square");
    let text = Outliner::new(&code, &resolver).outline_text(square);
    assert_eq!(
        text,
        "# Everything.Square
sealed class in src/Everything.cs
Doc: All sides are equal.
+ class Corner
+ static readonly Square Empty
+ protected internal int[] numbers
+ const int Sides = 4
+ double Area { get; }
+ virtual Color Color { get; protected set; }
+ double Side { get; init; }
+ EventHandler<EventArgs> Changed, Action Removed
+ double this[int corner, bool deep = false] { get; }
+ new(double side)
+ bool Equals(Square other)
+ Task<List<Dictionary<string, int?>>> LoadAsync<T>(T key, Func<T, Task<int>> load)
+ void Scale(double by = 1.5)
+ static IShape Unit()
+ static explicit operator double(Square it)
+ static bool operator !=(Square a, Square b), operator ==(Square a, Square b)
Internal API: Verbatim
Implements: IShape, IEquatable<Square>
"
    );
    let span = code.part(code.types[square as usize].parts[0]).span;
    let cost = TokenCost::new(&text, &EVERYTHING[span.from as usize..span.to as usize]);
    assert!(cost.outline < cost.source / 2, "{cost:?}");
}

#[test]
fn an_outline_file_has_hashes() {
    let code = sample_codebase();
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    let outline = outliner.outline_file(find_type(&code, "Everything.Point"));
    let lines: Vec<&str> = outline.lines().collect();
    assert!(lines[0].starts_with("# Everything.Point T_"));
    assert!(lines[1].starts_with(
        "Kind: readonly record struct | Files: src/Everything.cs | Assembly: Everything | StructureHash: "
    ));
    assert!(lines[2].starts_with("PublicImplHash: ") && lines[2].contains(" | InternalImplHash: "));
    assert!(lines[3].starts_with("XmlDocHash: "));
    assert_eq!(lines[4..], ["Takes: (int X, int Y)"]);
    let outline = outliner.outline_file(find_type(&code, "Everything.Square"));
    assert!(
        outline.contains("\nPublic API:\n+ class Corner\n")
            && outline.ends_with("\nDependsOn: Color, IShape\n")
    );
}

#[test]
fn values_of_an_enumeration_share_a_line() {
    let code = sample_codebase();
    let resolver = Resolver::new(&code);
    let text = Outliner::new(&code, &resolver).outline_text(find_type(&code, "Everything.Color"));
    assert!(text.ends_with("Values: Red = 1 << 0, Green = 1 << 1, Blue\n"), "{text}");
}

#[test]
fn a_member_outline_has_documentation_and_location() {
    let code = sample_codebase();
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    let square = find_type(&code, "Everything.Square");
    let text = outliner.member_outline(square, "Square(double)", &|_, at| at as u32).unwrap();
    assert!(
        text.contains("\n  Square(double side)\n  Doc: Makes one.\n  File: src/Everything.cs | Lines: "),
        "{text}"
    );
    let (_, lines) = text.trim().rsplit_once("Lines: ").unwrap();
    let (first, last) = lines.split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    assert!(0 < first && first < last, "{text}");
    assert_eq!(outliner.member_outline(square, "Nothing()", &|_, _| 0), None);
}

/// A file, a type in it, and its expected outline.
struct Sample {
    path: &'static str,
    text: &'static str,
    type_name: &'static str,
    outline: &'static str,
}

/// Common parts of signatures are written once, and redundant information is left out.
const SAMPLES: &[Sample] = &[
    Sample {
        path: "a/Store.cs",
        text: "/// <summary>The Store class.</summary>
public class Store : Base {
  public Store() {}
  public string Name { get; set; } public string Path { get; set; } public int Count { get; set; }
  public void Put(Item item, Reader reader) {} public void Put(int id) {} public void Clear() {}
  public override string ToString() => null; public override bool Equals(object other) => false;
  public override bool Equals(Store other) => false;
  void IDisposable.Dispose() {} internal void Sweep() {} private int n;
}",
        type_name: "Store",
        outline: "# Store
class in a/
+ int Count, string Name, Path { get; set; }
+ void Clear(), Put(Item, Reader), (int id)
+ override Equals, ToString
Internal API: Sweep
Implements: Base
",
    },
    Sample {
        path: "src/a.rs",
        text: "/// Keeps.
#[derive(Clone, Debug)]
pub struct Store<T> { pub name: String, pub path: String, n: T }
impl<T> Store<T> { pub fn new(n: T) -> Self { todo!() } pub fn put(&mut self, it: T) {} pub(crate) fn sweep(&self) {} fn grow(&self) {} }
impl<T> From<Item> for Store<T> { fn from(it: Item) -> Self { todo!() } }
impl<T> Iterator for Store<T> { type Item = T; fn next(&mut self) -> Option<T> { None } }",
        type_name: "crate.a.Store",
        outline: "# crate.a.Store
struct in src/a.rs
Doc: Keeps.
+ name, path: String
+ fn new(n: T) -> Self, put(&mut self, it: T)
+ type Item = T
Internal API: sweep
Implements: Clone, Debug, From<Item>, Iterator
",
    },
    Sample {
        path: "src/b.rs",
        text: "pub(crate) enum Kind { One, Two(u8) } impl Kind { pub(crate) fn name(&self) -> &str { \"\" } fn own(&self) {} }",
        type_name: "crate.b.Kind",
        outline: "# crate.b.Kind
pub(crate) enum in src/b.rs
Values: One, Two(u8)
+ pub(crate) fn name(&self) -> &str
",
    },
    Sample {
        path: "a.py",
        text: "class Store(Base):\n    \"\"\"Keeps.\"\"\"\n    def __init__(self, n: int = 1):\n        pass\n    def put(self, it):\n        pass\n    @classmethod\n    def make(cls): pass\n    def _own(self): pass\n",
        type_name: "a.Store",
        outline: "# a.Store
class(Base) in a.py
Doc: Keeps.
+ def __init__(n: int = 1), make(), put(it)
",
    },
    Sample {
        path: "a/store.ts",
        text: "export class Store<T> extends Base<T> implements Keeper { name: string; path: string; constructor(n: number) {} put(it: T): void {} private own() {} }",
        type_name: "a.store.Store",
        outline: "# a.store.Store
class extends Base<T> implements Keeper in a/store.ts
+ name, path: string
+ constructor(n: number), put(it: T): void
",
    },
    Sample {
        path: "store.go",
        text: "package shop\n\n// Store keeps.\ntype Store struct { Name, Path string; n int }\n\nfunc (s *Store) Put(it Item) error { return nil }\n\nfunc (s *Store) Len() int { return 0 }\n\nfunc (s *Store) sweep() {}\n",
        type_name: "Store",
        outline: "# Store
struct in store.go
Doc: Store keeps.
+ Name, Path string
+ func (s *Store) Len() int, Put(it Item) error
Internal API: n, sweep
",
    },
    Sample {
        path: "shop/Store.java",
        text: "package shop;\n/** Keeps {@link Item}s. */\npublic class Store extends Base { public Store(int n) {} public Item get(int id) { return null; } @Override public String toString() { return null; } void own() {} }",
        type_name: "shop.Store",
        outline: "# shop.Store
class extends Base in shop/
Doc: Keeps Items.
+ new(int n)
+ Item get(int id)
+ override toString
Internal API: own
",
    },
];

#[test]
fn outlines_are_compact_in_every_language() {
    for Sample { path, text, type_name, outline } in SAMPLES {
        assert_eq!(outline_of(&[(path, text)], type_name), *outline, "{path}");
    }
}

#[test]
fn ambiguous_dependencies_are_qualified() {
    let files = [
        ("a.cs", "namespace A { public class Item {} }"),
        ("b.cs", "namespace B { public class Item {} }"),
        ("c.cs", "using B; namespace C { public class Store { public Item Get() => null; } }"),
        ("d.cs", "namespace A { public class Shelf { public Item Get() => null; } }"),
    ];
    assert!(outline_of(&files, "C.Store").ends_with("\n+ Item Get()\nDependsOn: B.Item\n"));
    assert!(
        outline_of(&files, "A.Shelf").ends_with("\n+ Item Get()\n"),
        "unqualified: it is in the same namespace"
    );
}
