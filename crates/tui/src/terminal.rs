//! Takes the terminal over and gives it back as it was: at the end, at an error, at a signal and at a panic.
//!
//! Does not know what is drawn.

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};
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

/// The terminal in full-screen mode. Dropping it restores the terminal.
pub(crate) struct FullScreen {
    screen: Screen,
    output: File,
    previous_hook: Arc<Hook>,
}

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

impl FullScreen {
    pub(crate) fn enter(output: File) -> io::Result<FullScreen> {
        let (panic_output, own_output) = (output.try_clone()?, output.try_clone()?);
        enable_raw_mode()?;
        let previous_hook: Arc<Hook> = Arc::from(take_hook());
        let hook = Arc::clone(&previous_hook);
        let ui_thread = thread::current().id();
        // A panic on a worker thread becomes an error message; only one on this thread ends the program.
        set_hook(Box::new(move |info| {
            if thread::current().id() == ui_thread {
                restore(&panic_output);
                hook(info);
            }
        }));
        let mut writer = BufWriter::new(output);
        queue!(writer, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
        writer.flush()?;
        let screen = Terminal::new(CrosstermBackend::new(writer));
        match screen {
            Ok(screen) => Ok(FullScreen { screen, output: own_output, previous_hook }),
            Err(error) => {
                restore(&own_output);
                Err(error)
            }
        }
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

impl Drop for FullScreen {
    fn drop(&mut self) {
        // The hook has restored the terminal before it printed the message; leaving the screen twice would move the cursor over it.
        if !thread::panicking() {
            restore(&self.output);
            let hook = Arc::clone(&self.previous_hook);
            set_hook(Box::new(move |info| hook(info)));
        }
    }
}

/// Best effort: a terminal that is gone needs no restoring.
fn restore(mut output: &File) {
    let _ = execute!(output, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
