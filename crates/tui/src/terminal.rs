//! Takes the terminal over and gives it back as it was: at the end, at an error, at a signal and at a panic.
//!
//! Does not know what is drawn.

use crossterm::cursor::{MoveUp, RestorePosition, SavePosition, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::layout::{Rect, Size};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;
use std::thread;

/// What can go wrong with the terminal itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

type Screen = Terminal<CrosstermBackend<BufWriter<File>>>;

/// Which part of the terminal is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// The last lines: what is above stays visible, as below the prompt of a shell.
    LastLines,
}

/// Lines of [`Extent::LastLines`], and the lines that must remain above them; a smaller terminal is drawn on as a whole.
const LINES: u16 = 16;
const MIN_ABOVE: u16 = 4;

impl Extent {
    fn fitting(self, size: Size) -> Extent {
        if size.height < LINES + MIN_ABOVE { Extent::Whole } else { self }
    }

    fn area(self, size: Size) -> Rect {
        let height = if self == Extent::Whole { size.height } else { size.height.min(LINES) };
        Rect::new(0, size.height - height, size.width, height)
    }
}

/// The terminal while it is drawn on. Dropping it restores the terminal.
pub(crate) struct TerminalGuard {
    screen: Screen,
    output: File,
    extent: Extent,
    previous_hook: Arc<Hook>,
}

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

impl TerminalGuard {
    pub(crate) fn enter(output: File, extent: Extent) -> io::Result<TerminalGuard> {
        let (panic_output, own_output) = (output.try_clone()?, output.try_clone()?);
        let backend = CrosstermBackend::new(BufWriter::new(output));
        let size = backend.size()?;
        let extent = extent.fitting(size);
        enable_raw_mode()?;
        let previous_hook: Arc<Hook> = Arc::from(take_hook());
        let hook = Arc::clone(&previous_hook);
        let ui_thread = thread::current().id();
        // A panic on a worker thread becomes an error message; only one on this thread ends the program.
        set_hook(Box::new(move |info| {
            if thread::current().id() == ui_thread {
                restore(&panic_output, extent);
                hook(info);
            }
        }));
        let taken = take_over(&own_output, extent).and_then(|()| open_screen(backend, extent, size));
        match taken {
            Ok(screen) => Ok(TerminalGuard { screen, output: own_output, extent, previous_hook }),
            Err(error) => {
                restore(&own_output, extent);
                Err(error)
            }
        }
    }

    /// Follows a terminal that has another size now.
    pub(crate) fn resize(&mut self, columns: u16, lines: u16) -> io::Result<()> {
        if self.extent == Extent::LastLines {
            // The lines have moved by an unknown number: clear what is below the prompt, and draw anew.
            execute!(self.output, RestorePosition, Clear(ClearType::FromCursorDown))?;
            let backend = CrosstermBackend::new(BufWriter::new(self.output.try_clone()?));
            self.screen = open_screen(backend, self.extent, Size::new(columns, lines))?;
        }
        Ok(())
    }

    /// Draws a frame. The terminal shows it when it is complete.
    pub(crate) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        queue!(self.screen.backend_mut(), BeginSynchronizedUpdate)?;
        self.screen.draw(render)?;
        execute!(self.screen.backend_mut(), EndSynchronizedUpdate)
    }

    /// Writes a sequence that is not part of the picture.
    pub(crate) fn write_sequence(&mut self, sequence: &str) -> io::Result<()> {
        self.output.write_all(sequence.as_bytes())
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // The hook has restored the terminal before it printed the message; leaving the screen twice would move the cursor over it.
        if !thread::panicking() {
            restore(&self.output, self.extent);
            let hook = Arc::clone(&self.previous_hook);
            set_hook(Box::new(move |info| hook(info)));
        }
    }
}

fn open_screen(backend: CrosstermBackend<BufWriter<File>>, extent: Extent, size: Size) -> io::Result<Screen> {
    match extent {
        Extent::Whole => Terminal::new(backend),
        Extent::LastLines => {
            // Its own `clear` and `resize` ask the terminal for the position of the cursor, and wait for the answer.
            let viewport = Viewport::Fixed(extent.area(size));
            Terminal::with_options(backend, TerminalOptions { viewport })
        }
    }
}

/// The mouse is left to the terminal where its own lines are still visible and may be selected.
fn take_over(mut output: &File, extent: Extent) -> io::Result<()> {
    match extent {
        Extent::Whole => execute!(output, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste),
        Extent::LastLines => {
            // Make room below the cursor, and remember where it was: the terminal scrolls if there is too little.
            output.write_all("\n".repeat(usize::from(LINES)).as_bytes())?;
            execute!(
                output,
                MoveUp(LINES),
                SavePosition,
                Clear(ClearType::FromCursorDown),
                EnableBracketedPaste
            )
        }
    }
}

/// Best effort: a terminal that is gone needs no restoring.
fn restore(mut output: &File, extent: Extent) {
    let _ = match extent {
        Extent::Whole => {
            execute!(output, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show)
        }
        Extent::LastLines => {
            execute!(output, DisableBracketedPaste, RestorePosition, Clear(ClearType::FromCursorDown), Show)
        }
    };
    let _ = disable_raw_mode();
}
