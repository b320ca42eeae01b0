//! Languages that are read at the level of declarations: usages are names in the text, never more than possible, and never those
//! in comments, in strings or in a language that cannot name them.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use code::{Certainty, RefreshOptions};
use loci_code_index::Store;
use std::fs;
use syntax::{LANGUAGES, Level, Reader, Symbols, decode_text, language_of};

/// The files of a tree, a symbol, and its usages.
type UsageCase<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);

/// The places where a tree uses a type, or a member `Type.member`: `file:line certainty`.
fn usages_of(files: &[(&str, &str)], symbol: &str) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        fs::write(root.path().join(path), text).unwrap();
    }
    let mut store = Store::open(&root.path().join("index.db"), root.path()).unwrap();
    store.refresh(RefreshOptions { now: 0, threads: 1, progress: &|_, _| true }).unwrap();
    let (name, member) = symbol.split_once('#').map_or((symbol, None), |(name, member)| (name, Some(member)));
    let types = store.types().unwrap();
    let (id, _) = types.iter().find(|(_, of)| of == name).unwrap_or_else(|| panic!("{name} in {types:?}"));
    let of = store.type_summary(*id).unwrap().unwrap();
    let found = match member {
        Some(member) => {
            store.member_usages(&of, of.members.iter().find(|it| it.name == member).unwrap()).unwrap()
        }
        None => store.type_usages(&of).unwrap(),
    };
    let describe = |site: &loci_code_index::UsageSite| {
        let text = files.iter().find(|(path, _)| *path == site.file).unwrap().1;
        let line = text[..site.at as usize].matches('\n').count() + 1;
        format!("{}:{line} {}", site.file, site.certainty.name())
    };
    found.sites.iter().map(describe).collect()
}

#[test]
fn usages_are_possible_and_outside_of_comments_and_strings() {
    let table: &[UsageCase] = &[
        (
            &[
                ("a.h", "struct a {\n  int n;\n};\n#define GET(x) (x)->n + \"n\"\n"),
                ("a.c", "/* n */\nint f(struct a *p) {\n  return p->n;\n}\nconst char *t = \"n\";\n"),
            ],
            "a.a#n",
            &["a.c:3 possible", "a.h:4 possible"],
        ),
        (
            &[("a.h", "struct a { int n; };\n"), ("b.c", "#include \"a.h\"\nstruct a *make(void);\n")],
            "a.a",
            &["b.c:2 possible"],
        ),
        (
            &[(
                "a.cpp",
                "namespace s {\nclass A { int n(); };\n}\nint s::A::n() { return 1; }\nint m(s::A a);\n",
            )],
            "s.A",
            &["a.cpp:4 possible", "a.cpp:5 possible"],
        ),
        (
            &[
                ("A.java", "package p;\npublic class A { public void run() {} }\n"),
                ("b.kt", "package p\n\nfun b(a: A) {\n  a.run() // run\n}\n"),
                ("c.py", "def c(a):\n    a.run()\n"),
            ],
            "p.A",
            &["b.kt:3 possible"],
        ),
        (
            &[
                ("a.kt", "package p\n\nclass A {\n  fun run() {}\n}\n\nfun b(a: A) = \"run ${a.run()}\"\n"),
                ("c.py", "def c(a):\n    a.run()\n"),
            ],
            "p.A#run",
            &["a.kt:7 possible"],
        ),
        (
            &[
                ("a.py", "class A:\n    def run(self):\n        pass\n"),
                ("b.c", "int run(void);\n"),
                ("c.c", "int f(void) { return run(); }\n"),
            ],
            "a.A#run",
            &[],
        ),
        (
            &[("a.php", "<?php\nclass A { public $n; function m() { return $this->n; } }\n// n\n")],
            "A#n",
            &["a.php:2 possible"],
        ),
        (
            &[(
                "a.rb",
                "class A\n  attr_reader :n\n  def m\n    n + \"n #{n}\"\n  end\nend\n# n\nvalidates :n\n",
            )],
            "A#n",
            &["a.rb:4 possible", "a.rb:4 possible", "a.rb:8 possible"],
        ),
        (
            &[(
                "a.swift",
                "struct A { var n = 1 }\nextension A { func m() -> Int { n } }\nlet t = \"n \\(A().n)\"\n",
            )],
            "A#n",
            &["a.swift:2 possible", "a.swift:3 possible"],
        ),
        (
            &[("a.sh", "say() {\n  echo say\n}\nsay 'say'\n")],
            "a#say",
            &["a.sh:2 possible", "a.sh:4 possible"],
        ),
    ];
    for (files, symbol, expected) in table {
        assert_eq!(usages_of(files, symbol), *expected, "{symbol} in {files:?}");
    }
}

#[test]
fn no_reference_of_such_a_language_is_more_than_possible() {
    let text = "class B\nend\nclass A < B\n  def m; B.new; end\nend\n";
    let facts = Reader::new(language_of("a.rb".as_ref()).unwrap()).unwrap().read(text, &Symbols::default());
    let file = code::SourceFile { path: "a.rb".to_owned(), project: 0, generated: false, facts };
    let code = code::Codebase::new(vec![project::Project::default()], vec![file]);
    let edges = code::Resolver::new(&code).all_edges();
    assert_eq!(edges.len(), 1);
    assert!(edges.iter().all(|edge| edge.base && edge.certainty == Certainty::Possible));
}

/// A sample of each language at the level of declarations.
const SAMPLES: &[(&str, &str)] = &[
    ("a.c", include_str!("../../syntax/testdata/c/declarations/store.c")),
    ("a.h", include_str!("../../syntax/testdata/cpp/declarations/store.h")),
    ("a.kt", include_str!("../../syntax/testdata/kotlin/declarations/Store.kt")),
    ("a.php", include_str!("../../syntax/testdata/php/declarations/Store.php")),
    ("a.rb", include_str!("../../syntax/testdata/ruby/declarations/store.rb")),
    ("a.swift", include_str!("../../syntax/testdata/swift/declarations/Store.swift")),
    ("a.sh", include_str!("../../syntax/testdata/shell/declarations/build.sh")),
];

/// Names of types, and keys and signatures of members.
fn describe_declarations(path: &str, text: &str) -> Vec<String> {
    let facts = Reader::new(language_of(path.as_ref()).unwrap()).unwrap().read(text, &Symbols::default());
    let members = facts.types.iter().flat_map(|part| &part.members);
    let members = members.map(|it| format!("{} {}", it.key, it.signature_text));
    facts.types.iter().map(|part| format!("{} {}", part.name, part.header_text)).chain(members).collect()
}

#[test]
fn every_such_language_has_a_sample() {
    let declared = LANGUAGES.iter().filter(|language| language.level == Level::Declarations);
    for language in declared {
        let has = |(path, _): &(&str, &str)| language_of(path.as_ref()).unwrap().name == language.name;
        assert!(SAMPLES.iter().any(has), "{}", language.name);
    }
}

#[test]
fn a_byte_order_mark_and_carriage_returns_change_no_declaration() {
    for (path, text) in SAMPLES {
        let plain = describe_declarations(path, text);
        let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(describe_declarations(path, &decode_text(marked.as_bytes())), plain, "{path}");
    }
}

#[test]
fn a_damaged_declaration_does_not_hide_the_next_one() {
    for (path, text, name) in [
        ("a.c", "int broken(int a { return 1; }\n\nint next(void) { return 2; }\n", "next"),
        ("a.c", "FOO(a, b) bar baz\nstatic int next(void) { return 2; }\n", "next"),
        ("a.cpp", "class A { void f( { } };\n\nclass Next { int a; };\n", "Next"),
        ("a.kt", "class A {\n  fun f( { }\n}\n\nclass Next {\n  val a = 1\n}\n", "Next"),
        (
            "a.kt",
            "class A\ninternal constructor(val a: Int) : B {\n  fun next() = 1\n}\n\nclass B {\n  fun b() {}\n}\n",
            "next",
        ),
        ("a.php", "<?php\nclass A { function f( { } }\nclass Next { }\n", "Next"),
        ("a.rb", "class A\n  def f(\n  end\nend\n\nclass Next\nend\n", "Next"),
        ("a.swift", "class A { func f( { } }\n\nclass Next { }\n", "Next"),
        ("a.sh", "a() { if; }\n\nnext() { echo; }\n", "next"),
    ] {
        let found = describe_declarations(path, text);
        assert!(found.iter().any(|it| it.split([' ', '(']).next() == Some(name)), "{path}: {found:?}");
    }
}

#[test]
fn any_damage_is_read() {
    for (path, text) in SAMPLES {
        let places: Vec<usize> = (0..text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        for (turn, at) in places.iter().step_by(19).enumerate() {
            let insert =
                ["{", "}", "(", "\"", "'", "/*", "#if", "<<X", "class", "\r", "\u{0}", "ä"][turn % 12];
            let end =
                places[places.partition_point(|it| it <= at).saturating_add(turn % 7).min(places.len() - 1)];
            describe_declarations(path, &format!("{}{insert}{}", &text[..*at], &text[end.max(*at)..]));
            describe_declarations(path, &text[*at..].chars().rev().collect::<String>());
        }
    }
}
