//! `kill -9` at any moment, again and again, while the history grows: nothing that was said is lost, nothing is told
//! twice, nobody waits for a dead writer, and in the end everything is as if nothing had ever been killed.
//!
//! Two hundred kills; `LOCI_KILLS` sets another number, and `LOCI_SEED` repeats a run that failed.

use crate::history::{Dice, History};
use crate::instance::{Instance, VIEWS, answers, assert_same, searched, viewed};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn number(name: &str, otherwise: u64) -> u64 {
    testutil::needs::number_variable(name, otherwise)
}

/// Starts it and kills it after a moment, or lets it end before.
fn killed(instance: &Instance, args: &[&str], after: Duration) -> bool {
    let mut command = instance.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(after);
    let ended = child.try_wait().unwrap().is_some();
    let _ = child.kill();
    let status = child.wait().unwrap();
    assert!(!ended || status.success() || status.code() == Some(2), "{args:?}: {status:?}");
    !ended
}

/// A catalogue that was not begun before the kill cannot be damaged.
fn assert_sound_if_present(catalogue: &Path) {
    if catalogue.exists() {
        let found = db::open_foreign(catalogue)
            .and_then(|c| c.query_row("pragma integrity_check", [], |row| row.get::<_, String>(0)));
        assert_eq!(found.unwrap(), "ok");
    }
}

#[test]
fn nothing_is_lost_or_doubled_however_often_it_is_killed() {
    let (kills, seed) = (number("LOCI_KILLS", 200), number("LOCI_SEED", 20_261_115));
    let mut dice = Dice(seed);
    let mut history = History::new(60);
    let instance = Instance::new(history.home.path());
    let started = Instant::now();
    Instance::new(history.home.path()).index();
    // As long as one whole run takes on this machine at this moment, but no longer than makes sense here.
    let whole = (started.elapsed() * 6 / 5).min(Duration::from_millis(600));
    let mut struck = 0;
    for kill in 0..kills {
        for _ in 0..3 {
            let which = dice.below(history.growing.len());
            history.grow(which);
        }
        if kill % 16 == 0 {
            history.session();
        }
        if kill % 32 == 0 {
            history.fork(dice.below(60));
        }
        let word = history.needles[dice.below(history.needles.len())].clone();
        let args: &[&str] = match kill % 7 {
            5 => &["index", "--rebuild"],
            6 => &["search", &word],
            _ => &["index"],
        };
        let after = whole.mul_f64(dice.below(1000) as f64 / 1000.0);
        struck += u64::from(killed(&instance, args, after));
        if kill % 25 == 24 {
            let about = format!("seed {seed}, kill {kill}");
            assert_sound_if_present(&instance.catalogue());
            let fresh = Instance::new(history.home.path());
            let line = VIEWS[dice.below(VIEWS.len())];
            assert_same(&about, &[viewed(&instance, line)], &[viewed(&fresh, line)]);
            let (_, code, found) = searched(&instance, history.needles.last().unwrap());
            assert!(code == Some(0) && found.lines().count() == 1, "{about}: {code:?} {found}");
        }
    }
    assert!(struck * 4 > kills, "too few of {kills} runs were killed in the middle: {struck}");
    instance.index();
    assert_sound_if_present(&instance.catalogue());
    let fresh = Instance::new(history.home.path());
    fresh.index();
    // Every word would take a minute: each conversation's first and the newest are asked for.
    let searches = history.searches().into_iter().enumerate();
    let searches: Vec<String> = searches.filter(|(n, _)| n % 9 == 0 || *n < 6).map(|(_, s)| s).collect();
    let about = format!("after {kills} kills, seed {seed}");
    assert_same(&about, &answers(&instance, VIEWS, &searches), &answers(&fresh, VIEWS, &searches));
    assert_eq!(instance.archived(), fresh.archived(), "{about}");
}
