//! One record for each edit of the history: file, symbols, what became of its text, the next build or test, and the session's
//! commit.
//!
//! Does not know how source text is parsed: its caller compares two versions of a file.

use crate::session_context::SessionContext;
use crate::session_edits::{SessionEdit, SessionEdits};
use history::History;
use provenance::diff::match_lines;
use provenance::line::lines_of;
use record::{Cell, Record};
use rustc_hash::FxHashMap;

/// A symbol that an edit changed, and the class of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolEdit {
    pub name: String,
    pub change_class: &'static str,
}

impl SymbolEdit {
    fn to_cell<'r>(&self) -> Cell<'r> {
        let class = Cell::text(self.change_class);
        Cell::Object(vec![("name", Cell::text(self.name.clone())), ("change_class", class)])
    }
}

/// A file with an edit undone, and as it is.
pub struct EditedText<'t> {
    pub path: &'t str,
    pub before: &'t str,
    pub now: &'t str,
    /// Where the text of the edit is now.
    pub at: std::ops::Range<usize>,
}

/// Names what differs between the two versions at that place.
pub type CompareVersions<'c> = &'c dyn Fn(&EditedText<'_>) -> Vec<SymbolEdit>;

/// A larger file is not compared.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Turns edits into records.
pub struct EditRecords<'r, 'h> {
    history: &'r History<'h>,
    read: &'r SessionEdits,
    context: &'r SessionContext<'r, 'h>,
    compare: CompareVersions<'r>,
    /// The files on disk; None for those that cannot be read.
    files: FxHashMap<String, Option<String>>,
}

impl<'r, 'h> EditRecords<'r, 'h> {
    pub fn new(
        history: &'r History<'h>,
        read: &'r SessionEdits,
        context: &'r SessionContext<'r, 'h>,
        compare: CompareVersions<'r>,
    ) -> EditRecords<'r, 'h> {
        EditRecords { history, read, context, compare, files: FxHashMap::default() }
    }

    /// The fields of one edit.
    pub fn record<'f>(&mut self, edit: &'r SessionEdit, fields: &[&'f str]) -> Record<'f>
    where
        'r: 'f,
    {
        let (status, symbols) = self.compare_with_file(edit, fields.contains(&"symbols"));
        let fill = |field: &&'f str| (*field, self.fill_field(edit, field, status, &symbols));
        fields.iter().map(fill).collect()
    }

    fn fill_field(
        &self,
        edit: &'r SessionEdit,
        field: &str,
        status: &'static str,
        symbols: &[SymbolEdit],
    ) -> Cell<'r> {
        let (row, session) = (&edit.row, self.read.library.session(&edit.row));
        match field {
            "timestamp" => Cell::Time(row.at),
            "session_id" => Cell::text(&*session.session_id),
            "source" => Cell::text(session.source),
            "project" => Cell::text(&*session.project),
            "agent_id" => Cell::opt(session.agent_id.as_deref(), Cell::text),
            "turn" => Cell::count(row.turn),
            "id" => Cell::text(self.history.mask_text(&edit.call)),
            "tool" => Cell::text(&**self.read.library.name(row)),
            "file" => Cell::text(self.history.mask_text(&self.read.absolute_path(edit))),
            "symbols" => Cell::List(symbols.iter().map(SymbolEdit::to_cell).collect()),
            "lines_added" => Cell::count(count_lines(edit).0),
            "lines_removed" => Cell::count(count_lines(edit).1),
            "status" => Cell::text(status),
            "outcome" => Cell::opt(self.context.outcome(row), |run| {
                let command = Cell::text(self.history.mask_line(&run.command));
                Cell::Object(vec![("command", command), ("status", Cell::text(run.status))])
            }),
            "commit" => Cell::opt(self.context.next_commit(row), Cell::text),
            _ => Cell::Null,
        }
    }

    /// What became of the text of an edit, and the symbols it changed as far as its text is still there.
    fn compare_with_file(
        &mut self,
        edit: &SessionEdit,
        with_symbols: bool,
    ) -> (&'static str, Vec<SymbolEdit>) {
        if self.context.is_abandoned(&edit.row) {
            return ("abandoned", Vec::new());
        }
        let path = self.read.absolute_path(edit);
        let text = self.files.entry(path.clone()).or_insert_with_key(|path| read_text(path));
        let Some(now) = text.as_deref() else { return ("missing", Vec::new()) };
        let after = edit.edit.after.as_str();
        let Some(from) = find_text(now, after) else { return ("replaced", Vec::new()) };
        if !with_symbols {
            return ("current", Vec::new());
        }
        let at = from..from + after.len();
        let before = edit.edit.before.as_deref().unwrap_or_default();
        let before = format!("{}{before}{}", &now[..at.start], &now[at.end..]);
        ("current", (self.compare)(&EditedText { path: &path, before: &before, now, at }))
    }
}

/// Where a piece of text is. One that begins with a blank is not a part of a line with deeper indentation.
fn find_text(text: &str, piece: &str) -> Option<usize> {
    if piece.trim().is_empty() {
        return None;
    }
    let is_whole = |at: usize| !piece.starts_with([' ', '\t']) || !text[..at].ends_with([' ', '\t']);
    text.match_indices(piece).map(|(at, _)| at).find(|at| is_whole(*at))
}

/// The text of a file. A transcript may name a device or a pipe, which has no end.
fn read_text(path: &str) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let is_read = metadata.is_file() && metadata.len() <= MAX_FILE_BYTES;
    String::from_utf8(is_read.then(|| std::fs::read(path).ok())??).ok()
}

/// Lines added and removed.
fn count_lines(edit: &SessionEdit) -> (u32, u32) {
    let (before, after) =
        (lines_of(edit.edit.before.as_deref().unwrap_or_default()), lines_of(&edit.edit.after));
    let same = match_lines(&before, &after).iter().flatten().count();
    ((after.len() - same) as u32, (before.len() - same) as u32)
}
