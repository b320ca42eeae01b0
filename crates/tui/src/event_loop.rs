//! The loop of the browser: waits for keys, answers and notices, changes the model, and draws. Between events it waits without
//! a timeout, so that an idle browser costs nothing.
//!
//! Does not know what a screen shows.

use crate::backend::Backend;
use crate::clipboard::copy_sequence;
use crate::draw::draw_frame;
use crate::ink::Ink;
use crate::keys::{action_of, typed_char};
use crate::model::{Effect, Model};
use crate::screens::Subject;
use crate::terminal::{Error, Extent, TerminalGuard};
use crate::worker::{Message, Notice, Notifier, Worker};
use crossterm::event::{Event, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use render::RenderOptions;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// What the browser is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Browse,
    /// A session is chosen, and its ID returned.
    Pick,
}

pub struct Settings {
    pub purpose: Purpose,
    /// What is searched for at first.
    pub words: String,
    pub options: RenderOptions,
    /// Where to draw: a terminal.
    pub output: File,
}

/// How the browser ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Quit,
    /// The chosen session: its ID, and the command that resumes it.
    Chosen {
        id: String,
        resume: Option<String>,
    },
    /// A person has confirmed that this command be run.
    Resume {
        title: String,
        command: String,
    },
    /// A signal ended it.
    Terminated,
}

/// Changes are shown together if they follow each other within this time.
const REFRESH_DELAY: Duration = Duration::from_millis(300);
/// The other passages of the sessions found are read when nobody has typed for this time.
const PASSAGES_DELAY: Duration = Duration::from_millis(250);
/// While an answer is outstanding, its progress is shown this often.
const PROGRESS_DELAY: Duration = Duration::from_millis(250);

/// Shows the browser until a person leaves it. `start` is given a [`Notifier`] for what happens outside.
pub fn browse(
    backend: &Arc<dyn Backend>,
    settings: Settings,
    start: impl FnOnce(Notifier),
) -> Result<Ending, Error> {
    let (sender, messages) = mpsc::channel();
    let worker = Worker::start(backend, &sender)?;
    let is_picker = settings.purpose == Purpose::Pick;
    let colour = settings.options.colour;
    // Texts that `render` makes are drawn in cells: they must have no colours of their own.
    let options = RenderOptions { colour: false, ..settings.options };
    let model = Model::new(options, &settings.words, is_picker);
    let extent = if is_picker { Extent::LastLines } else { Extent::Whole };
    let screen = TerminalGuard::enter(settings.output, extent)?;
    start(Notifier(sender.clone()));
    read_terminal(sender)?;
    let backend = Arc::clone(backend);
    EventLoop { model, screen, worker, messages, backend, colour, refresh_at: None }.run()
}

/// Passes on what is typed. The thread ends with the process: a blocked read cannot be cancelled.
fn read_terminal(sender: Sender<Message>) -> io::Result<()> {
    let read = move || {
        while let Ok(event) = crossterm::event::read() {
            if sender.send(Message::Terminal(event)).is_err() {
                return;
            }
        }
        let _ = sender.send(Message::Closed);
    };
    thread::Builder::new().name("keys".to_string()).spawn(read).map(drop)
}

struct EventLoop {
    model: Model,
    screen: TerminalGuard,
    worker: Worker,
    messages: Receiver<Message>,
    backend: Arc<dyn Backend>,
    colour: bool,
    /// When to request again what is shown, because the history has changed.
    refresh_at: Option<Instant>,
}

impl EventLoop {
    fn run(mut self) -> Result<Ending, Error> {
        loop {
            if let Some(ending) = self.perform_effects()? {
                return Ok(ending);
            }
            let (model, colour) = (&mut self.model, self.colour);
            self.screen.draw(|frame| draw_frame(frame, model, colour))?;
            let Some(first) = self.wait() else { continue };
            let mut next = Some(first);
            // Everything that has arrived is drawn in one frame.
            while let Some(message) = next {
                if let Some(ending) = self.handle(message)? {
                    return Ok(ending);
                }
                next = self.messages.try_recv().ok();
            }
        }
    }

    /// The next message; `None` if it is time to refresh or to show progress.
    fn wait(&mut self) -> Option<Message> {
        let Some(timeout) = self.timeout() else {
            return Some(self.messages.recv().unwrap_or(Message::Closed));
        };
        match self.messages.recv_timeout(timeout) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Disconnected) => Some(Message::Closed),
            Err(RecvTimeoutError::Timeout) => {
                self.refresh_if_due();
                self.show_progress();
                None
            }
        }
    }

    /// How long to wait; `None` is until something happens.
    fn timeout(&self) -> Option<Duration> {
        let until = self.refresh_at.map(|at| at.saturating_duration_since(Instant::now()));
        let progress = self.model.is_waiting().then_some(PROGRESS_DELAY);
        until.into_iter().chain(progress).min()
    }

    fn refresh_if_due(&mut self) {
        if self.refresh_at.is_some_and(|at| at <= Instant::now()) {
            self.refresh_at = None;
            self.model.refresh();
        }
    }

    fn show_progress(&mut self) {
        let progress = self.backend.progress();
        let (files, of) = (progress.files.load(Relaxed), progress.of.load(Relaxed));
        if self.model.is_waiting() && files < of {
            self.model.say(&format!("reading {files} of {of} files"), Ink::Dim);
        }
    }

    fn handle(&mut self, message: Message) -> io::Result<Option<Ending>> {
        match message {
            Message::Terminal(Event::Resize(columns, lines)) => self.screen.resize(columns, lines)?,
            Message::Terminal(event) => self.handle_event(event),
            Message::Answered(answered) => {
                let (query, answer) = *answered;
                self.model.message.take_if(|(_, ink)| *ink == Ink::Dim);
                self.model.accept(&query, answer);
                if self.model.search.is_preliminary() && !self.model.is_waiting() {
                    self.refresh_at.get_or_insert_with(|| Instant::now() + PASSAGES_DELAY);
                }
            }
            Message::Notice(Notice::HistoryChanged) => {
                self.refresh_at.get_or_insert_with(|| Instant::now() + REFRESH_DELAY);
            }
            Message::Notice(Notice::Terminate) | Message::Closed => return Ok(Some(Ending::Terminated)),
        }
        self.refresh_if_due();
        Ok(None)
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.handle_key(key),
            Event::Mouse(mouse) => self.handle_mouse(mouse),
            Event::Paste(text) => self.model.type_text(&text),
            _ => {}
        }
    }

    fn handle_key(&mut self, key: KeyEvent) {
        if self.model.search.is_preliminary() {
            self.refresh_at = self.refresh_at.map(|_| Instant::now() + PASSAGES_DELAY);
        }
        match action_of(key, self.model.mode()) {
            Some(action) => self.model.apply(action),
            None => {
                if let Some(c) = typed_char(key) {
                    self.model.type_text(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    fn handle_mouse(&mut self, mouse: MouseEvent) {
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => self.model.click(mouse.column, mouse.row),
            MouseEventKind::ScrollDown => self.model.wheel(mouse.column, mouse.row, 3),
            MouseEventKind::ScrollUp => self.model.wheel(mouse.column, mouse.row, -3),
            _ => {}
        }
    }

    fn perform_effects(&mut self) -> io::Result<Option<Ending>> {
        for effect in self.model.take_effects() {
            match effect {
                Effect::Ask(query) => self.worker.ask(query),
                Effect::Copy(text) => self.screen.write_sequence(&copy_sequence(&text))?,
                Effect::Quit => return Ok(Some(Ending::Quit)),
                Effect::Choose(subject) => {
                    return Ok(Some(Ending::Chosen { id: subject.id, resume: subject.resume }));
                }
                Effect::Resume(subject) => return Ok(Some(resume_ending(subject))),
            }
        }
        Ok(None)
    }
}

fn resume_ending(subject: Subject) -> Ending {
    match subject.resume {
        Some(command) => Ending::Resume { title: subject.title, command },
        None => Ending::Quit,
    }
}
