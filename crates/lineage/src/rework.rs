//! Work that was wasted or had to be done again in a session: edits of files that were not read, edits taken back, reads of what had
//! not changed, and checks that an edit broke.
//!
//! Decides by the order of calls alone. Does not know whether a piece of work was worth it.

use crate::session_context::{SessionContext, is_check, is_shell};
use query::file_usage::FileAccess;
use record::{Call, Cell, Record, Row, Status};
use rustc_hash::{FxHashMap, FxHashSet};
use sources::edit::{may_edit, read_edits};

/// One piece of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// `blind_edit`, `taken_back`, `repeated_read` or `broke_check`.
    pub kind: &'static str,
    /// The call.
    pub id: String,
    pub file: Option<String>,
    /// The call it repeats, takes back or breaks.
    pub earlier: Option<String>,
    /// The check that failed.
    pub command: Option<String>,
    /// The last edit before the check passed again.
    pub mended_by: Option<String>,
    /// The size of what was read again.
    pub bytes: Option<u64>,
}

impl Finding {
    /// A field of the view.
    pub fn cell(&self, field: &str) -> Cell<'_> {
        let text = |text: &Option<String>| Cell::opt(text.clone(), Cell::text);
        match field {
            "kind" => Cell::text(self.kind),
            "id" => Cell::text(self.id.as_str()),
            "file" => text(&self.file),
            "earlier_id" => text(&self.earlier),
            "command" => text(&self.command),
            "mended_by" => text(&self.mended_by),
            "bytes" => Cell::opt(self.bytes, Cell::count),
            _ => Cell::Null,
        }
    }
}

/// A call as far as it matters here.
#[derive(Debug)]
enum Act {
    /// What was asked for, and the size of the reply.
    Read {
        request: u64,
        bytes: u64,
    },
    /// Digests of the text before and after, for each piece.
    Edit(Vec<(Option<u64>, u64)>),
    Command {
        text: String,
        is_check: bool,
    },
}

/// Follows the calls of one session.
#[derive(Debug, Default)]
struct Follower {
    findings: Vec<(Finding, Row)>,
    /// Files whose content the session has seen.
    seen: FxHashSet<String>,
    /// The words of its commands, and the last part of those that are paths.
    mentioned: FxHashSet<String>,
    /// By file and arguments: the last read since the file was edited.
    reads: FxHashMap<String, FxHashMap<u64, String>>,
    /// By file and text before and after: the edit.
    edits: FxHashMap<(String, u64, u64), String>,
    last_edit: Option<(String, Option<String>, Row)>,
    last_pass: Option<String>,
    /// The finding about the check that fails now.
    broken: Option<usize>,
}

impl Follower {
    fn add(&mut self, row: &Row, id: &str, file: Option<&str>, act: Act) {
        let failed = row.status() == Status::Error;
        match (act, file) {
            (Act::Read { request, bytes }, Some(file)) if !failed => {
                self.add_read(row, id, file, request, bytes);
            }
            (Act::Edit(pieces), Some(file)) if !failed => self.add_edit(row, id, file, &pieces),
            (Act::Command { text, is_check }, _) => self.add_command(row, id, &text, is_check),
            _ => {}
        }
    }

    fn report(&mut self, row: &Row, finding: Finding) {
        self.findings.push((finding, *row));
    }

    fn add_read(&mut self, row: &Row, id: &str, file: &str, request: u64, bytes: u64) {
        self.seen.insert(file.to_string());
        let before = self.reads.entry(file.to_string()).or_default().insert(request, id.to_string());
        if before.is_some() {
            let (id, file) = (id.to_string(), Some(file.to_string()));
            let bytes = Some(bytes);
            self.report(
                row,
                Finding { kind: "repeated_read", id, file, earlier: before, bytes, ..Finding::default() },
            );
        }
    }

    fn add_edit(&mut self, row: &Row, id: &str, file: &str, pieces: &[(Option<u64>, u64)]) {
        let name = file.rsplit('/').next().unwrap_or(file);
        let is_change = pieces.iter().any(|(before, _)| before.is_some());
        let finding = Finding { id: id.to_string(), file: Some(file.to_string()), ..Finding::default() };
        if is_change && !self.seen.contains(file) && !self.mentioned.contains(name) {
            self.report(row, Finding { kind: "blind_edit", ..finding.clone() });
        }
        for (before, after) in pieces.iter().filter_map(|(before, after)| Some(((*before)?, *after))) {
            if let Some(earlier) = self.edits.remove(&(file.to_string(), after, before)) {
                self.report(row, Finding { kind: "taken_back", earlier: Some(earlier), ..finding.clone() });
            }
            self.edits.insert((file.to_string(), before, after), id.to_string());
        }
        self.seen.insert(file.to_string());
        self.reads.remove(file);
        self.last_edit = Some((id.to_string(), Some(file.to_string()), *row));
    }

    fn add_command(&mut self, row: &Row, id: &str, text: &str, is_check: bool) {
        match (is_check, row.status() == Status::Error) {
            (true, true) => self.add_failed_check(text),
            (true, false) => self.add_passed_check(id),
            _ => {}
        }
        let words = text.split(|c: char| c.is_whitespace() || "'\"`()<>|;&,:=/".contains(c));
        self.mentioned.extend(words.filter(|word| word.contains('.')).map(String::from));
    }

    /// A check that passed and fails after an edit was broken by it, until it passes again.
    fn add_failed_check(&mut self, command: &str) {
        if self.broken.is_some() {
            return;
        }
        let (Some(passed), Some((edit, file, at))) = (self.last_pass.take(), self.last_edit.take()) else {
            return;
        };
        self.broken = Some(self.findings.len());
        let (earlier, command) = (Some(passed), Some(command.to_string()));
        self.report(
            &at,
            Finding { kind: "broke_check", id: edit, file, earlier, command, ..Finding::default() },
        );
    }

    fn add_passed_check(&mut self, id: &str) {
        let edit = self.last_edit.take().map(|(id, ..)| id);
        if let Some((finding, _)) = self.broken.take().and_then(|at| self.findings.get_mut(at)) {
            finding.mended_by = edit;
        }
        self.last_pass = Some(id.to_string());
    }
}

/// Finds the rework of the sessions, each session's in order.
pub fn find_rework(context: &SessionContext<'_, '_>) -> Vec<(Finding, Row)> {
    let (mut found, mut follower, mut session) = (Vec::new(), Follower::default(), None);
    for row in context.calls() {
        if session != Some(row.key) {
            found.append(&mut std::mem::take(&mut follower).findings);
            session = Some(row.key);
        }
        let Some(call) = context.read_call(row) else { continue };
        let file = call.file.as_deref().map(|file| context.absolute_path(row, file));
        if let Some(act) = read_act(context.tool(row), &call) {
            follower.add(row, &call.id, file.as_deref(), act);
        }
    }
    found.append(&mut follower.findings);
    found
}

fn read_act(tool: &str, call: &Call) -> Option<Act> {
    let digest = |text: &str| record::event_key(b'r', &[text.as_bytes()]);
    if may_edit(tool) {
        let pieces = read_edits(call).into_iter();
        let pieces = pieces.map(|edit| (edit.before.as_deref().map(digest), digest(&edit.after)));
        return Some(Act::Edit(pieces.collect()));
    }
    if FileAccess::from_tool(tool) == Some(FileAccess::Read) {
        let bytes = call.output.as_ref().map_or(0, |output| output.len() as u64);
        return Some(Act::Read { request: digest(&call.input), bytes });
    }
    let text = is_shell(tool).then(|| history::call_summary::CallSummary::from_call(call).command)??;
    let text = api::terminal_text::one_line(&text);
    Some(Act::Command { is_check: is_check(&text), text })
}

/// The fields of a finding, with those of its session.
pub fn to_record<'f>(
    context: &'f SessionContext<'_, '_>,
    (finding, row): &'f (Finding, Row),
    fields: &[&'f str],
) -> Record<'f> {
    let session = context.session(row);
    let fill = |field: &&'f str| match *field {
        "timestamp" => Cell::Time(row.at),
        "session_id" => Cell::text(&*session.session_id),
        "source" => Cell::text(session.source),
        "project" => Cell::text(&*session.project),
        "turn" => Cell::count(row.turn),
        field => finding.cell(field),
    };
    fields.iter().map(|field| (*field, fill(field))).collect()
}
