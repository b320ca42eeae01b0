//! Reads the two large parse tables out of a compiled grammar.
//!
//! Knows the beginning of `TSLanguage` in `tree_sitter/parser.h`, which is the same in the versions 14 and 15 of its layout.
#![allow(unsafe_code)] // a grammar's tables are C arrays whose lengths follow from their contents

use tree_sitter_language::LanguageFn;

#[repr(C)]
struct Language {
    abi_version: u32,
    symbol_count: u32,
    alias_count: u32,
    token_count: u32,
    external_token_count: u32,
    state_count: u32,
    large_state_count: u32,
    production_id_count: u32,
    field_count: u32,
    max_alias_sequence_length: u16,
    parse_table: *const u16,
    small_parse_table: *const u16,
    small_parse_table_map: *const u32,
}

/// The actions of states with many of them as a matrix, and of the others as lists.
pub(crate) struct Tables {
    pub(crate) large: &'static [u16],
    pub(crate) small: &'static [u16],
}

impl Tables {
    pub(crate) fn length(&self) -> usize {
        self.large.len() + self.small.len()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = u16> {
        self.large.iter().chain(self.small).copied()
    }
}

pub(crate) fn read(language: LanguageFn) -> Tables {
    // SAFETY: the function is one of a grammar's crate and returns its constant language.
    let language = unsafe { &*language.into_raw()().cast::<Language>() };
    assert!((14..=15).contains(&language.abi_version), "a layout of grammars that is not known here");
    let large = language.large_state_count as usize * language.symbol_count as usize;
    let small_states = (language.state_count - language.large_state_count) as usize;
    // SAFETY: the lengths are those of the declarations in the grammar's parser.c: states times symbols, and one offset for each
    // small state.
    let (large, offsets) = unsafe {
        (
            std::slice::from_raw_parts(language.parse_table, large),
            std::slice::from_raw_parts(language.small_parse_table_map, small_states),
        )
    };
    let end = offsets
        .iter()
        .map(|&offset| end_of_state(language.small_parse_table, offset as usize))
        .max()
        .unwrap_or(0);
    // SAFETY: `end` is the end of the last list, which is the end of the array.
    let small = unsafe { std::slice::from_raw_parts(language.small_parse_table, end) };
    Tables { large, small }
}

/// Where the lists of a small state end: a count of groups, then for each its value, a count of symbols and these.
fn end_of_state(table: *const u16, start: usize) -> usize {
    // SAFETY: called with positions within the lists that the grammar's own offsets begin.
    let at = |position: usize| usize::from(unsafe { *table.add(position) });
    (0..at(start)).fold(start + 1, |group, _| group + 2 + at(group + 1))
}
