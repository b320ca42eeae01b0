//! Narrow and wide terminals, resizing, and no colours.

use crate::{open, open_sample};
use testutil::{Home, Screen, Session, sample_home};

#[test]
fn every_screen_fits_narrow_and_wide_terminals() {
    for size in [(60, 20), (80, 24), (250, 60)] {
        let (_home, screen) = open_sample(size);
        screen.send("\t");
        for (key, shown) in [
            ("2", "sessions, newest first"),
            ("3", "memory (current)"),
            ("4", "errors by signature"),
            ("5", "tokens and cost"),
            ("6", "why:"),
        ] {
            screen.send(key);
            let text = screen.wait_for(shown);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(size.0)), "{size:?}: {text}");
            for (at, name) in ["1 Sea", "2 Ses", "3 Mem", "4 Err", "5 Usa", "6 Why"].iter().enumerate() {
                assert!(text.contains(name), "screen {at} in the bar at {size:?}: {text}");
            }
            if key == "6" {
                screen.send("\x1b");
            }
        }
        screen.wait_for("q quit");
    }
}

#[test]
fn a_wide_terminal_has_the_preview_beside_the_list() {
    let (_home, screen) = open_sample((250, 40));
    screen.send("socket");
    let text = screen.wait_for("1 session ");
    let row = text.lines().find(|line| line.starts_with('>')).unwrap();
    assert!(row.contains('│') && row.matches("Please fix the socket").count() == 2, "{row}");
}

#[test]
fn a_resize_redraws_and_keeps_the_selection() {
    let (_home, screen) = open_sample((120, 30));
    screen.send("\tj");
    let selected = |text: &str| text.lines().any(|line| line.starts_with('>') && line.contains("Beta asks"));
    screen.wait_until("selection", selected);
    for (columns, lines) in [(60, 12), (250, 50), (30, 5), (80, 24)] {
        screen.resize(columns, lines);
        // The last line is at the new height, and names a key or counts the sessions.
        screen.wait_until("last line", |text| {
            let rows: Vec<&str> = text.lines().collect();
            rows.len() == usize::from(lines)
                && rows.last().is_some_and(|line| line.starts_with("4 sessions"))
                && selected(text)
        });
    }
}

#[test]
fn a_tiny_terminal_is_no_error() {
    let home = sample_home();
    let mut screen = Screen::open(home.path(), &["ui"], (4, 2), &[]);
    screen.wait_until("a frame", |text| !text.trim().is_empty());
    screen.resize(80, 24);
    screen.wait_for("4 sessions");
    screen.send("\x03");
    assert_eq!(screen.wait_for_exit(), Some(0));
}

/// Whether a cell of the screen has a colour.
fn has_colour(screen: &Screen) -> bool {
    screen.inspect(|screen| {
        let (rows, columns) = (screen.size().0.get(), screen.size().1.get());
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let mut cells = cells.filter_map(|(row, column)| screen.cell(row, column));
        cells.any(|cell| {
            [cell.fgcolor(), cell.bgcolor()].iter().any(|colour| format!("{colour:?}") != "Default")
        })
    })
}

#[test]
fn colours_are_the_16_of_the_terminal_and_none_with_no_color() {
    let home = sample_home();
    let plain = Screen::open(home.path(), &["ui", "socket"], (120, 30), &[("NO_COLOR", "1")]);
    plain.wait_for("1 session ");
    let text = plain.wait_for("> 2026-03-01");
    assert!(!has_colour(&plain), "{text}");
    let coloured = Screen::open(home.path(), &["ui", "socket"], (120, 30), &[]);
    coloured.wait_for("1 session ");
    assert!(has_colour(&coloured));
    let raw = String::from_utf8_lossy(&coloured.raw()).into_owned();
    assert!(!raw.contains("38;2;"), "no colours beyond the palette");
}

#[test]
fn wide_and_combining_characters_stay_aligned() {
    let home = Home::new();
    let titles =
        ["虚拟列表滚动性能", "👨\u{200d}👩\u{200d}👧 family 👍🏽", "Cafe\u{301} au lait", "plain words"];
    for (n, title) in titles.iter().enumerate() {
        let mut session = Session::new(
            &format!("eeee000{n}-0000-4000-8000-000000000000"),
            testutil::ALPHA,
            "2026-03-01T10:00:00Z",
        );
        session.prompt(title).reply(&["Done."]);
        home.add(&session);
    }
    for columns in [60, 80, 100, 250] {
        let screen = open(&home, (columns, 24));
        screen.wait_for("4 sessions");
        screen.send("\t2");
        screen.wait_for("sessions, newest first");
        screen.wait_for("plain words");
        let text = screen.wait_for("虚拟列表滚动性能");
        // The number of turns is the last column of the list: it ends in the same cell in every row.
        let list = if columns >= 100 { columns / 2 } else { columns };
        let edges: Vec<u16> = screen.inspect(|screen| {
            let filled = |row: u16| {
                (0..list)
                    .rev()
                    .find(|column| screen.cell(row, *column).is_some_and(|cell| cell.contents() == "1"))
            };
            (3..7).filter_map(filled).collect()
        });
        assert_eq!(edges.len(), 4, "{columns}: {text}");
        assert!(edges.iter().all(|edge| *edge == edges[0]), "{columns}: {edges:?}\n{text}");
    }
}
