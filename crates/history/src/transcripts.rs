//! Lists all readable transcripts: those of the agents, and archived copies of transcripts that agents have deleted.
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

/// Finds the transcripts of the given sources, or of all if `only` is empty. Deleted transcripts that the catalogue
/// knows are not looked up in the archive.
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

/// Skips transcripts of model calls made by Loci itself, in case the client stored one despite the option not to: these
/// are not user sessions. Claude Code names its folders after the working directory, with a dash for every character
/// that is not alphanumeric.
fn leave_out_own(history: &History<'_>, found: &mut Found) {
    let Some(home) = history.home() else { return };
    let nowhere = home.nowhere();
    let filed: String =
        nowhere.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    found.transcripts.retain(|transcript| {
        !transcript.path.components().any(|part| part.as_os_str().to_str() == Some(filed.as_str()))
    });
}

/// The original path of a deleted transcript, and its archived copy.
type Copied = (PathBuf, Transcript);

/// Meta key of the archive fingerprint: a different value means that copies were added or removed.
pub(crate) const REMEMBERED: &str = "archived";

/// Whether the archive is unchanged since the catalogue was written, so that the catalogue knows everything in it. Listing
/// ten thousand copies costs as much as a stat of every transcript; this stats 257 folders.
fn is_remembered(history: &History<'_>, reader: &Reader) -> bool {
    let print = history.home().map(|home| print(&home.archive()));
    print.is_some() && reader.meta(REMEMBERED).is_ok_and(|known| known == print)
}

/// The fingerprint of the archive: names and change times of its folders, independent of their order.
pub fn print(archive: &Path) -> i64 {
    let folders = std::fs::read_dir(archive).into_iter().flatten().flatten();
    let one = |folder: std::fs::DirEntry| {
        let changed = folder.metadata().map_or(0, |meta| Age::of(&meta).changed);
        record::key(b'a', &[folder.file_name().as_encoded_bytes(), &changed.to_le_bytes()])
    };
    folders.map(one).fold(0_u64, u64::wrapping_add) as i64
}

/// Archived copies of the transcripts that the catalogue knows and the agents have deleted.
fn absent(reader: &Reader, store: &Store, found: &Found) -> Option<Vec<Copied>> {
    let absent = Memory::of(reader).ok()?.absent(&found.transcripts);
    let copy = |known: catalogue::Known| {
        let stored = reader.file(known.id).ok()??;
        Some((stored.path.clone(), placed(store, archive::name(&as_live(&stored)?), &stored)?))
    };
    Some(absent.into_iter().filter_map(copy).collect())
}

/// All archived copies whose transcript was not found, from a listing of the archive.
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

/// Sorts by original path. Of two transcripts with the same events and start time, the first in this order is the
/// original, and that must not change when an agent deletes one of them.
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

/// The transcript as its agent stored it.
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

/// The transcript where it can be read now: the agent's file, or the archived copy if that is gone.
pub fn as_readable(history: &History<'_>, stored: &Stored) -> Option<Transcript> {
    let live = as_live(stored)?;
    if !stored.gone {
        return Some(live);
    }
    let path = store(history)?.path_of(&live);
    Some(Transcript { path, ..live })
}

/// An archived copy that the catalogue knows, with the current size and age of its file.
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
