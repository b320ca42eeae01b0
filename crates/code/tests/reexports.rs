//! Re-exported names: each case is a few files and the expected edges between types.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Resolver, read_tree};
use project::discover;
use std::fs;
use syntax::TypeKind;

struct Case {
    why: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// By simple name, without edges to modules.
    edges: &'static str,
}

const PACKAGE: (&str, &str) = ("package.json", r#"{ "name": "demo" }"#);
const CRATE: (&str, &str) = ("Cargo.toml", "[package]\nname = \"demo\"\n");

const CASES: &[Case] = &[
    Case {
        why: "a module re-exports everything, or one name under an alias",
        files: &[
            PACKAGE,
            ("a.ts", "export class A {}\nexport class B {}"),
            ("index.ts", "export * from './a'\nexport { B as C } from './a'"),
            ("use.ts", "import { A, C } from './index'\nclass U { a: A; c: C }"),
        ],
        edges: "U>A U>B",
    },
    Case {
        why: "through several modules, and as a namespace export",
        files: &[
            PACKAGE,
            ("deep/a.ts", "export class A {}"),
            ("deep/index.ts", "export * from './a'"),
            ("more.ts", "export * as deep from './deep'"),
            ("index.ts", "export * from './more'"),
            ("use.ts", "import * as all from './index'\nclass U { a: all.deep.A }"),
        ],
        edges: "U>A",
    },
    Case {
        why: "the type that a folder exports, not the file with its name; but that file within a path",
        files: &[
            PACKAGE,
            ("error/NotFound.ts", "export class NotFound {}"),
            ("error/index.ts", "export * from './NotFound'"),
            ("one.ts", "import { NotFound } from './error'\nclass One { e: NotFound }"),
            ("two.ts", "import { NotFound } from './error/NotFound'\nclass Two { e: NotFound }"),
        ],
        edges: "One>NotFound Two>NotFound",
    },
    Case {
        why: "a name that is not re-exported is not found",
        files: &[
            PACKAGE,
            ("a.ts", "export class A {}"),
            ("index.ts", "export { B } from './a'"),
            ("use.ts", "import { A } from './index'\nclass U { a: A }"),
        ],
        edges: "",
    },
    Case {
        why: "modules that re-export each other do not loop forever",
        files: &[
            PACKAGE,
            ("a.ts", "export * from './b'\nexport class A {}"),
            ("b.ts", "export * from './a'"),
            ("use.ts", "import { A, B } from './b'\nclass U { a: A; b: B }"),
        ],
        edges: "U>A",
    },
    Case {
        why: "files with the same name and different suffixes are different modules",
        files: &[
            PACKAGE,
            ("a.types.ts", "export class Node {}"),
            ("a.ts", "import { Node as Typed } from './a.types'\nexport class Node { of: Typed }"),
        ],
        edges: "Node>Node",
    },
    Case {
        why: "a path may go up any number of levels",
        files: &[
            PACKAGE,
            ("a.ts", "export class A {}"),
            ("1/2/3/4/5/6/7/use.ts", "import { A } from '../../../../../../../a'\nclass U { a: A }"),
        ],
        edges: "U>A",
    },
    Case {
        why: "a statement at module level belongs to the module",
        files: &[
            PACKAGE,
            ("a.ts", "export class A {}"),
            ("test.ts", "import { A } from './a'\nfunction f() {}\ndescribe('a', () => { let a: A })"),
        ],
        edges: "test>A",
    },
    Case {
        why: "Rust's `pub use`, of one name and of all",
        files: &[
            CRATE,
            ("src/lib.rs", "mod sync;\npub use sync::*;\nstruct U(crate::Lock, crate::Gate);"),
            ("src/sync.rs", "mod lock;\nmod gate;\npub use self::lock::Lock;\npub use gate::*;"),
            ("src/sync/lock.rs", "pub struct Lock;"),
            ("src/sync/gate.rs", "pub struct Gate;"),
        ],
        edges: "U>Gate U>Lock",
    },
    Case {
        why: "of two conditional imports, the one that is in the source",
        files: &[
            CRATE,
            (
                "src/lib.rs",
                "mod own;\n#[cfg(not(x))]\nuse own::Lock;\n#[cfg(x)]\nuse other::Lock;\nstruct U(Lock);",
            ),
            ("src/own.rs", "pub struct Lock;"),
        ],
        edges: "U>Lock",
    },
    Case {
        why: "an imported external type is not the local `impl` of the same name",
        files: &[
            CRATE,
            (
                "src/lib.rs",
                "use std::sync::Arc;\nstruct S;\ntrait T {}\nimpl T for Arc<S> {}\nstruct U(Arc<S>);",
            ),
        ],
        edges: "Arc>S Arc>T U>S",
    },
    Case {
        why: "a Python package exports what its `__init__.py` imports",
        files: &[
            ("pyproject.toml", "[project]\nname = \"demo\"\n"),
            ("demo/__init__.py", "from .store import Store\n"),
            ("demo/store.py", "class Store:\n    pass\n"),
            ("demo/use.py", "from demo import Store\n\nclass Shelf(Store):\n    pass\n"),
        ],
        edges: "Shelf>Store",
    },
];

#[test]
fn re_exported_names_resolve_to_their_declaration() {
    for case in CASES {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in case.files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (code, problems) = read_tree(root.path(), &discover(root.path()).unwrap(), 1);
        assert_eq!(problems, [""; 0], "{}", case.why);
        let edges = Resolver::new(&code).all_edges().into_iter();
        let edges = edges.filter(|it| code.types[it.to as usize].kind != TypeKind::Module);
        let mut edges: Vec<String> =
            edges.map(|it| format!("{}>{}", code.simple_name(it.from), code.simple_name(it.to))).collect();
        edges.sort();
        assert_eq!(edges.join(" "), case.edges, "{}", case.why);
    }
}
