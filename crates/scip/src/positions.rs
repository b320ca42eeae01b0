//! Converts lines and columns, as an indexer counts them, to byte offsets, and back to the lines and columns that people use.
//!
//! Does not know files. Only a line feed ends a line; in a language with other line breaks, the positions after one are off, and
//! the file does not match its document.

/// The unit of a document's columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ColumnEncoding {
    /// Bytes.
    #[default]
    Utf8,
    /// UTF-16 code units: a surrogate pair counts as two.
    Utf16,
    /// Characters.
    Utf32,
}

/// A text with the offsets of its lines.
pub struct Lines<'t> {
    pub text: &'t str,
    starts: Vec<u32>,
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Lines<'t> {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        Lines { text, starts: std::iter::once(0).chain(ends.map(|at| at as u32 + 1)).collect() }
    }

    /// The byte offset of a line and column, both from 0; `None` if the text has no such position.
    pub fn byte_offset(&self, line: u32, column: u32, columns: ColumnEncoding) -> Option<u32> {
        let from = *self.starts.get(line as usize)?;
        let until = self.starts.get(line as usize + 1).map_or(self.text.len(), |next| *next as usize - 1);
        let line = &self.text[from as usize..until];
        let within = if line.is_ascii() || columns == ColumnEncoding::Utf8 {
            line.is_char_boundary(column as usize).then_some(column as usize)
        } else {
            offset_in_line(line, column, columns)
        };
        within.map(|within| from + within as u32)
    }

    /// Line and column of a byte offset, both from 1; the column in characters.
    pub fn line_and_column(&self, byte: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let from = self.starts[line - 1] as usize;
        let column = self.text.get(from..byte as usize).map_or(0, |before| before.chars().count());
        (line as u32, column as u32 + 1)
    }
}

fn offset_in_line(line: &str, column: u32, columns: ColumnEncoding) -> Option<usize> {
    let mut left = column as usize;
    for (at, c) in line.char_indices() {
        if left == 0 {
            return Some(at);
        }
        let width = if columns == ColumnEncoding::Utf16 { c.len_utf16() } else { 1 };
        left = left.checked_sub(width)?;
    }
    (left == 0).then_some(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_follow_the_encoding_of_the_document() {
        let lines = Lines::new("aé𝒳b\r\nx\n");
        for (line, column, columns, expected) in [
            (0, 0, ColumnEncoding::Utf8, Some(0)),
            (0, 3, ColumnEncoding::Utf8, Some(3)),
            (0, 4, ColumnEncoding::Utf8, None),
            (0, 7, ColumnEncoding::Utf8, Some(7)),
            (0, 2, ColumnEncoding::Utf16, Some(3)),
            (0, 3, ColumnEncoding::Utf16, None),
            (0, 4, ColumnEncoding::Utf16, Some(7)),
            (0, 3, ColumnEncoding::Utf32, Some(7)),
            (0, 5, ColumnEncoding::Utf32, Some(9)),
            (0, 6, ColumnEncoding::Utf32, None),
            (1, 0, ColumnEncoding::Utf16, Some(10)),
            (1, 1, ColumnEncoding::Utf16, Some(11)),
            (1, 2, ColumnEncoding::Utf16, None),
            (2, 0, ColumnEncoding::Utf16, Some(12)),
            (3, 0, ColumnEncoding::Utf16, None),
            (u32::MAX, u32::MAX, ColumnEncoding::Utf32, None),
        ] {
            assert_eq!(lines.byte_offset(line, column, columns), expected, "{line}:{column} {columns:?}");
        }
        assert_eq!(lines.line_and_column(7), (1, 4));
        assert_eq!(lines.line_and_column(11), (2, 2));
    }

    proptest! {
        #[test]
        fn a_position_maps_back_to_its_byte(text in "[a\u{e9}\u{1d4b3}\n]{0,30}") {
            let lines = Lines::new(&text);
            for (byte, _) in text.char_indices() {
                let (line, column) = lines.line_and_column(byte as u32);
                prop_assert_eq!(lines.byte_offset(line - 1, column - 1, ColumnEncoding::Utf32), Some(byte as u32));
            }
        }
    }
}
