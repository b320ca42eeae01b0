//! Reads arbitrary bytes as a source file of any language; the first byte chooses it. No panic, an end within the limits, and the same
//! facts when it is read again with the same reader.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let language = &syntax::LANGUAGES[usize::from(*choice) % syntax::LANGUAGES.len()];
    let text = syntax::decode_text(bytes);
    let mut reader = syntax::Reader::new(language).expect("its grammar loads");
    let facts = reader.read(&text, &syntax::Symbols::default());
    let again = reader.read(&text, &syntax::Symbols::default());
    // the limit of CPU time depends on the machine
    if !facts.is_over_budget() && !again.is_over_budget() {
        assert_eq!(format!("{facts:?}"), format!("{again:?}"), "the same text gives other facts");
    }
});
