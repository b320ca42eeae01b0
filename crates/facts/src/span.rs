//! A range of bytes in a text.
//!
//! Does not know the text.

/// A half-open byte range of one text.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Span {
    pub from: u32,
    pub to: u32,
}

impl Span {
    pub fn new(from: usize, to: usize) -> Span {
        Span { from: from as u32, to: to as u32 }
    }

    pub fn text_in(self, text: &str) -> &str {
        text.get(self.from as usize..self.to as usize).unwrap_or_default()
    }

    pub fn overlaps(self, other: Span) -> bool {
        self.from < other.to && other.from < self.to
    }
}
