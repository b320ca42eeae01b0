//! Lists all readable transcripts: those of the agents, and archived copies of transcripts that agents have deleted.
//!
//! Does not read them.

use crate::History;
use crate::freshness::{self, KnownFiles};
use catalogue::{Reader, StoredFile};
use record::{Problem, ProblemKind};
use rustc_hash::{FxHashMap, FxHashSet};
use sources::archive::{self, Store};
use sources::walk::TranscriptList;
use sources::{SOURCES, Transcript};
use std::path::PathBuf;

/// Finds the transcripts of the given sources, or of all if `only` is empty. Deleted transcripts that the catalogue
/// knows are not looked up in the archive. An archived copy that was lost since the last update is a problem of the list.
pub fn find_transcripts(history: &History<'_>, reader: Option<&Reader>, only: &[String]) -> TranscriptList {
    let (mut found, changed) = list_readable(history, reader, only);
    if let Some(store) = changed {
        add_lost_copies(&store, only, &mut found);
    }
    found
}

/// The list as of now: copies are compared with it only if the archive is another one than the last update left.
fn add_lost_copies(store: &Store, only: &[String], found: &mut TranscriptList) {
    let lost = match store.lost_copies() {
        Ok(lost) => lost,
        Err(error) => return found.add_problem(store.folder(), &error),
    };
    if lost.is_empty() {
        return;
    }
    let live = found.transcripts.iter().filter(|transcript| !freshness::is_archived_copy(transcript));
    let live: FxHashSet<u128> = live.map(archive::transcript_name).collect();
    let is_of_source = |source: &String| only.is_empty() || only.contains(source);
    for copy in lost.iter().filter(|copy| !live.contains(&copy.name) && is_of_source(&copy.source)) {
        let note = format!("an archived copy of session {} is lost", copy.session_id);
        let (kind, file) = (ProblemKind::Unreadable, store.path_by_name(copy.name));
        found.problems.push(Problem { kind, file, offset: 0, note });
    }
}

/// The same without what was lost.
pub(crate) fn find_readable(
    history: &History<'_>,
    reader: Option<&Reader>,
    only: &[String],
) -> TranscriptList {
    list_readable(history, reader, only).0
}

/// The transcripts, and the archive if it is another one than the last update left.
fn list_readable(
    history: &History<'_>,
    reader: Option<&Reader>,
    only: &[String],
) -> (TranscriptList, Option<Store>) {
    let read = || sources::find_transcripts(history.places, only);
    let mut found = match history.watched.filter(|_| only.is_empty()) {
        Some(watched) => watched.get_or_read(read),
        None => read(),
    };
    exclude_own_calls(history, &mut found);
    let Some(store) = archive_store(history) else { return (found, None) };
    let remembered = reader.filter(|reader| is_archive_unchanged(&store, reader));
    let is_unchanged = remembered.is_some();
    let remembered = remembered.filter(|_| only.is_empty());
    let absent = remembered.and_then(|reader| archived_copies(reader, &store, &found));
    let mut copies = absent.unwrap_or_else(|| list_archive(&store, reader, &mut found));
    copies.retain(|(_, t)| only.is_empty() || only.iter().any(|name| name == SOURCES[t.source].name()));
    if !copies.is_empty() {
        sort_by_original_path(&mut found.transcripts, copies);
    }
    found.transcripts.extend_from_slice(history.also);
    (found, (!is_unchanged).then_some(store))
}

/// Skips transcripts of model calls made by Loci itself, in case the client stored one despite the option not to: these
/// are not user sessions. Claude Code names its folders after the working directory, with a dash for every character
/// that is not alphanumeric.
fn exclude_own_calls(history: &History<'_>, found: &mut TranscriptList) {
    let Some(home) = history.home() else { return };
    let nowhere = home.empty_dir();
    let filed: String =
        nowhere.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    found.transcripts.retain(|transcript| {
        !transcript.path.components().any(|part| part.as_os_str().to_str() == Some(filed.as_str()))
    });
}

/// The original path of a deleted transcript, and its archived copy.
type ArchivedCopy = (PathBuf, Transcript);

/// Meta key of the archive fingerprint: a different value means that copies were added or removed.
pub(crate) const ARCHIVE_FINGERPRINT: &str = "archived";

/// Whether the archive is unchanged since the catalogue was written, so that the catalogue knows everything in it. Listing
/// ten thousand copies costs as much as a stat of every transcript; this stats 257 folders and reads one number.
fn is_archive_unchanged(store: &Store, reader: &Reader) -> bool {
    reader.meta_value(ARCHIVE_FINGERPRINT).is_ok_and(|known| known == Some(store.fingerprint()))
}

/// Archived copies of the transcripts that the catalogue knows and the agents have deleted.
fn archived_copies(reader: &Reader, store: &Store, found: &TranscriptList) -> Option<Vec<ArchivedCopy>> {
    let absent = KnownFiles::load(reader).ok()?.find_absent(&found.transcripts);
    let copy = |known: catalogue::KnownFile| {
        let stored = reader.file_by_id(known.id).ok()??;
        Some((stored.path.clone(), locate_copy(store, copy_name(&stored)?, &stored)?))
    };
    Some(absent.into_iter().filter_map(copy).collect())
}

/// All archived copies whose transcript was not found, from a listing of the archive.
fn list_archive(store: &Store, reader: Option<&Reader>, found: &mut TranscriptList) -> Vec<ArchivedCopy> {
    let names = store.all_names();
    if names.is_empty() {
        return Vec::new();
    }
    let live: FxHashSet<u128> = found.transcripts.iter().map(archive::transcript_name).collect();
    let gone = names.into_iter().filter(|name| !live.contains(name));
    let known = reader.map(known_gone).unwrap_or_default();
    let mut copies = Vec::new();
    for name in gone {
        let stored = known.get(&(name as u64));
        let copy = stored.and_then(|stored| Some((stored.path.clone(), locate_copy(store, name, stored)?)));
        copies.extend(copy.or_else(|| open_copy(store, name, found)));
    }
    copies
}

/// Sorts by original path. Of two transcripts with the same events and start time, the first in this order is the
/// original, and that must not change when an agent deletes one of them.
fn sort_by_original_path(transcripts: &mut Vec<Transcript>, copies: Vec<ArchivedCopy>) {
    let live = std::mem::take(transcripts).into_iter().map(|t| (t.path.clone(), t));
    let mut all: Vec<ArchivedCopy> = live.chain(copies).collect();
    all.sort_by(|(a, x), (b, y)| (a.as_os_str(), &x.part).cmp(&(b.as_os_str(), &y.part)));
    transcripts.extend(all.into_iter().map(|(_, transcript)| transcript));
}

/// The number of archived copies, or what is wrong with the first one that cannot be read, and the command that helps. None: there is
/// no archive.
pub fn check_archive(history: &History<'_>) -> Option<Result<u64, (String, &'static str)>> {
    let store = archive_store(history)?;
    let (copies, problems) = store.check_copies();
    let Some(first) = problems.first() else { return Some(Ok(copies)) };
    // Rebuilding does not touch what a newer Loci has written.
    let next = if store.is_newer(&first.file) { "loci update --check" } else { "loci index --rebuild" };
    Some(Err((format!("{}: {}", first.file.display(), first.note), next)))
}

/// The archived copies of transcripts that have lost entries.
pub fn copies_with_more(
    history: &History<'_>,
    transcripts: &[&Transcript],
) -> Vec<archive::ArchivedTranscript> {
    let Some(store) = archive_store(history) else { return Vec::new() };
    let live = transcripts.iter().filter(|transcript| !freshness::is_archived_copy(transcript));
    // A copy that cannot be read is reported by the update and by `doctor`.
    let copies = live.filter_map(|transcript| store.find_copy(transcript).ok().flatten());
    copies.filter(|copy| copy.kept > 0).collect()
}

pub fn archive_store(history: &History<'_>) -> Option<Store> {
    Some(Store::new(history.home()?.archive()))
}

fn known_gone(reader: &Reader) -> FxHashMap<u64, StoredFile> {
    let gone = reader.deleted_files().unwrap_or_default().into_iter();
    gone.filter_map(|stored| Some((copy_name(&stored)? as u64, stored))).collect()
}

/// The name of the archived copy of a transcript.
fn copy_name(stored: &StoredFile) -> Option<u128> {
    let name = archive::transcript_name(&as_live(stored)?);
    Some(archive::name_of_origin(name, stored.origin.as_deref()))
}

/// The transcript as its agent stored it.
fn as_live(stored: &StoredFile) -> Option<Transcript> {
    Some(Transcript {
        source: SOURCES.iter().position(|source| source.name() == stored.source)?,
        path: stored.path.clone(),
        part: stored.part.clone(),
        size: stored.size,
        file_stamp: freshness::stamp_of(stored),
        hint: stored.hint.as_str().into(),
        group: stored.family.as_path().into(),
    })
}

/// The transcript where it can be read now: the agent's file, or the archived copy if that is gone.
pub fn as_readable(history: &History<'_>, stored: &StoredFile) -> Option<Transcript> {
    let live = as_live(stored)?;
    if !stored.gone {
        return Some(live);
    }
    let path = archive_store(history)?.path_by_name(copy_name(stored)?);
    Some(Transcript { path, ..live })
}

/// An archived copy that the catalogue knows, with its current size and age.
fn locate_copy(store: &Store, name: u128, stored: &StoredFile) -> Option<Transcript> {
    let (size, file_stamp) = store.stat_copy(name)?;
    Some(Transcript { path: store.path_by_name(name), size, file_stamp, ..as_live(stored)? })
}

fn open_copy(store: &Store, name: u128, found: &mut TranscriptList) -> Option<ArchivedCopy> {
    match store.find_by_name(name) {
        Ok(kept) => kept.to_transcript().map(|transcript| (kept.original, transcript)),
        Err(error) => {
            found.add_problem(&store.path_by_name(name), &error);
            None
        }
    }
}
