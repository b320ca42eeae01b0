//! Usages of members: each case is a few lines of code and the expected usages.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Certainty, Codebase, Resolver, SourceFile, UsageFinder};
use project::Project;
use syntax::{LANGUAGES, Reader, Symbols};

fn parse_csharp(files: &[&str]) -> Codebase {
    parse_codebase("cs", files)
}

fn parse_codebase(ending: &str, files: &[&str]) -> Codebase {
    let language = LANGUAGES.iter().find(|language| language.extensions.contains(&ending)).unwrap();
    let mut reader = Reader::new(language).unwrap();
    let file = |(at, text): (usize, &&str)| {
        let facts = reader.read(text, &Symbols::default());
        assert_eq!(facts.gaps, [], "{text}");
        SourceFile { path: format!("{at}.{ending}"), project: 0, generated: false, facts }
    };
    Codebase::new(vec![Project::default()], files.iter().enumerate().map(file).collect())
}

fn certainty_mark(certainty: Certainty) -> char {
    match certainty {
        Certainty::Exact | Certainty::Certain => '!',
        Certainty::Likely => '~',
        Certainty::Possible => '?',
    }
}

/// `Type.key` of each member that a text uses, in text order, with a mark for the certainty.
fn usages_in_csharp(text: &str) -> String {
    usages_in("cs", text)
}

fn usages_in(ending: &str, text: &str) -> String {
    let code = parse_codebase(ending, &[text]);
    let resolver = Resolver::new(&code);
    let describe = |usage: &loci_code::Usage| {
        let (file, part, member) = usage.member;
        let part = code.part((file, part));
        format!("{}.{}{}", part.name, part.members[member as usize].key, certainty_mark(usage.certainty))
    };
    UsageFinder::new(&code, &resolver).usages_in_file(0).iter().map(describe).collect::<Vec<_>>().join(" ")
}

const A: &str = "class A { public A B; public A M() => null; public A M(int i, int j = 0) => null; public static A S; \
                 public System.Collections.Generic.List<A> L; public A[] R; } ";

#[test]
fn receivers_are_resolved_from_the_text() {
    for (why, text, expected) in [
        ("this", "class C { int x; void F() { this.x = 1; } }", "C.x!"),
        ("an unqualified name is a member of the enclosing type", "class C { int x; int F() => x; }", "C.x!"),
        ("or of its base", "class B { protected int x; } class C : B { int F() => x; }", "B.x!"),
        ("or of the type enclosing that", "class C { static int x; class D { int F() => x; } }", "C.x!"),
        (
            "base",
            "class B { public virtual void F() { } } class C : B { public override void F() { base.F(); } }",
            "B.F()!",
        ),
        (
            "private members of a base are not accessible",
            "class B { private int x; } class C : B { object F() => x; }",
            "",
        ),
        ("a parameter", "class C { object F(A a) => a.B; }", "A.B!"),
        ("a field", "class C { A a; object F() => a.B; }", "C.a! A.B!"),
        ("a chain", "class C { object F(A a) => a.B.M().B; }", "A.B! A.M()! A.B!"),
        ("a variable with a type", "class C { void F(object o) { A a = (A)o; a.M(); } }", "A.M()!"),
        (
            "a variable initialised with a constructor",
            "class C { void F() { var a = new A(); a.M(1); } }",
            "A.M(int,int)!",
        ),
        (
            "a variable initialised with a member",
            "class C { void F(A b) { var a = b.M(); a.M(); } }",
            "A.M()! A.M()!",
        ),
        ("a cast", "class C { object F(object o) => ((A)o).B; }", "A.B!"),
        ("as", "class C { object F(object o) => (o as A)?.B; }", "A.B!"),
        ("a pattern", "class C { object F(object o) => o is A a ? a.B : null; }", "A.B!"),
        ("a pattern of properties", "class C { bool F(object o) => o is A { B: null }; }", "A.B!"),
        ("static", "class C { object F() => A.S.B; }", "A.S! A.B!"),
        ("foreach with a type", "class C { void F(object[] l) { foreach (A a in l) a.M(); } }", "A.M()!"),
        ("foreach over a list", "class C { void F(A b) { foreach (var a in b.L) a.M(); } }", "A.L! A.M()!"),
        ("an index", "class C { object F(A b) => b.R[0].B; }", "A.R! A.B!"),
        ("an initialiser", "class C { A F() => new A { B = new A { R = null } }; }", "A.B! A.R!"),
        ("nameof", "class C { string F() => nameof(A.B); }", "A.B!"),
        ("a value of an enumeration", "enum E { X, Y = X } class C { E F() => E.Y; }", "E.X! E.Y!"),
        ("a setter's value", "class C { A a; A P { set { a = value.B; } } }", "C.a! A.B!"),
        ("null-conditional access", "class C { void F(A a) { a?.B?.M(); } }", "A.B! A.M()!"),
        ("either of two", "class C { object F(A a, A b) => (a ?? b).B; }", "A.B!"),
    ] {
        assert_eq!(usages_in_csharp(&format!("{A}{text}")), expected, "{why}");
    }
}

#[test]
fn uncertain_usages_are_not_reported_as_certain() {
    for (why, text, expected) in [
        (
            "overloads",
            "class C { void F(int i) { } void F(A a) { } void G(A a) { F(a); } }",
            "C.F(int)~ C.F(A)~",
        ),
        (
            "one overload with this number of arguments",
            "class C { void F() { } void F(A a) { } void G(A a) { F(a); } }",
            "C.F(A)!",
        ),
        (
            "params take any number",
            "class C { void F(params int[] n) { } void G() { F(1, 2, 3); } }",
            "C.F(params int[])!",
        ),
        ("too many arguments", "class C { void F() { } void G() { F(1); } }", ""),
        (
            "type arguments",
            "class C { void F(A a) { } void F<T>(A a) { } void G(A a) { F<int>(a); } }",
            "C.F`1(A)!",
        ),
        (
            "an unseen base may hide enclosing members",
            "class C { static int x; class D : Unseen { object F() => x; } }",
            "C.x~",
        ),
        (
            "accesses on that are uncertain too",
            "class C { static A x; class D : Unseen { object F() => x.B; } }",
            "C.x~ A.B~",
        ),
        ("a library's type has none of our members", "class C { object F(string s) => s.B; }", ""),
        ("only a compiler knows", "class C { object F(System.Func<A> f) => f().B; }", ""),
        ("a variable is not a member", "class C { int x; int F(int x) => x; }", ""),
        (
            "the member is accessible again after the variable's scope",
            "class C { int x; int F() { { int x = 1; } return x; } }",
            "C.x!",
        ),
        ("a local function is not a member", "class C { void F() { G(); void G() { } } void G() { } }", ""),
        (
            "a class does not inherit members of its interfaces",
            "interface I { void M(); } class D : I { void I.M() { } } class C { void F(D d) { d.M(); } }",
            "",
        ),
        (
            "a property with its type's name",
            "class C { E E; object F() => E.X; object G() => E.GetType(); } enum E { X }",
            "E.X! C.E!",
        ),
        (
            "an extension",
            "static class X { public static void Z(this A a) { } } class C { void F(A a) { a.Z(); } }",
            "X.Z(this A)!",
        ),
        (
            "a member before an extension",
            "static class X { public static A M(this A a) => a; } class C { void F(A a) { a.M(); } }",
            "A.M()!",
        ),
        (
            "an extension of a library's type",
            "static class X { public static void Z(this string s) { } } class C { void F(string s) { s.Z(); } }",
            "X.Z(this string)~",
        ),
        (
            "a type parameter gives its type argument",
            "class P<T> { public T G() => default(T); } class C { object F(P<A> p) => p.G().B; }",
            "P.G()! A.B!",
        ),
    ] {
        assert_eq!(usages_in_csharp(&format!("{A}{text}")), expected, "{why}");
    }
}

#[test]
fn a_static_import_provides_members() {
    let text =
        "using static N.S; namespace N { static class S { public static int X; } } class C { int F() => X; }";
    assert_eq!(usages_in_csharp(text), "S.X!");
}

#[test]
fn usages_of_a_member_are_found_in_every_file() {
    let code = parse_csharp(&[
        "class A { public void M() { } public void M(int i) { } public int N; }",
        "class C { void F(A a) { a.M(); a.M(1); a.N = 1; } }",
        "class D { void F(dynamic d, A a) { d.M(); d.M(1, 2); a.M(); } }",
        "class E { public void M() { } void F() { M(); } }",
    ]);
    let resolver = Resolver::new(&code);
    let found = UsageFinder::new(&code, &resolver).usages_of((0, 0, 0));
    let files: Vec<(u32, char)> =
        found.iter().map(|usage| (usage.file, certainty_mark(usage.certainty))).collect();
    assert_eq!(files, [(1, '!'), (2, '?'), (2, '!')]);
}

#[test]
fn usages_are_found_in_other_languages() {
    for (ending, why, text, expected) in [
        (
            "rs",
            "self",
            "struct A { n: u8 } impl A { fn f(&self) -> u8 { self.n } fn g(&self) { self.f(); } }",
            "A.n! A.f!",
        ),
        ("rs", "a type", "struct A; impl A { fn new() -> Self { A } } fn f() { A::new(); }", "A.new!"),
        (
            "rs",
            "the result of a function",
            "struct A { n: u8 } impl A { fn new() -> Self { A { n: 1 } } } fn f() { let a = A::new(); a.n; }",
            "A.n! A.new! A.n!",
        ),
        ("rs", "a parameter", "struct A { n: u8 } fn f(a: &mut A, b: Box<A>) { a.n; b.n; }", "A.n! A.n!"),
        ("rs", "a value of an enumeration", "enum E { X } fn f(e: E) { match e { E::X => {} } }", "E.X!"),
        ("rs", "only a compiler knows", "struct A { n: u8 } fn f(l: Vec<A>) { for a in l { a.n; } }", ""),
        (
            "rs",
            "a call means the function",
            "struct A { n: u8 } impl A { fn n(&self) -> u8 { self.n } fn f(&self) { self.n(); } }",
            "A.n! A.n!",
        ),
        (
            "rs",
            "a struct literal uses its fields",
            "struct A { n: u8, m: u8 } fn f(m: u8) -> A { A { n: 1, m } }",
            "A.n! A.m!",
        ),
        (
            "rs",
            "a type inside a function is another",
            "struct A { n: u8 } impl A { fn f(&self) { struct B { n: u8 } impl B { fn g(&self) { self.n; } } } }",
            "",
        ),
        ("ts", "a value that is called", "class A { n: any; f() { this.n(); } }", "A.n~"),
        (
            "ts",
            "`this` of another object",
            "class A { n = 1; f() { return { n: 2, g() { return this.n; } }; } }",
            "",
        ),
        ("ts", "this", "class A { n = 1; f() { this.n; this.f(); } }", "A.n! A.f()!"),
        ("ts", "a parameter", "class A { n = 1; } function f(a: A) { a.n; }", "A.n!"),
        (
            "ts",
            "a constructed value",
            "class A { f() {} } function g() { const a = new A(); a.f(); }",
            "A.f()!",
        ),
        (
            "ts",
            "another variable with the same name",
            "class A { n = 1; } function f(a: A) { return [1].map(a => a.n); }",
            "",
        ),
        ("py", "self", "class A:\n    def f(self):\n        self.f()\n", "A.f!"),
        (
            "py",
            "a parameter",
            "class A:\n    def f(self):\n        pass\n\ndef g(a: A):\n    a.f()\n",
            "A.f!",
        ),
        (
            "py",
            "a constructed value",
            "class A:\n    def f(self):\n        pass\n\ndef g():\n    A().f()\n",
            "A.f!",
        ),
        (
            "go",
            "a receiver",
            "package p\ntype A struct { n int }\nfunc (a *A) f() { a.n = 1; a.f() }\n",
            "A.n! A.f!",
        ),
        (
            "go",
            "a constructed value",
            "package p\ntype A struct { n int }\nfunc f() { a := &A{}; a.n = 1 }\n",
            "A.n!",
        ),
        (
            "java",
            "an unqualified name",
            "class A { int n; void f() { n = 1; f(); this.n = 2; } }",
            "A.n! A.f()! A.n!",
        ),
        (
            "java",
            "a variable",
            "class A { int n; } class B { void f() { A a = new A(); a.n = 1; var b = new A(); b.n = 1; } }",
            "A.n! A.n!",
        ),
        (
            "java",
            "the number of arguments",
            "class A { void f() {} void f(int i) {} void g() { f(1); } }",
            "A.f(int)!",
        ),
        ("java", "a variable is not a member", "class A { int n; void f(int n) { n = 1; } }", ""),
    ] {
        assert_eq!(usages_in(ending, text), expected, "{ending}: {why}");
    }
}
