//! Requests while another process holds the writer lock: they answer in bounded time from what has been committed, together
//! with what was written since.

use crate::history::{GrowingSession, History, append, needle};
use crate::instance::{Instance, assert_same, run_search};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use testutil::{ALPHA, Finished, Home, Session};

/// The longest that a request may take with a stuck writer, with room for a slow machine: it waits 1.2 s.
const PATIENCE: Duration = Duration::from_secs(8);

fn session(n: usize) -> Session {
    let id = format!("{n:08x}-0000-4000-8000-000000000000");
    let mut session = Session::new(&id, ALPHA, &format!("2026-03-02T09:{n:02}:00Z"));
    session.prompt(&format!("about {}", needle(n))).reply(&["done"]);
    session
}

/// Holds the writer lock like a process that is stopped.
fn hold_writer_lock(instance: &Instance) -> File {
    let file =
        File::options().write(true).create(true).truncate(false).open(instance.data.join("loci/writer.lock"));
    let file = file.unwrap();
    file.lock().unwrap();
    file
}

fn run_in_time(instance: &Instance, line: &str, codes: &[i32]) -> Finished {
    let done = instance.run(line);
    assert!(done.took < PATIENCE, "{line}: {:?}", done.took);
    assert!(codes.iter().any(|code| done.code == Some(*code)), "{line}: {:?} {}", done.code, done.stderr);
    done
}

fn listed_ids(response: &Value) -> Vec<String> {
    let sessions = response["sessions"].as_array().unwrap();
    sessions.iter().map(|one| one["chatId"].as_str().unwrap()[..8].to_string()).collect()
}

#[test]
fn a_stuck_writer_does_not_block_requests() {
    let home = Home::new();
    let mut first = GrowingSession::new(&home, session(1));
    home.add(&session(2));
    let instance = Instance::new(home.path());
    instance.index();
    let _lock = hold_writer_lock(&instance);
    // More than a request reads by itself when it can update the index instead.
    append(&first.path, format!("{{\"type\":\"progress\",\"x\":\"{}\"}}\n", "y".repeat(12 << 20)).as_bytes());
    first.session.prompt("later quokkabird");
    first.flush();
    home.add(&session(3));
    for word in [needle(1), needle(2), needle(3), "quokkabird".to_string()] {
        let found = run_in_time(&instance, &format!("search {word} -o json"), &[0]).records().remove(0);
        assert_eq!(found["results"].as_array().unwrap().len(), 1, "{word}: {found}");
    }
    let listed = run_in_time(&instance, "sessions -o json", &[0]).records().remove(0);
    assert_eq!(listed_ids(&listed)[0], "00000003", "the new session is missing: {listed}");
    assert_eq!(listed_ids(&listed).len(), 3);
    for (flags, count) in [
        ("--limit 1", 1),
        ("--limit 5 --offset 1", 2),
        ("--source codex", 0),
        ("--since 2026-03-02T09:03:00Z", 1),
    ] {
        let listed =
            run_in_time(&instance, &format!("sessions {flags} -o json"), &[0, 2]).records().remove(0);
        assert_eq!(listed_ids(&listed).len(), count, "{flags}: {listed}");
    }
    run_in_time(&instance, "resolve 00000001 -o json", &[0]);
}

/// A rewritten transcript is read with the request, and the index has its earlier state.
#[test]
fn a_rewritten_transcript_is_counted_once_and_without_its_former_text() {
    let home = Home::new();
    let mut told = session(1);
    told.prompt("the gizmowave again").reply(&["gizmowave, as before"]);
    told.did("Bash", serde_json::json!({"command": "cat notes"}), "a pebblewisp in the output");
    let path = home.add(&told);
    home.add(&session(2));
    let instance = Instance::new(home.path());
    instance.index();
    let _lock = hold_writer_lock(&instance);
    let text = fs::read_to_string(&path).unwrap().replace(&needle(1), "quokkabird");
    fs::remove_file(&path).unwrap();
    fs::write(&path, text).unwrap();
    let found = run_in_time(&instance, "search gizmowave -o json", &[0]).records().remove(0);
    assert_eq!(found["results"][0]["hits"], 2, "{found:#}");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    run_in_time(&instance, "search quokkabird -o json", &[0]);
    let called = run_in_time(&instance, "search pebblewisp -o json", &[0]).records().remove(0);
    assert_eq!(called["results"][0]["hits"], 1, "{called:#}");
    let former = run_in_time(&instance, &format!("search {} --scope content -o json", needle(1)), &[0, 2]);
    assert_eq!(former.records()[0]["totalChats"], 1, "{}", former.text());
    // Session 2 has a similar word.
    assert!(!former.records()[0]["topChatIds"].to_string().contains("00000001-"), "{}", former.text());
}

/// What a request reads itself is bounded even if the committed state is consistent: a rebuild may take minutes.
#[test]
fn a_large_new_transcript_makes_the_answer_partial_while_another_process_writes() {
    let home = Home::new();
    home.add(&session(1));
    let instance = Instance::new(home.path());
    instance.index();
    let _lock = hold_writer_lock(&instance);
    let large = home.add(&session(2));
    append(&large, "{\"type\":\"progress\"}\n".repeat(2 << 20).as_bytes());
    let found = run_in_time(&instance, &format!("search {} -o json", needle(1)), &[3]).records().remove(0);
    assert_eq!((found["results"].as_array().unwrap().len(), &found["partial"]), (1, &true.into()), "{found}");
}

#[test]
fn a_stuck_first_build_gives_a_partial_answer() {
    let home = Home::new();
    home.add(&session(1));
    let large = home.add(&session(2));
    append(&large, "{\"type\":\"progress\"}\n".repeat(2 << 20).as_bytes());
    let instance = Instance::new(home.path());
    fs::create_dir_all(instance.data.join("loci")).unwrap();
    let _lock = hold_writer_lock(&instance);
    let found = run_in_time(&instance, &format!("search {} -o json", needle(1)), &[0, 3]).records().remove(0);
    let is_found = !found["results"].as_array().unwrap().is_empty();
    assert!(is_found || found["partial"] == true, "{found}");
}

fn generations(cache: &Path) -> usize {
    let entries = fs::read_dir(cache.join("loci")).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("stores-")).count()
}

/// A user may delete any part of the cache: what is missing is built again.
#[test]
fn deleted_stores_are_built_again() {
    let home = Home::new();
    home.add(&session(1));
    let instance = Instance::new(home.path());
    instance.run("index --rebuild -o json").expect(0);
    for deleted in ["stores-1", "stores-1/search", "stores-1/catalogue.db", "current"] {
        let path = instance.cache.join("loci").join(deleted);
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(instance.search_ids(&needle(1)).len(), 1, "{deleted}");
        instance.index();
        assert_eq!(instance.search_ids(&needle(1)).len(), 1, "{deleted}");
    }
}

/// A killed rebuild leaves the old stores in use, and the next update removes what it left.
#[test]
fn an_unfinished_rebuild_is_not_used() {
    let home = Home::new();
    home.add(&session(1));
    let instance = Instance::new(home.path());
    instance.index();
    let half = instance.cache.join("loci/stores-1");
    fs::create_dir(&half).unwrap();
    fs::write(half.join("catalogue.db"), b"half").unwrap();
    assert_eq!(instance.search_ids(&needle(1)).len(), 1);
    instance.index();
    assert_eq!(generations(&instance.cache), 0);
    for round in 1..=3 {
        instance.run("index --rebuild -o json").expect(0);
        assert_eq!(generations(&instance.cache), 1, "{round}");
        assert!(
            !instance.cache.join("loci/catalogue.db").exists()
                && !instance.cache.join("loci/search").exists()
        );
        assert_eq!(instance.search_ids(&needle(1)).len(), 1);
    }
}

/// A transcript is read from its start if its stamp changed and its length did not: as by `touch`, or by a `stat` in the
/// middle of an append. Its copies of another session's events are not hits of their own.
#[test]
fn a_touched_fork_adds_no_hits_for_the_events_of_its_original() {
    let history = History::new(1);
    let instance = Instance::new(history.home.path());
    instance.index();
    let fork = &history.growing[1];
    assert!(fork.session.text().contains(&history.needles[1]), "the fork repeats its original");
    // Of the common words, the first is in the title of both.
    let search = || history.needles[..2].iter().map(|word| run_search(&instance, word)).collect::<Vec<_>>();
    let expected = search();
    let _lock = hold_writer_lock(&instance);
    File::options().append(true).open(&fork.path).unwrap().set_modified(UNIX_EPOCH).unwrap();
    assert_same("touched", &search(), &expected);
}

/// The writer commits the catalogue first. Until it has committed the index, too, a request reads what lies between.
#[test]
fn a_line_between_the_commits_of_catalogue_and_index_is_found() {
    let home = Home::new();
    let mut first = GrowingSession::new(&home, session(1));
    home.add(&session(2));
    let instance = Instance::new(home.path());
    instance.index();
    let older = instance.duplicate();
    first.session.prompt("later quokkabird");
    first.flush();
    home.add(&session(3));
    instance.index();
    fs::remove_dir_all(instance.text_index()).unwrap();
    testutil::copy_folder(&older.text_index(), &instance.text_index());
    let _lock = hold_writer_lock(&instance);
    for word in [needle(1), needle(2), needle(3), "quokkabird".to_string()] {
        let found = run_in_time(&instance, &format!("search {word} -o json"), &[0]).records().remove(0);
        assert_eq!(found["results"].as_array().unwrap().len(), 1, "{word}: {found}");
    }
}

/// A writer that is stopped, and not ended.
#[test]
fn a_second_writer_says_for_whom_it_waits() {
    let home = Home::new();
    home.add(&session(1));
    let instance = Instance::new(home.path());
    instance.index();
    for line in ["index", "forget 00000001 --yes"] {
        let lock = hold_writer_lock(&instance);
        fs::write(instance.data.join("loci/writer.lock"), "4321").unwrap();
        let freed = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(2500));
            drop(lock);
        });
        let done = instance.run(line);
        freed.join().unwrap();
        let message = "waiting for another loci process that is writing (process 4321)";
        assert_eq!(done.stderr.matches(message).count(), 1, "{line}: {}", done.stderr);
        assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
    }
}
