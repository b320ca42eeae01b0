//! Edits arbitrary text as a settings file of an agent: the edit is refused, or can be reverted to the byte.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| setup::fuzz_edit_settings(text));
