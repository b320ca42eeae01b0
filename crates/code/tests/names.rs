//! Name resolution in C#: each case is a few files and the edges between types that C#'s rules give.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Certainty, Codebase, Resolver, SourceFile};
use project::Project;
use std::fmt::Write as _;
use syntax::{LANGUAGES, Reader, Symbols};

fn parse_codebase(files: &[&str], usings: &[&str]) -> Codebase {
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    let project =
        Project { usings: usings.iter().map(|it| (*it).to_owned()).collect(), ..Project::default() };
    let file = |(at, text): (usize, &&str)| {
        let facts = reader.read(text, &Symbols::default());
        assert_eq!(facts.gaps, [], "{text}");
        SourceFile { path: format!("{at}.cs"), project: 0, generated: false, facts }
    };
    Codebase::new(vec![project], files.iter().enumerate().map(file).collect())
}

/// `A>B` for each edge, `A?B` if it is only likely.
fn describe_edges(files: &[&str], usings: &[&str]) -> String {
    let code = parse_codebase(files, usings);
    let name = |at: u32| &code.types[at as usize].name;
    let mut out = String::new();
    for edge in Resolver::new(&code).all_edges() {
        let sure = if edge.certainty == Certainty::Certain { '>' } else { '?' };
        let _ = write!(out, "{}{sure}{} ", name(edge.from), name(edge.to));
    }
    out.trim_end().to_owned()
}

#[test]
fn names_resolve_by_the_rules_of_csharp() {
    for (why, text, expected) in [
        ("the nearest namespace wins", "class X { } namespace N { class X { } class C { X x; } }", "N.C>N.X"),
        (
            "a type in the same namespace beats an imported one",
            "using A; namespace A { class X { } } namespace N { class X { } class C { X x; } }",
            "N.C>N.X",
        ),
        (
            "an import inside a namespace beats one outside",
            "using A; namespace A { class X { } } namespace B { class X { } } namespace N { using B; class C { X x; } }",
            "N.C>B.X",
        ),
        (
            "two imports that both provide it are ambiguous",
            "using A; using B; namespace A { class X { } } namespace B { class X { } } namespace N { class C { X x; } }",
            "",
        ),
        ("the number of type parameters counts", "class X { } class X<T> { } class C { X<int> x; }", "C>X`1"),
        (
            "type parameters are not types",
            "class T { } class C<T> { T x; U M<U>(T t, U u) => default(U); } class U { }",
            "",
        ),
        (
            "nested types are in scope, including those of bases",
            "class B { public class N { } } class C : B { N n; }",
            "C>B C>B+N",
        ),
        ("a base is looked up outside the type", "class N { } class C : N { class N { } }", "C>N"),
        ("an alias", "using Y = A.X; namespace A { class X { } } class C { Y y; }", "C>A.X"),
        (
            "an alias of a closed generic",
            "using Y = A.X<int>; namespace A { class X<T> { } } class C { Y y; }",
            "C>A.X`1",
        ),
        (
            "an alias of something outside the source hides other names",
            "using X = Far.X; namespace A { class X { } } namespace N { using A; } class C { X x; }",
            "",
        ),
        ("from the root", "namespace A.B { class X { } class C { global::A.B.X x; } }", "A.B.C>A.B.X"),
        (
            "a chain names each type in it",
            "namespace A { class O { public class I { } } } class C { A.O.I x; }",
            "C>A.O C>A.O+I",
        ),
        (
            "a relative namespace",
            "namespace A.B { class X { } } namespace A { class C { B.X x; } }",
            "A.C>A.B.X",
        ),
        (
            "importing a namespace does not import its child namespaces",
            "using A; namespace A.B { class X { } } class C { B.X x; }",
            "",
        ),
        (
            "static imports provide nested types",
            "using static S; class S { public class N { } } class C { N n; }",
            "C>S+N",
        ),
        (
            "attributes, long and short",
            "class FooAttribute : Attribute { } [Foo] class C { [FooAttribute] int x; }",
            "C>FooAttribute",
        ),
        ("an attribute must derive from Attribute", "class XmlElement { } [XmlElement] class C { }", ""),
        ("an attribute without the ending", "class Mark : Attribute { } [Mark] class C { }", "C>Mark"),
    ] {
        assert_eq!(describe_edges(&[text], &[]), expected, "{why}: {text}");
    }
}

#[test]
fn values_come_before_types_in_expressions() {
    for (why, text, expected) in [
        ("a static access", "class X { public static int A; } class C { int M() => X.A; }", "C>X"),
        ("a variable", "class x { public int A; } class C { int M(string x) => x.Length; }", ""),
        ("a field", "class X { public int A; } class C { string X; int M() => X.Length; }", ""),
        (
            "a field of a base",
            "class X { } class B { protected string X; } class C : B { int M() => X.Length; }",
            "C>B",
        ),
        (
            "a property of its own type's name, and a static member",
            "enum Color { Red } class C { Color Color { get; } bool M() => Color == Color.Red; }",
            "C>Color",
        ),
        (
            "the same, and an instance member",
            "class Node { public int Size; } class B { public Node Node; } class C : B { int M() => Node.Size; }",
            "B>Node C>B",
        ),
        (
            "a variable of its type's name",
            "class Node { public static int N; } class C { int M(Node Node) => Node.N; }",
            "C>Node",
        ),
        ("a call without a dot is a method", "class X { } class C { void M() { X(); } void X() { } }", ""),
        (
            "type arguments of a call",
            "class X { } class C { void M() { N<X>(); this.N<X>(); } void N<T>() { } }",
            "C>X",
        ),
        ("nameof", "class X { public int A; } class C { string M() => nameof(X) + nameof(X.A); }", "C>X"),
        (
            "left of an initialiser's `=`",
            "class X { } class Y { public int X; } class C { Y M() => new Y { X = 1 }; }",
            "C>Y",
        ),
        ("the name of an argument", "class X { } class C { void M(int X) { M(X: 1); } }", ""),
        (
            "patterns",
            "class X { public int P; } class Y { } class Z { } class C { int M(object o) => o switch { X { P: 1 } => 1, Y y => 2, Z => 3, _ => 4 }; }",
            "C>X C>Y C>Z",
        ),
        (
            "`is` before an operator",
            "class X { } class Y { } class C { bool M(object o) => o is X || o is Y && true; }",
            "C>X C>Y",
        ),
        (
            "casts, `as`, typeof, default",
            "class X { } class Y { } class C { void M(object o) { _ = (X)o; _ = o as Y; } }",
            "C>X C>Y",
        ),
        (
            "with a base outside the source, one of its members could be meant",
            "class X { public static int A; } class C : Form { int M() => X.A; X x; } class D : Form { int M() => X.A; }",
            "C>X D?X",
        ),
    ] {
        assert_eq!(describe_edges(&[text], &[]), expected, "{why}: {text}");
    }
}

#[test]
fn global_imports_apply_to_all_files_of_a_project() {
    let files = [
        "global using A; global using Y = B.Z;",
        "namespace A { class X { } }",
        "namespace B { class Z { } }",
        "class C { X x; Y y; }",
    ];
    assert_eq!(describe_edges(&files, &[]), "C>A.X C>B.Z");
    assert_eq!(describe_edges(&files[1..], &["A"]), "C>A.X");
}

#[test]
fn each_part_of_a_type_uses_its_own_imports() {
    let files = [
        "namespace A { class X { } } namespace B { class X { } }",
        "using A; partial class C { X one; }",
        "using B; partial class C { X two; }",
    ];
    assert_eq!(describe_edges(&files, &[]), "C>A.X C>B.X");
}
