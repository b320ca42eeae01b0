//! Files by use: read, edited, written, and when.
//!
//! Does not read the files.

use crate::Used;
use record::{Cell, Line, Stamp, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    Read,
    Edit,
    Write,
}

impl Act {
    /// The effect of a tool on the file it names, for the tool names of all agents.
    pub fn of(tool: &str) -> Option<Act> {
        match tool {
            "Read" | "NotebookRead" | "read" | "read_file" | "view_image" | "view" => Some(Act::Read),
            "Edit" | "MultiEdit" | "NotebookEdit" | "edit" | "replace" | "apply_patch" | "patch" => {
                Some(Act::Edit)
            }
            "Write" | "write" | "write_file" => Some(Act::Write),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Act::Read => "read",
            Act::Edit => "edit",
            Act::Write => "write",
        }
    }
}

#[derive(Default)]
pub struct Touched(BTreeMap<String, Uses>);

#[derive(Default)]
struct Uses {
    counts: [u64; 3],
    errors: u64,
    sessions: BTreeSet<Arc<str>>,
    first: Option<Stamp>,
    last: Option<Stamp>,
    timeline: Vec<(Act, Used)>,
}

/// The output: the list of files, the timeline of each file, or only files that changed often.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    List,
    Timeline,
    Churn(u64),
}

impl Touched {
    /// Records one use of a file; `keep` also adds it to the timeline.
    pub fn add(&mut self, file: &str, act: Act, call: &Used, keep: bool) {
        let uses = self.0.entry(file.to_string()).or_default();
        uses.counts[act as usize] += 1;
        uses.errors += u64::from(call.status == Status::Error);
        uses.sessions.insert(call.session.clone());
        uses.first = Some(uses.first.map_or(call.at, |f| f.min(call.at)));
        uses.last = Some(uses.last.map_or(call.at, |l| l.max(call.at)));
        if keep {
            uses.timeline.push((act, call.clone()));
        }
    }

    /// Timelines sorted by file name; lists with the most used first.
    pub fn lines(self, shape: Shape) -> Vec<Line<'static>> {
        let mut files: Vec<_> = self.0.into_iter().collect();
        if let Shape::Churn(least) = shape {
            files.retain(|(_, u)| changes(u) >= least);
            files.sort_by(|(a, x), (b, y)| changes(y).cmp(&changes(x)).then(a.cmp(b)));
        }
        if shape == Shape::List {
            files.sort_by(|(a, x), (b, y)| total(y).cmp(&total(x)).then(a.cmp(b)));
        }
        files.into_iter().map(|(file, uses)| line(file, uses, shape)).collect()
    }
}

fn changes(uses: &Uses) -> u64 {
    uses.counts[Act::Edit as usize] + uses.counts[Act::Write as usize]
}

fn total(uses: &Uses) -> u64 {
    uses.counts.iter().sum()
}

fn line(file: String, uses: Uses, shape: Shape) -> Line<'static> {
    let [reads, edits, writes] = uses.counts;
    let mut line = vec![
        ("file", Cell::text(file)),
        ("reads", Cell::count(reads)),
        ("edits", Cell::count(edits)),
        ("writes", Cell::count(writes)),
        ("errors", Cell::count(uses.errors)),
        ("total", Cell::count(total(&uses))),
        ("sessions", Cell::count(uses.sessions.len())),
        ("first_at", Cell::opt(uses.first, Cell::Time)),
        ("last_at", Cell::opt(uses.last, Cell::Time)),
    ];
    if shape == Shape::Timeline {
        line.push(("timeline", Cell::List(uses.timeline.into_iter().map(step).collect())));
    }
    line
}

fn step((act, call): (Act, Used)) -> Cell<'static> {
    Cell::Object(vec![
        ("timestamp", Cell::Time(call.at)),
        ("action", Cell::text(act.word())),
        ("status", Cell::text(call.status.word())),
        ("session_id", Cell::text(call.session.to_string())),
        ("turn", Cell::count(call.turn)),
    ])
}
