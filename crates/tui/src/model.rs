//! The state of the browser: the screen, what is open above it, the filters, and what waits for an answer. Actions and answers
//! change it; what must happen outside of it is an [`Effect`].
//!
//! Does not know keys, cells or threads.

mod dialog;

pub(crate) use dialog::{Dialog, Menu, Prompt, PromptFor};

use crate::action::{Action, SCREENS, Screen};
use crate::clean_text::clean_line;
use crate::filters::{Facet, Filters};
use crate::ink::Ink;
use crate::keys::Mode;
use crate::layout::{Areas, Place};
use crate::line_input::LineInput;
use crate::request::{Answer, Change, Choices, Query};
use crate::rows::Choosable;
use crate::screens::{
    Errors, ListScreen, Memory, Search, SessionList, SessionView, Subject, Usage, WhyScreen,
};
use api::Error;
use render::RenderOptions;
use std::path::PathBuf;

/// What the event loop does for the model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Ask(Query),
    Copy(String),
    Quit,
    /// The session was chosen: print its ID, or run its command.
    Choose(Subject),
    Resume(Subject),
}

pub(crate) struct Model {
    pub(crate) screen: Screen,
    pub(crate) search: Search,
    pub(crate) sessions: SessionList,
    pub(crate) memory: Memory,
    pub(crate) errors: Errors,
    pub(crate) usage: Usage,
    pub(crate) why: WhyScreen,
    /// The session that is being read.
    pub(crate) reading: Option<SessionView>,
    pub(crate) dialog: Option<Dialog>,
    /// Letters go to the input of the screen.
    pub(crate) typing: bool,
    pub(crate) filters: Filters,
    choices: Option<Choices>,
    /// The last message, and how it is meant.
    pub(crate) message: Option<(String, Ink)>,
    /// Requests without an answer.
    waiting: Vec<Query>,
    /// `loci pick`: a session is chosen instead of resumed.
    pub(crate) is_picker: bool,
    pub(crate) options: RenderOptions,
    areas: Areas,
    effects: Vec<Effect>,
}

impl Model {
    pub(crate) fn new(options: RenderOptions, words: &str, is_picker: bool) -> Model {
        let mut model = Model {
            screen: Screen::Search,
            search: Search::new(words),
            sessions: SessionList::default(),
            memory: Memory::default(),
            errors: Errors::default(),
            usage: Usage::default(),
            why: WhyScreen::default(),
            reading: None,
            dialog: None,
            typing: true,
            filters: Filters::default(),
            choices: None,
            message: None,
            waiting: Vec::new(),
            is_picker,
            options,
            areas: Areas::default(),
            effects: Vec::new(),
        };
        model.reload();
        model
    }

    pub(crate) fn mode(&self) -> Mode {
        match &self.dialog {
            Some(Dialog::Help(_)) => Mode::Help,
            Some(Dialog::Menu(_)) => Mode::Menu,
            Some(Dialog::Prompt(_)) => Mode::Prompt,
            Some(Dialog::Confirm(_)) => Mode::Confirm,
            None if self.reading.is_some() => Mode::Read,
            None if self.typing => Mode::Type,
            None => Mode::List,
        }
    }

    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether an answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn screen(&self) -> &dyn ListScreen {
        match self.screen {
            Screen::Search => &self.search,
            Screen::Sessions => &self.sessions,
            Screen::Memory => &self.memory,
            Screen::Errors => &self.errors,
            Screen::Usage => &self.usage,
            Screen::Why => &self.why,
        }
    }

    fn screen_mut(&mut self) -> &mut dyn ListScreen {
        match self.screen {
            Screen::Search => &mut self.search,
            Screen::Sessions => &mut self.sessions,
            Screen::Memory => &mut self.memory,
            Screen::Errors => &mut self.errors,
            Screen::Usage => &mut self.usage,
            Screen::Why => &mut self.why,
        }
    }

    /// Adapts the windows of lists and texts to the areas that they are drawn in.
    pub(crate) fn fit(&mut self, areas: Areas) {
        let (list, detail, body) = (areas.list, areas.detail, areas.body);
        self.areas = areas;
        let screen = self.screen_mut();
        screen.list().fit(usize::from(list.height));
        screen.detail_mut().fit(usize::from(detail.width), usize::from(detail.height));
        if let Some(reading) = &mut self.reading {
            reading.document.fit_cursor(usize::from(body.width).saturating_sub(1), usize::from(body.height));
        }
        if let Some(dialog) = &mut self.dialog {
            dialog.fit(usize::from(self.areas.dialog.width), usize::from(self.areas.dialog.height));
        }
    }

    // ---- requests

    fn ask(&mut self, query: Query) {
        self.waiting.retain(|earlier| !earlier.is_replaced_by(&query));
        self.waiting.push(query.clone());
        self.effects.push(Effect::Ask(query));
    }

    /// Requests what the screen shows.
    pub(crate) fn reload(&mut self) {
        let query = self.screen().request(&self.filters);
        if let Some(query) = query {
            self.ask(query);
        }
    }

    /// Requests again what is on the screen, because transcripts have changed.
    pub(crate) fn refresh(&mut self) {
        match &self.reading {
            Some(reading) => {
                let id = reading.subject.id.clone();
                self.ask(Query::Session { id });
            }
            None if self.screen != Screen::Why => self.reload(),
            None => {}
        }
    }

    pub(crate) fn accept(&mut self, query: &Query, answer: Result<Answer, Error>) {
        if let Some(at) = self.waiting.iter().position(|waiting| waiting == query) {
            self.waiting.remove(at);
        }
        match answer {
            Err(error) => self.show_error(&error),
            Ok(answer) => self.accept_answer(query, answer),
        }
    }

    fn accept_answer(&mut self, query: &Query, answer: Answer) {
        match answer {
            Answer::Session(session) => {
                let width = usize::from(self.areas.body.width).saturating_sub(1);
                if let Some(reading) = &mut self.reading {
                    reading.accept(session, &self.options, width);
                }
            }
            Answer::Choices(choices) => self.accept_choices(choices),
            Answer::Changed(what) => {
                self.say(&what, Ink::Good);
                self.memory.forget_detail();
                self.reload();
            }
            Answer::Exported(path) => self.say(&format!("wrote {}", path.display()), Ink::Good),
            answer => self.accept_listing(query, answer),
        }
    }

    fn accept_listing(&mut self, query: &Query, answer: Answer) {
        let screen = match &answer {
            Answer::Search(_) => Screen::Search,
            Answer::Sessions(_) => Screen::Sessions,
            Answer::Memories(_) | Answer::Memory(_) => Screen::Memory,
            Answer::Errors(_) | Answer::Occurrences(_) => Screen::Errors,
            Answer::Usage(_) => Screen::Usage,
            _ => Screen::Why,
        };
        let current = std::mem::replace(&mut self.screen, screen);
        let options = self.options.clone();
        self.screen_mut().accept(query, answer, &options);
        self.update_detail();
        self.screen = current;
    }

    fn show_error(&mut self, error: &Error) {
        let hint = error.hints.first().map_or_else(String::new, |hint| format!(" (hint: {hint})"));
        self.say(&format!("{}{hint}", error.message), Ink::Bad);
    }

    pub(crate) fn say(&mut self, text: &str, ink: Ink) {
        self.message = Some((clean_line(text), ink));
    }

    /// Shows the detail of the selected item.
    fn update_detail(&mut self) {
        let (filters, options) = (self.filters.clone(), self.options.clone());
        if let Some(query) = self.screen_mut().show_detail(&filters, &options) {
            self.ask(query);
        }
    }

    // ---- actions

    pub(crate) fn apply(&mut self, action: Action) {
        match action {
            Action::Quit => self.effects.push(Effect::Quit),
            Action::Back => self.go_back(),
            Action::Help => self.dialog = Some(Dialog::help()),
            Action::Show(screen) => self.show(screen),
            Action::NextScreen => self.show_next(),
            Action::Move(by) => self.move_by(by),
            Action::Page(by) => self.move_by(by * self.half_page()),
            Action::First => self.move_by(isize::MIN / 2),
            Action::Last => self.move_by(isize::MAX / 2),
            Action::ScrollDetail(by) => self.screen_mut().detail_mut().scroll(by),
            Action::Enter => self.enter(),
            Action::Open => self.open(),
            Action::Export => self.start_export(),
            Action::CopyId => self.copy_id(),
            Action::StartTyping => self.typing = self.screen_mut().input().is_some(),
            Action::StopTyping => self.stop_typing(),
            Action::Edit(edit) => self.edit_input(|input| input.edit(edit)),
            Action::Filter(facet) => self.open_menu(facet),
            Action::ClearFilters => self.change_filters(Filters::default()),
            Action::Fold => self.fold(SessionView::toggle_fold),
            Action::FoldAll => self.fold(SessionView::toggle_all),
            Action::Accept => self.change_memory(self.memory.fact_change(Change::Accept)),
            Action::Retire => self.change_memory(self.memory.fact_change(Change::Retire)),
            Action::Pin => self.change_memory(self.memory.pin_change()),
            Action::EditMemory => self.start_edit(),
            Action::NextVariant => self.next_variant(),
            Action::Reload => self.refresh(),
            Action::Confirm => self.confirm(),
        }
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        if matches!(self.mode(), Mode::Type | Mode::Prompt) {
            self.edit_input(|input| input.insert(text));
        }
    }

    fn edit_input(&mut self, edit: impl FnOnce(&mut LineInput)) {
        if let Some(Dialog::Prompt(prompt)) = &mut self.dialog {
            return edit(&mut prompt.input);
        }
        let Some(input) = self.screen_mut().input() else { return };
        let before = input.text().to_string();
        edit(input);
        let has_changed = input.text() != before;
        self.message = None;
        if has_changed && self.screen != Screen::Why {
            self.reload();
        }
    }

    fn go_back(&mut self) {
        self.message = None;
        if self.dialog.take().is_some() || self.reading.take().is_some() {
            return;
        }
        if self.is_picker {
            self.effects.push(Effect::Quit);
        }
    }

    fn show(&mut self, screen: Screen) {
        if self.is_picker {
            return;
        }
        (self.screen, self.reading, self.message) = (screen, None, None);
        self.typing = screen == Screen::Why;
        self.reload();
    }

    fn show_next(&mut self) {
        let at = SCREENS.iter().position(|(screen, _)| *screen == self.screen).unwrap_or(0);
        self.show(SCREENS[(at + 1) % SCREENS.len()].0);
    }

    fn half_page(&self) -> isize {
        let area = if self.reading.is_some() { self.areas.body } else { self.areas.list };
        isize::from(i16::try_from(area.height / 2).unwrap_or(i16::MAX)).max(1)
    }

    fn move_by(&mut self, by: isize) {
        match (&mut self.dialog, &mut self.reading) {
            (Some(dialog), _) => dialog.move_by(by),
            (None, Some(reading)) => reading.document.move_cursor(by),
            (None, None) => self.move_selection(by),
        }
    }

    fn move_selection(&mut self, by: isize) {
        let list = self.screen_mut().list();
        let before = list.index();
        list.move_by(by);
        if list.index() != before {
            self.selection_moved();
        }
    }

    fn selection_moved(&mut self) {
        self.update_detail();
        if self.screen_mut().extend() {
            self.reload();
        }
    }

    fn stop_typing(&mut self) {
        if self.is_picker && self.search.input.text().is_empty() && self.search.rows.len() == 0 {
            self.effects.push(Effect::Quit);
        }
        self.typing = false;
        if self.screen == Screen::Why {
            self.reload();
        }
    }

    fn enter(&mut self) {
        if self.screen == Screen::Why && self.typing {
            return self.stop_typing();
        }
        let subject = self.subject();
        match subject {
            None => self.say("no session is selected", Ink::Warn),
            Some(subject) if self.is_picker && self.reading.is_none() => {
                self.effects.push(Effect::Choose(subject));
            }
            Some(subject) if subject.resume.is_some() => self.dialog = Some(Dialog::Confirm(subject)),
            Some(_) if self.reading.is_none() => self.open(),
            Some(_) => self.say("this session cannot be resumed by its agent", Ink::Warn),
        }
    }

    /// The session that keys act on.
    pub(crate) fn subject(&self) -> Option<Subject> {
        match &self.reading {
            Some(reading) => Some(reading.subject.clone()),
            None => self.screen().subject(),
        }
    }

    fn open(&mut self) {
        let Some(subject) = self.screen().subject() else {
            return self.say("no session is selected", Ink::Warn);
        };
        let words = if self.screen == Screen::Search { self.search.words() } else { Vec::new() };
        let id = subject.id.clone();
        self.reading = Some(SessionView::open(subject, words));
        self.ask(Query::Session { id });
    }

    fn fold(&mut self, toggle: fn(&mut SessionView, &RenderOptions)) {
        if let Some(reading) = &mut self.reading {
            toggle(reading, &self.options);
        }
    }

    fn copy_id(&mut self) {
        let open = self.reading.as_ref().map(|reading| reading.subject.id.clone());
        let Some(id) = open.or_else(|| self.screen().id()) else { return };
        self.say(&format!("copied {id}"), Ink::Good);
        self.effects.push(Effect::Copy(id));
    }

    fn next_variant(&mut self) {
        if self.screen_mut().next_variant() {
            self.reload();
        }
    }

    // ---- dialogs

    fn start_export(&mut self) {
        let Some(subject) = self.subject() else { return };
        let path = format!("session-{}.md", api::terminal_text::short_id(&subject.id));
        self.dialog = Some(Dialog::Prompt(Prompt::new(PromptFor::Export(subject.id), &path)));
    }

    fn start_edit(&mut self) {
        if self.screen != Screen::Memory {
            return;
        }
        let Some((line, is_fact)) = self.memory.editable() else { return };
        let (id, text) = (line.id.clone(), clean_line(&line.text));
        self.dialog = Some(Dialog::Prompt(Prompt::new(PromptFor::Edit { id, is_fact }, &text)));
    }

    fn change_memory(&mut self, change: Option<Change>) {
        match change {
            _ if self.screen != Screen::Memory => {}
            Some(change) => self.ask(Query::Change(change)),
            None => self.say("only facts have a state", Ink::Warn),
        }
    }

    fn open_menu(&mut self, facet: Facet) {
        let needs_choices = matches!(facet, Facet::Agent | Facet::Project);
        if needs_choices && self.choices.is_none() {
            self.ask(Query::Choices);
        }
        self.dialog = Some(Dialog::Menu(Menu::new(facet, self.choices.as_ref(), &self.options)));
    }

    fn accept_choices(&mut self, choices: Choices) {
        if let Some(Dialog::Menu(menu)) = &mut self.dialog {
            *menu = Menu::new(menu.facet, Some(&choices), &self.options);
        }
        self.choices = Some(choices);
    }

    fn change_filters(&mut self, filters: Filters) {
        self.filters = filters;
        self.reload();
    }

    fn confirm(&mut self) {
        match self.dialog.take() {
            Some(Dialog::Confirm(subject)) => self.effects.push(Effect::Resume(subject)),
            Some(Dialog::Menu(menu)) => {
                let mut filters = self.filters.clone();
                if let Some(choice) = menu.chosen() {
                    filters.set(menu.facet, choice.value.clone());
                }
                self.change_filters(filters);
            }
            Some(Dialog::Prompt(prompt)) => self.finish_prompt(prompt),
            Some(Dialog::Help(_)) | None => {}
        }
    }

    fn finish_prompt(&mut self, prompt: Prompt) {
        let text = prompt.input.text().trim().to_string();
        if text.is_empty() {
            return;
        }
        self.ask(match prompt.purpose {
            PromptFor::Export(id) => Query::Export { id, path: PathBuf::from(text) },
            PromptFor::Edit { id, is_fact } => Query::Change(Change::Edit { id, is_fact, text }),
        });
    }

    // ---- mouse

    /// A click: on a screen's name, a row, or a line of a session. A second click on the same row opens it.
    pub(crate) fn click(&mut self, column: u16, row: u16) {
        match self.areas.place_at(column, row) {
            Place::Tab(screen) if self.dialog.is_none() => self.show(screen),
            Place::Input if self.dialog.is_none() => self.apply(Action::StartTyping),
            Place::List(line) => self.click_list(line),
            Place::Body(line) => self.click_body(line),
            Place::Dialog(line) => self.click_dialog(line),
            _ => {}
        }
    }

    fn click_list(&mut self, line: usize) {
        let list = self.screen_mut().list();
        let before = list.index();
        if !list.select_line(line) {
            return;
        }
        let is_same = list.index() == before;
        self.selection_moved();
        if is_same && !self.is_picker {
            self.open();
        }
    }

    fn click_body(&mut self, line: usize) {
        if let Some(reading) = &mut self.reading {
            reading.document.click(line);
            reading.toggle_fold(&self.options);
        }
    }

    fn click_dialog(&mut self, line: usize) {
        if let Some(Dialog::Menu(menu)) = &mut self.dialog
            && menu.rows.select_line(line)
        {
            self.confirm();
        }
    }

    /// The wheel scrolls what is under the pointer.
    pub(crate) fn wheel(&mut self, column: u16, row: u16, by: isize) {
        match self.areas.place_at(column, row) {
            Place::Detail => self.screen_mut().detail_mut().scroll(by),
            _ => self.move_by(by),
        }
    }

    /// The input that is being edited, for the cursor.
    pub(crate) fn screen_input(&mut self) -> Option<&LineInput> {
        self.screen_mut().input().map(|input| &*input)
    }
}
