//! Brings the index up to date and reports the result.
//!
//! Does not know how transcripts are indexed: that is `ingest`.

use crate::Service;
use api::maintenance::{Index, Indexed};
use api::{Error, Handle};
use history::error::{homeless, store_error};
use history::home::Home;
use history::{catalogue_cache, ingest};
use std::path::Path;
use std::time::Instant;

impl Handle<Index> for Service {
    fn handle(&self, request: &Index) -> Result<Indexed, Error> {
        index(self, request)
    }
}

fn index(service: &Service, request: &Index) -> Result<Indexed, Error> {
    let started = Instant::now();
    let home = service.home().ok_or_else(homeless)?;
    let caught = ingest::catch_up(&service.history(), request.rebuild)?;
    let mut done = Indexed {
        added: caught.added,
        changed: caught.changed,
        gone: caught.gone,
        bytes_read: caught.bytes,
        problems: caught.problems.iter().filter(|problem| problem.kind.is_loss()).count() as u64,
        notes: caught.notes,
        ..sizes(&home)
    };
    if let Some(reader) = catalogue_cache::open(&service.history()) {
        (done.files, done.sessions, done.events) = reader.totals().map_err(store_error)?;
    }
    done.seconds = started.elapsed().as_secs_f64();
    Ok(done)
}

/// Sizes of Loci's own files.
pub(crate) fn sizes(home: &Home) -> Indexed {
    let database = ["", "-wal"].map(|ending| size(&home.cache.join(format!("catalogue.db{ending}"))));
    Indexed {
        index_bytes: size(&home.index()),
        catalogue_bytes: database.iter().sum(),
        archive_bytes: size(&home.archive()),
        ..Indexed::default()
    }
}

pub(crate) fn size(path: &Path) -> u64 {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}
