//! One line of text that a person edits.
//!
//! Does not know which keys edit it, nor what the text is for.

use api::terminal_text::{char_width, display_width};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineInput {
    text: String,
    /// In bytes, at the boundary of a character.
    cursor: usize,
}

/// A change of the text or of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Left,
    Right,
    Start,
    End,
    DeleteBack,
    DeleteForward,
    DeleteWord,
    DeleteAll,
}

impl LineInput {
    pub(crate) fn new(text: &str) -> LineInput {
        LineInput { text: text.to_string(), cursor: text.len() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Inserts at the cursor; line ends and control characters of a pasted text become blanks.
    pub(crate) fn insert(&mut self, text: &str) {
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    pub(crate) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Left => self.cursor = self.boundary_before(),
            Edit::Right => self.cursor = self.boundary_after(),
            Edit::Start => self.cursor = 0,
            Edit::End => self.cursor = self.text.len(),
            Edit::DeleteBack => self.delete_from(self.boundary_before()),
            Edit::DeleteForward => drop(self.text.drain(self.cursor..self.boundary_after())),
            Edit::DeleteWord => self.delete_from(self.word_start()),
            Edit::DeleteAll => *self = LineInput::default(),
        }
    }

    fn delete_from(&mut self, start: usize) {
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    fn boundary_before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn boundary_after(&self) -> usize {
        self.cursor + self.text[self.cursor..].chars().next().map_or(0, char::len_utf8)
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(' ').map_or(0, |at| at + 1)
    }

    /// The part that fits into `width` columns and contains the cursor, and the column of the cursor in it.
    pub(crate) fn visible_part(&self, width: usize) -> (&str, usize) {
        let mut start = 0;
        while display_width(&self.text[start..self.cursor]) >= width.max(1) {
            start += self.text[start..].chars().next().map_or(1, char::len_utf8);
        }
        let (mut end, mut taken) = (start, 0);
        for c in self.text[start..].chars() {
            taken += char_width(c);
            if taken > width {
                break;
            }
            end += c.len_utf8();
        }
        (&self.text[start..end], display_width(&self.text[start..self.cursor]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_keep_the_cursor_between_characters() {
        let mut input = LineInput::new("flaky 测试");
        for (edit, text) in [
            (Edit::Left, "flaky 测试"),
            (Edit::DeleteBack, "flaky 试"),
            (Edit::DeleteForward, "flaky "),
            (Edit::DeleteWord, ""),
            (Edit::DeleteBack, ""),
        ] {
            input.edit(edit);
            assert_eq!(input.text(), text, "{edit:?}");
        }
        input.insert("a\nb\x1b");
        assert_eq!(input.text(), "a b ");
        input.edit(Edit::Start);
        input.insert("x");
        assert_eq!(input.text(), "xa b ");
    }

    #[test]
    fn the_cursor_is_always_visible() {
        let input = LineInput::new("一二三四五六");
        assert_eq!(input.visible_part(5), ("五六", 4));
        assert_eq!(LineInput::new("ab").visible_part(10), ("ab", 2));
    }
}
