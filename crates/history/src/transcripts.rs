//! Every transcript there is to read: those of the agents, and from the archive those that their agents have deleted.
//!
//! Does not read them.

use crate::History;
use crate::freshness::{self, Memory};
use catalogue::{Reader, Stored};
use rustc_hash::{FxHashMap, FxHashSet};
use sources::archive::{self, Store};
use sources::walk::Found;
use sources::{Age, SOURCES, Transcript};
use std::path::{Path, PathBuf};

/// Finds the transcripts of the sources named, of all where none is. What the catalogue knows of deleted ones need not
/// be looked up in the archive.
pub fn find(history: &History<'_>, reader: Option<&Reader>, only: &[String]) -> Found {
    let mut found = sources::find(history.places, only);
    leave_out_own(history, &mut found);
    let Some(store) = store(history) else { return found };
    let remembered = reader.filter(|reader| only.is_empty() && is_remembered(history, reader));
    let absent = remembered.and_then(|reader| absent(reader, &store, &found));
    let mut copies = absent.unwrap_or_else(|| listed(&store, reader, &mut found));
    copies.retain(|(_, t)| only.is_empty() || only.iter().any(|name| name == SOURCES[t.source].name()));
    if !copies.is_empty() {
        in_order(&mut found.transcripts, copies);
    }
    found
}

/// A client that kept a transcript of a call of ours in spite of being told not to: it is nobody's conversation. Claude Code
/// files transcripts by the folder they come from, with a dash for whatever is no letter or digit.
fn leave_out_own(history: &History<'_>, found: &mut Found) {
    let Some(home) = history.home() else { return };
    let nowhere = home.nowhere();
    let filed: String =
        nowhere.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    found.transcripts.retain(|transcript| {
        !transcript.path.components().any(|part| part.as_os_str().to_str() == Some(filed.as_str()))
    });
}

/// The copy of a transcript that is gone, with the path that it had.
type Copied = (PathBuf, Transcript);

/// What the archive's folders say of what is in them: another number, and something was kept or removed.
pub(crate) const REMEMBERED: &str = "archived";

/// Whether the archive is as it was when the catalogue was made, so that the catalogue knows everything in it. Listing
/// ten thousand copies costs as much as looking at the transcripts they were made of; this looks at 257 folders.
fn is_remembered(history: &History<'_>, reader: &Reader) -> bool {
    let print = history.home().map(|home| print(&home.archive()));
    print.is_some() && reader.meta(REMEMBERED).is_ok_and(|known| known == print)
}

/// Names and times of the archive's folders, in no order.
pub fn print(archive: &Path) -> i64 {
    let folders = std::fs::read_dir(archive).into_iter().flatten().flatten();
    let one = |folder: std::fs::DirEntry| {
        let changed = folder.metadata().map_or(0, |meta| Age::of(&meta).changed);
        record::key(b'a', &[folder.file_name().as_encoded_bytes(), &changed.to_le_bytes()])
    };
    folders.map(one).fold(0_u64, u64::wrapping_add) as i64
}

/// The copies of those that the catalogue knows and the agents no longer have.
fn absent(reader: &Reader, store: &Store, found: &Found) -> Option<Vec<Copied>> {
    let absent = Memory::of(reader).ok()?.absent(&found.transcripts);
    let copy = |known: catalogue::Known| {
        let stored = reader.file(known.id).ok()??;
        Some((stored.path.clone(), placed(store, archive::name(&as_live(&stored)?), &stored)?))
    };
    Some(absent.into_iter().filter_map(copy).collect())
}

/// Everything that is kept and not among what was found.
fn listed(store: &Store, reader: Option<&Reader>, found: &mut Found) -> Vec<Copied> {
    let names = store.names();
    if names.is_empty() {
        return Vec::new();
    }
    let live: FxHashSet<u128> = found.transcripts.iter().map(archive::name).collect();
    let gone = names.into_iter().filter(|name| !live.contains(name));
    let known = reader.map(known_gone).unwrap_or_default();
    let mut copies = Vec::new();
    for name in gone {
        let stored = known.get(&(name as u64));
        let copy = stored.and_then(|stored| Some((stored.path.clone(), placed(store, name, stored)?)));
        copies.extend(copy.or_else(|| unpacked(store, name, found)));
    }
    copies
}

/// By the path each had: of two that tell the same and began together the first in this order is the original, and
/// that must not change when one is deleted.
fn in_order(transcripts: &mut Vec<Transcript>, copies: Vec<Copied>) {
    let live = std::mem::take(transcripts).into_iter().map(|t| (t.path.clone(), t));
    let mut all: Vec<Copied> = live.chain(copies).collect();
    all.sort_by(|(a, x), (b, y)| (a.as_os_str(), &x.part).cmp(&(b.as_os_str(), &y.part)));
    transcripts.extend(all.into_iter().map(|(_, transcript)| transcript));
}

pub fn store(history: &History<'_>) -> Option<Store> {
    Some(Store::new(history.home()?.archive()))
}

fn known_gone(reader: &Reader) -> FxHashMap<u64, Stored> {
    let gone = reader.gone().unwrap_or_default().into_iter();
    gone.filter_map(|stored| Some((freshness::name_of(&as_live(&stored)?), stored))).collect()
}

/// The transcript as its agent had it.
fn as_live(stored: &Stored) -> Option<Transcript> {
    Some(Transcript {
        source: SOURCES.iter().position(|source| source.name() == stored.source)?,
        path: stored.path.clone(),
        part: stored.part.clone(),
        size: stored.size,
        age: Age { inode: stored.inode, changed: stored.changed },
        hint: stored.hint.clone(),
        group: stored.family.clone(),
    })
}

/// The transcript as it can be read now: where it was, or its copy.
pub fn as_readable(history: &History<'_>, stored: &Stored) -> Option<Transcript> {
    let live = as_live(stored)?;
    if !stored.gone {
        return Some(live);
    }
    let path = store(history)?.path_of(&live);
    Some(Transcript { path, ..live })
}

/// A copy that the catalogue knows: one look at its file says whether it is still the same.
fn placed(store: &Store, name: u128, stored: &Stored) -> Option<Transcript> {
    let path = store.path_named(name);
    let meta = std::fs::metadata(&path).ok()?;
    Some(Transcript { path, size: meta.len(), age: Age::of(&meta), ..as_live(stored)? })
}

fn unpacked(store: &Store, name: u128, found: &mut Found) -> Option<Copied> {
    match store.kept_named(name) {
        Ok(kept) => kept.transcript().map(|transcript| (kept.original, transcript)),
        Err(error) => {
            found.problem(&store.path_named(name), &error);
            None
        }
    }
}
