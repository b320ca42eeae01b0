//! Attempts at a symbol that failed: what a session tried and took back, or left behind with a failing check.
//!
//! Meant for a hook that speaks unasked, so it is silent where it is not certain: the text that an attempt replaced, or what replaced
//! it, must be in the symbol now, and what it tried must not. Reads a few calls that the catalogue names. Does not know how symbols are found.

use crate::session_context::{is_check, is_shell};
use history::call_summary::CallSummary;
use history::file_calls::{FileCall, FileCalls};
use provenance::diff::match_lines;
use provenance::line::{Line, lines_of};
use provenance::pool::{Edit, Pool, is_same_file};
use record::{Row, Status};
use rustc_hash::FxHashSet;
use sources::edit::{FileEdit, may_edit, read_edits};
use std::ops::Range;

/// The latest calls on a file that are looked at.
pub const MAX_CALLS: u32 = 120;
/// Commands that are read to find a check that failed, or one that passed later.
const MAX_COMMANDS: usize = 12;
/// A shorter line says nothing about a place.
const LEAST_LENGTH: u32 = 8;

/// Something that was tried and did not stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Milliseconds.
    pub at: i64,
    pub session_id: String,
    /// The lines it had added.
    pub tried: Vec<String>,
    /// The check that failed after it.
    pub failed: Option<String>,
    pub ended: Ending,
    /// What the person had asked for.
    pub asked: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The session took it back.
    TakenBack,
    /// The person went back to before it.
    Abandoned,
    /// The check has not passed again in its session.
    NotMended,
}

impl Attempt {
    /// One line about it: what was tried, what became of it, and what had been asked for. What the agent said about it may repeat the
    /// output of tools. `shorten` makes a text safe to show and cuts it.
    pub fn line(&self, symbol: &str, shorten: &dyn Fn(&str, usize) -> String) -> String {
        let asked = match self.asked.trim() {
            "" => String::new(),
            asked => format!("; asked: \"{}\"", shorten(asked, 160)),
        };
        let (day, id) = (record::Stamp(self.at).utc_day(), api::terminal_text::short_id(&self.session_id));
        let (outcome, tried) = (shorten(&self.outcome(), 160), shorten(&self.tried.join(" ⏎ "), 240));
        format!("- {symbol} (attempt of {day}, session {id}, {outcome}): {tried}{asked}\n")
    }

    /// What became of it, in words.
    fn outcome(&self) -> String {
        let check = self.failed.as_deref().map(|command| format!("`{command}` failed"));
        match (self.ended, check) {
            (Ending::TakenBack, Some(check)) => format!("taken back after {check}"),
            (Ending::TakenBack, None) => "taken back in the same session".to_string(),
            (Ending::Abandoned, _) => "the person went back to before it".to_string(),
            (Ending::NotMended, check) => format!("{}, and did not pass again", check.unwrap_or_default()),
        }
    }
}

/// An edit of the file, and the call that made it.
struct Tried<'c> {
    call: &'c FileCall,
    edit: FileEdit,
}

/// The lines of a symbol, and those of the file around it.
struct Place {
    inside: FxHashSet<u64>,
    outside: FxHashSet<u64>,
}

impl Place {
    fn new(text: &str, symbol: &Range<usize>) -> Place {
        let hashes = |part: &str| lines_of(part).iter().map(|line| line.hash).collect::<FxHashSet<u64>>();
        let inside = hashes(text.get(symbol.clone()).unwrap_or_default());
        let mut outside = hashes(text.get(..symbol.start).unwrap_or_default());
        outside.extend(hashes(text.get(symbol.end..).unwrap_or_default()));
        Place { inside, outside }
    }

    /// Whether a piece of text is from here: half of its lines are, and one of them is nowhere else in the file.
    fn has(&self, text: &str) -> bool {
        let lines = lines_of(text);
        let said: Vec<&Line> = lines.iter().filter(|line| line.length >= LEAST_LENGTH).collect();
        let here: Vec<&&Line> = said.iter().filter(|line| self.inside.contains(&line.hash)).collect();
        2 * here.len() >= said.len() && here.iter().any(|line| !self.outside.contains(&line.hash))
    }

    /// Whether most of the lines of an edit are not here, or not any more.
    fn lacks(&self, tried: &[Line]) -> bool {
        2 * tried.iter().filter(|line| self.inside.contains(&line.hash)).count() < tried.len()
    }
}

/// For each symbol of a file, by its place in the text, the latest attempt that another session made and that did not stay.
pub fn find_attempts(
    calls: &FileCalls<'_>,
    file: &str,
    text: &str,
    symbols: &[Range<usize>],
    own_session: &str,
) -> Vec<Option<Attempt>> {
    let tried = read_tried(calls, file, own_session);
    if tried.is_empty() {
        return vec![None; symbols.len()];
    }
    let undone = find_undone(&tried);
    let find = |symbol: &Range<usize>| {
        let place = Place::new(text, symbol);
        (0..tried.len()).rev().find_map(|at| judge(calls, &tried, at, undone[at], &place))
    };
    symbols.iter().map(find).collect()
}

/// The edits of the file in other sessions, oldest first.
fn read_tried<'c>(calls: &'c FileCalls<'_>, file: &str, own_session: &str) -> Vec<Tried<'c>> {
    let paths = [file.to_string()];
    let is_meant = |call: &&FileCall| {
        call.row.status() != Status::Error && call.session_id != own_session && may_edit(&call.tool)
    };
    let mut found = Vec::new();
    for call in calls.calls.iter().rev().filter(is_meant) {
        let edits = calls.read_call(&call.row).map(|read| read_edits(&read)).unwrap_or_default();
        let edits =
            edits.into_iter().filter(|edit| edit.before.is_some() && is_same_file(&edit.path, &paths));
        found.extend(edits.map(|edit| Tried { call, edit }));
    }
    found
}

/// For each edit, the later one of its session that removed what it had added.
fn find_undone(tried: &[Tried<'_>]) -> Vec<Option<u32>> {
    let (mut pool, mut sessions) = (Pool::default(), Vec::<&str>::new());
    for Tried { call, edit } in tried {
        let known = sessions.iter().position(|id| *id == call.session_id);
        let session = known.unwrap_or_else(|| {
            sessions.push(&call.session_id);
            sessions.len() - 1
        }) as u32;
        let (before, after) = (edit.before.as_deref(), edit.after.as_str());
        pool.add(Edit { session, at: call.row.at.0, path: &edit.path, before, after });
    }
    pool.find_undone()
}

/// The attempt that an edit was, if it concerns the place and did not stay.
fn judge(
    calls: &FileCalls<'_>,
    tried: &[Tried<'_>],
    at: usize,
    undone: Option<u32>,
    place: &Place,
) -> Option<Attempt> {
    let Tried { call, edit } = &tried[at];
    let before = edit.before.as_deref().unwrap_or_default();
    let later = undone.map(|later| &tried[later as usize]);
    let added = added_lines(before, &edit.after);
    let said: Vec<Line> = added.iter().map(|line| Line::new(line)).filter(|line| !line.is_blank()).collect();
    let is_meant = place.has(before) || later.is_some_and(|later| place.has(&later.edit.after));
    if said.is_empty() || !place.lacks(&said) || !is_meant {
        return None;
    }
    let failed = failed_check(calls, call, later.map(|later| &later.call.row));
    let is_restored = later.is_some_and(|later| is_same_text(before, &later.edit.after));
    let ended = match (call.is_abandoned, later, &failed) {
        (true, ..) => Ending::Abandoned,
        (_, Some(_), Some(_)) => Ending::TakenBack,
        (_, Some(_), None) if is_restored => Ending::TakenBack,
        (_, None, Some((row, _))) if !passes_later(calls, row) => Ending::NotMended,
        _ => return None,
    };
    Some(Attempt {
        at: call.row.at.0,
        session_id: call.session_id.clone(),
        tried: added,
        failed: failed.map(|(_, command)| command),
        ended,
        asked: calls.prompt(&call.row).unwrap_or_default(),
    })
}

fn added_lines(before: &str, after: &str) -> Vec<String> {
    let matched = match_lines(&lines_of(before), &lines_of(after));
    let added = matched.iter().zip(after.lines()).filter(|(old, _)| old.is_none());
    added.map(|(_, line)| line.trim().to_string()).filter(|line| !line.is_empty()).collect()
}

fn is_same_text(one: &str, other: &str) -> bool {
    let said = |text: &str| lines_of(text).into_iter().filter(|line| !line.is_blank()).collect::<Vec<_>>();
    said(one) == said(other)
}

/// The first check that failed after an edit, before it was taken back, and its command.
fn failed_check(calls: &FileCalls<'_>, call: &FileCall, until: Option<&Row>) -> Option<(Row, String)> {
    let failed = calls.later_calls(&call.row, true);
    let before = failed.into_iter().filter(|row| until.is_none_or(|until| row.start < until.start));
    let mut commands = before.filter(|row| is_shell(calls.tool(row))).take(MAX_COMMANDS);
    commands.find_map(|row| Some((row, check_of(calls, &row)?)))
}

/// Whether a check passed in the session after one that failed.
fn passes_later(calls: &FileCalls<'_>, failed: &Row) -> bool {
    let later = calls.later_calls(failed, false).into_iter().filter(|row| row.status() == Status::Success);
    let mut shell = later.filter(|row| is_shell(calls.tool(row)));
    // Beyond this many, a check is likely among the rest.
    let read: Vec<Row> = shell.by_ref().take(MAX_COMMANDS).collect();
    shell.next().is_some() || read.iter().any(|row| check_of(calls, row).is_some())
}

fn check_of(calls: &FileCalls<'_>, row: &Row) -> Option<String> {
    let command = CallSummary::from_call(&calls.read_call(row)?).command?;
    is_check(&command).then(|| api::terminal_text::one_line(&command))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "def flush(self):\n    self.client.send(self.items)\n    return self.items\n\ndef size(self):\n    return self.items\n";

    #[test]
    fn a_text_is_from_a_place_that_has_one_line_alone() {
        let place = Place::new(TEXT, &(0..TEXT.find("\ndef size").unwrap()));
        for (text, expected) in [
            ("    self.client.send(self.items)\n", true),
            ("    return self.items\n", false), // also elsewhere
            ("    self.client.send(self.items)\n    other_line_one()\n    other_line_two()\n", false),
            ("", false),
        ] {
            assert_eq!(place.has(text), expected, "{text:?}");
        }
        assert!(place.lacks(&lines_of("    for attempt in range(3):\n")));
        assert!(!place.lacks(&lines_of("    self.client.send(self.items)\n")));
    }

    #[test]
    fn only_new_lines_were_tried() {
        assert_eq!(added_lines("a_line\n", "for x in y:\n    a_line\n\n"), ["for x in y:"]);
        assert!(is_same_text("a = 1\n", "  a = 1\n\n") && !is_same_text("a = 1", "a = 2"));
    }
}
