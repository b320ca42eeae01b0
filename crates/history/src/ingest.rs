//! Brings archive, catalogue and text index up to date: new records are masked, archived, entered in the catalogue and
//! indexed. A run can be killed at any time; the next one resumes where it stopped.
//!
//! The catalogue commits each batch atomically. The text index stores the catalogue sequence it has reached, and events
//! after that are indexed again. Does not serve requests.

mod copies;
mod moved;
mod open;
mod stages;
mod text;

use crate::checked_stores::CheckedStores;
use crate::error::{index_error, newer_masking, no_home, store_error};
use crate::event_ids::title_event;
use crate::freshness::{self, CAUGHT_UP, KnownFiles, State, was_completed};
use crate::home::{self, Home, Lock};
use crate::projects::Projects;
use crate::scan::{count_alone, read_problem, read_through};
use crate::search_text::is_searchable;
use crate::tombstones::Tombstones;
use crate::{History, catalogue_cache, lost_places, standing_problems, transcripts};
use api::Error;
use catalogue::{ApplyOutcome, ChangedEvent, StoredFile, Survey, TouchedFile, Watermark, Writer};
use record::{Problem, ProblemKind, Row};
use rustc_hash::FxHashSet;
use sources::archive::{LostCopy, Store, Written};
use sources::{Names, SOURCES, SurveyOptions, SurveyOutcome, Transcript};
pub use stages::Text;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use text::IndexDocument;

/// The result of an update.
#[derive(Debug, Default)]
pub struct UpdateReport {
    pub files: u64,
    pub added: u64,
    pub changed: u64,
    pub gone: u64,
    pub told: u64,
    pub bytes: u64,
    pub problems: Vec<Problem>,
    /// What was damaged or outdated and has been rebuilt.
    pub notes: Vec<String>,
}

/// Transcript bytes per catalogue transaction: a kill costs at most reading this much again.
const BATCH_BYTES: u64 = 16 << 20;
/// Interval between commits of the text index. A commit syncs to disk and closes segments that are merged later; a kill
/// costs at most this interval of indexing.
const COMMIT_INTERVAL: Duration = Duration::from_secs(30);
/// Deletions in the text index after which it is committed early: 16 MB of memory.
const MAX_DELETES: usize = 16 << 10;
/// Memory for index segments that are not on disk yet. With 64 MB, indexing used 324 MB in total for the first 4 GB of a
/// long history.
const HEAP: usize = 48 << 20;

/// How long a reader may take from looking up the stores to opening them.
const READER_GRACE: Duration = Duration::from_millis(300);
/// Meta key: the version of the masking rules.
const RULES: &str = "rules";

/// Attempts to update and then open the stores: another process may empty them in between.
pub(crate) const TRIES: usize = 3;

/// Reads every byte of catalogue, text index and small archived copies, and replaces what is damaged: `SQLite` and tantivy
/// notice a flipped byte only when they happen to read it, and may then find nothing instead. Passes over what was checked before and
/// has not changed. Returns what was replaced.
pub fn repair_stores(history: &History<'_>, checked: &mut CheckedStores) -> Result<Vec<String>, Error> {
    let home = history.home().ok_or_else(no_home)?;
    let _lock = Lock::acquire(&home)?;
    let home = home.reload();
    let (archive, catalogue, index_folder) = (home.packed_copies(), home.catalogue(), home.index());
    let mut notes = Vec::new();
    if checked.is_due(&archive) {
        notes.extend(copies::repair_store(&home)?);
        checked.set_checked(&archive);
    }
    if checked.is_due(&catalogue) {
        if let Some(damage) = open::find_damage(&home) {
            open::set_aside(&home, &catalogue)?;
            notes.push(open::damage_note(&damage));
            return Ok(notes);
        }
        checked.set_checked(&catalogue);
    }
    if checked.is_due(&index_folder)
        && let Ok(Some(index)) = search::Index::open(&index_folder)
    {
        let damaged = index.verify_checksums().map_err(|error| index_error(&error))?;
        if !damaged.is_empty() {
            drop(index);
            open::remove_path(&index_folder)?;
            notes.push(open::damaged_index_note(&damaged.join(", ")));
        }
        checked.set_checked(&index_folder);
    }
    Ok(notes)
}

/// Reads everything new, with the writer lock held.
pub fn catch_up(history: &History<'_>, rebuild: bool) -> Result<UpdateReport, Error> {
    let home = history.home().ok_or_else(no_home)?;
    let lock = Lock::acquire(&home)?;
    catch_up_locked(history, &home, &lock, rebuild)
}

/// How an update for a waiting request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// This process brought everything up to date.
    Updated,
    /// Another process is writing; the state it has committed is consistent.
    Consistent,
    /// Another process is writing and has committed only part of the history so far.
    TimedOut,
}

/// How long a request waits for another process that writes. After that it answers from what there is.
const REQUEST_PATIENCE: Duration = Duration::from_millis(1200);

/// The same for a request that is waiting: if another process is writing, the state it has committed is good enough as
/// soon as it is consistent. During a first build, the index contains only part of the history.
pub fn catch_up_or_wait(history: &History<'_>) -> Result<Waited, Error> {
    let home = history.home().ok_or_else(no_home)?;
    let until = Instant::now() + REQUEST_PATIENCE;
    let is_enough = || is_consistent(history, &home) || Instant::now() > until;
    match Lock::acquire_unless(&home, is_enough)? {
        Some(lock) => catch_up_locked(history, &home, &lock, false).map(|_| Waited::Updated),
        None if is_consistent(history, &home) => Ok(Waited::Consistent),
        None => Ok(Waited::TimedOut),
    }
}

/// Whether the stores have contained the whole history once, and the index has reached the catalogue's sequence.
fn is_consistent(history: &History<'_>, home: &Home) -> bool {
    let home = home.reload();
    let Some(reader) = catalogue_cache::open_catalogue_at(history, &home) else { return false };
    let Ok(Some(index)) = search::Index::open(&home.index()) else { return false };
    was_completed(&reader) && reader.sequence().is_ok_and(|sequence| sequence == index.last_sequence())
}

/// Whether no interrupted forget is left to finish. Otherwise forgotten sessions would still be shown.
pub(crate) fn is_forgetting_finished(history: &History<'_>, reader: &catalogue::Reader) -> bool {
    let Ok(tombstones) = Tombstones::read(history.home().as_ref()) else { return false };
    tombstones.unfinished(reader).is_ok_and(|unfinished| unfinished.is_empty())
}

/// Removes sessions from archive, catalogue and index, so that none of their text is left on disk, and returns how many
/// archived copies contained them. Other sessions in the same transcripts are read again. The tombstones must already be
/// written.
pub fn forget_sessions(
    history: &History<'_>,
    home: &Home,
    lock: &Lock,
    doomed: &dyn Fn(&str, &str) -> bool,
) -> Result<u64, Error> {
    let mut caught = UpdateReport::default();
    let home = &home.reload();
    remove_stale_stores(home);
    let mut ingest = Ingest::open(*history, home, &mut caught)?;
    (history.forget_elsewhere)(home, doomed)?;
    let is_doomed = |id: &str| SOURCES.iter().any(|source| doomed(source.name(), id));
    standing_problems::forget_sessions(home, lock, &is_doomed, history.clock.now())?;
    // The catalogue last: as long as it has events of these sessions, the next run starts the removal again.
    let copies = ingest.forget_copies(doomed)?;
    let files = ingest.catalogue.reader().files_containing(doomed).map_err(store_error)?;
    ingest.catalogue.begin().map_err(store_error)?;
    ingest.catalogue.mark_unclean().map_err(store_error)?;
    let mut heirs = BTreeSet::new();
    for file in &files {
        ingest.index.drop_file(*file);
        heirs.append(&mut ingest.catalogue.reset_file(*file).map_err(store_error)?);
    }
    heirs.retain(|heir| !files.contains(heir));
    ingest.reindex_files(heirs, &mut caught)?;
    ingest.catalogue.commit().map_err(store_error)?;
    ingest.run(home, lock, &mut caught)?;
    Ok(copies)
}

pub fn catch_up_locked(
    history: &History<'_>,
    home: &Home,
    lock: &Lock,
    rebuild: bool,
) -> Result<UpdateReport, Error> {
    let home = &home.reload();
    let mut caught = UpdateReport::default();
    standing_problems::check_tombstones(home, lock, history.clock.now())?;
    let forgotten = finish_forgetting(history, home, lock);
    let Err(error) = forgotten.and_then(|()| run_update(history, home, lock, rebuild, &mut caught)) else {
        if caught.added > 0 {
            learn_repositories(history);
        }
        return Ok(caught);
    };
    // Damaged pages may be detected only when they are read, in the middle of a run.
    let Some(note) = repair_after_failure(home)? else { return Err(error) };
    let mut caught = UpdateReport { notes: vec![note], ..UpdateReport::default() };
    run_update(history, home, lock, false, &mut caught)?;
    Ok(caught)
}

/// Remembers which repositories the folders of new sessions belong to, for when the folders are moved. Best effort: the next
/// run tries again.
fn learn_repositories(history: &History<'_>) {
    let Some(reader) = catalogue_cache::open_catalogue(history) else { return };
    let Ok(folders) = reader.project_folders() else { return };
    let mut projects = Projects::load(history);
    let known = projects.clone();
    let new = folders.iter().map(|one| &*one.folder).filter(|folder| !known.is_known(folder));
    if projects.learn(new) {
        let _ = projects.save(history);
    }
}

/// Replaces the store that made a run fail. None: neither is damaged.
fn repair_after_failure(home: &Home) -> Result<Option<String>, Error> {
    let Some(damage) = open::find_damage(home) else { return copies::repair_store(home) };
    open::set_aside(home, &home.catalogue())?;
    Ok(Some(open::damage_note(&damage)))
}

fn finish_forgetting(history: &History<'_>, home: &Home, lock: &Lock) -> Result<(), Error> {
    let tombstones = Tombstones::read(Some(home))?;
    let Some(reader) = catalogue_cache::open_catalogue(history).filter(|_| !tombstones.is_empty()) else {
        return Ok(());
    };
    let unfinished = tombstones.unfinished(&reader).map_err(store_error)?;
    drop(reader);
    if unfinished.is_empty() {
        return Ok(());
    }
    forget_sessions(history, home, lock, &|source, id| unfinished.contains(source, id)).map(|_| ())
}

/// Updates the stores in place. A rebuild writes new ones beside them, so that readers have complete stores all the time.
fn run_update(
    history: &History<'_>,
    home: &Home,
    lock: &Lock,
    rebuild: bool,
    caught: &mut UpdateReport,
) -> Result<(), Error> {
    remove_stale_stores(home);
    let is_outdated = !rebuild && has_outdated_masking(home)?;
    if is_outdated {
        caught.notes.push("the secret masking rules changed: reindexing everything".to_string());
    }
    if !rebuild && !is_outdated {
        return Ingest::open(*history, home, caught)?.run(home, lock, caught);
    }
    let next = home.next_generation();
    open::remove_path(next.stores())?;
    let built = Ingest::open(*history, &next, caught).and_then(|mut ingest| ingest.run(home, lock, caught));
    let published =
        built.and_then(|()| next.publish_stores().map_err(|error| home::unwritable(next.stores(), &error)));
    if published.is_err() {
        // On a full disk, half a rebuild would be what fills it.
        let _ = open::remove_path(next.stores());
        return published;
    }
    // A reader that has looked up the old path opens it within this time, and then keeps its files open.
    std::thread::sleep(READER_GRACE);
    remove_stale_stores(&next);
    Ok(())
}

/// Removes stores of earlier generations. What cannot be removed now is removed by the next update.
fn remove_stale_stores(home: &Home) {
    for path in home.stale_stores() {
        let _ = open::remove_path(&path);
    }
}

/// Whether the stores contain text that was masked with older rules. With newer ones, this version would put less-masked text in
/// its place: an error.
fn has_outdated_masking(home: &Home) -> Result<bool, Error> {
    let path = home.catalogue();
    let Ok(Some(reader)) = catalogue::Reader::open(&path, &[]) else { return Ok(false) };
    let (rules, known) = (reader.meta_value(RULES).ok().flatten(), i64::from(mask::RULES_VERSION));
    if let Some(found) = rules.filter(|found| *found > known) {
        return Err(newer_masking(&path, found, known));
    }
    Ok(rules != Some(known) && reader.sequence().is_ok_and(|sequence| sequence > 0))
}

struct Ingest<'s> {
    history: History<'s>,
    catalogue: Writer,
    index: search::Writer,
    index_folder: PathBuf,
    store: Store,
    tombstones: Tombstones,
    names: Names,
    /// The whole archive was readable, so that the catalogue will know all of it.
    knows_archive: bool,
    /// Copies that are listed and were not there when the update began. None: archive and list are as they were.
    lost: Option<Vec<LostCopy>>,
    is_compared: bool,
}

/// The work for one transcript.
enum Job {
    Read {
        transcript: Transcript,
        original: Option<Original>,
        state: State,
    },
    /// The catalogue has it; the text index may not.
    Reindex {
        file: u32,
        transcript: Transcript,
    },
}

impl Job {
    fn size(&self) -> u64 {
        let (Job::Read { transcript, .. } | Job::Reindex { transcript, .. }) = self;
        transcript.size
    }
}

/// A message from a reader thread to the writer.
enum ReaderMessage {
    Surveyed(text::Shared, SyncSender<ApplyOutcome>),
    Reload(u32, SyncSender<StoredEvents>),
    Documents(Vec<IndexDocument>),
    Touched(u32, Vec<(u32, String)>),
    /// What the archive has of a transcript.
    Archived(u32, Written),
    Problem(Problem),
    Failed(Error),
    Done,
}

/// What the index should contain of a transcript: events, all rows, and the number of each session.
type StoredEvents = (Vec<ChangedEvent>, Vec<Row>, Vec<u32>);

/// Where the transcript of an archived copy was, and the device that wrote it if it was not this one.
#[derive(Clone)]
struct Original {
    path: Box<Path>,
    origin: Option<Box<str>>,
}

struct Surveyed {
    transcript: Transcript,
    original: Option<Original>,
    state: State,
    mark: Watermark,
    facts: SurveyOutcome,
    rows: Vec<Row>,
}

impl<'s> Ingest<'s> {
    fn open(history: History<'s>, home: &Home, caught: &mut UpdateReport) -> Result<Ingest<'s>, Error> {
        home::create_private_dir(home.stores()).map_err(|error| home::unwritable(home.stores(), &error))?;
        let catalogue = open::open_catalogue(home, caught)?;
        if catalogue.sequence() == 0 {
            catalogue.set_meta(RULES, i64::from(mask::RULES_VERSION)).map_err(store_error)?;
        }
        let index = open::open_index(&history, home, catalogue.sequence(), caught)?;
        let store = copies::open_store(home, &catalogue, caught)?;
        let tombstones = Tombstones::read(Some(home))?;
        let names = Names::default();
        let index_folder = home.index();
        Ok(Ingest {
            history,
            catalogue,
            index,
            index_folder,
            store,
            tombstones,
            names,
            knows_archive: false,
            lost: None,
            is_compared: false,
        })
    }

    fn run(&mut self, home: &Home, lock: &Lock, caught: &mut UpdateReport) -> Result<(), Error> {
        let begun = self.history.clock.now();
        self.compare_with_list(home)?;
        let (mut jobs, moved) = self.collect_jobs(caught)?;
        let progress = self.history.progress;
        progress.of.store(jobs.len() as u64, Relaxed);
        let mut since = Instant::now();
        while let Some(batch) = next_batch(&mut jobs) {
            self.catalogue.begin().map_err(store_error)?;
            if let Err(error) = self.run_archived_batch(&batch, caught) {
                self.catalogue.roll_back();
                return Err(error);
            }
            let sequence = self.catalogue.commit().map_err(store_error)?;
            if since.elapsed() > COMMIT_INTERVAL || self.index.pending_deletes() > MAX_DELETES {
                self.index.commit(sequence).map_err(|e| index_error(&e))?;
                since = Instant::now();
            }
        }
        self.remove_superseded(&moved, caught)?;
        self.record_losses(home, lock)?;
        lost_places::update_count(&self.catalogue)?;
        self.catalogue.set_meta(CAUGHT_UP, begun.0).map_err(store_error)?;
        let folders =
            freshness::hash_settled_folders(self.catalogue.reader(), begun.0).map_err(store_error)?;
        self.catalogue.set_meta(freshness::FOLDERS, folders.unwrap_or_default()).map_err(store_error)?;
        self.make_durable()
    }

    /// Removes archived copies whose transcript was moved and is complete at its new path.
    fn remove_superseded(&mut self, moved: &[moved::Moved], caught: &mut UpdateReport) -> Result<(), Error> {
        let contained = moved.iter().filter(|it| it.is_contained(&self.store));
        let needless: Vec<&Transcript> = contained.map(|it| &it.copy).collect();
        let gone: Vec<catalogue::KnownFile> = {
            let memory = KnownFiles::load(self.catalogue.reader()).map_err(store_error)?;
            needless.iter().filter_map(|copy| memory.get(copy)).collect()
        };
        self.store
            .remove_copies(needless.iter().map(|copy| copy.path.as_path()))
            .map_err(|e| copies::archive_error(&e))?;
        self.drop_gone(&gone, caught)
    }

    /// Makes everything durable: first the archive, then what is derived from it.
    fn make_durable(&mut self) -> Result<(), Error> {
        self.sync_archive()?;
        self.remember_list()?;
        if self.knows_archive {
            let print = self.store.fingerprint();
            self.catalogue.set_meta(transcripts::ARCHIVE_FINGERPRINT, print).map_err(store_error)?;
        }
        if self.index.last_sequence() != self.catalogue.sequence() {
            self.index.commit(self.catalogue.sequence()).map_err(|e| index_error(&e))?;
            // the engine creates its files with the mode that the umask leaves
            let folder = &self.index_folder;
            home::make_files_private(folder).map_err(|error| home::unwritable(folder, &error))?;
        }
        if self.catalogue.is_unclean().map_err(store_error)? {
            self.index.purge().map_err(|error| index_error(&error))?;
            return self.catalogue.vacuum().map_err(store_error);
        }
        self.catalogue.checkpoint_log();
        Ok(())
    }

    /// The jobs, with the oldest transcript last, to be taken first, so that an original is read before its copies.
    fn collect_jobs(&mut self, caught: &mut UpdateReport) -> Result<(Vec<Job>, Vec<moved::Moved>), Error> {
        let reader = self.catalogue.reader();
        let mut found = transcripts::find_readable(&self.history, Some(reader), &[]);
        caught.files = found.transcripts.len() as u64;
        self.knows_archive = found.problems.is_empty();
        caught.problems.append(&mut found.problems);
        let memory = KnownFiles::load(reader).map_err(store_error)?;
        let mut late: FxHashSet<u32> =
            self.catalogue.ids_since(self.index.last_sequence()).map_err(store_error)?.into_iter().collect();
        let unsettled = self.unsynced_files()?;
        let mut gone = memory.find_gone(found.transcripts.iter());
        retain_deleted(reader, &mut gone, &caught.problems).map_err(store_error)?;
        let copies: Vec<Transcript> = found
            .transcripts
            .iter()
            .filter(|transcript| freshness::is_archived_copy(transcript))
            .cloned()
            .collect();
        found.transcripts.sort_unstable_by(|a, b| {
            let key = |t: &Transcript| t.file_stamp.changed;
            (key(a), &a.path, &a.part).cmp(&(key(b), &b.path, &b.part))
        });
        let mut jobs = Vec::new();
        for transcript in found.transcripts {
            let mut state = memory.state_of(reader, &transcript).map_err(store_error)?;
            if let State::Same(id) = state
                && (unsettled.contains(&id) && !self.has_readable_copy(&transcript)
                    || self.is_lost(&transcript))
            {
                state = State::Changed(id);
            }
            if let State::Same(id) = state {
                if late.remove(&id) {
                    jobs.push(Job::Reindex { file: id, transcript });
                }
                continue;
            }
            if let State::Grown(id, _) | State::Archived(id) = state
                && late.remove(&id)
            {
                state = State::Changed(id); // the index may lack more than the new part
            }
            let original = self.original_path(&transcript);
            jobs.push(Job::Read { transcript, original, state });
        }
        let moved = moved::find_moved(&jobs, copies);
        self.drop_gone(&gone, caught)?;
        jobs.reverse();
        jobs.shrink_to_fit();
        Ok((jobs, moved))
    }

    fn original_path(&self, transcript: &Transcript) -> Option<Original> {
        if !freshness::is_archived_copy(transcript) {
            return None;
        }
        let kept = self.store.find_by_name(sources::archive::transcript_name(transcript));
        kept.ok().map(|kept| Original { path: kept.original.into(), origin: kept.origin.map(Into::into) })
    }

    /// Drops transcripts that were deleted without an archived copy: their events can no longer be read.
    fn drop_gone(&mut self, gone: &[catalogue::KnownFile], caught: &mut UpdateReport) -> Result<(), Error> {
        if gone.is_empty() {
            return Ok(());
        }
        self.catalogue.begin().map_err(store_error)?;
        let lost = self.drop_gone_files(gone, caught);
        if lost.is_err() {
            self.catalogue.roll_back();
        }
        lost
    }

    fn drop_gone_files(
        &mut self,
        gone: &[catalogue::KnownFile],
        caught: &mut UpdateReport,
    ) -> Result<(), Error> {
        let mut heirs = BTreeSet::new();
        for known in gone {
            self.index.drop_file(known.id);
            heirs.append(&mut self.catalogue.delete_file(known.id).map_err(store_error)?);
            caught.gone += 1;
        }
        heirs.retain(|heir| gone.iter().all(|known| known.id != *heir));
        self.reindex_files(heirs, caught)?;
        // The index first: once the catalogue has dropped a file, its index entries can no longer be identified.
        self.index.commit(self.index.last_sequence()).map_err(|e| index_error(&e))?;
        self.catalogue.commit().map_err(store_error)?;
        Ok(())
    }

    /// Indexes files again that have become the original of events they were copies of, or the other way round.
    fn reindex_files(&mut self, files: BTreeSet<u32>, caught: &mut UpdateReport) -> Result<(), Error> {
        let mut jobs = Vec::new();
        for file in files {
            let stored = self.catalogue.reader().file_by_id(file).map_err(store_error)?;
            let readable = stored.and_then(|stored| {
                let transcript = transcripts::as_readable(&self.history, &stored)?;
                Some(Job::Reindex { file: stored.id, transcript })
            });
            jobs.extend(readable);
        }
        if jobs.is_empty() { Ok(()) } else { self.run_batch(&jobs, caught) }
    }

    // ---- one batch

    /// The copies become visible before the catalogue says that they exist.
    fn run_archived_batch(&mut self, jobs: &[Job], caught: &mut UpdateReport) -> Result<(), Error> {
        self.store.begin_batch();
        if let Err(error) = self.run_batch(jobs, caught) {
            self.store.roll_back_batch();
            return Err(error);
        }
        self.store.commit_batch().map_err(|error| copies::archive_error(&error))
    }

    /// Reader threads survey and mask; this thread writes.
    fn run_batch(&mut self, jobs: &[Job], caught: &mut UpdateReport) -> Result<(), Error> {
        let threads = self.history.threads.min(jobs.len()).max(1);
        let (send, messages) = sync_channel::<ReaderMessage>(2 * threads);
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (history, store, names, tombstones) =
            (self.history, self.store.clone(), &self.names, self.tombstones.clone());
        let reader = text::RecordReader { history, store, names, tombstones };
        // The threads borrow the table of names; the writer borrows the other fields.
        let (catalogue, index) = (&mut self.catalogue, &mut self.index);
        let (reindex, taken) = (BTreeSet::new(), FxHashSet::default());
        let mut writing = BatchWriter { history, catalogue, index, names, caught, reindex, taken };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (send, next, stop, reader) = (send.clone(), &next, &stop, &reader);
                scope.spawn(move || {
                    while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
                        if stop.load(Relaxed) || reader.run_job(job, &send).is_none() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            let written = writing.receive_messages(&messages);
            stop.store(true, Relaxed);
            // Unblocks threads that are waiting to send: their channel is now closed.
            drop(messages);
            written
        })?;
        let files = std::mem::take(&mut writing.reindex);
        self.reindex_files(files, caught)
    }
}

/// The state of the writer thread during a batch.
struct BatchWriter<'w> {
    history: History<'w>,
    catalogue: &'w mut Writer,
    index: &'w mut search::Writer,
    names: &'w Names,
    caught: &'w mut UpdateReport,
    /// Other files that have become the original of events, or are it no longer.
    reindex: BTreeSet<u32>,
    /// Events that other files own now; their texts may still be in the channel.
    taken: FxHashSet<u64>,
}

impl BatchWriter<'_> {
    fn receive_messages(&mut self, messages: &Receiver<ReaderMessage>) -> Result<(), Error> {
        while let Ok(message) = messages.recv() {
            match message {
                ReaderMessage::Surveyed(surveyed, reply) => {
                    let applied = self.apply_survey(&surveyed)?;
                    let _ = reply.send(applied);
                }
                ReaderMessage::Reload(file, reply) => {
                    let again = self.reload_file(file)?;
                    let _ = reply.send(again);
                }
                ReaderMessage::Documents(documents) => self.index_documents(&documents)?,
                ReaderMessage::Touched(file, touched) => {
                    let touches = touched
                        .iter()
                        .map(|(ordinal, path)| TouchedFile { ordinal: *ordinal, path: path.as_str() });
                    self.catalogue.record_touched_files(file, touches).map_err(store_error)?;
                }
                ReaderMessage::Archived(file, Written { entries, kept, .. }) => {
                    self.catalogue.set_shortened(file, entries, kept).map_err(store_error)?;
                }
                ReaderMessage::Problem(problem) => self.caught.problems.push(problem),
                ReaderMessage::Failed(error) => return Err(error),
                ReaderMessage::Done => {
                    self.history.progress.files.fetch_add(1, Relaxed);
                }
            }
        }
        Ok(())
    }

    fn apply_survey(&mut self, surveyed: &Surveyed) -> Result<ApplyOutcome, Error> {
        let (transcript, facts) = (&surveyed.transcript, &surveyed.facts);
        let names = self.names.to_vec();
        let mut sessions = facts.sessions.clone();
        count_alone(&mut sessions, &surveyed.rows, &names);
        let applied = self.catalogue.apply_survey(&Survey {
            name: freshness::name_of(transcript),
            source: SOURCES[transcript.source].name(),
            path: surveyed.original.as_ref().map_or(transcript.path.as_path(), |original| &original.path),
            part: transcript.part.as_deref(),
            origin: surveyed.original.as_ref().and_then(|original| original.origin.as_deref()),
            hint: &transcript.hint,
            family: &transcript.group,
            size: transcript.size,
            inode: transcript.file_stamp.inode,
            changed: transcript.file_stamp.changed,
            inode_changed: transcript.file_stamp.inode_changed,
            watermark: surveyed.mark,
            gone: freshness::is_archived_copy(transcript),
            rewritten: matches!(surveyed.state, State::Changed(_)),
            sessions: &sessions,
            birth: facts.birth,
            abandoned: &facts.abandoned,
            bad: facts.coverage.iter().map(|(_, coverage)| coverage.bad).sum(),
            problems: &facts.problems,
            rows: &surveyed.rows,
            names: &names,
            wants_text: &is_searchable,
        });
        let applied = applied.map_err(store_error)?;
        self.record_changes(surveyed, &applied, &sessions)?;
        Ok(applied)
    }

    fn record_changes(
        &mut self,
        surveyed: &Surveyed,
        applied: &ApplyOutcome,
        sessions: &[record::Session],
    ) -> Result<(), Error> {
        match surveyed.state {
            State::New => self.caught.added += 1,
            State::Archived(_) => self.caught.gone += 1,
            _ => self.caught.changed += 1,
        }
        self.caught.bytes += surveyed.facts.coverage.iter().map(|(_, coverage)| coverage.bytes).sum::<u64>();
        if applied.rewritten {
            self.index.drop_file(applied.file);
        }
        applied.superseded.iter().for_each(|event| self.index.drop_event(*event));
        self.taken.extend(&applied.superseded);
        self.reindex.extend(&applied.new_originals);
        self.reindex.extend(&applied.losers);
        for new in &applied.new_titles {
            let session = &sessions[new.ordinal as usize];
            if let (None, Some((title, _))) = (&session.agent_id, &session.title) {
                let chat = applied.chats[new.ordinal as usize];
                let doc = title_doc(applied.file, chat, new.session, session.ended_at.0, title);
                if let Some(bytes) = new.replaced {
                    self.index.drop_message(&doc, bytes);
                }
                self.index.add(&doc).map_err(|e| index_error(&e))?;
            }
        }
        Ok(())
    }

    /// Loads what the catalogue has of a transcript, and drops its index entries so that it can be indexed again.
    fn reload_file(&mut self, file: u32) -> Result<StoredEvents, Error> {
        self.index.drop_file(file);
        let fresh = self.catalogue.indexed_events(file).map_err(store_error)?;
        let mut rows = Vec::new();
        let push = |row| {
            rows.push(row);
            Ok(())
        };
        self.catalogue
            .reader()
            .for_each_row(&[file], catalogue::EventFilter::All, push)
            .map_err(store_error)?;
        let titles = self.catalogue.session_titles(file).map_err(store_error)?;
        for (chat, number, title) in &titles {
            if let Some(title) = title {
                let doc = title_doc(file, *chat, *number, 0, title);
                self.index.add(&doc).map_err(|e| index_error(&e))?;
            }
        }
        Ok((fresh, rows, titles.iter().map(|(chat, ..)| *chat).collect()))
    }

    fn index_documents(&mut self, documents: &[IndexDocument]) -> Result<(), Error> {
        for document in documents.iter().filter(|document| !self.taken.contains(&document.event)) {
            let doc = document.to_doc();
            if let Some(bytes) = document.replaced {
                self.index.drop_message(&doc, bytes);
            }
            self.index.add(&doc).map_err(|e| index_error(&e))?;
            self.caught.told += 1;
        }
        Ok(())
    }
}

/// A title comes before the messages of its transcript.
fn title_doc(file: u32, chat: u32, number: u32, at: i64, text: &str) -> search::Doc<'_> {
    let (event, turn) = (title_event(number), catalogue::event_id(file, 0));
    search::Doc { file, chat, event, turn, part: search::Part::Title, at: at.max(0), text }
}

/// Keeps only files that were deleted. A file is also missing from the list if its folder or database cannot be read now;
/// then its content stays.
fn retain_deleted(
    reader: &catalogue::Reader,
    missing: &mut Vec<catalogue::KnownFile>,
    problems: &[Problem],
) -> Result<(), catalogue::Error> {
    let mut deleted = Vec::new();
    for known in missing.drain(..) {
        let stored = reader.file_by_id(known.id)?;
        if known.gone || !stored.is_some_and(|stored| is_hidden(&stored, problems)) {
            deleted.push(known);
        }
    }
    *missing = deleted;
    Ok(())
}

/// Whether the file may still exist, but could not be listed.
fn is_hidden(stored: &StoredFile, problems: &[Problem]) -> bool {
    let is_denied = |error: &std::io::Error| error.kind() != std::io::ErrorKind::NotFound;
    std::fs::metadata(&stored.path).is_err_and(|error| is_denied(&error))
        || problems.iter().any(|problem| stored.path.starts_with(&problem.file))
}

/// Jobs per batch.
const BATCH_JOBS: usize = 512;

/// Takes the next batch off the end: large enough to keep all threads busy, small enough to repeat after a kill. The memory
/// of finished jobs is given back, because the list of a large history is as large as everything else.
fn next_batch(jobs: &mut Vec<Job>) -> Option<Vec<Job>> {
    let mut batch = vec![jobs.pop()?];
    let mut held = batch[0].size();
    while batch.len() < BATCH_JOBS
        && let Some(job) = jobs.pop_if(|job| held.saturating_add(job.size()) <= BATCH_BYTES)
    {
        held += job.size();
        batch.push(job);
    }
    jobs.shrink_to_fit();
    Some(batch)
}

fn archive_problem(transcript: &Transcript, error: &sources::Error) -> Problem {
    let (file, note) = (transcript.path.clone(), format!("could not be archived: {error}"));
    Problem { kind: ProblemKind::Unreadable, file, offset: 0, note }
}

/// The watermark of a JSONL transcript: how far it was read, and a sample of the bytes there.
fn watermark_of(transcript: &Transcript, facts: &SurveyOutcome) -> Watermark {
    let read = facts.coverage.iter().map(|(_, coverage)| coverage.bytes).sum();
    let end = text::last_line_end(transcript, read);
    end.and_then(|end| freshness::sample_watermark(transcript, end)).unwrap_or_default()
}

impl text::RecordReader<'_> {
    /// Surveys a transcript. The error is that of a file which cannot be read now and may be readable later: what is
    /// stored of it must stay, and its watermark must not move past bytes that were not read.
    fn survey_transcript(
        &self,
        transcript: &Transcript,
        original: Option<Original>,
        state: State,
    ) -> Result<Surveyed, sources::Error> {
        let mut rows = Vec::new();
        let emit = &mut |more: &mut Vec<Row>| rows.append(more);
        let (read, mut facts) =
            read_through(&self.history, 0, transcript, self.names, SurveyOptions::ALL, emit);
        if let Err(error) = read
            && error.is_transient()
        {
            return Err(error);
        }
        self.tombstones.remove_forgotten(&mut facts, &mut rows);
        let mark = if freshness::is_archived_copy(transcript) {
            Watermark::default()
        } else {
            watermark_of(transcript, &facts)
        };
        Ok(Surveyed { transcript: transcript.clone(), original, state, mark, facts, rows })
    }

    /// Does one job. None: the writer has stopped.
    fn run_job(&self, job: &Job, send: &SyncSender<ReaderMessage>) -> Option<()> {
        match job {
            Job::Read { transcript, original, state } => {
                let surveyed = match self.survey_transcript(transcript, original.clone(), *state) {
                    Ok(surveyed) => text::Shared::new(surveyed),
                    Err(error) => {
                        send.send(ReaderMessage::Problem(read_problem(transcript, &error))).ok()?;
                        return send.send(ReaderMessage::Done).ok();
                    }
                };
                let (reply, applied) = sync_channel(1);
                send.send(ReaderMessage::Surveyed(surveyed.clone(), reply)).ok()?;
                let applied = applied.recv().ok()?;
                self.read_new(&surveyed, &applied, send)?;
            }
            Job::Reindex { file, transcript } => {
                let (reply, reloaded) = sync_channel(1);
                send.send(ReaderMessage::Reload(*file, reply)).ok()?;
                let (fresh, rows, chats) = reloaded.recv().ok()?;
                let applied =
                    ApplyOutcome { file: *file, changed_events: fresh, chats, ..ApplyOutcome::default() };
                self.read_again(transcript, &rows, &applied, send)?;
            }
        }
        send.send(ReaderMessage::Done).ok()
    }
}
