//! Removes sessions from a copy for good, with all their records: writes the rest to a new copy that replaces
//! the old one. Also repacks a copy without its replaced entries.
//!
//! Does not know why a session is forgotten, nor how to keep it from being archived again.

use super::copy::Archive;
use super::entry::{RowLine, SessionLine, split_entries};
use super::frame_writer::{FinishedCopy, FrameWriter, Target};
use crate::{Error, SOURCES};
use record::Session;
use std::path::Path;

/// The outcome of `Store::forget_sessions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    pub sessions: u32,
    pub entries: u32,
    /// Unreadable entries that were removed with the others.
    pub damaged: u32,
    /// Whether no session was left and the copy was removed.
    pub copy_removed: bool,
    /// Bytes freed on disk.
    pub freed: u64,
}

pub(super) fn forget_sessions(
    target: &Target,
    drop: &dyn Fn(&Session) -> bool,
) -> Result<ForgetOutcome, Error> {
    let mut archive = Archive::open(&target.path)?;
    let source = SOURCES.iter().map(|s| s.name()).find(|name| *name == archive.table.header.source);
    let stored = std::mem::take(&mut archive.table.closing.sessions);
    let stored: Vec<Session> =
        stored.into_iter().map(|line| line.into_session(source.unwrap_or(""))).collect();
    let dropped: Vec<bool> = stored.iter().map(drop).collect();
    let sessions = dropped.iter().filter(|dropped| **dropped).count() as u32;
    if sessions == 0 {
        return Ok(ForgetOutcome::default());
    }
    if sessions as usize == dropped.len() {
        return Ok(ForgetOutcome {
            sessions,
            entries: archive.table.entries,
            copy_removed: true,
            ..ForgetOutcome::default()
        });
    }
    let left = stored.iter().zip(&dropped).filter(|(_, dropped)| !**dropped);
    archive.table.closing.sessions = left.map(|(session, _)| SessionLine::from(session)).collect();
    if dropped[0] {
        // Abandoned turns refer to the main session.
        archive.table.closing.abandoned.clear();
    }
    let (all, before) = (archive.table.entries, archive.length);
    let (writer, damaged) = copy_entries(&archive, target, &renumber_sessions(&dropped))?;
    let entries = all.saturating_sub(writer.entry_count()).saturating_sub(damaged);
    let after = writer.finish(archive.table.header, archive.table.closing)?.publish()?;
    Ok(ForgetOutcome { sessions, entries, damaged, copy_removed: false, freed: before.saturating_sub(after) })
}

/// The new index of each session once the dropped ones are gone.
fn renumber_sessions(dropped: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0_u32..;
    dropped.iter().map(|dropped| if *dropped { None } else { next.next() }).collect()
}

/// The same copy without its replaced entries.
pub(super) fn repack_file(file: &Path, target: &Target) -> Result<FinishedCopy, Error> {
    let archive = Archive::open_file(file)?;
    let all: Vec<Option<u32>> = (0..archive.table.closing.sessions.len() as u32).map(Some).collect();
    let (writer, _) = copy_entries(&archive, target, &all)?;
    writer.finish(archive.table.header, archive.table.closing)
}

/// Copies the entries whose session has a new index, and counts unreadable ones.
fn copy_entries(
    archive: &Archive,
    to: &Target,
    numbers: &[Option<u32>],
) -> Result<(FrameWriter, u32), Error> {
    let (mut writer, mut damaged) = (FrameWriter::new(to.clone()), 0);
    for n in 0..archive.spans.len() {
        let living = archive.live_entries(n);
        let raw = if living > 0 { archive.unpack_frame(n) } else { Ok(Vec::new()) };
        let Ok(raw) = raw else {
            damaged += living;
            continue;
        };
        for (offset, head, record) in split_entries(&raw) {
            if archive.is_replaced(archive.spans[n].raw + offset) {
                continue;
            }
            let Ok(mut head) = serde_json::from_slice::<RowLine<'_>>(head) else {
                damaged += 1;
                continue;
            };
            if let Some(number) = numbers.get(head.session as usize).copied().flatten() {
                head.session = number;
                writer.add_line(&head, record)?;
                if archive.is_kept(archive.spans[n].raw + offset) {
                    writer.mark_last_kept();
                }
            }
        }
    }
    Ok((writer, damaged))
}
