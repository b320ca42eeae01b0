//! The second line, with the input and the filters, and the last line, with messages, counts and the most important keys.
//!
//! Does not know what a message means.

use super::cells::Canvas;
use crate::action::Screen;
use crate::clean_text::{clean_block, clean_line};
use crate::ink::Ink;
use crate::keys;
use crate::model::Model;
use api::terminal_text::display_width;
use ratatui::layout::{Position, Rect};

/// Draws the input of the screen, or what the screen shows; returns the position of the cursor.
pub(super) fn draw_input(canvas: &mut Canvas, area: Rect, model: &mut Model) -> Option<Position> {
    if let Some(reading) = &model.reading {
        canvas.text(area, &clean_line(&reading.subject.title), Ink::Bold);
        return None;
    }
    let filters: Vec<String> =
        model.filters.list().iter().map(|(name, value)| format!("{name}:{}", clean_line(value))).collect();
    let filters = filters.join(" ");
    let right = (display_width(&filters) as u16).min(area.width / 2);
    let right_area = Rect { x: area.right() - right, width: right, ..area };
    canvas.text(right_area, &filters, Ink::Warn);
    let left = Rect { width: area.width.saturating_sub(right + 1), ..area };
    draw_line_input(canvas, left, model)
}

fn draw_line_input(canvas: &mut Canvas, area: Rect, model: &mut Model) -> Option<Position> {
    let label = input_label(model);
    canvas.text(area, &label, Ink::Dim);
    let used = display_width(&label) as u16;
    let inside = Rect { x: area.x + used, width: area.width.saturating_sub(used), ..area };
    let input = model.screen_input()?;
    let (text, column) = input.visible_part(usize::from(inside.width).saturating_sub(1).max(1));
    let (text, column) = (clean_block(text), column as u16);
    canvas.text(inside, &text, Ink::Bold);
    Some(Position::new((inside.x + column).min(area.right().saturating_sub(1)), area.y))
}

fn input_label(model: &Model) -> String {
    match model.screen {
        Screen::Search => "search: ".to_string(),
        Screen::Memory => format!("memory ({}): ", model.memory.state_name()),
        Screen::Why => "why: ".to_string(),
        Screen::Sessions => "sessions, newest first".to_string(),
        Screen::Errors => "errors by signature, most frequent first".to_string(),
        Screen::Usage => format!("tokens and cost by {}", model.usage.grouping()),
    }
}

/// A message or the number of items on the left, keys on the right.
pub(super) fn draw_last_line(canvas: &mut Canvas, area: Rect, model: &Model) {
    let (left, ink) = left_text(model);
    canvas.text(area, &left, ink);
    let used = display_width(&left) as u16 + 2;
    let room = area.width.saturating_sub(used);
    let hints = fitting_hints(model, usize::from(room));
    let width = display_width(&hints) as u16;
    canvas.text(Rect { x: area.right() - width, width, ..area }, &hints, Ink::Dim);
}

fn left_text(model: &Model) -> (String, Ink) {
    if let Some((text, ink)) = &model.message {
        return (text.clone(), *ink);
    }
    let waiting = if model.is_waiting() { " …" } else { "" };
    let text = match &model.reading {
        Some(reading) => {
            let (line, lines) = reading.document.position();
            format!("line {} of {lines}{waiting}", line + 1)
        }
        None if model.screen == Screen::Why && !model.why.answer().is_empty() => {
            format!("{}{waiting}", model.why.answer())
        }
        None => format!("{}{waiting}", model.screen().summary()),
    };
    (text, Ink::Plain)
}

fn fitting_hints(model: &Model, room: usize) -> String {
    let mut out = String::new();
    for (key, hint) in keys::hints(model.mode()) {
        let hint = if model.is_picker && hint == "resume" { "choose" } else { hint };
        let next = format!("{key} {hint}");
        if display_width(&out) + display_width(&next) + 2 > room {
            break;
        }
        out.push_str(if out.is_empty() { "" } else { "  " });
        out.push_str(&next);
    }
    out
}
