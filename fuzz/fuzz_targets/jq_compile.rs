//! Any text compiles as a filter or is refused in words.

#![no_main]

use libfuzzer_sys::fuzz_target;
use query::program::{Program, takes_array};

fuzz_target!(|filter: &str| {
    takes_array(filter);
    let filter = filter.to_string();
    // The program that meets filters is a child with limits; here the stack must last for the longest filter.
    let compile = move || Program::compile(&filter).map(drop).map_err(|e| e.to_string());
    let thread = std::thread::Builder::new().stack_size(512 << 20).spawn(compile).expect("a thread");
    if let Err(words) = thread.join().expect("no panic") {
        assert!(words.len() > "the jq filter is not valid: ".len(), "{words}");
    }
});
