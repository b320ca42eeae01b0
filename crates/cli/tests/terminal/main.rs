//! The browser on a pseudo-terminal: every test runs the real binary and reads its screen.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call. The pedantic lints are for
// shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod hostile_text;
mod keys;
mod live;
mod pick;
mod restore;
mod screens;
mod sizes;

use testutil::{Home, Screen, sample_home};

const WIDE: (u16, u16) = (120, 30);

/// The browser on the sample history, once its first list is drawn.
fn open_sample(size: (u16, u16)) -> (Home, Screen) {
    let home = sample_home();
    let screen = open(&home, size);
    (home, screen)
}

fn open(home: &Home, size: (u16, u16)) -> Screen {
    let screen = Screen::open(home.path(), &["ui"], size, &[]);
    screen.wait_until("sessions", |text| text.lines().last().is_some_and(counts_sessions));
    screen
}

/// Whether the last line counts sessions, and no answer is outstanding.
fn counts_sessions(line: &str) -> bool {
    line.contains(" session") && !line.starts_with("0 ") && !line.contains('…')
}
