//! Sums up a session for whoever continues it: the task in the person's words, the files it edited, the last failure that was not
//! mended.
//!
//! Does not interpret the text, and does not know memory.

use crate::session_context::{is_check, is_shell};
use api::about::{HandoffMade, RECEIVERS};
use api::operation::shell_quote;
use api::search::stamp_to_ms;
use api::terminal_text::one_line;
use api::why::CheckRun;
use api::{Code, Error, ViewRequest};
use history::History;
use history::error::read_error;
use history::scan::{ScanResult, by_session, is_warm_up, scan_rows};
use record::row::{SIDECHAIN, USAGE_ONLY};
use record::{Kind, Row, RowKind, Status};
use sources::SurveyOptions;
use sources::edit::{may_edit, read_edits};
use std::path::Path;

/// Characters of a prompt, a reply and an error; prompts and files that are listed.
const MAX_TEXT: usize = 1_500;
const MAX_PROMPTS: usize = 4;
const MAX_FILES: usize = 20;
const MAX_ERROR: usize = 600;

/// Sums up the session with this ID or prefix.
pub fn sum_up(history: &History<'_>, session: &str) -> Result<HandoffMade, Error> {
    let request = ViewRequest { session: Some(session.to_string()), ..ViewRequest::default() };
    let (library, rows) = scan_rows(history, &request, SurveyOptions::ALL, by_session, |_, joined| {
        !is_warm_up(&joined.row) && !joined.row.has_flag(USAGE_ONLY)
    })?;
    let rows = rows.collect::<Result<Vec<Row>, _>>().map_err(read_error)?;
    let Some(last) = rows.iter().max_by_key(|row| row.at) else {
        return Err(Error::new(Code::SessionNotFound, format!("session `{session}` has no messages")));
    };
    let owner = library.session(rows.iter().find(|row| !row.has_flag(SIDECHAIN)).unwrap_or(last));
    let texts = Texts { history, library: &library, rows: &rows };
    let (failed, error) = texts.last_failure().unzip();
    let mut prompts = texts.prompts();
    let task = if prompts.is_empty() { String::new() } else { prompts.remove(0) };
    let recent = prompts.split_off(prompts.len().saturating_sub(MAX_PROMPTS));
    Ok(HandoffMade {
        session_id: owner.session_id.to_string(),
        source: owner.source.to_string(),
        project: owner.project.to_string(),
        ended_at: stamp_to_ms(last.at),
        task,
        prompts: recent,
        files: texts.edited_files(&owner.cwd),
        failed,
        error: error.unwrap_or_default(),
        last_reply: texts.last_reply(),
        ..HandoffMade::default()
    })
}

struct Texts<'t, 'h> {
    history: &'t History<'h>,
    library: &'t ScanResult,
    rows: &'t [Row],
}

impl Texts<'_, '_> {
    fn messages(&self, kind: Kind) -> impl DoubleEndedIterator<Item = String> {
        let meant =
            move |row: &&Row| row.row == RowKind::Message && row.kind() == kind && !row.has_flag(SIDECHAIN);
        let read = |row: &Row| self.history.read_message(self.library, row).ok().map(|message| message.text);
        let texts = self.rows.iter().filter(meant).filter_map(read);
        texts.filter(|text| !text.trim().is_empty()).map(|text| cut(text.trim(), MAX_TEXT))
    }

    fn prompts(&self) -> Vec<String> {
        self.messages(Kind::Prompt).collect()
    }

    fn last_reply(&self) -> String {
        self.messages(Kind::Reply).next_back().unwrap_or_default()
    }

    fn edited_files(&self, cwd: &str) -> Vec<String> {
        let is_edit = |row: &&Row| {
            row.row == RowKind::Call && row.status() != Status::Error && may_edit(self.library.name(row))
        };
        let mut files: Vec<String> = Vec::new();
        for row in self.rows.iter().filter(is_edit) {
            let Ok(call) = self.history.read_call(self.library, row) else { continue };
            for edit in read_edits(&call) {
                let inside = Path::new(&edit.path)
                    .strip_prefix(cwd)
                    .ok()
                    .map(|path| path.to_string_lossy().into_owned());
                let file = inside.unwrap_or(edit.path);
                files.retain(|known| *known != file);
                files.push(file);
            }
        }
        files.split_off(files.len().saturating_sub(MAX_FILES))
    }

    /// The last build or test, if it failed, and the end of what it said.
    fn last_failure(&self) -> Option<(CheckRun, String)> {
        let mut shell =
            self.rows.iter().rev().filter(|row| row.row == RowKind::Call && is_shell(self.library.name(row)));
        let (row, command) = shell.find_map(|row| {
            let command = self.history.read_call_summary(self.library, row).ok()?.command?;
            is_check(&command).then_some((row, command))
        })?;
        if row.status() != Status::Error {
            return None;
        }
        let error =
            self.history.read_call(self.library, row).ok().and_then(|call| call.error).unwrap_or_default();
        let error = error.trim();
        let tail = &error[error.ceil_char_boundary(error.len().saturating_sub(MAX_ERROR))..];
        Some((CheckRun { command: one_line(&command), status: "error".to_string() }, tail.to_string()))
    }
}

/// The command that starts the receiver with what the handoff says, or resumes the session in its own agent.
pub fn continue_command(made: &HandoffMade, to: Option<&str>) -> Option<String> {
    let Some((_, start)) = RECEIVERS.iter().find(|(name, _)| Some(*name) == to) else {
        return api::resume_command(&made.source, &made.project, &made.session_id);
    };
    let prefix = api::terminal_text::short_id(&made.session_id);
    let start = format!("{start} \"$(loci handoff {prefix})\"");
    let is_placed = !made.project.is_empty();
    Some(if is_placed { format!("cd {} && {start}", shell_quote(&made.project)) } else { start })
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_string();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}

/// What a session that lost its context gets back, in the person's own words: task, last prompts, files, the failure that is open.
/// Each line is cut to its share of the bytes.
pub fn brief_lines(made: &HandoffMade, most: usize) -> Vec<String> {
    let line = |label: &str, text: &str, share: usize| {
        (!text.is_empty()).then(|| format!("{label}: {}", cut(&one_line(text), most * share / 100)))
    };
    // Not what the tool printed: nobody asked for this text, and a tool can print anything.
    let failed = made.failed.as_ref().map(|run| format!("`{}`", run.command));
    let decided: Vec<&str> = made.decisions.iter().map(|fact| fact.text.as_str()).collect();
    let open: Vec<&str> = made.open.iter().map(|fact| fact.text.as_str()).collect();
    [
        line("task", &made.task, 25),
        line("last asked", made.prompts.last().map_or("", String::as_str), 20),
        line("decided", &decided.join("; "), 15),
        line("open", &open.join("; "), 10),
        line("files edited", &made.files.join(", "), 12),
        line("last check failed", &failed.unwrap_or_default(), 12),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_fits_and_leaves_out_what_is_missing() {
        let made = HandoffMade {
            task: "x ".repeat(4000),
            files: vec!["a.rs".to_string()],
            prompts: vec!["and the tests".to_string()],
            ..HandoffMade::default()
        };
        let lines = brief_lines(&made, 1000);
        assert!(lines.join("\n").len() <= 1000);
        assert!(lines[0].starts_with("task: x x") && lines[0].ends_with('…'));
        assert_eq!(lines[1..], ["last asked: and the tests", "files edited: a.rs"]);
    }
}
