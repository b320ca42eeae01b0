//! Compiles each grammar's lexer and scanner without its parse tables, and packs the tables that the grammar's crate has.
//!
//! Does not write or change a grammar: tables and lexers are those of the crates in the manifest. They are needed only here; the
//! program contains what this writes.

#[path = "build/package.rs"]
mod package;
#[path = "build/source.rs"]
mod source;
#[path = "build/tables.rs"]
mod tables;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tables::Tables;
use tree_sitter_language::LanguageFn;

/// A grammar: the name of its function in this crate, its crate, the folder of its sources there, and its language.
struct Grammar {
    name: &'static str,
    package: &'static str,
    sources: &'static str,
    language: LanguageFn,
}

#[rustfmt::skip] // a table
const GRAMMARS: &[Grammar] = &[
    Grammar { name: "bash", package: "tree-sitter-bash", sources: "src", language: tree_sitter_bash::LANGUAGE },
    Grammar { name: "c", package: "tree-sitter-c", sources: "src", language: tree_sitter_c::LANGUAGE },
    Grammar { name: "c_sharp", package: "tree-sitter-c-sharp", sources: "src", language: tree_sitter_c_sharp::LANGUAGE },
    Grammar { name: "cpp", package: "tree-sitter-cpp", sources: "src", language: tree_sitter_cpp::LANGUAGE },
    Grammar { name: "go", package: "tree-sitter-go", sources: "src", language: tree_sitter_go::LANGUAGE },
    Grammar { name: "java", package: "tree-sitter-java", sources: "src", language: tree_sitter_java::LANGUAGE },
    Grammar { name: "kotlin", package: "tree-sitter-kotlin-ng", sources: "src", language: tree_sitter_kotlin_ng::LANGUAGE },
    Grammar { name: "php", package: "tree-sitter-php", sources: "php/src", language: tree_sitter_php::LANGUAGE_PHP },
    Grammar { name: "python", package: "tree-sitter-python", sources: "src", language: tree_sitter_python::LANGUAGE },
    Grammar { name: "ruby", package: "tree-sitter-ruby", sources: "src", language: tree_sitter_ruby::LANGUAGE },
    Grammar { name: "rust", package: "tree-sitter-rust", sources: "src", language: tree_sitter_rust::LANGUAGE },
    Grammar { name: "swift", package: "tree-sitter-swift", sources: "src", language: tree_sitter_swift::LANGUAGE },
    Grammar { name: "tsx", package: "tree-sitter-typescript", sources: "tsx/src", language: tree_sitter_typescript::LANGUAGE_TSX },
    Grammar { name: "typescript", package: "tree-sitter-typescript", sources: "typescript/src", language: tree_sitter_typescript::LANGUAGE_TYPESCRIPT },
];

/// 9 packs the 23 MB of all grammars into 1.0 MB within a second; 19 takes 17 seconds for another tenth.
const COMPRESSION_LEVEL: i32 = 9;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(package::variable("OUT_DIR"));
    let folders = package::find_folders();
    let mut list = String::new();
    for grammar in GRAMMARS {
        let tables = tables::read(grammar.language);
        pack(&tables, &out.join(format!("{}.zst", grammar.name)));
        let sources = folders[grammar.package].join(grammar.sources);
        compile(grammar, &tables, &sources, &out);
        let length = tables.length();
        writeln!(list, "grammar!({0}, tree_sitter_{0}, loci_{0}_tables, {length});", grammar.name)
            .expect("a string");
    }
    std::fs::write(out.join("grammars.rs"), list).expect("OUT_DIR can be written");
}

fn pack(tables: &Tables, path: &Path) {
    let bytes: Vec<u8> = tables.values().flat_map(u16::to_le_bytes).collect();
    let packed = zstd::bulk::compress(&bytes, COMPRESSION_LEVEL).expect("compression in memory");
    std::fs::write(path, packed).expect("OUT_DIR can be written");
}

fn compile(grammar: &Grammar, tables: &Tables, sources: &Path, out: &Path) {
    let original = std::fs::read_to_string(sources.join("parser.c")).expect("a grammar has a parser.c");
    let stripped = source::without_tables(&original, &format!("loci_{}_tables", grammar.name), tables);
    let parser = out.join(format!("{}.c", grammar.name));
    std::fs::write(&parser, stripped).expect("OUT_DIR can be written");
    let mut build = cc::Build::new();
    build.std("c11").include(sources).warnings(false).extra_warnings(false).file(parser);
    let scanner = sources.join("scanner.c");
    if scanner.exists() {
        build.file(scanner);
    }
    build.compile(&format!("loci-grammar-{}", grammar.name));
}
