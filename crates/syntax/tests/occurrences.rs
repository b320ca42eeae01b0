//! Every occurrence of a name has the right role and the right variable, in each language.
//!
//! Does not test what a free name or a member refers to in other files.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::type_complexity)] // a test may fail by panicking

use loci_syntax::{Occurrences, Reader, Role, Symbols, language_of};

fn find(path: &str, text: &str, name: &str) -> Occurrences {
    let language = language_of(path.as_ref()).unwrap();
    Reader::new(language).unwrap().occurrences(text, &Symbols::default(), name)
}

/// One word per occurrence: its role, and the number of its variable.
fn roles(path: &str, text: &str) -> String {
    let found = find(path, text, "n");
    let word = |role: Role| match role {
        Role::Declaration => "decl",
        Role::Binding => "bind",
        Role::Name => "name",
        Role::Member => "member",
        Role::Key => "key",
        Role::Shorthand => "short",
        Role::ShorthandBinding => "shortbind",
        Role::Import => "import",
        Role::Label => "label",
        Role::Capture => "capture",
        Role::Comment => "comment",
        Role::Text => "text",
        Role::Inactive => "inactive",
        Role::Unparsed => "unparsed",
    };
    let one = |it: &loci_syntax::Occurrence| {
        it.variable.map_or_else(|| word(it.role).to_owned(), |at| format!("{}{at}", word(it.role)))
    };
    found.all.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn roles_in_every_language() {
    let table = [
        ("a.rs", "fn f(n: u8) { n; let n = n; n }", "bind0 name0 bind1 name0 name1"),
        (
            "a.rs",
            "fn f(n: u8) { x.n(n); a::n; S { n }; S { n: 1 }; }",
            "bind0 member name0 member short0 key",
        ),
        (
            "a.rs",
            "fn f(s: S) { let S { n } = s; n; match s { n if n > 1 => n, _ => 0 } }",
            "shortbind0 name0 bind1 name1 name1",
        ),
        (
            "a.rs",
            "fn f() { for n in n { n } if let Some(n) = n { n } else { n } }",
            "bind0 name name0 bind1 name name1 name",
        ),
        (
            "a.rs",
            "fn f(n: u8) { println!(\"{n} {n:?} {{n}} n\", n, a.n); |n| n }",
            "bind0 capture0 capture0 text text name0 member bind1 name1",
        ),
        (
            "a.rs",
            "use a::n; struct n; mod b { fn n() {} } 'n: loop { break 'n }",
            "import decl decl label label",
        ),
        (
            "a.go",
            "package n\nfunc n(n int) { n, e := f(n); a.n = n; T{n: n} }",
            "label decl bind0 bind0 name0 member name0 key name0",
        ),
        (
            "a.go",
            "package p\nfunc f() { for _, n := range n { n() }\n n = 1\n if n := 1; n > 0 { n() }\n n() }",
            "bind0 name name0 name bind1 name1 name1 name",
        ),
        (
            "A.java",
            "import a.n; class A { int n; int m(int n) { this.n = n; return n.n(); } void n() { n(); a.n(); A::n; } }",
            "import decl bind0 member name0 name0 member decl name member member",
        ),
        (
            "A.java",
            "class A { void m() { int n = 1; n++; f(n -> n, (a, n) -> n); for (int n : n) {} } record R(int n) {} }",
            "bind0 name0 bind1 name1 bind2 name2 bind3 name0 decl",
        ),
        (
            "a.ts",
            "import { n } from 'n'; export function n(n: n) { const { n: x, y: n } = a; return { n, n: n.n }; }",
            "import text decl bind0 name key bind0 short0 key name0 member",
        ),
        (
            "a.ts",
            "class A { n = 1; constructor(private n: B) {} m() { let n = this.n; return () => n } } const { n } = a;",
            "decl unparsed bind0 member name0 shortbind",
        ),
        (
            "a.ts",
            "import * as n from 'x'; function f(n: n.A) { const y: n.b.B[] = n; let z: typeof n; }",
            "import bind0 name name name0 name0",
        ),
        (
            "a.py",
            "from a import n\ndef n(n, m=n):\n    n = f(n=n)\n    self.n = [n for n in n]\n",
            "import decl bind0 name0 bind0 key name0 member name1 bind1 name0",
        ),
        (
            "a.py",
            "class A:\n    n = 1\n    def f(self) -> 'n':\n        return self.n\nn = 2\n# n\nx = 'n'\n",
            "decl name member decl comment text",
        ),
        (
            "a.cs",
            "using n; class A { int n; void M(int n) { this.n = n; F(n: n); var f = n => n; } B n<T>() => n<T>(); }",
            "import decl bind0 member name0 key name0 bind1 name1 decl name",
        ),
        (
            "a.cs",
            "class A { void M() {\n#if NO\n n();\n#endif\n if (x is B n) n(); foreach (var n in n) n(); } }",
            "inactive bind0 name0 bind1 name0 name1",
        ),
    ];
    for (path, text, expected) in table {
        assert_eq!(roles(path, text), expected, "{text}");
    }
}

#[test]
fn a_word_is_found_only_whole() {
    let found = find("a.rs", "fn n_() { nn; $n; r#n; n }", "n");
    let places: Vec<u32> = found.all.iter().map(|it| it.span.from).collect();
    assert_eq!(places, [20, 23]);
    assert_eq!(found.all[0].role, Role::Unparsed, "a raw identifier is another token");
}

#[test]
fn a_key_names_what_it_belongs_to() {
    let owner = |path, text| find(path, text, "n").all[0].owner.clone();
    assert_eq!(owner("a.rs", "fn f() { a::S::<T> { n: 1 }; }").as_deref(), Some("S"));
    assert_eq!(owner("a.go", "package p\nvar a = b.T{n: 1}").as_deref(), Some("T"));
    assert_eq!(owner("a.py", "a.f(n=1)").as_deref(), Some("f"));
    assert_eq!(owner("a.cs", "class A { void M() { a.F(n: 1); } }").as_deref(), Some("F"));
}
