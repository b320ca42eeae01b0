//! Tables of the numbers that charts show, and of lists. The page's script sorts and filters them; without it they are as complete.
//!
//! Does not know what the cells mean.

use api::terminal_text::{append_fmt, escape_html, one_line, truncate_width};
use render::format::{format_money, group_digits};

pub(crate) enum Cell {
    Text(String),
    Count(u64),
    /// Dollars, and the number of replies without a price.
    Cost(f64, u64),
    /// A part of 1.
    Rate(f64),
}

impl Cell {
    /// A text on one line, shortened to this many columns.
    pub(crate) fn line(text: &str, columns: usize) -> Cell {
        Cell::Text(shorten(text, columns))
    }
}

/// The text on one line within this many columns. Marks that take no column count too: a line of them would have no end.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let line = truncate_width(&one_line(text), columns);
    match line.char_indices().nth(2 * columns) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

pub(crate) struct Table<'t> {
    pub(crate) caption: &'t str,
    pub(crate) columns: &'t [&'t str],
    /// What the filter is about, for its label; no filter if empty.
    pub(crate) filter: &'t str,
}

impl Table<'_> {
    pub(crate) fn draw(&self, rows: impl Iterator<Item = Vec<Cell>>) -> String {
        self.draw_within(rows, usize::MAX).0
    }

    /// Draws rows until the table has this many bytes; returns how many were drawn.
    pub(crate) fn draw_within(
        &self,
        rows: impl Iterator<Item = Vec<Cell>>,
        budget: usize,
    ) -> (String, usize) {
        let mut rows = rows.peekable();
        let (mut out, mut drawn) = (self.draw_head(rows.peek().map_or(&[][..], Vec::as_slice)), 0);
        for row in rows {
            let line = draw_row(&row);
            if out.len() + line.len() > budget {
                break;
            }
            out += &line;
            drawn += 1;
        }
        (out + "</tbody>\n</table>\n</div>\n", drawn)
    }

    /// A heading stands above its numbers, which are on the right.
    fn draw_head(&self, first: &[Cell]) -> String {
        let caption = escape_html(self.caption);
        let mut out = String::new();
        if !self.filter.is_empty() {
            append_fmt(
                &mut out,
                format_args!(
                    "<p class=\"filter\" hidden><label>Filter {} <input type=\"search\"></label> <output></output></p>\n",
                    self.filter
                ),
            );
        }
        append_fmt(
            &mut out,
            format_args!(
                "<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table>\n<caption>{caption}</caption>\n<thead><tr>"
            ),
        );
        for (at, column) in self.columns.iter().enumerate() {
            let is_text = first.get(at).is_none_or(|cell| matches!(cell, Cell::Text(_)));
            let class = if is_text { "" } else { " class=\"n\"" };
            append_fmt(&mut out, format_args!("<th scope=\"col\"{class}>{}</th>", escape_html(column)));
        }
        out + "</tr></thead>\n<tbody>\n"
    }
}

fn draw_row(cells: &[Cell]) -> String {
    let mut out = String::from("<tr>");
    for (at, cell) in cells.iter().enumerate() {
        let (attributes, text) = draw_cell(cell);
        let (open, close) = if at == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
        append_fmt(&mut out, format_args!("<{open}{attributes}>{text}</{close}>"));
    }
    out + "</tr>\n"
}

/// Attributes and content. A rounded number carries the exact one.
fn draw_cell(cell: &Cell) -> (String, String) {
    match cell {
        Cell::Text(text) => (String::new(), escape_html(text)),
        Cell::Count(count) => (" class=\"n\"".to_string(), group_digits(*count)),
        Cell::Cost(cost, unpriced) => {
            (format!(" class=\"n\" data-v=\"{cost}\""), escape_html(&format_money(*cost, *unpriced)))
        }
        Cell::Rate(rate) => (format!(" class=\"n\" data-v=\"{rate}\""), format!("{:.1}%", rate * 100.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_numbers_are_exact() {
        let table = Table { caption: "a <b>", columns: &["x", "y"], filter: "" };
        let rows = [vec![
            Cell::line("<script>\u{202e}\n", 20),
            Cell::Count(1234),
            Cell::Cost(1.2345, 0),
            Cell::Rate(0.25),
        ]];
        let html = table.draw(rows.into_iter());
        let row = "<tr><th scope=\"row\">&lt;script&gt;</th><td class=\"n\">1,234</td><td class=\"n\" data-v=\"1.2345\">$1.23</td><td class=\"n\" data-v=\"0.25\">25.0%</td></tr>";
        assert!(html.contains(row) && html.contains("<caption>a &lt;b&gt;</caption>"), "{html}");
    }

    #[test]
    fn a_line_of_marks_without_width_is_cut_as_well() {
        let line = shorten(&format!("e{}", "\u{301}".repeat(10_000)), 20);
        assert_eq!(line.chars().count(), 41);
        assert_eq!(shorten("short", 20), "short");
    }

    #[test]
    fn a_table_stays_within_its_budget() {
        let table = Table { caption: "c", columns: &["x"], filter: "them" };
        let (html, drawn) = table.draw_within((0..1000).map(|n| vec![Cell::Count(n)]), 2000);
        assert!(html.len() < 2050 && drawn > 10 && html.matches("<tr>").count() == drawn + 1, "{drawn}");
    }
}
