//! Files by use: read, edited, written, and when.
//!
//! Does not read the files.

use crate::ToolCall;
use record::{Cell, Record, Stamp, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileAccess {
    Read,
    Edit,
    Write,
}

impl FileAccess {
    /// The effect of a tool on the file it names, for the tool names of all agents.
    pub fn from_tool(tool: &str) -> Option<FileAccess> {
        match tool {
            "Read" | "NotebookRead" | "read" | "read_file" | "view_image" | "view" => Some(FileAccess::Read),
            "Edit" | "MultiEdit" | "NotebookEdit" | "edit" | "replace" | "apply_patch" | "patch" => {
                Some(FileAccess::Edit)
            }
            "Write" | "write" | "write_file" => Some(FileAccess::Write),
            _ => None,
        }
    }

    fn action_name(self) -> &'static str {
        match self {
            FileAccess::Read => "read",
            FileAccess::Edit => "edit",
            FileAccess::Write => "write",
        }
    }
}

#[derive(Default)]
pub struct FileUsage(BTreeMap<String, UsageCounts>);

#[derive(Default)]
struct UsageCounts {
    counts: [u64; 3],
    errors: u64,
    sessions: BTreeSet<Arc<str>>,
    first: Option<Stamp>,
    last: Option<Stamp>,
    timeline: Vec<(FileAccess, ToolCall)>,
}

/// The output: the list of files, the timeline of each file, or only files that changed often.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum UsageView {
    List,
    Timeline,
    Churn(u64),
}

impl FileUsage {
    /// Records one use of a file; `keep` also adds it to the timeline.
    pub fn add_use(&mut self, file: &str, act: FileAccess, call: &ToolCall, keep: bool) {
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
    pub fn into_records(self, shape: UsageView) -> Vec<Record<'static>> {
        let mut files: Vec<_> = self.0.into_iter().collect();
        if let UsageView::Churn(least) = shape {
            files.retain(|(_, u)| count_changes(u) >= least);
            files.sort_by(|(a, x), (b, y)| count_changes(y).cmp(&count_changes(x)).then(a.cmp(b)));
        }
        if shape == UsageView::List {
            files.sort_by(|(a, x), (b, y)| count_uses(y).cmp(&count_uses(x)).then(a.cmp(b)));
        }
        files.into_iter().map(|(file, uses)| to_record(file, uses, shape)).collect()
    }
}

fn count_changes(uses: &UsageCounts) -> u64 {
    uses.counts[FileAccess::Edit as usize] + uses.counts[FileAccess::Write as usize]
}

fn count_uses(uses: &UsageCounts) -> u64 {
    uses.counts.iter().sum()
}

fn to_record(file: String, uses: UsageCounts, shape: UsageView) -> Record<'static> {
    let [reads, edits, writes] = uses.counts;
    let mut line = vec![
        ("file", Cell::text(file)),
        ("reads", Cell::count(reads)),
        ("edits", Cell::count(edits)),
        ("writes", Cell::count(writes)),
        ("errors", Cell::count(uses.errors)),
        ("total", Cell::count(count_uses(&uses))),
        ("sessions", Cell::count(uses.sessions.len())),
        ("first_at", Cell::opt(uses.first, Cell::Time)),
        ("last_at", Cell::opt(uses.last, Cell::Time)),
    ];
    if shape == UsageView::Timeline {
        line.push(("timeline", Cell::List(uses.timeline.into_iter().map(to_timeline_entry).collect())));
    }
    line
}

fn to_timeline_entry((act, call): (FileAccess, ToolCall)) -> Cell<'static> {
    Cell::Object(vec![
        ("timestamp", Cell::Time(call.at)),
        ("action", Cell::text(act.action_name())),
        ("status", Cell::text(call.status.as_str())),
        ("session_id", Cell::text(call.session.to_string())),
        ("turn", Cell::count(call.turn)),
    ])
}
