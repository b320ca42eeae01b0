//! Answers as a person reads them: grouped, dated in words, matches marked. A pure function of the answer and of how
//! it is looked at, so that every door shows the same text; without colour nothing is lost.
//!
//! Does not know whether there is a terminal. What a script reads is JSON; this is never parsed.

mod chats;
mod code;
mod mailbox;
mod memory;
mod recommend;
mod refs;
mod search;
mod setup;
mod spending;
mod status;
mod upkeep;

use crate::caller::Answer;
use crate::plain::{clean, short_id, width_of};
use record::{Clock, Stamp};

/// How an answer is looked at.
#[derive(Clone, Debug)]
pub struct Look {
    pub clock: Clock,
    /// Stands as `~` in paths; empty where there is none.
    pub home: String,
    pub width: usize,
    pub colour: bool,
}

impl Look {
    /// As text in an answer: no colours, lines of a fixed width.
    pub fn plain(clock: Clock, home: &str) -> Look {
        Look { clock, home: home.to_string(), width: 100, colour: false }
    }
}

pub trait Render {
    /// Whole lines, each with its end.
    fn render(&self, look: &Look) -> String;
}

impl Render for Answer {
    fn render(&self, look: &Look) -> String {
        match self {
            Answer::Search(answer) => answer.render(look),
            Answer::Gathered(answer) => answer.render(look),
            Answer::Resolved(answer) => answer.render(look),
            Answer::Sessions(answer) => answer.render(look),
            Answer::Indexed(answer) => answer.render(look),
            Answer::Archived(answer) => answer.render(look),
            Answer::Checkup(answer) => answer.render(look),
            Answer::Secrets(answer) => answer.render(look),
            Answer::Forgotten(answer) => answer.render(look),
            Answer::RefRead(answer) => answer.render(look),
            Answer::CleanedUp(answer) => answer.render(look),
            Answer::Setup(answer) => answer.render(look),
            Answer::Status(answer) => answer.render(look),
            Answer::Outlined(answer) => answer.render(look),
            Answer::Meant(answer) => answer.render(look),
            Answer::Used(answer) => answer.render(look),
            Answer::Drawn(answer) => answer.render(look),
            Answer::Semantic(answer) => answer.render(look),
            Answer::NotesWritten(answer) => answer.render(look),
            Answer::Investigation(answer) => answer.render(look),
            Answer::PackBuilt(answer) => answer.render(look),
            Answer::Packs(answer) => answer.render(look),
            Answer::Window(answer) => answer.render(look),
            Answer::Marked(answer) => answer.render(look),
            Answer::InFocus(answer) => answer.render(look),
            Answer::IndexedCode(answer) => answer.render(look),
            Answer::CodeStatus(answer) => answer.render(look),
            Answer::Message(answer) => answer.render(look),
            Answer::Messages(answer) => answer.render(look),
            Answer::Agent(answer) => answer.render(look),
            Answer::Agents(answer) => answer.render(look),
            Answer::Removed(answer) => answer.render(look),
            Answer::Recommended(answer) => answer.render(look),
            Answer::Consolidated(answer) => answer.render(look),
            Answer::Memories(answer) => answer.render(look),
            Answer::MemoryShown(answer) => answer.render(look),
            Answer::MemoryChanged(answer) => answer.render(look),
            Answer::MemoryForgotten(answer) => answer.render(look),
            Answer::MemoryDocument(answer) => answer.render(look),
            Answer::MemoryImported(answer) => answer.render(look),
            Answer::Jobs(answer) => answer.render(look),
            Answer::Costs(answer) => answer.render(look),
        }
    }
}

/// How a piece of text is set apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ink {
    Bold,
    Dim,
    Match,
    Role,
    Bad,
    Good,
    Warn,
}

impl Look {
    fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Match => "1;33",
            Ink::Role => "36",
            Ink::Bad => "31",
            Ink::Good => "32",
            Ink::Warn => "33",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// A path with `~` for the user's own folder.
    fn path(&self, path: &str) -> String {
        let inside = path.strip_prefix(&self.home).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match inside {
            Some(rest) if !self.home.is_empty() => clean(&format!("~{rest}")),
            _ => clean(path),
        }
    }

    /// `3 days ago, 12 Nov 09:30`.
    fn when(&self, at: Option<i64>) -> String {
        let Some(at) = at else { return "at a time that is not known".to_string() };
        match ago(self.clock.now().0 - at) {
            Some(words) => format!("{words}, {}", self.date(Some(at))),
            None => self.date(Some(at)),
        }
    }

    /// `12 Nov 09:30`, and the year where it is another than this one.
    fn date(&self, at: Option<i64>) -> String {
        let Some([year, month, day, hour, minute]) = at.and_then(|at| self.clock.local(Stamp(at))) else {
            return String::new();
        };
        let this_year = self.clock.local(self.clock.now()).is_some_and(|now| now[0] == year);
        let month = MONTHS.get(month as usize - 1).unwrap_or(&"");
        let year = if this_year { String::new() } else { format!(" {year}") };
        format!("{day} {month}{year} {hour:02}:{minute:02}")
    }

    /// Facts side by side, those that are empty left out.
    fn facts(&self, facts: &[String]) -> String {
        let known: Vec<&str> = facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
        self.paint(Ink::Dim, &known.join(" · "))
    }
}

const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// How long each unit is in milliseconds, and up to how many of the next it is used.
const UNITS: &[(&str, i64, i64)] = &[
    ("minute", 60_000, 60),
    ("hour", 3_600_000, 36),
    ("day", 86_400_000, 60),
    ("month", 30 * 86_400_000, 24),
    ("year", 365 * 86_400_000, i64::MAX),
];

/// None: it has not happened yet.
fn ago(ms: i64) -> Option<String> {
    match ms {
        ..0 => None,
        0..60_000 => Some("just now".to_string()),
        _ => {
            let (name, unit, _) = UNITS.iter().find(|(_, unit, most)| ms / unit < *most)?;
            Some(format!("{} ago", plural((ms / unit) as u64, name)))
        }
    }
}

fn plural(n: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// 1234567 as 1,234,567.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `12.3 MB`, in units of 1024.
fn size(bytes: u64) -> String {
    let (mut n, mut unit) = (bytes as f64, "bytes");
    for next in ["KB", "MB", "GB", "TB"] {
        if n < 1024.0 {
            break;
        }
        (n, unit) = (n / 1024.0, next);
    }
    if unit == "bytes" { plural(bytes, "byte") } else { format!("{n:.1} {unit}") }
}

/// An id as far as one needs it to tell it from the others.
fn told_apart<'a>(id: &str, mut others: impl Iterator<Item = &'a str>) -> String {
    let head = short_id(id);
    if others.any(|other| other != id && other.starts_with(&head)) { clean(id) } else { head }
}

/// A character, and whether it belongs to a match.
type Marked = (char, bool);

/// Lines of at most `width` columns, broken between words where that can be done.
fn wrapped(text: &[Marked], width: usize) -> Vec<Vec<Marked>> {
    let (mut lines, mut line, mut taken) = (Vec::new(), Vec::<Marked>::new(), 0);
    for &(c, marked) in text {
        let wide = width_of(c);
        // A blank at the end of a line is not seen: it may stand over.
        if c != ' ' && taken + wide > width && !line.is_empty() {
            let blank = line.iter().rposition(|(c, _)| *c == ' ').filter(|at| *at > line.len() / 2);
            let rest = blank.map_or_else(Vec::new, |at| line.split_off(at + 1));
            taken = rest.iter().map(|(c, _)| width_of(*c)).sum();
            lines.push(std::mem::replace(&mut line, rest));
        }
        taken += wide;
        line.push((c, marked));
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_words() {
        let now = Stamp::parse(b"2026-11-15T12:00:00Z");
        let look = Look::plain(Clock::At(now), "/home/ada");
        let back = |ms: i64| look.when(Some(now.0 - ms));
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
        assert_eq!(look.when(None), "at a time that is not known");
    }

    #[test]
    fn figures_are_told_in_words() {
        assert_eq!((size(1), size(2048), size(5 << 30)), ("1 byte".into(), "2.0 KB".into(), "5.0 GB".into()));
        assert_eq!(plural(1_234_567, "line"), "1,234,567 lines");
        let look = Look::plain(Clock::At(Stamp(0)), "/home/ada");
        assert_eq!(look.path("/home/ada/x"), "~/x");
        assert_eq!(look.path("/home/adam"), "/home/adam");
        assert_eq!(Look { home: String::new(), ..look }.path("/x"), "/x");
    }

    #[test]
    fn lines_are_broken_between_words_and_wide_characters_fit() {
        let text = |s: &str| s.chars().map(|c| (c, false)).collect::<Vec<_>>();
        let shown = |s: &str, width| -> Vec<String> {
            wrapped(&text(s), width).iter().map(|l| l.iter().map(|(c, _)| *c).collect()).collect()
        };
        assert_eq!(shown("one two three", 8), ["one two ", "three"]);
        assert_eq!(shown("虚拟列表滚动", 8), ["虚拟列表", "滚动"]);
        assert_eq!(shown("abcdefgh ij", 8), ["abcdefgh ", "ij"]);
        assert_eq!(shown("", 8), [""]);
        assert_eq!(told_apart("abcdefghij", ["abcdefghxx"].into_iter()), "abcdefghij");
        assert_eq!(told_apart("abcdefghij", ["abcdefgzxx"].into_iter()), "abcdefgh");
    }
}
