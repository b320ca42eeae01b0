//! Adds messages to the index, removes them, and commits.
//!
//! Does not know how messages are ranked: that is decided at search time.

use crate::chats::{self, ChatLengths};
use crate::error::Error;
use crate::merge::BoundedMergePolicy;
use crate::schema::{self, Fields, Part, VERSION};
use std::fs;
use std::path::{Path, PathBuf};
use tantivy::directory::MmapDirectory;
use tantivy::index::SegmentId;
use tantivy::indexer::IndexWriterOptions;
use tantivy::{IndexMeta, IndexSettings, IndexWriter, SegmentMeta, TantivyDocument, TantivyError, Term};

/// The minimum heap per thread that the engine accepts.
const MIN_HEAP: usize = 16 << 20;

/// A message, tool call or title to be indexed.
#[derive(Clone, Copy, Debug)]
pub struct Doc<'a> {
    /// The file it was read from: the unit that is dropped when a transcript changes.
    pub file: u32,
    pub chat: u32,
    /// The caller's ID, returned with a hit.
    pub event: u64,
    /// Its position in its chat: neighbours differ by one. It must not depend on what was indexed before, or the ranking would.
    pub turn: u64,
    pub part: Part,
    /// Milliseconds.
    pub at: i64,
    pub text: &'a str,
}

/// The metadata of a commit: the version that wrote it, the caller's sequence number, and the number of its chats file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CommitStamp {
    pub(crate) sequence: u64,
    pub(crate) number: u64,
    pub(crate) plain: bool,
}

impl CommitStamp {
    fn to_payload(self) -> String {
        format!("{VERSION} {} {} {}", self.sequence, self.number, u8::from(self.plain))
    }

    /// An error if it was written by another version.
    fn parse(folder: &Path, payload: &str) -> Result<CommitStamp, Error> {
        let mut words = payload.split(' ').map(|word| word.parse::<u64>().ok());
        let mut next = || words.next().flatten().ok_or_else(|| Error::Version { path: folder.to_owned() });
        if next()? != u64::from(VERSION) {
            return Err(Error::Version { path: folder.to_owned() });
        }
        Ok(CommitStamp { sequence: next()?, number: next()?, plain: next()? == 1 })
    }
}

/// The only writer. Readers are not affected, and see a commit when they are opened after it.
pub struct Writer {
    folder: PathBuf,
    fields: Fields,
    engine: IndexWriter,
    tallies: ChatLengths,
    stamp: CommitStamp,
    /// Deletions since the last commit.
    pending_deletes: usize,
}

impl Writer {
    /// Opens the index in a folder, or creates one. `Error::Damaged` and `Error::Version` require a rebuild: empty the
    /// folder and index everything again. `Error::Newer` means that this version must not touch it.
    pub fn open(folder: &Path, threads: usize, heap_bytes: usize) -> Result<Writer, Error> {
        Writer::open_or_create(folder, threads, heap_bytes, false)
    }

    /// An index without stemming, to measure its effect.
    #[doc(hidden)]
    pub fn open_plain(folder: &Path) -> Result<Writer, Error> {
        Writer::open_or_create(folder, 1, MIN_HEAP, true)
    }

    fn open_or_create(
        folder: &Path,
        threads: usize,
        heap_bytes: usize,
        plain: bool,
    ) -> Result<Writer, Error> {
        let failed = |error: TantivyError| Error::from_engine(folder, &error);
        check_not_newer(folder)?;
        fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        let (wanted, fields) = schema::build_schema();
        let directory = MmapDirectory::open(folder).map_err(|error| failed(error.into()))?;
        let exists = tantivy::Index::exists(&directory).map_err(|error| failed(error.into()))?;
        let index = if exists {
            tantivy::Index::open(directory)
        } else {
            tantivy::Index::create(directory, wanted.clone(), IndexSettings::default())
        };
        let index = index.map_err(failed)?;
        let metas = index.load_metas().map_err(failed)?;
        let stamp = if exists {
            read_stamp(folder, &metas)?
        } else {
            CommitStamp { plain, ..CommitStamp::default() }
        };
        if index.schema() != wanted {
            return Err(Error::Version { path: folder.to_owned() });
        }
        schema::register_tokenizer(&index, stamp.plain);
        let tallies =
            if stamp.number == 0 { ChatLengths::default() } else { ChatLengths::read(folder, stamp.number)? };
        let engine = index.writer_with_options(writer_options(threads, heap_bytes)).map_err(failed)?;
        engine.set_merge_policy(Box::new(BoundedMergePolicy));
        // A writer that was killed while it committed may have left a deletion file whose name the next commit needs.
        engine.garbage_collect_files().wait().map_err(failed)?;
        skip_committed_stamp(&engine).map_err(failed)?;
        remove_drafts(folder);
        Ok(Writer { folder: folder.to_owned(), fields, engine, tallies, stamp, pending_deletes: 0 })
    }

    pub fn add(&mut self, doc: &Doc) -> Result<(), Error> {
        self.tallies.add_message(doc.chat, doc.file, doc.part, doc.text.len());
        let fields = &self.fields;
        let mut row = TantivyDocument::new();
        row.add_text(fields.parts[doc.part as usize], doc.text);
        row.add_u64(fields.chat, u64::from(doc.chat));
        row.add_u64(fields.file, u64::from(doc.file));
        row.add_u64(fields.event, doc.event);
        row.add_i64(fields.at, doc.at);
        row.add_u64(fields.turn, doc.turn);
        row.add_u64(fields.size, schema::size_bucket(doc.text.len()));
        self.engine.add_document(row).map(|_| ()).map_err(|error| self.engine_error(&error))
    }

    /// Drops everything that was read from a file before this call.
    pub fn drop_file(&mut self, file: u32) {
        self.tallies.drop_file(file);
        self.delete(Term::from_field_u64(self.fields.file, u64::from(file)));
    }

    /// Drops one message without adjusting the length of its chat.
    pub fn drop_event(&mut self, event: u64) {
        self.delete(Term::from_field_u64(self.fields.event, event));
    }

    /// Drops the earlier form of a message; `bytes` is the length of its text. A message without text was not added.
    pub fn drop_message(&mut self, doc: &Doc, bytes: usize) {
        if bytes > 0 {
            self.tallies.drop_message(doc.chat, doc.file, doc.part, bytes);
        }
        self.drop_event(doc.event);
    }

    pub fn drop_chat(&mut self, chat: u32) {
        self.tallies.drop_chat(chat);
        self.delete(Term::from_field_u64(self.fields.chat, u64::from(chat)));
    }

    fn delete(&mut self, term: Term) {
        self.pending_deletes += 1;
        self.engine.delete_term(term);
    }

    /// How many deletions wait for the next commit. Each takes a kilobyte of memory until then.
    pub fn pending_deletes(&self) -> usize {
        self.pending_deletes
    }

    /// Commits. The caller's sequence number later identifies what the index contains.
    pub fn commit(&mut self, sequence: u64) -> Result<(), Error> {
        let folder = self.folder.clone();
        let failed = |error: TantivyError| Error::from_engine(&folder, &error);
        let mut prepared = self.engine.prepare_commit().map_err(failed)?;
        let stamp = CommitStamp { sequence, number: prepared.opstamp().max(1), ..self.stamp };
        self.tallies.write(&folder, stamp.number)?;
        prepared.set_payload(&stamp.to_payload());
        prepared.commit().map_err(failed)?;
        self.stamp = stamp;
        self.pending_deletes = 0;
        chats::remove_others(&folder, stamp.number);
        Ok(())
    }

    /// The sequence number of the last commit; 0 if there is none.
    pub fn last_sequence(&self) -> u64 {
        self.stamp.sequence
    }

    /// Commits, and rewrites every segment with dropped messages, so that their bytes leave the disk.
    pub fn purge(&mut self) -> Result<(), Error> {
        self.commit(self.stamp.sequence)?;
        let folder = self.folder.clone();
        let failed = |error: TantivyError| Error::from_engine(&folder, &error);
        for id in self.segments_with_deletes().map_err(failed)? {
            // A segment already taken by a background merge is clean or gone.
            let merged = self.engine.merge(&[id]).wait();
            if let Err(error) = merged
                && !matches!(error, TantivyError::InvalidArgument(_))
            {
                return Err(failed(error));
            }
        }
        self.engine.garbage_collect_files().wait().map_err(failed)?;
        Ok(())
    }

    /// Segments with deleted documents. Returned by ID: holding a `SegmentMeta` keeps its files alive.
    fn segments_with_deletes(&self) -> tantivy::Result<Vec<SegmentId>> {
        let metas = self.engine.index().searchable_segment_metas()?;
        Ok(metas.iter().filter(|meta| meta.has_deletes()).map(SegmentMeta::id).collect())
    }

    /// Waits for background merges; otherwise they start again next time.
    pub fn wait_for_merges(self) -> Result<(), Error> {
        let folder = self.folder;
        self.engine.wait_merging_threads().map_err(|error| Error::from_engine(&folder, &error))
    }

    fn engine_error(&self, error: &TantivyError) -> Error {
        Error::from_engine(&self.folder, error)
    }
}

/// The engine gives its first operation the stamp of the last commit. A merge applies deletions up to that commit, and takes
/// those of a segment that has a deletion file of the same stamp for applied: the first deletion would be lost. A batch
/// without operations takes the stamp.
fn skip_committed_stamp(engine: &IndexWriter) -> tantivy::Result<()> {
    engine.run(std::iter::empty()).map(|_| ())
}

/// Removes the drafts of metadata that killed writers left: the engine renames them when they are complete, and does not
/// know them afterwards.
fn remove_drafts(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// One merge at a time: two would need twice the memory.
fn writer_options(threads: usize, heap_bytes: usize) -> IndexWriterOptions {
    let threads = threads.clamp(1, (heap_bytes / MIN_HEAP).max(1));
    IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread((heap_bytes / threads).max(MIN_HEAP))
        .num_merge_threads(1)
        .build()
}

/// An error if the last commit was made by a newer Loci. Reads the version without the engine, which may not be able to open
/// such an index and would call it damaged.
pub(crate) fn check_not_newer(folder: &Path) -> Result<(), Error> {
    let metas = fs::read_to_string(folder.join("meta.json")).unwrap_or_default();
    let payload =
        metas.rsplit_once("\"payload\"").map_or("", |(_, rest)| rest.trim_start_matches([':', ' ', '"']));
    let digits = payload.find(|c: char| !c.is_ascii_digit()).map_or(payload, |end| &payload[..end]);
    match digits.parse::<u64>() {
        Ok(found) if found > u64::from(VERSION) => {
            Err(Error::Newer { path: folder.to_owned(), found, known: VERSION })
        }
        _ => Ok(()),
    }
}

/// The metadata of the last commit. An index without a commit is empty and has none.
pub(crate) fn read_stamp(folder: &Path, metas: &IndexMeta) -> Result<CommitStamp, Error> {
    match &metas.payload {
        Some(payload) => CommitStamp::parse(folder, payload),
        None if metas.segments.is_empty() => Ok(CommitStamp::default()),
        None => Err(Error::Version { path: folder.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use tantivy::SegmentReader;

    fn sample_doc(file: u32, text: &str) -> Doc<'_> {
        Doc { file, chat: file, event: 1, turn: 1, part: Part::Person, at: 0, text }
    }

    /// Whether a file in the folder can still disclose the term: a dictionary that contains it, or a segment with
    /// deleted documents. The dictionary compresses its terms, so searching for the bytes would prove nothing.
    fn discloses_term(folder: &Path, term: &str) -> bool {
        let index = Index::open(folder).unwrap().unwrap();
        let field = index.fields.parts[Part::Person as usize];
        index.segments.iter().any(|segment| {
            let terms = segment.inverted_index(field).unwrap();
            segment.has_deletes() || terms.terms().get(term).unwrap().is_some()
        })
    }

    fn segments_on_disk(folder: &Path) -> usize {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".term")).count()
    }

    /// A rebuild removes the folder and creates another in its place.
    #[test]
    fn a_reader_survives_the_replacement_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), 1, MIN_HEAP).unwrap();
        writer.add(&sample_doc(1, "the cache is stale")).unwrap();
        writer.commit(1).unwrap();
        let index = Index::open(folder.path()).unwrap().unwrap();
        drop(writer);
        let hits = |index: &Index, word: &str| index.find(&crate::Query::new(word), &[]).unwrap().chats.len();
        fs::remove_dir_all(folder.path()).unwrap();
        assert_eq!(hits(&index, "stale"), 1);
        let mut writer = Writer::open(folder.path(), 1, MIN_HEAP).unwrap();
        writer.add(&sample_doc(2, "another text")).unwrap();
        writer.commit(2).unwrap();
        assert_eq!((hits(&index, "stale"), hits(&index, "another")), (1, 0));
        assert_eq!(hits(&Index::open(folder.path()).unwrap().unwrap(), "another"), 1);
    }

    /// Killed after the engine has written the files of a commit and before it has replaced `meta.json`: the same work is done again and needs the
    /// same names.
    #[test]
    fn files_of_a_commit_that_was_killed_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Writer::open(folder.path(), 1, MIN_HEAP).unwrap();
        let mut writer = open();
        for file in [1, 2] {
            writer.add(&sample_doc(file, "the cache is stale")).unwrap();
        }
        writer.commit(1).unwrap();
        drop(writer);
        let files = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let before: Vec<_> = files().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        let drop_one = |mut writer: Writer| {
            writer.drop_file(1);
            writer.commit(2)
        };
        drop_one(open()).unwrap();
        assert!(files().any(|path| path.extension().is_some_and(|ending| ending == "del")));
        for (path, bytes) in before.iter().filter(|(path, _)| !path.ends_with(".managed.json")) {
            fs::write(path, bytes).unwrap();
        }
        drop_one(open()).unwrap();
        let index = Index::open(folder.path()).unwrap().unwrap();
        assert_eq!(index.find(&crate::Query::new("stale"), &[]).unwrap().chats.len(), 1);
    }

    /// A process that was killed leaves segments behind, some with deletions and some without. The next one drops a file, and
    /// a merge ends before its commit: 3 of 7 runs of 200 kills had a file twice.
    #[test]
    fn the_first_drop_after_opening_survives_a_merge() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), 1, MIN_HEAP).unwrap();
        for (sequence, file) in [1, 2, 3].into_iter().enumerate() {
            writer
                .add(&Doc { event: 10 + u64::from(file), ..sample_doc(file, "the cache is stale") })
                .unwrap();
            for event in 0..40 {
                writer.add(&Doc { event: 100 + event, ..sample_doc(2, "the cache is warm") }).unwrap();
            }
            writer.commit(sequence as u64 + 1).unwrap();
        }
        // Two of the three segments have deletions of the last commit.
        for event in [11, 13] {
            writer.drop_event(event);
        }
        writer.commit(4).unwrap();
        writer.wait_for_merges().unwrap();
        let mut writer = Writer::open(folder.path(), 1, MIN_HEAP).unwrap();
        let mut segments = writer.engine.index().searchable_segment_metas().unwrap();
        segments.sort_by_key(SegmentMeta::has_deletes);
        assert_eq!(segments.iter().map(SegmentMeta::has_deletes).collect::<Vec<_>>(), [false, true, true]);
        writer.drop_file(2);
        let ids: Vec<SegmentId> = segments.iter().map(SegmentMeta::id).collect();
        writer.engine.merge(&ids).wait().unwrap();
        writer.commit(5).unwrap();
        let index = Index::open(folder.path()).unwrap().unwrap();
        let left: u32 = index.segments.iter().map(SegmentReader::num_docs).sum();
        assert_eq!(left, 0, "messages of the dropped file are left");
    }

    #[test]
    fn a_message_in_a_second_form_counts_once_in_the_length_of_its_chat() {
        let length = |texts: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let mut writer = Writer::open(folder.path(), 1, MIN_HEAP).unwrap();
            writer.add(&sample_doc(1, texts[0])).unwrap();
            for (before, text) in texts.iter().zip(&texts[1..]) {
                writer.drop_message(&sample_doc(1, text), before.len());
                writer.add(&sample_doc(1, text)).unwrap();
            }
            writer.commit(1).unwrap();
            *Index::open(folder.path()).unwrap().unwrap().chats.length_of(0)
        };
        assert_eq!(length(&["cargo test", "cargo test passed"]), length(&["cargo test passed"]));
    }

    #[test]
    fn purging_removes_dropped_text_from_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), 1, MIN_HEAP).unwrap();
        for text in ["the cache", "is stale"] {
            writer.add(&sample_doc(1, text)).unwrap();
        }
        writer.add(&sample_doc(2, "the word is hunter2zebra, keep it")).unwrap();
        writer.commit(1).unwrap();
        writer.add(&sample_doc(2, "hunter2zebra alone in its segment")).unwrap();
        writer.commit(2).unwrap();
        assert!(discloses_term(folder.path(), "hunter2zebra"));
        writer.drop_file(2);
        writer.purge().unwrap();
        assert!(!discloses_term(folder.path(), "hunter2zebra"));
        assert_eq!((writer.last_sequence(), segments_on_disk(folder.path())), (2, 1));
        for entry in fs::read_dir(folder.path()).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"hunter" || window == b"retnuh"));
        }
    }
}
