//! Where everything is on the screen: bar of screens, input, list, detail, last line, dialog.
//!
//! Does not know what is drawn there.

use crate::action::{SCREENS, Screen};
use ratatui::layout::Rect;

/// Columns from which the detail is beside the list.
const SIDE_BY_SIDE: u16 = 100;
/// Lines of the body below which there is no detail under the list.
const MIN_STACKED: u16 = 12;

#[derive(Clone, Debug, Default)]
pub(crate) struct Areas {
    pub(crate) tabs: Vec<(Rect, Screen)>,
    pub(crate) input: Rect,
    /// Between the input and the last line.
    pub(crate) body: Rect,
    pub(crate) chart: Rect,
    pub(crate) list: Rect,
    /// The line between list and detail.
    pub(crate) border: Rect,
    pub(crate) detail: Rect,
    pub(crate) last: Rect,
    /// The inside of the dialog, without its border.
    pub(crate) dialog: Rect,
}

/// What a position of the pointer belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tab(Screen),
    Input,
    /// A line of the list, from its top.
    List(usize),
    Detail,
    /// A line of the session that is being read.
    Body(usize),
    Dialog(usize),
    Nothing,
}

/// What is open, as far as the layout depends on it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Open {
    pub(crate) reading: bool,
    pub(crate) chart: bool,
    /// The lines that a dialog needs; 0 without one.
    pub(crate) dialog: u16,
}

pub(crate) fn arrange(size: Rect, open: Open) -> Areas {
    let line = |row: u16| Rect::new(0, size.y + row, size.width, u16::from(row < size.height));
    let body = Rect::new(0, size.y + 2, size.width, size.height.saturating_sub(3));
    let mut areas = Areas {
        tabs: place_tabs(size),
        input: line(1),
        body,
        last: line(size.height.saturating_sub(1)),
        dialog: place_dialog(size, open.dialog),
        ..Areas::default()
    };
    if !open.reading {
        split_body(&mut areas, open.chart);
    }
    areas
}

/// The name of a screen is shown as ` 1 Search `.
pub(crate) fn tab_text(index: usize, narrow: bool) -> String {
    let (_, name) = SCREENS[index];
    let shown = if narrow { &name[..name.len().min(5)] } else { name };
    format!(" {} {shown} ", index + 1)
}

pub(crate) fn is_narrow(width: u16) -> bool {
    width < 72
}

fn place_tabs(size: Rect) -> Vec<(Rect, Screen)> {
    let mut left = 0;
    let mut tabs = Vec::new();
    for (index, (screen, _)) in SCREENS.iter().enumerate() {
        let wide = tab_text(index, is_narrow(size.width)).len() as u16;
        if left + wide <= size.width {
            tabs.push((Rect::new(left, size.y, wide, 1), *screen));
        }
        left += wide;
    }
    tabs
}

fn split_body(areas: &mut Areas, chart: bool) {
    let mut body = areas.body;
    if chart && body.height > 8 {
        areas.chart = Rect { height: 4, ..body };
        (body.y, body.height) = (body.y + 4, body.height - 4);
    }
    if body.width >= SIDE_BY_SIDE {
        let left = body.width / 2;
        areas.list = Rect { width: left, ..body };
        areas.border = Rect { x: left, width: 1, ..body };
        areas.detail = Rect { x: left + 2, width: body.width - left - 2, ..body };
    } else if body.height >= MIN_STACKED {
        let upper = body.height / 2;
        areas.list = Rect { height: upper, ..body };
        areas.border = Rect { y: body.y + upper, height: 1, ..body };
        areas.detail = Rect { y: body.y + upper + 1, height: body.height - upper - 1, ..body };
    } else {
        areas.list = body;
    }
}

/// In the middle, with a border of one cell on each side.
fn place_dialog(size: Rect, lines: u16) -> Rect {
    if lines == 0 || size.width < 8 || size.height < 4 {
        return Rect::default();
    }
    let width = (size.width - 4).min(76);
    let height = lines.min(size.height - 3);
    Rect::new((size.width - width) / 2, size.y + (size.height - height) / 2, width, height)
}

impl Areas {
    pub(crate) fn place_at(&self, column: u16, row: u16) -> Place {
        let at = ratatui::layout::Position::new(column, row);
        let line = |area: Rect| usize::from(row - area.y);
        if let Some((_, screen)) = self.tabs.iter().find(|(area, _)| area.contains(at)) {
            return Place::Tab(*screen);
        }
        match () {
            () if self.dialog.contains(at) => Place::Dialog(line(self.dialog)),
            () if self.input.contains(at) => Place::Input,
            () if self.list.contains(at) => Place::List(line(self.list)),
            () if self.detail.contains(at) => Place::Detail,
            () if self.body.contains(at) => Place::Body(line(self.body)),
            () => Place::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_inside_the_screen_at_every_size() {
        for width in [1, 7, 20, 60, 80, 99, 100, 250] {
            for height in [1, 2, 3, 5, 14, 24, 70] {
                for (dialog, top) in [(0, 0), (3, 0), (50, 0), (3, 24)] {
                    let size = Rect::new(0, top, width, height);
                    let areas = arrange(size, Open { reading: false, chart: true, dialog });
                    for area in [
                        areas.input,
                        areas.body,
                        areas.chart,
                        areas.list,
                        areas.detail,
                        areas.dialog,
                        areas.last,
                    ] {
                        let is_inside = area.is_empty() || area.intersection(size) == area;
                        assert!(is_inside, "{area:?} in {width}x{height}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_detail_is_beside_the_list_on_a_wide_screen_and_below_on_a_narrow_one() {
        let wide = arrange(Rect::new(0, 0, 250, 50), Open::default());
        assert!(wide.detail.x > wide.list.x && wide.detail.y == wide.list.y);
        let narrow = arrange(Rect::new(0, 0, 60, 24), Open::default());
        assert!(narrow.detail.y > narrow.list.y && narrow.detail.x == narrow.list.x);
        assert_eq!(narrow.tabs.len(), SCREENS.len());
    }
}
