//! Reads an archived copy as if it were a transcript: the survey passes on the stored rows, a fetch
//! decompresses the one frame with the entry, and the next entry is mostly in the same frame.
//!
//! Does not know the agent's format, only its name; nor whether the transcript itself still exists.

use super::entry::{CallLine, CoverageLine, Head, MessageLine};
use super::table::{Archive, Closing};
use crate::{Error, SOURCES, Survey, Transcript};
use memchr::memchr;
use record::{Call, Kind, Message, ProblemKind, Row, RowKind, Stamp};
use serde::Deserialize;
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Splits decompressed lines into entries: the offset of each, the line of its row and the line of its
/// record.
pub(super) fn entries(raw: &[u8]) -> impl Iterator<Item = (u64, &[u8], &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let head = line(raw, at).filter(|head| !head.is_empty())?;
        let record = line(raw, at + head.len() + 1)?;
        at += head.len() + record.len() + 2;
        Some((start as u64, head, record))
    })
}

fn line(raw: &[u8], at: usize) -> Option<&[u8]> {
    let rest = raw.get(at..)?;
    Some(&rest[..memchr(b'\n', rest)?])
}

// ---- the survey

pub fn survey(transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
    let mut archive = Archive::open(&transcript.path)?;
    let closing = std::mem::take(&mut archive.table.closing);
    let sessions = closing.sessions.len() as u32;
    restore(closing, SOURCES[transcript.source].name(), survey);
    for n in (0..archive.spans.len()).filter(|n| archive.living(*n) > 0) {
        let start = archive.spans[n].raw;
        match archive.unpack(n) {
            Ok(raw) => rows(&archive, &raw, start, sessions, survey),
            Err(error) => lost(u64::from(archive.living(n)), start, &error.to_string(), survey),
        }
    }
    Ok(())
}

/// Restores the result of the original survey besides its rows.
fn restore(closing: Closing, source: &'static str, survey: &mut Survey<'_>) {
    let coverage = closing.coverage.into_iter().map(CoverageLine::told).collect::<Vec<_>>();
    if let Some((version, _)) = coverage.first() {
        // Counted by the original survey: reading a copy adds only its losses.
        survey.version(version.as_bytes());
        survey.coverage().files = 0;
    }
    survey.facts.coverage = coverage;
    survey.facts.birth = closing.birth.map(Stamp);
    survey.facts.abandoned = closing.abandoned;
    for session in closing.sessions {
        survey.add_session(session.told(source));
    }
}

fn rows(archive: &Archive, raw: &[u8], start: u64, sessions: u32, survey: &mut Survey<'_>) {
    for (offset, head, _) in entries(raw) {
        let place = start + offset;
        if archive.is_dead(place) {
            continue;
        }
        match serde_json::from_slice::<Head<'_>>(head) {
            Ok(head) if head.session < sessions => survey.kept(head.row(place), head.name.as_deref()),
            Ok(_) => lost(1, place, "an entry of no session", survey),
            Err(error) => lost(1, place, &error.to_string(), survey),
        }
    }
}

fn lost(entries: u64, place: u64, why: &str, survey: &mut Survey<'_>) {
    let coverage = survey.coverage();
    coverage.lines += entries;
    coverage.bad += entries - 1; // the problem counts the last one
    let what = if entries == 1 { "1 kept entry".to_string() } else { format!("{entries} kept entries") };
    survey.problem(ProblemKind::BadLine, place, &format!("{what} lost: {why}"));
}

// ---- the fetch

pub fn message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    let mut message: Message = fetch::<MessageLine<'_>>(transcript, row, row.place, "message")?.into();
    // A reply whose lines were far apart has several entries, which are joined only here.
    if matches!(row.kind(), Kind::Reply | Kind::ApiError) && row.end != Row::NOWHERE && row.end > row.place {
        for place in further(transcript, row)? {
            let other: Message = fetch::<MessageLine<'_>>(transcript, row, place, "message")?.into();
            join(&mut message, &other);
        }
    }
    Ok(message)
}

fn join(message: &mut Message, other: &Message) {
    if !message.text.is_empty() && !other.text.is_empty() {
        message.text.push('\n');
    }
    message.text.push_str(&other.text);
    message.tool_calls += other.tool_calls;
}

/// The positions of the other entries of a reply, up to its last.
fn further(transcript: &Transcript, row: &Row) -> Result<Vec<u64>, Error> {
    with(&transcript.path, |open| {
        let (first, last) = (open.archive.frame_at(row.place), open.archive.frame_at(row.end));
        let (Some(first), Some(last)) = (first, last) else {
            return Err(moved(transcript, "message", row.end));
        };
        let mut places = Vec::new();
        for n in first..=last {
            let start = open.archive.spans[n].raw;
            // The survey has reported the damaged frame, and found nothing in it.
            let Ok(raw) = open.frame(n) else { continue };
            let near = entries(raw).map(|(offset, head, _)| (start + offset, head));
            for (place, head) in near.filter(|(place, _)| *place > row.place && *place <= row.end) {
                let same = |head: Head<'_>| head.id() == row.id && is_message(&head);
                if serde_json::from_slice(head).is_ok_and(same) {
                    places.push(place);
                }
            }
        }
        places.retain(|place| !open.archive.is_dead(*place));
        Ok(places)
    })
}

/// Reads one call. `result` is the transcript that contains its result; often the same, and then the entry
/// has both.
pub fn call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let mut call: Call = fetch::<CallLine<'_>>(transcript, row, row.place, "tool call")?.into();
    let elsewhere = row.end != Row::NOWHERE && (row.end, &result.path) != (row.place, &transcript.path);
    if elsewhere && super::is_archived(&result.path) {
        outcome(result, row, &mut call)?;
    }
    call.status = row.status();
    Ok(call)
}

/// Adds an archived result to a call, if its output was archived; otherwise the call keeps its own values.
pub fn outcome(result: &Transcript, row: &Row, call: &mut Call) -> Result<(), Error> {
    let archived: Call = fetch::<CallLine<'_>>(result, row, row.end, "tool result")?.into();
    call.status = row.status();
    if archived.output.is_some() {
        call.output = archived.output;
        call.error = archived.error;
        call.exit_code = archived.exit_code;
        call.duration_ms = archived.duration_ms.or(call.duration_ms);
    }
    Ok(())
}

/// The record of the entry at a position, if it still belongs to the row.
fn fetch<T: for<'a> Deserialize<'a>>(
    transcript: &Transcript,
    row: &Row,
    place: u64,
    what: &'static str,
) -> Result<T, Error> {
    with(&transcript.path, |open| {
        let moved = || moved(transcript, what, place);
        let n = open.archive.frame_at(place).ok_or_else(moved)?;
        let offset = (place - open.archive.spans[n].raw) as usize;
        let raw = open.frame(n)?;
        // A position from before the file was rewritten can be inside a line.
        let begins = offset == 0 || raw.get(offset - 1) == Some(&b'\n');
        let (_, head, record) = entries(&raw[offset..]).next().filter(|_| begins).ok_or_else(moved)?;
        let head: Head<'_> = serde_json::from_slice(head).map_err(|_| moved())?;
        if head.id() != row.id || is_message(&head) != (row.row == RowKind::Message) {
            return Err(moved());
        }
        serde_json::from_slice(record).map_err(|_| moved())
    })
}

fn is_message(head: &Head<'_>) -> bool {
    head.row(0).row == RowKind::Message
}

fn moved(transcript: &Transcript, what: &'static str, place: u64) -> Error {
    Error::Moved { path: transcript.path.clone(), what, place }
}

// ---- open archives of a thread

/// Archives a thread keeps open, each with the frame it decompressed last: 2 MB.
const KEPT: usize = 8;
/// A larger frame is one large entry, whose neighbours are not in it.
const LARGE: usize = 1024 * 1024;

/// Identity and time of the file: another one can replace it at any time.
type Age = (u64, u64, u64, i64, i64);

struct Open {
    archive: Archive,
    age: Age,
    frame: Option<(usize, Vec<u8>)>,
}

impl Open {
    fn frame(&mut self, n: usize) -> Result<&[u8], Error> {
        let raw = match self.frame.take() {
            Some((kept, raw)) if kept == n => raw,
            _ => self.archive.unpack(n)?,
        };
        Ok(&self.frame.insert((n, raw)).1)
    }
}

thread_local! {
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}

fn age(path: &Path) -> Result<Age, Error> {
    let meta = fs::metadata(path).map_err(super::failed(path))?;
    Ok((meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

fn with<T>(path: &Path, use_archive: impl FnOnce(&mut Open) -> Result<T, Error>) -> Result<T, Error> {
    let age = age(path)?;
    OPEN.with_borrow_mut(|cache| {
        // Compared as bytes, because comparing paths component by component is slow.
        let at = cache.iter().rposition(|open| open.archive.path.as_os_str() == path.as_os_str());
        let known = at.map(|at| cache.remove(at)).filter(|open| open.age == age);
        let mut open = match known {
            Some(open) => open,
            None => Open { archive: Archive::open(path)?, age, frame: None },
        };
        let found = use_archive(&mut open);
        open.frame.take_if(|(_, raw)| raw.len() > LARGE);
        if cache.len() == KEPT {
            cache.remove(0);
        }
        cache.push(open);
        found
    })
}
