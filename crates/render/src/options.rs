//! How a response is rendered: clock, home directory, width and colour.
//!
//! Does not know whether there is a terminal.

use crate::format::relative_time;
use api::terminal_text::strip_controls;
use record::{Clock, Stamp};

/// How a response is rendered.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    pub clock: Clock,
    /// Shown as `~` in paths; empty if unknown.
    pub home: String,
    pub width: usize,
    /// Lines longer than the width are broken; elsewhere whoever reads the text breaks them.
    pub wrap: bool,
    pub colour: bool,
}

impl RenderOptions {
    /// For text inside a response: no colours, lines of a fixed width.
    pub fn plain(clock: Clock, home: &str) -> RenderOptions {
        RenderOptions { clock, home: home.to_string(), width: 100, wrap: false, colour: false }
    }
}

/// How a piece of text is emphasised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Dim,
    Match,
    Role,
    Bad,
    Good,
    Warn,
}

impl RenderOptions {
    pub(crate) fn paint(&self, ink: Style, text: &str) -> String {
        let code = match ink {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Match => "1;33",
            Style::Role => "36",
            Style::Bad => "31",
            Style::Good => "32",
            Style::Warn => "33",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// A path with `~` for the home directory.
    pub fn display_path(&self, path: &str) -> String {
        let inside = path.strip_prefix(&self.home).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match inside {
            Some(rest) if !self.home.is_empty() => strip_controls(&format!("~{rest}")),
            _ => strip_controls(path),
        }
    }

    /// `3 days ago, 12 Nov 09:30`.
    pub(crate) fn format_when(&self, at: Option<i64>) -> String {
        let Some(at) = at else { return "unknown time".to_string() };
        match relative_time(self.clock.now().0 - at) {
            Some(words) => format!("{words}, {}", self.format_date(Some(at))),
            None => self.format_date(Some(at)),
        }
    }

    /// `12 Nov 09:30`, with the year unless it is the current one.
    pub(crate) fn format_date(&self, at: Option<i64>) -> String {
        let Some([year, month, day, hour, minute]) = at.and_then(|at| self.clock.local_fields(Stamp(at)))
        else {
            return String::new();
        };
        let this_year = self.clock.local_fields(self.clock.now()).is_some_and(|now| now[0] == year);
        let month = MONTHS.get(month as usize - 1).unwrap_or(&"");
        let year = if this_year { String::new() } else { format!(" {year}") };
        format!("{day} {month}{year} {hour:02}:{minute:02}")
    }

    /// Non-empty facts on one line.
    pub(crate) fn join_facts(&self, facts: &[String]) -> String {
        let known: Vec<&str> = facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
        self.paint(Style::Dim, &known.join(" · "))
    }
}

const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_and_absolute() {
        let now = Stamp::parse(b"2026-11-15T12:00:00Z");
        let options = RenderOptions::plain(Clock::At(now), "/home/ada");
        let back = |ms: i64| options.format_when(Some(now.0 - ms));
        let (hour, day) = (3_600_000, 86_400_000);
        for (ms, words) in [
            (5_000, "just now, 15 Nov 11:59"),
            (60_000, "1 minute ago, 15 Nov 11:59"),
            (3 * hour, "3 hours ago, 15 Nov 09:00"),
            (35 * hour, "35 hours ago, 14 Nov 01:00"),
            (3 * day, "3 days ago, 12 Nov 12:00"),
            (90 * day, "3 months ago, 17 Aug 12:00"),
            (800 * day, "2 years ago, 6 Sep 2024 12:00"),
            (-hour, "15 Nov 13:00"),
        ] {
            assert_eq!(back(ms), words);
        }
        assert_eq!(options.format_when(None), "unknown time");
    }

    #[test]
    fn the_home_directory_is_abbreviated() {
        let options = RenderOptions::plain(Clock::At(Stamp(0)), "/home/ada");
        assert_eq!(options.display_path("/home/ada/x"), "~/x");
        assert_eq!(options.display_path("/home/adam"), "/home/adam");
        assert_eq!(RenderOptions { home: String::new(), ..options }.display_path("/x"), "/x");
    }
}
