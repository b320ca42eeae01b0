//! The grammars of tree-sitter with packed parse tables, unpacked when a language is first used.
//!
//! Does not parse. The tables of 14 grammars are 23 MB, half of a release; packed they are 1 MB, and unpacking one takes between one and
//! five milliseconds. `build.rs` packs them.

#![allow(clippy::unreadable_literal)] // lengths in what build.rs writes

use std::sync::Once;

use tree_sitter_language::LanguageFn;

/// Declares the function that unpacks a grammar's tables once and returns its language.
macro_rules! grammar {
    ($name:ident, $language:ident, $tables:ident, $length:expr) => {
        #[allow(unsafe_code)] // the language is a C function, and its tables are a C array
        pub fn $name() -> LanguageFn {
            static UNPACKED: Once = Once::new();
            unsafe extern "C" {
                fn $language() -> *const ();
                static mut $tables: [u16; $length];
            }
            UNPACKED.call_once(|| {
                // SAFETY: nothing else writes the array, and nothing reads it before this has returned: its only other user is the
                // language, which callers have only from here.
                let tables = unsafe { &mut *(&raw mut $tables).cast::<[u8; 2 * $length]>() };
                unpack(include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".zst")), tables);
            });
            // SAFETY: the function is the one that `tree-sitter generate` wrote for this grammar.
            unsafe { LanguageFn::from_raw($language) }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/grammars.rs"));

#[cfg(target_endian = "big")]
compile_error!("the tables are packed in little-endian order");

fn unpack(packed: &[u8], tables: &mut [u8]) {
    let length = zstd::bulk::decompress_to_buffer(packed, tables)
        .expect("the tables were packed when this was compiled");
    assert_eq!(length, tables.len(), "tables of another length");
}

#[cfg(test)]
mod tests {
    use super::*;

    type Grammar = (fn() -> LanguageFn, &'static str);

    #[rustfmt::skip] // a table
    const TEXTS: &[Grammar] = &[
        (bash, "f() { echo \"$1\"; }\n"),
        (c, "int f(int a) { return a + 1; }\n"),
        (c_sharp, "class A { int F(int a) => a + 1; }\n"),
        (cpp, "template <class T> struct A : B<T> { T f() const; };\n"),
        (go, "package a\nfunc F(a int) int { return a + 1 }\n"),
        (java, "class A { int f(int a) { return a + 1; } }\n"),
        (kotlin, "class A {\n    fun f(a: Int): Int = a + 1\n}\n"),
        (php, "<?php class A { function f(int $a): int { return $a + 1; } }\n"),
        (python, "def f(a):\n    return a + 1\n"),
        (ruby, "class A\n  def f(a) = a + 1\nend\n"),
        (rust, "impl A { fn f(&self, a: u8) -> u8 { a + 1 } }\n"),
        (swift, "class A { func f(a: Int) -> Int { return a + 1 } }\n"),
        (tsx, "const a = (b: number) => <p>{b + 1}</p>;\n"),
        (typescript, "class A { f(a: number): number { return a + 1; } }\n"),
    ];

    fn parses((grammar, text): &Grammar) -> bool {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&grammar().into()).unwrap();
        !parser.parse(text, None).unwrap().root_node().has_error()
    }

    #[test]
    fn every_grammar_parses_its_language_and_refuses_another() {
        for (at, grammar) in TEXTS.iter().enumerate() {
            assert!(parses(grammar), "{}", grammar.1);
            assert!(!parses(&(grammar.0, "\u{1}) = <?? def {")), "{at} accepts anything");
        }
    }

    #[test]
    fn threads_that_use_a_grammar_at_once_wait_for_its_tables() {
        std::thread::scope(|scope| {
            let threads: Vec<_> = TEXTS
                .iter()
                .flat_map(|grammar| [grammar; 4])
                .map(|grammar| scope.spawn(|| parses(grammar)))
                .collect();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        });
    }
}
