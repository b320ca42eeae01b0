//! A first index that is cancelled or killed goes on where it was, and a cancellation is noticed within a second, also in the middle
//! of a file. A file over its limit is named.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and copy a file

use code::RefreshOptions;
use loci_code_index::{Store, StoreError};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const FILES: usize = 8;

/// In the past: every file may have been written since, so each is read again.
fn options(progress: &(dyn Fn(u64, u64) -> bool + Sync)) -> RefreshOptions<'_> {
    RefreshOptions { now: 0, threads: 1, progress }
}

/// Files of a megabyte each, nearly all of it a comment.
fn large_tree() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for at in 0..FILES {
        let comment = "words\n".repeat(175_000);
        fs::write(root.path().join(format!("f{at}.rs")), format!("pub struct S{at};\n/*\n{comment}*/\n"))
            .unwrap();
    }
    root
}

fn type_names(store: &Store) -> Vec<String> {
    let all = store.codebase().unwrap();
    let mut names: Vec<String> = all.types.iter().map(|it| it.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn a_cancelled_first_index_keeps_the_files_it_has_read() {
    let (root, home) = (large_tree(), tempfile::tempdir().unwrap());
    let place = home.path().join("index.db");
    let mut store = Store::open(&place, root.path()).unwrap();
    let result = store.refresh(options(&|at, of| of == 0 || at < 3));
    assert!(matches!(result, Err(StoreError::Cancelled)));
    drop(store);
    let mut store = Store::open(&place, root.path()).unwrap();
    let done = store.refresh(options(&|_, _| true)).unwrap();
    assert_eq!((done.parsed, done.joined_whole), (FILES as u64 - 3, true));
    assert_as_if_new(&store, root.path());
}

/// What is on disk at some moment is what a kill at that moment leaves.
#[test]
fn a_killed_first_index_goes_on_where_it_was() {
    let (root, home) = (large_tree(), tempfile::tempdir().unwrap());
    let place = home.path().join("index.db");
    let copies = Mutex::new(Vec::new());
    let mut store = Store::open(&place, root.path()).unwrap();
    let keep = |at: u64, of: u64| {
        let mut copies = copies.lock().unwrap();
        if of > 0 && at as usize == FILES - 1 && copies.is_empty() {
            // the thread that stores what is read may be behind; if it still is, more is parsed again
            std::thread::sleep(Duration::from_secs(2));
            let copy = tempfile::tempdir().unwrap();
            for ending in ["", "-wal"] {
                let name = format!("index.db{ending}");
                fs::copy(home.path().join(&name), copy.path().join(&name)).unwrap();
            }
            copies.push(copy);
        }
        true
    };
    store.refresh(options(&keep)).unwrap();
    let copy = copies.into_inner().unwrap().pop().unwrap();
    let mut killed = Store::open(&copy.path().join("index.db"), root.path()).unwrap();
    // a file that was stored may have changed, or be gone, when it goes on
    fs::write(root.path().join("f0.rs"), "pub struct Changed;\n").unwrap();
    fs::remove_file(root.path().join("f1.rs")).unwrap();
    let done = killed.refresh(options(&|_, _| true)).unwrap();
    assert!((1..=5).contains(&done.parsed), "{} parsed again", done.parsed);
    assert_as_if_new(&killed, root.path());
}

fn assert_as_if_new(store: &Store, root: &Path) {
    let mut fresh = Store::in_memory(root).unwrap();
    fresh.refresh(options(&|_, _| true)).unwrap();
    assert_eq!(type_names(store), type_names(&fresh));
    assert!(!type_names(&fresh).is_empty());
}

/// Half a megabyte in one line.
fn minified_tree() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let function = |at| format!("function f{at}(a,b){{return a?b(a):f{at}(b,{{x:1,y:[2]}})}}");
    fs::write(root.path().join("min.js"), (0..10_000).map(function).collect::<String>()).unwrap();
    root
}

/// CPU time of this thread, where the system says it: other programs do not count.
fn thread_time(start: Instant) -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|it| it.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// The parser, the tokens, the walks: none of them works for long without asking whether to go on. A file of 8 MB has sixteen times this.
#[test]
fn every_phase_of_reading_a_file_asks_whether_to_go_on() {
    let (root, start) = (minified_tree(), Instant::now());
    let asked = Mutex::new((None, Duration::ZERO, 0));
    let is_wanted = |_, of| {
        if of > 0 {
            let (last, longest, count) = &mut *asked.lock().unwrap();
            let now = thread_time(start);
            *longest = (*longest).max(now.saturating_sub(last.replace(now).unwrap_or(now)));
            *count += 1;
        }
        true
    };
    Store::in_memory(root.path()).unwrap().refresh(options(&is_wanted)).unwrap();
    let (_, longest, count) = asked.into_inner().unwrap();
    assert!(
        count > 100 && longest < Duration::from_millis(62),
        "asked {count} times, once after {longest:?}"
    );
}

#[test]
fn a_cancellation_in_the_middle_of_a_file_ends_the_index() {
    let root = minified_tree();
    let asked = AtomicU64::new(0);
    let is_wanted = |_, of| of == 0 || asked.fetch_add(1, Ordering::Relaxed) < 100;
    let result = Store::in_memory(root.path()).unwrap().refresh(options(&is_wanted));
    assert!(matches!(result, Err(StoreError::Cancelled)));
    // asked once more, not to the end of the file
    assert!(asked.into_inner() < 110);
}

#[test]
fn a_file_over_its_limit_is_listed_as_unread_and_the_others_are_read() {
    let root = tempfile::tempdir().unwrap();
    let damaged = |at| format!("class A{at}\n@B constructor(\n{{\n}}\n\n");
    fs::write(root.path().join("damaged.kt"), (0..4_000).map(damaged).collect::<String>()).unwrap();
    fs::write(root.path().join("ok.py"), "class Fine: pass\n").unwrap();
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(options(&|_, _| true)).unwrap();
    assert!(type_names(&store).iter().any(|name| name.ends_with("Fine")));
    let unread = store.extent().unwrap().unread;
    assert_eq!(unread, ["damaged.kt: not parsed: it takes more work than a file of its size may"]);
    // also when nothing has changed
    store.refresh(options(&|_, _| true)).unwrap();
    assert_eq!(store.extent().unwrap().unread, unread);
}
