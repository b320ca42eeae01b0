//! Opens an index for reading: one commit, unaffected by later writes.
//!
//! Does not know how conversations are ranked.

use crate::chats::Chats;
use crate::error::Error;
use crate::schema::{self, Fields};
use crate::writer::{self, CommitStamp};
use std::path::{Path, PathBuf};
use tantivy::directory::MmapDirectory;
use tantivy::index::SegmentComponent;
use tantivy::{Segment, SegmentReader};

/// Between reading the metadata of a commit and opening it, the writer may have committed again and removed a file.
const MAX_TRIES: usize = 5;

/// Opens a segment with its positions. The engine takes a missing positions file for a segment without positions and
/// fails at the first phrase instead; a rebuild that deletes the files meanwhile must make opening fail.
fn open_segment(segment: &Segment) -> tantivy::Result<SegmentReader> {
    let reader = SegmentReader::open(segment)?;
    segment.open_read(SegmentComponent::Positions)?;
    Ok(reader)
}

/// A reader of the commit that was current when it was opened.
pub struct Index {
    folder: PathBuf,
    engine: tantivy::Index,
    pub(crate) fields: Fields,
    pub(crate) segments: Vec<SegmentReader>,
    pub(crate) chats: Chats,
    pub(crate) stamp: CommitStamp,
}

impl Index {
    /// `None` if there is no index yet. Takes no lock and writes nothing, so a read-only folder is sufficient.
    pub fn open(folder: &Path) -> Result<Option<Index>, Error> {
        let mut last = None;
        for _ in 0..MAX_TRIES {
            match Index::try_open(folder) {
                Err(error @ Error::Damaged { .. }) => last = Some(error),
                done => return done,
            }
        }
        last.map_or(Ok(None), Err)
    }

    fn try_open(folder: &Path) -> Result<Option<Index>, Error> {
        let failed = |error| Error::from_engine(folder, &error);
        if !folder.join("meta.json").exists() {
            return Ok(None);
        }
        writer::check_not_newer(folder)?;
        let directory = MmapDirectory::open(folder).map_err(|error| failed(error.into()))?;
        let engine = tantivy::Index::open(directory).map_err(failed)?;
        let metas = engine.load_metas().map_err(failed)?;
        let stamp = writer::read_stamp(folder, &metas)?;
        let (wanted, fields) = schema::build_schema();
        if engine.schema() != wanted {
            return Err(Error::Version { path: folder.to_owned() });
        }
        if stamp.number == 0 {
            return Ok(None);
        }
        let segments = metas.segments.into_iter().map(|meta| open_segment(&engine.segment(meta)));
        let segments = segments.collect::<Result<_, _>>().map_err(failed)?;
        let chats = Chats::read(folder, stamp.number)?;
        Ok(Some(Index { folder: folder.to_owned(), engine, fields, segments, chats, stamp }))
    }

    /// The caller's sequence number of this commit.
    pub fn last_sequence(&self) -> u64 {
        self.stamp.sequence
    }

    /// The number of messages.
    pub fn len(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.num_docs())).sum()
    }

    /// The number of messages that contain a term; a message with several parts may count for each.
    pub fn frequency(&self, term: &str) -> u64 {
        let each = self.segments.iter().flat_map(|segment| {
            self.fields.parts.map(|field| {
                let found = segment.inverted_index(field).ok()?.terms().get(term).ok()??;
                Some(u64::from(found.doc_freq))
            })
        });
        each.flatten().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads every byte and compares checksums; returns the names of damaged files.
    pub fn verify_checksums(&self) -> Result<Vec<String>, Error> {
        let damaged = self.engine.validate_checksum().map_err(|error| self.engine_error(&error))?;
        let mut names: Vec<String> = damaged.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    pub(crate) fn engine_error(&self, error: &tantivy::TantivyError) -> Error {
        Error::from_engine(&self.folder, error)
    }
}
