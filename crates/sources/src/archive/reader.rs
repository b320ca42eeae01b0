//! Reads an archived copy as if it were a transcript: the survey passes on the stored rows, a fetch
//! decompresses the one frame with the entry, and the next entry is mostly in the same frame.
//!
//! Does not know the agent's format, only its name; nor whether the transcript itself still exists.

use super::copy::Archive;
use super::entry::{CallLine, CoverageLine, MessageLine, RowLine, split_entries};
use super::packed;
use super::table::StoredOutcome;
use crate::{Error, SOURCES, Survey, Transcript};
use record::{Call, Kind, Message, ProblemKind, Row, RowKind, Stamp};
use rustc_hash::{FxHashMap, FxHasher};
use serde::Deserialize;
use std::cell::RefCell;
use std::fs;
use std::hash::Hasher as _;
use std::path::Path;

// ---- the survey

pub fn survey_archive(transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
    let mut archive = Archive::open(&transcript.path)?;
    let closing = std::mem::take(&mut archive.table.closing);
    let sessions = closing.sessions.len() as u32;
    restore_outcome(closing, SOURCES[transcript.source].name(), survey);
    let mut keys = current_keys(&archive);
    for n in (0..archive.spans.len()).filter(|n| archive.live_entries(*n) > 0) {
        let start = archive.spans[n].raw;
        match archive.unpack_frame(n) {
            Ok(raw) => add_rows(&archive, &raw, start, (sessions, &mut keys), survey),
            Err(error) => report_lost(u64::from(archive.live_entries(n)), start, &error.to_string(), survey),
        }
    }
    Ok(())
}

/// Which entry has a key: its kind and key, and the hash of its record.
type Keys = FxHashMap<(u8, u64), u64>;

/// The entries that the transcript still has, if there are others: another state of one of these is an event of its own.
fn current_keys(archive: &Archive) -> Keys {
    let mut keys = Keys::default();
    if archive.table.kept.is_empty() {
        return keys;
    }
    for n in 0..archive.spans.len() {
        // What cannot be read is reported by the survey.
        let Ok(raw) = archive.unpack_frame(n) else { continue };
        for (offset, head, record) in split_entries(&raw) {
            let place = archive.spans[n].raw + offset;
            if !archive.is_replaced(place)
                && !archive.is_kept(place)
                && let Ok(head) = serde_json::from_slice::<RowLine<'_>>(head)
            {
                keys.entry((head.row_kind() as u8, head.key)).or_insert_with(|| hash_record(record));
            }
        }
    }
    keys
}

fn hash_record(record: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(record);
    hasher.finish()
}

/// Restores the result of the original survey besides its rows.
fn restore_outcome(closing: StoredOutcome, source: &'static str, survey: &mut Survey<'_>) {
    let coverage = closing.coverage.into_iter().map(CoverageLine::into_coverage).collect::<Vec<_>>();
    if let Some((version, _)) = coverage.first() {
        // Counted by the original survey: reading a copy adds only its losses.
        survey.set_version(version.as_bytes());
        survey.coverage_mut().files = 0;
    }
    survey.outcome.coverage = coverage;
    survey.outcome.birth = closing.birth.map(Stamp);
    survey.outcome.abandoned = closing.abandoned;
    for session in closing.sessions {
        survey.add_session(session.into_session(source));
    }
}

fn add_rows(
    archive: &Archive,
    raw: &[u8],
    start: u64,
    (sessions, keys): (u32, &mut Keys),
    survey: &mut Survey<'_>,
) {
    for (offset, head, record) in split_entries(raw) {
        let place = start + offset;
        if archive.is_replaced(place) {
            continue;
        }
        match serde_json::from_slice::<RowLine<'_>>(head) {
            Ok(mut head) if head.session < sessions => {
                let hash = hash_record(record);
                let current = *keys.entry((head.row_kind() as u8, head.key)).or_insert(hash);
                // The entries of one reply share a key. Of another entry with a key in use, the same text is the same event; another
                // text is not: devices have received it as a state of its own, without what it was before.
                let is_state = current != hash && (archive.is_kept(place) || !head.is_reply());
                if is_state {
                    head.key = record::event_key(b's', &[&head.key.to_le_bytes(), record]);
                }
                survey.add_archived_row(head.to_row(place), head.name.as_deref());
            }
            Ok(_) => report_lost(1, place, "an entry without a session", survey),
            Err(error) => report_lost(1, place, &error.to_string(), survey),
        }
    }
}

fn report_lost(entries: u64, place: u64, why: &str, survey: &mut Survey<'_>) {
    let coverage = survey.coverage_mut();
    coverage.lines += entries;
    coverage.bad += entries - 1; // the problem counts the last one
    let what =
        if entries == 1 { "1 archived entry".to_string() } else { format!("{entries} archived entries") };
    survey.report_problem(ProblemKind::BadLine, place, &format!("{what} lost: {why}"));
}

// ---- the fetch

pub fn fetch_message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    let mut message: Message = fetch_record::<MessageLine<'_>>(transcript, row, row.start, "message")?.into();
    // A reply whose lines were far apart has several entries, which are joined only here.
    if matches!(row.kind(), Kind::Reply | Kind::ApiError) && row.end != Row::NO_END && row.end > row.start {
        for place in further_positions(transcript, row)? {
            let other: Message = fetch_record::<MessageLine<'_>>(transcript, row, place, "message")?.into();
            join_messages(&mut message, &other);
        }
    }
    Ok(message)
}

fn join_messages(message: &mut Message, other: &Message) {
    if !message.text.is_empty() && !other.text.is_empty() {
        message.text.push('\n');
    }
    message.text.push_str(&other.text);
    message.tool_calls += other.tool_calls;
}

/// The positions of the other entries of a reply, up to its last.
fn further_positions(transcript: &Transcript, row: &Row) -> Result<Vec<u64>, Error> {
    with_archive(&transcript.path, |open| {
        let (first, last) = (open.archive.frame_at(row.start), open.archive.frame_at(row.end));
        let (Some(first), Some(last)) = (first, last) else {
            return Err(moved_error(transcript, "message", row.end));
        };
        let mut places = Vec::new();
        for n in first..=last {
            let start = open.archive.spans[n].raw;
            // The survey has reported the damaged frame, and found nothing in it.
            let Ok(raw) = open.load_frame(n) else { continue };
            let near = split_entries(raw).map(|(offset, head, _)| (start + offset, head));
            for (place, head) in near.filter(|(place, _)| *place > row.start && *place <= row.end) {
                let same = |head: RowLine<'_>| head.id_head() == row.id && is_message(&head);
                if serde_json::from_slice(head).is_ok_and(same) {
                    places.push(place);
                }
            }
        }
        let is_kept = open.archive.is_kept(row.start);
        places.retain(|place| !open.archive.is_replaced(*place) && open.archive.is_kept(*place) == is_kept);
        Ok(places)
    })
}

/// Reads one call. `result` is the transcript that contains its result; often the same, and then the entry
/// has both.
pub fn fetch_call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let mut call: Call = fetch_record::<CallLine<'_>>(transcript, row, row.start, "tool call")?.into();
    let elsewhere = row.end != Row::NO_END && (row.end, &result.path) != (row.start, &transcript.path);
    if elsewhere && super::is_archived(&result.path) {
        fetch_result(result, row, &mut call)?;
    }
    call.status = row.status();
    Ok(call)
}

/// Adds an archived result to a call, if its output was archived; otherwise the call keeps its own values.
pub fn fetch_result(result: &Transcript, row: &Row, call: &mut Call) -> Result<(), Error> {
    let archived: Call = fetch_record::<CallLine<'_>>(result, row, row.end, "tool result")?.into();
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
fn fetch_record<T: for<'a> Deserialize<'a>>(
    transcript: &Transcript,
    row: &Row,
    place: u64,
    what: &'static str,
) -> Result<T, Error> {
    with_archive(&transcript.path, |open| {
        let moved = || moved_error(transcript, what, place);
        let n = open.archive.frame_at(place).ok_or_else(moved)?;
        let offset = (place - open.archive.spans[n].raw) as usize;
        let raw = open.load_frame(n)?;
        // A position from before the file was rewritten can be inside a line.
        let begins = offset == 0 || raw.get(offset - 1) == Some(&b'\n');
        let (_, head, record) = split_entries(&raw[offset..]).next().filter(|_| begins).ok_or_else(moved)?;
        let head: RowLine<'_> = serde_json::from_slice(head).map_err(|_| moved())?;
        if head.id_head() != row.id || is_message(&head) != (row.row == RowKind::Message) {
            return Err(moved());
        }
        serde_json::from_slice(record).map_err(|_| moved())
    })
}

fn is_message(head: &RowLine<'_>) -> bool {
    head.row_kind() == RowKind::Message
}

fn moved_error(transcript: &Transcript, what: &'static str, place: u64) -> Error {
    Error::Moved { path: transcript.path.clone(), what, place }
}

// ---- open archives of a thread

/// Archives a thread keeps open, each with the frame it decompressed last: 2 MB.
const MAX_OPEN_ARCHIVES: usize = 8;
/// A larger frame is one large entry, whose neighbours are not in it.
const LARGE_FRAME: usize = 1024 * 1024;

/// Identity and time of the file or row: another one can replace it at any time.
type FileVersion = (u64, u64, u64, i64);

struct OpenArchive {
    archive: Archive,
    version: FileVersion,
    frame: Option<(usize, Vec<u8>)>,
}

impl OpenArchive {
    fn load_frame(&mut self, n: usize) -> Result<&[u8], Error> {
        let raw = match self.frame.take() {
            Some((kept, raw)) if kept == n => raw,
            _ => self.archive.unpack_frame(n)?,
        };
        Ok(&self.frame.insert((n, raw)).1)
    }
}

thread_local! {
    static OPEN: RefCell<Vec<OpenArchive>> = const { RefCell::new(Vec::new()) };
}

fn file_version(path: &Path) -> Result<FileVersion, Error> {
    let version = |meta: fs::Metadata| {
        let (id, stamp) = (os::files::identity(path, &meta)?, os::files::stamp(&meta));
        Ok((id.device, id.file, meta.len(), stamp.modified))
    };
    match fs::metadata(path).and_then(version) {
        Ok(version) => Ok(version),
        Err(error) => row_version(path)?.ok_or_else(|| super::io_error(path)(error)),
    }
}

/// The version of a small copy, which has no file. No file system has the device 0.
fn row_version(path: &Path) -> Result<Option<FileVersion>, Error> {
    let found = packed::find_version(&super::packed_path(path), super::name_from_path(path))?;
    Ok(found.map(|row| (0, row.id, row.length, row.changed)))
}

fn with_archive<T>(
    path: &Path,
    use_archive: impl FnOnce(&mut OpenArchive) -> Result<T, Error>,
) -> Result<T, Error> {
    let age = file_version(path)?;
    OPEN.with_borrow_mut(|cache| {
        // Compared as bytes, because comparing paths component by component is slow.
        let at = cache.iter().rposition(|open| open.archive.path.as_os_str() == path.as_os_str());
        let known = at.map(|at| cache.remove(at)).filter(|open| open.version == age);
        let mut open = match known {
            Some(open) => open,
            None => OpenArchive { archive: Archive::open(path)?, version: age, frame: None },
        };
        let found = use_archive(&mut open);
        open.frame.take_if(|(_, raw)| raw.len() > LARGE_FRAME);
        if cache.len() == MAX_OPEN_ARCHIVES {
            cache.remove(0);
        }
        cache.push(open);
        found
    })
}
