//! Parses arbitrary bytes as a line on the socket: a request that survives being formatted and parsed again, or a JSON-RPC
//! error.

#![no_main]

use daemon::rpc::{Request, format_request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| match Request::parse(line) {
    Ok(request) => {
        let text = format_request(1, &request.method, request.params.clone(), &request.meta);
        assert!(text.ends_with('\n') && text.matches('\n').count() == 1, "one line: {text}");
        let again = Request::parse(text.trim_end().as_bytes()).expect("a formatted request is valid");
        assert_eq!((again.method, again.params), (request.method, request.params));
    }
    Err(response) => assert!(response["error"]["code"].is_i64() && response["jsonrpc"] == "2.0", "{response}"),
});
