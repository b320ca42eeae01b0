//! A wall clock that is wrong, or is set during a run: no session is missed, lost or duplicated.
//!
//! Does not test durations: those come from the monotonic clock.

use crate::history::History;
use crate::instance::{Instance, VIEWS, assert_same, collect_responses, list_sessions};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use testutil::needs::number_variable;
use testutil::{Finished, ShiftedClock, run_command, split_words};

const YEAR: i64 = 365 * 86_400;

fn run_shifted(instance: &Instance, clock: &ShiftedClock, line: &str) -> Finished {
    let words = split_words(line);
    let mut command = instance.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    clock.apply(&mut command);
    run_command(command)
}

/// An update at a wrong time in the future must not hide what is written afterwards.
#[test]
fn a_session_is_listed_although_the_clock_was_set_back() {
    let mut history = History::new(3);
    let (instance, clock) = (Instance::new(history.home.path()), ShiftedClock::new());
    for shift in [YEAR, 60, -YEAR] {
        clock.shift(shift);
        run_shifted(&instance, &clock, "index").expect(0);
        // File timestamps have a resolution of some milliseconds.
        std::thread::sleep(Duration::from_millis(50));
        history.add_session();
        let id = &history.growing.last().unwrap().session.id;
        let (_, _, listed) = list_sessions(&instance);
        assert!(listed.contains(id.as_str()), "after a shift of {shift} s, {id} is missing: {listed}");
    }
}

/// `LOCI_ROUNDS=100` runs the long form.
#[test]
fn a_clock_that_steps_during_updates_loses_nothing() {
    let mut history = History::new(8);
    let (instance, clock) = (Instance::new(history.home.path()), ShiftedClock::new());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for shift in [YEAR, -YEAR, 3600, -3600, 0].iter().cycle() {
                if done.load(Relaxed) {
                    break;
                }
                clock.shift(*shift);
                std::thread::sleep(Duration::from_millis(30));
            }
        });
        for round in 0..number_variable("LOCI_ROUNDS", 6) {
            history.add_session();
            let word = history.grow_session(round % 8);
            for line in ["index", "memory consolidate --no-model"] {
                run_shifted(&instance, &clock, line).expect(0);
            }
            let found = run_shifted(&instance, &clock, &format!("search {word} -o json")).expect(0);
            assert!(found.text().contains(&word), "round {round}: {}", found.text());
            let listed = run_shifted(&instance, &clock, "sessions -o text --limit 5").expect(0);
            assert!(!listed.text().contains("in -") && !listed.text().contains("-1 "), "{}", listed.text());
        }
        done.store(true, Relaxed);
    });
    let fresh = Instance::new(history.home.path());
    fresh.index();
    std::fs::copy(instance.data.join("loci/memory.db"), fresh.data.join("loci/memory.db")).unwrap();
    let searches: Vec<String> = history.search_terms().into_iter().step_by(6).collect();
    assert_same(
        "after clock steps",
        &collect_responses(&instance, VIEWS, &searches),
        &collect_responses(&fresh, VIEWS, &searches),
    );
}
