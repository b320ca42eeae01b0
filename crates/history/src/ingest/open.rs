//! Opens catalogue and text index for writing, and replaces damaged ones: an ingest run always has stores to write to.
//!
//! Does not know what is written.

use super::{HEAP, UpdateReport};
use crate::History;
use crate::error::{index_error, store_error};
use crate::home::{self, Home};
use api::Error;
use catalogue::Writer;
use sources::SOURCES;
use std::time::Duration;

pub(super) fn open_catalogue(home: &Home, caught: &mut UpdateReport) -> Result<Writer, Error> {
    let path = home.catalogue();
    if path.is_dir() {
        caught.notes.push("a folder had replaced the catalogue; rebuilding the catalogue".to_string());
        delete_stores(home)?;
    }
    match Writer::open(&path, &source_names()) {
        Err(catalogue::Error::Damaged { error, .. }) => recreate_catalogue(home, &error, caught),
        opened => opened.map_err(store_error),
    }
}

fn source_names() -> Vec<&'static str> {
    SOURCES.iter().map(|source| source.name()).collect()
}

fn recreate_catalogue(
    home: &Home,
    damage: &dyn std::fmt::Display,
    caught: &mut UpdateReport,
) -> Result<Writer, Error> {
    caught.notes.push(damage_note(damage));
    set_aside(home, &home.catalogue())?;
    Writer::open(&home.catalogue(), &source_names()).map_err(store_error)
}

pub(super) fn damage_note(damage: &dyn std::fmt::Display) -> String {
    format!("the catalogue was damaged ({damage}); rebuilding it")
}

pub(super) fn damaged_index_note(files: &str) -> String {
    format!("the text index was damaged ({files}) and is rebuilt")
}

/// Opens the text index. `sequence` is the catalogue's: an index that is ahead of it belongs to another catalogue.
pub(super) fn open_index(
    history: &History<'_>,
    home: &Home,
    sequence: u64,
    caught: &mut UpdateReport,
) -> Result<search::Writer, Error> {
    let folder = home.index();
    // The writer reads existing segments only when it merges them; opening a searcher detects damage now.
    let open = || {
        // The other half of the threads reads, masks and archives. One indexing thread with all the memory produces half
        // as many segments as two with half of it each.
        let index = search::Writer::open(&folder, (history.threads / 2).clamp(1, 2), HEAP)?;
        search::Index::open(&folder).map(|_| index)
    };
    if folder.is_file() {
        remove_path(&folder)?;
    }
    home::create_private_dir(&folder).map_err(|error| home::unwritable(&folder, &error))?;
    let opened = match open() {
        Ok(index) if index.last_sequence() <= sequence => return Ok(index),
        Ok(_) => None, // belongs to another catalogue
        Err(error @ (search::Error::Damaged { .. } | search::Error::Version { .. })) => Some(error),
        Err(error) => return Err(index_error(&error)),
    };
    if let Some(error) = opened {
        caught.notes.push(format!("rebuilding the text index: {error}"));
    }
    remove_path(&folder)?;
    home::create_private_dir(&folder).map_err(|error| home::unwritable(&folder, &error))?;
    open().map_err(|error| index_error(&error))
}

/// Describes the damage if the catalogue's pages are corrupt.
pub(super) fn find_damage(home: &Home) -> Option<String> {
    let reader = catalogue::Reader::open(&home.catalogue(), &[]);
    reader
        .and_then(|reader| reader.map_or(Ok(None), |reader| reader.find_damage()))
        .unwrap_or_else(|error| matches!(error, catalogue::Error::Damaged { .. }).then(|| error.to_string()))
}

/// Renames a damaged file to `.damaged` for inspection, replacing an earlier one.
pub(super) fn set_aside(home: &Home, path: &std::path::Path) -> Result<(), Error> {
    let beside = path.with_extension("damaged");
    remove_path(&beside)?;
    std::fs::rename(path, &beside).map_err(|error| home::unwritable(path, &error))?;
    delete_stores(home)
}

/// Deletes the catalogue and index files if they cannot be emptied in place. The archive stays.
fn delete_stores(home: &Home) -> Result<(), Error> {
    for ending in ["", "-wal", "-shm"] {
        remove_path(&home.stores().join(format!("catalogue.db{ending}")))?;
    }
    remove_path(&home.index())
}

/// Removes a file or a folder: either may be found where the other is expected.
pub(super) fn remove_path(path: &std::path::Path) -> Result<(), Error> {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let once = || if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    let is_filled = |removed: &std::io::Result<()>| {
        removed.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::DirectoryNotEmpty)
    };
    let mut removed = once();
    // The last writer has released the lock, but one of its segment merges may still be running.
    for _ in 0..40 {
        if !is_filled(&removed) {
            break;
        }
        std::thread::sleep(Duration::from_millis(25));
        removed = once();
    }
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(home::unwritable(path, &error)),
        _ => Ok(()),
    }
}
