//! Compiles arbitrary text as a filter: it succeeds, or fails with a message.

#![no_main]

use libfuzzer_sys::fuzz_target;
use query::program::{Program, takes_array};

fuzz_target!(|filter: &str| {
    takes_array(filter);
    let filter = filter.to_string();
    // Loci compiles filters in a child process with limits; here the stack must suffice for the longest filter.
    let compile = move || Program::compile(&filter).map(drop).map_err(|e| e.to_string());
    let thread = std::thread::Builder::new().stack_size(512 << 20).spawn(compile).expect("spawn a thread");
    if let Err(message) = thread.join().expect("no panic") {
        assert!(message.len() > "the jq filter is not valid: ".len(), "{message}");
    }
});
