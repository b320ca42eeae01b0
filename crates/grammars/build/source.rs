//! Rewrites a generated `parser.c` so that its two large tables are an array without contents.
//!
//! Knows the lines between which `tree-sitter generate` writes a table and the two fields that point to them, nothing else of C.

use crate::tables::Tables;

/// An array without contents is not in the file of a program and takes no memory before it is filled.
pub(crate) fn without_tables(parser: &str, array: &str, tables: &Tables) -> String {
    let large = cut_table(
        parser,
        "static const uint16_t ts_parse_table[",
        &format!("uint16_t {array}[{}];", tables.length()),
    );
    let small = cut_table(&large, "static const uint16_t ts_small_parse_table[", "");
    let pointed =
        point_to(&small, ".parse_table = &ts_parse_table[0][0],", &format!(".parse_table = {array},"));
    let offset = tables.large.len();
    point_to(
        &pointed,
        ".small_parse_table = ts_small_parse_table,",
        &format!(".small_parse_table = {array} + {offset},"),
    )
}

fn cut_table(parser: &str, start: &str, instead: &str) -> String {
    let from = parser.find(start).unwrap_or_else(|| panic!("no line `{start}`"));
    let end = from
        + parser[from..].find("\n};").expect("a table ends with a brace on a line of its own")
        + "\n};".len();
    format!("{}{instead}{}", &parser[..from], &parser[end..])
}

fn point_to(parser: &str, field: &str, replacement: &str) -> String {
    assert_eq!(parser.matches(field).count(), 1, "`{field}` occurs once");
    parser.replace(field, replacement)
}
