//! Small archived copies, which are rows of one database: growing into a file, batches, damage, forgetting, and copies that
//! earlier versions wrote as files.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::archive::{Store, transcript_name};
use loci_sources::{Error, FileStamp, Names, Survey, SurveyOptions, SurveyOutcome, Transcript};
use record::{Message, Row, Session};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

struct Archive {
    folder: tempfile::TempDir,
    store: Store,
}

impl Archive {
    fn new() -> Archive {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("archive"));
        Archive { folder, store }
    }

    /// As another process would open it.
    fn reopened(&self) -> Store {
        Store::new(self.folder.path().join("archive"))
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("archive/packed.db")
    }

    fn with_copies(count: usize) -> Archive {
        let archive = Archive::new();
        archive.store.begin_batch();
        (0..count).for_each(|n| archive.write(&transcript(n), &[&format!("words-of-{n}")]));
        archive.store.commit_batch().unwrap();
        archive
    }

    /// Writes the copy of a transcript with these messages, in one session each.
    fn write(&self, of: &Transcript, texts: &[&str]) {
        let mut writer = self.store.begin_copy(of, 0).unwrap();
        let mut facts = SurveyOutcome::default();
        for (n, text) in (0..).zip(texts) {
            facts.sessions.push(Session::new("claude-code", &format!("{}-{n}", of.hint)));
            writer.add_message(n, &row(n), "", &message(text));
        }
        writer.finish(&facts).unwrap();
    }

    /// Copies that have a file of their own.
    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for folder in fs::read_dir(self.folder.path().join("archive")).unwrap().flatten() {
            let below = fs::read_dir(folder.path()).into_iter().flatten().flatten().map(|file| file.path());
            found.extend(below);
        }
        found
    }

    /// The compressed bytes of a copy.
    fn stored_bytes(&self, of: &Transcript) -> Vec<u8> {
        let connection = db::Connection::open(self.database()).unwrap();
        let name = transcript_name(of).to_be_bytes();
        let sql = "select content from copies where name = ?1";
        connection.query_row(sql, [name], |row| row.get(0)).unwrap()
    }

    fn contains_bytes(&self, wanted: &[u8]) -> bool {
        let files = fs::read_dir(self.folder.path().join("archive")).unwrap().flatten();
        let bytes = files.filter_map(|file| fs::read(file.path()).ok());
        bytes.into_iter().any(|bytes| bytes.windows(wanted.len()).any(|window| window == wanted))
    }
}

fn transcript(n: usize) -> Transcript {
    let (hint, group) = (format!("s{n}").into(), Path::new("/h/p").into());
    let path = PathBuf::from(format!("/h/p/s{n}.jsonl"));
    Transcript { source: 0, path, part: None, size: 9, file_stamp: FileStamp::default(), hint, group }
}

fn row(n: u32) -> Row {
    Row { session: n, name: u32::MAX, end: 0, id: Row::id_head(b"m"), ..Row::default() }
}

fn message(text: &str) -> Message {
    Message { id: "m".to_string(), text: text.to_string(), ..Message::default() }
}

/// The texts of a copy, or why it cannot be read.
fn texts(store: &Store, of: &Transcript) -> Result<Vec<String>, String> {
    let copy = store.find_copy(of).map_err(|error| error.to_string())?.ok_or("no copy")?;
    let (copy, names, mut rows) = (copy.to_transcript().unwrap(), Names::default(), Vec::new());
    let mut emit = |some: &mut Vec<Row>| rows.append(some);
    let mut survey = Survey::new(0, &copy.path, &names, SurveyOptions::ALL, &mut emit);
    loci_sources::survey_transcript(&copy, &mut survey).map_err(|error| error.to_string())?;
    survey.finish();
    let fetch = |row: &Row| loci_sources::fetch_message(&copy, row).map(|message| message.text);
    rows.iter().map(|row| fetch(row).map_err(|error| error.to_string())).collect()
}

/// Compresses to about its own size.
fn incompressible(bytes: usize) -> String {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 33) as u8 % 90)
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn small_copies_share_one_database_and_take_a_few_hundred_bytes() {
    let archive = Archive::with_copies(2_000);
    archive.store.sync_to_disk().unwrap();
    assert!(archive.files().is_empty(), "no copy has a file of its own");
    let size = fs::metadata(archive.database()).unwrap().len();
    assert!(size / 2_000 < 300, "{} bytes each", size / 2_000);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&archive.database()), mode(archive.database().parent().unwrap())), (0o600, 0o700));
    let listed = archive.reopened().list_archived();
    assert!(listed.problems.is_empty() && listed.archived.len() == 2_000);
    assert_eq!(archive.reopened().all_names().len(), 2_000);
    assert_eq!(texts(&archive.reopened(), &transcript(77)).unwrap(), ["words-of-77"]);
}

#[test]
fn a_copy_that_outgrows_its_row_becomes_a_file_with_the_same_positions() {
    let archive = Archive::new();
    let of = transcript(1);
    archive.write(&of, &["first"]);
    let place = |store: &Store| {
        let copy = store.find_copy(&of).unwrap().unwrap().to_transcript().unwrap();
        let (names, mut rows) = (Names::default(), Vec::new());
        let mut emit = |some: &mut Vec<Row>| rows.append(some);
        let mut survey = Survey::new(0, &copy.path, &names, SurveyOptions::ALL, &mut emit);
        loci_sources::survey_transcript(&copy, &mut survey).unwrap();
        survey.finish();
        rows[0]
    };
    let before = place(&archive.store);
    let sessions = (0..2).map(|n| Session::new("claude-code", &format!("s1-{n}"))).collect();
    let facts = SurveyOutcome { sessions, ..SurveyOutcome::default() };
    let mut writer = archive.store.continue_copy(&of, None).unwrap();
    assert!(writer.has_entry(0, &row(0), ""), "the entry is taken over");
    writer.add_message(1, &row(1), "", &message(&incompressible(300_000)));
    let size = writer.finish(&facts).unwrap();
    assert_eq!(fs::metadata(archive.store.path_of(&of)).unwrap().len(), size.bytes);
    assert_eq!(archive.store.all_names(), [transcript_name(&of)]);
    assert_eq!(archive.store.list_archived().archived.len(), 1);
    assert!(texts(&archive.store, &of).unwrap() == ["first", &incompressible(300_000)]);
    let after = place(&archive.store);
    assert_eq!((after.start, after.end), (before.start, before.end));
    // Neither is left once it is removed.
    archive.store.remove_copy(&archive.store.path_of(&of)).unwrap();
    assert!(archive.store.all_names().is_empty() && !archive.store.has_copy(&of));
}

#[test]
fn a_row_beside_a_file_of_the_same_copy_does_not_count() {
    let (archive, of) = (Archive::new(), transcript(1));
    archive.write(&of, &["old"]);
    // A process was killed after the file was published and before the row was removed.
    let other = Archive::new();
    other.write(&of, &[&incompressible(300_000)]);
    fs::create_dir_all(archive.store.path_of(&of).parent().unwrap()).unwrap();
    fs::copy(other.store.path_of(&of), archive.store.path_of(&of)).unwrap();
    assert!(texts(&archive.store, &of).unwrap() == [incompressible(300_000)]);
    assert_eq!(archive.store.list_archived().archived.len(), 1);
    assert_eq!(archive.store.all_names().len(), 1);
    // Forgetting reaches both.
    archive.store.forget_sessions(&archive.store.path_of(&of), &|_| true).unwrap();
    assert_eq!(texts(&archive.store, &of).unwrap_err(), "no copy");
}

#[test]
fn a_batch_becomes_visible_at_once_or_not_at_all() {
    let archive = Archive::with_copies(1);
    let before = archive.store.fingerprint();
    archive.store.begin_batch();
    archive.write(&transcript(1), &["new"]);
    archive.write(&transcript(0), &["replaced"]);
    assert_eq!(texts(&archive.reopened(), &transcript(1)).unwrap_err(), "no copy");
    assert_eq!(texts(&archive.reopened(), &transcript(0)).unwrap(), ["words-of-0"]);
    assert_eq!(archive.store.fingerprint(), before);
    archive.store.roll_back_batch();
    assert_eq!(texts(&archive.store, &transcript(1)).unwrap_err(), "no copy");
    archive.store.begin_batch();
    archive.write(&transcript(1), &["new"]);
    archive.store.commit_batch().unwrap();
    assert_eq!(texts(&archive.reopened(), &transcript(1)).unwrap(), ["new"]);
    assert_ne!(archive.store.fingerprint(), before);
}

#[test]
fn a_replaced_copy_has_another_stamp() {
    let archive = Archive::with_copies(1);
    let stamp = || archive.store.stat_copy(transcript_name(&transcript(0))).unwrap().1;
    let before = stamp();
    assert_eq!(before, stamp());
    archive.write(&transcript(0), &["words-of-0"]);
    assert_ne!(before, stamp());
}

#[test]
fn forgotten_and_removed_bytes_do_not_stay_on_the_disk() {
    let archive = Archive::with_copies(50);
    let secret = incompressible(4_000);
    archive.write(&transcript(60), &["kept", &secret]);
    archive.write(&transcript(61), &[&secret]);
    archive.store.sync_to_disk().unwrap();
    let stored = [60, 61].map(|n| archive.stored_bytes(&transcript(n)));
    let traces = |archive: &Archive| stored.iter().any(|bytes| archive.contains_bytes(&bytes[200..232]));
    assert!(traces(&archive));
    let size = fs::metadata(archive.database()).unwrap().len();
    let path = archive.store.path_of(&transcript(60));
    let forgotten =
        archive.store.forget_sessions(&path, &|session| session.session_id.ends_with("-1")).unwrap();
    assert_eq!((forgotten.sessions, forgotten.entries, forgotten.copy_removed), (1, 1, false));
    assert_eq!(texts(&archive.store, &transcript(60)).unwrap(), ["kept"]);
    let paths = [61].map(|n| archive.store.path_of(&transcript(n)));
    archive.store.remove_copies(paths.iter().map(PathBuf::as_path)).unwrap();
    assert!(!traces(&archive), "in the database or its log");
    assert!(fs::metadata(archive.database()).unwrap().len() < size, "the space is given back");
    assert!(
        fs::metadata(archive.folder.path().join("archive/packed.db-wal")).map_or(0, |log| log.len()) == 0
    );
    assert_eq!(archive.reopened().list_archived().archived.len(), 51);
}

#[test]
fn the_next_run_erases_what_a_killed_one_has_removed() {
    let archive = Archive::with_copies(300);
    archive.store.sync_to_disk().unwrap();
    let size = fs::metadata(archive.database()).unwrap().len();
    for n in 0..290 {
        archive.store.remove_copy(&archive.store.path_of(&transcript(n))).unwrap();
    }
    // Killed here: the next process finds that bytes are left.
    archive.reopened().erase_removed().unwrap();
    assert!(fs::metadata(archive.database()).unwrap().len() < size / 2);
}

// ---- damage

#[test]
fn any_flipped_byte_is_noticed_and_costs_only_what_it_hits() {
    let archive = Archive::with_copies(200);
    archive.store.sync_to_disk().unwrap();
    let Archive { folder, store } = archive;
    drop(store);
    let path = folder.path().join("archive/packed.db");
    let bytes = fs::read(&path).unwrap();
    let mut saved_all = 0;
    for at in (0..bytes.len()).step_by(2_741) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).unwrap();
        let store = Store::new(folder.path().join("archive"));
        for n in (0..200).step_by(3) {
            // Found, missing or reported; never another text.
            if let Ok(found) = texts(&store, &transcript(n)) {
                assert_eq!(found, [format!("words-of-{n}")], "flipped at {at}");
            }
        }
        let noticed = !store.check_copies().1.is_empty();
        let repaired = store.repair().unwrap();
        assert_eq!(repaired.is_some(), noticed, "flipped at {at}");
        let left = store.list_archived();
        assert!(left.problems.is_empty(), "flipped at {at}: {:?}", left.problems);
        let lost = 200 - left.archived.len();
        // The first page describes the whole file, the root page the whole table.
        assert!(lost <= 40 || at < 3 * 4096, "flipped at {at}: {lost} of 200 lost");
        assert!(noticed || lost == 0, "flipped at {at}: {lost} lost without a word");
        saved_all += u32::from(lost == 0);
        for ending in ["", "-wal", "-shm", ".damaged", ".damaged-wal", ".damaged-shm"] {
            let _ = fs::remove_file(db::sibling_path(&path, ending));
        }
    }
    assert!(saved_all > 0);
}

#[test]
fn a_repair_keeps_the_damaged_database_until_a_session_is_forgotten() {
    let archive = Archive::with_copies(100);
    archive.store.sync_to_disk().unwrap();
    let aside = archive.folder.path().join("archive/packed.db.damaged");
    let mut bytes = fs::read(archive.database()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xee);
    fs::write(archive.database(), &bytes).unwrap();
    let store = archive.reopened();
    let before = store.fingerprint();
    let note = store.repair().unwrap().unwrap();
    assert!(note.contains("packed.db was damaged") && note.contains("copies were saved"), "{note}");
    assert!(aside.exists() && store.repair().unwrap().is_none());
    assert_ne!(store.fingerprint(), before);
    let left = store.list_archived().archived;
    assert!(left.len() >= 80, "{}", left.len());
    store.forget_sessions(&left[0].path, &|_| true).unwrap();
    assert!(!aside.exists());
}

#[test]
fn a_file_that_is_no_database_is_set_aside() {
    let archive = Archive::new();
    fs::create_dir_all(archive.database().parent().unwrap()).unwrap();
    fs::write(archive.database(), vec![b'x'; 9_000]).unwrap();
    assert_eq!(archive.store.list_archived().problems.len(), 1);
    assert!(archive.store.find_copy(&transcript(0)).unwrap_err().is_damaged_database());
    assert!(archive.store.repair().unwrap().is_some());
    archive.write(&transcript(0), &["new"]);
    assert_eq!(texts(&archive.store, &transcript(0)).unwrap(), ["new"]);
}

#[test]
fn the_database_of_a_newer_version_is_left_alone() {
    let archive = Archive::with_copies(1);
    archive.store.sync_to_disk().unwrap();
    let connection = db::Connection::open(archive.database()).unwrap();
    connection.pragma_update(None, "user_version", 9).unwrap();
    drop(connection);
    let store = archive.reopened();
    assert!(matches!(store.find_copy(&transcript(0)), Err(Error::Newer { version: 9, .. })));
    assert!(store.repair().unwrap().is_none());
    let mut writer = store.begin_copy(&transcript(1), 0).map_err(|error| error.to_string());
    if let Ok(writer) = writer.as_mut() {
        writer.add_message(0, &row(0), "", &message("x"));
    }
    assert!(writer.is_err_and(|error| error.contains("newer Loci")));
}

// ---- copies of earlier versions

/// A copy in a file of its own, as versions before the database wrote all of them.
fn write_as_file(archive: &Archive, n: usize) -> PathBuf {
    let path = archive.store.path_of(&transcript(n));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // A copy that already is a file stays one.
    fs::write(&path, "").unwrap();
    archive.write(&transcript(n), &[&format!("words-of-{n}")]);
    assert!(fs::metadata(&path).unwrap().len() > 100);
    path
}

#[test]
fn small_files_of_earlier_versions_are_read_and_then_moved_into_the_database() {
    let archive = Archive::new();
    let files: Vec<PathBuf> = (0..20).map(|n| write_as_file(&archive, n)).collect();
    let large = transcript(30);
    archive.write(&large, &[&incompressible(300_000)]);
    fs::write(&files[19], "damaged").unwrap();
    assert_eq!(texts(&archive.store, &transcript(3)).unwrap(), ["words-of-3"]);
    let before = archive.store.find_copy(&transcript(3)).unwrap().unwrap();
    assert_eq!(archive.store.pack_small_files().unwrap(), 19);
    let after = archive.store.find_copy(&transcript(3)).unwrap().unwrap();
    assert_eq!((after.original, after.entries, after.raw), (before.original, before.entries, before.raw));
    assert_eq!(format!("{:?}", after.sessions), format!("{:?}", before.sessions));
    for (n, file) in files.iter().enumerate().take(19) {
        assert!(!file.exists());
        assert_eq!(texts(&archive.store, &transcript(n)).unwrap(), [format!("words-of-{n}")]);
    }
    // Large and damaged copies stay where they are, and are not looked at again.
    assert!(files[19].exists() && archive.store.path_of(&large).exists());
    write_as_file(&archive, 40);
    assert_eq!(archive.reopened().pack_small_files().unwrap(), 0);
    assert_eq!(texts(&archive.store, &transcript(40)).unwrap(), ["words-of-40"]);
}

#[test]
fn moving_is_repeated_after_a_kill_between_row_and_file() {
    let archive = Archive::new();
    let path = write_as_file(&archive, 0);
    let file = fs::read(&path).unwrap();
    archive.store.pack_small_files().unwrap();
    // The row was written, but the file is still there, and the move was never recorded as done.
    fs::write(&path, file).unwrap();
    let connection = db::Connection::open(archive.database()).unwrap();
    connection.execute("delete from meta where name = 'migrated'", []).unwrap();
    drop(connection);
    assert_eq!(archive.reopened().pack_small_files().unwrap(), 1);
    assert!(!path.exists());
    assert_eq!(texts(&archive.store, &transcript(0)).unwrap(), ["words-of-0"]);
}
