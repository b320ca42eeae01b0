//! The roles of text on the screen, and how each looks with 16 colours and without.
//!
//! Does not know where text is drawn.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of text means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ink {
    #[default]
    Plain,
    Dim,
    Bold,
    /// A passage that matches the search.
    Match,
    /// Who speaks, or a heading.
    Role,
    Bad,
    Good,
    Warn,
    /// The selected row.
    Selected,
    /// The current screen in the bar of screens.
    Current,
}

/// Each role with its colour and its look without colour. Only the 16 colours that every terminal has, so that a person's own
/// palette applies.
const INKS: &[(Ink, Option<Color>, Modifier)] = &[
    (Ink::Plain, None, Modifier::empty()),
    (Ink::Dim, None, Modifier::DIM),
    (Ink::Bold, None, Modifier::BOLD),
    (Ink::Match, Some(Color::Yellow), Modifier::BOLD.union(Modifier::UNDERLINED)),
    (Ink::Role, Some(Color::Cyan), Modifier::BOLD),
    (Ink::Bad, Some(Color::Red), Modifier::BOLD),
    (Ink::Good, Some(Color::Green), Modifier::empty()),
    (Ink::Warn, Some(Color::Yellow), Modifier::empty()),
    (Ink::Selected, None, Modifier::REVERSED),
    (Ink::Current, Some(Color::Cyan), Modifier::REVERSED.union(Modifier::BOLD)),
];

impl Ink {
    pub(crate) fn style(self, colour: bool) -> Style {
        let (_, own, modifier) = INKS.iter().find(|(ink, ..)| *ink == self).unwrap_or(&INKS[0]);
        let style = Style::new().add_modifier(*modifier);
        match own {
            Some(own) if colour => style.fg(*own),
            _ => style,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_only_modifiers_are_used() {
        for (ink, ..) in INKS {
            assert_eq!((ink.style(false).fg, ink.style(false).bg), (None, None), "{ink:?}");
        }
        assert_eq!(Ink::Bad.style(true).fg, Some(Color::Red));
    }
}
