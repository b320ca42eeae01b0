//! Moving a declaration to another file: the declaration, imports and qualified uses, language by language, and what is unsure or
//! refused.

#![allow(clippy::unwrap_used, clippy::pedantic)] // a test may fail by panicking

use loci_edits::{EditError, Journal, Plan, SymbolPlace, Tree, plan_move};
use std::collections::BTreeMap;

type Files<'a> = &'a [(&'a str, &'a str)];

fn plan(files: Files, needle: &str, name: &str, to: &str) -> Result<(tempfile::TempDir, Plan), EditError> {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tree = Tree::open(home.path(), 1).unwrap();
    let (file, text) = files.iter().find(|(_, text)| text.contains(needle)).unwrap();
    let at = text.find(needle).unwrap() + needle.find(name).unwrap();
    let place = SymbolPlace { file: (*file).into(), at: at as u32, name: name.into() };
    plan_move(&tree, &place, to).map(|plan| (home, plan))
}

/// The files that a move changes, as they are afterwards; undoing it brings back what was there.
fn moved(files: Files, needle: &str, name: &str, to: &str) -> BTreeMap<String, String> {
    let (home, plan) = plan(files, needle, name, to).unwrap();
    assert!(plan.is_complete(), "{:?}", plan.unsure);
    let journal = Journal::new(home.path(), &home.path().join(".edits"));
    let id = journal.apply(&plan, 1).unwrap().id;
    let mut after = BTreeMap::new();
    for path in plan.files.iter().flat_map(|it| [Some(&it.path), it.moved_to.as_ref()]).flatten() {
        after.extend(std::fs::read_to_string(home.path().join(path)).map(|text| (path.clone(), text)));
    }
    journal.undo(&id).unwrap();
    for (path, text) in files {
        assert_eq!(std::fs::read_to_string(home.path().join(path)).unwrap(), *text);
    }
    let is_new = |path: &str| files.iter().all(|(known, _)| *known != path);
    assert!(!is_new(to) || !home.path().join(to).exists(), "the new file goes");
    after
}

/// The reasons why a move is unsure, or the error.
fn doubts(files: Files, needle: &str, name: &str, to: &str) -> String {
    match plan(files, needle, name, to) {
        Ok((_, plan)) => plan.unsure.iter().map(|it| it.place.reason.as_str()).collect::<Vec<_>>().join("; "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_go_function_takes_its_imports_along() {
    let files: Files = &[
        (
            "a.go",
            "package p\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// Get prints.\nfunc Get() {\n\tfmt.Println(1)\n}\n\nfunc Rest() {\n\tos.Exit(1)\n\tGet()\n}\n",
        ),
        ("b.go", "package p\n\nimport \"strings\"\n\nvar X = strings.ToUpper(\"x\")\n"),
    ];
    let after = moved(files, "func Get", "Get", "b.go");
    assert_eq!(
        after["a.go"],
        "package p\n\nimport (\n\t\"os\"\n)\n\nfunc Rest() {\n\tos.Exit(1)\n\tGet()\n}\n"
    );
    assert_eq!(
        after["b.go"],
        "package p\n\nimport \"fmt\"\n\nimport \"strings\"\n\nvar X = strings.ToUpper(\"x\")\n\n// Get prints.\nfunc Get() {\n\tfmt.Println(1)\n}\n"
    );
    let after = moved(files, "func Get", "Get", "c.go");
    assert_eq!(
        after["c.go"],
        "package p\n\nimport \"fmt\"\n\n// Get prints.\nfunc Get() {\n\tfmt.Println(1)\n}\n"
    );
}

#[test]
fn a_typescript_import_is_written_as_the_tree_writes_them() {
    let files: Files = &[
        ("a.ts", "export function get() { return 1 }\n\nexport const x = get()\n"),
        ("b.ts", "export const y = 1\n"),
        ("c.ts", "import { x } from './a.js'\nimport { y } from './b.js'\n\nexport const z = x + y\n"),
    ];
    let after = moved(files, "function get", "get", "b.ts");
    assert_eq!(after["a.ts"], "import { get } from './b.js'\nexport const x = get()\n");
}

#[test]
fn a_go_declaration_stays_in_its_package() {
    let files: Files = &[
        ("a.go", "package p\n\nvar fmt = 1\n\nfunc Get() int { return fmt }\n"),
        ("b.go", "package p\n\nimport \"fmt\"\n\nfunc B() { fmt.Println() }\n"),
        ("q/c.go", "package q\n"),
        ("a_test.go", "package p\n"),
    ];
    assert!(doubts(files, "func Get", "Get", "q/c.go").contains("inside of its package"));
    assert!(doubts(files, "func Get", "Get", "a_test.go").contains("not compiled together"));
    assert!(doubts(files, "func Get", "Get", "b.go").contains("already means something"));
}

#[test]
fn python_imports_follow_a_function() {
    let files: Files = &[
        ("p/__init__.py", "from .a import get, other\n"),
        (
            "p/a.py",
            "import os\nfrom typing import List\n\n\ndef get(x: List[int]) -> str:\n    return os.sep\n\n\ndef other():\n    return get([])\n",
        ),
        ("p/b.py", "import sys\n\nsys.exit\n"),
        ("use.py", "from p.a import get as g\n\ng([])\n"),
    ];
    let after = moved(files, "def get", "get", "p/b.py");
    assert_eq!(after["p/__init__.py"], "from .a import other\nfrom .b import get\n");
    assert_eq!(after["use.py"], "from p.b import get as g\n\ng([])\n");
    assert_eq!(
        after["p/a.py"],
        "import os\nfrom typing import List\nfrom p.b import get\n\n\ndef other():\n    return get([])\n"
    );
    assert_eq!(
        after["p/b.py"],
        "import sys\nimport os\nfrom typing import List\n\nsys.exit\n\n\ndef get(x: List[int]) -> str:\n    return os.sep\n"
    );
}

#[test]
fn python_names_that_a_package_hands_on_stay() {
    let files: Files = &[
        ("p/__init__.py", "from .a import get as get\n"),
        (
            "p/a.py",
            "import typing as t\n\n\ndef get(x: t.Any):\n    return x\n\n\ndef other():\n    return 1\n",
        ),
        ("p/b.py", "import typing as t\n\nx: t.Any = 1\n"),
        // a folder of the package without `__init__.py`
        ("p/inner/c.py", "from ..a import get\n\nget(1)\n"),
        ("use.py", "import p\n\np.get(1)\n"),
    ];
    let after = moved(files, "def get", "get", "p/b.py");
    assert_eq!(after["p/__init__.py"], "from .b import get as get\n");
    assert_eq!(after["p/inner/c.py"], "from ..b import get\n\nget(1)\n");
    assert_eq!(after["p/b.py"], "import typing as t\n\nx: t.Any = 1\n\n\ndef get(x: t.Any):\n    return x\n");
    assert!(!after.contains_key("use.py"));
    let direct: Files = &[files[0], files[1], files[2], ("use.py", "import p.a\n\np.a.get(1)\n")];
    assert_eq!(doubts(direct, "def get", "get", "p/b.py"), "used through its module");
}

#[test]
fn python_modules_are_not_made_to_import_each_other() {
    let files: Files = &[
        ("a.py", "LIMIT = 1\n\n\ndef get():\n    return LIMIT\n\n\ndef other():\n    return get()\n"),
        ("b.py", "x = 1\n"),
        ("c.py", "import a\n\na.get()\n"),
        ("d.py", "LIMIT = 2\n"),
    ];
    let found = doubts(files, "def get", "get", "b.py");
    assert!(
        found.contains("close a cycle of imports") && found.contains("used through its module"),
        "{found}"
    );
    assert!(doubts(files, "def get", "get", "new.py").contains("import each other"));
    assert!(doubts(files, "def get", "get", "d.py").contains("`LIMIT` already means something"));
    let typed: Files = &[
        (
            "a.py",
            "import typing as t\n\nif t.TYPE_CHECKING:\n    from b import B\n\n\ndef get(x: \"B\"):\n    return x\n",
        ),
        ("b.py", "class B: pass\n"),
    ];
    let after = moved(typed, "def get", "get", "c.py");
    assert_eq!(
        after["c.py"],
        "import typing as t\n\nif t.TYPE_CHECKING:\n    from b import B\n\n\ndef get(x: \"B\"):\n    return x\n"
    );
}

#[test]
fn typescript_imports_and_exports_follow() {
    let files: Files = &[
        (
            "src/a.ts",
            "import { join } from 'path';\nimport { B } from './b';\n\nexport interface Opt { b: B }\n\n/** Gets. */\nexport function get(x: string): string {\n  return join(x);\n}\n\nexport function rest(): B {\n  get('');\n  return {} as B;\n}\n",
        ),
        ("src/b.ts", "export interface B { n: number }\n"),
        ("src/index.ts", "export * from './a';\n"),
        ("src/use.ts", "import { get, rest } from './a';\n\nget('');\nrest();\n"),
    ];
    let after = moved(files, "function get", "get", "src/b.ts");
    assert_eq!(
        after["src/a.ts"],
        "import { B } from './b';\nimport { get } from './b';\n\nexport interface Opt { b: B }\n\nexport function rest(): B {\n  get('');\n  return {} as B;\n}\n"
    );
    assert_eq!(
        after["src/b.ts"],
        "import { join } from 'path';\nexport interface B { n: number }\n\n/** Gets. */\nexport function get(x: string): string {\n  return join(x);\n}\n"
    );
    assert_eq!(after["src/index.ts"], "export * from './a';\nexport { get } from './b';\n");
    assert_eq!(
        after["src/use.ts"],
        "import { rest } from './a';\nimport { get } from './b';\n\nget('');\nrest();\n"
    );
    let after = moved(files, "interface Opt", "Opt", "src/opt.ts");
    assert_eq!(after["src/opt.ts"], "import { B } from './b';\n\nexport interface Opt { b: B }\n");
    assert_eq!(after["src/index.ts"], "export * from './a';\nexport type { Opt } from './opt';\n");
    let private: Files = &[
        ("a.ts", "const limit = 1;\nexport function get() { return limit; }\n"),
        ("b.ts", "import * as a from './a';\na.get();\n"),
    ];
    assert!(doubts(private, "function get", "get", "c.ts").contains("does not export"));
    let merged: Files = &[
        (
            "a.ts",
            "export interface Opt { n: string }\nexport const Opt = 1;\nexport function get(x: string) { return x; }\n",
        ),
        ("b.ts", "import * as a from './a';\nconsole.log({ ...a });\n"),
        ("c.ts", "export function string() {}\n"),
    ];
    assert!(doubts(merged, "interface Opt", "Opt", "d.ts").contains("declares the name twice"));
    assert!(doubts(merged, "function get", "get", "d.ts").contains("as one value"));
    let builtin: Files = &[
        ("a.ts", "import { string } from './c';\nexport function get(x: string) { return x; }\nstring();\n"),
        merged[2],
    ];
    assert_eq!(
        moved(builtin, "function get", "get", "d.ts")["d.ts"],
        "export function get(x: string) { return x; }\n"
    );
}

#[test]
fn a_java_type_moves_with_its_file() {
    let files: Files = &[
        (
            "src/p/Get.java",
            "package p;\n\npublic class Get {\n  public Get() {}\n  public Near near() { return null; }\n}\n",
        ),
        ("src/p/Near.java", "package p;\n\npublic class Near {\n  Get get;\n}\n"),
        (
            "src/q/Far.java",
            "package q;\n\nimport p.Get;\n\npublic class Far {\n  Get one;\n  p.Get two;\n}\n",
        ),
    ];
    let after = moved(files, "class Get", "Get", "src/q/Get.java");
    assert_eq!(
        after["src/q/Get.java"],
        "package q;\n\nimport p.Near;\n\npublic class Get {\n  public Get() {}\n  public Near near() { return null; }\n}\n"
    );
    assert_eq!(
        after["src/p/Near.java"],
        "package p;\n\nimport q.Get;\n\npublic class Near {\n  Get get;\n}\n"
    );
    assert_eq!(
        after["src/q/Far.java"],
        "package q;\n\nimport q.Get;\n\npublic class Far {\n  Get one;\n  q.Get two;\n}\n"
    );
    let hidden: Files = &[
        ("src/p/Get.java", "package p;\n\npublic class Get {\n  int size;\n}\n"),
        ("src/p/Near.java", "package p;\n\npublic class Near {\n  int f(Get get) { return get.size; }\n}\n"),
        ("src/q/Far.java", "package q;\n\nclass Far {}\n"),
    ];
    assert!(
        doubts(hidden, "class Get", "Get", "src/q/Get.java")
            .contains("`size` may be used by its old package")
    );
    assert!(doubts(hidden, "class Get", "Get", "src/q/Far.java").contains("FOLDER/Get.java"));
}

#[test]
fn a_csharp_type_moves_to_its_own_file_or_to_another_namespace() {
    let files: Files = &[
        (
            "A.cs",
            "using System;\n\nnamespace P\n{\n    public class A\n    {\n        B b;\n    }\n\n    public class B\n    {\n        DateTime at;\n    }\n}\n",
        ),
        ("C.cs", "using System;\n\nnamespace Q\n{\n    public class C { }\n}\n"),
        ("Use.cs", "using P;\n\nnamespace R\n{\n    public class Use { B one; P.B two; }\n}\n"),
    ];
    let after = moved(files, "class B", "B", "B.cs");
    assert_eq!(
        after["B.cs"],
        "using System;\n\nnamespace P\n{\n    public class B\n    {\n        DateTime at;\n    }\n}\n"
    );
    let (_, plan) = plan(files, "class B", "B", "C.cs").unwrap();
    assert!(plan.diff.contains("+using Q;") && plan.diff.contains("Q.B two"), "{}", plan.diff);
    assert!(doubts(files, "class B", "B", "C.cs").contains("ambiguous"));
    let conditional: Files = &[("A.cs", "#if X\nclass A { }\n#endif\nclass B { }\n")];
    assert!(doubts(conditional, "class B", "B", "B.cs").contains("#if"));
}

#[test]
fn what_cannot_be_moved_says_why() {
    let rust: Files = &[("src/lib.rs", "pub fn get() {}\n")];
    assert!(doubts(rust, "fn get", "get", "src/b.rs").contains("Rust code cannot be moved"));
    let files: Files = &[("a.py", "def get(): pass\n")];
    for (to, why) in [
        ("a.py", "already in that file"),
        ("../b.py", "not a file"),
        ("x/b.py", "does not exist"),
        ("b.go", "same language"),
    ] {
        assert!(doubts(files, "def get", "get", to).contains(why), "{to}");
    }
}

#[test]
fn what_a_python_move_would_break_silently_is_not_certain() {
    let counter = "total = 0\n\n\ndef get():\n    global total\n    total = 1\n";
    assert!(doubts(&[("a.py", counter), ("b.py", "")], "def get", "get", "b.py").contains("`global`"));
    let use_of = |line: &str| {
        let files: Files = &[
            ("a.py", "def get():\n    return 1\n\n\ndef other():\n    return 2\n"),
            ("b.py", ""),
            ("use.py", line),
        ];
        doubts(files, "def get", "get", "b.py")
    };
    assert!(use_of("from a import get, other; import os\n").contains("shares its line"));
    assert!(use_of("import os; from a import get, other\n").contains("shares its line"));
    assert_eq!(use_of("from a import get, other  # for callers\n"), "");
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    let files: Files = &[
        ("a.py", "\u{feff}def get():\n    return 1\n\n\ndef other():\n    return 2\n"),
        ("b.py", "x = 1\n"),
        ("use.py", "\u{feff}from a import get\n\nget()\n"),
    ];
    let after = moved(files, "def get", "get", "b.py");
    assert_eq!(after["a.py"], "\u{feff}def other():\n    return 2\n");
    assert_eq!(after["b.py"], "x = 1\n\n\ndef get():\n    return 1\n");
    assert_eq!(after["use.py"], "\u{feff}from b import get\n\nget()\n");
}
