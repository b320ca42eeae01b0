//! Moves small copies of earlier versions, which wrote a file for each, into the database.
//!
//! A file is removed only after its row is on the disk; until then the file counts. Does not touch files that are
//! damaged or of a newer version.

use super::copy::Archive;
use super::frame_writer::{FRAME_SIZE, sync_directory};
use super::packed_form;
use super::table::Frame;
use super::{Store, io_error, is_archived, name_from_path};
use crate::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Copies per transaction.
const BATCH: usize = 512;

pub(super) fn pack_small_files(store: &Store) -> Result<u64, Error> {
    if !store.dir.exists() || store.packed.is_migrated()? {
        return Ok(0);
    }
    let mut moved = 0;
    for folder in fs::read_dir(&store.dir).map_err(io_error(&store.dir))?.flatten() {
        let files = fs::read_dir(folder.path()).into_iter().flatten().flatten().map(|file| file.path());
        let small: Vec<PathBuf> = files.filter(|path| is_archived(path)).collect();
        for batch in small.chunks(BATCH) {
            moved += pack_batch(store, batch)?;
        }
    }
    store.packed.set_migrated()?;
    Ok(moved)
}

fn pack_batch(store: &Store, paths: &[PathBuf]) -> Result<u64, Error> {
    store.begin_batch();
    let packed = pack_files(store, paths);
    let packed = match packed {
        Ok(packed) => packed,
        Err(error) => {
            store.roll_back_batch();
            return Err(error);
        }
    };
    store.commit_batch()?;
    for path in &packed {
        fs::remove_file(path).map_err(io_error(path))?;
    }
    packed.first().map_or(Ok(()), |path| sync_directory(path))?;
    Ok(packed.len() as u64)
}

/// Writes the rows, and returns the paths of the files that are no longer needed.
fn pack_files<'p>(store: &Store, paths: &'p [PathBuf]) -> Result<Vec<&'p Path>, Error> {
    let mut packed = Vec::new();
    for path in paths {
        if let Some(bytes) = to_packed_form(path) {
            store.packed.put(name_from_path(path), &bytes)?;
            packed.push(path.as_path());
        }
    }
    Ok(packed)
}

/// The copy in the form of a row. None: it is too large, or not intact.
fn to_packed_form(path: &Path) -> Option<Vec<u8>> {
    let is_small = |archive: &Archive| archive.spans.len() <= 1 && archive.raw_length() < FRAME_SIZE as u64;
    let mut archive = Archive::open_file(path).ok().filter(is_small)?;
    let lines = if archive.spans.is_empty() { Vec::new() } else { archive.unpack_frame(0).ok()? };
    let marks = archive.read_index().ok()?;
    archive.table.frames = packed_form::frames_of(&lines, marks.len() as u32);
    archive.table.index = Frame::default();
    // Another version may have written rows that this one cannot parse.
    let is_same = packed_form::index_of(&lines, &archive.table.dead, &archive.table.kept)
        .is_some_and(|index| index == marks);
    if is_same { packed_form::encode(name_from_path(path), &lines, &archive.table).ok() } else { None }
}
