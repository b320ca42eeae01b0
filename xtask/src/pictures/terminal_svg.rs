//! Draws the screen of a terminal as SVG: text in its colours, which stays sharp at every size.
//!
//! Does not know what is on the screen.

use std::fmt::Write as _;
use testutil::{VtCell, VtColor, VtScreen};

const CELL: (f64, f64) = (8.4, 17.0);
const PADDING: f64 = 12.0;
const TEXT: &str = "#e4e4e4";
const BACK: &str = "#16181d";
/// The sixteen colours of a terminal.
const COLOURS: [&str; 16] = [
    "#2b2f37", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4", "#7f848e",
    "#ff7b86", "#b5e08d", "#ffd68a", "#7fc1ff", "#dd92f2", "#6fd6e2", "#ffffff",
];

pub(super) fn draw(screen: &VtScreen) -> String {
    let (rows, columns) = screen.size();
    let (width, height) =
        (f64::from(columns.get()) * CELL.0 + 2.0 * PADDING, f64::from(rows.get()) * CELL.1 + 2.0 * PADDING);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACK}\"/>\n"
    );
    for row in 0..rows.get() {
        draw_row(&mut out, screen, row, columns.get());
    }
    out + "</svg>\n"
}

/// How a cell looks: text colour, background, bold, faint.
type Look = (String, Option<String>, bool, bool);

/// Neighbouring cells of one look are one text, stretched to their columns: fonts differ in width.
fn draw_row(out: &mut String, screen: &VtScreen, row: u16, columns: u16) {
    let mut column = 0;
    while column < columns {
        let look = look_of(screen.cell(row, column));
        let start = column;
        let mut text = String::new();
        while column < columns && look_of(screen.cell(row, column)) == look {
            let cell = screen.cell(row, column);
            if !cell.is_some_and(VtCell::is_wide_continuation) {
                text.push_str(cell.map(VtCell::contents).filter(|text| !text.is_empty()).unwrap_or(" "));
            }
            column += 1;
        }
        draw_span(out, row, start, column, &text, &look);
    }
}

fn draw_span(out: &mut String, row: u16, start: u16, end: u16, text: &str, look: &Look) {
    let (x, y) = (PADDING + f64::from(start) * CELL.0, PADDING + f64::from(row) * CELL.1);
    let (ink, back, bold, faint) = look;
    if let Some(back) = back {
        let width = f64::from(end - start) * CELL.0;
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{}\" fill=\"{back}\"/>",
            CELL.1
        );
    }
    let shown = text.trim_end();
    if shown.is_empty() {
        return;
    }
    let blanks = shown.len() - shown.trim_start().len();
    let (x, shown) = (x + blanks as f64 * CELL.0, shown.trim_start());
    let columns = usize::from(end - start) - blanks - (text.len() - text.trim_end().len());
    let weight = if *bold { " font-weight=\"bold\"" } else { "" };
    let opacity = if *faint { " opacity=\"0.65\"" } else { "" };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.0}\" fill=\"{ink}\"{weight}{opacity} textLength=\"{:.1}\" xml:space=\"preserve\">{}</text>",
        y + 13.0,
        columns as f64 * CELL.0,
        api::terminal_text::escape_html(shown)
    );
}

fn look_of(cell: Option<&VtCell>) -> Look {
    let Some(cell) = cell else { return (TEXT.to_owned(), None, false, false) };
    let (ink, back) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    let (bold, faint) = (cell.bold(), cell.dim());
    if cell.inverse() {
        return (
            back.unwrap_or_else(|| BACK.to_owned()),
            Some(ink.unwrap_or_else(|| TEXT.to_owned())),
            bold,
            faint,
        );
    }
    (ink.unwrap_or_else(|| TEXT.to_owned()), back, bold, faint)
}

/// `None` for the default of the terminal.
fn colour(of: VtColor) -> Option<String> {
    match of {
        VtColor::Default => None,
        VtColor::Idx(index) => COLOURS.get(usize::from(index)).map(|name| (*name).to_owned()),
        VtColor::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}
