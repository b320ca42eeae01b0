//! Usages of free functions and values across files: imports, re-exports, packages, and names that only look the same.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use code::{Certainty, RefreshOptions};
use loci_code_index::Store;
use std::fs;

struct Case {
    why: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The full name of the module or type, and the member.
    symbol: (&'static str, &'static str),
    /// `path:line` of each usage; `~` for likely, `?` for possible.
    expected: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        why: "Python: an import, a re-export, an alias, a module, and locals with the same name",
        files: &[
            ("pyproject.toml", "[project]\nname = \"shop\"\n"),
            ("shop/__init__.py", "from .tools import clean as clean\n"),
            ("shop/tools.py", "def clean(x):\n    return x\n\ndef twice(x):\n    return clean(clean(x))\n"),
            (
                "shop/a.py",
                "from .tools import clean\n\nclass A:\n    def f(self):\n        return clean(self)\n",
            ),
            ("shop/b.py", "from shop import clean as tidy\n\nprint(tidy(1))\n"),
            ("shop/c.py", "from . import tools\nimport shop\n\ntools.clean(1)\nshop.clean(2)\n"),
            (
                "shop/d.py",
                "def f(clean):\n    return clean(1)\n\ndef g():\n    clean = 1\n    return clean\n",
            ),
            ("shop/e.py", "from other import clean\n\nclean(1)\n"),
            ("shop/f.py", "from shop.tools import *\n\nprint([clean(x) for x in range(3)])\n"),
        ],
        symbol: ("shop.tools", "clean"),
        expected: &[
            "shop/__init__.py:1",
            "shop/a.py:1",
            "shop/a.py:5",
            "shop/b.py:1",
            "shop/b.py:3",
            "shop/c.py:4",
            "shop/c.py:5",
            "shop/f.py:3",
            "shop/tools.py:5",
            "shop/tools.py:5",
        ],
    },
    Case {
        why: "Rust: use declarations, paths from a root, nested modules, facade crates and macros",
        files: &[
            ("Cargo.toml", "[workspace]\n"),
            ("kit/Cargo.toml", "[package]\nname = \"kit\"\n"),
            (
                "kit/src/lib.rs",
                "mod text;\npub use crate::text::trim;\nfn f() { text::trim(); crate::text::trim(); }\n",
            ),
            (
                "kit/src/text.rs",
                "pub fn trim() {}\n#[cfg(test)]\nmod tests {\n    use super::*;\n    fn t() { assert_eq!(trim(), super::trim()); }\n}\n",
            ),
            ("all/Cargo.toml", "[package]\nname = \"all\"\n[dependencies]\nkit = { path = \"../kit\" }\n"),
            ("all/src/lib.rs", "pub extern crate kit as tools;\n"),
            ("app/Cargo.toml", "[package]\nname = \"app\"\n[dependencies]\nall = { path = \"../all\" }\n"),
            (
                "app/src/main.rs",
                "use all::tools::trim;\nfn main() { trim(); let trim = 1; dbg!(trim); }\nfn other(s: &str) { s.trim(); }\n",
            ),
        ],
        symbol: ("kit.text", "trim"),
        expected: &[
            "app/src/main.rs:1",
            "app/src/main.rs:2",
            "kit/src/lib.rs:2",
            "kit/src/lib.rs:3",
            "kit/src/lib.rs:3",
            "kit/src/text.rs:5",
            "kit/src/text.rs:5",
        ],
    },
    Case {
        why: "TypeScript: specifiers, whole modules, barrels, packages with a source folder, and default parameters",
        files: &[
            ("kit/package.json", "{\"name\": \"kit\"}"),
            ("kit/src/index.ts", "export * from './text';\n"),
            (
                "kit/src/text.ts",
                "export function trim(s: string) { return s; }\nexport const same = (s = trim('')) => s;\n",
            ),
            ("kit/src/a.ts", "import { trim as cut } from './text';\ncut('');\n"),
            (
                "kit/src/b.ts",
                "import * as text from './index';\ntext.trim('');\nfunction f() { function trim() {} trim(); }\n",
            ),
            ("app/package.json", "{\"name\": \"app\", \"dependencies\": {\"kit\": \"1\"}}"),
            ("app/main.ts", "import { trim } from 'kit';\nexport const all = { trim };\n"),
        ],
        symbol: ("kit.src.text", "trim(string)"),
        expected: &[
            "app/main.ts:1",
            "app/main.ts:2",
            "kit/src/a.ts:1",
            "kit/src/a.ts:2",
            "kit/src/b.ts:2",
            "kit/src/text.ts:2",
        ],
    },
    Case {
        why: "Go: the package's other files, another package, and a field with the same name",
        files: &[
            ("go.mod", "module example.com/shop\n"),
            ("text/a.go", "package text\nfunc Trim(s string) string { return s }\n"),
            (
                "text/b.go",
                "package text\ntype T struct { Trim int }\nvar x = T{Trim: 1}\nfunc f() string { return Trim(\"\") }\n",
            ),
            (
                "main.go",
                "package main\nimport \"example.com/shop/text\"\nfunc main() { text.Trim(\"\"); f := text.Trim; f(\"\") }\n",
            ),
        ],
        symbol: ("example.com.shop.text", "Trim"),
        expected: &["main.go:3", "main.go:3", "text/b.go:4"],
    },
    Case {
        why: "Java: a static import, a method reference and a constant",
        files: &[
            ("pom.xml", "<project><artifactId>shop</artifactId></project>"),
            (
                "src/a/Text.java",
                "package a;\npublic class Text { public static String trim(String s) { return s; } }\n",
            ),
            (
                "src/b/Use.java",
                "package b;\nimport static a.Text.trim;\nimport a.Text;\nclass Use {\n  String f() { return trim(\"\"); }\n  Object g() { return h(Text::trim); }\n}\n",
            ),
        ],
        symbol: ("a.Text", "trim(String)"),
        expected: &["src/b/Use.java:2", "src/b/Use.java:5", "src/b/Use.java:6"],
    },
    Case {
        why: "attributes that a method sets are members",
        files: &[
            ("pyproject.toml", "[project]\nname = \"shop\"\n"),
            (
                "shop/store.py",
                "class Store:\n    def __init__(self, size: int):\n        self.size = size\n\n    def grow(self):\n        self.size += 1\n",
            ),
            ("shop/use.py", "from shop.store import Store\n\ndef f(store: Store):\n    return store.size\n"),
        ],
        symbol: ("shop.store.Store", "size"),
        expected: &["shop/store.py:3", "shop/store.py:6", "shop/use.py:4"],
    },
    Case {
        why: "TypeScript: keys of objects, patterns and lookups may be the property; a typed pattern is it",
        files: &[
            ("package.json", "{\"name\": \"shop\"}"),
            ("src/a.ts", "export interface A {\n  size: number;\n}\n"),
            (
                "src/b.ts",
                "import { A } from \"./a\";\nexport function f({ size }: A, key: A[\"size\"]) {\n  const { size: other } = g();\n  return { size: other };\n}\n",
            ),
        ],
        symbol: ("shop.src.a.A", "size"),
        expected: &["src/b.ts:2", "src/b.ts:2", "src/b.ts:3?", "src/b.ts:4?"],
    },
    Case {
        why: "Rust: fields in patterns",
        files: &[
            ("Cargo.toml", "[package]\nname = \"kit\"\n"),
            (
                "src/lib.rs",
                "pub struct A {\n    size: u8,\n}\nfn f(A { size, .. }: A) {}\nfn g(a: A) {\n    let A { size: n } = a;\n    if let A { size: 1 } = a {}\n}\n",
            ),
        ],
        symbol: ("kit.A", "size"),
        expected: &["src/lib.rs:4", "src/lib.rs:6", "src/lib.rs:7"],
    },
    Case {
        why: "Rust: a crate whose root is outside of src",
        files: &[
            ("Cargo.toml", "[package]\nname = \"kit\"\n[[bin]]\nname = \"kit\"\npath = \"core/main.rs\"\n"),
            ("core/main.rs", "mod text;\nuse crate::text::trim;\nfn main() { trim(); }\n"),
            ("core/text.rs", "pub fn trim() {}\n"),
        ],
        symbol: ("kit.text", "trim"),
        expected: &["core/main.rs:2", "core/main.rs:3"],
    },
    Case {
        why: "TypeScript: interfaces that redeclare a member of a common base are compared by structure",
        files: &[
            ("package.json", "{\"name\": \"shop\"}"),
            (
                "src/a.ts",
                "interface Base {\n  size: number;\n}\nexport interface A extends Base {\n  size: 1;\n}\nexport interface B extends Base {\n  size: 2;\n}\n",
            ),
            (
                "src/b.ts",
                "import { A, B } from \"./a\";\nexport const f = (a: A, b: B) => a.size + b.size;\n",
            ),
        ],
        symbol: ("shop.src.a.A", "size"),
        expected: &["src/b.ts:2", "src/b.ts:2?"],
    },
];

fn usages(case: &Case) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in case.files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(RefreshOptions { now: 0, threads: 1, progress: &|_, _| true }).unwrap();
    let (module, key) = case.symbol;
    let (id, _) = store.types().unwrap().into_iter().find(|(_, name)| name == module).unwrap();
    let summary = store.type_summary(id).unwrap().unwrap();
    let member = summary.members.iter().find(|member| member.key == key).unwrap();
    let mut found = Vec::new();
    for site in store.member_usages(&summary, member).unwrap().sites {
        let text = fs::read_to_string(root.path().join(&site.file)).unwrap();
        let word = &text[site.at as usize..site.end as usize];
        assert!(!word.is_empty() && word.chars().all(char::is_alphanumeric), "{}: {word}", case.why);
        let mark = match site.certainty {
            Certainty::Exact | Certainty::Certain => "",
            Certainty::Likely => "~",
            Certainty::Possible => "?",
        };
        let line = text[..site.at as usize].matches('\n').count() + 1;
        found.push(format!("{}:{line}{mark}", site.file));
    }
    found
}

#[test]
fn usages_of_free_functions_are_found_in_every_language() {
    for case in CASES {
        assert_eq!(usages(case), case.expected, "{}", case.why);
    }
}

/// Nothing resolves to the function, but its name occurs: that is reported, and as no more than it is.
#[test]
fn a_name_that_occurs_is_not_reported_as_unused() {
    let case = Case {
        why: "a method of a library's type",
        files: &[
            ("pyproject.toml", "[project]\nname = \"shop\"\n"),
            ("shop/a.py", "def refresh():\n    pass\n"),
            ("shop/b.py", "import lib\n\nlib.refresh()\n"),
        ],
        symbol: ("shop.a", "refresh"),
        expected: &[],
    };
    assert_eq!(usages(&case), ["shop/b.py:3?"]);
}

/// The file that declares a type does not mention it, and one import renames it.
#[test]
fn usages_of_a_type_include_imports_and_other_names() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("pyproject.toml", "[project]\nname = \"shop\"\n"),
        ("shop/store.py", "class Store:\n    pass\n"),
        (
            "shop/use.py",
            "from shop.store import Store as Kept\nimport shop.store\n\nx: Kept\ny: shop.store.Store\n",
        ),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(RefreshOptions { now: 0, threads: 1, progress: &|_, _| true }).unwrap();
    let at = store.resolve_name("Store", &|_| 0).unwrap().resolved[0];
    let summary = store.type_summary(at.of).unwrap().unwrap();
    let text = fs::read_to_string(root.path().join("shop/use.py")).unwrap();
    let places = store.type_usages(&summary).unwrap().sites;
    let shown: Vec<(usize, &str)> = places
        .iter()
        .map(|it| (text[..it.at as usize].matches('\n').count() + 1, &text[it.at as usize..it.end as usize]))
        .collect();
    assert_eq!(shown, [(1, "Store"), (4, "Kept"), (5, "Store")]);
}
