//! Reads arbitrary bytes as a SCIP index: an error, or an index whose occurrences and symbols can all be looked up.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(index) = scip::Index::read(bytes) else { return };
    for symbol in 0..index.symbol_count() {
        let name = index.symbol_name(symbol);
        scip::describe_symbol(name);
        index.find_symbol(name);
        for place in index.definitions_of(symbol).chain(index.references_to(symbol)) {
            index.occurrence(place);
        }
    }
    index.symbols_at(0, (0, 0));
});
