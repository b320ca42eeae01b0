//! Draws the visible lines of a list, column by column.
//!
//! Does not know what the columns are.

use super::cells::Canvas;
use super::columns::{self, Column};
use crate::action::Screen;
use crate::ink::Ink;
use crate::model::Model;
use crate::rows::{Choosable, Line, Rows};
use api::terminal_text::{display_width, truncate_width};
use ratatui::layout::Rect;
use render::RenderOptions;

/// Columns between columns.
const GAP: u16 = 1;
/// The mark of the selected row, which is also visible without colours.
const MARK: u16 = 2;

pub(super) fn draw(canvas: &mut Canvas, area: Rect, model: &Model) {
    let options = &model.options;
    match model.screen {
        Screen::Search => draw_rows(canvas, area, &model.search.rows, columns::SEARCH, options),
        Screen::Sessions => draw_rows(canvas, area, &model.sessions.rows, columns::SESSIONS, options),
        Screen::Memory => draw_rows(canvas, area, &model.memory.rows, columns::MEMORY, options),
        Screen::Errors => draw_rows(canvas, area, &model.errors.rows, columns::ERRORS, options),
        Screen::Usage => draw_rows(canvas, area, &model.usage.rows, columns::USAGE, options),
        Screen::Why => draw_rows(canvas, area, &model.why.rows, columns::WHY, options),
    }
    if is_empty(model) {
        let text = if model.is_waiting() { "reading…".to_string() } else { model.screen().empty_text() };
        canvas.text(area, &text, Ink::Dim);
    }
}

fn is_empty(model: &Model) -> bool {
    match model.screen {
        Screen::Search => model.search.rows.len() == 0,
        Screen::Sessions => model.sessions.rows.len() == 0,
        Screen::Memory => model.memory.rows.len() == 0,
        Screen::Errors => model.errors.rows.len() == 0,
        Screen::Usage => model.usage.rows.len() == 0,
        Screen::Why => model.why.rows.len() == 0,
    }
}

fn draw_rows<T>(canvas: &mut Canvas, area: Rect, rows: &Rows<T>, all: &[Column<T>], options: &RenderOptions) {
    let places = place_columns(all, area);
    for (row, line) in (area.top()..area.bottom()).zip(rows.visible(usize::from(area.height))) {
        let line_area = Rect { y: row, height: 1, ..area };
        match line {
            Line::Heading(text) => canvas.text(line_area, text, Ink::Role),
            Line::Item(index) => {
                let is_selected = *index == rows.index();
                draw_item(canvas, line_area, rows.item(*index), &places, options);
                if is_selected {
                    canvas.text(line_area, ">", Ink::Bold);
                    canvas.highlight(line_area, Ink::Selected);
                }
            }
        }
    }
}

/// The columns that fit, each with its left edge and its width.
fn place_columns<T>(all: &[Column<T>], area: Rect) -> Vec<(&Column<T>, u16, u16)> {
    let shown: Vec<&Column<T>> = all.iter().filter(|column| column.from <= area.width).collect();
    let fixed: u16 = shown.iter().map(|column| column.width + GAP).sum::<u16>() + MARK;
    let rest = area.width.saturating_sub(fixed);
    let mut left = area.x + MARK;
    let mut places = Vec::new();
    for column in shown {
        let width = if column.width == 0 { rest } else { column.width };
        let width = width.min(area.right().saturating_sub(left));
        places.push((column, left, width));
        left = left.saturating_add(width + GAP);
    }
    places
}

fn draw_item<T>(
    canvas: &mut Canvas,
    area: Rect,
    item: &T,
    places: &[(&Column<T>, u16, u16)],
    options: &RenderOptions,
) {
    for (column, left, width) in places {
        let text = truncate_width(&(column.value)(item, options), usize::from(*width));
        let pad =
            if column.right { usize::from(*width).saturating_sub(display_width(&text)) as u16 } else { 0 };
        let cell = Rect { x: left + pad, width: width - pad.min(*width), ..area };
        canvas.text(cell, &text, (column.ink)(item));
    }
}
