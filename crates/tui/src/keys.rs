//! The table of keys: key, where it applies, action, help. The help screen and the hints of the last line are made from it.
//!
//! Does not know what an action does.

use crate::action::{Action, Screen};
use crate::filters::Facet;
use crate::line_input::Edit;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What receives the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A list of a screen.
    List,
    /// A session that is being read.
    Read,
    /// The input of a screen.
    Type,
    /// A menu.
    Menu,
    /// A question that is answered with a line of text.
    Prompt,
    /// A question that is answered with yes or no.
    Confirm,
    Help,
}

/// A key with its name in the help.
#[derive(Clone, Copy, Debug)]
struct Chord {
    code: KeyCode,
    control: bool,
    name: &'static str,
}

const fn key(code: KeyCode, name: &'static str) -> Chord {
    Chord { code, control: false, name }
}

const fn letter(c: char, name: &'static str) -> Chord {
    key(KeyCode::Char(c), name)
}

const fn control(c: char, name: &'static str) -> Chord {
    Chord { code: KeyCode::Char(c), control: true, name }
}

pub(crate) struct Binding {
    chords: &'static [Chord],
    modes: &'static [Mode],
    pub(crate) action: Action,
    /// Empty for keys that need no explanation, such as those that edit a line.
    pub(crate) help: &'static str,
    /// A word for the last line, for the keys that matter most.
    pub(crate) hint: &'static str,
}

const fn bind(
    chords: &'static [Chord],
    modes: &'static [Mode],
    action: Action,
    help: &'static str,
    hint: &'static str,
) -> Binding {
    Binding { chords, modes, action, help, hint }
}

const UP: Chord = key(KeyCode::Up, "↑");
const DOWN: Chord = key(KeyCode::Down, "↓");
const PAGE_UP: Chord = key(KeyCode::PageUp, "PgUp");
const PAGE_DOWN: Chord = key(KeyCode::PageDown, "PgDn");
const HOME: Chord = key(KeyCode::Home, "Home");
const END: Chord = key(KeyCode::End, "End");
const LEFT: Chord = key(KeyCode::Left, "←");
const RIGHT: Chord = key(KeyCode::Right, "→");
const ENTER: Chord = key(KeyCode::Enter, "Enter");
const ESC: Chord = key(KeyCode::Esc, "Esc");
const TAB: Chord = key(KeyCode::Tab, "Tab");
const BACKSPACE: Chord = key(KeyCode::Backspace, "Backspace");
const DELETE: Chord = key(KeyCode::Delete, "Delete");
const F1: Chord = key(KeyCode::F(1), "F1");
const SHIFT_UP: Chord = letter('K', "K");
const SHIFT_DOWN: Chord = letter('J', "J");

use Mode::{Confirm, Help, List, Menu, Prompt, Read, Type};

const BROWSE: &[Mode] = &[List, Read];
const CHOOSE: &[Mode] = &[List, Read, Menu, Help];
const LINE: &[Mode] = &[Type, Prompt];

pub(crate) const KEYS: &[Binding] = &[
    bind(
        &[control('c', "Ctrl-C")],
        &[List, Read, Type, Menu, Prompt, Confirm, Help],
        Action::Quit,
        "Quit",
        "",
    ),
    bind(&[letter('q', "q")], &[List], Action::Quit, "Quit", "quit"),
    bind(&[letter('?', "?")], BROWSE, Action::Help, "List the keys", "keys"),
    bind(&[F1], &[List, Read, Type], Action::Help, "List the keys, also while typing", "keys"),
    bind(&[letter('1', "1")], BROWSE, Action::Show(Screen::Search), "Search sessions", ""),
    bind(&[letter('2', "2")], BROWSE, Action::Show(Screen::Sessions), "Sessions, newest first", ""),
    bind(&[letter('3', "3")], BROWSE, Action::Show(Screen::Memory), "Facts and session names", ""),
    bind(&[letter('4', "4")], BROWSE, Action::Show(Screen::Errors), "Errors by signature", ""),
    bind(&[letter('5', "5")], BROWSE, Action::Show(Screen::Usage), "Tokens and cost", ""),
    bind(
        &[letter('6', "6")],
        BROWSE,
        Action::Show(Screen::Why),
        "Why a symbol, file or line is as it is",
        "",
    ),
    bind(&[TAB], &[List], Action::NextScreen, "Next screen", ""),
    bind(&[letter('j', "j"), DOWN], CHOOSE, Action::Move(1), "Down", ""),
    bind(&[letter('k', "k"), UP], CHOOSE, Action::Move(-1), "Up", ""),
    bind(&[DOWN, control('n', "Ctrl-N")], &[Type], Action::Move(1), "Down, while typing", ""),
    bind(&[UP, control('p', "Ctrl-P")], &[Type], Action::Move(-1), "Up, while typing", ""),
    bind(&[PAGE_DOWN, control('d', "Ctrl-D")], CHOOSE, Action::Page(1), "Half a page down", ""),
    bind(&[PAGE_UP, control('u', "Ctrl-U")], CHOOSE, Action::Page(-1), "Half a page up", ""),
    bind(&[PAGE_DOWN], &[Type], Action::Page(1), "", ""),
    bind(&[PAGE_UP], &[Type], Action::Page(-1), "", ""),
    bind(&[letter('g', "g"), HOME], CHOOSE, Action::First, "To the start", ""),
    bind(&[letter('G', "G"), END], CHOOSE, Action::Last, "To the end", ""),
    bind(&[SHIFT_DOWN], &[List], Action::ScrollDetail(3), "Scroll the preview down", ""),
    bind(&[SHIFT_UP], &[List], Action::ScrollDetail(-3), "Scroll the preview up", ""),
    bind(
        &[ENTER],
        &[List, Type],
        Action::Enter,
        "Resume the session in its agent, after confirmation",
        "resume",
    ),
    bind(
        &[letter('r', "r")],
        &[Read],
        Action::Enter,
        "Resume the session in its agent, after confirmation",
        "resume",
    ),
    bind(&[letter('o', "o"), letter('l', "l"), RIGHT], &[List], Action::Open, "Read the session", "read"),
    bind(&[control('o', "Ctrl-O")], &[Type], Action::Open, "Read the session, while typing", "read"),
    bind(&[letter(' ', "Space"), ENTER], &[Read], Action::Fold, "Unfold or fold the tool call", "unfold"),
    bind(&[letter('z', "z")], &[Read], Action::FoldAll, "Unfold or fold all tool calls", ""),
    bind(&[letter('e', "e")], BROWSE, Action::Export, "Export the session to a file", "export"),
    bind(&[letter('y', "y")], BROWSE, Action::CopyId, "Copy the ID to the clipboard (OSC 52)", "copy ID"),
    bind(
        &[ESC, LEFT, letter('h', "h"), letter('q', "q")],
        &[Read],
        Action::Back,
        "Close the session",
        "back",
    ),
    bind(
        &[letter('/', "/"), letter('i', "i")],
        &[List],
        Action::StartTyping,
        "Type into the input of the screen",
        "type",
    ),
    bind(&[ESC, TAB], &[Type], Action::StopTyping, "Leave the input; the letters become keys", "list"),
    bind(&[ESC], &[List], Action::Back, "Clear the message; in `loci pick`, leave", ""),
    bind(&[letter('a', "a")], &[List], Action::Filter(Facet::Agent), "Filter by agent", "agent"),
    bind(&[letter('p', "p")], &[List], Action::Filter(Facet::Project), "Filter by project", "project"),
    bind(&[letter('t', "t")], &[List], Action::Filter(Facet::Time), "Filter by time", "time"),
    bind(&[letter('c', "c")], &[List], Action::Filter(Facet::Kind), "Filter by kind of text", "kind"),
    bind(&[letter('x', "x")], &[List], Action::ClearFilters, "Remove all filters", ""),
    bind(
        &[letter('v', "v")],
        &[List],
        Action::NextVariant,
        "Memory: next state; usage: next grouping",
        "variant",
    ),
    bind(&[letter('A', "A")], &[List], Action::Accept, "Memory: accept the fact", ""),
    bind(&[letter('D', "D")], &[List], Action::Retire, "Memory: retire the fact", ""),
    bind(&[letter('E', "E")], &[List], Action::EditMemory, "Memory: edit the text or the name", ""),
    bind(&[letter('P', "P")], &[List], Action::Pin, "Memory: pin or unpin", ""),
    bind(&[letter('R', "R"), control('l', "Ctrl-L")], BROWSE, Action::Reload, "Read again and redraw", ""),
    bind(&[ENTER], &[Menu, Prompt], Action::Confirm, "", "choose"),
    bind(&[letter('y', "y"), ENTER], &[Confirm], Action::Confirm, "", "yes"),
    bind(&[letter('n', "n"), letter('q', "q"), ESC], &[Confirm], Action::Back, "", "no"),
    bind(&[ESC, letter('q', "q")], &[Menu, Help], Action::Back, "", "close"),
    bind(&[letter('?', "?"), F1, ENTER], &[Help], Action::Back, "", ""),
    bind(&[ESC], &[Prompt], Action::Back, "", "cancel"),
    bind(&[BACKSPACE, control('h', "Ctrl-H")], LINE, Action::Edit(Edit::DeleteBack), "", ""),
    bind(&[DELETE], LINE, Action::Edit(Edit::DeleteForward), "", ""),
    bind(&[control('w', "Ctrl-W")], LINE, Action::Edit(Edit::DeleteWord), "", ""),
    bind(&[control('u', "Ctrl-U")], LINE, Action::Edit(Edit::DeleteAll), "Clear the input", ""),
    bind(&[LEFT, control('b', "Ctrl-B")], LINE, Action::Edit(Edit::Left), "", ""),
    bind(&[RIGHT, control('f', "Ctrl-F")], LINE, Action::Edit(Edit::Right), "", ""),
    bind(&[HOME, control('a', "Ctrl-A")], LINE, Action::Edit(Edit::Start), "", ""),
    bind(&[END, control('e', "Ctrl-E")], LINE, Action::Edit(Edit::End), "", ""),
];

/// The action of a key, if it has one in this mode.
pub(crate) fn action_of(event: KeyEvent, mode: Mode) -> Option<Action> {
    let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
    let pressed = |chord: &Chord| chord.code == event.code && chord.control == is_control;
    let bound = |binding: &&Binding| binding.modes.contains(&mode) && binding.chords.iter().any(pressed);
    KEYS.iter().find(bound).map(|binding| binding.action)
}

/// The character that a key types.
pub(crate) fn typed_char(event: KeyEvent) -> Option<char> {
    let has_command = event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match event.code {
        KeyCode::Char(c) if !has_command => Some(c),
        _ => None,
    }
}

impl Binding {
    /// The names of its keys.
    pub(crate) fn names(&self) -> String {
        self.chords.iter().map(|chord| chord.name).collect::<Vec<_>>().join(" ")
    }
}

/// Keys and their help, for the help screen.
pub(crate) fn help_lines() -> impl Iterator<Item = (String, &'static str)> {
    KEYS.iter().filter(|binding| !binding.help.is_empty()).map(|binding| (binding.names(), binding.help))
}

/// The first key and the hint of the keys that matter most in a mode.
pub(crate) fn hints(mode: Mode) -> impl Iterator<Item = (&'static str, &'static str)> {
    let named = move |binding: &&Binding| binding.modes.contains(&mode) && !binding.hint.is_empty();
    KEYS.iter().filter(named).filter_map(|binding| Some((binding.chords.first()?.name, binding.hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key with two actions in one mode would do only the first.
    #[test]
    fn a_key_has_one_action_in_a_mode() {
        let mut seen = Vec::new();
        for binding in KEYS {
            for chord in binding.chords {
                for mode in binding.modes {
                    let it = (chord.code, chord.control, *mode);
                    assert!(!seen.contains(&it), "{} in {mode:?}", chord.name);
                    seen.push(it);
                }
            }
        }
    }

    #[test]
    fn letters_type_where_text_is_typed() {
        let q = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        assert_eq!(action_of(q, Mode::List), Some(Action::Quit));
        assert_eq!((action_of(q, Mode::Type), typed_char(q)), (None, Some('q')));
        let c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for mode in [List, Read, Type, Menu, Prompt, Confirm, Help] {
            assert_eq!(action_of(c, mode), Some(Action::Quit), "{mode:?}");
        }
    }
}
