//! Draws the model: the bar of screens, the input, list and detail of a screen, the session that is being read, dialogs.
//!
//! Does not know keys or requests, and changes nothing. Only visible lines are drawn.

mod cells;
mod columns;
mod dialog;
mod status;
mod table;

use crate::action::{SCREENS, Screen};
use crate::document::Document;
use crate::ink::Ink;
use crate::layout::{Areas, Open, arrange, is_narrow, tab_text};
use crate::model::{Dialog, Model};
use crate::screens::{SessionView, total_tokens};
use cells::Canvas;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use render::format::format_money;

/// Draws a frame of the whole screen.
pub(crate) fn draw_frame(frame: &mut Frame, model: &mut Model, colour: bool) {
    let areas = arrange(frame.area(), open_parts(model));
    model.fit(areas.clone());
    let cursor = draw_model(frame.buffer_mut(), model, &areas, colour);
    if let Some(at) = cursor {
        frame.set_cursor_position(at);
    }
}

fn open_parts(model: &Model) -> Open {
    Open {
        reading: model.reading.is_some(),
        chart: model.screen == Screen::Usage && model.usage.is_series(),
        dialog: model.dialog.as_ref().map_or(0, dialog::height),
    }
}

/// Returns the position of the cursor, if text is typed.
fn draw_model(buffer: &mut Buffer, model: &mut Model, areas: &Areas, colour: bool) -> Option<Position> {
    let mut canvas = Canvas { buffer, colour };
    draw_tabs(&mut canvas, areas, model);
    let cursor = status::draw_input(&mut canvas, areas.input, model);
    match &model.reading {
        Some(reading) => draw_session(&mut canvas, areas.body, reading),
        None => draw_screen(&mut canvas, areas, model),
    }
    status::draw_last_line(&mut canvas, areas.last, model);
    match &model.dialog {
        Some(open) => dialog::draw(&mut canvas, areas.dialog, open),
        None => cursor.filter(|_| model.typing && model.reading.is_none()),
    }
}

fn draw_tabs(canvas: &mut Canvas, areas: &Areas, model: &Model) {
    if model.is_picker {
        let bar = Rect { y: areas.input.y.saturating_sub(1), ..areas.input };
        return canvas.text(bar, "Choose a session", Ink::Bold);
    }
    for (area, screen) in &areas.tabs {
        let index = SCREENS.iter().position(|(known, _)| known == screen).unwrap_or(0);
        let ink = if *screen == model.screen { Ink::Current } else { Ink::Plain };
        let narrow = areas.tabs.last().is_some_and(|_| is_narrow(areas.input.width));
        canvas.text(*area, &tab_text(index, narrow), ink);
    }
}

fn draw_screen(canvas: &mut Canvas, areas: &Areas, model: &Model) {
    if !areas.chart.is_empty() {
        draw_chart(canvas, areas.chart, model);
    }
    table::draw(canvas, areas.list, model);
    draw_border(canvas, areas.border);
    draw_document(canvas, areas.detail, model.screen().detail());
}

fn draw_border(canvas: &mut Canvas, area: Rect) {
    let sign = if area.width == 1 { "│" } else { "─" };
    for row in area.top()..area.bottom() {
        canvas.text(Rect { y: row, height: 1, ..area }, &sign.repeat(usize::from(area.width)), Ink::Dim);
    }
}

fn draw_document(canvas: &mut Canvas, area: Rect, document: &Document) {
    let (lines, _) = document.visible(usize::from(area.height));
    for (row, spans) in (area.top()..area.bottom()).zip(lines) {
        canvas.spans(Rect { y: row, height: 1, ..area }, spans);
    }
}

/// The current line has a mark in front, also where reversed colours are not shown.
fn draw_session(canvas: &mut Canvas, area: Rect, reading: &SessionView) {
    if !reading.is_loaded() {
        return canvas.text(area, "reading the session…", Ink::Dim);
    }
    let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    draw_document(canvas, inside, &reading.document);
    let (_, current) = reading.document.visible(usize::from(area.height));
    let row = area.y + current as u16;
    if row < area.bottom() {
        canvas.text(Rect { y: row, width: 1, height: 1, ..area }, "▌", Ink::Role);
    }
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Tokens over time, oldest on the left, and the same for the cost.
fn draw_chart(canvas: &mut Canvas, area: Rect, model: &Model) {
    let lines = model.usage.rows.items();
    let series =
        |value: fn(&crate::request::UsageLine) -> f64| lines.iter().rev().map(value).collect::<Vec<f64>>();
    let tokens = series(|line| total_tokens(line) as f64);
    let cost = series(|line| line.cost_usd.unwrap_or(0.0));
    let width = usize::from(area.width).saturating_sub(8);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    for (row, (name, values)) in [("tokens", &tokens), ("cost", &cost)].into_iter().enumerate() {
        let text = format!("{name:<7} {}", sparkline(values, width));
        canvas.text(Rect { y: area.y + row as u16, height: 1, ..area }, &text, Ink::Role);
    }
    let scale = format!(
        "by {} · highest {} tokens, {}",
        model.usage.grouping(),
        render::format::group_digits(most(&tokens) as u64),
        format_money(most(&cost), lines.iter().filter_map(|line| line.unpriced).sum())
    );
    canvas.text(Rect { y: area.y + 2, height: 1, ..area }, &scale, Ink::Dim);
}

/// The last values that fit, each as a bar of one column.
fn sparkline(values: &[f64], width: usize) -> String {
    let shown = &values[values.len().saturating_sub(width)..];
    let most = shown.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let bar = |value: &f64| match (value / most * 7.0).round() as usize {
        _ if *value <= 0.0 => ' ',
        level => BARS[level.min(7)],
    };
    shown.iter().map(bar).collect()
}

/// Whether the model shows a dialog that is answered with text.
fn prompt_of(dialog: &Dialog) -> Option<&crate::model::Prompt> {
    match dialog {
        Dialog::Prompt(prompt) => Some(prompt),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_the_last_values_relative_to_the_highest() {
        assert_eq!(sparkline(&[0.0, 1.0, 7.0, 3.5], 10), " ▂█▅");
        assert_eq!(sparkline(&[9.0, 1.0, 1.0], 2), "██");
        assert_eq!(sparkline(&[], 5), "");
        assert_eq!(sparkline(&[0.0, 0.0], 5), "  ");
    }
}
