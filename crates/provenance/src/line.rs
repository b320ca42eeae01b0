//! A line as it is compared: without white space, quotes and trailing separators, which formatters change.
//!
//! Does not know where a line stands.

/// A line reduced to what formatters keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// 0 for a line without letters and digits: a bracket, a blank line.
    pub hash: u64,
    /// The bytes that were hashed.
    pub length: u32,
}

impl Line {
    pub fn new(text: &str) -> Line {
        let kept = || text.bytes().filter(|b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`'));
        let trailing = |b: &u8| matches!(b, b',' | b';');
        let tail = text.trim_end().bytes().rev().take_while(trailing).count();
        let length = kept().count().saturating_sub(tail);
        if !text.bytes().any(|b| b.is_ascii_alphanumeric() || b >= 0x80) {
            return Line::default();
        }
        // FNV-1a, with the bits mixed at the end.
        let hash = kept().take(length).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Line { hash: (hash ^ hash >> 29).max(1), length: length as u32 }
    }

    pub fn is_blank(self) -> bool {
        self.hash == 0
    }
}

/// The lines of a text.
pub fn lines_of(text: &str) -> Vec<Line> {
    text.lines().map(Line::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_and_quotes_do_not_change_a_line() {
        for (one, other) in [
            ("    let x = 'a';", "let x=\"a\""),
            ("foo(a, b),", "foo( a,b )"),
            ("\treturn nil", "return  nil"),
        ] {
            assert_eq!(Line::new(one), Line::new(other), "{one}");
        }
        assert_ne!(Line::new("a + b"), Line::new("a - b"));
        assert_ne!(Line::new("x = 1"), Line::new("x = 11"));
    }

    #[test]
    fn brackets_are_blank() {
        for text in ["", "  }", "});", "// ---"] {
            assert!(Line::new(text).is_blank(), "{text}");
        }
        assert!(!Line::new("é").is_blank());
    }
}
