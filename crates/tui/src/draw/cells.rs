//! Writes text into cells, cut at the area and measured in columns.
//!
//! Does not know what the text is. It must be clean: see `clean_text`.

use crate::document::Span;
use crate::ink::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(super) struct Canvas<'b> {
    pub(super) buffer: &'b mut Buffer,
    pub(super) colour: bool,
}

impl Canvas<'_> {
    /// Writes the text into the first line of the area.
    pub(super) fn text(&mut self, area: Rect, text: &str, ink: Ink) {
        if !area.is_empty() {
            let style = ink.style(self.colour);
            self.buffer.set_stringn(area.x, area.y, text, usize::from(area.width), style);
        }
    }

    /// Writes spans one after the other; returns the column after the last.
    pub(super) fn spans(&mut self, area: Rect, spans: &[Span]) {
        let mut left = area.x;
        for (text, ink) in spans {
            if left >= area.right() || area.is_empty() {
                return;
            }
            let style = ink.style(self.colour);
            let width = usize::from(area.right() - left);
            (left, _) = self.buffer.set_stringn(left, area.y, text, width, style);
        }
    }

    /// Gives the whole line a look, over the texts in it.
    pub(super) fn highlight(&mut self, area: Rect, ink: Ink) {
        self.buffer.set_style(area, ink.style(self.colour));
    }

    pub(super) fn clear(&mut self, area: Rect) {
        for row in area.top()..area.bottom() {
            for column in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((column, row)) {
                    cell.reset();
                }
            }
        }
    }
}
