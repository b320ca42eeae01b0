//! Draws what is open above a screen.
//!
//! Does not know what an answer causes.

use super::cells::Canvas;
use super::{draw_document, prompt_of};
use crate::clean_text::{clean_block, clean_line, wrap_line};
use crate::ink::Ink;
use crate::model::{Dialog, Menu, Prompt};
use crate::rows::{Choosable, Line};
use crate::screens::Subject;
use ratatui::layout::{Position, Rect};

/// Lines of a question with a command, which may be long.
const CONFIRM_LINES: u16 = 6;
const PROMPT_LINES: u16 = 3;

/// The lines that a dialog needs, its title included.
pub(super) fn height(dialog: &Dialog) -> u16 {
    match dialog {
        Dialog::Help(_) => u16::MAX,
        Dialog::Menu(menu) => u16::try_from(menu.rows.len()).unwrap_or(u16::MAX).saturating_add(1),
        Dialog::Prompt(_) => PROMPT_LINES,
        Dialog::Confirm(_) => CONFIRM_LINES,
    }
}

/// Returns the position of the cursor, if text is typed.
pub(super) fn draw(canvas: &mut Canvas, inside: Rect, dialog: &Dialog) -> Option<Position> {
    if inside.is_empty() {
        return None;
    }
    draw_frame(canvas, inside, &title(dialog));
    match dialog {
        Dialog::Help(document) => draw_document(canvas, inside, document),
        Dialog::Menu(menu) => draw_menu(canvas, inside, menu),
        Dialog::Confirm(subject) => draw_question(canvas, inside, subject),
        Dialog::Prompt(_) => {}
    }
    prompt_of(dialog).map(|prompt| draw_prompt(canvas, inside, prompt))
}

fn title(dialog: &Dialog) -> String {
    match dialog {
        Dialog::Help(_) => "Keys".to_string(),
        Dialog::Menu(menu) => menu.title().to_string(),
        Dialog::Prompt(prompt) => prompt.title().to_string(),
        Dialog::Confirm(_) => "Resume this session?".to_string(),
    }
}

fn draw_frame(canvas: &mut Canvas, inside: Rect, title: &str) {
    let outside = Rect::new(inside.x - 1, inside.y - 1, inside.width + 2, inside.height + 2);
    canvas.clear(outside);
    let rule = "─".repeat(usize::from(inside.width));
    let top = Rect { height: 1, ..outside };
    canvas.text(top, &format!("┌{rule}┐"), Ink::Dim);
    canvas.text(Rect { x: inside.x + 1, width: inside.width - 2, ..top }, &format!(" {title} "), Ink::Bold);
    for row in inside.top()..inside.bottom() {
        for column in [outside.left(), outside.right() - 1] {
            canvas.text(Rect::new(column, row, 1, 1), "│", Ink::Dim);
        }
    }
    canvas.text(Rect { y: outside.bottom() - 1, ..top }, &format!("└{rule}┘"), Ink::Dim);
}

fn draw_menu(canvas: &mut Canvas, inside: Rect, menu: &Menu) {
    for (row, line) in (inside.top()..inside.bottom()).zip(menu.rows.visible(usize::from(inside.height))) {
        let Line::Item(index) = line else { continue };
        let area = Rect { y: row, height: 1, ..inside };
        let is_selected = *index == menu.rows.index();
        let mark = if is_selected { ">" } else { " " };
        canvas.text(area, &format!("{mark} {}", clean_line(&menu.rows.item(*index).label)), Ink::Plain);
        if is_selected {
            canvas.highlight(area, Ink::Selected);
        }
    }
    if menu.is_loading {
        canvas.text(Rect { y: inside.bottom() - 1, height: 1, ..inside }, "  reading…", Ink::Dim);
    }
}

fn draw_question(canvas: &mut Canvas, inside: Rect, subject: &Subject) {
    canvas.text(inside, &clean_line(&subject.title), Ink::Bold);
    let command = clean_line(subject.resume.as_deref().unwrap_or_default());
    let lines = wrap_line(&command, usize::from(inside.width));
    let rows = inside.top() + 1..inside.bottom() - 1;
    for (row, range) in rows.zip(lines) {
        canvas.text(Rect { y: row, height: 1, ..inside }, &command[range], Ink::Plain);
    }
    canvas.text(
        Rect { y: inside.bottom() - 1, height: 1, ..inside },
        "y runs it here, n goes back",
        Ink::Dim,
    );
}

fn draw_prompt(canvas: &mut Canvas, inside: Rect, prompt: &Prompt) -> Position {
    let row = inside.y + inside.height / 2;
    let (text, column) = prompt.input.visible_part(usize::from(inside.width).saturating_sub(1).max(1));
    canvas.text(Rect { y: row, height: 1, ..inside }, &clean_block(text), Ink::Bold);
    Position::new(inside.x + column as u16, row)
}
