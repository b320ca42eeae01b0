//! Reads arbitrary bytes as a C# file: no panic, and the same facts when it is read again with the same reader.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let text = syntax::decode_text(bytes);
    let language = syntax::language_of(Path::new("x.cs")).expect("C# is a known language");
    let mut reader = syntax::Reader::new(language).expect("its grammar loads");
    let facts = reader.read(&text, &syntax::Symbols::default());
    let again = reader.read(&text, &syntax::Symbols::default());
    assert_eq!(format!("{facts:?}"), format!("{again:?}"), "the same text gives other facts");
});
