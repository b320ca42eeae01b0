//! The name of an archived copy as a key of records.
//!
//! Does not know what the copy is of.

pub(crate) fn hex(name: u128) -> String {
    format!("{name:032x}")
}

pub(crate) fn parse_name(key: &str) -> Option<u128> {
    (key.len() == 32).then(|| u128::from_str_radix(key, 16).ok())?
}
