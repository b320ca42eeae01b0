//! What a key can do.
//!
//! Does not know which key does it.

use crate::filters::Facet;
use crate::line_input::Edit;

/// A screen of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    Search,
    Sessions,
    Memory,
    Errors,
    Usage,
    Why,
}

/// The screens in the order of the bar; the key of a screen is its position.
pub(crate) const SCREENS: &[(Screen, &str)] = &[
    (Screen::Search, "Search"),
    (Screen::Sessions, "Sessions"),
    (Screen::Memory, "Memory"),
    (Screen::Errors, "Errors"),
    (Screen::Usage, "Usage"),
    (Screen::Why, "Why"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    /// Closes what was opened last.
    Back,
    Help,
    Show(Screen),
    NextScreen,
    Move(isize),
    /// Half pages.
    Page(isize),
    First,
    Last,
    ScrollDetail(isize),
    /// Resume the session, or choose it in `loci pick`.
    Enter,
    Open,
    Export,
    CopyId,
    StartTyping,
    StopTyping,
    Edit(Edit),
    Filter(Facet),
    ClearFilters,
    Fold,
    FoldAll,
    Accept,
    Retire,
    EditMemory,
    Pin,
    /// The next state of facts, or the next grouping of usage.
    NextVariant,
    Reload,
    Confirm,
}
