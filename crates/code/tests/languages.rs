//! Name resolution across files in each language: a small tree with its manifests, and the expected edges.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Codebase, Hashes, Outliner, Resolver, SourceFile, hash_type, read_tree};
use project::{Project, discover};
use std::fs;
use syntax::{Digest, Language, Reader, Symbols, language_of};

struct Tree {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    types: &'static [&'static str],
    edges: &'static [&'static str],
}

const TREES: &[Tree] = &[
    Tree {
        name: "Rust",
        files: &[
            (
                "Cargo.toml",
                "[workspace]\n[workspace.dependencies]\nshapes = { path = \"shapes\", package = \"my-shapes\" }\n",
            ),
            ("shapes/Cargo.toml", "[package]\nname = \"my-shapes\"\n"),
            ("shapes/src/lib.rs", "pub mod round;\npub struct Shape;\npub trait Draw {}\n"),
            (
                "shapes/src/round.rs",
                "use crate::Shape;\npub struct Circle { of: Shape }\npub fn circle() -> Circle { todo!() }\nmod inner { struct Oval(super::Circle); }\n",
            ),
            (
                "shapes/src/more.rs",
                "use crate::round::Circle;\nimpl super::Draw for Circle { fn draw(&self) {} }\nimpl crate::Shape { pub fn area(&self) {} }\n",
            ),
            ("app/Cargo.toml", "[package]\nname = \"app\"\n[dependencies]\nshapes.workspace = true\n"),
            (
                "app/src/main.rs",
                "use shapes::round::{self, Circle};\nstruct App(Circle);\nfn main() { round::circle(); }\n",
            ),
        ],
        types: &[
            "app module: main",
            "app.App struct: 0",
            "my_shapes module",
            "my_shapes.Draw trait",
            "my_shapes.Shape struct: area",
            "my_shapes.round module: circle",
            "my_shapes.round.Circle struct: of Draw::draw",
            "my_shapes.round.inner.Oval struct: 0",
        ],
        edges: &[
            "app -> my_shapes.round",
            "app.App -> my_shapes.round.Circle",
            "my_shapes.round -> my_shapes.round.Circle",
            "my_shapes.round.Circle -> my_shapes.Draw",
            "my_shapes.round.Circle -> my_shapes.Shape",
            "my_shapes.round.inner.Oval -> my_shapes.round.Circle",
        ],
    },
    Tree {
        name: "TypeScript",
        files: &[
            ("web/package.json", "{\"name\": \"@my/web\", \"dependencies\": {\"@my/kit\": \"1\"}}"),
            (
                "web/src/a.ts",
                "import { B as Bee } from './b';\nimport * as deep from './deep';\nimport { Kit } from '@my/kit/kit';\nexport class A extends Bee { d: deep.D; k: Kit; }\n",
            ),
            ("web/src/b.ts", "export class B {}\nexport function make(): B { return new B(); }\n"),
            (
                "web/src/deep/index.ts",
                "import { make } from '../b';\nexport interface D { x: number }\nexport const it = make();\n",
            ),
            ("kit/package.json", "{\"name\": \"@my/kit\"}"),
            ("kit/kit.ts", "export class Kit {}\nclass B {}\n"),
        ],
        types: &[
            "@my.kit.kit.B class",
            "@my.kit.kit.Kit class",
            "@my.web.src.a.A class: d k",
            "@my.web.src.b module: make()",
            "@my.web.src.b.B class",
            "@my.web.src.deep module: it",
            "@my.web.src.deep.D interface: x",
        ],
        edges: &[
            "@my.web.src.a.A -> @my.kit.kit.Kit",
            "@my.web.src.a.A -> @my.web.src.b.B",
            "@my.web.src.a.A -> @my.web.src.deep.D",
            "@my.web.src.b -> @my.web.src.b.B",
        ],
    },
    Tree {
        name: "Python",
        files: &[
            ("pyproject.toml", "[project]\nname = \"shop\"\n"),
            ("src/shop/__init__.py", "from .store import Store\n"),
            (
                "src/shop/store.py",
                "from . import item\nfrom shop.base import Base as Root\nimport shop.tools\n\nclass Store(Root):\n    best: item.Item\n    def put(self, one: \"Item\"):\n        return shop.tools.clean(one)\n",
            ),
            ("src/shop/item.py", "class Item:\n    pass\n"),
            ("src/shop/base.py", "class Base:\n    pass\n"),
            ("src/shop/tools.py", "def clean(x):\n    return x\n"),
        ],
        types: &[
            "shop.base.Base class",
            "shop.item.Item class",
            "shop.store.Store class: best put",
            "shop.tools module: clean",
        ],
        edges: &[
            "shop.store.Store -> shop.base.Base",
            "shop.store.Store -> shop.item.Item",
            "shop.store.Store -> shop.tools",
        ],
    },
    Tree {
        name: "Go",
        files: &[
            ("go.mod", "module example.com/shop\n"),
            (
                "store.go",
                "package shop\n\nimport \"example.com/shop/item\"\n\ntype Store struct { Best item.Item; root Base }\n",
            ),
            (
                "put.go",
                "package shop\n\nimport it \"example.com/shop/item\"\n\nfunc (s *Store) Put(one *it.Item) { it.Clean(one) }\n\ntype Base struct{}\n",
            ),
            ("item/item.go", "package item\n\ntype Item struct{}\n\nfunc Clean(one *Item) {}\n"),
        ],
        types: &[
            "example.com.shop.Base struct",
            "example.com.shop.Store struct: Best root Put",
            "example.com.shop.item module: Clean",
            "example.com.shop.item.Item struct",
        ],
        edges: &[
            "example.com.shop.Store -> example.com.shop.Base",
            "example.com.shop.Store -> example.com.shop.item",
            "example.com.shop.Store -> example.com.shop.item.Item",
            "example.com.shop.item -> example.com.shop.item.Item",
        ],
    },
    Tree {
        name: "Java",
        files: &[
            ("pom.xml", "<project><artifactId>shop</artifactId></project>"),
            (
                "src/main/java/shop/Store.java",
                "package shop;\nimport shop.parts.Item;\nimport shop.more.*;\n@Marked\nclass Store extends Base { Item best; Item.Size size; Tool tool = Tool.make(); shop.parts.Other other; }\n",
            ),
            ("src/main/java/shop/Base.java", "package shop;\nclass Base {}\n@interface Marked {}\n"),
            (
                "src/main/java/shop/parts/Item.java",
                "package shop.parts;\npublic class Item { public enum Size { S } }\nclass Other {}\n",
            ),
            (
                "src/main/java/shop/more/Tool.java",
                "package shop.more;\npublic class Tool { public static Tool make() { return null; } }\n",
            ),
        ],
        types: &[
            "shop.Base class",
            "shop.Marked annotation",
            "shop.Store class: best size tool other",
            "shop.more.Tool class: make()",
            "shop.parts.Item class",
            "shop.parts.Item+Size enum: S",
            "shop.parts.Other class",
        ],
        edges: &[
            "shop.Store -> shop.Base",
            "shop.Store -> shop.Marked",
            "shop.Store -> shop.more.Tool",
            "shop.Store -> shop.parts.Item",
            "shop.Store -> shop.parts.Item+Size",
            "shop.Store -> shop.parts.Other",
        ],
    },
];

#[test]
fn names_resolve_in_every_language() {
    for tree in TREES {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in tree.files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let layout = discover(root.path()).unwrap();
        let (code, problems) = read_tree(root.path(), &layout, 1);
        assert_eq!(problems, [""; 0], "{}", tree.name);
        assert_eq!(code.files.iter().map(|file| file.facts.gaps.len()).sum::<usize>(), 0, "{}", tree.name);
        assert_eq!(describe_types(&code), tree.types, "{}", tree.name);
        assert_eq!(describe_edges(&code), tree.edges, "{}", tree.name);
    }
}

/// Parses a text and runs everything that depends on it.
fn process_text(language: &'static Language, text: &str) -> Codebase {
    let facts = Reader::new(language).unwrap().read(text, &Symbols::default());
    let path = format!("src/a.{}", language.extensions[0]);
    let file = SourceFile { path, project: 0, generated: false, facts };
    let code = Codebase::new(vec![Project::default()], vec![file]);
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    for at in 0..code.types.len() as u32 {
        hash_type(&code, &resolver, at);
        outliner.outline_file(at);
    }
    code
}

/// Syntax that the grammars do not support, each in two variants: the first must be parsed without gaps, and the second
/// must get different hashes.
const UNSUPPORTED_SYNTAX: &[(&str, &str, &str)] = &[
    (
        "a.ts",
        "export type * from './b';\nexport class A {}\n",
        "export type * from './c';\nexport class A {}\n",
    ),
    (
        "a.ts",
        "export interface A<in out T, /** b */ out U = B> { a: T }",
        "export interface A<in T, /** b */ out U = B> { a: T }",
    ),
    (
        "A.java",
        "class A { void a(Object @Nullable ... rest) {} }",
        "class A { void a(Object @NonNull ... rest) {} }",
    ),
    (
        "a.js",
        "// @flow\nopaque type A = {+a: string, b: ?component(...props: any), ...};\n",
        "// @flow\nexport type A = {-a: string, b: ?component(...props: any), ...};\n",
    ),
];

#[test]
fn unsupported_syntax_is_rewritten_and_still_hashed() {
    for (path, text, other) in UNSUPPORTED_SYNTAX {
        let language = language_of(path.as_ref()).unwrap();
        let code = process_text(language, text);
        assert_eq!(code.files[0].facts.gaps, [], "{text}");
        let hashed = |code: &Codebase| {
            let resolver = Resolver::new(code);
            (0..code.types.len() as u32).map(|at| hash_type(code, &resolver, at).hashes).collect::<Vec<_>>()
        };
        let (one, two) = (hashed(&code), hashed(&process_text(language, other)));
        let same = |pick: fn(&Hashes) -> Digest| one.iter().map(pick).eq(two.iter().map(pick));
        assert!(!(same(|it| it.structure) && same(|it| it.public)), "{text}");
    }
}

#[test]
fn truncated_text_is_parsed() {
    for (path, text) in [
        ("a.rs", include_str!("../../syntax/testdata/rust/declarations/shapes.rs")),
        ("a.ts", include_str!("../../syntax/testdata/typescript/declarations/store.ts")),
        ("a.jsx", include_str!("../../syntax/testdata/typescript/declarations/view.jsx")),
        ("a.py", include_str!("../../syntax/testdata/python/declarations/store.py")),
        ("a.go", include_str!("../../syntax/testdata/go/declarations/store.go")),
        ("a.java", include_str!("../../syntax/testdata/java/declarations/Store.java")),
        ("a.c", include_str!("../../syntax/testdata/c/declarations/store.c")),
        ("a.h", include_str!("../../syntax/testdata/cpp/declarations/store.h")),
        ("a.kt", include_str!("../../syntax/testdata/kotlin/declarations/Store.kt")),
        ("a.php", include_str!("../../syntax/testdata/php/declarations/Store.php")),
        ("a.rb", include_str!("../../syntax/testdata/ruby/declarations/store.rb")),
        ("a.swift", include_str!("../../syntax/testdata/swift/declarations/Store.swift")),
        ("a.sh", include_str!("../../syntax/testdata/shell/declarations/build.sh")),
    ] {
        let language = language_of(path.as_ref()).unwrap();
        for at in (0..text.len()).step_by(23).filter(|at| text.is_char_boundary(*at)) {
            process_text(language, &text[..at]);
            process_text(language, &text[at..]);
        }
    }
}

#[test]
fn excessive_nesting_is_a_gap() {
    for (path, before, after) in [
        ("a.rs", "fn a() { let x = ", "; }"),
        ("a.ts", "function a() { let x = ", "; }"),
        ("a.py", "def a():\n    x = ", "\n"),
        ("a.go", "package a\nfunc a() { x := ", " }"),
        ("a.java", "class A { int x = ", "; }"),
        ("a.c", "int a() { return ", "; }"),
        ("a.cpp", "class A { int x = ", "; };"),
        ("a.kt", "fun a() { val x = ", "\n}\n"),
        ("a.php", "<?php\nfunction a() { $x = ", "; }"),
        ("a.rb", "def a\n  x = ", "\nend\n"),
        ("a.swift", "func a() { let x = ", " }"),
        ("a.sh", "a() {\n  x=$(( ", " ))\n}\n"),
    ] {
        let language = language_of(path.as_ref()).unwrap();
        let deep = |depth: usize| format!("{before}{}1{}{after}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(process_text(language, &deep(400)).files[0].facts.gaps, [], "{path}");
        assert!(!process_text(language, &deep(20_000)).files[0].facts.gaps.is_empty(), "{path}");
    }
}

fn describe_types(code: &Codebase) -> Vec<String> {
    let describe = |each: &loci_code::Type| {
        let members: Vec<&str> =
            code.parts(each).flat_map(|part| part.members.iter().map(|member| member.key.as_str())).collect();
        let members = if members.is_empty() { String::new() } else { format!(": {}", members.join(" ")) };
        format!("{} {}{members}", each.name, each.kind.name())
    };
    code.types.iter().map(describe).collect()
}

fn describe_edges(code: &Codebase) -> Vec<String> {
    let name = |at: u32| code.types[at as usize].name.as_str();
    Resolver::new(code)
        .all_edges()
        .iter()
        .map(|edge| format!("{} -> {}", name(edge.from), name(edge.to)))
        .collect()
}
