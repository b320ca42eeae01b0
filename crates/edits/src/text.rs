//! The text of a source file with its encoding, so that edited text is written back as it was read: byte order mark, UTF-16 and
//! line ends.
//!
//! Does not know what the text means.

use crate::edit::TextEdit;
use syntax::{Span, decode_text};

/// Decoded text and how to encode it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    pub text: String,
    encoding: Encoding,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Encoding {
    #[default]
    Utf8,
    Utf16Little,
    Utf16Big,
    Latin1,
}

impl SourceText {
    /// `None` if encoding the text again would not give the same bytes.
    pub fn decode(bytes: &[u8]) -> Option<SourceText> {
        let encoding = match bytes {
            [0xff, 0xfe, ..] => Encoding::Utf16Little,
            [0xfe, 0xff, ..] => Encoding::Utf16Big,
            _ if std::str::from_utf8(bytes).is_ok() => Encoding::Utf8,
            _ => Encoding::Latin1,
        };
        let text = SourceText { text: decode_text(bytes).into_owned(), encoding };
        (text.encode(&text.text).as_deref() == Some(bytes)).then_some(text)
    }

    /// Another text in the same encoding; `None` if the encoding lacks a character.
    pub fn encode(&self, text: &str) -> Option<Vec<u8>> {
        let wide = |mark: [u8; 2], of: fn(u16) -> [u8; 2]| {
            Some(mark.into_iter().chain(text.encode_utf16().flat_map(of)).collect())
        };
        match self.encoding {
            Encoding::Utf8 => Some(text.as_bytes().to_vec()),
            Encoding::Utf16Little => wide([0xff, 0xfe], u16::to_le_bytes),
            Encoding::Utf16Big => wide([0xfe, 0xff], u16::to_be_bytes),
            Encoding::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
        }
    }

    /// The line end that the text around a byte uses.
    pub fn line_end_near(&self, at: usize) -> &'static str {
        let ends = |line: &str| if line.ends_with('\r') { "\r\n" } else { "\n" };
        let before = self.text[..at].rfind('\n').map(|end| ends(&self.text[..end]));
        let after = || self.text[at..].find('\n').map(|end| ends(&self.text[at..at + end]));
        before.or_else(after).unwrap_or("\n")
    }
}

/// Applies edits, which must be sorted and must not overlap.
pub(crate) fn apply_edits(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.from as usize)?);
        out.push_str(&edit.text);
        at = edit.to as usize;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Number of the line that contains a byte, from 1, and of the column, in characters from 1.
pub(crate) fn line_and_column(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() as u32 + 1)
}

/// The byte of a line and column, both from 1.
pub(crate) fn byte_at(text: &str, line: u32, column: u32) -> Option<usize> {
    let start = (line > 1).then(|| text.match_indices('\n').nth(line as usize - 2).map(|(at, _)| at + 1));
    let start = start.unwrap_or(Some(0))?;
    let in_line = text[start..].split('\n').next()?;
    let offset = in_line.char_indices().map(|(at, _)| at).chain([in_line.len()]).nth(column as usize - 1)?;
    Some(start + offset)
}

/// Where the line of a byte starts; the first one after a byte order mark, which stays at the beginning of its file.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    text[..at].rfind('\n').map_or(mark.min(at), |end| end + 1)
}

/// The lines that contain a span, with their line ends.
pub(crate) fn whole_lines(text: &str, span: Span) -> Span {
    let from = line_start(text, span.from as usize);
    let to = text[span.to as usize..].find('\n').map_or(text.len(), |end| span.to as usize + end + 1);
    Span { from: from as u32, to: to as u32 }
}

/// The line that contains a byte, without its line end.
pub(crate) fn line_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    text[start..end].trim_end_matches('\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_is_written_as_it_was_read() {
        let table: [&[u8]; 6] = [
            b"a\r\nb\n",
            b"\xef\xbb\xbfa\n",
            b"\xff\xfea\0\r\0\n\0",
            b"\xfe\xff\0a\0\n",
            b"\xe4\n",
            b"no end",
        ];
        for bytes in table {
            let text = SourceText::decode(bytes).unwrap();
            assert_eq!(text.encode(&text.text).unwrap(), bytes);
        }
    }

    #[test]
    fn what_cannot_be_written_again_is_refused() {
        assert_eq!(SourceText::decode(b"\xff\xfe\0\xd8"), None, "half of a pair");
        assert_eq!(SourceText::decode(b"\xff\xfea"), None, "half of a unit");
        let latin = SourceText::decode(b"\xe4").unwrap();
        assert_eq!(latin.encode("\u{4e00}"), None);
    }

    #[test]
    fn the_nearest_line_end_is_used() {
        let mixed = SourceText::decode(b"a\r\nb\nc").unwrap();
        assert_eq!(
            (mixed.line_end_near(0), mixed.line_end_near(3), mixed.line_end_near(6)),
            ("\r\n", "\r\n", "\n")
        );
    }

    #[test]
    fn places_are_lines_and_columns() {
        assert_eq!(line_and_column("a\näb", 4), (2, 2));
        assert_eq!(byte_at("a\näb", 2, 2), Some(4));
        assert_eq!(byte_at("a\nb", 3, 1), None);
        assert_eq!(line_at("a\r\nb", 0), "a");
    }
}
