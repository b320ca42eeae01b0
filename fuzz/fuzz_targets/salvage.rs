//! Salvages complete JSON objects from a damaged line, in order and without overlap.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sources::salvage::salvage_records;

fuzz_target!(|line: &[u8]| {
    let line: Vec<u8> = line.iter().copied().filter(|b| *b != b'\n').collect();
    let mut last = 0;
    for (from, to) in salvage_records(&line, |span| span.len() > 4) {
        assert!(last <= from && from < to && to <= line.len());
        last = to;
        let text = String::from_utf8_lossy(&line[from..to]).into_owned();
        let value = serde_json::from_str::<&serde_json::value::RawValue>(&text);
        assert!(value.is_ok_and(|v| v.get().starts_with('{')), "{text}");
    }
    if let Ok(value) = sources::json::first_value(&line) {
        let printed = sources::json::to_printable(value);
        assert!(serde_json::from_str::<&serde_json::value::RawValue>(&printed).is_ok(), "{printed}");
    }
});
