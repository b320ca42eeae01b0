//! `kill -9` at random moments while the history grows: nothing is lost or duplicated, no process waits for a dead
//! writer, and the final state equals that of an uninterrupted run.
//!
//! 200 kills by default; `LOCI_KILLS` sets another number, and `LOCI_SEED` repeats a run that failed.

use crate::history::{History, Rng};
use crate::instance::{Instance, VIEWS, assert_same, collect_responses, run_search, run_view};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn read_number(name: &str, default: u64) -> u64 {
    testutil::needs::number_variable(name, default)
}

/// Starts a run and kills it after `after`. Returns whether it was still running.
fn run_and_kill(instance: &Instance, args: &[&str], after: Duration) -> bool {
    let mut command = instance.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(after);
    let exited = child.try_wait().unwrap().is_some();
    let _ = child.kill();
    let status = child.wait().unwrap();
    assert!(!exited || status.success() || status.code() == Some(2), "{args:?}: {status:?}");
    !exited
}

/// A run that was killed before it created the catalogue leaves nothing to check.
fn assert_sound_if_present(catalogue: &Path) {
    if catalogue.exists() {
        let found = db::open_foreign(catalogue)
            .and_then(|c| c.query_row("pragma integrity_check", [], |row| row.get::<_, String>(0)));
        assert_eq!(found.unwrap(), "ok");
    }
}

#[test]
fn repeated_kills_lose_and_duplicate_nothing() {
    let (kills, seed) = (read_number("LOCI_KILLS", 200), read_number("LOCI_SEED", 20_261_115));
    let mut rng = Rng(seed);
    let mut history = History::new(60);
    let instance = Instance::new(history.home.path());
    let started = Instant::now();
    Instance::new(history.home.path()).index();
    // Slightly longer than a full run takes on this machine now, but at most 600 ms.
    let full_run = (started.elapsed() * 6 / 5).min(Duration::from_millis(600));
    let mut killed = 0;
    for kill in 0..kills {
        for _ in 0..3 {
            let which = rng.below(history.growing.len());
            history.grow_session(which);
        }
        if kill % 16 == 0 {
            history.add_session();
        }
        if kill % 32 == 0 {
            history.add_fork(rng.below(60));
        }
        let word = history.needles[rng.below(history.needles.len())].clone();
        let args: &[&str] = match kill % 7 {
            5 => &["index", "--rebuild"],
            6 => &["search", &word],
            _ => &["index"],
        };
        // Most runs add a few lines and are shorter than the first: more kills at the beginning.
        let share = rng.below(1000) as f64 / 1000.0;
        let after = full_run.mul_f64(share * share);
        killed += u64::from(run_and_kill(&instance, args, after));
        if kill % 25 == 24 {
            let label = format!("seed {seed}, kill {kill}");
            assert_sound_if_present(&instance.catalogue());
            let fresh = Instance::new(history.home.path());
            let line = VIEWS[rng.below(VIEWS.len())];
            assert_same(&label, &[run_view(&instance, line)], &[run_view(&fresh, line)]);
            let (_, code, found) = run_search(&instance, history.needles.last().unwrap());
            assert!(code == Some(0) && found.lines().count() == 1, "{label}: {code:?} {found}");
        }
    }
    assert!(killed * 4 > kills, "only {killed} of {kills} runs were killed before they exited");
    instance.index();
    assert_sound_if_present(&instance.catalogue());
    let fresh = Instance::new(history.home.path());
    fresh.index();
    // Searching every word would take a minute: the common terms and every ninth needle are enough.
    let searches = history.search_terms().into_iter().enumerate();
    let searches: Vec<String> = searches.filter(|(n, _)| n % 9 == 0 || *n < 6).map(|(_, s)| s).collect();
    let label = format!("after {kills} kills, seed {seed}");
    assert_same(
        &label,
        &collect_responses(&instance, VIEWS, &searches),
        &collect_responses(&fresh, VIEWS, &searches),
    );
    assert_eq!(instance.archived_copies(), fresh.archived_copies(), "{label}");
}
