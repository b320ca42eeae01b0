//! Runs the binary on a pseudo-terminal and reads its screen.
//!
//! Does not know what should be on the screen.

use crate::run::{command, wait_for_exit};
use pty_process::Size;
use pty_process::blocking::{Pty, open};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// On a loaded machine, a process may start late; a screen that is not reached within this time is wrong.
const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

pub use vt100::{Cell as VtCell, Color as VtColor, Screen as VtScreen};

/// A program on a terminal of its own.
pub struct Screen {
    pub child: Child,
    pty: Arc<Pty>,
    parser: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
}

impl Screen {
    /// Runs the binary in a home, with `TERM` set and these variables.
    pub fn open(home: &Path, args: &[&str], size: (u16, u16), vars: &[(&str, &str)]) -> Screen {
        let base = command(home, args);
        Screen::spawn(base.get_program(), args, home, size, vars)
    }

    /// Runs any program; columns come before lines.
    pub fn spawn(
        program: impl AsRef<OsStr>,
        args: &[&str],
        home: &Path,
        size: (u16, u16),
        vars: &[(&str, &str)],
    ) -> Screen {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(size.1, size.0)).unwrap();
        let mut command = pty_process::blocking::Command::new(program).args(args).env_clear();
        command = command.env("HOME", home).env("TZ", "UTC").env("LOCI_DAEMON", "off").current_dir(home);
        command = command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm-256color");
        for (name, value) in vars {
            command = command.env(name, value);
        }
        let child = command.spawn(pts).unwrap();
        let pty = Arc::new(pty);
        let parser = Arc::new(Mutex::new(vt100::Parser::new(nonzero(size.1), nonzero(size.0), 0)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let (reader, seen, bytes) = (Arc::clone(&pty), Arc::clone(&parser), Arc::clone(&raw));
        std::thread::spawn(move || read_output(&reader, &seen, &bytes));
        Screen { child, pty, parser, raw }
    }

    pub fn send(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&self, columns: u16, lines: u16) {
        self.parser.lock().unwrap().screen_mut().set_size(nonzero(lines), nonzero(columns));
        self.pty.resize(Size::new(lines, columns)).unwrap();
    }

    /// The lines of the screen, without trailing blanks.
    pub fn lines(&self) -> Vec<String> {
        let parser = self.parser.lock().unwrap();
        let (_, columns) = parser.screen().size();
        parser.screen().rows(0, columns.get()).map(|row| row.trim_end().to_string()).collect()
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Looks at the emulated terminal: cells, cursor, modes.
    pub fn inspect<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.parser.lock().unwrap().screen())
    }

    /// Everything that was written so far.
    pub fn raw(&self) -> Vec<u8> {
        self.raw.lock().unwrap().clone()
    }

    /// Waits until the screen fulfils a condition; panics with the screen if it does not in time.
    #[track_caller]
    pub fn wait_until(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let text = self.text();
            if condition(&text) {
                return text;
            }
            assert!(started.elapsed() < DEADLINE, "no {what} within {DEADLINE:?}:\n{text}");
            std::thread::sleep(POLL);
        }
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// Waits for the end of the process and returns its exit code.
    #[track_caller]
    pub fn wait_for_exit(&mut self) -> Option<i32> {
        let text = self.text();
        wait_for_exit(&mut self.child, DEADLINE).unwrap_or_else(|| panic!("no exit:\n{text}"))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes before a frame that has begun and not ended, as terminals with synchronized updates show them.
fn complete_length(bytes: &[u8]) -> usize {
    let last = |mark: &[u8]| bytes.windows(mark.len()).rposition(|window| window == mark);
    match (last(b"\x1b[?2026h"), last(b"\x1b[?2026l")) {
        (Some(start), Some(end)) if start < end => bytes.len(),
        (Some(start), _) => start,
        (None, _) => bytes.len(),
    }
}

fn nonzero(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).unwrap()
}

fn read_output(mut pty: &Pty, parser: &Mutex<vt100::Parser>, raw: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 16 * 1024];
    let mut held = Vec::new();
    while let Ok(count @ 1..) = pty.read(&mut buffer) {
        raw.lock().unwrap().extend_from_slice(&buffer[..count]);
        held.extend_from_slice(&buffer[..count]);
        let complete = complete_length(&held);
        parser.lock().unwrap().process(&held[..complete]);
        held.drain(..complete);
    }
    parser.lock().unwrap().process(&held);
}
