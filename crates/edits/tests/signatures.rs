//! Changes of parameters: declarations, overrides and calls in each language, and what is listed instead of guessed.
//!
//! Does not run a compiler.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::type_complexity)] // a test may fail by panicking

use loci_edits::{EditError, Plan, SignatureChange, SymbolPlace, Tree, plan_signature};

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

fn add(declaration: &str, value: &str) -> SignatureChange {
    SignatureChange { add: strings(&[declaration]), value: strings(&[value]), ..SignatureChange::default() }
}

fn remove(name: &str) -> SignatureChange {
    SignatureChange { remove: strings(&[name]), ..SignatureChange::default() }
}

fn order(names: &[&str]) -> SignatureChange {
    SignatureChange { order: strings(names), ..SignatureChange::default() }
}

fn rename(pair: &str) -> SignatureChange {
    SignatureChange { rename: strings(&[pair]), ..SignatureChange::default() }
}

/// Plans a change of the function that is declared at `needle`, in trees of one or several files.
fn plan(
    files: &[(&str, &str)],
    needle: &str,
    name: &str,
    change: &SignatureChange,
) -> Result<(Plan, String), EditError> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tree = Tree::open(root.path(), 1).unwrap();
    let (file, text) = files.iter().find(|(_, text)| text.contains(needle)).unwrap();
    let at = (text.find(needle).unwrap() + needle.find(name).unwrap()) as u32;
    let place = SymbolPlace { file: (*file).to_owned(), at, name: name.to_owned() };
    let plan = plan_signature(&tree, &place, change, false)?;
    let contents = plan.contents(&tree)?;
    let text = |(path, old): &(&str, &str)| match contents.get(*path) {
        Some(Some(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
        _ => (*old).to_owned(),
    };
    let after = files.iter().map(text).collect();
    Ok((plan, after))
}

fn changed(files: &[(&str, &str)], needle: &str, name: &str, change: &SignatureChange) -> String {
    let (plan, after) = plan(files, needle, name, change).unwrap();
    assert!(plan.is_complete(), "{:?}\n{after}", plan.unsure);
    after
}

const RUST: &str = "fn get(a: u8, b: u16) -> u8 {\n    a\n}\n\nfn f() {\n    get(1, 2);\n    assert_eq!(get(get(3, 4), 5), 6);\n}\n";

#[test]
fn a_parameter_is_added_with_a_value_at_every_call() {
    let after = changed(&[("a.rs", RUST)], "fn get", "get", &add("c: bool", "true"));
    assert!(after.starts_with("fn get(a: u8, b: u16, c: bool)"), "{after}");
    assert!(after.contains("get(1, 2, true);\n    assert_eq!(get(get(3, 4, true), 5, true), 6)"), "{after}");
}

#[test]
fn parameters_are_removed_reordered_and_renamed() {
    let after = changed(&[("a.rs", RUST)], "fn get", "get", &remove("b"));
    assert!(after.contains("fn get(a: u8)") && after.contains("get(1);"), "{after}");
    assert!(after.contains("get(get(3))"), "{after}");
    let after = changed(&[("a.rs", RUST)], "fn get", "get", &order(&["b", "a"]));
    assert!(after.contains("fn get(b: u16, a: u8)") && after.contains("get(2, 1);"), "{after}");
    let after = changed(&[("a.rs", RUST)], "fn get", "get", &rename("a=first"));
    assert!(after.contains("fn get(first: u8, b: u16) -> u8 {\n    first\n}"), "{after}");
    assert!(after.contains("get(1, 2);"), "{after}");
}

#[test]
fn layout_of_long_lists_stays() {
    let text = "def get(\n    a,\n    b,\n):\n    return a\n\nget(\n    1,\n    2,\n)\n";
    let after = changed(&[("a.py", text)], "def get", "get", &add("c", "3"));
    assert_eq!(
        after,
        "def get(\n    a,\n    b,\n    c,\n):\n    return a\n\nget(\n    1,\n    2,\n    3,\n)\n"
    );
    let after = changed(&[("a.py", text)], "def get", "get", &remove("b"));
    assert_eq!(after, "def get(\n    a,\n):\n    return a\n\nget(\n    1,\n)\n");
}

#[test]
fn overrides_and_implementations_change_too() {
    let table: &[(&[(&str, &str)], &str, &str, SignatureChange, usize, &str)] = &[
        (
            &[
                (
                    "Base.java",
                    "package p;\nabstract class Base { abstract int get(int a); int f() { return get(1); } }\n",
                ),
                (
                    "Sub.java",
                    "package p;\nclass Sub extends Base { @Override int get(int a) { return a; } int g(Sub s) { return s.get(2); } }\n",
                ),
            ],
            "int get",
            "get",
            add("String b", "\"x\""),
            2,
            "String b",
        ),
        (
            &[(
                "a.rs",
                "trait T { fn get(&self, a: u8) -> u8; }\nstruct S;\nimpl T for S { fn get(&self, a: u8) -> u8 { a } }\nfn f(s: S) -> u8 { s.get(1) + S::get(&s, 2) + T::get(&s, 3) }\n",
            )],
            "fn get",
            "get",
            add("b: u8", "9"),
            2,
            "b: u8",
        ),
        (
            &[(
                "A.cs",
                "namespace N { interface I { int Get(int a); } class C : I { public int Get(int a) => a; int F(C c) => c.Get(1) + this.Get(a: 2); } }\n",
            )],
            "Get(int",
            "Get",
            add("int b", "9"),
            2,
            "int b",
        ),
        (
            &[(
                "a.go",
                "package a\ntype I interface { Get(int) int }\ntype T struct{}\nfunc (t T) Get(a int) int { return a }\nfunc f(t T) int { return t.Get(1) }\n",
            )],
            "Get(a int)",
            "Get",
            add("b int", "9"),
            1,
            "b int",
        ),
        (
            &[
                ("package.json", "{\"name\":\"a\"}"),
                (
                    "a.ts",
                    "export interface I { get(a: number): number }\nexport class C implements I { get(a: number): number { return a; } }\nexport function f(c: C): number { return c.get(1); }\n",
                ),
            ],
            "get(a",
            "get",
            add("b: number", "9"),
            2,
            "b: number",
        ),
    ];
    for (files, needle, name, change, count, text) in table {
        let after = changed(files, needle, name, change);
        assert_eq!(after.matches(text).count(), *count, "{after}");
    }
    let go = changed(table[3].0, table[3].1, table[3].2, &table[3].3);
    assert!(go.contains("Get(int, int) int") && go.contains("t.Get(1, 9)"), "{go}");
    let rust = changed(table[1].0, table[1].1, table[1].2, &table[1].3);
    assert!(rust.contains("s.get(1, 9) + S::get(&s, 2, 9) + T::get(&s, 3, 9)"), "{rust}");
    let csharp = changed(table[2].0, table[2].1, table[2].2, &table[2].3);
    assert!(csharp.contains("c.Get(1, 9) + this.Get(a: 2, b: 9)"), "{csharp}");
}

#[test]
fn named_and_optional_arguments_stay_with_their_parameters() {
    let python = "def get(a, b=2, *, c=3):\n    return a\n\nget(1)\nget(1, 2)\nget(a=1, c=4)\nget(1, b=5)\n";
    let after = changed(&[("a.py", python)], "def get", "get", &add("d", "7"));
    let expected = "def get(a, d, b=2, *, c=3):\n    return a\n\nget(1, 7)\nget(1, 7, 2)\nget(a=1, d=7, c=4)\nget(1, 7, b=5)\n";
    assert_eq!(after, expected);
    let after = changed(&[("a.py", python)], "def get", "get", &rename("c=cc"));
    assert!(after.contains("get(a=1, cc=4)") && after.contains("*, cc=3"), "{after}");
    let optional = SignatureChange { add: strings(&["d=0"]), ..SignatureChange::default() };
    let after = changed(&[("a.py", python)], "def get", "get", &optional);
    assert!(after.contains("def get(a, b=2, d=0, *, c=3)") && after.contains("get(1, 2)\n"), "{after}");
    let typescript =
        "function get(a: number, b?: number, c?: number) { return a; }\nget(1);\nget(1, 2, 3);\n";
    let after = changed(&[("a.ts", typescript)], "function get", "get", &remove("b"));
    assert!(after.contains("get(1);\nget(1, 3);"), "{after}");
}

#[test]
fn names_that_share_a_type_in_go_get_their_own() {
    let go =
        "package a\nfunc get(a, b int, c ...string) int { return a }\nfunc f() { get(1, 2, \"x\", \"y\") }\n";
    let after = changed(&[("a.go", go)], "func get", "get", &order(&["b", "a", "c"]));
    assert!(after.contains("get(b int, a int, c ...string)"), "{after}");
    assert!(after.contains("get(2, 1, \"x\", \"y\")"), "{after}");
}

fn refused(files: &[(&str, &str)], needle: &str, name: &str, change: &SignatureChange) -> EditError {
    plan(files, needle, name, change).and_then(|(plan, _)| plan.require_complete()).unwrap_err()
}

#[test]
fn what_is_unsure_is_listed() {
    let table: &[(&str, &str, &str, SignatureChange, u32, &str)] = &[
        (
            "a.rs",
            "fn get(a: u8) {}\nfn f() { let g = get; }\n",
            "fn get",
            add("b: u8", "1"),
            2,
            "otherwise than by a call",
        ),
        ("a.py", "def get(a): pass\nget(*x)\n", "def get", add("b", "1"), 2, "as several arguments"),
        ("a.py", "@app.route('/')\ndef get(a): pass\n", "def get", add("b", "1"), 2, "decorator"),
        (
            "a.py",
            "class A:\n    def get(self, a): pass\nclass B:\n    def get(self, a): pass\ndef f(x):\n    x.get(1)\n",
            "def get",
            add("b", "1"),
            6,
            "only the name",
        ),
        ("a.rs", "fn get(a: u8) {}\nfn f() { get(g()); }\n", "fn get", remove("a"), 2, "may have an effect"),
        (
            "A.java",
            "class A { void get(int a) {} void get(String a) {} void f() { get(1); } }\n",
            "void get",
            add("int b", "1"),
            1,
            "as many parameters",
        ),
        (
            "A.java",
            "class A { void get(int a) {} void get(int a, int b) {} }\n",
            "void get",
            add("int b", "1"),
            1,
            "takes as many arguments",
        ),
        (
            "A.java",
            "interface A { void get(int a); }\n",
            "void get",
            add("int b", "1"),
            1,
            "a lambda may implement it",
        ),
        (
            "A.cs",
            "static class A { static void Get(this string a) {} void F(string s) { s.Get(); } }\n",
            "void Get",
            add("int b", "1"),
            1,
            "extension",
        ),
        (
            "a.go",
            "package a\nfunc get(a int) {}\nfunc f(x int) { get(x) }\n",
            "func get",
            remove("a"),
            3,
            "may be unused",
        ),
    ];
    for (path, text, needle, change, line, reason) in table {
        let name = needle.split(' ').nth(1).unwrap();
        let error = refused(&[(path, text)], needle, name, change);
        let named = error.places().iter().any(|it| it.line == *line && it.reason.contains(reason));
        assert!(named, "{text}: {error:?}");
    }
}

#[test]
fn calls_of_other_overloads_stay() {
    let java = "class A { void get(int a) {} void get() {} void f() { get(1); get(); } }\n";
    let change = SignatureChange {
        add: strings(&["int b", "int c"]),
        value: strings(&["2", "3"]),
        ..SignatureChange::default()
    };
    let after = changed(&[("A.java", java)], "void get(int", "get", &change);
    assert!(
        after.contains("get(int a, int b, int c) {} void get() {} void f() { get(1, 2, 3); get(); }"),
        "{after}"
    );
}

#[test]
fn what_cannot_be_done_says_what_to_type() {
    let table: &[(SignatureChange, &str, &str)] = &[
        (remove("x"), "no parameter `x`", "parameters: a, b"),
        (SignatureChange { add: strings(&["c: u8"]), ..SignatureChange::default() }, "no value", "--value"),
        (add("c", "1"), "has no type", "limit: u32"),
        (order(&["a"]), "does not name every parameter", "--order a,b"),
        (order(&["a", "a"]), "named twice", "--order a,b"),
        (rename("a"), "is not a rename", "OLD=NEW"),
    ];
    for (change, message, hint) in table {
        let error = refused(&[("a.rs", RUST)], "fn get", "get", change);
        assert!(error.to_string().contains(message) && error.hint().contains(hint), "{error:?}");
    }
    assert!(matches!(refused(&[("a.rs", RUST)], "fn get", "get", &order(&["a", "b"])), EditError::NoChange));
    assert!(matches!(refused(&[("a.rs", RUST)], "fn get", "get", &remove("a")), EditError::StillUsed { .. }));
    assert!(matches!(
        refused(&[("a.rs", RUST)], "fn get", "get", &rename("a=b")),
        EditError::Captured { .. }
    ));
}
