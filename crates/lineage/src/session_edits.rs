//! Reads the edits that the sessions of a repository made to some of its files.
//!
//! Reads raw text: masked text would not match the files. Nothing of it is shown unmasked. Does not know git.

use api::{Error, ViewRequest};
use history::History;
use history::error::read_error;
use history::scan::{FilesMeant, Part, ScanResult, by_time, scan_part};
use provenance::pool::{Edit, Pool, is_same_file};
use record::{Problem, Row, Status};
use rustc_hash::FxHashMap;
use sources::SurveyOptions;
use sources::edit::{FileEdit, may_edit, names_its_file, read_edits};
use std::path::Path;
use std::sync::Arc;

/// One edit of one file, and the call that made it.
#[derive(Clone, Debug)]
pub struct SessionEdit {
    pub row: Row,
    pub call: String,
    /// Index into [`SessionEdits::sessions`]. The edits of a subagent belong to its session.
    pub session: u32,
    pub edit: FileEdit,
}

/// The edits of a repository's sessions, oldest first.
pub struct SessionEdits {
    pub library: ScanResult,
    pub edits: Vec<SessionEdit>,
    /// ID and source of each session.
    pub sessions: Vec<(Arc<str>, &'static str)>,
    pub problems: Vec<Problem>,
}

impl SessionEdits {
    /// Reads the edits of files with these paths inside the repository, and those of documents, because plans contain code that
    /// somebody else writes down later; of all files if there are no paths.
    pub fn read(history: &History<'_>, root: &Path, paths: &[String]) -> Result<SessionEdits, Error> {
        let request =
            ViewRequest { project: Some(root.to_string_lossy().into_owned()), ..ViewRequest::default() };
        SessionEdits::read_matching(history, &request, paths)
    }

    pub fn read_matching(
        history: &History<'_>,
        request: &ViewRequest,
        paths: &[String],
    ) -> Result<SessionEdits, Error> {
        let calls = SurveyOptions { calls: true, messages: false, fields: false };
        let is_meant = |path: &str| is_same_file(path, paths) || is_document(path);
        let may_concern = |tool: &str| may_edit(tool) && !names_its_file(tool);
        let files = FilesMeant { is_meant: &is_meant, may_concern: &may_concern };
        let part = if paths.is_empty() { Part::All } else { Part::Files(files) };
        let (library, rows) =
            scan_part(history, request, calls.into(), by_time, &part, |library, joined| {
                joined.row.status() != Status::Error && may_edit(library.name(&joined.row))
            })?;
        let mut rows = rows.collect::<Result<Vec<Row>, _>>().map_err(read_error)?;
        // Compressed transcripts can only be read forwards.
        rows.sort_by_key(|row| (row.file, row.start, row.sequence));
        let size = rows.len().div_ceil(history.threads.max(1)).max(1);
        let parts: Vec<ReadPart> = std::thread::scope(|scope| {
            let read = |part| {
                let library = &library;
                scope.spawn(move || read_part(library, part, paths))
            };
            let started: Vec<_> = rows.chunks(size).map(read).collect();
            started.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        let mut found =
            SessionEdits { library, edits: Vec::new(), sessions: Vec::new(), problems: Vec::new() };
        let mut numbers: FxHashMap<(Arc<str>, &'static str), u32> = FxHashMap::default();
        for (edits, problems) in parts {
            found.problems.extend(problems);
            for (row, call, edit) in edits {
                let session = found.library.session(&row);
                let key = (session.session_id.clone(), session.source);
                let session = *numbers.entry(key.clone()).or_insert_with(|| {
                    found.sessions.push(key);
                    found.sessions.len() as u32 - 1
                });
                found.edits.push(SessionEdit { row, call, session, edit });
            }
        }
        found.edits.sort_by(|a, b| by_time(&a.row, &b.row));
        Ok(found)
    }

    pub fn absolute_path(&self, edit: &SessionEdit) -> String {
        self.library.absolute_path(&edit.row, &edit.edit.path)
    }

    /// The edits as a pool; the numbers are those of `edits`.
    pub fn to_pool(&self) -> Pool {
        let mut pool = Pool::default();
        for edit in &self.edits {
            pool.add(Edit {
                session: edit.session,
                at: edit.row.at.0,
                path: &edit.edit.path,
                before: edit.edit.before.as_deref(),
                after: &edit.edit.after,
            });
        }
        pool
    }
}

/// The edits of some calls, each with its row and the ID of its call; and what could not be read.
type ReadPart = (Vec<(Row, String, FileEdit)>, Vec<Problem>);

fn read_part(library: &ScanResult, rows: &[Row], paths: &[String]) -> ReadPart {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for row in rows {
        let transcript = &library.transcripts[row.file as usize];
        // The result says nothing about the edit, and it is often the largest part.
        match sources::fetch_call(transcript, transcript, &Row { end: Row::NO_END, ..*row }) {
            Ok(call) => {
                let edits = read_edits(&call).into_iter();
                let is_meant = |edit: &FileEdit| {
                    paths.is_empty() || is_same_file(&edit.path, paths) || is_document(&edit.path)
                };
                let meant = edits.filter(is_meant);
                found.extend(meant.map(|edit| (*row, call.id.clone(), edit)));
            }
            Err(error) => problems.push(history::scan::read_problem(transcript, &error)),
        }
    }
    (found, problems)
}

fn is_document(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}
