//! Which parts of a text are secrets, and what stands in their place.
//!
//! Does not know where the text came from or where it goes.

use std::borrow::Cow;

pub const RULES_VERSION: u32 = 0;

pub struct Masker {}

impl Masker {
    pub fn new(_key: [u8; 32]) -> Masker {
        Masker {}
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(json)
    }
}
