//! Renames in six languages: every mention changes, nothing else does, and what is unsure is refused with its place.
//!
//! Does not run compilers: `examples/renames.rs` does, on real repositories.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::type_complexity)] // a test may fail by panicking

use loci_edits::{EditError, Plan, RenameOptions, SymbolPlace, Tree, plan_rename};
use std::path::Path;

fn tree_of(files: &[(&str, &str)]) -> (tempfile::TempDir, Tree) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tree = Tree::open(root.path(), 1).unwrap();
    (root, tree)
}

/// The place of the first `needle` in a file; the name is the word there.
fn place(root: &Path, file: &str, needle: &str, name: &str) -> SymbolPlace {
    let text = std::fs::read_to_string(root.join(file)).unwrap();
    let at = text.find(needle).unwrap() + needle.find(name).unwrap();
    SymbolPlace { file: file.to_owned(), at: at as u32, name: name.to_owned() }
}

fn rename(files: &[(&str, &str)], at: (&str, &str, &str), new: &str) -> Result<Plan, EditError> {
    let (root, tree) = tree_of(files);
    plan_rename(&tree, &place(root.path(), at.0, at.1, at.2), new, RenameOptions::default())
}

/// The files after the rename, one after the other.
fn renamed(files: &[(&str, &str)], at: (&str, &str, &str), new: &str) -> String {
    let (root, tree) = tree_of(files);
    let plan =
        plan_rename(&tree, &place(root.path(), at.0, at.1, at.2), new, RenameOptions::default()).unwrap();
    let places: Vec<_> = plan.unsure.iter().map(|it| &it.place).collect();
    assert!(plan.is_complete(), "{places:#?}");
    let new = plan.contents(&tree).unwrap();
    let text = |path: &str, old: &str| match new.get(path) {
        Some(Some(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
        Some(None) => format!("gone: {path}\n"),
        None => old.to_owned(),
    };
    files.iter().map(|(path, old)| text(path, old)).collect()
}

#[test]
fn a_rust_function_is_renamed_in_other_modules() {
    let files = [
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("src/lib.rs", "mod b;\npub use b::get;\nfn f() { get(); b::get(); crate::b::get() }\n"),
        (
            "src/b.rs",
            "pub fn get() {}\nstruct S { get: u8 }\nimpl S { fn h(&self) { self.get; let get = 1; get; } }\n",
        ),
    ];
    let after = renamed(&files, ("src/b.rs", "fn get", "get"), "fetch");
    assert_eq!(after.matches("fetch").count(), 5, "{after}");
    assert!(after.contains("self.get; let get = 1; get;") && after.contains("{ get: u8 }"), "{after}");
}

#[test]
fn a_rust_field_is_renamed_in_literals_patterns_and_accesses() {
    let files = [
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        (
            "src/lib.rs",
            "pub struct P { size: u8 }\nimpl P {\n    fn new(size: u8) -> P { P { size } }\n    fn of() -> Self { Self { size: 1 } }\n    fn get(&self) -> u8 { let P { size } = self; self.size + *size }\n}\n",
        ),
    ];
    let after = renamed(&files, ("src/lib.rs", "size: u8", "size"), "len");
    let expected = "pub struct P { len: u8 }\nimpl P {\n    fn new(size: u8) -> P { P { len: size } }\n    fn of() -> Self { Self { len: 1 } }\n    fn get(&self) -> u8 { let P { len: size } = self; self.len + *size }\n}\n";
    assert!(after.ends_with(expected), "{after}");
}

#[test]
fn a_java_method_is_renamed_with_its_overrides_and_the_file_with_its_class() {
    let files = [
        ("pom.xml", "<project><artifactId>a</artifactId></project>"),
        (
            "src/Base.java",
            "package p;\nclass Base { int get() { return 1; } int use() { return this.get() + get(); } }\n",
        ),
        (
            "src/Sub.java",
            "package p;\nclass Sub extends Base { @Override int get() { return super.get(); } }\n",
        ),
        (
            "src/Other.java",
            "package p;\nclass Other { int get() { return 2; } int f(Other o, Sub s) { return o.get() + s.get(); } }\n",
        ),
    ];
    let after = renamed(&files, ("src/Base.java", "int get", "get"), "fetch");
    assert_eq!(after.matches("fetch").count(), 6, "{after}");
    assert!(after.contains("o.get() + s.fetch()"), "{after}");
    let after = renamed(&files, ("src/Sub.java", "class Sub", "Sub"), "Child");
    assert!(after.contains("gone: src/Sub.java") && after.contains("f(Other o, Child s)"), "{after}");
}

#[test]
fn a_type_is_renamed_in_every_language() {
    let table: &[(&[(&str, &str)], (&str, &str, &str), usize)] = &[
        (
            &[
                ("package.json", "{\"name\": \"a\"}"),
                ("src/a.ts", "export class Store { of(s: Store): Store { return new Store(); } }\n"),
                ("src/b.ts", "import { Store } from './a';\nconst s: Store = new Store();\n"),
            ],
            ("src/a.ts", "class Store", "Store"),
            7,
        ),
        (
            &[
                ("pyproject.toml", "[project]\nname = \"a\"\n"),
                ("a/__init__.py", "from .b import Store\n__all__ = [\"Store\"]\n"),
                ("a/b.py", "class Store:\n    def of(self) -> 'Store':\n        return Store()\n"),
            ],
            ("a/b.py", "class Store", "Store"),
            5,
        ),
        (
            &[
                ("go.mod", "module a\n"),
                ("a.go", "package a\ntype Store struct{}\nfunc (s *Store) Of() Store { return Store{} }\n"),
                ("b.go", "package a\nfunc f(s *Store) {}\n"),
            ],
            ("a.go", "type Store", "Store"),
            5,
        ),
        (
            &[
                ("a.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"></Project>"),
                ("A.cs", "namespace N { class Store { Store() {} static Store Of() => new Store(); } }\n"),
                ("B.cs", "namespace N { class B { Store s; string n = nameof(Store); } }\n"),
            ],
            ("A.cs", "class Store", "Store"),
            6,
        ),
    ];
    for (files, at, count) in table {
        let after = renamed(files, *at, "Depot");
        assert_eq!(after.matches("Depot").count(), *count, "{after}");
        assert!(!after.contains("Store"), "{after}");
    }
}

#[test]
fn locals_and_parameters_are_renamed_in_their_scope_only() {
    let table: &[(&str, &str, &str, &str)] = &[
        (
            "a.rs",
            "fn f(n: u8) -> u8 { let n = n + 1; println!(\"{n}\"); n }\n",
            "n + 1",
            "fn f(m: u8) -> u8 { let n = m + 1; println!(\"{n}\"); n }\n",
        ),
        (
            "a.rs",
            "fn f(n: u8) -> u8 { let n = n + 1; println!(\"{n}\"); n }\n",
            "n = n",
            "fn f(n: u8) -> u8 { let m = n + 1; println!(\"{m}\"); m }\n",
        ),
        (
            "a.go",
            "package a\nfunc f(n int) { a.n = n; n, e := g(n) }\n",
            "n int",
            "package a\nfunc f(m int) { a.n = m; m, e := g(m) }\n",
        ),
        (
            "a.ts",
            "function f(n: number) { return { n, x: o.n }; }\n",
            "n: number",
            "function f(m: number) { return { n: m, x: o.n }; }\n",
        ),
        (
            "a.py",
            "def f(n):\n    return [n for n in n] + n\n\nf(n=1)\ng(n=2)\n",
            "n):",
            "def f(m):\n    return [n for n in m] + m\n\nf(m=1)\ng(n=2)\n",
        ),
        (
            "A.java",
            "class A { int n; void f(int n) { this.n = n; g(x -> n); } }\n",
            "n) {",
            "class A { int n; void f(int m) { this.n = m; g(x -> m); } }\n",
        ),
        (
            "A.cs",
            "class A { int n; void F(int n) { this.n = n; F(n: n); } }\n",
            "n) {",
            "class A { int n; void F(int m) { this.n = m; F(m: m); } }\n",
        ),
    ];
    for (path, text, needle, expected) in table {
        let name = "n";
        assert_eq!(renamed(&[(path, text)], (path, needle, name), "m"), *expected);
    }
}

fn refusal(files: &[(&str, &str)], at: (&str, &str, &str), new: &str) -> EditError {
    rename(files, at, new).and_then(|plan| plan.require_complete()).unwrap_err()
}

#[test]
fn an_unsure_place_is_named() {
    let files = [(
        "a.py",
        "class A:\n    def get(self): pass\nclass B:\n    def get(self): pass\ndef f(x):\n    x.get()\n",
    )];
    let error = refusal(&files, ("a.py", "get", "get"), "fetch");
    assert_eq!((error.places()[0].line, error.places()[0].text.as_str()), (6, "x.get()"), "{error:?}");
}

#[test]
fn inactive_code_and_macro_definitions_are_unsure() {
    let csharp = [("A.cs", "class A { void Get() {}\n#if OLD\n void F() { Get(); }\n#endif\n}\n")];
    let error = refusal(&csharp, ("A.cs", "Get", "Get"), "Fetch");
    assert_eq!(
        (error.places()[0].line, error.places()[0].reason.as_str()),
        (3, "excluded by the preprocessor")
    );
    let rust = [("a.rs", "fn get() {}\nmacro_rules! m { () => { get() } }\n")];
    let error = refusal(&rust, ("a.rs", "get", "get"), "fetch");
    assert_eq!(error.places()[0].line, 2, "{error:?}");
}

#[test]
fn a_name_that_is_taken_is_refused_with_the_place() {
    let files = [("a.rs", "fn get() {}\nfn fetch() {}\nfn f(a: u8) { let b = a; }\n")];
    let error = refusal(&files, ("a.rs", "get", "get"), "fetch");
    assert!(matches!(&error, EditError::Captured { places, .. } if places[0].line == 2), "{error:?}");
    let error = refusal(&files, ("a.rs", "a: u8", "a"), "b");
    assert!(matches!(&error, EditError::Captured { places, .. } if places[0].line == 3), "{error:?}");
    for bad in ["fn", "9a", "a-b", "", "get"] {
        assert!(rename(&files, ("a.rs", "get", "get"), bad).is_err(), "{bad}");
    }
}

#[test]
fn a_member_that_another_library_prescribes_is_refused() {
    let java = [("A.java", "class A implements Runnable { @Override public void run() {} }\n")];
    assert!(matches!(refusal(&java, ("A.java", "run", "run"), "go"), EditError::DeclaredOutside { .. }));
    let rust = [("a.rs", "struct A;\nimpl std::fmt::Display for A { fn fmt(&self) {} }\n")];
    assert!(matches!(refusal(&rust, ("a.rs", "fmt(", "fmt"), "show"), EditError::DeclaredOutside { .. }));
    let python = [("a.py", "class A:\n    def __init__(self): pass\n")];
    assert!(matches!(
        refusal(&python, ("a.py", "__init__", "__init__"), "x"),
        EditError::DeclaredOutside { .. }
    ));
    let go = [("a.go", "package a\ntype T int\nfunc (t T) String() string { return \"\" }\n")];
    assert!(matches!(refusal(&go, ("a.go", "String()", "String"), "Text"), EditError::Incomplete(_)));
}

#[test]
fn generated_files_are_refused_and_ignored_ones_are_not_looked_at() {
    let generated = [("a.go", "// Code generated by tool. DO NOT EDIT.\npackage a\nfunc get() {}\n")];
    assert!(matches!(refusal(&generated, ("a.go", "get", "get"), "fetch"), EditError::Generated(_)));
    let ignored = [
        (".git/HEAD", ""),
        (".gitignore", "out\n"),
        ("out/b.rs", "fn f() { get(); }\n"),
        ("a.rs", "fn get() {}\n"),
    ];
    let plan = rename(&ignored, ("a.rs", "get", "get"), "fetch").unwrap();
    assert_eq!(plan.files.len(), 1);
}

#[test]
fn comments_and_strings_change_only_on_request() {
    let files = [("a.rs", "/// get\nfn get() { let s = \"get it\"; }\n")];
    let (root, tree) = tree_of(&files);
    let at = place(root.path(), "a.rs", "fn get", "get");
    let count = |in_comments| {
        let options = RenameOptions { in_comments, ..RenameOptions::default() };
        plan_rename(&tree, &at, "fetch", options).unwrap().edit_count()
    };
    assert_eq!((count(false), count(true)), (1, 3));
}

#[test]
fn likely_places_are_included_on_request() {
    let files = [("a.py", "class A:\n    def get_all(self): pass\ndef f(x):\n    x.get_all()\n")];
    let (root, tree) = tree_of(&files);
    let at = place(root.path(), "a.py", "get_all", "get_all");
    let plan = |include_likely| {
        let options = RenameOptions { include_likely, ..RenameOptions::default() };
        plan_rename(&tree, &at, "fetch_all", options).unwrap()
    };
    assert_eq!((plan(false).edit_count(), plan(false).is_complete()), (1, false));
    assert_eq!((plan(true).edit_count(), plan(true).is_complete()), (2, true));
}

#[test]
fn keys_and_embedded_fields_of_go_are_for_the_compiler() {
    let text = "package p\n\ntype writer struct{}\n\ntype flusher struct {\n\twriter\n}\n\nconst kind = 1\n\nvar names = map[int]string{kind: \"k\"}\n\nfunc f(it flusher) flusher { _ = it.writer; return flusher{writer: it.writer} }\n";
    let files = [("go.mod", "module a\n"), ("p.go", text)];
    let uncertain = |needle, name| {
        let plan = rename(&files, ("p.go", needle, name), "renamed").unwrap();
        plan.unsure.iter().map(|it| (it.place.line, it.can_be_compiled)).collect::<Vec<_>>()
    };
    assert_eq!(uncertain("const kind", "kind"), [(11, true)], "a key of a map");
    assert_eq!(uncertain("type writer", "writer"), [(13, true), (13, true), (13, true)]);
    assert_eq!(uncertain("type flusher", "flusher"), [], "nothing embeds it");
}

#[test]
fn a_trait_does_not_declare_the_members_of_the_traits_it_requires() {
    let files = [
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        (
            "src/lib.rs",
            "trait Flag: std::fmt::Debug { fn name(&self); }\nimpl Flag for u8 { fn name(&self) {} }\nfn f(it: &dyn Flag) { it.name() }\n",
        ),
    ];
    assert_eq!(renamed(&files, ("src/lib.rs", "fn name", "name"), "label").matches("label").count(), 3);
}

#[test]
fn names_behind_an_import_that_cannot_be_followed_are_uncertain() {
    let files = [
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("tests/all.rs", "mod util;\nmod one;\n"),
        ("tests/util.rs", "pub fn sorted() {}\n"),
        ("tests/one.rs", "use crate::elsewhere::sorted;\n#[test]\nfn f() { sorted(); check!(sorted()); }\n"),
    ];
    let plan = rename(&files, ("tests/util.rs", "fn sorted", "sorted"), "ordered").unwrap();
    let places: Vec<_> = plan.unsure.iter().map(|it| (it.place.line, it.likely)).collect();
    assert_eq!(places, [(1, true), (3, true), (3, true)]);
}

#[test]
fn a_type_and_a_value_of_typescript_with_one_name_are_one_symbol() {
    let files = [
        ("package.json", "{}"),
        (
            "a.ts",
            "export interface Any { kind: string }\nexport const Any = { make(): Any { return { kind: \"\" } } };\n",
        ),
        ("b.ts", "import { Any } from \"./a.js\";\nexport const it: Any = Any.make();\n"),
    ];
    for declared in ["interface Any", "const Any"] {
        let after = renamed(&files, ("a.ts", declared, "Any"), "Every");
        assert_eq!((after.matches("Any").count(), after.matches("Every").count()), (0, 6), "{after}");
    }
}

#[test]
fn names_behind_a_chain_of_modules_and_nested_types_are_seen() {
    let files = [
        ("package.json", "{}"),
        ("regexes.ts", "export const protocol = /a/;\n"),
        ("core.ts", "export * as regexes from \"./regexes.js\";\n"),
        ("b.ts", "import * as core from \"./core.js\";\nexport const it = core.regexes.protocol;\n"),
    ];
    let plan = rename(&files, ("regexes.ts", "const protocol", "protocol"), "scheme").unwrap();
    let is_seen =
        plan.files.iter().any(|it| it.path == "b.ts") || plan.unsure.iter().any(|it| it.place.file == "b.ts");
    assert!(is_seen, "{plan:?}");
    let text = "class Outer:\n    class Custom(Exception):\n        pass\n    def f(self):\n        raise self.Custom()\n";
    let plan = rename(&[("a.py", text)], ("a.py", "class Custom", "Custom"), "Other").unwrap();
    let changed: usize = plan.files.iter().map(|it| it.edits.len()).sum();
    assert_eq!(changed + plan.unsure.len(), 2, "{plan:?}");
}

#[test]
fn labels_of_a_switch_are_for_the_compiler() {
    let text = "enum Kind { ONE, TWO }\nclass A {\n  int f(Kind k) {\n    switch (k) {\n      case ONE:\n        return 1;\n      default:\n        return Kind.ONE.ordinal();\n    }\n  }\n}\n";
    let plan = rename(&[("A.java", text)], ("A.java", "ONE, TWO", "ONE"), "FIRST").unwrap();
    let lines: Vec<_> = plan.unsure.iter().map(|it| (it.place.line, it.can_be_compiled)).collect();
    assert_eq!(lines, [(5, true)], "{}", plan.diff);
}

#[test]
fn documentation_of_python_is_no_string_with_the_name() {
    let text = "class A:\n    def get(self):\n        \"\"\"See :meth:`get`.\"\"\"\n    def f(self):\n        return self.get(), getattr(self, \"get\")\n";
    let plan = rename(&[("a.py", text)], ("a.py", "def get", "get"), "fetch").unwrap();
    assert_eq!(plan.unsure.iter().map(|it| it.place.line).collect::<Vec<_>>(), [5], "{:?}", plan.unsure);
}

#[test]
fn a_package_hands_a_renamed_name_on_under_the_new_name() {
    let files = [
        ("p/__init__.py", "from .a import get as get\nfrom .a import put as get_it\n"),
        ("p/a.py", "def get(): pass\ndef put(): pass\n"),
        ("use.py", "import p\np.get()\n"),
    ];
    let plan = rename(&files, ("p/a.py", "def get", "get"), "fetch").unwrap();
    assert!(plan.is_complete(), "{:?}", plan.unsure);
    assert!(plan.diff.contains("+from .a import fetch as fetch\n"), "{}", plan.diff);
    assert!(plan.diff.contains("+p.fetch()\n"), "{}", plan.diff);
    // a name that it gets only there is another one
    let plan = rename(&files, ("p/a.py", "def put", "put"), "store").unwrap();
    assert!(plan.diff.contains("+from .a import store as get_it\n"), "{}", plan.diff);
}
