//! Takes sessions out of a copy for good, with every word said in them: what is left is written to a new file that
//! replaces the old one. Also packs a copy again without what was replaced in it.
//!
//! Does not know why a session is to be forgotten, nor how to keep it from being archived again.

use super::entry::{Head, SessionLine};
use super::keep::{Pack, Written};
use super::read::entries;
use super::table::Archive;
use crate::{Error, SOURCES};
use record::Session;
use std::path::{Path, PathBuf};

/// What a `Store::forget` did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub sessions: u32,
    pub entries: u32,
    /// Entries that could not be read and went with the others.
    pub damaged: u32,
    /// Whether nothing was left and the file is gone.
    pub file: bool,
    /// Bytes on disk.
    pub freed: u64,
}

pub(super) fn sessions(path: &Path, drop: &dyn Fn(&Session) -> bool) -> Result<Forgotten, Error> {
    let mut archive = Archive::open(path)?;
    let source = SOURCES.iter().map(|s| s.name()).find(|name| *name == archive.table.header.source);
    let told = std::mem::take(&mut archive.table.closing.sessions);
    let told: Vec<Session> = told.into_iter().map(|line| line.told(source.unwrap_or(""))).collect();
    let dropped: Vec<bool> = told.iter().map(drop).collect();
    let sessions = dropped.iter().filter(|dropped| **dropped).count() as u32;
    if sessions == 0 {
        return Ok(Forgotten::default());
    }
    if sessions as usize == dropped.len() {
        return Ok(Forgotten {
            sessions,
            entries: archive.table.entries,
            file: true,
            ..Forgotten::default()
        });
    }
    let left = told.iter().zip(&dropped).filter(|(_, dropped)| !**dropped);
    archive.table.closing.sessions = left.map(|(session, _)| SessionLine::from(session)).collect();
    if dropped[0] {
        // They are turns of the main session.
        archive.table.closing.abandoned.clear();
    }
    let (all, before) = (archive.table.entries, archive.length);
    let (pack, damaged) = copy(&archive, path.to_path_buf(), &numbers(&dropped))?;
    let entries = all.saturating_sub(pack.entries()).saturating_sub(damaged);
    let after = pack.close(archive.table.header, archive.table.closing)?.publish()?;
    Ok(Forgotten { sessions, entries, damaged, file: false, freed: before.saturating_sub(after) })
}

/// The number each session has once those dropped are gone.
fn numbers(dropped: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0_u32..;
    dropped.iter().map(|dropped| if *dropped { None } else { next.next() }).collect()
}

/// The same copy without what was replaced in it.
pub(super) fn repack(written: &Written) -> Result<Written, Error> {
    let archive = Archive::open(written.path())?;
    let all: Vec<Option<u32>> = (0..archive.table.closing.sessions.len() as u32).map(Some).collect();
    let (pack, _) = copy(&archive, written.target().to_path_buf(), &all)?;
    pack.close(archive.table.header, archive.table.closing)
}

/// Copies the entries whose session has a number, and counts those that cannot be read.
fn copy(archive: &Archive, to: PathBuf, numbers: &[Option<u32>]) -> Result<(Pack, u32), Error> {
    let (mut pack, mut damaged) = (Pack::create(to)?, 0);
    for n in 0..archive.spans.len() {
        let living = archive.living(n);
        let raw = if living > 0 { archive.unpack(n) } else { Ok(Vec::new()) };
        let Ok(raw) = raw else {
            damaged += living;
            continue;
        };
        for (offset, head, record) in entries(&raw) {
            if archive.is_dead(archive.spans[n].raw + offset) {
                continue;
            }
            let Ok(mut head) = serde_json::from_slice::<Head<'_>>(head) else {
                damaged += 1;
                continue;
            };
            if let Some(number) = numbers.get(head.session as usize).copied().flatten() {
                head.session = number;
                pack.add_line(&head, record)?;
            }
        }
    }
    Ok((pack, damaged))
}
