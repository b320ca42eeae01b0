//! Draws frames of a list without a terminal, to measure what a frame costs.
//!
//! Does not know a clock.

use crate::action::{Action, Screen};
use crate::draw::draw_frame;
use crate::filters::Filters;
use crate::model::Model;
use crate::request::{Answer, Query};
use api::sessions::{SessionLine, Sessions};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use render::RenderOptions;

/// A browser with a list of sessions.
pub struct Frames {
    model: Model,
    terminal: Terminal<TestBackend>,
}

impl Frames {
    pub fn new(sessions: Vec<SessionLine>, options: RenderOptions, columns: u16, lines: u16) -> Frames {
        let mut model = Model::new(options, "", false);
        model.apply(Action::StopTyping);
        model.apply(Action::Show(Screen::Sessions));
        let total = sessions.len() as u64;
        let query = Query::Sessions { filters: Filters::default(), limit: total };
        model.accept(&query, Ok(Answer::Sessions(Sessions { sessions, total, ..Sessions::default() })));
        // A test backend cannot fail.
        let Ok(terminal) = Terminal::new(TestBackend::new(columns, lines));
        Frames { model, terminal }
    }

    /// Moves the selection and draws.
    pub fn scroll(&mut self, by: isize) {
        self.model.apply(Action::Move(by));
        self.model.take_effects();
        let (model, terminal) = (&mut self.model, &mut self.terminal);
        let Ok(_) = terminal.draw(|frame| draw_frame(frame, model, true));
    }
}
