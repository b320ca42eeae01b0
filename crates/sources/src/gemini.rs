//! Gemini CLI: sessions in `~/.gemini/tmp/<project>/chats`, stored in one JSON file per session (0.11, 0.30)
//! or in an event log (0.61), subagents included.
//!
//! The oldest versions name the project's folder by a hash of its path alone: then the project is not known.
//! The version of the client is not known either, because none of them records it.

mod attachment;
mod call;
mod log;
mod parse;

use crate::conversation::{self, Conversation, value};
use crate::lines::{Lines, MAX_LINE, NextPiece};
use crate::walk::{TranscriptList, walk_files};
use crate::{Environment, Error, Source, Survey, Transcript, line_reader};
use log::Log;
use record::{Call, Message, ProblemKind, Row, Session, TitleOrigin};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Gemini;

impl Source for Gemini {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn env_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[("GEMINI_CLI_HOME", "Directory that contains Gemini CLI's .gemini [default: the home directory]")]
    }

    fn default_roots(&self, places: &Environment) -> Vec<PathBuf> {
        places
            .roots_from_var("GEMINI_CLI_HOME", "")
            .into_iter()
            .map(|home| home.join(".gemini/tmp"))
            .collect()
    }

    fn list_transcripts(&self, root: &Path, found: &mut TranscriptList) {
        walk_files(root, found, &mut |path, meta, found| {
            if let Some((group, hint)) = identify_transcript(root, path) {
                found.add_file(path.to_path_buf(), meta, &hint, &group);
            }
        });
    }

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        conversation::survey_conversation(&load_session(transcript)?, survey);
        Ok(())
    }

    fn fetch_call(&self, transcript: &Transcript, _result: &Transcript, row: &Row) -> Result<Call, Error> {
        conversation::fetch_call(transcript, row, load_session)
    }

    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        conversation::fetch_message(transcript, row, load_session)
    }
}

/// A transcript's project folder and the part of its session ID in the file name: `session-<time>-<the first
/// 8>.json[l]` in `<project>/chats`, or a subagent's complete ID one folder further down.
fn identify_transcript(root: &Path, path: &Path) -> Option<(PathBuf, String)> {
    let extension = path.extension()?.to_str()?;
    let stem = path.file_stem()?.to_string_lossy();
    let inside: Vec<_> = path.strip_prefix(root).ok()?.iter().collect();
    let group = root.join(inside.first()?);
    match inside.as_slice() {
        [_, chats, _] if *chats == "chats" && stem.starts_with("session-") => {
            let hint = stem.rsplit('-').next().unwrap_or("").to_string();
            ["json", "jsonl"].contains(&extension).then_some((group, hint))
        }
        [_, chats, _, _] if *chats == "chats" && extension == "jsonl" => Some((group, stem.into_owned())),
        _ => None,
    }
}

/// The parent session, if the transcript is a subagent's.
fn parent_session(path: &Path) -> Option<String> {
    let folder = path.parent()?.file_name()?.to_string_lossy();
    (folder != "chats").then(|| folder.into_owned())
}

fn load_session(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("gemini-cli", &transcript.hint));
    let mut log = Log::default();
    let file = line_reader::open_regular(&transcript.path)?;
    let read = if transcript.path.extension().is_some_and(|e| e == "jsonl") {
        read_log(file, &mut log, &mut conversation)
    } else {
        read_json_file(file, &mut log, &mut conversation)
    };
    read.map_err(|error| Error::Io { path: transcript.path.clone(), error })?;
    describe_session(transcript, &log, &mut conversation.session);
    parse::parse_log(&log, &mut conversation);
    Ok(conversation)
}

fn read_json_file(file: File, log: &mut Log, conversation: &mut Conversation) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    file.take(MAX_LINE as u64 + 1).read_to_end(&mut bytes)?;
    conversation.coverage.bytes += bytes.len() as u64;
    if bytes.len() > MAX_LINE {
        conversation.add_problem(ProblemKind::LineTooLong, format!("more than {MAX_LINE} bytes"));
        return Ok(());
    }
    match value::parse_entry(&bytes, &mut conversation.coverage) {
        Ok(whole @ Value::Object(_)) => log.add_session(whole, conversation),
        Ok(_) => conversation.add_problem(ProblemKind::BadLine, "not an object".to_string()),
        Err(error) => conversation.add_problem(ProblemKind::BadLine, error.to_string()),
    }
    Ok(())
}

fn read_log(file: File, log: &mut Log, conversation: &mut Conversation) -> std::io::Result<()> {
    let mut lines = Lines::new(file);
    loop {
        match lines.next_piece()? {
            NextPiece::End => return Ok(()),
            NextPiece::TooLong(at, length) => {
                conversation.coverage.bytes += length;
                conversation.add_problem(ProblemKind::LineTooLong, format!("{length} bytes at {at}"));
            }
            NextPiece::Piece(piece) => {
                conversation.coverage.bytes += piece.bytes.len() as u64;
                let mut at = piece.offset;
                for line in piece.bytes.split_inclusive(|b| *b == b'\n') {
                    let open = piece.open && !line.ends_with(b"\n");
                    read_line(line, at, open, log, conversation);
                    at += line.len() as u64;
                }
            }
        }
    }
}

fn read_line(line: &[u8], at: u64, open: bool, log: &mut Log, conversation: &mut Conversation) {
    if line.iter().all(u8::is_ascii_whitespace) {
        conversation.coverage.lines += 1;
        conversation.coverage.blank += 1;
        return;
    }
    match value::parse_entry(line, &mut conversation.coverage) {
        Ok(entry) => log.add_line(entry, conversation),
        Err(error) => {
            let kind = if open { ProblemKind::Unfinished } else { ProblemKind::BadLine };
            conversation.add_problem(kind, format!("{} bytes at {at}: {error}", line.len()));
        }
    }
}

fn describe_session(transcript: &Transcript, log: &Log, session: &mut Session) {
    let header = &log.header;
    if let Some(id) = value::optional_text(header, "sessionId") {
        session.session_id = Arc::from(id);
    }
    if let Some(parent) = parent_session(&transcript.path) {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
    session.started_at = value::as_stamp(&header["startTime"]);
    let summary = value::optional_text(header, "summary");
    session.title = summary.map(|summary| (Arc::from(summary), TitleOrigin::Agent));
    let project =
        project_path(&transcript.group).or_else(|| header["directories"][0].as_str().map(str::to_string));
    session.project = Arc::from(project.unwrap_or_default());
    session.cwd = session.project.clone();
}

/// The path of the project that a folder belongs to, from the file inside it or from the list of all projects.
fn project_path(folder: &Path) -> Option<String> {
    let note = read_small_file(&folder.join(".project_root")).filter(|path| !path.trim().is_empty());
    note.map(|path| path.trim().to_string()).or_else(|| listed_project(folder))
}

fn listed_project(folder: &Path) -> Option<String> {
    let list = read_small_file(&folder.parent()?.parent()?.join("projects.json"))?;
    let list: Value = serde_json::from_str(&list).ok()?;
    let slug = folder.file_name()?.to_str()?;
    let mut projects = list["projects"].as_object()?.iter();
    projects.find(|(_, name)| name.as_str() == Some(slug)).map(|(path, _)| path.clone())
}

/// Reads a small file; anything else at that path is treated as missing.
fn read_small_file(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    line_reader::open_regular(path).ok()?.take(1 << 20).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_are_identified_by_folder_and_name() {
        let root = Path::new("/h/.gemini/tmp");
        for (path, hint) in [
            ("p/chats/session-2026-11-14T23-37-a5ea6375.jsonl", Some("a5ea6375")),
            ("p/chats/session-2026-11-14T23-37-a5ea6375.json", Some("a5ea6375")),
            ("p/chats/d0161b49-ae32/480287cb-e2e0.jsonl", Some("480287cb-e2e0")),
            ("p/chats/session-x.txt", None),
            ("p/chats/other.json", None),
            ("p/logs.json", None),
            ("p/session-2026.json", None),
        ] {
            let found = identify_transcript(root, &root.join(path));
            assert_eq!(found.as_ref().map(|(_, h)| h.as_str()), hint, "{path}");
            assert!(found.is_none_or(|(group, _)| group == root.join("p")));
        }
    }
}
